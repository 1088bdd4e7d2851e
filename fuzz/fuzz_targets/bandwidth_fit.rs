#![no_main]
use linkwright::allocation::bandwidth::fit::Fit;

// A fit that is read writes a text that gives it again.
libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(fit) = Fit::read("fuzz", text) {
        assert_eq!(Fit::read("fuzz", &fit.to_toml()).expect("its own text"), fit);
    }
});
