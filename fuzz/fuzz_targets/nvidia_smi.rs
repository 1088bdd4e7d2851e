#![no_main]
use linkwright::topology::nvidia_smi;
libfuzzer_sys::fuzz_target!(|text: &str| drop(nvidia_smi::read("fuzz", text, &Default::default())));
