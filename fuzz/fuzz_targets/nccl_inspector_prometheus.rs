#![no_main]
use linkwright::doctor::evidence::Evidence;
use linkwright::doctor::read::read_file;

// Whatever follows a first comment of the metrics, each row has a time and a range of sizes.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let text = format!("# TYPE nccl_bus_bandwidth_gbs gauge\n{text}");
    let mut evidence = Evidence::default();
    read_file("fuzz", text.as_bytes(), &mut evidence).expect("its first line tells the format");
    let rows = || evidence.inspector.iter().flat_map(|run| &run.rows);
    assert!(rows().all(|row| row.time > 0.0 && row.size <= row.most));
});
