use super::*;
use crate::collectives::nccl::baselines::Settings;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::time::{protocol_on, resources};
use crate::system::test_support::on_one_switch;

/// Sizes at which the way of the first piece decides, and the pace of the others.
const SIZES: [Bytes; 2] = [Bytes(64 << 10), Bytes(32 << 20)];

#[test]
fn a_deep_tree_takes_what_it_takes_in_whole() {
    for (count, allowed) in [(33, 0.05), (48, 0.05)] {
        let machine = on_one_switch("hgx-h100", count, 400);
        let gpus: Vec<usize> = (0..machine.gpus() as usize).collect();
        let wiring = Wiring::of_gpus(&machine, &gpus);
        let kinds = [
            (ExpectedAlgorithm::Tree, Protocol::LL),
            (ExpectedAlgorithm::Tree, Protocol::Simple),
            (ExpectedAlgorithm::NvlsTree, Protocol::Simple),
        ];
        for (algorithm, protocol) in kinds {
            let settings = Settings {
                algorithm: Some(algorithm),
                protocol: Some(protocol),
                ..Settings::default()
            };
            let collective = Collective::AllReduce;
            let chooser = Chooser::new(&wiring, &gpus, collective, &settings).unwrap();
            let routes = resources(&wiring);
            for size in SIZES {
                let choice = chooser.choose(size.0);
                let chunk = choice.longest_run(collective);
                let whole = plan_choice(&wiring, &gpus, collective, &chooser, &choice).unwrap();
                let costs = protocol_on(&whole.schedule, &wiring);
                let of = |schedule| Player::on(schedule, &routes, &costs);
                let deep = DeepTree::over(16, &wiring, &gpus, collective, &chooser, &choice);
                let deep = deep.unwrap().unwrap();
                let stands = deep.players(of).unwrap().time(size, chunk).unwrap();
                let played = of(&whole.schedule).unwrap().time(size, chunk).unwrap();
                let ratio = stands.time.as_seconds() / played.time.as_seconds();
                assert!(
                    (ratio - 1.0).abs() < allowed,
                    "{algorithm:?} {protocol:?} {count} servers, {size}: {ratio}"
                );
                let buses = [&stands, &played].map(|it| it.bus_bandwidth * it.time.as_seconds());
                assert!((buses[0] / buses[1] - 1.0).abs() < 1e-9);
            }
        }
    }
}

/// Few servers, rings, and servers that differ have no trees that stand for theirs.
#[test]
fn what_is_played_in_whole_has_none() {
    let machine = on_one_switch("hgx-h100", 8, 400);
    let all: Vec<usize> = (0..machine.gpus() as usize).collect();
    let deep = |gpus: &[usize], most, algorithm| {
        let wiring = Wiring::of_gpus(&machine, gpus);
        let settings = Settings { algorithm: Some(algorithm), ..Settings::default() };
        let collective = Collective::AllReduce;
        let chooser = Chooser::new(&wiring, gpus, collective, &settings).unwrap();
        let choice = chooser.choose(1 << 20);
        DeepTree::over(most, &wiring, gpus, collective, &chooser, &choice).unwrap().is_some()
    };
    assert!(deep(&all, 4, ExpectedAlgorithm::Tree));
    assert!(!deep(&all, 8, ExpectedAlgorithm::Tree));
    assert!(!deep(&all, 4, ExpectedAlgorithm::Ring));
    assert!(!deep(&all[1..], 4, ExpectedAlgorithm::Tree));
}

#[test]
fn what_stands_in_is_as_even_and_no_deeper() {
    for count in 2..3_000 {
        let found = stand_in(count, 32);
        assert!(found <= 32 && found % 2 == count % 2, "{count}: {found}");
        assert!(depth(found) <= depth(count), "{count}");
        if count > 32 {
            assert!(depth(stand_in(count, found - 1)) < depth(found), "{count}");
        }
    }
}
