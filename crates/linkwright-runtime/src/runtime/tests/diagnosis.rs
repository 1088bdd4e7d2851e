//! Tests the text that a person reads when ranks wait for ever.

use crate::network::TransportError;
use crate::program::CollectiveKind;

use super::trees::Trees;
use super::*;

#[test]
fn a_receive_without_a_send_is_named() {
    let waiting = rank(|rank| {
        rank.run(compute(5_000));
        rank.run(receive(1, 7, 64));
    });
    let error = play(&program(vec![waiting, RankProgram::default()]), FREE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at 5 ns nothing is left to happen, but 1 rank waits for ever; receives without a \
         message: 1: job `test` rank 0 receives 64 B from rank 1 with tag 7 (call 1) since 5 ns; \
         give every send a receive of the same communicator and tag"
    );
}

#[test]
fn a_send_without_a_receive_is_named_though_all_ranks_end() {
    let sender = rank(|rank| _ = rank.run(send(1, 7, 64)));
    let error = play(&program(vec![sender, RankProgram::default()]), FREE).unwrap_err();
    let RuntimeError::Stalled(stalled) = error else { panic!("{error}") };
    assert_eq!((stalled.ranks, stalled.send_count, stalled.receive_count), (0, 1, 0));
    assert_eq!(
        stalled.sends[0].to_string(),
        "job `test` rank 0 sends 64 B to rank 1 with tag 7 (call 0) since 0 ps"
    );
}

#[test]
fn large_messages_both_ways_deadlock_as_in_mpi() {
    let both = |other| {
        rank(|rank| {
            rank.run(send(other, 0, 100_000));
            rank.run(receive(other, 0, 100_000));
        })
    };
    let program = program(vec![both(1), both(0)]);
    let error = play(&program, FREE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at 1000.016 ns nothing is left to happen, but 2 ranks wait for ever; 2 sends wait for one \
         another in a circle, since messages of more than 62.5 KiB are not sent before their \
         receive is called: job `test` rank 0 sends 100 kB to rank 1 with tag 0 (call 0) since \
         0 ps, job `test` rank 1 sends 100 kB to rank 0 with tag 0 (call 0) since 0 ps; post a receive before one of these sends, make one non-blocking, or raise `protocol.eager_limit` to 100 kB"
    );
    let eager = MpiProtocol { eager_limit: Bytes(100_000), ..FREE };
    play(&program, eager).unwrap();
}

#[test]
fn sends_around_a_ring_are_a_circle_and_sends_beside_it_are_none() {
    let ranks = (0..8).map(|me| {
        rank(|rank| match me {
            // Seven send to the next of seven; rank 7 sends into the ring, and is not in it.
            0..7 => {
                rank.run(send((me + 1) % 7, 0, 100_000));
                rank.run(receive((me + 6) % 7, 0, 100_000));
            }
            _ => _ = rank.run(send(3, 1, 100_000)),
        })
    });
    let error = play(&program(ranks.collect()), FREE).unwrap_err();
    let RuntimeError::Stalled(stalled) = error else { panic!("{error}") };
    assert_eq!((stalled.circle_count, stalled.circle.len()), (7, 5));
    let peers: Vec<_> = stalled.circle.iter().map(|send| (send.rank, send.peer)).collect();
    assert_eq!(peers[..2], [(0, Some(1)), (1, Some(2))]);
    assert!(stalled.to_string().contains(" and 2 more; post a receive"), "{stalled}");
}

#[test]
fn ranks_that_wait_for_receives_are_in_no_circle() {
    // Both large sends are without a receive, but each rank waits for a message of tag 9, and
    // no eager limit would help.
    let both = |other| {
        rank(|rank| {
            let sent = rank.start(send(other, 0, 100_000));
            rank.run(receive(other, 9, 1));
            rank.wait(&[sent]);
            rank.run(compute(1));
        })
    };
    let error = play(&program(vec![both(1), both(0)]), FREE).unwrap_err();
    let RuntimeError::Stalled(stalled) = error else { panic!("{error}") };
    assert_eq!(stalled.circle_count, 0);
    assert!(stalled.to_string().ends_with("of the same communicator and tag"), "{stalled}");
}

