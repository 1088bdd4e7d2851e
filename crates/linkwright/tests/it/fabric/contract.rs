//! Tests the contract that every fabric keeps, whoever made it.

use linkwright::system::fabric::{
    End, Fabric, FabricSpecification, FatTree, RoutingTables, fabric_dot, fabrics, read_dot,
    single_switch,
};
use linkwright::system::test_support::check_fabrics;

use super::support::{fly, grid, hops_from, rate, tree};

/// Holds a fabric, its diameter in links between switches of nodes, and its radix.
struct Case {
    built: Fabric,
    diameter: u32,
    radix: usize,
}

#[test]
fn every_kind_keeps_the_contract_of_kinds() {
    check_fabrics(&fabrics());
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (pods, tapering) in [(1, 1), (2, 1), (3, 1), (4, 2), (8, 1)] {
        let shape = FatTree::three_levels(8, pods, tapering).unwrap();
        let diameter = if pods == 1 { 2 } else { 4 };
        cases.push(Case { built: tree(&shape), diameter, radix: 8 });
    }
    let shape = FatTree::two_levels(8, 6, 1).unwrap();
    cases.push(Case { built: tree(&shape), diameter: 2, radix: 8 });
    for (p, a, h, groups) in [(2, 4, 2, 9), (2, 4, 2, 4), (1, 3, 1, 4), (1, 1, 6, 7), (3, 2, 1, 1)]
    {
        let diameter = match (a, groups) {
            (_, 1) | (1, _) => 1,
            // With all links in use a switch has only some groups a hop away.
            _ => 3,
        };
        let radix = (p + a - 1 + h) as usize;
        cases.push(Case { built: fly(p, a, h, groups).1, diameter, radix });
    }
    for dimensions in [&[4, 4][..], &[2, 3, 5], &[1, 2], &[7]] {
        let diameter = dimensions.iter().map(|size| size / 2).sum();
        let radix = 2 + 2 * dimensions.len();
        cases.push(Case { built: grid(dimensions, 2).1, diameter, radix });
    }
    let quartz = FabricSpecification::preset("quartz").unwrap().build().unwrap();
    cases.push(Case { built: quartz, diameter: 4, radix: 48 });
    for ports in [1, 2, 36] {
        let built = single_switch(ports, rate(1, 1)).unwrap();
        cases.push(Case { built, diameter: 0, radix: ports as usize });
    }
    cases
}

#[test]
fn channels_come_in_pairs_that_lead_back() {
    for Case { built, .. } in cases() {
        for (id, channel) in built.channels().iter().enumerate() {
            let back = built.channels()[Fabric::reverse(id as u32) as usize];
            assert_eq!((back.from, back.to), (channel.to, channel.from), "{}", built.name());
            assert_eq!((back.bandwidth, back.latency), (channel.bandwidth, channel.latency));
        }
        for node in 0..built.nodes() {
            let out = built.channels()[Fabric::injection(node) as usize];
            assert_eq!(out.from, End::Node(node));
            assert_eq!(out.to, End::Switch(built.switch_of(node)));
            let back = built.channels()[Fabric::ejection(node) as usize];
            assert_eq!((back.from, back.to), (out.to, out.from));
        }
    }
}

#[test]
fn ports_are_within_the_radix_and_lead_out() {
    for Case { built, radix, .. } in cases() {
        let mut ports = 0;
        for switch in 0..built.switches() {
            let outgoing = built.outgoing(switch);
            assert!(outgoing.len() <= radix, "{}: {switch} has {}", built.name(), outgoing.len());
            assert!(outgoing.is_sorted());
            for channel in outgoing {
                assert_eq!(built.channels()[*channel as usize].from, End::Switch(switch));
            }
            ports += outgoing.len();
        }
        assert_eq!(ports, built.channels().len() - built.nodes() as usize);
    }
}

#[test]
fn every_pair_is_reachable_within_the_diameter() {
    for Case { built, diameter, .. } in cases() {
        built.check_connected().unwrap();
        let mut farthest = 0;
        let with_nodes: std::collections::BTreeSet<_> =
            (0..built.nodes()).map(|node| built.switch_of(node)).collect();
        for from in &with_nodes {
            let hops = hops_from(&built, *from);
            let most = with_nodes.iter().map(|to| hops[*to as usize].unwrap()).max();
            farthest = farthest.max(most.unwrap());
        }
        assert_eq!(farthest, diameter, "{}", built.name());
    }
}

#[test]
fn shortest_ways_are_all_there_and_shortest() {
    for Case { built, .. } in cases() {
        let tables = RoutingTables::shortest(&built).unwrap();
        let mut destinations: Vec<u32> = (0..built.nodes()).collect();
        destinations.dedup_by_key(|node| built.switch_of(*node));
        let mut longest = 0;
        for destination in destinations {
            let end = built.switch_of(destination);
            let hops = hops_from(&built, end);
            for at in 0..built.switches() {
                let here = hops[at as usize].unwrap();
                longest = longest.max(here);
                let nearer: Vec<u32> = built
                    .outgoing(at)
                    .iter()
                    .copied()
                    .filter(|channel| match built.channels()[*channel as usize].to {
                        End::Switch(next) => hops[next as usize].unwrap() + 1 == here,
                        End::Node(_) => false,
                    })
                    .collect();
                assert_eq!(tables.next(at, destination), nearer);
                assert_eq!(nearer.is_empty(), at == end);
            }
        }
        assert_eq!(tables.longest(), longest);
    }
}

#[test]
fn drawings_read_back_to_the_same_channels() {
    for Case { built, .. } in cases() {
        let again = read_dot("again.dot", &fabric_dot(&built)).unwrap();
        assert_eq!(again.channels(), built.channels(), "{}", built.name());
        assert_eq!((again.nodes(), again.switches()), (built.nodes(), built.switches()));
        for switch in 0..built.switches() {
            assert_eq!(again.switch_name(switch), built.switch_name(switch));
        }
    }
}

/// A digest (64-bit FNV-1a) of every channel's ends, bandwidth and latency.
fn digest(built: &Fabric) -> u64 {
    let number = |end: End| match end {
        End::Node(node) => u64::from(node) << 1,
        End::Switch(switch) => u64::from(switch) << 1 | 1,
    };
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for channel in built.channels() {
        let values =
            [number(channel.from), number(channel.to), channel.bandwidth.0, channel.latency.0];
        for byte in values.into_iter().flat_map(u64::to_le_bytes) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    digest
}

#[test]
fn presets_stay_what_they_were() {
    let preset = |kind| FabricSpecification::new(kind).build().unwrap();
    let digests: Vec<u64> = fabrics().iter().map(|kind| digest(&preset(kind))).collect();
    assert_eq!(
        digests,
        [
            17_173_693_685_378_198_949,
            1_235_409_098_756_474_037,
            12_298_432_200_163_966_757,
            4_411_198_214_126_704_037,
            11_315_768_874_955_846_021,
        ]
    );
}

#[test]
fn bandwidths_are_scaled_exactly() {
    let built = FabricSpecification::preset("torus").unwrap().build().unwrap();
    let half = built.clone().with_bandwidth_times(1, 2).unwrap();
    assert_eq!(half.channels()[0].bandwidth.0, 5_950_000_000);
    assert_eq!(half.with_bandwidth_times(2, 1).unwrap(), built);
    for (numerator, denominator) in [(0, 1), (1, 0)] {
        assert!(built.clone().with_bandwidth_times(numerator, denominator).is_err());
    }
}
