//! Days of jobs that train language models by layouts: alone, each must take what its step takes.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::collectives::baselines::{GroupTimes, Settings};
use linkwright::runtime::ProgramJob;
use linkwright::simulation::cluster::{Cluster, CollectiveChoices, CollectiveProtocol, Fidelity};
use linkwright::simulation::played::PlannerChoice;
use linkwright::simulation::{Job, PlannedBy, ServerChoice, Task, WrittenJob, nearness};
use linkwright::training::{LanguageModel, ModelChoices, ModelLayout, ModelTask, Recompute};

use super::played::{cluster, played_in};

/// Makes a pod whose jobs run as fluids.
fn pod(servers: u32) -> Cluster {
    let text = format!("kind = \"single-switch\"\nservers = {servers}\nmachine = \"hgx-h100\"");
    cluster(&text, Fidelity::Fluid)
}

fn task(name: &str, layout: &str, zero: u8, batch: u64) -> ModelTask {
    let layout = ModelLayout::read(layout).unwrap();
    let choices = ModelChoices {
        zero,
        batch: layout.replicas() * batch,
        recompute: Recompute::read("full").unwrap(),
        sequence_parallel: layout.tp > 1,
        ..ModelChoices::usual(layout)
    };
    ModelTask { model: LanguageModel::find(name).unwrap().clone(), choices }
}

/// Gives the time of a step with all of its exchanges, one rank for each stage, as `linkwright train` says.
fn of_step(cluster: &Cluster, task: &ModelTask) -> f64 {
    let gpus: Vec<u32> = (0..task.choices.layout.gpus() as u32).collect();
    let step = task.step(&cluster.system, &gpus).unwrap();
    let mut known = GroupTimes::new(&cluster.system, Settings::default());
    let times = step.class_times(|groups, kind, sizes| {
        let of_group = |ranks: &Vec<u64>| ranks.iter().map(|rank| *rank as usize).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(of_group).collect();
        known.times(&groups, kind, sizes)
    });
    let program = Arc::new(step.by_class(&times.unwrap()));
    let of_stage = |stage| step.peers(0, stage)[0].1 as u32;
    let job = ProgramJob::new(&program, (0..step.layout().pp).map(of_stage).collect());
    let collectives =
        CollectiveChoices { protocol: CollectiveProtocol::Nccl, ..CollectiveChoices::default() };
    let alone = Cluster { collectives, fidelity: Fidelity::Flow, ..cluster.clone() };
    let outcome = alone.replay(&[job], &mut (), &mut |_| ControlFlow::Continue(())).unwrap();
    outcome.jobs.jobs[0].end.as_seconds()
}

fn job(name: &str, task: ModelTask, iterations: u64) -> Job {
    let gpus = task.choices.layout.gpus() as u32;
    let own = Job::of_own(name.to_owned(), task.model.name.clone(), gpus);
    let written = Some(Box::new(WrittenJob::new(Task::Model(Arc::new(task)))));
    Job { iterations, written, ..own }
}

fn ring() -> PlannerChoice {
    PlannerChoice::Plan(PlannedBy::Library(None))
}

#[test]
fn a_lone_job_takes_what_its_step_takes() {
    let cases = [
        ("llama-3.1-8b", "fsdp=16", 3, 1),
        ("llama-3.1-8b", "dp=2,tp=8", 1, 1),
        ("llama-3.1-8b", "pp=2,tp=4,dp=2", 1, 8),
        ("llama-3.1-8b", "pp=2,tp=8,dp=2", 1, 8),
        ("llama-3.2-1b", "fsdp=8", 3, 1),
    ];
    for (model, layout, zero, batch) in cases {
        let task = task(model, layout, zero, batch);
        let pod = pod((task.choices.layout.gpus() as u32).div_ceil(8));
        let expected = of_step(&pod, &task);
        let jobs = [job("alone", task, 10)];
        let outcome = played_in(ServerChoice::FirstFit, &pod, ring(), "preserve", &jobs).unwrap();
        let taken = outcome.records[0].finish.as_seconds() / 10.0;
        let ratio = taken / expected;
        assert!((ratio - 1.0).abs() < 0.03, "{layout}: {taken} in a day, {expected} alone");
    }
}

/// Eight parts of each layer should be in one server. Over eight servers they exchange by interfaces.
#[test]
fn parts_of_layers_are_slower_over_servers() {
    let pod = pod(8);
    let jobs = [job("parts", task("llama-3.1-8b", "tp=8", 0, 1), 5)];
    let on = |servers| {
        let outcome = played_in(servers, &pod, ring(), "preserve", &jobs).unwrap();
        let near = nearness(&pod.system, &jobs, &outcome.records);
        (outcome.records[0].finish, outcome.records[0].parts.len(), format!("{near:?}"))
    };
    let whole = on(ServerChoice::Whole);
    assert_eq!(whole.1, 1);
    assert!(whole.2.contains("tensor_within"));
    let wide = Job { servers_wanted: Some(8), ..jobs[0].clone() };
    let outcome = played_in(ServerChoice::FirstFit, &pod, ring(), "preserve", &[wide]).unwrap();
    assert_eq!(outcome.records[0].parts.len(), 8);
    assert!(outcome.records[0].finish.0 > whole.0.0 * 3 / 2);
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let pod = pod(1);
    let task = task("llama-3.1-8b", "dp=8", 0, 1);
    let error =
        played_in(ServerChoice::FirstFit, &pod, ring(), "preserve", &[job("large", task, 1)]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("job `large`") && error.contains("what fits: "), "{error}");
}
