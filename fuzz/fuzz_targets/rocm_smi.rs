#![no_main]
use linkwright::system::import::rocm_smi;
libfuzzer_sys::fuzz_target!(|text: &str| drop(rocm_smi::read("fuzz", text, &Default::default())));
