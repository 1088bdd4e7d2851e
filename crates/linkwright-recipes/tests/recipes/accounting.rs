//! Follows the recipe of a format of accounting.

use linkwright::scenario::{Files, ReadyJobs};

use crate::{scenario, stands_in_one_file_and_one_line};

const DAY: &str = "[system]\nserver = \"dgx1-v100\"\n[jobs]\nfile = \"log\"\nworkload = \"gmm\"\n\
                   [allocation]\npolicies = [\"greedy\"]\n";

#[test]
fn a_file_is_known_by_its_look() {
    let text = "job a came at 5 and had 2 GPUs for 60 seconds\njob b came at 15 and had 8 GPUs for 90 seconds\n";
    let files = Files::from([("log".to_owned(), text.as_bytes().to_vec())]);
    let built = scenario(DAY).build(&files).unwrap();
    let ReadyJobs::Mix(jobs) = built.work else { panic!("jobs of GPUs") };
    let read = jobs.iter().map(|job| (&*job.name, job.gpus, job.arrival.as_seconds()));
    assert_eq!(read.collect::<Vec<_>>(), [("a", 2, 0.0), ("b", 8, 10.0)]);
    let damaged = text.replace("8 GPUs", "eight GPUs");
    let files = Files::from([("log".to_owned(), damaged.into_bytes())]);
    let error = scenario(DAY).build(&files).unwrap_err().to_string();
    assert!(error.starts_with("log:2:1: no sentence of a job: `job b came"), "{error}");
    stands_in_one_file_and_one_line("sentences");
}
