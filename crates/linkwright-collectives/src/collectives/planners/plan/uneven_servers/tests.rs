use proptest::prelude::*;

use crate::collectives::planners::plan::{Packing, Question, plan, timed_plan_for_size};
use crate::collectives::schedule::check::check;
use crate::collectives::schedule::collective::Collective;
use crate::system::System;
use crate::system::test_support::on_one_switch;
use crate::units::Bytes;

/// Gives the first GPUs of each server, by their counts.
fn first(counts: &[usize]) -> Vec<usize> {
    let of = |(server, count): (usize, &usize)| (0..*count).map(move |gpu| 8 * server + gpu);
    counts.iter().enumerate().flat_map(of).collect()
}

fn all_reduce<'a>(system: &'a System, gpus: &'a [usize]) -> Question<'a> {
    Question::new(system, gpus, Collective::AllReduce)
}

/// Tells the bound as the module derives it, in interfaces: of the smallest server, and of all arrivals.
fn bound(counts: &[usize]) -> f64 {
    let (all, least) = (counts.iter().sum::<usize>(), counts.iter().min().unwrap());
    (*least as f64).min(all as f64 / (2 * (counts.len() - 1)) as f64)
}

#[test]
fn rates_are_those_worked_by_hand() {
    let system = on_one_switch("hgx-h100", 8, 400);
    // Interfaces of 50 GB/s. The smallest server binds, but where there are more arrivals than it can wait for: 6 at
    // 9 interfaces.
    let cases: [(&[usize], f64, usize); 5] = [
        (&[3, 8, 5], 150.0, 3),
        (&[1, 1, 1, 8, 1, 2], 50.0, 1),
        (&[2, 2, 2, 3], 75.0, 3),
        (&[7, 7, 2], 100.0, 2),
        // Thirteen interfaces for 14 arrivals: 13 parts in four trees.
        (&[1, 1, 1, 1, 2, 2, 2, 3], 50.0 * 13.0 / 14.0, 4),
    ];
    for (counts, gigabytes, trees) in cases {
        let gpus = first(counts);
        let found = plan(&Packing, &all_reduce(&system, &gpus)).unwrap();
        let rate = found.rate.as_gigabytes_per_second();
        assert!((rate - gigabytes).abs() < 1e-6, "{counts:?}: {rate}");
        assert_eq!((found.optimum, found.trees.len()), (Some(found.rate), trees), "{counts:?}");
    }
}

#[test]
fn a_fabric_that_binds_is_packed() {
    let system = on_one_switch("hgx-h100", 2, 400);
    let gpus = first(&[8, 7]);
    let found = plan(&Packing, &all_reduce(&system, &gpus)).unwrap();
    // NVLinks cannot carry what seven interfaces could.
    assert!(found.rate.as_gigabytes_per_second() < 350.0);
    assert!(check(&found.schedule).is_ok());
    assert!(found.trees.len() > 7, "{} trees", found.trees.len());
}

#[test]
fn other_collectives_are_packed_as_before() {
    let system = on_one_switch("hgx-h100", 2, 400);
    let gpus = first(&[3, 1]);
    for collective in [Collective::Broadcast { root: 0 }, Collective::AllGather] {
        let question = Question::new(&system, &gpus, collective);
        let (found, _) = timed_plan_for_size(&Packing, &question, Bytes(1_000_000)).unwrap();
        assert!(check(&found.schedule).is_ok(), "{collective}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Plans are sound, reduce right and attain the bound where interfaces are what binds, wherever GPUs are.
    #[test]
    fn trees_of_servers_attain_the_bound(counts in proptest::collection::vec(1_usize..=4, 2..=5)) {
        let system = on_one_switch("hgx-h100", 5, 100);
        let gpus = first(&counts);
        let found = plan(&Packing, &all_reduce(&system, &gpus)).unwrap();
        prop_assert!(check(&found.schedule).is_ok());
        if counts.iter().any(|count| *count != counts[0]) {
            let most = bound(&counts) * 12.5;
            prop_assert!((found.rate.as_gigabytes_per_second() - most).abs() < 1e-3 * most);
        }
    }

    /// A set takes as long as another that an automorphism of the system makes of it, rank by rank. That one has other
    /// servers, and other GPUs of each.
    #[test]
    fn sets_that_are_alike_take_as_long(
        counts in proptest::collection::vec(1_usize..=4, 2..=3),
        (turn, shift, large) in (1_usize..4, 0_usize..4, any::<bool>()),
    ) {
        let system = on_one_switch("hgx-h100", 4, 400);
        let size = Bytes(if large { 20_000_000 } else { 100_000 });
        let time = |gpus: &[usize]| {
            timed_plan_for_size(&Packing, &all_reduce(&system, gpus), size).unwrap().1.time
        };
        let gpus = first(&counts);
        let moved: Vec<usize> = gpus.iter().map(|gpu| (gpu + 8 * turn + shift) % 32).collect();
        prop_assert_eq!(time(&gpus), time(&moved));
    }
}
