//! Tests the costs of messages, to the picosecond.

use super::network::LATENCY;
use super::*;

const CALL: u64 = 200_000;
const COPY: u64 = 10;

#[test]
fn an_eager_message_costs_call_copy_wire_and_copy() {
    let size = 4096;
    let sender = rank(|rank| _ = rank.run(send(1, 7, size)));
    let receiver = rank(|rank| _ = rank.run(receive(0, 7, size)));
    let outcome = play(&program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    let sent = CALL + COPY * size;
    assert_eq!(ends(&outcome), [sent, sent + size + LATENCY + COPY * size]);
    assert_eq!(outcome.jobs[0].ranks[0].messages, 1);
    assert_eq!(outcome.jobs[0].ranks[0].bytes, Bytes(size));
    assert_eq!(outcome.jobs[0].ranks[1].messages, 0);
}

#[test]
fn a_large_message_waits_for_its_receive() {
    let (size, late) = (64_001, 50_000_000);
    let sender = rank(|rank| _ = rank.run(send(1, 7, size)));
    let receiver = rank(|rank| {
        rank.run(compute(late));
        rank.run(receive(0, 7, size));
    });
    let mut network = TestNetwork::new();
    let outcome =
        play_on(&mut network, &program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    // The request has long arrived when the receive is posted and answers it.
    let leave = late + 16 + LATENCY;
    let sent = leave + 1_000_000 + size;
    assert_eq!(ends(&outcome), [sent, sent + LATENCY]);
    let sizes: Vec<_> = network.messages.iter().map(|(_, message)| message.size.0).collect();
    assert_eq!(sizes, [16, 16, size]);
    let times: Vec<_> = network.messages.iter().map(|(time, _)| time.0).collect();
    assert_eq!(times, [CALL, late, leave + 1_000_000]);
    assert_eq!(outcome.jobs[0].ranks[0].bytes, Bytes(size));
}

#[test]
fn the_limit_itself_is_eager() {
    let sender = rank(|rank| _ = rank.run(send(1, 7, 64_000)));
    let receiver = rank(|rank| _ = rank.run(receive(0, 7, 64_000)));
    let mut network = TestNetwork::new();
    play_on(&mut network, &program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    assert_eq!(network.messages.len(), 1);
}

#[test]
fn an_unexpected_message_is_copied_when_its_receive_comes() {
    let (size, late) = (1000, 50_000_000);
    let sender = rank(|rank| _ = rank.run(send(1, 7, size)));
    let receiver = rank(|rank| {
        rank.run(compute(late));
        rank.run(receive(0, 7, size));
    });
    let outcome = play(&program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    assert_eq!(ends(&outcome), [CALL + COPY * size, late + COPY * size]);
}

#[test]
fn the_library_handles_one_call_at_a_time() {
    // Three sends that nothing orders, and the receiver's copies behind one another.
    let size = 1000;
    let sender = rank(|rank| {
        for tag in 0..3 {
            rank.push(send(1, tag, size), &[]);
        }
    });
    let receiver = rank(|rank| {
        let requests: Vec<_> = (0..3).map(|tag| rank.start(receive(0, tag, size))).collect();
        rank.wait(&requests);
    });
    let protocol = MpiProtocol { copy_per_byte: Picoseconds(1000), ..MpiProtocol::default() };
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program(vec![sender, receiver]), protocol).unwrap();
    let call = CALL + 1000 * size;
    let times: Vec<_> = network.messages.iter().map(|(time, _)| time.0).collect();
    assert_eq!(times, [call, 2 * call, 3 * call]);
    assert_eq!(ends(&outcome), [3 * call, 3 * call + size + LATENCY + 1000 * size]);
}

#[test]
fn a_call_returns_after_its_overhead_and_computing_goes_on() {
    let size = 100_000;
    let sender = rank(|rank| {
        let request = rank.start(send(1, 0, size));
        rank.run(compute(5_000_000));
        rank.wait(&[request]);
    });
    let receiver = rank(|rank| _ = rank.run(receive(0, 0, size)));
    let outcome = play(&program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    assert_eq!(ends(&outcome)[0], CALL + 5_000_000);
    let of_sender = &outcome.jobs[0].ranks[0];
    let sent = CALL + 2 * (16 + LATENCY) + 1_000_000 + size;
    assert_eq!(of_sender.communicating, Picoseconds(sent));
    assert_eq!(of_sender.exposed_communication, Picoseconds(CALL));
    assert_eq!(of_sender.computing, Picoseconds(5_000_000));
}

#[test]
fn messages_to_oneself_and_messages_of_nothing_work() {
    let alone = rank(|rank| {
        rank.run(send(0, 1, 100_000));
        rank.run(receive(0, 1, 100_000));
    });
    let mut network = TestNetwork::new();
    let outcome = play_on(&mut network, &program(vec![alone]), MpiProtocol::default()).unwrap();
    assert_eq!(ends(&outcome), [CALL + 2 * COPY * 100_000]);
    assert!(network.messages.is_empty());

    let sender = rank(|rank| _ = rank.run(send(1, 1, 0)));
    let receiver = rank(|rank| _ = rank.run(receive(0, 1, 0)));
    let outcome = play(&program(vec![sender, receiver]), MpiProtocol::default()).unwrap();
    assert_eq!(ends(&outcome), [CALL, CALL + LATENCY]);
}

#[test]
fn zero_costs_keep_the_order_of_calls() {
    // The second call costs nothing, but stands behind the first.
    let sender = rank(|rank| {
        rank.push(send(1, 0, 10), &[]);
        rank.push(send(1, 0, 0), &[]);
    });
    let receiver = rank(|rank| {
        rank.run(receive(0, 0, 10));
        rank.run(receive(0, 0, 0));
    });
    let protocol = MpiProtocol { copy_per_byte: Picoseconds(5), ..FREE };
    play(&program(vec![sender, receiver]), protocol).unwrap();
}
