#![no_main]
use linkwright::simulation::cluster::{
    Files, JobEntry, ProgramSource, read_network, read_scenario,
};

// A cluster's scenario is built or refused with its place, whatever its programs take for
// parameters; large programs are sound, too, and only take long.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = read_network("fuzz", text);
    let Ok(scenario) = read_scenario("fuzz", text) else { return };
    let is_small =
        |job: &JobEntry| matches!(job.program, ProgramSource::Skeleton { ranks: 0..=64, .. });
    if scenario.jobs.len() < 4 && scenario.jobs.iter().all(is_small) {
        let _ = scenario.build(&Files::new());
    }
});
