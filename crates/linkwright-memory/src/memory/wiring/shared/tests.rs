//! Hops, cuts and the one switch, against what a hand calculates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::system::gpus::{self, PackageWiring};

const CYCLE: u64 = 1_000;
/// Gives each of eight banks a byte a cycle.
const SLOW: Bandwidth = Bandwidth::gigabytes_per_second(8);
/// Counts the bytes of a response with a line.
const SIZE: u64 = 68;

fn wired(shape: WiringShape, change: impl FnOnce(&mut PackageWiring)) -> Hierarchy {
    let found = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let mut wiring = PackageWiring { shape, link: 7, bandwidth: None, middle: None, between: None };
    change(&mut wiring);
    Hierarchy { wiring: Some(wiring), ..found.clone() }
}

/// Carries messages, each a path, when it leaves and its bytes, and gives when each is there.
fn carried(mut links: Wires, messages: &[(WirePath, u64, u64)]) -> Vec<u64> {
    let mut there = vec![0; messages.len()];
    let mut next: BinaryHeap<_> =
        messages.iter().enumerate().map(|(at, (_, time, _))| Reverse((*time, at, 0_u8))).collect();
    while let Some(Reverse((now, message, crossed))) = next.pop() {
        let (path, _, bytes) = messages[message];
        let (time, is_last) = links.cross(now, path, crossed, bytes);
        if is_last {
            there[message] = time;
        } else {
            next.push(Reverse((time, message, crossed + 1)));
        }
    }
    there
}

/// Gives the cycles of a byte from a GPU's bank to its controller, and back, which are equal.
fn alone(hierarchy: &Hierarchy, gpus: u32, (gpu, controller): (u32, u32)) -> u64 {
    let end = gpu * 8 + controller;
    let [there, back] = [true, false].map(|to_memory| {
        let links = shared(hierarchy, gpus, Bandwidth::gigabytes_per_second(64));
        carried(links, &[(shared_path(gpus * 8, end, to_memory), 0, 1)])[0]
    });
    assert_eq!(there, back);
    there / CYCLE
}

/// Controllers 0 and 1 of eight are beside GPU 0 of four, and 6 and 7 are beside GPU 3.
#[test]
fn alone_a_message_takes_its_hops_times_a_link() {
    use WiringShape::{Clos, Crossbar, Interposers, Mesh, Ring, Switch};
    let hops = [
        (Switch, (0, 0), 2),
        (Switch, (3, 0), 2),
        (Crossbar, (3, 0), 1),
        (Ring, (0, 1), 2),
        (Ring, (1, 0), 3),
        (Ring, (2, 0), 4),
        (Ring, (3, 0), 3),
        (Mesh, (0, 6), 4),
        (Mesh, (1, 6), 3),
        (Mesh, (2, 6), 3),
        (Clos, (3, 6), 2),
        (Clos, (2, 6), 4),
        (Interposers, (0, 2), 2),
        (Interposers, (1, 4), 3),
    ];
    for (shape, of, hops) in hops {
        // A byte takes a cycle on each link beside the seven of the link.
        assert_eq!(alone(&wired(shape, |_| {}), 4, of), hops * (7 + 1), "{shape:?} {of:?}");
    }
    let far = wired(Interposers, |it| it.between = Some(100));
    assert_eq!(alone(&far, 4, (1, 4)), 2 * 7 + 100 + 3);
    assert_eq!(alone(&far, 4, (0, 2)), 2 * (7 + 1));
}

