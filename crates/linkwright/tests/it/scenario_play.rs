//! One way from a scenario to what it comes to, for jobs of both kinds.

use std::ops::ControlFlow;

use linkwright::scenario::{Files, Given, PlayError, PlayedScenario, Run, Scenario, play};

fn run(text: &str, settings: &str, run: Run<'_>) -> Result<PlayedScenario, PlayError> {
    let (text, settings) = (text.to_owned(), settings.to_owned());
    let file = "s.toml".to_owned();
    let scenario = Scenario::read(&Given { file, text, settings, ..Given::default() }).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    play(&scenario, &built, run, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_day_is_played_under_the_policy_that_is_named_or_its_first() {
    let text = include_str!("../../../../examples/shared-server.toml");
    let few = "[jobs.generate]\ncount = 12\n";
    let day = |policy| match run(text, few, Run { policy, ..Run::default() }) {
        Ok(PlayedScenario::Day(day)) => day,
        other => panic!("no day: {other:?}"),
    };
    let first = day(None);
    assert_eq!(first, day(Some("preserve")));
    assert_eq!(first.records.len(), 12);
    assert!(first.plans.is_some());
    assert_ne!(first.records, day(Some("baseline")).records);
    let unknown = run(text, few, Run { policy: Some("gready"), ..Run::default() }).unwrap_err();
    assert!(unknown.to_string().contains("`gready`"), "{unknown}");
}

#[test]
fn every_choice_of_a_day_counts() {
    let text = include_str!("../../../../examples/shared-server.toml");
    // The jobs come at once, so that some wait, on GPUs that are slower than the reference.
    let settings = "system.server = \"dgx1-p100\"\njobs.generate.count = 12\n\
                    jobs.generate.mean_interarrival = \"1 s\"\n";
    let day = |more: &str| match run(text, &format!("{settings}{more}\n"), Run::default()) {
        Ok(PlayedScenario::Day(day)) => day.records,
        other => panic!("no day: {other:?}"),
    };
    let as_written = day("");
    for other in [
        "allocation.bandwidth_model = \"published\"",
        "allocation.bandwidth_profile = \"data-sheet\"",
        "collectives.planner = \"nccl-ring\"",
        "jobs.host_copies = false",
        "jobs.gpu_speed = \"reference\"",
        "jobs.bucket = \"100 MB\"",
        "queue.discipline = \"backfill\"",
        "system.unhealthy = [0]",
    ] {
        assert!(as_written != day(other), "{other}");
    }
}

#[test]
fn programs_are_played_on_the_gpus_of_their_mappings() {
    let text = include_str!("../../../../examples/shared-bus.toml");
    let Ok(PlayedScenario::Programs(played)) = run(text, "", Run { policy: None, intervals: 3 })
    else {
        panic!("no programs")
    };
    let mappings: Vec<_> = played.jobs.iter().map(|job| job.mapping.clone()).collect();
    assert_eq!(mappings, [[0, 2], [1, 3]]);
    assert_eq!(played.outcome.jobs.jobs.len(), 2);
    assert!(played.outcome.events > 0);
}
