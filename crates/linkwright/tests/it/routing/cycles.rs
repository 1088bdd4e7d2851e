//! Tests that no routing can stop for ever: the graph of waiting buffers has no cycle.
//!
//! A packet in the buffer behind a channel may wait for a place behind the next one. Over the
//! ways of all pairs, under loads of every kind, these waits must order the buffers (Dally and
//! Seitz, 1987).

use std::collections::BTreeSet;

use linkwright::network::routing::contract::{buffers_wait_in_no_cycle, has_cycle};

use super::systems::{System, systems};

#[test]
fn buffers_wait_for_one_another_in_no_cycle() {
    for System { fabric, kind } in systems() {
        buffers_wait_in_no_cycle(kind, &fabric, 40).unwrap();
    }
}

#[test]
fn a_cycle_is_seen() {
    let ring = BTreeSet::from([(0, 1), (1, 2), (2, 0), (3, 0)]);
    assert!(has_cycle(4, &ring));
    assert!(!has_cycle(4, &BTreeSet::from([(0, 1), (1, 2), (0, 2), (3, 0)])));
}
