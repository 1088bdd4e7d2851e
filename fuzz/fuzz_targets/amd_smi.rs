#![no_main]
use linkwright::system::import::amd_smi;
libfuzzer_sys::fuzz_target!(|text: &str| drop(amd_smi::read("fuzz", text, &Default::default())));
