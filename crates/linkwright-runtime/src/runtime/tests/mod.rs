//! Tests of the runtime as a whole, over a small network of their own.

mod admission;
mod all_to_all;
mod announcements;
mod collective;
mod copies;
mod diagnosis;
mod iterations;
mod kernels;
mod matching;
mod protocol;
mod protocols;
mod random;
mod refusals;
mod results;
mod trees;
mod turns;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::network::RouteClass;
use crate::program::lowering::CollectiveCall;
use crate::program::{Operation, Program, RankBuilder, RankProgram, WORLD};
use crate::units::{Bytes, Picoseconds};

use super::test_support::network::{self, TestNetwork};
use super::test_support::{FREE, compute, program, rank, send};
use super::{MpiProtocol, Outcome, ProgramJob, Rendezvous, Runtime, RuntimeError};

fn receive(from: impl Into<Option<u32>>, tag: impl Into<Option<u32>>, size: u64) -> Operation {
    let (from, tag) = (from.into(), tag.into());
    Operation::Receive { from, tag, communicator: WORLD, size: Bytes(size) }
}

fn no_collectives(_: &CollectiveCall) -> RankProgram {
    RankProgram::default()
}

/// Plays one job on GPUs from 0.
fn play(program: &Arc<Program>, protocol: MpiProtocol) -> Result<Outcome, RuntimeError> {
    play_on(&mut TestNetwork::new(), program, protocol)
}

fn play_on(
    network: &mut TestNetwork,
    program: &Arc<Program>,
    protocol: MpiProtocol,
) -> Result<Outcome, RuntimeError> {
    let gpus = program.ranks.len() as u32;
    let jobs = [ProgramJob::new(program, (0..gpus).collect())];
    let runtime = Runtime::new(network, gpus, &jobs, protocol, &no_collectives)?;
    runtime.run(&mut |_| ControlFlow::Continue(()))
}

/// Says when each rank of the first job ended.
fn ends(outcome: &Outcome) -> Vec<u64> {
    outcome.jobs[0].ranks.iter().map(|rank| rank.end.0).collect()
}
