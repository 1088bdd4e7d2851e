//! Matching among many does not grow faster than the number of messages.

use super::*;

fn comparisons_per_message(ranks: u32, wildcards: bool) -> f64 {
    let all_to_all = |me: u32| {
        rank(|rank| {
            let others = || (0..ranks).filter(move |other| *other != me);
            let mut requests = Vec::new();
            for other in others() {
                let from = (!wildcards).then_some(other);
                requests.push(rank.start(receive(from, 5, 8)));
            }
            for other in others() {
                requests.push(rank.start(send(other, 5, 8)));
            }
            rank.wait(&requests);
        })
    };
    let program = program((0..ranks).map(all_to_all).collect());
    let outcome = play(&program, MpiProtocol::default()).unwrap();
    let messages: u64 = outcome.jobs[0].ranks.iter().map(|rank| rank.messages).sum();
    assert_eq!(messages, u64::from(ranks) * u64::from(ranks - 1));
    outcome.comparisons as f64 / messages as f64
}

#[test]
fn an_all_to_all_of_512_ranks_costs_a_few_comparisons_per_message() {
    let few = comparisons_per_message(64, false);
    let many = comparisons_per_message(512, false);
    assert!(many < 12.0, "{many} comparisons per message");
    assert!(many < 1.5 * few, "{many} comparisons per message of 512 ranks, {few} of 64");
}

#[test]
fn wildcards_cost_no_more() {
    let few = comparisons_per_message(32, true);
    let many = comparisons_per_message(128, true);
    assert!(many < 20.0 && many < 1.5 * few, "{many} comparisons per message, {few}");
}