#[test]
fn only_the_first_few_are_listed() {
    let waiting = rank(|rank| {
        let requests: Vec<_> = (0..8).map(|tag| rank.start(receive(None, tag, 1))).collect();
        rank.wait(&requests);
        rank.run(compute(1));
    });
    let error = play(&program(vec![waiting]), FREE).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("receives without a message: 8: "), "{text}");
    assert!(text.contains("from any rank with tag 4 (call 4) since 0 ps and 3 more"), "{text}");
    assert!(!text.contains("tag 5"), "{text}");
}

#[test]
fn a_rank_that_stays_away_from_a_collective_is_seen_by_the_others() {
    let operation = Operation::Collective {
        kind: CollectiveKind::Barrier,
        root: 0,
        communicator: 0,
        size: Bytes(0),
    };
    let all = |me| {
        rank(|rank| {
            if me != 2 {
                rank.run(operation);
            }
        })
    };
    let program = program((0..3).map(all).collect());
    let jobs = [ProgramJob::new(&program, (0..3).collect())];
    let (mut network, trees) = (TestNetwork::new(), Trees::default());
    let runtime = Runtime::new(&mut network, 3, &jobs, FREE, &trees).unwrap();
    let error = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap_err();
    let RuntimeError::Stalled(stalled) = error else { panic!("{error}") };
    assert_eq!((stalled.ranks, stalled.collective_count, stalled.receive_count), (2, 2, 2));
    let text = stalled.to_string();
    assert!(
        text.starts_with(
            "at 1 us nothing is left to happen, but 2 ranks wait for ever; job `test`: rank 2 \
             has not called Barrier, in which 2 of the 3 ranks of communicator 0 wait; \
             collectives not complete: 2: job `test` rank 0 waits in Barrier of 0 B (call 0) \
             since 0 ps"
        ),
        "{text}"
    );
    assert!(text.ends_with("; make all ranks of a communicator call its collectives"), "{text}");
    assert!(
        text.contains("rank 0 receives 0 B from rank 2 with tag 0 within Barrier (call 0)"),
        "{text}"
    );
}

#[test]
fn a_network_that_is_stuck_is_reported() {
    let sender = rank(|rank| _ = rank.run(send(1, 0, 1)));
    let receiver = rank(|rank| _ = rank.run(receive(0, 0, 1)));
    let mut network = TestNetwork::new();
    network.stuck_after = 1;
    let error = play_on(&mut network, &program(vec![sender, receiver]), FREE).unwrap_err();
    assert!(matches!(error, RuntimeError::Transport(TransportError::Stuck(_))), "{error}");
}

#[test]
fn a_hook_ends_an_endless_run() {
    // Nothing in this loop needs the network, which therefore never has the word.
    let looping = rank(|rank| {
        rank.begin_body();
        rank.run(Operation::Join);
        rank.end_body();
    });
    let program = program(vec![looping]);
    let mut job = ProgramJob::new(&program, vec![0]);
    job.iterations = u32::MAX.try_into().unwrap();
    let jobs = [job];
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 1, &jobs, FREE, &no_collectives).unwrap();
    let mut asked = 0;
    let mut hook = |progress: crate::engine::Progress| {
        asked += 1;
        assert_eq!(progress.total, u64::from(u32::MAX));
        if asked == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let error = runtime.run(&mut hook).unwrap_err();
    let RuntimeError::Interrupted { done, total, .. } = error else { panic!("{error}") };
    assert_eq!(total, u64::from(u32::MAX));
    assert!((3 * 65_000..3 * 66_000).contains(&done), "{done}");
}
