//! Tests a protocol of collectives.

use linkwright::scenario::PlayedScenario;

use crate::{played, stands_in_one_file_and_one_line};

const AMG: &str =
    "[system.network]\npreset = \"fat-tree\"\n[[job]]\nprogram = \"amg\"\nranks = 8\n";

/// When the job ends, and how many messages its first rank sends.
fn outcome(protocol: &str) -> (u64, u64) {
    let text = format!("{AMG}[collectives]\nprotocol = \"{protocol}\"\n");
    let PlayedScenario::Programs(played) = played(&text) else { panic!("no programs") };
    let job = &played.outcome.jobs.jobs[0];
    (job.end.0, job.ranks[0].messages)
}

#[test]
fn it_is_chosen_by_name() {
    let ((end, messages), (mpi_end, mpi_messages)) = (outcome("barrier-wire"), outcome("mpi"));
    assert!(end < mpi_end && messages < mpi_messages, "{end} {messages}");
    stands_in_one_file_and_one_line("barrier_wire");
}
