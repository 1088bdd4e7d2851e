#![no_main]
use linkwright::collectives::mpi::ByDefault;
use linkwright::program::goal::{Options, read, write};

// A program that is read and can be written is read back as the same program.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let options = Options::default();
    let Ok(program) = read("fuzz", text, &options) else { return };
    let written =
        write(&program, &options, &ByDefault).expect("a program from GOAL can be written as GOAL");
    assert_eq!(read("fuzz", &written, &options), Ok(program));
});
