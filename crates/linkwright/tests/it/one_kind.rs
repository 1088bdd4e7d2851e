//! Jobs of lists and jobs that are written down in one scenario.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use linkwright::scenario::{Files, Given, PlayedScenario, Run, Scenario, play};
use linkwright::simulation::{Job, JobRecord};

/// A day's jobs with what became of them, by their names.
fn day(text: &str) -> Result<BTreeMap<String, (Job, JobRecord)>, String> {
    let given = Given { file: "s.toml".to_owned(), text: text.to_owned(), ..Given::default() };
    let scenario = Scenario::read(&given).map_err(|error| error.to_string())?;
    let built = scenario.build(&Files::new()).map_err(|error| error.to_string())?;
    let linkwright::scenario::ReadyJobs::Mix(jobs) = built.work.clone() else {
        panic!("no day: {text}")
    };
    let played = play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()));
    match played.map_err(|error| error.to_string())? {
        PlayedScenario::Day(day) => Ok(day
            .records
            .into_iter()
            .map(|record| (jobs[record.job].name.clone(), (jobs[record.job].clone(), record)))
            .collect()),
        PlayedScenario::Programs(_) => panic!("no day: {text}"),
    }
}

fn gpus(record: &JobRecord) -> Vec<usize> {
    record.parts.iter().flat_map(|part| part.chosen.gpus().iter().collect::<Vec<_>>()).collect()
}

fn seconds(record: &JobRecord) -> f64 {
    record.finish.as_seconds() - record.start.as_seconds()
}

const SYSTEM: &str = "[system]\nserver = \"dgx1-v100\"\n";
const LISTED: &str = "[jobs]\ngenerate = { count = 4, max_gpus = 2, iterations = 20 }\n\
                      [allocation]\npolicies = [\"preserve\"]\n";
const WRITTEN: &str = "[[job]]\nname = \"by-policy\"\ntrain = \"resnet-50\"\ngpus = 4\niterations = 3\n\
    [[job]]\nname = \"on-its-own\"\nworkload = \"vgg-16\"\ngpus = 2\npolicy = \"baseline\"\niterations = 5\n\
    start = \"1 s\"\n\
    [[job]]\nname = \"mapped\"\nprogram = \"laghos\"\nranks = 4\nmapping = [7, 5, 6, 4]\nstart = \"2 s\"\n";

#[test]
fn both_ways_of_jobs_stand_in_one_day() {
    for fidelity in ["flow", "packet"] {
        let text = format!("fidelity = \"{fidelity}\"\n{SYSTEM}{LISTED}{WRITTEN}");
        let day = day(&text).unwrap();
        assert_eq!(day.len(), 7, "{fidelity}");
        let (job, record) = &day["mapped"];
        assert_eq!((gpus(record), job.workload.as_str()), (vec![4, 5, 6, 7], "laghos"));
        assert!(record.start >= job.arrival && record.finish > record.start);
        assert_eq!(gpus(&day["by-policy"].1).len(), 4);
        assert!(seconds(&day["on-its-own"].1) > 0.0);
    }
}

/// The parts of a scenario that say how kernels of all jobs are planned.
const KERNELS: &str = "fidelity = \"flow\"\ncollectives.protocol = \"nccl\"\n";

#[test]
fn a_program_takes_as_long_in_a_day_as_where_all_are_mapped() {
    let job = "[[job]]\nname = \"a\"\ntrain = \"resnet-50\"\niterations = 2\n\
               parameters = { batch = 64, communication = \"fsdp\" }\n";
    let mapped = format!("{KERNELS}{SYSTEM}{job}ranks = 4\nmapping = [0, 1, 2, 3]\n");
    let given = Given { text: mapped.clone(), ..Given::default() };
    let scenario = Scenario::read(&given).unwrap();
    let built = scenario.build(&Files::new()).unwrap();
    let run = play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(()));
    let Ok(PlayedScenario::Programs(alone)) = run else { panic!("no programs") };
    let end = alone.outcome.jobs.jobs[0].end;
    // One more job, of a policy, makes a day of it; it comes when the first is over.
    let other = "[[job]]\nname = \"b\"\nworkload = \"gmm\"\ngpus = 1\nstart = \"1000 s\"\n";
    let day = day(&format!("{mapped}{other}")).unwrap();
    assert_eq!(day["a"].1.finish, end);
}

