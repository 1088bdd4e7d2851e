#![no_main]
use linkwright::scenario::recorded::{Accounting, Cut};

// Jobs of no length and of no GPU are left out, whatever else the text says, and a part is of all.
libfuzzer_sys::fuzz_target!(|input: (Option<&str>, Option<u8>, &str)| {
    let (from, days, text) = input;
    let accounting = Accounting::default();
    let _ = accounting.is_record(text);
    let Some(cut) = Cut::new(from, days.map(u32::from)) else { return };
    let Ok(record) = accounting.read("fuzz", text, cut, 1 << 20) else { return };
    assert!(record.jobs.iter().all(|job| job.gpus > 0 && job.duration.0 > 0));
});
