#![no_main]
use linkwright::collectives::baselines::Version;

// A text that is read is a version of NCCL 2, which is written so that it is read again.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(version) = text.parse::<Version>() else { return };
    assert_eq!(version.major, 2);
    assert_eq!(version.to_string().parse(), Ok(version));
});
