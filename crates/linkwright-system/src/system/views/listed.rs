//! Builds servers of a system with every part listed, for tables, drawings and files of several
//! servers. Planners and routes look at [`super::wiring`].
//!
//! The list has the devices and links of some servers, each interface with the link of its port. It
//! leaves out the fabric's own switches and narrow places. One switch stands for them, whose inside
//! is as wide as all its links. The list of a lone server is the server itself.

use std::collections::BTreeSet;

use crate::system::composition::System;
use crate::system::error::SystemError;
use crate::system::fabric::Fabric;
use crate::system::kinds::DeviceKind;
use crate::system::server::{Device, DeviceId, Link, Server, ServerBuilder};

/// States the assumption about a network where only the ports' links are looked at.
pub const ONE_SWITCH: &str =
    "every network interface has one link to one switch, whose inside is as wide as all its links";

/// Begins every text of that. Files that were written before say the rest otherwise.
pub(super) const OF_ONE_SWITCH: &str = "every network interface has one link to one switch";

/// States the assumption where the servers were not all calibrated alike.
const DIFFERENT_CALIBRATIONS: &str = "the servers were calibrated to different values, which one list has no place for; none is listed";

/// Lists servers of a system, by their numbers; their GPUs are in the order of the servers.
///
/// The devices of server 3 are named `node3/GPU0` and so on.
///
/// # Errors
/// Links of more bandwidth than a machine can have.
///
/// # Panics
/// For a server that is not there.
pub fn listed(system: &System, servers: &[u32]) -> Result<Server, SystemError> {
    let kind = |server: &u32| system.kind_of(*server);
    let (Some(fabric), [_, ..]) = (system.fabric(), servers) else {
        return Ok(kind(&0).server().as_ref().clone());
    };
    let names: Vec<&str> = servers.iter().map(|it| kind(it).server().name()).collect();
    let sources: BTreeSet<&str> = servers.iter().map(|it| kind(it).server().source()).collect();
    let source = sources.into_iter().collect::<Vec<_>>().join("; ");
    let mut builder = ServerBuilder::new(&names.join("+"), &source);
    let mut interfaces: Vec<(DeviceId, u32)> = Vec::new();
    let mut warned: BTreeSet<&str> = BTreeSet::new();
    for server in servers {
        let ids = add(&mut builder, kind(server).server(), &format!("node{server}"))?;
        let own = (0..).zip(kind(server).nics());
        interfaces.extend(own.map(|(index, nic)| (ids[*nic], system.nic_at(*server, index))));
        let warnings = kind(server).server().warnings().iter();
        for warning in warnings.filter(|warning| warned.insert(warning)) {
            builder.warn(warning);
        }
    }
    let switch = builder.device("network0", DeviceKind::NetworkSwitch, None)?;
    for (interface, nic) in interfaces {
        let port = &fabric.channels()[Fabric::injection(system.port_of(nic)) as usize];
        builder.link(Link {
            a: interface,
            b: switch,
            kind: fabric.link_kind(),
            count: 1,
            bandwidth: port.bandwidth,
            latency: port.latency,
            discipline: None,
            flits: None,
            measured: None,
        })?;
    }
    let mut assumed: BTreeSet<&str> = BTreeSet::new();
    let of_servers = servers.iter().flat_map(|it| kind(it).server().assumptions());
    for assumption in of_servers.chain(system.assumptions()) {
        if assumed.insert(assumption) {
            builder.assume(assumption);
        }
    }
    if !assumed.iter().any(|text| text.starts_with(OF_ONE_SWITCH)) {
        builder.assume(ONE_SWITCH);
    }
    let calibrations: Vec<_> = servers.iter().map(|it| kind(it).server().calibration()).collect();
    match (calibrations.windows(2).all(|pair| pair[0] == pair[1]), calibrations[0]) {
        (true, Some(calibration)) => builder.calibrate(calibration.clone()),
        (true, None) => {}
        (false, _) => builder.assume(DIFFERENT_CALIBRATIONS),
    }
    Ok(builder.build()?)
}

