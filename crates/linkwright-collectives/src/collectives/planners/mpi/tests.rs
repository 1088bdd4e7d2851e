//! Tests every algorithm with one suite. Written down for 1 to 33 ranks, it passes the check, and
//! executed it gives the result that the collective promises. Its messages match, and nothing
//! deadlocks without buffering. The numbers of messages and bytes are those of theory.

use std::collections::BTreeMap;

use super::{ByDefault, MpiAlgorithm, MpiError, Source, part, program};
use crate::collectives::Placement;
use crate::collectives::schedule::check::check;
use crate::collectives::schedule::execute::{ExecuteOptions, Reduction, execute, reference};
use crate::collectives::schedule::source::{Group, MOST_MATERIALISED, ScheduleSource, materialise};
use crate::collectives::schedule::{Channel, Schedule};
use crate::program::lowering::{CollectiveCall, Lowering, lower_program};
use crate::program::rendezvous::play;
use crate::program::skeletons::{APPLICATIONS, Application};
use crate::program::{CollectiveKind, Dependency, Operation, RankBuilder, RankProgram};
use crate::units::Bytes;

/// Runs a check over every algorithm, many rank counts and every root.
fn each_source(most: u32, check: impl Fn(&Source)) {
    for kind in CollectiveKind::ALL {
        for algorithm in MpiAlgorithm::of(kind) {
            for ranks in 1..=most {
                for root in 0..if kind.has_root() { ranks } else { 1 } {
                    check(&Source::new(kind, *algorithm, ranks, root).expect("they fit"));
                }
            }
        }
    }
}

fn programs(source: &Source, size: Bytes) -> Vec<RankProgram> {
    (0..source.ranks).map(|me| program(source, me, size)).collect()
}

fn written(source: &Source) -> Schedule {
    let gpus: Vec<usize> = (0..source.ranks()).collect();
    materialise(source, "mpi", &gpus, Channel::default()).expect("not too many")
}

