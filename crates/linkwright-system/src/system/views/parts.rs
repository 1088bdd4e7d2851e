//! Every device and link of a system in a list, as tables and texts have them.

use crate::system::composition::System;
use crate::system::fabric::{End, Fabric};
use crate::system::kinds::{DeviceKind, Discipline};
use crate::system::server::{Device, Link, Server};
use crate::system::views::listed::{OF_ONE_SWITCH, ONE_SWITCH};

/// Returns the devices of a system by their numbers, and its bundles of links. The devices of
/// several servers stand below `node3/`. The links are those of the first server, of the second,
/// ..., then the fabric's in the order of its channels. A spare port has none. Every link says its
/// discipline.
#[must_use]
pub fn parts(system: &System) -> (Vec<Device>, Vec<Link>) {
    let mut devices: Vec<Device> = Vec::with_capacity(system.devices());
    let mut links: Vec<Link> = Vec::with_capacity(system.channels() / 2);
    for server in 0..system.servers() {
        let template = system.kind_of(server).server();
        let first = devices.len();
        let named = template
            .devices()
            .iter()
            .enumerate()
            .map(|(id, device)| Device { name: system.device_name(first + id), ..device.clone() });
        devices.extend(named);
        let moved = |link: &Link| Link {
            a: first + link.a,
            b: first + link.b,
            discipline: Some(template.discipline(link)),
            ..link.clone()
        };
        links.extend(template.links().iter().map(moved));
    }
    if let Some(fabric) = system.fabric() {
        let names = (0..fabric.switches()).map(|switch| fabric.switch_name(switch));
        devices.extend(names.map(|name| Device::new(&name, DeviceKind::NetworkSwitch, None)));
        links.extend(fabric_links(system, fabric));
    }
    (devices, links)
}

fn fabric_links(system: &System, fabric: &Fabric) -> Vec<Link> {
    let device = |end: End| match end {
        End::Switch(switch) => Some(system.switch_device(switch)),
        End::Node(port) => system.nic_of_port(port).map(|nic| system.nic_device(nic)),
    };
    // The first of each link's two channels.
    let firsts: Vec<_> = fabric.channels().iter().step_by(2).collect();
    let bundles = firsts.chunk_by(|a, b| a == b).filter_map(|bundle| {
        let channel = bundle[0];
        Some(Link {
            a: device(channel.from)?,
            b: device(channel.to)?,
            kind: fabric.link_kind(),
            count: bundle.len() as u32,
            bandwidth: channel.bandwidth,
            latency: channel.latency,
            discipline: Some(Discipline::Packets),
            flits: None,
            measured: None,
        })
    });
    bundles.collect()
}

/// Returns the statements of a system's servers, each once.
#[must_use]
pub fn said(system: &System, of: fn(&Server) -> &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in system.kinds().iter().flat_map(|kind| of(kind.server())) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}

/// Names the sources of the servers' descriptions.
#[must_use]
pub fn sources(system: &System) -> String {
    let mut all: Vec<&str> = Vec::new();
    for kind in system.kinds() {
        if !all.contains(&kind.server().source()) {
            all.push(kind.server().source());
        }
    }
    all.join("; ")
}

/// Lists the assumptions about the servers of a system by themselves, then about the whole.
#[must_use]
pub fn assumed(system: &System) -> Vec<String> {
    let mut all = said(system, Server::assumptions);
    all.extend(system.assumptions().iter().cloned());
    let described = !system.kinds()[0].server().nics_meet_gpus();
    let one_switch = described && system.fabric().is_some_and(|fabric| fabric.switches() == 1);
    // A machine that lists its servers may say so itself.
    if one_switch && !all.iter().any(|text| text.starts_with(OF_ONE_SWITCH)) {
        all.push(ONE_SWITCH.to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::composition::PortOrder;
    use crate::system::fabric::{FabricSpecification, fabrics};
    use crate::system::presets::preset;
    use crate::system::views::listed::listed;

    #[test]
    fn every_channel_but_those_of_spare_ports_is_half_a_link() {
        let servers = [
            (Arc::new(preset("dgx1-v100").unwrap()), 3),
            (Arc::new(preset("dgx-a100").unwrap()), 2),
        ];
        let needed = System::ports_for(&servers).unwrap();
        for kind in fabrics().names() {
            let fabric = FabricSpecification::preset(kind).unwrap().for_ports(needed).unwrap();
            let spare = fabric.nodes() - needed;
            let system = System::new(&servers, fabric, PortOrder::Rails).unwrap();
            let (devices, links) = parts(&system);
            assert_eq!(devices.len(), system.devices(), "{kind}");
            for (id, device) in devices.iter().enumerate() {
                assert_eq!(device.name, system.device_name(id));
            }
            let counted: u32 = links.iter().map(|link| link.count).sum();
            let inside: u32 = (0..system.servers())
                .flat_map(|server| system.kind_of(server).server().links())
                .map(|link| link.count)
                .sum();
            let channels = system.fabric_channels() as u32 / 2;
            assert_eq!(counted, inside + channels - spare, "{kind}");
        }
    }

    #[test]
    fn on_one_switch_the_parts_are_those_that_plans_list() {
        let servers = [(Arc::new(preset("dgx-a100").unwrap()), 3)];
        let needed = System::ports_for(&servers).unwrap();
        let switch = FabricSpecification::preset("single-switch").unwrap();
        let fabric = switch.for_ports(needed).unwrap();
        let system = System::new(&servers, fabric, PortOrder::Plain).unwrap();
        let whole = listed(&system, &[0, 1, 2]).unwrap();
        let (devices, links) = parts(&system);
        assert_eq!(devices.len(), whole.devices().len());
        let unsaid = |link: &Link| Link { discipline: None, ..link.clone() };
        assert_eq!(
            links.iter().map(unsaid).collect::<Vec<_>>(),
            whole.links().iter().map(unsaid).collect::<Vec<_>>()
        );
        assert_eq!(assumed(&system), whole.assumptions());
    }
}
