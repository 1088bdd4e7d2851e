//! Scenarios, what they refuse, and what their runs give.

mod refusals;
mod runs;

use super::*;
use crate::diagnostic::InputError;

/// A small scenario with every table.
const SMALL: &str = "name = \"small\"\nseed = 3\nmapping = \"linear\"\n\n\
    [network]\nkind = \"fat-tree\"\nradix = 4\npods = 4\nbandwidth_scale = \"2x\"\n\
    gpus_per_node = 4\nnic = \"rr-4\"\n\n[protocol]\neager_limit = \"16 KiB\"\n\n\
    [[job]]\nname = \"a\"\nprogram = \"stencil4d\"\nranks = 16\niterations = 2\ngpu = true\n\
    parameters = { message = \"16 KiB\", compute = \"5 us\" }\n\n\
    [[job]]\nprogram = \"kripke\"\nranks = 8\nstart = \"1 ms\"\nmapping = \"random\"\n";

fn read(text: &str) -> Result<ClusterScenario, InputError> {
    read_scenario("s.toml", text)
}

/// What is wrong with a scenario, wherever it is noticed.
fn refused(text: &str, files: &Files) -> String {
    match read(text).and_then(|scenario| scenario.build(files)) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// What a scenario's run gives, and what was watched.
fn run(text: &str, files: &Files, most: usize) -> (Cluster, ClusterOutcome, Watch) {
    let built = read(text).and_then(|scenario| scenario.build(files)).unwrap();
    let BuiltScenario { cluster, jobs, .. } = built;
    let jobs: Vec<_> = jobs
        .iter()
        .map(|job| match &job.mapping {
            Some(Mapping::Gpus(gpus)) => job.on(gpus.clone()),
            _ => panic!("a scenario places its jobs"),
        })
        .collect();
    let mut watch = Watch::new(&jobs, &cluster.system, most);
    let mut hook = |_| std::ops::ControlFlow::Continue(());
    let outcome = cluster.replay(&jobs, &mut watch, &mut hook).unwrap();
    (cluster, outcome, watch)
}
