//! Plays an arbiter.

use linkwright::network::packet::arbitration::contract;
use linkwright::scenario::{Files, PlayedScenario};
use linkwright_recipes::registries;

use crate::{played_with, stands_in_one_file_and_one_line};

/// Sends from two nodes to the two GPUs of a third at once: one message of 64 packets, and 16 of 4.
fn program() -> String {
    let one = |peer: &str, tag: u32| format!("{peer} tag {tag}\n");
    let few: Vec<_> = (0..16).collect();
    let sends: String = few.iter().map(|tag| one("send 16384b to 1", *tag)).collect();
    let receives: String = few.iter().map(|tag| one("recv 16384b from 4", *tag)).collect();
    let [receive, send] = ["recv 262144b from 2", "send 262144b to 0"].map(|peer| one(peer, 99));
    format!(
        "num_ranks 5\nrank 0 {{\n{receive}}}\nrank 1 {{\n{receives}}}\nrank 2 {{\n{send}}}\n\
         rank 3 {{\n}}\nrank 4 {{\n{sends}}}\n"
    )
}

/// Tells when the large message and the last of the small ones have arrived, in picoseconds.
fn ends(arbiter: &str) -> [u64; 2] {
    let text = format!(
        "[system]\nserver = {{ gpus = 2 }}\nnetwork = {{ kind = \"fat-tree\", arbitration = \"{arbiter}\" }}\n\
         [protocol]\neager_limit = \"1 MB\"\ncopy_per_byte = \"0 ps\"\nsend_overhead = \"0 ps\"\n\
         [[job]]\ngoal = \"three.goal\"\n"
    );
    let files = Files::from([("three.goal".to_owned(), program().into_bytes())]);
    let PlayedScenario::Programs(played) = played_with(&text, &files) else { panic!("a day") };
    [0, 1].map(|rank: usize| played.outcome.jobs.jobs[0].ranks[rank].end.0)
}

#[test]
fn the_large_message_ends_sooner() {
    let [in_turn, heaviest] = ["round-robin", "heaviest-first"].map(ends);
    // One channel takes as much of both. In turn they end together; by weight the large one takes
    // all of it until it has ended, but for a packet in 65.
    assert!(in_turn[0] * 10 > in_turn[1] * 9, "{in_turn:?}");
    assert!(heaviest[0] * 100 < in_turn[0] * 65, "{in_turn:?} {heaviest:?}");
    assert!(heaviest[1].abs_diff(in_turn[1]) * 20 < in_turn[1], "{in_turn:?} {heaviest:?}");
    stands_in_one_file_and_one_line("heaviest_first");
}

#[test]
fn every_arbiter_serves_all() {
    let arbiters = registries().arbitration_policies;
    assert_eq!(arbiters.names(), ["round-robin", "age", "priority", "heaviest-first"]);
    contract::hold(&arbiters).unwrap();
}