/// Every switch of a ring and a mesh has its neighbours alone, and no way is a detour.
#[test]
fn ways_are_shortest_and_go_from_neighbour_to_neighbour() {
    for gpus in 1..=32_u32 {
        for shape in [WiringShape::Ring, WiringShape::Mesh] {
            let layout = Layout { shape, gpus, banks: 32, middle: 1 };
            let columns = layout.columns();
            let distance = |a: u32, b: u32| match shape {
                WiringShape::Ring => a.abs_diff(b).min(gpus - a.abs_diff(b)),
                _ => (a % columns).abs_diff(b % columns) + (a / columns).abs_diff(b / columns),
            };
            for gpu in 0..gpus {
                for controller in 0..32 {
                    let home = controller * gpus / 32;
                    let way = layout.way(gpu, controller);
                    assert_eq!((way[0], way[way.len() - 1]), (gpu, home));
                    assert_eq!(way.len() as u32, distance(gpu, home) + 1);
                    assert!(way.windows(2).all(|step| distance(step[0], step[1]) == 1));
                }
            }
        }
    }
    let of = |gpus| Layout { shape: WiringShape::Mesh, gpus, banks: 8, middle: 1 }.columns();
    assert_eq!([1, 2, 4, 6, 8, 12, 16, 32].map(of), [1, 2, 2, 3, 4, 4, 4, 8]);
}

/// Gives the bytes a cycle that all banks of four GPUs receive, each from its controller, where a
/// little more than a bound is sent.
fn throughput(hierarchy: &Hierarchy, bound: f64) -> f64 {
    const EACH: u64 = 300;
    let links = shared(hierarchy, 4, SLOW);
    let gap = 32.0 * SIZE as f64 / (1.02 * bound) * CYCLE as f64;
    let messages: Vec<_> = (0..EACH)
        .flat_map(|at| {
            (0..32).map(move |bank| (shared_path(32, bank, false), at * gap as u64, SIZE))
        })
        .collect();
    let last = carried(links, &messages).into_iter().max().unwrap_or(0);
    (32 * EACH * SIZE) as f64 / (last / CYCLE) as f64
}

/// A quarter of what a GPU asks for is beside it; eight bytes a cycle come to each of four GPUs.
#[test]
fn the_cut_bounds_bandwidth() {
    use WiringShape::{Clos, Crossbar, Interposers, Mesh, Ring, Switch};
    let at = |bandwidth| {
        move |it: &mut PackageWiring| {
            it.bandwidth = Some(Bandwidth::gigabytes_per_second(bandwidth));
        }
    };
    let cases = [
        // Nothing but the banks' own links bounds these.
        (wired(Switch, |_| {}), 32.0),
        (wired(Crossbar, |_| {}), 32.0),
        // Half of all bytes cross between interposers, half of these each way: 4 x the link.
        (wired(Interposers, at(4)), 16.0),
        (wired(Interposers, at(2)), 8.0),
        // Two links each way across the middle of a ring, and of a mesh of two rows: 8 x the link.
        (wired(Ring, at(2)), 16.0),
        (wired(Mesh, at(2)), 16.0),
        // Three quarters leave a leaf of four over two links: 4 x 2 x the link x 4 / 3.
        (wired(Clos, at(1)), 32.0 / 3.0),
        (
            wired(Clos, |it| (it.bandwidth, it.middle) = (Some(Bandwidth(1_000_000_000)), Some(1))),
            16.0 / 3.0,
        ),
    ];
    for (hierarchy, bound) in cases {
        let found = throughput(&hierarchy, bound);
        assert!(
            found <= bound && found > 0.97 * bound,
            "{:?}: {found} of {bound}",
            hierarchy.wiring
        );
    }
}

/// Half of the switch's latency on each link is what the GPU's file says without a wiring.
#[test]
fn one_switch_carries_as_it_does_unsaid() {
    let said = wired(WiringShape::Switch, |it| it.link = 70);
    let unsaid = Hierarchy { wiring: None, ..said.clone() };
    let messages: Vec<_> = (0..2000_u64)
        .map(|at| ((at * 37 % 64) as WirePath, at * at * 977 % 90_000, 12 + at % 3 * 28))
        .collect();
    let [one, other] = [said, unsaid].map(|it| carried(shared(&it, 4, SLOW), &messages));
    assert_eq!(one, other);
}
