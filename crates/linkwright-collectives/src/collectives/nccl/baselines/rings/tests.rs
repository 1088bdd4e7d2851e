use super::super::choice::versions::today;
use super::super::constants::host_bandwidth;
use super::super::fabric::farthest_hop;
use super::*;
use crate::system::Proximity;
use crate::system::test_support::alone;

fn rings(machine: &str, gpus: &[usize], era: Era) -> Rings {
    find_rings(&alone(machine), gpus, era).unwrap()
}

/// Lists every set of three or more of eight GPUs.
fn subsets() -> impl Iterator<Item = Vec<usize>> {
    let of = |mask: u32| (0..8).filter(|gpu| mask >> gpu & 1 == 1).collect::<Vec<usize>>();
    (0_u32..256).map(of).filter(|gpus| gpus.len() > 2)
}

/// Counts the load of the rings on each link, by sending and receiving GPU.
fn loads(machine: &System, gpus: &[usize], found: &Rings) -> Vec<u32> {
    let mut loads = vec![0; 64];
    for ring in &found.rings {
        for at in 0..gpus.len() {
            let (from, to) = (ring.order[at], ring.order[(at + 1) % gpus.len()]);
            let relay = ring.relays.iter().find(|relay| (relay.from, relay.to) == (from, to));
            let way = match relay {
                Some(relay) => vec![gpus[from], relay.through, gpus[to]],
                None => vec![gpus[from], gpus[to]],
            };
            way.windows(2).for_each(|hop| loads[hop[0] * 8 + hop[1]] += 1);
        }
    }
    assert_eq!(machine.gpus(), 8);
    loads
}

#[test]
fn a_whole_dgx1v_has_three_rings_in_each_direction() {
    let found = rings("dgx1-v100", &[0, 1, 2, 3, 4, 5, 6, 7], Era::Classic);
    assert_eq!((found.path, found.rings.len(), found.exact), (RingPath::Direct, 6, true));
    let found = rings("dgx1-p100", &[0, 1, 2, 3, 4, 5, 6, 7], Era::Classic);
    assert_eq!((found.path, found.rings.len(), found.exact), (RingPath::Direct, 4, true));
}

#[test]
fn a_pair_has_a_ring_for_each_link() {
    for (pair, count) in [([0, 1], 1), ([0, 3], 2)] {
        let found = rings("dgx1-v100", &pair, Era::Classic);
        assert_eq!((found.path, found.rings.len()), (RingPath::Direct, count));
    }
}

#[test]
fn without_a_ring_classic_nccl_takes_pcie_and_recent_nccl_relays() {
    let classic = rings("dgx1-v100", &[0, 1, 4], Era::Classic);
    assert_eq!((classic.path, classic.rings.len()), (RingPath::Host, 1));
    let recent = rings("dgx1-v100", &[0, 1, 4], Era::Recent);
    assert_eq!(recent.path, RingPath::Relayed);
    let relay = Relay { from: 1, to: 2, through: 0 };
    assert_eq!(recent.rings[0].relays, [relay], "GPU 1 reaches GPU 4 through GPU 0");
}

#[test]
fn rings_never_take_more_than_the_links_have_and_visit_every_gpu() {
    let machine = alone("dgx1-v100");
    let whole: Vec<usize> = (0..8).collect();
    let fabric = Fabric::new(&Wiring::of_system(&machine), &whole);
    for gpus in subsets() {
        for era in [Era::Classic, Era::Recent] {
            let found = find_rings(&machine, &gpus, era).unwrap();
            assert!(found.exact, "{gpus:?}");
            for ring in &found.rings {
                let mut order = ring.order.clone();
                order.sort_unstable();
                assert_eq!(order, (0..gpus.len()).collect::<Vec<_>>());
                assert!(ring.relays.iter().all(|relay| gpus.contains(&relay.through)));
            }
            if found.path != RingPath::Host {
                let taken = loads(&machine, &gpus, &found);
                assert!(taken.iter().zip(&fabric.lanes).all(|(taken, lanes)| taken <= lanes));
            }
        }
    }
}

#[test]
fn relays_leave_few_sets_of_a_dgx1v_to_pcie() {
    let machine = alone("dgx1-v100");
    let count = |era: Era| {
        let host =
            |gpus: &Vec<usize>| find_rings(&machine, gpus, era).unwrap().path == RingPath::Host;
        subsets().filter(host).count()
    };
    let all = subsets().count();
    let (classic, recent) = (count(Era::Classic), count(Era::Recent));
    assert_eq!((all, classic, recent), (219, 142, 38));
}

#[test]
fn switches_carry_as_many_rings_as_nccl_search_makes() {
    for (machine, count, gpus) in [("dgx-a100", 6, 8), ("hgx-h100", 6, 8), ("dgx2", 3, 16)] {
        let found = rings(machine, &(0..gpus).collect::<Vec<_>>(), Era::Recent);
        assert_eq!((found.path, found.rings.len()), (RingPath::Switched, count), "{machine}");
    }
}

#[test]
fn the_ring_over_pcie_follows_the_host_tree() {
    let wiring = Wiring::of_system(&alone("dgx1-v100"));
    assert_eq!(host_order(&wiring, &[0, 4, 1, 5], false), [0, 2, 1, 3]);
    let slow = host_bandwidth(today(), &wiring, &[1, 4, 6, 3], Proximity::Sys);
    // NVIDIA/nccl#179: such a set of four GPUs gets about 5 GB/s.
    assert!((slow - 6.0).abs() < 0.01, "{slow}");
    assert_eq!(farthest_hop(&wiring, &[0, 1], &[0, 1]), Proximity::Pix);
}

#[test]
fn nonsense_is_refused() {
    let machine = alone("dgx1-v100");
    assert!(find_rings(&machine, &[3], Era::Recent).is_err());
    assert!(find_rings(&machine, &[3, 3], Era::Recent).is_err());
    assert!(find_rings(&machine, &[3, 9], Era::Recent).is_err());
}
