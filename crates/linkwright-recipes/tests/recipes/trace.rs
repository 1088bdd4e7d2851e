//! Tests a reader of traces.

use linkwright::scenario::{Files, PlayedScenario};

use crate::{played_with, stands_in_one_file_and_one_line};

const TRACE: &str = "[system.network]\npreset = \"fat-tree\"\n[[job]]\ntrace = \"day.busy\"\n";

#[test]
fn it_is_chosen_by_the_ending_of_its_file() {
    let files = Files::from([("day.busy".to_owned(), b"3\n5\n".to_vec())]);
    let PlayedScenario::Programs(played) = played_with(TRACE, &files) else {
        panic!("no programs")
    };
    let ends = played.outcome.jobs.jobs[0].ranks.iter().map(|rank| rank.end.0);
    assert_eq!(ends.collect::<Vec<_>>(), [3_000_000, 5_000_000]);
    stands_in_one_file_and_one_line("busy_times");
}
