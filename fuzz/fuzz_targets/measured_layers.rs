#![no_main]
use linkwright::training::{MeasuredLayers, Network};

// A file that is read names layers that exist.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let network = Network::find("lenet").expect("it is compiled in");
    let Ok(measured) = MeasuredLayers::read("fuzz", text, network) else { return };
    assert!(!measured.layers.is_empty());
    assert!(measured.layers.keys().all(|place| *place < network.layers.len()));
    assert!(measured.of(measured.samples.unwrap_or(7)).is_ok());
});
