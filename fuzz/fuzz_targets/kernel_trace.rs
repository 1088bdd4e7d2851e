#![no_main]
use linkwright::training::KernelTrace;

// Whatever is read says what it found, and its parts sum up.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = KernelTrace::read("fuzz", bytes) else { return };
    assert!(trace.steps > 0 && !trace.kernels.is_empty());
    assert!((0.0..=1.0).contains(&trace.recognised()));
    assert!(trace.time.collectives.0 <= trace.time.whole().0);
});
