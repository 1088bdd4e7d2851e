//! What tests share: systems of presets; of importers' tests, reading relations back, and damaging
//! inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::system::composition::{PortOrder, System};
use crate::system::error::SystemError;
use crate::system::fabric::{LinkRate, single_switch};
use crate::system::import::host_tree::Relation;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::presets::preset;
use crate::system::server::{DeviceId, Server};
use crate::units::{Bandwidth, Picoseconds};

/// A preset by itself.
pub(crate) fn alone(name: &str) -> System {
    System::of_server(Arc::new(preset(name).unwrap()))
}

/// So many of a preset on one switch, whose links have 600 ns.
pub(crate) fn on_one_switch(name: &str, servers: u32, gigabits: u64) -> System {
    let rows = [(Arc::new(preset(name).unwrap()), servers)];
    let bandwidth = Bandwidth(gigabits * 125_000_000);
    let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
    let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
    System::new(&rows, fabric, PortOrder::Plain).unwrap()
}

/// A text of the examples, as such a server prints it.
macro_rules! example {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/topologies/", $name))
    };
}
pub(super) use example;

/// A text of a manner that real ones have, the file's name says which.
macro_rules! quirk {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/system/import/quirks/", $name))
    };
}
pub(super) use quirk;

/// The devices between a device and its socket, the device first, the socket last.
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

/// The relation of two devices, by the devices between them.
pub(super) fn relation(machine: &Server, a: DeviceId, b: DeviceId) -> Relation {
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
pub(super) fn census(machine: &Server) -> BTreeMap<&'static str, usize> {
    let mut census = BTreeMap::new();
    for device in machine.devices() {
        *census.entry(device.kind.name()).or_default() += 1;
    }
    census
}

/// Asserts that every prefix of a text is refused or read as the whole text's machine.
pub(super) fn assert_cuts_are_safe(text: &str, read: impl Fn(&str) -> Result<Server, SystemError>) {
    let whole = read(text).expect("the whole text reads");
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        match read(&text[..cut]) {
            Ok(machine) => assert_eq!(machine, whole, "cut at {cut}"),
            Err(error) => assert_is_helpful(&error),
        }
    }
}

/// Asserts that the first columns of the first lines are refused or read as the whole text's
/// machine, less what a column on its right says of places, for every width and for every height up to `rows` and the last.
pub(super) fn assert_rectangles_are_safe(
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
pub(super) fn assert_is_helpful(error: &SystemError) {
    let SystemError::Input(input) = error else { panic!("{error} has no place") };
    assert!(input.position.line > 0 && input.position.column > 0, "{error}");
    assert!(!input.remedy.is_empty() && !input.problem.is_empty(), "{error}");
}

/// Asserts that a damaged text is refused or read with at least as many GPUs and NICs.
pub(super) fn assert_nothing_vanishes(
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

/// A text with one character replaced, removed or inserted.
pub(super) fn damaged(text: &'static str) -> impl Strategy<Value = String> {
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
