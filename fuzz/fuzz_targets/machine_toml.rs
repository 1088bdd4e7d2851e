#![no_main]
use linkwright::topology::toml_format;
libfuzzer_sys::fuzz_target!(|text: &str| drop(toml_format::read("fuzz", text)));
