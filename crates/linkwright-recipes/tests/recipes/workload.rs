//! Follows the recipe of a workload.

use linkwright::scenario::{Files, PlayedScenario, ReadyJobs};
use linkwright::units::Picoseconds;

use crate::{played, scenario, stands_in_one_file_and_one_line};

const SERVER: &str = "[system]\nserver = \"dgx1-v100\"\n[allocation]\npolicies = [\"greedy\"]\n";

/// A job computes seven times for five milliseconds, and on two GPUs sums besides.
#[test]
fn it_is_drawn_by_name_and_takes_its_own_time() {
    let jobs = "[jobs]\ngenerate = { count = 9, max_gpus = 2, workloads = [\"halo\"] }\n";
    let PlayedScenario::Day(day) = played(&format!("{jobs}{SERVER}")) else { panic!("no day") };
    let computed = Picoseconds(35_000_000_000);
    for record in &day.records {
        let taken = Picoseconds(record.finish.0 - record.start.0);
        assert!(if record.gpu_count() == 1 { taken == computed } else { taken > computed });
    }
    stands_in_one_file_and_one_line("halo");
}

#[test]
fn a_job_of_ranks_names_it() {
    let job = "[system]\nserver = \"dgx1-v100\"\n[[job]]\nworkload = \"halo\"\nranks = 2\niterations = 3\n";
    let PlayedScenario::Programs(played) = played(job) else { panic!("no programs") };
    let end = played.outcome.jobs.jobs.iter().map(|job| job.end).max().unwrap();
    assert!((15_000_000_000..20_000_000_000).contains(&end.0), "{end:?}");
}

#[test]
fn files_of_jobs_name_it() {
    let day = format!("[jobs]\nfile = \"a.csv\"\n{SERVER}");
    let jobs = |text: &str| {
        let files = Files::from([("a.csv".to_owned(), text.as_bytes().to_vec())]);
        match scenario(&day).build(&files).unwrap().work {
            ReadyJobs::Mix(jobs) => jobs,
            ReadyJobs::Programs(_) => panic!("jobs of GPUs"),
        }
    };
    let listed = jobs("job,workload,gpus\na,halo,1\n");
    assert_eq!((&*listed[0].workload, listed[0].iterations), ("halo", 7));
    // It ran as long as twenty of its iterations.
    let recorded = jobs("submit,gpus,duration,workload\n0,1,0.1,halo\n");
    assert_eq!((&*recorded[0].workload, recorded[0].iterations), ("halo", 20));
}
