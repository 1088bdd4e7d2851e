#![no_main]
use linkwright::system::import::measured::{far_below, read, with_measured};
use linkwright::system::presets::preset;

// Cells that are read are above zero, each at a line of the text. A machine that takes them reads back from its file.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(found) = read("fuzz", text) else { return };
    let lines = text.lines().count();
    let mut cells = found.matrices.iter().flat_map(|matrix| &matrix.cells);
    assert!(cells.all(|cell| cell.value > 0.0 && (1..=lines).contains(&cell.position.line)));
    let server = preset("dgx1-v100").unwrap();
    let _ = far_below(&server, &found);
    if let Ok(measured) = with_measured(&server, &found) {
        let toml = linkwright::system::toml_format::write(&measured.server);
        let again = linkwright::system::toml_format::read("fuzz", &toml);
        assert_eq!(again.unwrap(), measured.server);
    }
});
