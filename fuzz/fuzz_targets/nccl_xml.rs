#![no_main]
use linkwright::topology::nccl_xml;
libfuzzer_sys::fuzz_target!(|text: &str| drop(nccl_xml::read("fuzz", text, &Default::default())));
