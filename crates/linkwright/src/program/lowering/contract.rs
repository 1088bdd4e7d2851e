//! The one suite that every algorithm passes: messages that match, no deadlock without
//! buffering, every rank with what the collective promises, and the bytes that theory says.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{Content, Plan};
use super::{Algorithm, lower, planned};
use crate::program::rendezvous::play;
use crate::program::{Collective, Operation, RankProgram};
use crate::units::Bytes;

/// Runs a check over every algorithm, many rank counts and every root.
fn each_call(check: impl Fn(Collective, Algorithm, u32, u32)) {
    for kind in Collective::ALL {
        for algorithm in Algorithm::of(kind) {
            for ranks in (1..=17).chain([24, 31, 32, 33]) {
                for root in 0..if kind.has_root() { ranks } else { 1 } {
                    check(kind, *algorithm, ranks, root);
                }
            }
        }
    }
}

fn programs(
    kind: Collective,
    by: Algorithm,
    ranks: u32,
    root: u32,
    size: Bytes,
) -> Vec<RankProgram> {
    let program = |me| lower(kind, by, ranks, me, root, size).expect("a fitting algorithm");
    (0..ranks).map(program).collect()
}

/// A message by source, destination and tag, with its size.
type Envelope = ((u32, u32, u32), Bytes);

fn envelope(me: u32, operation: &Operation) -> Option<(bool, Envelope)> {
    match *operation {
        Operation::Send { to, tag, size, .. } => Some((true, ((me, to, tag), size))),
        Operation::Receive { from, tag, size, .. } => {
            let (from, tag) = (from.expect("a known sender"), tag.expect("a known tag"));
            Some((false, ((from, me, tag), size)))
        }
        _ => None,
    }
}

#[test]
fn sends_match_receives_one_to_one() {
    each_call(|kind, by, ranks, root| {
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for (me, program) in (0..).zip(programs(kind, by, ranks, root, Bytes(1001))) {
            for operation in program.operations() {
                let Some((is_send, (key, size))) = envelope(me, operation) else { continue };
                assert!(key.0 != key.1 && key.0 < ranks && key.1 < ranks, "{kind:?} {by} {key:?}");
                let before = if is_send { &mut sent } else { &mut received }.insert(key, size);
                assert_eq!(before, None, "{kind:?} {by} of {ranks}: {key:?} twice");
            }
        }
        assert_eq!(sent, received, "{kind:?} {by} of {ranks} from {root}");
    });
}

#[test]
fn nothing_deadlocks_without_buffers() {
    each_call(|kind, by, ranks, root| {
        let left = play(&programs(kind, by, ranks, root, Bytes(64)));
        assert_eq!(left, 0, "{kind:?} {by} of {ranks} from {root}");
    });
}

#[test]
fn the_player_notices_a_deadlock() {
    let mut programs = programs(Collective::Broadcast, Algorithm::BinaryTree, 3, 0, Bytes(1));
    programs[2] = RankProgram::default();
    assert_eq!(play(&programs), 2, "the send that none receives, and the wait for it");
}

/// A piece of data: the block, and the rank that it goes to where each rank gets another one.
type Piece = (u32, u32);
/// Whose contributions each piece holds.
type Held = BTreeMap<Piece, BTreeSet<u32>>;

fn all(ranks: u32) -> BTreeSet<u32> {
    (0..ranks).collect()
}

fn in_the_beginning(kind: Collective, ranks: u32, me: u32, root: u32) -> Held {
    let vector = |of: u32| (0..ranks).map(move |block| ((block, 0), BTreeSet::from([of])));
    match kind {
        Collective::Gather | Collective::AllGather => Held::from([((me, 0), [me].into())]),
        Collective::AllToAll => (0..ranks).map(|to| ((me, to), [me].into())).collect(),
        Collective::Broadcast | Collective::Scatter if me != root => Held::new(),
        _ => vector(me).collect(),
    }
}

/// Checks that a rank ends with what its collective promises.
fn promised(kind: Collective, ranks: u32, me: u32, root: u32, held: &Held) -> bool {
    let block = |block: u32, of: &BTreeSet<u32>| held.get(&(block, 0)) == Some(of);
    let vector = |of: &BTreeSet<u32>| (0..ranks).all(|index| block(index, of));
    match kind {
        Collective::Barrier | Collective::AllReduce => vector(&all(ranks)),
        Collective::Broadcast => vector(&[root].into()),
        Collective::Reduce => me != root || vector(&all(ranks)),
        Collective::Gather if me != root => true,
        Collective::Gather | Collective::AllGather => (0..ranks).all(|of| block(of, &[of].into())),
        Collective::Scatter => block(me, &[root].into()),
        Collective::ReduceScatter => block(me, &all(ranks)),
        Collective::AllToAll => (0..ranks).all(|of| held.contains_key(&(of, me))),
        Collective::Scan => vector(&all(me + 1)),
    }
}

