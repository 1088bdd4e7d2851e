//! Long collectives are played part by part, as if they had been there as a whole.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{ByDefault, MpiAlgorithm};
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, Operation, Program, RankProgram, WORLD};
use crate::runtime::test_support::network::TestNetwork;
use crate::runtime::test_support::{FREE, compute, program, rank, send};
use crate::runtime::{MessageRecord, MpiProtocol, Observer, ProgramJob, Runtime};
use crate::units::Bytes;

/// One algorithm for every collective, in parts or as a whole; counts what stands in memory.
struct Parts {
    algorithm: MpiAlgorithm,
    in_parts: bool,
    asked: Cell<u32>,
    longest: Cell<usize>,
}

impl Parts {
    fn new(algorithm: MpiAlgorithm, in_parts: bool) -> Self {
        Self { algorithm, in_parts, asked: Cell::new(0), longest: Cell::new(0) }
    }
}

impl Lowering for &Parts {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        self.algorithm.lower(call)
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        self.asked.set(self.asked.get() + 1);
        let (program, next) =
            if self.in_parts { self.algorithm.part(call, from) } else { (self.lower(call), None) };
        self.longest.set(self.longest.get().max(program.operations().len()));
        (program, next)
    }
}

/// Collectives between computations of different lengths, on all ranks and on some.
fn calls(ranks: u32, kind: CollectiveKind) -> Arc<Program> {
    let some: Vec<u32> = (0..ranks).filter(|rank| rank % 3 != 1).rev().collect();
    let part = |me: u32| {
        rank(|rank| {
            for (communicator, size) in [(WORLD, 1_001), (1, 70_000), (WORLD, 1_001)] {
                if communicator == WORLD || me % 3 != 1 {
                    rank.run(compute(u64::from(me * 7_919 % 97) * 10_000));
                    let size = Bytes(size);
                    let call = Operation::Collective { kind, root: 0, communicator, size };
                    let request = rank.start(call);
                    rank.run(compute(50_000));
                    rank.wait(&[request]);
                }
            }
        })
    };
    let mut program = program((0..ranks).map(part).collect());
    Arc::make_mut(&mut program).communicators.push(some);
    program
}

#[derive(Default)]
struct Order(Vec<(u32, u32, u64)>);

impl Observer for Order {
    fn sent(&mut self, message: &MessageRecord) {
        self.0.push((message.source.rank, message.destination.rank, message.sent.0));
    }
}

#[test]
fn parts_play_as_the_whole_would() {
    for (kind, algorithm, ranks) in [
        (CollectiveKind::AllToAll, MpiAlgorithm::Blocked, 80),
        (CollectiveKind::AllToAll, MpiAlgorithm::Pairwise, 50),
        (CollectiveKind::AllReduce, MpiAlgorithm::Ring, 45),
        (CollectiveKind::AllReduce, MpiAlgorithm::RecursiveHalving, 45),
        (CollectiveKind::AllGather, MpiAlgorithm::Ring, 64),
        (CollectiveKind::Gather, MpiAlgorithm::Linear, 90),
    ] {
        let program = calls(ranks, kind);
        let jobs = [ProgramJob::new(&program, (0..ranks).collect())];
        let play = |in_parts| {
            let lowering = Parts::new(algorithm, in_parts);
            let (mut network, mut order) = (TestNetwork::new(), Order::default());
            let protocol = MpiProtocol::default();
            let runtime =
                Runtime::observed(&mut network, ranks, &jobs, protocol, &lowering, &mut order);
            let outcome = runtime.unwrap().run(&mut |_| ControlFlow::Continue(())).unwrap();
            (outcome, order.0, lowering.asked.get())
        };
        let ((parts, sent, asked), (whole, expected, once)) = (play(true), play(false));
        assert_eq!(parts, whole, "{kind:?} {algorithm}");
        assert_eq!(sent, expected, "{kind:?} {algorithm}");
        let short = matches!(algorithm, MpiAlgorithm::RecursiveHalving | MpiAlgorithm::Linear);
        assert!(short || asked > 2 * once, "{kind:?} {algorithm}: {asked} parts of {once}");
    }
}

#[test]
fn a_long_collective_holds_a_block_of_messages_for_each_rank() {
    let ranks = 300;
    let program = calls(ranks, CollectiveKind::AllToAll);
    let jobs = [ProgramJob::new(&program, (0..ranks).collect())];
    let lowering = Parts::new(MpiAlgorithm::Blocked, true);
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, ranks, &jobs, FREE, &lowering).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(lowering.longest.get(), 2 * 32 + 1);
}

#[test]
fn a_later_part_that_is_no_program_is_an_error() {
    struct Broken;
    impl Lowering for Broken {
        fn lower(&self, call: &CollectiveCall) -> RankProgram {
            self.part(call, 0).0
        }
        fn part(&self, _: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
            let peer = if from == 0 { compute(5) } else { send(2, 0, 0) };
            (rank(|rank| _ = rank.run(peer)), (from == 0).then_some(1))
        }
    }
    let kind = CollectiveKind::AllGather;
    let call = Operation::Collective { kind, root: 0, communicator: WORLD, size: Bytes(8) };
    let all = |_| rank(|rank| _ = rank.run(call));
    let program = program((0..2).map(all).collect());
    let jobs = [ProgramJob::new(&program, vec![0, 1])];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 2, &jobs, FREE, Broken).unwrap();
    let error = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(error.contains("names rank 2 in operation 0"), "{error}");
}

#[test]
fn ranks_may_be_more_than_sixteen_bits_count() {
    let ranks = (1 << 16) + 17;
    let call = |kind, size| Operation::Collective {
        kind,
        root: ranks - 1,
        communicator: WORLD,
        size: Bytes(size),
    };
    let all = |_| {
        rank(|rank| {
            rank.run(call(CollectiveKind::AllReduce, 8));
            rank.run(call(CollectiveKind::Broadcast, 8));
        })
    };
    let program = program((0..ranks).map(all).collect());
    let jobs = [ProgramJob::new(&program, (0..ranks).collect())];
    let mut network = TestNetwork::of_gpus(ranks);
    let runtime = Runtime::new(&mut network, ranks, &jobs, FREE, ByDefault).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let messages: u64 = outcome.jobs[0].ranks.iter().map(|rank| rank.messages).sum();
    assert_eq!(messages, 3 * u64::from(ranks - 1));
}
