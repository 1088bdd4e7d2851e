//! Tests of this crate and of those above share these short programs, a protocol and a network.

pub mod network;

use std::sync::Arc;

use crate::network::RouteClass;
use crate::program::{Operation, Program, RankBuilder, RankProgram, WORLD};
use crate::units::{Bytes, Picoseconds};

use super::{MpiProtocol, Rendezvous};

/// A protocol whose calls cost nothing, so that a test sees the network alone.
pub const FREE: MpiProtocol = MpiProtocol {
    send_overhead: Picoseconds(0),
    receive_overhead: Picoseconds(0),
    copy_per_byte: Picoseconds(0),
    eager_limit: Bytes(64_000),
    rendezvous: Rendezvous::Sender,
    rendezvous_delay: Picoseconds(0),
    control_size: Bytes(16),
};

pub fn program(ranks: Vec<RankProgram>) -> Arc<Program> {
    let world = (0..ranks.len() as u32).collect();
    let (name, regions) = ("test".to_owned(), vec!["outer".to_owned(), "inner".to_owned()]);
    Arc::new(Program { name, communicators: vec![world], regions, ranks })
}

/// Makes a rank's program, which a function writes.
pub fn rank(write: impl FnOnce(&mut RankBuilder)) -> RankProgram {
    let mut builder = RankBuilder::default();
    write(&mut builder);
    builder.finish()
}

pub fn compute(duration: u64) -> Operation {
    Operation::Compute { duration: Picoseconds(duration) }
}

pub fn send(to: u32, tag: u32, size: u64) -> Operation {
    Operation::Send { to, tag, communicator: WORLD, size: Bytes(size), route: RouteClass::Any }
}
