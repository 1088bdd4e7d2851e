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
pub(crate) mod network;
mod protocol;
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

use super::{MpiProtocol, Outcome, ProgramJob, Rendezvous, Runtime, RuntimeError};
use network::TestNetwork;

/// A protocol whose calls cost nothing, so that a test sees the network alone.
pub(crate) const FREE: MpiProtocol = MpiProtocol {
    send_overhead: Picoseconds(0),
    receive_overhead: Picoseconds(0),
    copy_per_byte: Picoseconds(0),
    eager_limit: Bytes(64_000),
    rendezvous: Rendezvous::Sender,
    rendezvous_delay: Picoseconds(0),
    control_size: Bytes(16),
};

pub(crate) fn program(ranks: Vec<RankProgram>) -> Arc<Program> {
    let world = (0..ranks.len() as u32).collect();
    let (name, regions) = ("test".to_owned(), vec!["outer".to_owned(), "inner".to_owned()]);
    Arc::new(Program { name, communicators: vec![world], regions, ranks })
}

/// A rank's program, written by a function.
pub(crate) fn rank(write: impl FnOnce(&mut RankBuilder)) -> RankProgram {
    let mut builder = RankBuilder::default();
    write(&mut builder);
    builder.finish()
}

pub(crate) fn compute(duration: u64) -> Operation {
    Operation::Compute { duration: Picoseconds(duration) }
}

pub(crate) fn send(to: u32, tag: u32, size: u64) -> Operation {
    Operation::Send { to, tag, communicator: WORLD, size: Bytes(size), route: RouteClass::Any }
}

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

/// When each rank of the first job ended.
fn ends(outcome: &Outcome) -> Vec<u64> {
    outcome.jobs[0].ranks.iter().map(|rank| rank.end.0).collect()
}
