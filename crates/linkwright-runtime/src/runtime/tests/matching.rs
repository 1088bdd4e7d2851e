//! Which message goes to which receive.

use super::*;

/// The receiver's capacities fit only if each receive takes the message meant for it.
fn matches(sends: Vec<RankProgram>, receiver: impl FnOnce(&mut RankBuilder)) {
    let mut ranks = vec![rank(receiver)];
    ranks.extend(sends);
    play(&program(ranks), FREE).unwrap();
}

fn sends_at(time: u64, messages: &[(u32, u64)]) -> RankProgram {
    rank(|rank| {
        rank.run(compute(time));
        for (tag, size) in messages {
            rank.run(send(0, *tag, *size));
        }
    })
}

#[test]
fn tags_and_sources_select() {
    let sends = vec![sends_at(0, &[(1, 10), (2, 20)]), sends_at(0, &[(1, 30), (2, 40)])];
    matches(sends, |rank| {
        for (from, tag, size) in [(2, 2, 40), (1, 2, 20), (2, 1, 30), (1, 1, 10)] {
            rank.run(receive(from, tag, size));
        }
    });
}

#[test]
fn any_source_takes_the_earliest_that_fits() {
    let sends = vec![sends_at(9_000, &[(1, 30)]), sends_at(0, &[(2, 10), (1, 20)])];
    matches(sends, |rank| {
        rank.run(compute(90_000_000));
        rank.run(receive(None, 1, 20));
        rank.run(receive(None, None, 10));
        rank.run(receive(1, None, 30));
    });
}

#[test]
fn the_oldest_receive_takes_the_message_whatever_its_wildcards() {
    let sends = vec![sends_at(5_000, &[(1, 10), (1, 20), (1, 30), (1, 40)])];
    matches(sends, |rank| {
        let posted = [receive(None, 1, 10), receive(1, None, 20), receive(1, 1, 30)];
        let mut requests: Vec<_> = posted.into_iter().map(|post| rank.start(post)).collect();
        requests.push(rank.start(receive(None, None, 40)));
        rank.wait(&requests);
    });
}

#[test]
fn the_largest_tag_is_a_tag_like_any_other() {
    let sends = vec![sends_at(0, &[(u32::MAX, 10), (0, 20)])];
    matches(sends, |rank| {
        rank.run(receive(None, 0, 20));
        rank.run(receive(None, u32::MAX, 10));
    });
}

#[test]
fn communicators_keep_apart() {
    let through = |communicator, size| {
        (
            Operation::Send {
                to: 0,
                tag: 0,
                communicator,
                size: Bytes(size),
                route: RouteClass::Any,
            },
            Operation::Receive { from: None, tag: None, communicator, size: Bytes(size) },
        )
    };
    let (world, pair) = (through(WORLD, 20), through(1, 10));
    let receiver = rank(|rank| {
        rank.run(pair.1);
        rank.run(world.1);
    });
    let sender = rank(|rank| {
        rank.run(world.0);
        rank.run(pair.0);
    });
    let mut program = program(vec![receiver, sender]);
    Arc::make_mut(&mut program).communicators.push(vec![1, 0]);
    play(&program, FREE).unwrap();
}

#[test]
fn nothing_overtakes_on_a_network_that_disorders() {
    // Distinct sizes fit their receives only in the order of the sends.
    let cases = [(1, 64_000), (2, 0), (3, 25)].into_iter();
    let both = [Rendezvous::Sender, Rendezvous::Receiver];
    for ((seed, eager_limit), rendezvous) in cases.flat_map(|case| both.map(|both| (case, both))) {
        let sizes: Vec<u64> = (0..50).map(|index| index * 17 % 50).collect();
        let sender = rank(|rank| sizes.iter().for_each(|size| _ = rank.start(send(1, 3, *size))));
        let receiver = rank(|rank| {
            for size in &sizes {
                rank.run(receive(0, 3, *size));
            }
        });
        let protocol = MpiProtocol { eager_limit: Bytes(eager_limit), rendezvous, ..FREE };
        let mut network = TestNetwork::disordered(seed);
        play_on(&mut network, &program(vec![sender, receiver]), protocol).unwrap();
    }
}

#[test]
fn a_message_larger_than_its_receive_is_an_error() {
    let sender = rank(|rank| _ = rank.run(send(1, 7, 100)));
    let receiver = rank(|rank| {
        rank.run(compute(1));
        rank.run(receive(0, None, 99));
    });
    let program = program(vec![sender, receiver]);
    for eager_limit in [0, 1000] {
        let protocol = MpiProtocol { eager_limit: Bytes(eager_limit), ..FREE };
        let error = play(&program, protocol).unwrap_err();
        assert_eq!(
            error.to_string(),
            "job `test` rank 1: call 1 receives at most 99 B, but the message with tag 7 from \
             rank 0 has 100 B; make the receive at least as large as the message"
        );
    }
}
