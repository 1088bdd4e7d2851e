//! Tests a policy of allocation.

use linkwright::scenario::{Given, PlayedScenario, Scenario};
use linkwright_recipes::registries;

use crate::{played, stands_in_one_file_and_one_line};

const DAY: &str = "[system]\nserver = \"dgx1-v100\"\n[jobs]\ngenerate = { count = 3, max_gpus = 2 }\n\
                   [allocation]\npolicies = [\"last\"]\n";

#[test]
fn it_is_chosen_by_name() {
    let PlayedScenario::Day(day) = played(DAY) else { panic!("no day") };
    let gpus = day.records[0].parts[0].chosen.gpus();
    assert!(gpus.contains(7), "{gpus:?}");
    stands_in_one_file_and_one_line("last_gpus");
}

#[test]
fn where_it_is_not_registered_its_name_is_unknown() {
    let given = Given { text: DAY.to_owned(), ..Given::default() };
    let error = Scenario::read(&given).unwrap_err().to_string();
    assert!(error.contains("unknown policy: `\"last\"`") && error.contains("preserve"), "{error}");
    assert_eq!(registries().policies.names().last(), Some(&"last"));
}
