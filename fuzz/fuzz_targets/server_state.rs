#![no_main]
use linkwright::allocation::ServerState;
libfuzzer_sys::fuzz_target!(|text: &str| drop(ServerState::restore("fuzz", text)));
