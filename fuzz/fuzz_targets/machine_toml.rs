#![no_main]
use linkwright::allocation::{
    BandwidthModel, Effort, GpuSet, POLICIES, Pattern, PatternShape, PreparedMachine, Request,
};
use linkwright::system::{BandwidthProfile, System, toml_format};

// A machine that is read is written, and split into its servers where it lists a network. It can
// also be prepared and decided on, whatever its links carry.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(machine) = toml_format::read("fuzz", text) else { return };
    let again = toml_format::read("again", &toml_format::write(&machine));
    assert_eq!(again.as_ref(), Ok(&machine));
    if let Ok(system) = System::of_machine(machine.clone()) {
        assert_eq!(system.gpus() as usize, machine.gpus().len());
    }
    for (profile, model) in [
        (BandwidthProfile::Mapa, BandwidthModel::Sound),
        (BandwidthProfile::DataSheet, BandwidthModel::Published),
    ] {
        let Ok(prepared) = PreparedMachine::new(&machine, profile, model) else { continue };
        let free = GpuSet::first(prepared.gpu_count());
        for shape in [PatternShape::Ring, PatternShape::Chain, PatternShape::AllToAll] {
            let size = free.len().min(4);
            let Ok(pattern) = Pattern::new(shape, size) else { continue };
            for policy in POLICIES {
                let request = Request { pattern: &pattern, sensitive: true };
                let effort = &mut Effort::new();
                let selection = policy.choose(&prepared, &request, free, effort);
                assert_eq!(selection.map(|found| found.chosen.gpus().len()), Some(size));
            }
        }
    }
});
