//! Tests scenarios, their errors, and the results of their runs.

mod comparisons;
mod failures;
mod mixes;
mod models;
mod packages;
mod refusals;
mod runs;
mod settings;

use super::*;
use crate::diagnostic::InputError;
use crate::simulation::cluster::{Cluster, ClusterJob, ClusterOutcome, Mapping, Watch};

/// Has every table in a small scenario.
const SMALL: &str = "name = \"small\"\nseed = 3\nmapping = \"linear\"\n\n\
    [network]\nkind = \"fat-tree\"\nradix = 4\npods = 4\nbandwidth_scale = \"2x\"\n\
    gpus_per_node = 4\nnic = \"rr-4\"\n\n[protocol]\neager_limit = \"16 KiB\"\n\n\
    [[job]]\nname = \"a\"\nprogram = \"stencil4d\"\nranks = 16\niterations = 2\ngpu = true\n\
    parameters = { message = \"16 KiB\", compute = \"5 us\" }\n\n\
    [[job]]\nprogram = \"kripke\"\nranks = 8\nstart = \"1 ms\"\nmapping = \"random\"\n";

pub(super) fn read(text: &str) -> Result<Scenario, InputError> {
    let given = Given { file: "s.toml".to_owned(), text: text.to_owned(), ..Given::default() };
    Scenario::read(&given)
}

/// Builds the system of a scenario and its jobs, which run programs.
fn build(text: &str, files: &Files) -> (Cluster, Vec<ClusterJob>) {
    let Built { cluster, work, .. } = read(text).and_then(|it| it.build(files)).unwrap();
    match work {
        ReadyJobs::Programs(jobs) => (cluster, jobs),
        ReadyJobs::Mix(_) => panic!("jobs of GPUs"),
    }
}

/// Returns the error of a scenario, wherever it is noticed.
fn refused(text: &str, files: &Files) -> String {
    match read(text).and_then(|scenario| scenario.build(files)) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// Returns the result of a scenario's run, and the watch.
fn run(text: &str, files: &Files, most: usize) -> (Cluster, ClusterOutcome, Watch) {
    let (cluster, jobs) = build(text, files);
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
