#![no_main]
use linkwright::program::workload::{read_mapping, write_mapping};

// A mapping that is read is written and read back as the same mapping.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let sizes = [3, 1];
    let Ok(mapping) = read_mapping("fuzz", text, &sizes, 16) else { return };
    assert_eq!(read_mapping("again", &write_mapping(&mapping), &sizes, 16), Ok(mapping));
});
