#![no_main]
use linkwright::system::import::nvidia_smi;
libfuzzer_sys::fuzz_target!(|text: &str| drop(nvidia_smi::read("fuzz", text, &Default::default())));
