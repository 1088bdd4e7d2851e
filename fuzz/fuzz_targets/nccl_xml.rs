#![no_main]
use linkwright::system::LinkKind;
use linkwright::system::import::nccl_xml::{self, NcclXmlOptions};
libfuzzer_sys::fuzz_target!(|text: &str| {
    for nvlink in [None, Some(LinkKind::Nvlink4)] {
        drop(nccl_xml::read("fuzz", text, &NcclXmlOptions { nvlink, ..Default::default() }));
    }
});
