//! Tests an application.

use linkwright::scenario::{Given, PlayedScenario, Scenario};
use linkwright_recipes::registries;

use crate::{played, stands_in_one_file_and_one_line};

const RING: &str = "[system.network]\npreset = \"fat-tree\"\n[[job]]\nprogram = \"neighbours\"\n\
                    ranks = 5\niterations = 3\ngpu = true\n";

#[test]
fn it_is_chosen_by_name() {
    let PlayedScenario::Programs(played) = played(RING) else { panic!("no programs") };
    let ranks = &played.outcome.jobs.jobs[0].ranks;
    assert!(ranks.iter().all(|rank| rank.messages == 3), "{ranks:?}");
    assert_eq!((ranks.len(), ranks[0].computing.0), (5, 300_000));
    stands_in_one_file_and_one_line("neighbours");
}

#[test]
fn an_unknown_one_is_refused_with_the_nearest_name() {
    let (text, registries) = (RING.replace("neighbours", "neighbour"), registries());
    let error = Scenario::read(&Given { text, registries, ..Given::default() }).unwrap_err();
    assert!(error.to_string().contains("did you mean `neighbours`?"), "{error}");
}
