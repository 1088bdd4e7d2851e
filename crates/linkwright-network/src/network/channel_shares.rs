//! Finds the channels of a system that carry the data of routes.
//!
//! It represents a resource as a direction of a link, which is a channel of the system. Data enters the fabric at ports and
//! leaves it at others. It is divided over the shortest paths between their switches, also where these hold nothing up, and so
//! are no resources.
//!
//! It leaves out dragonflies, whose paths depend on all that is under way. Nobody knows the loads of their switches' links.

use super::{ResourceId, Routes};
use crate::system::System;
use crate::system::fabric::{ChannelId, Fabric, FabricPaths, NodeId};

/// Says how much is counted of the links between a fabric's switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum InnerCounts {
    /// Counts data, packets and queues.
    #[default]
    All,
    /// Counts data alone.
    Data,
    /// Counts nothing.
    Nothing,
}

/// Finds the channels of resources.
#[derive(Debug, Clone)]
pub struct ChannelShares {
    /// The channel of each resource that is one.
    channels: Vec<Option<ChannelId>>,
    /// The port of each resource that enters the fabric, or leaves it.
    ports: Vec<Option<(NodeId, bool)>>,
    /// How what enters is divided, where the fabric's own links are no resources.
    paths: Option<FabricPaths>,
    inner: InnerCounts,
}

impl ChannelShares {
    /// Finds those of routes over a whole system.
    #[must_use]
    pub fn new(system: &System, routes: &Routes<'_>) -> Self {
        let wiring = routes.wiring();
        let crossbar = wiring.crossbar();
        let count = routes.capacities().len();
        let channel = |resource: ResourceId| {
            let forwards = routes.wire(resource).0.channel?;
            Some(if resource.is_multiple_of(2) { forwards } else { Fabric::reverse(forwards) })
        };
        let port = |resource: ResourceId| {
            let (wire, sender) = routes.wire(resource);
            let is_port = wire.a != wire.b && Some(wire.b) == crossbar;
            let node = wiring.port_of(wire.a).filter(|_| is_port)?;
            Some((node, Some(sender) == crossbar))
        };
        let are_resources = wiring.fabric_paths().is_some();
        let paths = system.shortest_fabric_paths();
        let has_inner =
            system.fabric().is_some_and(|it| it.channels().len() as u32 > 2 * it.nodes());
        let inner = match (has_inner, are_resources, &paths) {
            (false, ..) | (_, true, _) => InnerCounts::All,
            (_, _, Some(_)) => InnerCounts::Data,
            (_, _, None) => InnerCounts::Nothing,
        };
        Self {
            channels: (0..count).map(channel).collect(),
            ports: (0..count).map(port).collect(),
            paths: paths.filter(|_| !are_resources),
            inner,
        }
    }

    /// Says how much is counted of the links between the fabric's switches.
    #[must_use]
    pub const fn inner(&self) -> InnerCounts {
        self.inner
    }

    /// Gives the channel of a resource; None of the memory of a CPU.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn channel(&self, resource: ResourceId) -> Option<ChannelId> {
        self.channels[resource]
    }

    /// Tells each channel with its part of data that is divided over resources; some channels several times.
    pub fn each(
        &self,
        uses: impl Iterator<Item = (ResourceId, f64)>,
        mut tell: impl FnMut(ChannelId, f64),
    ) {
        let (mut entered, mut left) = (Vec::new(), Vec::new());
        for (resource, part) in uses {
            if let Some(channel) = self.channels[resource] {
                tell(channel, part);
            }
            match self.ports[resource].filter(|_| self.paths.is_some()) {
                Some((port, false)) => entered.push((port, part)),
                Some((port, true)) => left.push((port, part)),
                None => {}
            }
        }
        let Some(paths) = &self.paths else { return };
        let total: f64 = entered.iter().map(|(_, part)| part).sum();
        for (from, part) in entered {
            for (to, other) in &left {
                for (channel, share) in paths.shares(from, *to).iter() {
                    tell(*channel, part * other / total * share);
                }
            }
        }
    }
}
