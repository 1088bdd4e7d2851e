#![no_main]
use linkwright::simulation::job_file;
libfuzzer_sys::fuzz_target!(|text: &str| drop(job_file::read("fuzz", text)));
