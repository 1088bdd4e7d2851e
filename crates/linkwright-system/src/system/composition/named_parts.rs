//! Finds parts of a system by the names that people give them.
//!
//! The name `mlx5_3` is that interface of every server, and `node1/mlx5_3` that of one server. `node1` is a whole server.
//! `GPU0-GPU3` are all links of a pair. `leaf2` is a switch of the fabric, `leaf2-spine0` are its links to another, and
//! `node1/mlx5_3-leaf2` is the link of an interface.

use std::collections::BTreeMap;

use thiserror::Error;

use super::System;
use crate::diagnostic::{Diagnose, Diagnosis, UnknownName, closest, instead_of, shown};
use crate::system::fabric::{ChannelId, End, Fabric, SwitchId};
use crate::system::server::{DeviceId, Server};

/// Tells a part of a server of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemPart {
    /// It is a device.
    Device {
        /// Numbers its server.
        server: u32,
        /// Gives its id in the server.
        device: DeviceId,
    },
    /// It is a bundle of links.
    Link {
        /// Numbers its server.
        server: u32,
        /// Gives its index in the server.
        link: usize,
    },
    /// It is a server with all that is in it.
    Server {
        /// Numbers it.
        server: u32,
    },
    /// It is a switch of the fabric.
    Switch {
        /// Numbers it there.
        switch: SwitchId,
    },
    /// It is a link of the fabric.
    FabricLink {
        /// Numbers one of its directions.
        channel: ChannelId,
    },
}

/// Says why a name is no part's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum PartError {
    /// No server, or no device, has that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// No link joins two devices.
    Apart {
        /// Names one.
        a: String,
        /// Names the other.
        b: String,
        /// Lists the devices that links join to the first.
        beside: Vec<String>,
    },
    /// The server is described by a few numbers, and not by its parts.
    Abstract {
        /// Names the server.
        server: String,
    },
}

impl Diagnose for PartError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unknown(error) => error.diagnosis(),
            Self::Apart { a, b, beside } => {
                let apart = Diagnosis::of(format!("no link joins `{a}` and `{b}`"));
                match beside.as_slice() {
                    [] => apart.remedy(format!("add a link to `{a}`, which has none")),
                    _ => apart
                        .remedy(format!("use a link of `{a}`: they lead to {}", beside.join(", "))),
                }
            }
            Self::Abstract { server } => Diagnosis::of(format!(
                "`{server}` is an abstract server, which has no parts to \
                    take away"
            ))
            .remedy("describe its devices and links in a machine file"),
        }
    }
}

impl System {
    /// Finds the parts that a name stands for: a device, or all links of a pair, of one server or of
    /// all that have it. It may be a server, too, or a switch or links of the fabric. They come in the order of the servers.
    ///
    /// # Errors
    /// A name that no part has.
    pub fn parts_named(&self, name: &str) -> Result<Vec<SystemPart>, PartError> {
        let Some(fabric) = self.fabric() else { return self.parts_of_servers(name) };
        if let Ok(servers) = self.server_named(name) {
            return Ok(servers.into_iter().map(|server| SystemPart::Server { server }).collect());
        }
        let refused = match self.parts_of_servers(name) {
            Err(refused) => refused,
            found => return found,
        };
        self.parts_of_fabric(fabric, name)?
            .ok_or_else(|| self.unknown_beside(fabric, name, refused))
    }

    /// Finds a switch of the fabric, all links between two, or the link of an interface; None where the name is none of these.
    fn parts_of_fabric(
        &self,
        fabric: &Fabric,
        name: &str,
    ) -> Result<Option<Vec<SystemPart>>, PartError> {
        let named = |end: &str| (0..fabric.switches()).find(|it| fabric.switch_name(*it) == end);
        if let Some(switch) = named(name) {
            return Ok(Some(vec![SystemPart::Switch { switch }]));
        }
        // Names may have dashes of their own.
        let ends = name.match_indices('-').find_map(|(at, _)| {
            let end =
                |end: &str| self.port_named(end).map(End::Node).or(named(end).map(End::Switch));
            end(&name[..at]).zip(end(&name[at + 1..]))
        });
        let Some((a, b)) = ends else { return Ok(None) };
        let links = fabric.channels().iter().enumerate().step_by(2);
        let joins = links
            .filter(|(_, link)| (link.from, link.to) == (a, b) || (link.from, link.to) == (b, a));
        let found: Vec<SystemPart> = joins
            .map(|(channel, _)| SystemPart::FabricLink { channel: channel as ChannelId })
            .collect();
        if found.is_empty() {
            let called = |end: End| match end {
                End::Switch(switch) => fabric.switch_name(switch),
                End::Node(port) => {
                    let nic = self.nic_of_port(port).expect("it was found by its interface");
                    self.device_name(self.nic_device(nic))
                }
            };
            let beside = |end: End| -> Vec<String> {
                let links = fabric.channels().iter().filter(|link| link.from == end);
                let ends = links.filter(|link| match link.to {
                    End::Switch(_) => true,
                    End::Node(port) => self.nic_of_port(port).is_some(),
                });
                let mut names: Vec<String> = ends.map(|link| called(link.to)).collect();
                names.dedup();
                names
            };
            return Err(PartError::Apart { a: called(a), b: called(b), beside: beside(a) });
        }
        Ok(Some(found))
    }

