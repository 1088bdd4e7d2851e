//! Leaves parts of a system out: those that are absent, or that fail.
//!
//! A part that is lost keeps its number and its name, and has no links. So no other part is numbered anew, and no interface
//! takes another port. With a part goes what is of no use without it:
//!
//! - A server takes its GPUs and its interfaces along, a switch of the fabric its links.
//! - A GPU that reaches no CPU any more is lost, as nothing can drive it.
//! - An interface whose port has no link is lost. So is one on switches that are cut off from the largest part of the
//!   fabric.
//!
//! A fabric that has lost something is a graph, over which data take the shortest ways that are left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::named_parts::{PartError, SystemPart};
use super::numbers::Numbers;
use super::{ServerKind, System};
use crate::system::fabric::{ChannelId, End, Fabric, SwitchId};
use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Server};

/// Holds the rest of a system, and names all that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Losses {
    /// It is what is left. Its parts have the numbers that they had, but for channels within servers.
    pub system: System,
    /// Names the channels that are gone, both ways, by their numbers in the whole system.
    pub channels: BTreeSet<ChannelId>,
    /// Names the GPUs that are gone.
    pub gpus: BTreeSet<u32>,
    /// Names the servers that reached others and reach none any more.
    pub cut_off: BTreeSet<u32>,
}

impl System {
    /// The same system without some parts, by their names ([`Self::parts_named`]). An absent device
    /// stays in its place, without links.
    ///
    /// # Errors
    /// A name that no part has, and servers that a few numbers describe.
    pub fn without(&self, names: &[impl AsRef<str>]) -> Result<Self, PartError> {
        let mut parts = Vec::new();
        for name in names {
            parts.extend(self.parts_named(name.as_ref())?);
        }
        Ok(self.losing(&parts)?.system)
    }

    /// Names the GPUs that were left out, with a part or by themselves: no link joins them any more.
    #[must_use]
    pub fn lost_gpus(&self) -> Vec<u32> {
        let is_lost = |gpu: &u32| {
            let at = self.gpu(*gpu);
            let server = self.kind_of(at.server).server();
            let device = server.gpus()[at.index as usize];
            server.lacks_parts() && !server.links().iter().any(|link| link.joins(device))
        };
        (0..self.gpus()).filter(is_lost).collect()
    }

    /// Loses some parts.
    ///
    /// # Errors
    /// Refuses parts of servers that a few numbers describe.
    pub fn losing(&self, parts: &[SystemPart]) -> Result<Losses, PartError> {
        let mut lost = Lost::default();
        for part in parts {
            lost.take(self, *part)?;
        }
        if !lost.of_fabric.is_empty() {
            lost.cut_ports(self)?;
        }
        lost.cut_gpus(self)?;
        let mut left = self.without_links(&lost.links);
        if let (Some(fabric), false) = (self.shared_fabric(), lost.of_fabric.is_empty()) {
            left.fabric = Some(Arc::new(fabric.without(&lost.of_fabric)));
        }
        let cut_off =
            (0..self.servers()).filter(|it| !self.is_cut_off(*it) && left.is_cut_off(*it));
        let cut_off = cut_off.collect();
        let channels = lost.channels(self);
        Ok(Losses { system: left, channels, gpus: lost.gpus, cut_off })
    }