/// Adds a server's devices and links below a name; returns the new id of each device.
fn add(
    builder: &mut ServerBuilder,
    server: &Server,
    prefix: &str,
) -> Result<Vec<DeviceId>, SystemError> {
    let mut ids: Vec<DeviceId> = Vec::with_capacity(server.devices().len());
    for device in server.devices() {
        let name = format!("{prefix}/{}", device.name);
        ids.push(builder.add(Device { name, ..device.clone() })?);
    }
    for link in server.links() {
        builder.link(Link { a: ids[link.a], b: ids[link.b], ..link.clone() })?;
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::composition::PortOrder;
    use crate::system::fabric::FabricSpecification;
    use crate::system::presets::{NAMES, preset};
    use crate::system::test_support::on_one_switch;
    use crate::system::toml_format;
    use crate::units::Bandwidth;

    /// Lists all servers of a system.
    fn all_of(system: &System) -> Server {
        listed(system, &(0..system.servers()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn some_servers_of_a_system_keep_their_names_and_ports() {
        let server = Arc::new(preset("dgx1-v100").unwrap());
        let fabric = FabricSpecification::preset("fat-tree").unwrap().for_ports(16).unwrap();
        let system = System::new(&[(server, 4)], fabric, PortOrder::Plain).unwrap();
        let some = listed(&system, &[3, 1]).unwrap();
        assert_eq!(some.gpus().len(), 16);
        assert_eq!(some.devices()[some.gpus()[0]].name, "node3/GPU0");
        assert_eq!(some.devices()[some.gpus()[8]].name, "node1/GPU0");
        let network = some.links().iter().filter(|link| link.kind.is_network());
        assert!(network.clone().all(|link| link.bandwidth == Bandwidth(11_900_000_000)));
        assert_eq!(network.count(), 8);
    }

    #[test]
    fn copies_are_named_and_numbered_in_order() {
        let server = preset("dgx-a100").unwrap();
        for count in [2, 4] {
            let whole = all_of(&on_one_switch("dgx-a100", count as u32, 200));
            assert_eq!(whole.gpus().len(), 8 * count);
            assert_eq!(whole.devices()[whole.gpus()[13]].name, "node1/GPU5");
            assert_eq!(whole.devices().len(), count * server.devices().len() + 1);
            assert_eq!(whole.links().len(), count * (server.links().len() + 8));
        }
    }

    #[test]
    fn every_preset_joins_and_survives_writing() {
        for name in NAMES {
            assert!(preset(name).unwrap().servers().iter().all(|index| *index == Some(0)));
            let whole = all_of(&on_one_switch(name, 3, 100));
            let again = toml_format::read("again", &toml_format::write(&whole)).unwrap();
            assert_eq!(again, whole);
            for (device, server) in again.devices().iter().zip(again.servers()) {
                let index = device.name.strip_prefix("node").map(|rest| &rest[..1]);
                let expected = index.map(|digit| digit.parse::<usize>().unwrap());
                assert_eq!(server, expected, "{name} {}", device.name);
            }
        }
    }

    #[test]
    fn warnings_of_servers_are_said_once() {
        let text = toml_format::write(&preset("pcie-tree-4").unwrap());
        let doubtful = |name: &str| {
            let text = text.replace("pcie-tree-4", name);
            let text = format!("warnings = [\"no links\"]\n{text}");
            (Arc::new(toml_format::read("a", &text).unwrap()), 1)
        };
        let rows = [doubtful("first"), doubtful("second")];
        let ports = System::ports_for(&rows).unwrap();
        let fabric = FabricSpecification::preset("fat-tree").unwrap().for_ports(ports).unwrap();
        let whole = all_of(&System::new(&rows, fabric, PortOrder::Plain).unwrap());
        assert_eq!(
            (whole.name(), whole.warnings()),
            ("first+second", &["no links".to_owned()][..])
        );
        let is_assumed = |text: &String| text.contains("lists no network interface");
        assert!(whole.assumptions().iter().any(is_assumed), "{:?}", whole.assumptions());
    }

    #[test]
    fn a_lone_server_is_listed_as_it_is() {
        let server = Arc::new(preset("dgx2").unwrap());
        let system = System::of_server(Arc::clone(&server));
        assert_eq!(&listed(&system, &[0]).unwrap(), server.as_ref());
    }
}
