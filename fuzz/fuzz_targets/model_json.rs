#![no_main]
use linkwright::training::{LanguageModel, ModelLayout};

// Says what is read has parameters, and no sum leaves its type; a layout that is written is read again.
libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(layout) = ModelLayout::read(text) {
        assert_eq!(ModelLayout::read(&layout.to_string()), Ok(layout));
    }
    let Ok(model) = LanguageModel::read("fuzz", text) else { return };
    assert!(model.layers() > 0 && model.active_parameters() <= model.parameters());
    let _ = model.with_tokens(128).network();
});
