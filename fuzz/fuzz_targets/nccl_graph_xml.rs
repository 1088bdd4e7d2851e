#![no_main]
use linkwright::collectives::graph_file::{read, write};

// A file that is read is written, and read back as the same.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(file) = read("fuzz", text) else { return };
    assert_eq!(read("again", &write(&file)).ok(), Some(file));
});
