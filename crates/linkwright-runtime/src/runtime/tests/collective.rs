//! Tests that collectives run as messages that match nothing else.

use crate::program::CollectiveKind;

use super::network::LATENCY;
use super::trees::Trees;
use super::*;

fn collective(kind: CollectiveKind, root: u32, communicator: u32, size: u64) -> Operation {
    Operation::Collective { kind, root, communicator, size: Bytes(size) }
}

fn play_trees(program: &Arc<Program>, trees: &Trees) -> Result<Outcome, RuntimeError> {
    let gpus = program.ranks.len() as u32;
    let jobs = [ProgramJob::new(program, (0..gpus).collect())];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, gpus, &jobs, FREE, trees)?;
    runtime.run(&mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_broadcast_takes_the_depth_of_its_tree() {
    let all = |_| rank(|rank| _ = rank.run(collective(CollectiveKind::Broadcast, 3, WORLD, 1000)));
    let outcome = play_trees(&program((0..7).map(all).collect()), &Trees::default()).unwrap();
    let hop = LATENCY + 1000;
    // From rank 3 to 4 and 5, from there to 6 and 0, 1 and 2; second children a message later.
    let [first, second] = [hop, hop + 1000];
    let expected =
        [first + second, second + first, second + second, 0, first, second, first + first];
    assert_eq!(ends(&outcome), expected);
    assert_eq!(outcome.jobs[0].ranks[3].messages, 2);
    assert_eq!(outcome.jobs[0].ranks[4].communicating, Picoseconds(first));
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_entered() {
    let late = |me: u64| {
        rank(|rank| {
            rank.run(compute(me * 1_000_000));
            rank.run(collective(CollectiveKind::Barrier, 0, WORLD, 0));
        })
    };
    let outcome = play_trees(&program((0..9).map(late).collect()), &Trees::default()).unwrap();
    assert!(ends(&outcome).iter().all(|end| *end >= 8_000_000), "{:?}", ends(&outcome));
}

#[test]
fn a_collective_of_a_known_time_lasts_so_long_from_its_last_rank_and_sends_nothing() {
    let timed = Operation::Timed {
        kind: CollectiveKind::AllReduce,
        communicator: WORLD,
        size: Bytes(8),
        duration: Picoseconds(500),
    };
    let late = |me: u64, calls: usize| {
        rank(|rank| {
            rank.run(compute(me * 100));
            for _ in 0..calls {
                rank.run(timed);
            }
        })
    };
    let played = play(&program(vec![late(0, 2), late(1, 2), late(3, 2)]), FREE).unwrap();
    assert_eq!(ends(&played), [1300; 3]);
    let of_ranks = played.jobs[0].ranks.iter();
    let communicating: Vec<_> =
        of_ranks.map(|rank| (rank.communicating.0, rank.messages)).collect();
    assert_eq!(communicating, [(1300, 0), (1200, 0), (1000, 0)]);
    let error = play(&program(vec![late(0, 2), late(1, 1)]), FREE).unwrap_err().to_string();
    assert!(error.contains("collectives not complete: 1: job `test` rank 0 waits in"), "{error}");
    assert!(error.contains("rank 1 has not called"), "{error}");
}

#[test]
fn wildcards_take_no_message_of_a_collective() {
    let receiver = rank(|rank| {
        let request = rank.start(receive(None, None, 5));
        rank.run(collective(CollectiveKind::AllToAll, 0, WORLD, 1000));
        rank.wait(&[request]);
    });
    let sender = rank(|rank| {
        rank.run(collective(CollectiveKind::AllToAll, 0, WORLD, 1000));
        rank.run(compute(10_000));
        rank.run(send(0, 1, 5));
    });
    play_trees(&program(vec![receiver, sender]), &Trees::default()).unwrap();
}

#[test]
fn collectives_of_one_communicator_keep_apart_though_ranks_run_ahead() {
    // The root of broadcasts is done with all before anyone receives the first. Each size fits
    // its own collective only.
    let sizes: Vec<u64> = (0..20).map(|index| index * 7 % 20).collect();
    let all = |_| {
        rank(|rank| {
            for size in &sizes {
                rank.start(collective(CollectiveKind::Broadcast, 0, WORLD, *size));
            }
        })
    };
    let program = program((0..6).map(all).collect());
    let jobs = [ProgramJob::new(&program, (0..6).collect())];
    let trees = Trees::default();
    let mut network = TestNetwork::disordered(5);
    let runtime = Runtime::new(&mut network, 6, &jobs, FREE, &trees).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let bytes: u64 = outcome.jobs[0].ranks.iter().map(|rank| rank.bytes.0).sum();
    assert_eq!(bytes, 5 * sizes.iter().sum::<u64>());
}

#[test]
fn a_later_collective_takes_no_message_of_an_earlier_one() {
    // The second collective's receive is there first, and has no room for the first's message.
    let lower = |call: &CollectiveCall| {
        rank(|rank| {
            let size = call.size.0;
            if call.index == 0 {
                rank.run(send(1, 0, size));
            } else {
                rank.run(compute(size * LATENCY));
                rank.run(receive(0, 0, size));
            }
        })
    };
    let all = |_| {
        rank(|rank| {
            rank.start(collective(CollectiveKind::Broadcast, 0, WORLD, 100));
            rank.start(collective(CollectiveKind::Broadcast, 0, WORLD, 0));
        })
    };
    let program = program((0..2).map(all).collect());
    let jobs = [ProgramJob::new(&program, vec![0, 1])];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 2, &jobs, FREE, &lower).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
}

#[test]
fn communicators_order_their_ranks_as_they_say() {
    let all = |me: u32| {
        rank(|rank| {
            let communicator = 1 + me % 2;
            let root = me % 2;
            rank.run(collective(CollectiveKind::Broadcast, root, communicator, 100));
            rank.run(collective(CollectiveKind::Barrier, 0, WORLD, 0));
        })
    };
    let mut program = program((0..6).map(all).collect());
    Arc::make_mut(&mut program).communicators.extend([vec![4, 0, 2], vec![5, 3, 1]]);
    let trees = Trees::default();
    let outcome = play_trees(&program, &trees).unwrap();
    let sent: Vec<_> = outcome.jobs[0].ranks.iter().map(|rank| rank.bytes.0).collect();
    assert_eq!(sent, [200, 200, 0, 0, 0, 0]);
}

#[test]
fn a_lowering_is_asked_once_for_each_kind_of_call() {
    let all = |_| {
        rank(|rank| {
            rank.begin_body();
            rank.run(collective(CollectiveKind::AllReduce, 0, WORLD, 64));
            rank.end_body();
        })
    };
    let program = program((0..4).map(all).collect());
    let mut job = ProgramJob::new(&program, (0..4).collect());
    job.iterations = 100.try_into().unwrap();
    let (trees, jobs) = (Trees::default(), [job]);
    let mut network = TestNetwork::new();
    let mut runtime = Runtime::new(&mut network, 4, &jobs, FREE, &trees).unwrap();
    runtime.play(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(trees.asked.get(), 4);
    let (frames, ..) = runtime.shared.frames.room();
    assert!(frames <= 4 + 8, "{frames} frames");
}

#[test]
fn a_communicator_of_one_has_nothing_to_do() {
    let alone = rank(|rank| _ = rank.run(collective(CollectiveKind::AllGather, 0, WORLD, 64)));
    let outcome = play(&program(vec![alone]), FREE).unwrap();
    assert_eq!(ends(&outcome), [0]);
}

#[test]
fn different_collectives_are_an_error_that_names_both() {
    let [one, other] = [CollectiveKind::Barrier, CollectiveKind::AllReduce].map(|kind| {
        rank(|rank| {
            rank.run(collective(CollectiveKind::Barrier, 0, WORLD, 0));
            rank.run(collective(kind, 0, WORLD, 8));
        })
    });
    let error = play_trees(&program(vec![one, other]), &Trees::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job `test`: rank 0 takes part in Barrier as call 1, but rank 1 in AllReduce as call 1, \
         both as collective 1 of communicator 0; make all ranks of the communicator call the same collectives in the same order"
    );
}

#[test]
fn different_roots_are_an_error_too() {
    let all = |me| rank(|rank| _ = rank.run(collective(CollectiveKind::Reduce, me, WORLD, 8)));
    let error = play_trees(&program((0..2).map(all).collect()), &Trees::default()).unwrap_err();
    assert!(error.to_string().contains("rank 0 takes part in Reduce of root 0"), "{error}");
    assert!(error.to_string().contains("rank 1 in Reduce of root 1"), "{error}");
}

#[test]
fn a_lowering_that_is_no_program_is_refused() {
    let all = |_| rank(|rank| _ = rank.run(collective(CollectiveKind::Barrier, 0, WORLD, 0)));
    let program = program((0..2).map(all).collect());
    let jobs = [ProgramJob::new(&program, vec![0, 1])];
    let nested = collective(CollectiveKind::Barrier, 0, WORLD, 0);
    let faults = [
        (send(2, 0, 0), "names rank 2 in operation 0"),
        (receive(None, 0, 0), "takes any message in operation 0"),
        (nested, "has a collective as operation 0"),
        (Operation::Enter { region: 0 }, "has a region in operation 0"),
    ];
    for (operation, problem) in faults {
        let lower = |_: &CollectiveCall| rank(|rank| _ = rank.run(operation));
        let mut network = TestNetwork::new();
        let runtime = Runtime::new(&mut network, 2, &jobs, FREE, &lower).unwrap();
        let error = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
