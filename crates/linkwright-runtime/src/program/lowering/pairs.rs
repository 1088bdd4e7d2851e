//! A lowering for the tests of this layer: every rank exchanges with every other, at once.

use super::CollectiveCall;
use crate::network::RouteClass;
use crate::program::{Operation, RankBuilder, RankProgram, WORLD};

/// Returns the program of each rank in any collective.
pub fn pairs(call: &CollectiveCall) -> RankProgram {
    let mut rank = RankBuilder::default();
    let (communicator, size, tag) = (WORLD, call.size, 0);
    let others = (0..call.ranks).filter(|other| *other != call.index);
    let receive =
        |from| Operation::Receive { from: Some(from), tag: Some(tag), communicator, size };
    let mut requests: Vec<_> = others.clone().map(|from| rank.start(receive(from))).collect();
    requests.extend(others.map(|to| {
        rank.start(Operation::Send { to, tag, communicator, size, route: RouteClass::Any })
    }));
    rank.wait(&requests);
    rank.finish()
}
