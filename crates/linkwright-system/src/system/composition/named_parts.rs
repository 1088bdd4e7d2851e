//! Finds parts of a system by the names that people give them, and leaves some out.
//!
//! The name `mlx5_3` is that interface of every server, and `node1/mlx5_3` that of one server.
//! `GPU0-GPU3` are all links of a pair. A part that is absent keeps its number and
//! its name, and has no links. So no other part is numbered anew, and no interface takes another port.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use super::{ServerKind, System};
use crate::diagnostic::{Diagnose, Diagnosis, UnknownName, instead_of, shown};
use crate::system::composition::numbers::Numbers;
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
        /// Lists the devices beside the first.
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
                    [] => apart.remedy(format!("`{a}` has no links")),
                    _ => apart.remedy(format!("links of `{a}` lead to {}", beside.join(", "))),
                }
            }
            Self::Abstract { server } => {
                Diagnosis::of(format!("`{server}` has no parts that could be absent"))
                    .remedy("describe its devices and links in a machine's file")
            }
        }
    }
}

impl System {
    /// Finds the parts that a name stands for: a device, or all links of a pair, of one server or of
    /// all that have it. They come in the order of the servers.
    ///
    /// # Errors
    /// A name that no server's part has.
    pub fn parts_named(&self, name: &str) -> Result<Vec<SystemPart>, PartError> {
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
                1 => "there is node0".to_owned(),
                servers => format!("there are node0 to node{}", servers - 1),
            },
        })
    }

    /// The same system without some parts, by their names ([`Self::parts_named`]). An absent device
    /// stays in its place, without links.
    ///
    /// # Errors
    /// A name that no part has, and servers that a few numbers describe.
    pub fn without(&self, names: &[impl AsRef<str>]) -> Result<Self, PartError> {
        let mut absent: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for name in names {
            for part in self.parts_named(name.as_ref())? {
                let (SystemPart::Device { server, .. } | SystemPart::Link { server, .. }) = part;
                let template = self.kind_of(server).server();
                if template.nics_meet_gpus() {
                    return Err(PartError::Abstract { server: template.name().to_owned() });
                }
                let links = absent.entry(server).or_default();
                match part {
                    SystemPart::Link { link, .. } => _ = links.insert(link),
                    SystemPart::Device { device, .. } => {
                        let all = template.links().iter().enumerate();
                        let its = all.filter(|(_, link)| link.a == device || link.b == device);
                        links.extend(its.map(|(at, _)| at));
                    }
                }
            }
        }
        Ok(self.without_links(&absent))
    }

    /// Leaves out links of servers, by their indices there.
    fn without_links(&self, absent: &BTreeMap<u32, BTreeSet<usize>>) -> Self {
        let none = BTreeSet::new();
        let mut kinds: Vec<ServerKind> = Vec::new();
        let mut known: BTreeMap<(usize, &BTreeSet<usize>), usize> = BTreeMap::new();
        let mut rows = Vec::new();
        for server in 0..self.servers() {
            let (kind, links) = (self.kind_index_of(server), absent.get(&server).unwrap_or(&none));
            let place = *known.entry((kind, links)).or_insert_with(|| {
                let mut made = self.kinds[kind].clone();
                if !links.is_empty() {
                    made.server = Arc::new(made.server.without_links(links));
                }
                kinds.push(made);
                kinds.len() - 1
            });
            rows.push((place as u32, 1, kinds[place].counts()));
        }
        let rows = rows.chunk_by(|a, b| a.0 == b.0);
        let rows: Vec<_> = rows.map(|run| (run[0].0, run.len() as u32, run[0].2)).collect();
        let numbers = Numbers::new(&rows, self.fabric_channels());
        let numbers = numbers.expect("there are no more parts than there were");
        Self { kinds, numbers, ..self.clone() }
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
        let all = "there are GPU0, GPU1, GPU2, GPU3, GPU4, GPU5, GPU6, GPU7, CPU0, CPU1, PCIE0, \
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
            "no link joins `GPU0` and `GPU5`; links of `GPU0` lead to GPU3, GPU4, GPU1, GPU2, PCIE0"
        );
        assert_eq!(
            refused(&pair(), "node2/GPU0"),
            "there is no server `node2`; there are node0 to node1"
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
        assert!(
            refused.ends_with("describe its devices and links in a machine's file"),
            "{refused}"
        );
    }

    /// All else keeps its number and its name.
    #[test]
    fn an_absent_part_has_no_links_and_stays_in_its_place() {
        let whole = pair();
        let system = whole.without(&["node1/mlx5_3", "GPU0-GPU3"]).unwrap();
        assert_eq!(system.devices(), whole.devices());
        assert_eq!(system.channels(), whole.channels() - 2 * 2 - 2);
        for device in 0..whole.devices() {
            assert_eq!(system.device_name(device), whole.device_name(device));
        }
        for nic in 0..whole.nics() {
            assert_eq!(system.port_of(nic), whole.port_of(nic));
        }
        let links = |system: &System, of: &str| {
            let channels = (0..system.channels() as u32).map(|at| system.channel(at));
            channels.filter(|it| system.device_name(it.from) == of).count()
        };
        assert_eq!(links(&system, "node0/mlx5_3"), links(&whole, "node0/mlx5_3"));
        // Its link to the network is the fabric's.
        assert_eq!(links(&system, "node1/mlx5_3"), 1);
        assert_eq!(links(&system, "node1/GPU0"), links(&whole, "node1/GPU0") - 1);
        assert_eq!(whole.without(&[""; 0]).unwrap(), whole);
    }

    #[test]
    fn equal_servers_stay_one_kind() {
        let system = pair().without(&["mlx5_3"]).unwrap();
        assert_eq!(system.kinds().len(), 1);
        assert_eq!(pair().without(&["node0/GPU7"]).unwrap().kinds().len(), 2);
        // Without the same parts in another order it is the same.
        let [one, other] = [["GPU7", "mlx5_0"], ["mlx5_0", "GPU7"]].map(|it| pair().without(&it));
        assert_eq!(one, other);
    }
}
