#![no_main]
use linkwright::memory::kernel::recorded::{read, write};

// A kernel that is read is the same when written and read back.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(kernel) = read("fuzz", text) else { return };
    assert_eq!(read("again", &write(&kernel)), Ok(kernel));
});