/// What a message carries, out of what its sender holds.
fn carried(content: Content, ranks: u32, (me, peer): (u32, u32), held: &Held) -> Held {
    let chosen = |piece: &Piece| match content {
        Content::Signal | Content::Vector => true,
        Content::Blocks { first, count } => (piece.0 + ranks - first) % ranks < count,
        Content::Part => *piece == (me, peer),
        Content::Ways { bit } => ((piece.1 + ranks - piece.0) % ranks) >> bit & 1 == 1,
    };
    held.iter().filter(|(piece, _)| chosen(piece)).map(|(k, v)| (*k, v.clone())).collect()
}

/// Adds what came, or puts it in the place of the parts that it is made of.
fn merge(held: &mut Held, came: Held, signal: bool) {
    for (piece, from) in came {
        let own = held.entry(piece).or_default();
        let sound = signal || own.is_disjoint(&from) || own.is_subset(&from);
        assert!(sound, "{piece:?}: {own:?} and {from:?} count something twice");
        own.extend(from);
    }
}

/// Plays the plans phase by phase; returns what each rank holds in the end, how many messages
/// went, and how many pieces they carried.
fn flow(kind: Collective, by: Algorithm, ranks: u32, root: u32) -> (Vec<Held>, u64, u64) {
    let plan = |me| planned(kind, by, ranks, me, root).expect("a fitting algorithm");
    let plans: Vec<Plan> = (0..ranks).map(plan).collect();
    let mut held: Vec<Held> =
        (0..ranks).map(|me| in_the_beginning(kind, ranks, me, root)).collect();
    let mut phase_of = vec![(0, false); plans.len()];
    let mut under_way = BTreeMap::new();
    let (mut messages, mut pieces) = (0, 0);
    while (0..plans.len()).any(|me| phase_of[me].0 < plans[me].phases.len()) {
        let mut moved = false;
        for (me, plan) in plans.iter().enumerate() {
            let (index, entered) = phase_of[me];
            let Some(phase) = plan.phases.get(index) else { continue };
            if !entered {
                for transfer in &phase.sends {
                    let way = (me as u32, transfer.peer);
                    let load = carried(transfer.content, ranks, way, &held[me]);
                    if kind == Collective::AllToAll {
                        held[me].retain(|piece, _| !load.contains_key(piece));
                    }
                    let size = transfer.content.size(kind, ranks, unit(kind, ranks)).0;
                    assert!(
                        kind == Collective::Barrier || size == 8 * load.len() as u64,
                        "{kind:?} {by} of {ranks}: {size} B for {} pieces",
                        load.len()
                    );
                    (messages, pieces) = (messages + 1, pieces + size / 8);
                    under_way.insert((way, phase.number), load);
                }
                (phase_of[me].1, moved) = (true, true);
            }
            let key = |peer| ((peer, me as u32), phase.number);
            if phase.receives.iter().all(|receive| under_way.contains_key(&key(receive.peer))) {
                for receive in &phase.receives {
                    let came = under_way.remove(&key(receive.peer)).expect("just seen");
                    merge(&mut held[me], came, receive.content == Content::Signal);
                }
                (phase_of[me], moved) = ((index + 1, false), true);
            }
        }
        assert!(moved, "{kind:?} {by} of {ranks} from {root} is stuck");
    }
    (held, messages, pieces)
}

/// A size of which each piece is 8 B.
fn unit(kind: Collective, ranks: u32) -> Bytes {
    match kind {
        Collective::Gather | Collective::Scatter | Collective::AllGather | Collective::AllToAll => {
            Bytes(8)
        }
        _ => Bytes(8 * u64::from(ranks)),
    }
}

#[test]
fn every_rank_ends_with_what_is_promised() {
    each_call(|kind, by, ranks, root| {
        let (held, _, _) = flow(kind, by, ranks, root);
        for (me, held) in (0..).zip(&held) {
            assert!(
                promised(kind, ranks, me, root, held),
                "{kind:?} {by} of {ranks} from {root}: rank {me} holds {held:?}"
            );
        }
    });
}