#[test]
fn a_workload_takes_as_long_written_down_as_listed() {
    for fidelity in ["fluid", "flow"] {
        let head = format!("fidelity = \"{fidelity}\"\n{SYSTEM}");
        let listed = "[jobs]\ngenerate = { count = 1, max_gpus = 1, workloads = [\"gmm\"], iterations = 7 }\n\
                      [allocation]\npolicies = [\"preserve\"]\n";
        let written = "[[job]]\nname = \"w\"\nworkload = \"gmm\"\ngpus = 1\niterations = 7\n";
        let both = day(&format!("{head}{listed}{written}")).unwrap();
        let mut taken = both.values().map(|(_, record)| seconds(record));
        assert_eq!(taken.next(), taken.next(), "{fidelity}");
    }
}

#[test]
fn ranks_that_are_mapped_wait_for_their_gpus_and_hold_up_what_is_behind() {
    let job = |name: &str, rest: &str| {
        format!("[[job]]\nname = \"{name}\"\nworkload = \"gmm\"\niterations = 10\n{rest}\n")
    };
    let jobs = [
        job("first", "gpus = 2"),
        job("second", "ranks = 1\nmapping = [0]"),
        job("third", "gpus = 1"),
    ];
    let text = |discipline: &str| {
        format!(
            "fidelity = \"flow\"\n{SYSTEM}[queue]\ndiscipline = \"{discipline}\"\n\
             [allocation]\npolicies = [\"baseline\"]\n{}",
            jobs.concat()
        )
    };
    let fifo = day(&text("fifo")).unwrap();
    assert_eq!(fifo["second"].1.start, fifo["first"].1.finish);
    assert_eq!(fifo["third"].1.start, fifo["second"].1.start);
    let backfilled = day(&text("backfill")).unwrap();
    assert_eq!(backfilled["second"].1.start, backfilled["first"].1.finish);
    assert_eq!(backfilled["third"].1.start.0, 0, "it wants none of the GPUs that are waited for");
}

#[test]
fn a_job_of_unknown_length_is_not_backfilled_unless_it_says_how_long_it_runs() {
    let start = |limit: &str| {
        let text = format!(
            "fidelity = \"flow\"\n{SYSTEM}[queue]\ndiscipline = \"backfill\"\n\
             [[job]]\nname = \"first\"\nworkload = \"gmm\"\ngpus = 5\niterations = 10\n\
             [[job]]\nname = \"large\"\nworkload = \"gmm\"\ngpus = 8\niterations = 1\n\
             [[job]]\nname = \"small\"\nprogram = \"laghos\"\ngpus = 2\n{limit}"
        );
        let day = day(&text).unwrap();
        (day["small"].1.start.0, day["large"].1.finish.0)
    };
    let (unknown, after) = start("");
    assert!(unknown >= after, "{unknown} {after}");
    assert_eq!(start("time_limit = \"1 us\"\n").0, 0);
    assert!(start("time_limit = \"360000 s\"\n").0 >= after);
}

#[test]
fn a_fluid_takes_what_repeats_and_refuses_what_does_not() {
    let with = |job: &str| day(&format!("fidelity = \"fluid\"\n{SYSTEM}[[job]]\n{job}\n"));
    assert!(with("workload = \"vgg-16\"\nranks = 4").is_ok());
    let trained = |precision: &str| {
        let job =
            format!("train = \"vgg-16\"\ngpus = 4\nparameters = {{ precision = \"{precision}\" }}");
        with(&job).unwrap().values().map(|(_, record)| seconds(record)).sum::<f64>()
    };
    assert!(trained("fp16") < trained("fp32"));
    for job in [
        "program = \"laghos\"\nranks = 4",
        "train = \"vgg-16\"\ngpus = 4\nparameters = { communication = \"fsdp\" }",
    ] {
        let error = with(job).unwrap_err();
        assert!(
            error.starts_with("s.toml:5:") && error.contains("`fidelity = \"flow\"`"),
            "{error}"
        );
    }
}

