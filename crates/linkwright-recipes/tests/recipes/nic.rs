//! Plays a policy of network interfaces.

use linkwright::network::packet::nic::contract;
use linkwright::scenario::{Files, PlayedScenario};
use linkwright_recipes::registries;

use crate::{played_with, stands_in_one_file_and_one_line};

/// Sends two long messages and a short one behind them, each to another node.
const PROGRAM: &str = "num_ranks 4\nrank 0 {\nsend 1000000b to 1 tag 0\nsend 1000000b to 2 tag 0\n\
                       send 4096b to 3 tag 0\n}\nrank 1 {\nrecv 1000000b from 0 tag 0\n}\n\
                       rank 2 {\nrecv 1000000b from 0 tag 0\n}\nrank 3 {\nrecv 4096b from 0 tag 0\n}\n";

/// Tells when the last byte of each message has arrived, in picoseconds.
fn arrivals(policy: &str, fidelity: &str) -> [u64; 3] {
    let text = format!(
        "fidelity = \"{fidelity}\"\n[system]\nnetwork = {{ kind = \"fat-tree\", nic = \"{policy}\" }}\n\
         [protocol]\neager_limit = \"2 MB\"\n[[job]]\ngoal = \"three.goal\"\n"
    );
    let files = Files::from([("three.goal".to_owned(), PROGRAM.as_bytes().to_vec())]);
    let PlayedScenario::Programs(played) = played_with(&text, &files) else { panic!("a day") };
    [1, 2, 3].map(|rank: usize| played.outcome.jobs.jobs[0].ranks[rank].end.0)
}

#[test]
fn the_short_message_ends_sooner_and_the_last_no_later() {
    for fidelity in ["packet", "flow"] {
        let first_come = arrivals("fcfs", fidelity);
        let shortest = arrivals("shortest-first", fidelity);
        // Behind two long messages it waits for both: before the second, or amid the first, for one at most.
        assert!(shortest[2] * 10 < first_come[2] * 6, "{first_come:?} {shortest:?}");
        // The interface sends as many bytes in all, and is never idle.
        let [before, after] = [first_come, shortest].map(|of| of.into_iter().max().unwrap());
        assert!(after.abs_diff(before) * 100 < before, "{first_come:?} {shortest:?}");
        assert!(shortest[1] > first_come[1], "{first_come:?} {shortest:?}");
    }
    stands_in_one_file_and_one_line("shortest_first");
}

#[test]
fn every_policy_makes_every_packet_once() {
    let policies = registries().nic_policies;
    assert_eq!(policies.names(), ["fcfs", "rr", "rr-N", "shortest-first"]);
    contract::hold(&policies).unwrap();
}