/// The messages of all ranks together, and the pieces in them, a vector being as many as ranks.
fn theory(kind: Collective, by: Algorithm, ranks: u32) -> (u64, u64) {
    let p = u64::from(ranks);
    let power = 1_u64 << ranks.ilog2();
    let (levels, pairs) = (u64::from(ranks.ilog2()), p - power);
    let rounds = u64::from(ranks.next_power_of_two().trailing_zeros());
    let ways = |bit: u64| (1..p).filter(|way| way >> bit & 1 == 1).count() as u64;
    match (kind, by) {
        (Collective::Barrier, Algorithm::Dissemination) => (p * rounds, 0),
        (Collective::Barrier, _) => (2 * (p - 1), 0),
        (Collective::Broadcast | Collective::Reduce, _) => (p - 1, p * (p - 1)),
        (Collective::AllReduce, Algorithm::BinaryTree | Algorithm::BinomialTree) => {
            (2 * (p - 1), 2 * p * (p - 1))
        }
        (Collective::AllReduce, Algorithm::RecursiveDoubling) => {
            (2 * pairs + power * levels, p * (2 * pairs + power * levels))
        }
        (Collective::AllReduce, Algorithm::RecursiveHalving) => {
            (2 * pairs + 2 * power * levels, p * (2 * pairs + 2 * (power - 1)))
        }
        (Collective::AllReduce, _) => (2 * p * (p - 1), 2 * p * (p - 1)),
        (Collective::ReduceScatter, Algorithm::RecursiveHalving) => {
            (2 * pairs + power * levels, p * (p - 1) + pairs)
        }
        (Collective::Gather | Collective::Scatter, Algorithm::BinomialTree) => {
            let below = |number: u64| (1 << number.trailing_zeros()).min(p - number);
            (p - 1, (1..p).map(below).sum())
        }
        (Collective::Gather | Collective::Scatter, _) => (p - 1, p - 1),
        (Collective::AllGather, Algorithm::Bruck) => (p * rounds, p * (p - 1)),
        (Collective::AllToAll, Algorithm::Bruck) => {
            (p * rounds, p * (0..rounds).map(ways).sum::<u64>())
        }
        (Collective::ReduceScatter | Collective::AllGather | Collective::AllToAll, _) => {
            (p * (p - 1), p * (p - 1))
        }
        (Collective::Scan, Algorithm::RecursiveDoubling) => {
            let sends: u64 = (0..rounds).map(|bit| p - (1 << bit)).sum();
            (sends, p * sends)
        }
        (Collective::Scan, _) => (p - 1, p * (p - 1)),
    }
}

#[test]
fn messages_and_bytes_are_as_theory_says() {
    each_call(|kind, by, ranks, root| {
        let (_, messages, pieces) = flow(kind, by, ranks, root);
        assert_eq!((messages, pieces), theory(kind, by, ranks), "{kind:?} {by} of {ranks}");
    });
}

#[test]
fn vectors_that_do_not_divide_are_sent_whole() {
    for ranks in 1..20 {
        for size in [0, 1, 7, 1001] {
            let block = |first| Content::Blocks { first, count: 1 };
            let size_of =
                |content: Content| content.size(Collective::ReduceScatter, ranks, Bytes(size)).0;
            assert_eq!((0..ranks).map(|first| size_of(block(first))).sum::<u64>(), size);
            for first in 0..ranks {
                assert_eq!(size_of(Content::Blocks { first, count: ranks }), size);
            }
        }
    }
}

#[test]
fn the_defaults_fit_and_have_names() {
    for kind in Collective::ALL {
        for size in [0, 8, 512, 513, 4096, 1 << 20] {
            for ranks in [1, 2, 512] {
                let algorithm = Algorithm::default_for(kind, ranks, Bytes(size));
                assert!(Algorithm::of(kind).contains(&algorithm));
                assert_eq!(Algorithm::named(kind, algorithm.name()), Ok(algorithm));
            }
        }
    }
    let small = Algorithm::default_for(Collective::AllToAll, 8, Bytes(512));
    let large = Algorithm::default_for(Collective::AllToAll, 8, Bytes(513));
    assert_eq!((small, large), (Algorithm::Bruck, Algorithm::Blocked));
}

#[test]
fn what_cannot_be_lowered_is_refused() {
    let refused = |kind, by, ranks, me, root| {
        lower(kind, by, ranks, me, root, Bytes(1)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Collective::Barrier, Algorithm::Ring, 4, 0, 0),
        "barrier cannot be performed by `ring`; it takes dissemination, binary-tree"
    );
    assert_eq!(
        refused(Collective::Barrier, Algorithm::Ring, 1, 0, 0),
        "barrier cannot be performed by `ring`; it takes dissemination, binary-tree"
    );
    assert_eq!(
        refused(Collective::Gather, Algorithm::Linear, 4, 0, 4),
        "index 4 lies outside a communicator of 4 ranks"
    );
    assert_eq!(
        Algorithm::named(Collective::AllGather, "rings").unwrap_err().to_string(),
        "no algorithm of all-gather is called `rings`; it takes ring, bruck; \
         did you mean `ring`?"
    );
}
