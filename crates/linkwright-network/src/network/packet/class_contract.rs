//! Holds the classes of a kernel's messages to what holds routings: no buffers wait for one another in a cycle.
//!
//! A message in the buffer behind a channel may wait for a place behind the next. Where a message has come to its end, the
//! buffer before that may be taken to wait for what follows there. A request waits for probes and an answer, a probe for an
//! answer ([`MemoryClass::causes`]). Ends take whatever comes, so that the second never holds anything up here. The proof
//! does without that, and is one for hardware, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::network::paths::{Path, PathIndex, Paths, ServerChannel, Way};
use crate::network::route::RouteClass;
use crate::network::routing::contract::has_cycle;
use crate::network::transport::{DeviceIndex, MemoryClass};
use crate::system::composition::System;
use crate::system::presets::{NAMES, preset};

/// The paths of packets between all ends of a server, by their pairs.
fn paths_of(system: &System) -> Vec<(DeviceIndex, DeviceIndex, Vec<ServerChannel>)> {
    let mut paths = Paths::new(system).expect("each GPU has its paths");
    let gpus: Vec<DeviceIndex> =
        (0..system.gpus()).map(|gpu| system.gpu_device(gpu) as DeviceIndex).collect();
    let hosts = (0..system.gpus()).filter_map(|gpu| paths.gpu_site(gpu).host);
    let ends: BTreeSet<DeviceIndex> =
        gpus.iter().copied().chain(hosts.collect::<Vec<_>>()).collect();
    let mut found = Vec::new();
    for (from, to) in ends.iter().flat_map(|from| ends.iter().map(move |to| (*from, *to))) {
        let way = paths.way(from, to, RouteClass::Any);
        let Ok(Way::Inside(path)) = way else { continue };
        let channels = |path: PathIndex| match paths.path(0, path) {
            Path::Packets(channels) => channels.clone(),
            // Pipes have no buffers.
            Path::Pipes(_) => Vec::new(),
        };
        found.push((from, to, channels(path)));
    }
    found
}

/// Tells whether buffers wait for one another, where each class has the virtual channel that it is given.
fn waits_in_a_cycle(system: &System, channel_of: impl Fn(MemoryClass) -> u8) -> bool {
    let paths = paths_of(system);
    let buffer = |class: MemoryClass, channel: &ServerChannel| {
        *channel as usize * MemoryClass::ALL.len() + usize::from(channel_of(class))
    };
    let mut edges = BTreeSet::new();
    for (_, end, channels) in &paths {
        for class in MemoryClass::ALL {
            let buffers: Vec<usize> = channels.iter().map(|at| buffer(class, at)).collect();
            edges.extend(buffers.windows(2).map(|pair| (pair[0], pair[1])));
            let Some(last) = buffers.last() else { continue };
            for next in class.causes() {
                let leave = paths.iter().filter(|(from, ..)| from == end);
                let firsts = leave.filter_map(|(.., channels)| channels.first());
                edges.extend(firsts.map(|first| (*last, buffer(*next, first))));
            }
        }
    }
    let links = system.kind_of(0).server().links().len();
    has_cycle(2 * links * MemoryClass::ALL.len(), &edges)
}

/// All presets but racks, whose trays are alike and whose pairs are thousands.
fn machines() -> impl Iterator<Item = System> {
    let servers = NAMES.iter().map(|name| Arc::new(preset(name).expect("it is a preset")));
    servers.filter(|server| server.gpus().len() <= 16).map(System::of_server)
}

#[test]
fn classes_of_virtual_channels_of_their_own_wait_in_no_cycle() {
    for machine in machines() {
        assert!(!waits_in_a_cycle(&machine, MemoryClass::virtual_channel), "{}", machine.name());
    }
}

/// The proof has teeth: with one virtual channel for all, a request may wait for an answer behind another request.
#[test]
fn classes_of_one_virtual_channel_wait_for_one_another() {
    let dgx1 = machines().find(|machine| machine.name() == "dgx1-v100").expect("it is a preset");
    assert!(waits_in_a_cycle(&dgx1, |_| 0));
    // Nor is it enough to keep answers apart.
    let apart = |class| u8::from(class == MemoryClass::Answer);
    assert!(waits_in_a_cycle(&dgx1, apart));
}
