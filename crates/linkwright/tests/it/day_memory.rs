//! A day keeps little of a job that has ended.

use std::ops::ControlFlow;

use allocation_counter::measure;
use linkwright::scenario::{Files, Given, Run, Scenario, play};

/// Measures the bytes that a day of some jobs takes at once, on servers whose GPUs are mostly new to a job.
fn most_bytes(jobs: usize, fidelity: &str) -> u64 {
    let text = format!(
        "fidelity = \"{fidelity}\"\n[system]\nserver = \"dgx1-v100\"\nservers = 64\n[jobs]\nrun_time = \"played\"\n\
         generate = {{ count = {jobs}, max_gpus = 8, iterations = 2, mean_interarrival = \"10 ms\" }}\n\
         [allocation]\npolicies = [\"baseline\"]\nservers = \"spread\"\n[collectives]\nplanner = \"nccl-ring\"\n"
    );
    let given = Given { text, ..Given::default() };
    let scenario = Scenario::read(&given).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    let mut hook = |_| ControlFlow::Continue(());
    measure(|| drop(play(&scenario, &built, Run::default(), &mut hook).unwrap())).bytes_max
}

/// A day of twice the jobs takes ten kilobytes more for each at most.
#[test]
fn a_day_keeps_ten_kilobytes_of_a_job() {
    for fidelity in ["flow", "fluid"] {
        let (few, many) = (most_bytes(100, fidelity), most_bytes(200, fidelity));
        let each = many.saturating_sub(few) / 100;
        assert!(each < 10_000, "{fidelity}: {each} bytes of each job, {few} and {many} in all");
    }
}