#[test]
fn what_a_job_cannot_ask_for_is_refused_with_its_place() {
    for (job, place, says) in [
        ("gpus = 2\nranks = 2", "5:9", "remove `ranks`"),
        ("gpus = 2\nmapping = [0, 1]", "5:11", "remove `mapping`"),
        ("ranks = 2\npolicy = \"greedy\"", "5:10", "write `gpus`"),
        ("gpus = 2\npolicy = \"gready\"", "5:10", "did you mean `greedy`?"),
        ("gpus = 0", "4:8", "at least 1"),
        ("gpus = 9", "4:8", "8 or less"),
        ("gpus = 2\ntime_limit = \"0 s\"", "5:14", "at most"),
    ] {
        let text = format!("{SYSTEM}[[job]]\n{job}\nworkload = \"gmm\"\n");
        let error = day(&text).unwrap_err();
        assert!(error.starts_with(&format!("s.toml:{place}")) && error.contains(says), "{error}");
    }
    let text = format!("{SYSTEM}{LISTED}[[job]]\nname = \"job-1\"\nworkload = \"gmm\"\ngpus = 1\n");
    let error = day(&text).err();
    assert!(error.is_none_or(|error| error.contains("a second job of this name")));
}

#[test]
fn jobs_of_a_list_train_as_is_chosen_for_all() {
    let length = |more: &str| {
        let text = format!(
            "fidelity = \"flow\"\n{SYSTEM}[jobs]\n\
             generate = {{ count = 3, max_gpus = 4, train = [\"resnet-50\"], iterations = 2, seed = 1 }}\n{more}\
             [allocation]\npolicies = [\"preserve\"]\n"
        );
        day(&text).map(|day| day.values().map(|(_, record)| seconds(record)).sum::<f64>())
    };
    let usual = length("").unwrap();
    assert_eq!(length("precision = \"fp32\"\ncommunication = \"all-reduce\"\n").unwrap(), usual);
    assert!(length("precision = \"fp16\"\n").unwrap() < 0.8 * usual);
    assert!(length("optimizer = \"adam\"\n").unwrap() > usual);
    assert_ne!(length("communication = \"fsdp\"\n").unwrap(), usual);
    // A program that is written down takes as long by the same choices.
    let formula = length("precision = \"fp16\"\nrun_time = \"formula\"\n").unwrap_err();
    assert!(formula.contains("beside a formula"), "{formula}");
    let fluid = length("").map(drop).and_then(|()| {
        day(&format!(
            "fidelity = \"fluid\"\n{SYSTEM}[jobs]\ncommunication = \"fsdp\"\n\
             generate = {{ count = 1, train = [\"resnet-50\"] }}\n"
        ))
    });
    assert!(
        fluid.unwrap_err().starts_with("s.toml:5:17: training that moves more than all-reduces")
    );
}

#[test]
fn a_network_takes_as_long_to_train_written_down_as_listed() {
    for fidelity in ["fluid", "flow"] {
        let day = |jobs: &str| {
            let text = format!(
                "fidelity = \"{fidelity}\"\n{SYSTEM}{jobs}[allocation]\npolicies = [\"baseline\"]\n"
            );
            let day = day(&text).unwrap();
            day.values().map(|(job, record)| (job.gpus, seconds(record))).collect::<Vec<_>>()
        };
        for precision in ["fp32", "fp16"] {
            let listed = format!(
                "[jobs]\nhost_copies = true\nprecision = \"{precision}\"\n\
                 generate = {{ count = 1, max_gpus = 4, seed = 3, train = [\"resnet-50\"], iterations = 4 }}\n"
            );
            let listed = day(&listed);
            let (gpus, _) = listed[0];
            let written = |scale: f64| {
                day(&format!(
                    "[[job]]\ntrain = \"resnet-50\"\ngpus = {gpus}\niterations = 4\n\
                     computation_scale = {scale}\nparameters = {{ precision = \"{precision}\" }}\n"
                ))
            };
            assert!(gpus > 1, "one GPU reduces nothing");
            assert_eq!(written(1.0), listed, "{fidelity} {precision}");
            assert!(written(3.0)[0].1 > 2.0 * listed[0].1, "{fidelity} {precision}");
        }
    }
}