    /// Finds the port of an interface such as `node1/mlx5_3`.
    fn port_named(&self, name: &str) -> Option<u32> {
        let (node, within) = name.split_once('/')?;
        let server = *self.server_named(node).ok()?.first()?;
        let kind = self.kind_of(server);
        let device = kind.server().device(within)?;
        let index = kind.nics().iter().position(|nic| *nic == device)?;
        Some(self.port_of(self.nic_at(server, index as u32)))
    }

    /// Says what else there is, where the name may be meant to be the fabric's.
    fn unknown_beside(&self, fabric: &Fabric, name: &str, refused: PartError) -> PartError {
        let PartError::Unknown(unknown) = refused else { return refused };
        if unknown.what != "part" {
            return unknown.into();
        }
        let switches: Vec<String> =
            (0..fabric.switches()).map(|it| fabric.switch_name(it)).collect();
        let known: Vec<&str> = switches.iter().map(String::as_str).collect();
        let last = self.servers() - 1;
        let (first_switch, last_switch) = (known.first(), known.last());
        let also = first_switch.zip(last_switch).map_or(String::new(), |(first, last)| {
            if first == last { format!(", {first}") } else { format!(", {first} to {last}") }
        });
        let meant = closest(name, &known).filter(|_| !unknown.instead.starts_with("did you mean"));
        let meant = meant.map_or(String::new(), |it| format!("did you mean `{it}`? "));
        let instead = format!("{meant}{}, node0 to node{last}{also}", unknown.instead);
        UnknownName { instead, ..unknown }.into()
    }

    /// Finds the parts of servers that a name stands for.
    fn parts_of_servers(&self, name: &str) -> Result<Vec<SystemPart>, PartError> {
        let (servers, within) = match name.split_once('/') {
            Some((node, within)) => (self.server_named(node)?, within),
            None => ((0..self.servers()).collect(), name),
        };
        let mut known: BTreeMap<usize, Result<Vec<SystemPart>, PartError>> = BTreeMap::new();
        let mut found = Vec::new();
        for server in servers {
            let kind = self.kind_index_of(server);
            let of_kind =
                known.entry(kind).or_insert_with(|| parts_of(self.kinds[kind].server(), within));
            let moved = of_kind.iter().flatten().map(|part| match *part {
                SystemPart::Device { device, .. } => SystemPart::Device { server, device },
                SystemPart::Link { link, .. } => SystemPart::Link { server, link },
                other => other,
            });
            found.extend(moved);
        }
        // A name that no server has is refused as the first of them refuses it.
        if found.is_empty() { known.into_values().next().unwrap_or(Ok(found)) } else { Ok(found) }
    }

    /// Gives the number of the server of a name such as `node1`.
    fn server_named(&self, name: &str) -> Result<Vec<u32>, UnknownName> {
        let number = name.strip_prefix("node").and_then(|number| number.parse().ok());
        let found = number.filter(|number| *number < self.servers());
        found.map(|server| vec![server]).ok_or_else(|| UnknownName {
            what: "server",
            name: shown(name),
            instead: match self.servers() {
                1 => "use node0".to_owned(),
                servers => format!("use one of node0 to node{}", servers - 1),
            },
        })
    }
}

