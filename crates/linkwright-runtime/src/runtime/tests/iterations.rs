//! The main loop runs as often as asked, in the memory of one iteration.

use super::network::LATENCY;
use super::*;

fn repeated(program: &Arc<Program>, iterations: u32) -> [ProgramJob; 1] {
    let mut job = ProgramJob::new(program, (0..program.ranks.len() as u32).collect());
    job.iterations = iterations.try_into().unwrap();
    [job]
}

fn play_repeated(program: &Arc<Program>, iterations: u32) -> Result<Outcome, RuntimeError> {
    let (jobs, mut network) = (repeated(program, iterations), TestNetwork::new());
    let gpus = program.ranks.len() as u32;
    let runtime = Runtime::new(&mut network, gpus, &jobs, FREE, &no_collectives)?;
    runtime.run(&mut |_| ControlFlow::Continue(()))
}

#[test]
fn what_lies_around_the_loop_runs_once() {
    let alone = rank(|rank| {
        rank.run(compute(1));
        rank.begin_body();
        rank.run(compute(10));
        rank.run(compute(20));
        rank.end_body();
        rank.run(compute(100_000));
    });
    let program = program(vec![alone]);
    for iterations in [1, 2, 1000] {
        let outcome = play_repeated(&program, iterations).unwrap();
        let time = 1 + 30 * u64::from(iterations) + 100_000;
        assert_eq!(ends(&outcome), [time]);
        assert_eq!(outcome.operations, 2 + 2 * u64::from(iterations));
        assert_eq!(outcome.jobs[0].ranks[0].computing, Picoseconds(time));
    }
}

/// A loop takes the same time as its body written out.
#[test]
fn a_loop_is_its_body_written_out() {
    let body = |rank: &mut RankBuilder, me: u32| {
        let request = rank.start(receive(1 - me, 0, 500));
        rank.run(compute(700 * u64::from(me + 1)));
        let sent = rank.start(send(1 - me, 0, 500));
        rank.wait(&[request, sent]);
    };
    let looped = |me| {
        rank(|rank| {
            rank.begin_body();
            body(rank, me);
            rank.end_body();
            rank.run(compute(3));
        })
    };
    let unrolled = |me| {
        rank(|rank| {
            (0..25).for_each(|_| body(rank, me));
            rank.run(compute(3));
        })
    };
    let looped = play_repeated(&program(vec![looped(0), looped(1)]), 25).unwrap();
    let unrolled = play(&program(vec![unrolled(0), unrolled(1)]), FREE).unwrap();
    assert_eq!(looped.jobs, unrolled.jobs);
    assert_eq!(looped.operations, unrolled.operations);
}

#[test]
fn requests_may_stay_open_over_iterations() {
    // The sends of all iterations start before the receiver takes the first.
    let sender = rank(|rank| {
        rank.begin_body();
        let request = rank.start(send(1, 0, 100_000));
        rank.run(compute(10));
        rank.end_body();
        rank.wait(&[request]);
    });
    let receiver = rank(|rank| {
        rank.run(compute(90_000_000));
        rank.begin_body();
        rank.run(receive(0, 0, 100_000));
        rank.end_body();
    });
    let program = program(vec![sender, receiver]);
    let jobs = repeated(&program, 6);
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 2, &jobs, FREE, &no_collectives).unwrap();
    runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let requests = network.messages.iter().filter(|(time, _)| time.0 <= 50);
    assert_eq!(requests.count(), 6);
}

#[test]
fn a_loop_may_end_with_a_call_that_has_only_started() {
    // Each rank's last call of the loop completes only in the other's next iteration.
    let both = |me: u32| {
        rank(|rank| {
            rank.begin_body();
            rank.run(compute(10));
            let last = rank.start(receive(1 - me, 0, 8));
            rank.end_body();
            rank.run(send(1 - me, 0, 8));
            rank.run(send(1 - me, 0, 8));
            rank.run(send(1 - me, 0, 8));
            rank.wait(&[last]);
        })
    };
    let outcome = play_repeated(&program(vec![both(0), both(1)]), 3).unwrap();
    assert_eq!(ends(&outcome), [30 + 3 * 8 + LATENCY; 2]);
}

#[test]
fn memory_does_not_grow_with_iterations() {
    let body = |me: u32| {
        rank(|rank| {
            rank.begin_body();
            for size in [8, 100_000] {
                let request = rank.start(receive(1 - me, 0, size));
                let sent = rank.start(send(1 - me, 0, size));
                rank.wait(&[request, sent]);
            }
            rank.end_body();
        })
    };
    let program = program(vec![body(0), body(1)]);
    for rendezvous in [Rendezvous::Sender, Rendezvous::Receiver] {
        let records = |iterations| {
            let (jobs, mut network) = (repeated(&program, iterations), TestNetwork::new());
            let protocol = MpiProtocol { rendezvous, ..FREE };
            let mut runtime =
                Runtime::new(&mut network, 2, &jobs, protocol, &no_collectives).unwrap();
            runtime.play(&mut |_| ControlFlow::Continue(())).unwrap();
            let [_, messages] = runtime.shared.messages.counts();
            (messages, runtime.shared.lanes.works().capacity(), runtime.shared.frames.room().1)
        };
        assert_eq!(records(10), records(2000));
    }
}
