#![no_main]
use linkwright::collectives::export::{normalise, read_msccl_xml, to_msccl_xml};

// A schedule that is read and can be written is read back as the same schedule.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(schedule) = read_msccl_xml("fuzz", text) else { return };
    if let Ok(export) = to_msccl_xml(&schedule, &Default::default()) {
        assert_eq!(read_msccl_xml("again", &export.text).ok(), normalise(&schedule).ok());
    }
});
