use super::*;
use crate::collectives::planners::plan::{MOST_PACKED_AT_ONCE, Packing, Question, plan};
use crate::collectives::schedule::check::check;
use crate::system::System;
use crate::system::test_support::on_one_switch;

/// Servers, and whether the network is what binds an all-reduce, an all-gather and a broadcast.
const SYSTEMS: [(&str, u32, u64, [bool; 3]); 6] = [
    ("hgx-h100", 2, 400, [false, false, true]),
    ("hgx-h100", 3, 100, [true; 3]),
    ("hgx-h100", 5, 200, [true; 3]),
    ("dgx-a100", 4, 200, [true; 3]),
    ("dgx1-v100", 3, 100, [true; 3]),
    ("mi300x-8", 4, 100, [true; 3]),
];

fn collectives(root: usize) -> [Collective; 7] {
    [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::Broadcast { root },
        Collective::Reduce { root },
        Collective::Gather { root },
        Collective::Scatter { root },
    ]
}

fn quotient(system: &System, gpus: &[usize], collective: Collective) -> Option<Plan> {
    let question = Question::new(system, gpus, collective);
    EqualServers::of(question.wiring(), gpus)?.plan(&question).unwrap()
}

#[test]
fn one_server_has_the_optimum_of_the_whole() {
    for (name, servers, gigabits, binds) in SYSTEMS {
        let system = on_one_switch(name, servers, gigabits);
        let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
        assert!(gpus.len() <= MOST_PACKED_AT_ONCE);
        for collective in collectives(gpus.len() / 2 + 1) {
            let whole = plan(&Packing, &Question::new(&system, &gpus, collective)).unwrap();
            let Some(own) = quotient(&system, &gpus, collective) else {
                let one_way =
                    matches!(collective, Collective::Gather { .. } | Collective::Scatter { .. });
                assert!(
                    one_way && matches!(name, "dgx1-v100" | "mi300x-8"),
                    "{collective} on {name}"
                );
                continue;
            };
            let rates = |plan: &Plan| (plan.rate, plan.optimum);
            let (ours, theirs) = (rates(&own), rates(&whole));
            let what = format!("{collective} on {servers} {name}: {ours:?} and {theirs:?}");
            check(&own.schedule).unwrap_or_else(|fault| panic!("{collective} on {name}: {fault}"));
            let [bound, most] =
                [own.optimum, whole.optimum].map(|most| most.map(|most| most.0 as f64));
            let near = |a: f64, b: f64| (a - b).abs() <= 2e-4 * b;
            // The bound that the cut of a server proves is the one that the cuts of the whole
            // allow.
            if let (Some(bound), Some(most)) = (bound, most) {
                assert!(near(bound, most), "{what}");
            }
            // A rate that is not proved is no more than that.
            if let Some(most) = most {
                assert!(own.rate.0 as f64 <= most * (1.0 + 2e-4), "{what}");
            }
            let is_bound = match collective {
                Collective::AllReduce => binds[0],
                Collective::Broadcast { .. } | Collective::Reduce { .. } => binds[2],
                _ => binds[1],
            };
            assert_eq!(bound.is_some(), is_bound, "{what}");
        }
    }
}

#[test]
fn any_number_of_servers_and_places_is_sound() {
    let schedules = |servers: u32, places: &[usize]| {
        let system = on_one_switch("hgx-h100", servers, 100);
        let gpu = |server: u32| places.iter().map(move |place| server as usize * 8 + place);
        let gpus: Vec<usize> = (0..servers).flat_map(gpu).collect();
        for collective in collectives(gpus.len() - 1) {
            let own = quotient(&system, &gpus, collective).unwrap();
            let fault = check(&own.schedule).err();
            assert_eq!(fault, None, "{collective} on {servers} times {places:?}");
        }
    };
    for servers in 2..10 {
        schedules(servers, &[3]);
        schedules(servers, &[0, 5, 7]);
    }
    schedules(17, &[2, 4]);
}

#[test]
fn ranks_in_any_order_are_the_same_servers() {
    let system = on_one_switch("dgx-a100", 4, 200);
    let mut gpus: Vec<usize> = (0..32).collect();
    let rate = |gpus: &[usize]| {
        let plan = quotient(&system, gpus, Collective::AllReduce).unwrap();
        check(&plan.schedule).unwrap();
        plan.rate
    };
    let ordered = rate(&gpus);
    gpus.sort_by_key(|gpu| gpu * 7 % 32);
    assert_eq!(rate(&gpus), ordered);
}

#[test]
fn servers_that_differ_are_told() {
    let system = on_one_switch("dgx1-v100", 3, 100);
    let is_equal =
        |gpus: &[usize]| EqualServers::of(&Wiring::of_gpus(&system, gpus), gpus).is_some();
    assert!(is_equal(&[0, 1, 8, 9, 16, 17]));
    assert!(!is_equal(&[0, 1, 8, 9, 16]), "one has fewer");
    assert!(!is_equal(&[0, 1, 8, 10]), "other places");
    assert!(!is_equal(&[0, 1, 2]), "one server");
    assert!(!is_equal(&[1, 4, 6, 9, 12, 14]), "NVLink does not join them");
}

#[test]
fn both_trees_of_servers_share_the_work() {
    for servers in 3..200 {
        let trees = server_trees(servers);
        let passes = |server: usize| {
            let below = |tree: &Vec<Option<usize>>| {
                tree.iter().filter(|above| **above == Some(server)).count()
            };
            trees.iter().map(below).sum::<usize>()
        };
        assert!((0..servers).all(|server| passes(server) <= 2), "{servers}");
        for tree in &trees {
            assert_eq!(tree.iter().filter(|above| above.is_none()).count(), 1);
            assert_eq!(tree[0], None);
        }
    }
}
