//! Writes the exchanges that several skeletons share.

use crate::network::RouteClass;
use crate::program::{CollectiveKind, Operation, Rank, RankBuilder, Tag, WORLD};
use crate::units::{Bytes, Picoseconds};

/// Describes a neighbour with which a rank swaps messages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Gives the neighbour's rank.
    pub rank: Rank,
    /// The tag of what goes there.
    pub sent: Tag,
    /// The tag of what comes from there.
    pub received: Tag,
    /// Gives the size of each message.
    pub size: Bytes,
}

/// Makes a receive in the world.
pub fn receive(from: Rank, tag: Tag, size: Bytes) -> Operation {
    Operation::Receive { from: Some(from), tag: Some(tag), communicator: WORLD, size }
}

/// Makes a send in the world.
pub fn send(to: Rank, tag: Tag, size: Bytes) -> Operation {
    Operation::Send { to, tag, communicator: WORLD, size, route: RouteClass::Any }
}

/// Posts all receives, then all sends, and waits for all: no order can deadlock.
pub fn swap(rank: &mut RankBuilder, neighbours: &[Neighbour]) {
    if neighbours.is_empty() {
        return;
    }
    let mut requests = Vec::with_capacity(2 * neighbours.len());
    for Neighbour { rank: from, received, size, .. } in neighbours {
        requests.push(rank.start(receive(*from, *received, *size)));
    }
    for Neighbour { rank: to, sent, size, .. } in neighbours {
        requests.push(rank.start(send(*to, *sent, *size)));
    }
    rank.wait(&requests);
}

/// Sends one way and receives from the other at once, where there is somebody, and waits for
/// both: MPI's combined send and receive.
pub fn shift(rank: &mut RankBuilder, to: Option<Rank>, from: Option<Rank>, size: Bytes) {
    let receive = from.map(|from| rank.start(receive(from, 0, size)));
    let send = to.map(|to| rank.start(send(to, 0, size)));
    let requests: Vec<_> = receive.into_iter().chain(send).collect();
    if !requests.is_empty() {
        rank.wait(&requests);
    }
}

/// Computes for so long.
pub fn compute(rank: &mut RankBuilder, duration: Picoseconds) {
    rank.run(Operation::Compute { duration });
}

/// A collective of all ranks without a root.
pub fn collective(rank: &mut RankBuilder, kind: CollectiveKind, size: Bytes) {
    rank.run(Operation::Collective { kind, root: 0, communicator: WORLD, size });
}
