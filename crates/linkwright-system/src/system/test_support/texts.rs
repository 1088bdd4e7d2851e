//! Tests of importers share these texts, and functions that read relations back and damage inputs.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::system::error::SystemError;
use crate::system::import::host_tree::Relation;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Server};

/// A text of the examples, as such a server prints it.
macro_rules! example {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/topologies/", $name))
    };
}
pub(in crate::system) use example;

/// A text of a manner that real ones have, the file's name says which.
macro_rules! quirk {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/system/import/quirks/", $name))
    };
}
pub(in crate::system) use quirk;

/// Lists the devices between a device and its socket, the device first, the socket last.
fn way_up(machine: &Server, device: DeviceId) -> Vec<DeviceId> {
    let host = |kind: LinkKind| kind.is_pcie() || kind == LinkKind::OnDie;
    let mut way = vec![device];
    let mut at = device;
    while machine.devices()[at].kind != DeviceKind::Cpu {
        // Links of a tree are listed from the device below to the one above.
        let link = machine.links().iter().find(|link| link.a == at && host(link.kind));
        at = link.expect("every device hangs from a socket").b;
        way.push(at);
    }
    way
}

/// Finds the relation of two devices, by the devices between them.
pub(in crate::system) fn relation(machine: &Server, a: DeviceId, b: DeviceId) -> Relation {
    let (from_a, from_b) = (way_up(machine, a), way_up(machine, b));
    let Some(meeting) = from_a.iter().find(|device| from_b.contains(device)) else {
        return Relation::System;
    };
    let below = |way: &[DeviceId]| way.iter().take_while(|device| *device != meeting).count();
    match machine.devices()[*meeting].kind {
        DeviceKind::Cpu => Relation::Socket,
        DeviceKind::HostBridge => Relation::HostBridge,
        _ if below(&from_a) == 1 && below(&from_b) == 1 => Relation::Switch,
        _ => Relation::Switches,
    }
}

/// How many devices of each kind a machine has.
pub(in crate::system) fn census(machine: &Server) -> BTreeMap<&'static str, usize> {
    let mut census = BTreeMap::new();
    for device in machine.devices() {
        *census.entry(device.kind.name()).or_default() += 1;
    }
    census
}

/// Asserts that every prefix of a text is refused or read as the whole text's machine.
pub(in crate::system) fn assert_cuts_are_safe(
    text: &str,
    read: impl Fn(&str) -> Result<Server, SystemError>,
) {
    let whole = read(text).expect("the whole text reads");
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        match read(&text[..cut]) {
            Ok(machine) => assert_eq!(machine, whole, "cut at {cut}"),
            Err(error) => assert_is_helpful(&error),
        }
    }
}

/// Asserts that the first columns of the first lines are refused or read as the whole text's machine.
/// The places that a column on its right says may lack. It takes every width, every height up to
/// `rows`, and the last.
pub(in crate::system) fn assert_rectangles_are_safe(
    text: &str,
    rows: usize,
    read: impl Fn(&str) -> Result<Server, SystemError>,
) {
    let whole = read(text).expect("the whole text reads");
    let wires = |machine: &Server| {
        let names: Vec<String> = machine.devices().iter().map(|d| d.name.clone()).collect();
        (names, machine.links().to_vec(), machine.assumptions().to_vec())
    };
    let lines: Vec<&str> = text.lines().collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    for width in 1..=widest {
        let cut: Vec<String> =
            lines.iter().map(|line| line.chars().take(width).collect()).collect();
        for height in (1..=rows.min(lines.len())).chain([lines.len()]) {
            match read(&cut[..height].join("\n")) {
                Ok(machine) => {
                    assert_eq!(wires(&machine), wires(&whole), "cut to {width} by {height}");
                }
                Err(error) => assert_is_helpful(&error),
            }
        }
    }
}

/// Asserts that an error has a place and a remedy.
pub(in crate::system) fn assert_is_helpful(error: &SystemError) {
    let SystemError::Input(input) = error else { panic!("{error} has no place") };
    assert!(input.position.line > 0 && input.position.column > 0, "{error}");
    assert!(!input.remedy.is_empty() && !input.problem.is_empty(), "{error}");
}

/// Asserts that a damaged text is refused or read with at least as many GPUs and NICs.
pub(in crate::system) fn assert_nothing_vanishes(
    text: &str,
    damaged: &str,
    read: impl Fn(&str) -> Result<Server, SystemError>,
) {
    let whole = census(&read(text).expect("the whole text reads"));
    match read(damaged) {
        Ok(machine) => {
            let now = census(&machine);
            for kind in [DeviceKind::Gpu.name(), DeviceKind::Nic.name()] {
                assert!(now.get(kind) >= whole.get(kind), "{kind} fewer in\n{damaged}");
            }
        }
        Err(error) => assert_is_helpful(&error),
    }
}

/// Draws a text with one character replaced, removed or inserted.
pub(in crate::system) fn damaged(text: &'static str) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        prop::char::range(' ', '~'),
        Just('\n'),
        Just('\t'),
        Just('0'),
        Just('\u{1b}'),
        any::<char>(),
    ];
    let characters: Vec<char> = text.chars().collect();
    (0..characters.len(), 0..3, character).prop_map(move |(at, how, new)| {
        let mut characters = characters.clone();
        match how {
            0 => characters[at] = new,
            1 => characters.insert(at, new),
            _ => _ = characters.remove(at),
        }
        characters.into_iter().collect()
    })
}
