//! No routing can stop for ever: what waits for what has no cycle.
//!
//! A packet in the buffer behind a channel may wait for a place behind the next one. Over the
//! ways of all pairs, under loads of every kind, these waits must order the buffers (Dally and
//! Seitz, 1987).

use std::collections::BTreeSet;

use linkwright::engine::Random;
use linkwright::network::routing::{AnyRouting, Routing};

use super::systems::{System, systems};
use super::{Anything, walk};

/// Whether the edges close a cycle: vertices without incoming edges are taken off until none is.
fn has_cycle(vertices: usize, edges: &BTreeSet<(usize, usize)>) -> bool {
    let mut incoming = vec![0; vertices];
    let mut outgoing = vec![Vec::new(); vertices];
    for (from, to) in edges {
        incoming[*to] += 1;
        outgoing[*from].push(*to);
    }
    let mut free: Vec<_> = (0..vertices).filter(|vertex| incoming[*vertex] == 0).collect();
    let mut taken = 0;
    while let Some(vertex) = free.pop() {
        taken += 1;
        for to in &outgoing[vertex] {
            incoming[*to] -= 1;
            if incoming[*to] == 0 {
                free.push(*to);
            }
        }
    }
    taken < vertices
}

#[test]
fn buffers_wait_for_one_another_in_no_cycle() {
    for System { fabric, kind } in systems() {
        let mut edges = BTreeSet::new();
        let mut channels = 0;
        for seed in 0..40 {
            let mut routing = AnyRouting::new(kind, &fabric, seed).unwrap();
            let mut load = Anything(Random::new(seed));
            channels = usize::from(routing.virtual_channels());
            for source in 0..fabric.nodes() {
                for destination in 0..fabric.nodes() {
                    let hops = walk(&fabric, &mut routing, &mut load, source, destination);
                    let buffers: Vec<_> = hops
                        .iter()
                        .map(|hop| {
                            hop.channel as usize * channels + usize::from(hop.virtual_channel)
                        })
                        .collect();
                    edges.extend(buffers.windows(2).map(|pair| (pair[0], pair[1])));
                }
            }
        }
        let buffers = fabric.channels().len() * channels;
        assert!(!has_cycle(buffers, &edges), "{} {}", fabric.name(), kind.name());
    }
}

#[test]
fn a_cycle_is_seen() {
    let ring = BTreeSet::from([(0, 1), (1, 2), (2, 0), (3, 0)]);
    assert!(has_cycle(4, &ring));
    assert!(!has_cycle(4, &BTreeSet::from([(0, 1), (1, 2), (0, 2), (3, 0)])));
}
