#![no_main]
use linkwright::scenario::recorded::{Columns, is_record, read};

// Jobs of no length and of no GPU are left out, whatever else the text says.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = is_record(text, &Columns::default());
    let Ok(record) = read("fuzz", text, &Columns::default(), 1 << 20) else { return };
    assert!(record.jobs.iter().all(|job| job.gpus > 0 && job.duration.0 > 0));
});
