#![no_main]
use linkwright::collectives::nccl_tests::read;

// What is read has rows, each with a time, and every note names a line of the text.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(log) = read("fuzz", text) else { return };
    assert!(!log.rows.is_empty());
    assert!(log.rows.iter().all(|row| row.out_of_place.time > 0.0));
    let lines = text.lines().count();
    assert!(log.notes.iter().all(|note| (1..=lines).contains(&note.line)));
});
