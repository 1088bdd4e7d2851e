#![no_main]
use linkwright::collectives::nccl_tests::read;

// A log that is read has rows, each with a time, and every note names a line of the text. A
// launcher's label before every line changes no row.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(log) = read("fuzz", text) else { return };
    assert!(!log.rows.is_empty());
    assert!(log.rows.iter().all(|row| row.out_of_place.time > 0.0));
    let lines = text.lines().count();
    assert!(log.notes.iter().all(|note| (1..=lines).contains(&note.line)));
    if text.lines().all(|line| line.len() < 200) {
        let labelled: String = text.lines().map(|line| format!("0: {line}\n")).collect();
        assert_eq!(read("fuzz", &labelled).map(|it| it.rows).ok(), Some(log.rows));
    }
});