    /// Whether no interface of a server has a link within it.
    fn is_cut_off(&self, server: u32) -> bool {
        let kind = self.kind_of(server);
        let template = kind.server();
        !template.nics_meet_gpus()
            && !kind.nics().iter().any(|nic| template.links().iter().any(|it| it.joins(*nic)))
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

/// Collects what is gone of a system.
#[derive(Debug, Default)]
struct Lost {
    /// Lists links of servers, by their indices there.
    links: BTreeMap<u32, BTreeSet<usize>>,
    /// Lists channels of the fabric, both ways.
    of_fabric: BTreeSet<ChannelId>,
    gpus: BTreeSet<u32>,
}

impl Lost {
    /// Loses one part more.
    fn take(&mut self, system: &System, part: SystemPart) -> Result<(), PartError> {
        match part {
            SystemPart::Link { server, link } => {
                template(system, server)?;
                self.links.entry(server).or_default().insert(link);
            }
            SystemPart::Device { server, device } => self.take_device(system, server, device)?,
            SystemPart::Server { server } => {
                for device in 0..template(system, server)?.devices().len() {
                    self.take_device(system, server, device)?;
                }
            }
            SystemPart::Switch { switch } => {
                let fabric = system.fabric().expect("only a fabric has switches");
                for channel in fabric.outgoing(switch) {
                    self.take_channel(system, *channel)?;
                }
            }
            SystemPart::FabricLink { channel } => self.take_channel(system, channel)?,
        }
        Ok(())
    }

    /// Loses a device of a server with its links.
    fn take_device(
        &mut self,
        system: &System,
        server: u32,
        device: DeviceId,
    ) -> Result<(), PartError> {
        let template = template(system, server)?;
        let links = template.links().iter().enumerate().filter(|(_, link)| link.joins(device));
        self.links.entry(server).or_default().extend(links.map(|(at, _)| at));
        let gpu = template.gpus().iter().position(|gpu| *gpu == device);
        self.gpus.extend(gpu.map(|index| system.gpu_at(server, index as u32)));
        Ok(())
    }

    /// Loses a link of the fabric, and the interface on it.
    fn take_channel(&mut self, system: &System, channel: ChannelId) -> Result<(), PartError> {
        let fabric = system.fabric().expect("only a fabric has channels of its own");
        self.of_fabric.extend([channel, Fabric::reverse(channel)]);
        let link = &fabric.channels()[channel as usize];
        match (link.from, link.to) {
            (End::Node(port), _) | (_, End::Node(port)) => match system.nic_of_port(port) {
                Some(nic) => {
                    let at = system.nic(nic);
                    let device = system.kind_of(at.server).nics()[at.index as usize];
                    self.take_device(system, at.server, device)
                }
                // A spare port has no interface.
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Loses the ports that the largest part of the fabric does not reach any more.
    fn cut_ports(&mut self, system: &System) -> Result<(), PartError> {
        let fabric = system.fabric().expect("something of it is lost");
        let is_left = |port: &u32| {
            system.nic_of_port(*port).is_some()
                && !self.of_fabric.contains(&Fabric::injection(*port))
        };
        let mut of_part: BTreeMap<SwitchId, Vec<u32>> = BTreeMap::new();
        let parts = connected(fabric, &self.of_fabric);
        for port in (0..fabric.nodes()).filter(is_left) {
            of_part.entry(parts[fabric.switch_of(port) as usize]).or_default().push(port);
        }
        let mut largest: Vec<Vec<u32>> = of_part.into_values().collect();
        // Of equal ones the first stays.
        largest.sort_by_key(|ports| std::cmp::Reverse(ports.len()));
        for port in largest.into_iter().skip(1).flatten() {
            self.take_channel(system, Fabric::injection(port))?;
        }
        Ok(())
    }

    /// Loses the GPUs that reach no CPU in what is left, and did before.
    fn cut_gpus(&mut self, system: &System) -> Result<(), PartError> {
        let servers: Vec<u32> = self.links.keys().copied().collect();
        for server in servers {
            let template = system.kind_of(server).server();
            let [before, after] =
                [&BTreeSet::new(), &self.links[&server]].map(|gone| driven(template, gone));
            let gpus = template.gpus().iter().zip(before.iter().zip(after));
            let cut = gpus.filter(|(_, (before, after))| **before && !after);
            for (gpu, _) in cut {
                self.take_device(system, server, *gpu)?;
            }
        }
        Ok(())
    }

    /// Names all channels that are gone.
    fn channels(&self, system: &System) -> BTreeSet<ChannelId> {
        let of_server = |(server, links): (&u32, &BTreeSet<usize>)| {
            let channel = |link: &usize| system.channel_at(*server, 2 * *link as u32);
            links.iter().map(channel).flat_map(|it| [it, it + 1]).collect::<Vec<_>>()
        };
        let inside = self.links.iter().flat_map(of_server);
        self.of_fabric.iter().copied().chain(inside).collect()
    }
}

/// Gives the parts of a server, if it is described by these.
fn template(system: &System, server: u32) -> Result<&Server, PartError> {
    let template = system.kind_of(server).server();
    if template.nics_meet_gpus() {
        return Err(PartError::Abstract { server: template.name().to_owned() });
    }
    Ok(template)
}

/// Names for each switch the first that it is connected with.
fn connected(fabric: &Fabric, gone: &BTreeSet<ChannelId>) -> Vec<SwitchId> {
    let mut first = vec![SwitchId::MAX; fabric.switches() as usize];
    for start in 0..fabric.switches() {
        if first[start as usize] != SwitchId::MAX {
            continue;
        }
        first[start as usize] = start;
        let mut pending = vec![start];
        while let Some(switch) = pending.pop() {
            for channel in fabric.outgoing(switch).iter().filter(|it| !gone.contains(it)) {
                let End::Switch(next) = fabric.channels()[*channel as usize].to else { continue };
                if first[next as usize] == SwitchId::MAX {
                    first[next as usize] = start;
                    pending.push(next);
                }
            }
        }
    }
    first
}

/// Tells for each GPU of a server whether it reaches a CPU over the host without some links.
fn driven(server: &Server, gone: &BTreeSet<usize>) -> Vec<bool> {
    let kind = |device: DeviceId| server.devices()[device].kind;
    let passes = |device: DeviceId| {
        !matches!(kind(device), DeviceKind::Gpu | DeviceKind::NvSwitch | DeviceKind::Nic)
    };
    let mut reached = vec![false; server.devices().len()];
    let cpus = (0..reached.len()).filter(|device| kind(*device) == DeviceKind::Cpu);
    let mut pending: Vec<DeviceId> = cpus.collect();
    pending.iter().for_each(|cpu| reached[*cpu] = true);
    while let Some(device) = pending.pop() {
        let links = server.links().iter().enumerate();
        let left = links.filter(|(at, link)| link.joins(device) && !gone.contains(at));
        for (_, link) in left {
            let next = link.other_end(device);
            if !std::mem::replace(&mut reached[next], true) && passes(next) {
                pending.push(next);
            }
        }
    }
    server.gpus().iter().map(|gpu| reached[*gpu]).collect()
}

#[cfg(test)]
mod tests;
