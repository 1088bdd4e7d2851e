#![no_main]
use linkwright::doctor::evidence::Evidence;
use linkwright::doctor::read::read_file;

// Whatever follows a first line of NCCL Inspector, each row has a time, and no line is both read and skipped.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let text = format!("{{\"coll_perf\":{{}}}}\n{text}");
    let mut evidence = Evidence::default();
    read_file("fuzz", text.as_bytes(), &mut evidence).expect("its first line tells the format");
    let rows = || evidence.inspector.iter().flat_map(|run| &run.rows);
    assert!(rows().all(|row| row.time > 0.0 && row.least <= row.time && row.size > 0));
    let read: u64 = rows().map(|row| row.count).sum();
    assert!(read + evidence.files[0].skipped <= evidence.files[0].lines);
});
