#![no_main]
use linkwright::simulation::scenario;
libfuzzer_sys::fuzz_target!(|text: &str| drop(scenario::read("fuzz", text)));
