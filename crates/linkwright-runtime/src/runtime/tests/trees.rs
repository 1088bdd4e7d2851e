//! Collectives for tests: binary trees, and rounds of pairs.

use std::cell::Cell;

use crate::network::RouteClass;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, Operation, RankBuilder, RankProgram, WORLD};
use crate::units::Bytes;

/// Lowers collectives, and counts how often it is asked.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) asked: Cell<u32>,
}

impl Lowering for &Trees {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        self.asked.set(self.asked.get() + 1);
        let mut rank = RankBuilder::default();
        match call.kind {
            CollectiveKind::Broadcast => from_root(&mut rank, call, 0, call.size),
            CollectiveKind::Reduce => to_root(&mut rank, call, 0, call.size),
            CollectiveKind::Barrier => {
                to_root(&mut rank, call, 0, Bytes(0));
                from_root(&mut rank, call, 1, Bytes(0));
            }
            _ => pairs(&mut rank, call),
        }
        rank.finish()
    }
}

/// Returns the parent and the children of a rank in the tree below the root.
fn tree(call: &CollectiveCall) -> (Option<u32>, Vec<u32>) {
    let place = |relative: u32| (relative + call.root) % call.ranks;
    let relative = (call.index + call.ranks - call.root) % call.ranks;
    let parent = (relative > 0).then(|| place((relative - 1) / 2));
    let children = [2 * relative + 1, 2 * relative + 2].into_iter();
    (parent, children.filter(|child| *child < call.ranks).map(place).collect())
}

fn from_root(rank: &mut RankBuilder, call: &CollectiveCall, tag: u32, size: Bytes) {
    let (parent, children) = tree(call);
    if parent.is_some() {
        let tag = Some(tag);
        rank.run(Operation::Receive { from: parent, tag, communicator: WORLD, size });
    }
    for to in children {
        rank.run(Operation::Send { to, tag, communicator: WORLD, size, route: RouteClass::Any });
    }
}

fn to_root(rank: &mut RankBuilder, call: &CollectiveCall, tag: u32, size: Bytes) {
    let (parent, children) = tree(call);
    for child in children {
        let (from, tag) = (Some(child), Some(tag));
        rank.run(Operation::Receive { from, tag, communicator: WORLD, size });
    }
    if let Some(to) = parent {
        rank.run(Operation::Send { to, tag, communicator: WORLD, size, route: RouteClass::Any });
    }
}

fn pairs(rank: &mut RankBuilder, call: &CollectiveCall) {
    let (communicator, size) = (WORLD, call.size);
    let mut requests = Vec::new();
    for phase in 1..call.ranks {
        let (to, tag) = ((call.index + phase) % call.ranks, phase);
        let from = Some((call.index + call.ranks - phase) % call.ranks);
        requests.push(rank.start(Operation::Receive { from, tag: Some(tag), communicator, size }));
        requests.push(rank.start(Operation::Send {
            to,
            tag,
            communicator,
            size,
            route: RouteClass::Any,
        }));
    }
    rank.wait(&requests);
}
