//! Tests when and where programs of synthetic traffic send.

use super::*;
use crate::program::Operation;

fn made(pattern: &str, load: f64) -> Program {
    let of = Synthetic { pattern: pattern.to_owned(), load: Some(load), ..Synthetic::default() };
    of.program(16).unwrap()
}

#[test]
fn every_message_has_a_receiver_and_none_goes_to_its_sender() {
    for pattern in ["uniform", "permutation", "tornado", "neighbour", "hot-spot"] {
        let program = made(pattern, 0.3);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (rank, of) in (0_u32..).zip(&program.ranks) {
            for operation in of.operations() {
                match operation {
                    Operation::Send { to, tag, .. } => sent.push((rank, *to, *tag)),
                    Operation::Receive { from, tag, .. } => {
                        received.push((from.unwrap(), rank, tag.unwrap()));
                    }
                    _ => {}
                }
            }
        }
        assert!(sent.iter().all(|(from, to, _)| from != to), "{pattern}");
        assert_eq!(sent.len(), 1600);
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent, received, "{pattern}");
    }
}

#[test]
fn ranks_offer_the_load() {
    for load in [0.2, 0.5, 1.0] {
        let program = made("uniform", load);
        let waits = program.ranks.iter().flat_map(|rank| rank.operations());
        let total: u64 = waits
            .map(|operation| match operation {
                Operation::Compute { duration } => duration.0,
                _ => 0,
            })
            .sum();
        // 16 ranks send 100 messages of 4,096 bytes at 12.5 GB/s.
        let slots = total as f64 / (4096.0 / 12.5e9 * 1e12) / 1600.0;
        assert!((slots * load - 1.0).abs() < 0.06, "{load}: {slots}");
    }
}

#[test]
fn what_it_cannot_be_is_refused() {
    let refused = |of: Synthetic| of.program(16).unwrap_err().to_string();
    let none = Synthetic { load: Some(0.0), ..Synthetic::default() };
    assert!(refused(none).contains("give a share above 0"));
    let slow = Synthetic { load: Some(1e-300), ..Synthetic::default() };
    assert!(refused(slow).contains("give 0.0000016 or more"));
    let unknown = Synthetic { pattern: "tornadoes".to_owned(), ..Synthetic::default() };
    assert!(refused(unknown).contains("tornado"));
    let of_network = Synthetic { pattern: "adversarial".to_owned(), ..Synthetic::default() };
    assert!(refused(of_network).contains("goes by where ranks stand"));
    assert!(Synthetic::default().program(1).is_err());
}

#[test]
fn a_closed_loop_answers_every_message_and_keeps_no_more_under_way() {
    let of = Synthetic { in_flight: Some(3), messages: 10, warm_up: 4, ..Synthetic::default() };
    let program = of.program(8).unwrap();
    assert_eq!(program.regions, ["warm-up", "window"]);
    let (mut data, mut answers) = (0, 0);
    for rank in &program.ranks {
        for operation in rank.operations() {
            match operation {
                Operation::Send { size: Bytes(0), .. } => answers += 1,
                Operation::Send { .. } => data += 1,
                _ => {}
            }
        }
        // Three may go at once; every other waits for an answer.
        let starts = (0..rank.operations().len()).filter(|at| {
            let is_data =
                matches!(rank.operations()[*at], Operation::Send { size, .. } if size.0 > 0);
            is_data && rank.dependencies(*at).is_empty()
        });
        assert!(starts.count() <= 3);
    }
    assert_eq!((data, answers), (8 * 14, 8 * 14));
    let both = Synthetic { in_flight: Some(3), load: Some(0.5), ..Synthetic::default() };
    assert!(both.program(8).unwrap_err().to_string().contains("give one of both"));
    let none = Synthetic { in_flight: Some(0), ..Synthetic::default() };
    assert!(none.program(8).unwrap_err().to_string().contains("1 to 65536"));
}

#[test]
fn a_warm_up_lasts_its_slots_before_the_main_loop() {
    let of = Synthetic { warm_up: 50, load: Some(0.5), ..Synthetic::default() };
    let program = of.program(4).unwrap();
    let slot = 4096.0 / 12.5e9 * 1e12;
    for rank in &program.ranks {
        let (begin, _) = rank.body().unwrap();
        let waited: u64 = rank.operations()[..begin as usize]
            .iter()
            .map(|operation| match operation {
                Operation::Compute { duration } => duration.0,
                _ => 0,
            })
            .sum();
        let slots = waited as f64 / slot;
        assert!((49.9..60.0).contains(&slots), "{slots}");
    }
}
