//! Large receives that are announced to their sender, to the picosecond.

use super::network::LATENCY;
use super::*;

const CALL: u64 = 200_000;
const DELAY: u64 = 1_000_000;
const CONTROL: u64 = 16;
const SIZE: u64 = 131_072;

const ANNOUNCED: MpiProtocol = MpiProtocol {
    send_overhead: Picoseconds(CALL),
    rendezvous: Rendezvous::Receiver,
    rendezvous_delay: Picoseconds(DELAY),
    ..FREE
};

/// Returns the messages that crossed the network, and when each was handed to it.
fn crossed(network: &TestNetwork) -> Vec<(u64, u32, u64)> {
    let messages = network.messages.iter();
    messages.map(|(time, message)| (time.0, message.source, message.size.0)).collect()
}

#[test]
fn a_receive_posted_early_costs_no_round_trip() {
    let late = 5_000_000;
    let sender = rank(|rank| {
        rank.run(compute(late));
        rank.run(send(1, 7, SIZE));
    });
    let receiver = rank(|rank| _ = rank.run(receive(0, 7, SIZE)));
    let program = program(vec![sender, receiver]);
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program, ANNOUNCED).unwrap();
    let goes = late + CALL + DELAY;
    assert_eq!(crossed(&network), [(0, 1, CONTROL), (goes, 0, SIZE)]);
    assert_eq!(ends(&outcome), [goes + SIZE, goes + SIZE + LATENCY]);
    // Where the sender asks, request and leave are on their way in between.
    let asking = MpiProtocol { rendezvous: Rendezvous::Sender, ..ANNOUNCED };
    let asked = play(&program, asking).unwrap();
    assert_eq!(ends(&asked)[1] - ends(&outcome)[1], 2 * (CONTROL + LATENCY));
}

#[test]
fn a_send_called_early_waits_for_the_announcement() {
    let late = 5_000_000;
    let sender = rank(|rank| _ = rank.run(send(1, 7, SIZE)));
    let receiver = rank(|rank| {
        rank.run(compute(late));
        rank.run(receive(0, 7, 2 * SIZE));
    });
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program(vec![sender, receiver]), ANNOUNCED).unwrap();
    let goes = late + CONTROL + LATENCY + DELAY;
    assert_eq!(crossed(&network), [(late, 1, CONTROL), (goes, 0, SIZE)]);
    assert_eq!(ends(&outcome), [goes + SIZE, goes + SIZE + LATENCY]);
}

#[test]
fn eleven_blocking_sends_take_a_control_message_and_a_delay_each() {
    let sender = rank(|rank| (0..11).for_each(|_| _ = rank.run(send(1, 1, SIZE))));
    let blocking = rank(|rank| (0..11).for_each(|_| _ = rank.run(receive(0, 1, SIZE))));
    let posted = rank(|rank| {
        let requests: Vec<_> = (0..11).map(|_| rank.start(receive(0, 1, SIZE))).collect();
        rank.wait(&requests);
    });
    let time = |receiver: &RankProgram, rendezvous| {
        let program = program(vec![sender.clone(), receiver.clone()]);
        let outcome = play(&program, MpiProtocol { rendezvous, ..ANNOUNCED }).unwrap();
        ends(&outcome)[1]
    };
    // Each receive is posted when the message before it is there, long after its send was called.
    let of_one = CONTROL + LATENCY + DELAY + SIZE + LATENCY;
    assert_eq!(time(&blocking, Rendezvous::Receiver), 11 * of_one);
    // The request is there after the receive, by the call's overhead and its own size.
    let asked = CALL + 2 * (CONTROL + LATENCY) + DELAY + SIZE;
    assert_eq!(time(&blocking, Rendezvous::Sender), 11 * asked + LATENCY);
    // All receives are posted at once: nothing is left but the calls, the delays and the data.
    let of_one = CALL + DELAY + SIZE;
    let first = CONTROL + LATENCY - CALL;
    assert_eq!(time(&posted, Rendezvous::Receiver), first + 11 * of_one + LATENCY);
    assert_eq!(time(&posted, Rendezvous::Sender), 11 * asked + LATENCY);
}

#[test]
fn to_ranks_with_wildcards_senders_ask() {
    for wild in [receive(None, 8, 1), receive(0, None, 1)] {
        let sender = rank(|rank| {
            rank.run(send(1, 7, SIZE));
            rank.run(send(1, 8, 1));
        });
        let receiver = rank(|rank| {
            rank.run(receive(0, 7, SIZE));
            rank.run(wild);
        });
        let mut network = TestNetwork::new();
        play_on(&mut network, &program(vec![sender, receiver]), ANNOUNCED).unwrap();
        let who: Vec<_> = crossed(&network).iter().map(|(_, source, _)| *source).collect();
        assert_eq!(who, [0, 1, 0, 0], "request, leave, data; the small one");
    }
}

#[test]
fn small_messages_are_eager_whatever_their_receive_announces() {
    let sender = rank(|rank| {
        rank.run(send(1, 7, 10));
        rank.run(compute(50_000_000));
        rank.run(send(1, 7, 10));
        rank.run(send(1, 7, SIZE));
    });
    let receiver = rank(|rank| {
        rank.run(compute(20_000_000));
        (0..3).for_each(|_| _ = rank.run(receive(0, 7, SIZE)));
    });
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program(vec![sender, receiver]), ANNOUNCED).unwrap();
    let sizes: Vec<_> = crossed(&network).iter().map(|(.., size)| *size).collect();
    // The first message is there before its receive, which is therefore not announced.
    assert_eq!(sizes, [10, CONTROL, 10, CONTROL, SIZE]);
    let second = 50_000_000 + 2 * CALL + 10 + LATENCY;
    let goes = second + CONTROL + LATENCY + DELAY;
    assert_eq!(ends(&outcome), [goes + SIZE, goes + SIZE + LATENCY]);
}

#[test]
fn messages_to_oneself_are_not_announced() {
    let alone = rank(|rank| {
        let request = rank.start(receive(0, 1, SIZE));
        rank.run(send(0, 1, SIZE));
        rank.wait(&[request]);
    });
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program(vec![alone]), ANNOUNCED).unwrap();
    assert_eq!((ends(&outcome), network.messages.len()), (vec![CALL], 0));
}

#[test]
fn a_message_larger_than_its_receive_is_an_error() {
    for (late_sender, capacity) in [(0, SIZE - 1), (9_000_000, SIZE - 1), (0, 8), (9_000_000, 8)] {
        let sender = rank(|rank| {
            rank.run(compute(late_sender));
            rank.run(send(1, 7, SIZE));
        });
        let receiver = rank(|rank| {
            rank.run(compute(1_000_000));
            rank.run(receive(0, 7, capacity));
        });
        let error = play(&program(vec![sender, receiver]), ANNOUNCED).unwrap_err().to_string();
        assert!(error.contains("but the message with tag 7 from rank 0 has 128 KiB"), "{error}");
    }
}

#[test]
fn who_waits_for_ever_is_named() {
    let both = |other| {
        rank(|rank| {
            rank.run(send(other, 0, SIZE));
            rank.run(receive(other, 0, SIZE));
        })
    };
    let error = play(&program(vec![both(1), both(0)]), ANNOUNCED).unwrap_err().to_string();
    assert!(error.contains("2 sends wait for one another in a circle"), "{error}");
    let receiver = rank(|rank| _ = rank.run(receive(1, 7, SIZE)));
    let error = play(&program(vec![receiver, RankProgram::default()]), ANNOUNCED).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("receives without a message: 1: job `test` rank 0 rec"), "{error}");
}