/// Names a message by source, destination and tag, with its size.
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
    each_source(33, |source| {
        let Source { kind, algorithm: by, ranks, root, .. } = *source;
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for (me, program) in (0..).zip(programs(source, Bytes(1001))) {
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
    each_source(33, |source| {
        assert_eq!(play(&programs(source, Bytes(64))), 0, "{source:?}");
    });
}

#[test]
fn the_player_notices_a_deadlock() {
    let source = Source::new(CollectiveKind::Broadcast, MpiAlgorithm::BinaryTree, 3, 0).unwrap();
    let mut programs = programs(&source, Bytes(1));
    programs[2] = RankProgram::default();
    assert_eq!(play(&programs), 2, "the send that none receives, and the wait for it");
}

#[test]
fn every_algorithm_checks_in_place_and_out_of_place() {
    each_source(33, |source| {
        // Other roots than these are the same ranks under other numbers.
        if ![0, 1, source.ranks / 2, source.ranks - 1].contains(&source.root) {
            return;
        }
        let schedule = written(source);
        let report = check(&schedule).unwrap_or_else(|fault| panic!("{source:?}: {fault}"));
        assert_eq!(report.placements.contains(&Placement::InPlace), schedule.in_place);
        assert!(report.placements.contains(&Placement::OutOfPlace));
    });
}

#[test]
fn a_group_that_reads_what_it_writes_is_found() {
    let source = Source::new(CollectiveKind::Scan, MpiAlgorithm::RecursiveDoubling, 8, 0).unwrap();
    let mut schedule = written(&source);
    let blocks = schedule.programs.iter_mut().flat_map(|program| &mut program.blocks);
    blocks.flat_map(|block| &mut block.steps).for_each(|step| step.after.clear());
    assert!(check(&schedule).is_err());
}

#[test]
fn executed_they_give_what_is_promised() {
    for ranks in (1..=9).chain([12, 16, 17, 31, 33]) {
        // Threads wait for every piece: where there are many, pieces are larger.
        let piece = if ranks > 9 { 64 } else { 16 };
        let options = ExecuteOptions { piece, ..ExecuteOptions::default() };
        for kind in CollectiveKind::ALL {
            for algorithm in MpiAlgorithm::of(kind) {
                let root = if kind.has_root() { ranks / 2 } else { 0 };
                let source = Source::new(kind, *algorithm, ranks, root).unwrap();
                let collective = source.collective();
                let inputs: Vec<Vec<i64>> = (0..ranks as usize)
                    .map(|rank| {
                        let shards = collective.input_shards(ranks as usize, rank);
                        // More elements than blocks, and a number that they do not divide.
                        let each = if shards == 1 { 2 * ranks as usize + 3 } else { 5 };
                        let value = |at: usize| (rank * 1000 + at) as i64;
                        (0..shards * each).map(value).collect()
                    })
                    .collect();
                let expected = reference(collective, &inputs, Reduction::Sum).unwrap();
                for placement in Placement::declared(&written(&source)) {
                    let options = ExecuteOptions { placement: Some(placement), ..options };
                    let found =
                        execute(&written(&source), inputs.clone(), Reduction::Sum, &options);
                    assert_eq!(found.as_ref(), Ok(&expected), "{source:?} {placement}");
                }
            }
        }
    }
}

#[test]
fn what_is_written_down_sends_the_messages_of_the_rule() {
    each_source(17, |source| {
        let schedule = written(source);
        for (me, program) in (0..).zip(&schedule.programs) {
            let steps = program.blocks.iter().flat_map(|block| {
                let step =
                    move |sends: bool| (if sends { block.send } else { block.receive }, sends);
                let sends = block.steps.iter().filter(|step| step.operation.sends());
                let receives = block.steps.iter().filter(|step| step.operation.receives());
                sends.map(move |_| step(true)).chain(receives.map(move |_| step(false)))
            });
            let mut steps: Vec<_> = steps.collect();
            let messages = programs(source, Bytes(64)).swap_remove(me);
            let mut played: Vec<_> = messages
                .operations()
                .iter()
                .filter_map(|operation| match *operation {
                    Operation::Send { to, .. } => Some((Some(to as usize), true)),
                    Operation::Receive { from, .. } => Some((from.map(|it| it as usize), false)),
                    _ => None,
                })
                .collect();
            steps.sort_unstable();
            played.sort_unstable();
            assert_eq!(steps, played, "{source:?}");
        }
    });
}

/// A program and what follows when all of it is complete.
fn behind(first: RankProgram, then: &RankProgram) -> RankProgram {
    let mut joined = RankBuilder::default();
    let count = first.operations().len() as u32;
    let both = [(&first, 0), (then, count)];
    for (program, before) in both {
        for (index, operation) in program.operations().iter().enumerate() {
            let moved = |dependency: &Dependency| match *dependency {
                Dependency::Completed(on) => Dependency::Completed(before + on),
                Dependency::Started(on) => Dependency::Started(before + on),
            };
            let mut waits: Vec<_> = program.dependencies(index).iter().map(moved).collect();
            if waits.is_empty() && before > 0 {
                waits.push(Dependency::Completed(before - 1));
            }
            joined.push(*operation, &waits);
        }
    }
    joined.finish()
}

#[test]
fn parts_make_up_the_whole() {
    each_source(33, |source| {
        for most in [1, 7, 64] {
            for me in [0, source.ranks / 2, source.ranks - 1] {
                let (mut whole, mut from) = (RankProgram::default(), Some(0));
                while let Some(start) = from {
                    let (next, rest) = part(source, me, Bytes(1001), start, most);
                    let widest = 2 * super::exchange::BLOCK + 1;
                    assert!(next.operations().len() as u32 <= most + widest.max(source.ranks));
                    assert!(rest.is_none_or(|rest| rest > start));
                    whole = if start == 0 { next } else { behind(whole, &next) };
                    from = rest;
                }
                assert_eq!(whole.operations(), program(source, me, Bytes(1001)).operations());
                assert_eq!(
                    whole,
                    behind(program(source, me, Bytes(1001)), &RankProgram::default())
                );
            }
        }
    });
}

#[test]
fn a_rank_of_many_is_asked_for_a_little_at_a_time() {
    let ranks = 1 << 20;
    let call = CollectiveCall {
        kind: CollectiveKind::AllToAll,
        ranks,
        index: 77_777,
        root: 0,
        size: Bytes(1 << 20),
        variant: 0,
    };
    let (first, next) = ByDefault.part(&call, 0);
    assert_eq!(first.operations().len(), 2 * 32 + 1);
    let (last, end) = ByDefault.part(&call, (ranks - 1).div_ceil(32) - 1);
    assert_eq!((last.operations().len(), next.is_some(), end), (2 * 31 + 1, true, None));
}

#[test]
fn too_many_ranks_are_not_written_down() {
    let ranks = MOST_MATERIALISED as u32 + 1;
    let source = Source::new(CollectiveKind::AllReduce, MpiAlgorithm::Ring, ranks, 0).unwrap();
    let gpus: Vec<usize> = (0..ranks as usize).collect();
    let error = materialise(&source, "mpi", &gpus, Channel::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a schedule of 257 ranks is too large to write down whole; check, execute or export at most \
         256 ranks"
    );
}

/// The messages of all ranks together, and the pieces in them, a vector being as many as ranks.
fn theory(kind: CollectiveKind, by: MpiAlgorithm, ranks: u32) -> (u64, u64) {
    let p = u64::from(ranks);
    let power = 1_u64 << ranks.ilog2();
    let (levels, pairs) = (u64::from(ranks.ilog2()), p - power);
    let rounds = u64::from(ranks.next_power_of_two().trailing_zeros());
    let ways = |bit: u64| (1..p).filter(|way| way >> bit & 1 == 1).count() as u64;
    match (kind, by) {
        (CollectiveKind::Barrier, MpiAlgorithm::Dissemination) => (p * rounds, 0),
        (CollectiveKind::Barrier, _) => (2 * (p - 1), 0),
        (CollectiveKind::Broadcast | CollectiveKind::Reduce, _) => (p - 1, p * (p - 1)),
        (CollectiveKind::AllReduce, MpiAlgorithm::BinaryTree | MpiAlgorithm::BinomialTree) => {
            (2 * (p - 1), 2 * p * (p - 1))
        }
        (CollectiveKind::AllReduce, MpiAlgorithm::RecursiveDoubling) => {
            (2 * pairs + power * levels, p * (2 * pairs + power * levels))
        }
        (CollectiveKind::AllReduce, MpiAlgorithm::RecursiveHalving) => {
            (2 * pairs + 2 * power * levels, p * (2 * pairs + 2 * (power - 1)))
        }
        (CollectiveKind::AllReduce, _) => (2 * p * (p - 1), 2 * p * (p - 1)),
        (CollectiveKind::ReduceScatter, MpiAlgorithm::RecursiveHalving) => {
            (2 * pairs + power * levels, p * (p - 1) + pairs)
        }
        (CollectiveKind::Gather | CollectiveKind::Scatter, MpiAlgorithm::BinomialTree) => {
            let below = |number: u64| (1 << number.trailing_zeros()).min(p - number);
            (p - 1, (1..p).map(below).sum())
        }
        (CollectiveKind::Gather | CollectiveKind::Scatter, _) => (p - 1, p - 1),
        (CollectiveKind::AllGather, MpiAlgorithm::Bruck) => (p * rounds, p * (p - 1)),
        (CollectiveKind::AllToAll, MpiAlgorithm::Bruck) => {
            (p * rounds, p * (0..rounds).map(ways).sum::<u64>())
        }
        (
            CollectiveKind::ReduceScatter | CollectiveKind::AllGather | CollectiveKind::AllToAll,
            _,
        ) => (p * (p - 1), p * (p - 1)),
        (CollectiveKind::Scan, MpiAlgorithm::RecursiveDoubling) => {
            let sends: u64 = (0..rounds).map(|bit| p - (1 << bit)).sum();
            (sends, p * sends)
        }
        (CollectiveKind::Scan, _) => (p - 1, p * (p - 1)),
    }
}

/// The messages that the rules of all ranks yield, and the pieces in them.
fn counted(source: &Source) -> (u64, u64) {
    let (mut messages, mut pieces) = (0, 0);
    let per_piece = if source.blocks > 1 { 1 } else { u64::from(source.ranks) };
    let is_vector = matches!(
        source.kind,
        CollectiveKind::Broadcast
            | CollectiveKind::Reduce
            | CollectiveKind::AllReduce
            | CollectiveKind::Scan
    );
    for me in 0..source.ranks {
        for number in 0..source.groups(me) {
            let mut group = Group::of_messages();
            source.group(me, number, &mut group);
            for step in group.steps.iter().filter(|step| step.operation.sends()) {
                let moved = step.moved.end - step.moved.start;
                assert!(moved == step.count || source.kind == CollectiveKind::Barrier);
                messages += 1;
                pieces += u64::from(moved) * if is_vector { per_piece } else { 1 };
            }
        }
    }
    (messages, pieces)
}

#[test]
fn messages_and_bytes_are_as_theory_says() {
    each_source(33, |source| {
        let Source { kind, algorithm, ranks, .. } = *source;
        assert_eq!(counted(source), theory(kind, algorithm, ranks), "{source:?}");
    });
}

#[test]
fn the_defaults_fit_and_have_names() {
    for kind in CollectiveKind::ALL {
        for size in [0, 8, 512, 513, 4096, 1 << 20] {
            for ranks in [1, 2, 512] {
                let algorithm = MpiAlgorithm::default_for(kind, ranks, Bytes(size));
                assert!(MpiAlgorithm::of(kind).contains(&algorithm));
                assert_eq!(MpiAlgorithm::named(kind, algorithm.name()), Ok(algorithm));
            }
        }
    }
    let small = MpiAlgorithm::default_for(CollectiveKind::AllToAll, 8, Bytes(512));
    let large = MpiAlgorithm::default_for(CollectiveKind::AllToAll, 8, Bytes(513));
    assert_eq!((small, large), (MpiAlgorithm::Bruck, MpiAlgorithm::Blocked));
}

#[test]
fn what_cannot_be_performed_is_refused() {
    let refused =
        |kind, by, ranks, root| Source::new(kind, by, ranks, root).unwrap_err().to_string();
    for ranks in [4, 1] {
        assert_eq!(
            refused(CollectiveKind::Barrier, MpiAlgorithm::Ring, ranks, 0),
            "`ring` cannot perform barrier; use one of dissemination, binary-tree"
        );
    }
    assert_eq!(
        refused(CollectiveKind::Gather, MpiAlgorithm::Linear, 4, 4),
        "there is no index 4 in a communicator of 4 ranks"
    );
    assert_eq!(
        Source::new(CollectiveKind::AllReduce, MpiAlgorithm::Ring, 0, 0),
        Err(MpiError::Outside { index: 0, ranks: 0 })
    );
    assert_eq!(
        MpiAlgorithm::named(CollectiveKind::AllGather, "rings").unwrap_err().to_string(),
        "all-gather has no algorithm `rings`; did you mean `ring`? use one of \
         ring, bruck"
    );
}

#[test]
fn no_skeleton_depends_on_buffering() {
    for application in &APPLICATIONS {
        for ranks in [16, 32, 36] {
            let program = application.program(ranks, &toml::Table::new()).expect("it takes them");
            let lowered = lower_program(&program, &ByDefault).expect("sound collectives");
            assert_eq!(play(&lowered.ranks), 0, "{} on {ranks}", application.name);
        }
    }
}
