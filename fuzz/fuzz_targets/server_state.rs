#![no_main]
use linkwright::allocation::ServerState;
use linkwright::topology::presets::preset;
use linkwright::topology::{BandwidthProfile, GpuGraph};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let machine = preset("dgx1-v100").expect("a preset");
    let graph = GpuGraph::new(&machine, BandwidthProfile::Mapa).expect("a connected machine");
    drop(ServerState::restore("fuzz", text, machine.name(), &graph));
});
