//! Tests how a scenario reads, refuses and draws jobs that train language models.

use super::*;
use crate::simulation::{Job, Task};

/// Writes a day on one server, with a job of a model whose keys follow.
fn day(keys: &str) -> String {
    format!("fidelity = \"fluid\"\nsystem.server = \"hgx-h100\"\n[[job]]\n{keys}\n")
}

/// A day of jobs that are drawn from kinds of models.
fn drawn(kinds: &str) -> String {
    format!(
        "seed = 3\nfidelity = \"fluid\"\nsystem.server = \"hgx-h100\"\n[jobs.generate]\ncount = 400\n{kinds}\n"
    )
}

fn jobs(text: &str, files: &Files) -> Vec<Job> {
    match read(text).and_then(|it| it.build(files)).unwrap().work {
        ReadyJobs::Mix(jobs) => jobs,
        ReadyJobs::Programs(_) => panic!("programs"),
    }
}

#[test]
fn a_model_is_trained_as_its_parameters_say() {
    let keys = "model = \"llama-3.2-1b\"\ngpus = 8\niterations = 3\n\
        parameters = { layout = \"tp=2,fsdp=4\", micro_batch = 2, tokens = 4096, recompute = \"full\" }";
    let all = jobs(&day(keys), &Files::default());
    let [Job { workload, gpus: 8, iterations: 3, .. }] = &all[..] else { panic!("{all:?}") };
    assert_eq!(workload, "llama-3.2-1b");
    let Some(Task::Model(task)) = all[0].task() else { panic!("{all:?}") };
    let choices = &task.choices;
    assert_eq!((choices.layout.tp, choices.zero, choices.micro_batch, choices.batch), (2, 3, 2, 8));
    assert_eq!(task.model.tokens, 4096);
}

#[test]
fn what_cannot_be_trained_is_refused_at_its_place() {
    let one = |more: &str| day(&format!("model = \"llama-3.2-1b\"\n{more}"));
    let cases = [
        (one(""), "s.toml:4:9: a model without `gpus`"),
        (one("gpus = 8\nparameters.layuot = \"tp=2\""), "did you mean `layout`?"),
        (one("gpus = 8\nparameters.layout = \"tp=16\""), "s.toml:6:"),
        (one("gpus = 8\nparameters.layout = \"tp=4\""), "has 4 GPUs, and 8 train"),
        (one("gpus = 8\nparameters.zero = 4"), "no stage of ZeRO"),
        (one("gpus = 8\nparameters.recompute = \"some\""), "s.toml:6:"),
        (one("gpus = 8\ntrain = \"lenet\""), "`model` beside a network that is trained"),
        (day("model = \"llama-9\"\ngpus = 8"), "s.toml:4:9: "),
        (day("model = \"own.json\"\ngpus = 8"), "a file that was not given: `own.json`"),
        (day("model = \"llama-3.1-8b\"\ngpus = 8"), "what fits: "),
        (
            drawn("[jobs.generate.models.big]\nmodel = \"llama-3.2-1b\"\ngpus = 16"),
            "have 16 GPUs, and 8",
        ),
        (drawn("[jobs.generate.models.big]\ngpus = 8"), "no `model` is named"),
    ];
    for (text, message) in cases {
        let error = refused(&text, &Files::default());
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn kinds_are_drawn_by_their_shares() {
    let kinds = "[jobs.generate.models.often]\nmodel = \"llama-3.2-1b\"\ngpus = 2\nshare = 3\niterations = 7\n\
        [jobs.generate.models.seldom]\nmodel = \"llama-3.2-3b\"\ngpus = 4\nlora = 8\n";
    let all = jobs(&drawn(kinds), &Files::default());
    let often = all.iter().filter(|job| job.workload == "often").count();
    assert!(often.abs_diff(300) < 40, "{often}");
    for job in &all {
        let of_kind = if job.workload == "often" { (2, 7) } else { (4, 100) };
        assert_eq!((job.gpus, job.iterations), of_kind);
        assert!(matches!(job.task(), Some(Task::Model(_))));
    }
}