/// Finds the parts of a server that a name stands for, as of the first server.
fn parts_of(server: &Server, name: &str) -> Result<Vec<SystemPart>, PartError> {
    if let Some(device) = server.device(name) {
        return Ok(vec![SystemPart::Device { server: 0, device }]);
    }
    // Names may have dashes of their own.
    let ends = name.match_indices('-').find_map(|(at, _)| {
        let [a, b] = [&name[..at], &name[at + 1..]].map(|end| server.device(end));
        a.zip(b)
    });
    let Some((a, b)) = ends else {
        let names = server.devices().iter().map(|device| device.name.as_str());
        let known: Vec<&str> = names.collect();
        // Of a pair the end that is unknown is what was misspelt.
        let wrong = name
            .split_once('-')
            .map_or(name, |(a, b)| if server.device(a).is_some() { b } else { a });
        let (what, name) = ("part", shown(wrong));
        return Err(UnknownName { what, name, instead: instead_of(wrong, &known) }.into());
    };
    let links = server.links().iter().enumerate();
    let joins = |(_, link): &(usize, &crate::system::server::Link)| {
        (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a)
    };
    let found: Vec<_> =
        links.filter(joins).map(|(link, _)| SystemPart::Link { server: 0, link }).collect();
    if found.is_empty() {
        let name = |device: DeviceId| server.devices()[device].name.clone();
        let beside = server.links().iter().filter(|link| link.a == a || link.b == a);
        let beside = beside.map(|link| name(link.other_end(a))).collect();
        return Err(PartError::Apart { a: name(a), b: name(b), beside });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::composition::PortOrder;
    use crate::system::fabric::{LinkRate, single_switch};
    use crate::system::presets::preset;
    use crate::units::{Bandwidth, Picoseconds};

    fn lone() -> System {
        System::of_server(Arc::new(preset("dgx1-v100").unwrap()))
    }

    fn pair() -> System {
        let rate = LinkRate {
            bandwidth: Bandwidth::gigabytes_per_second(12),
            latency: Picoseconds(600_000),
        };
        let server = Arc::new(preset("dgx1-v100").unwrap());
        System::new(&[(server, 2)], single_switch(8, rate).unwrap(), PortOrder::Plain).unwrap()
    }

    fn refused(system: &System, name: &str) -> String {
        system.parts_named(name).unwrap_err().to_string()
    }

    #[test]
    fn a_name_is_a_part_of_one_server_or_of_all() {
        let system = pair();
        let nic = system.kinds()[0].nics()[3];
        let of = |server| SystemPart::Device { server, device: nic };
        assert_eq!(system.parts_named("mlx5_3"), Ok(vec![of(0), of(1)]));
        assert_eq!(system.parts_named("node1/mlx5_3"), Ok(vec![of(1)]));
        let links = system.parts_named("GPU3-GPU0").unwrap();
        assert_eq!(links, system.parts_named("GPU0-GPU3").unwrap());
        assert!(matches!(
            links[..],
            [SystemPart::Link { server: 0, .. }, SystemPart::Link { server: 1, .. }]
        ));
        assert_eq!(lone().parts_named("node0/GPU0-PCIE0").unwrap().len(), 1);
    }

    #[test]
    fn a_part_that_is_not_there_is_refused_with_those_that_are() {
        let all = "use one of GPU0, GPU1, GPU2, GPU3, GPU4, GPU5, GPU6, GPU7, CPU0, CPU1, PCIE0, \
                   PCIE1, PCIE2, PCIE3, mlx5_0, mlx5_1, mlx5_2, mlx5_3";
        let meant = |it: &str| format!("did you mean `{it}`? {all}");
        assert_eq!(
            refused(&lone(), "mlx5_9"),
            format!("there is no part `mlx5_9`; {}", meant("mlx5_0"))
        );
        assert_eq!(
            refused(&lone(), "GPU0-GPU9"),
            format!("there is no part `GPU9`; {}", meant("GPU0"))
        );
        assert_eq!(
            refused(&lone(), "GPU0-GPU5"),
            "no link joins `GPU0` and `GPU5`; use a link of `GPU0`: they lead to GPU3, GPU4, \
             GPU1, GPU2, PCIE0"
        );
        assert_eq!(
            refused(&pair(), "node2/GPU0"),
            "there is no server `node2`; use one of node0 to node1"
        );
        let nodes = System::of_nodes(
            single_switch(4, LinkRate { bandwidth: Bandwidth(1), latency: Picoseconds(1) })
                .unwrap(),
            crate::system::AbstractNode {
                gpus: 2,
                nics: 1,
                bandwidth: Bandwidth(1),
                latency: Picoseconds(1),
            },
        );
        let refused = nodes.unwrap().without(&["GPU0"]).unwrap_err().to_string();
        assert!(refused.ends_with("describe its devices and links in a machine file"), "{refused}");
    }
}
