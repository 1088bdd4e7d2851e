#![no_main]
use linkwright::doctor::evidence::Evidence;
use linkwright::doctor::read::read_file;

// Every byte and line is counted, and every proof and note names a line of the file.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut evidence = Evidence::default();
    let Ok(()) = read_file("fuzz", bytes, &mut evidence) else { return };
    let [file] = &evidence.files[..] else { panic!("one file") };
    assert_eq!(file.bytes, bytes.len() as u64);
    let within = |line: u64| line <= file.lines;
    assert!(file.notes.iter().all(|(line, _)| within(*line)));
    for run in &evidence.runs {
        assert!(run.debug.places.values().all(|place| within(place.line.number)));
        assert!(run.debug.connections.values().all(|(_, line)| within(line.number)));
        let ranks = run.debug.ranks.unwrap_or(u32::MAX);
        assert!(run.debug.places.keys().all(|rank| *rank < ranks));
    }
});
