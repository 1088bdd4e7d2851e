#![no_main]
use linkwright::training::Network;

// A network that is read has layers that read only earlier ones, and is the same when made anew.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(networks) = Network::read_all("fuzz", text) else { return };
    for network in networks {
        for (at, layer) in network.layers.iter().enumerate() {
            assert!(layer.inputs.iter().flatten().all(|input| *input < at));
            assert!(layer.output.elements() > 0 && layer.steps > 0);
        }
        // Sums stay within their type.
        let _ = network.parameters() + network.multiply_adds() + network.saved();
        assert_eq!(network.with_input(network.input).as_ref(), Ok(&network));
    }
});
