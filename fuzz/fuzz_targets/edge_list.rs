#![no_main]
use linkwright::allocation::Pattern;
libfuzzer_sys::fuzz_target!(|text: &str| drop(Pattern::read_edge_list("fuzz", text)));
