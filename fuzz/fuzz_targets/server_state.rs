#![no_main]
use linkwright::allocation::{Ended, ServerState};
use linkwright::system::presets::preset;
use linkwright::system::{BandwidthProfile, GpuGraph};

// A state is restored, on its machine or on a smaller one of its name. It then saves and restores
// to the same, and can be reconciled.
libfuzzer_sys::fuzz_target!(|text: &str| {
    for machine in ["dgx1-v100", "pcie-tree-4"] {
        let machine = preset(machine).expect("a preset");
        let graph = GpuGraph::new(&machine, BandwidthProfile::Mapa).expect("a connected machine");
        let restore = |text: &str| ServerState::restore("fuzz", text, "dgx1-v100", &graph, &[]);
        if let Ok(mut state) = restore(text) {
            assert_eq!(restore(&state.save()).expect("its own text"), state);
            let nobody = std::collections::BTreeSet::new();
            state.reconcile(Ended::Unlisted { living: &nobody, since: u64::MAX });
            assert!(state.held().is_empty() && state.owners().is_empty());
        }
    }
});
