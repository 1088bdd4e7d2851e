//! Which channels of a system carry what goes over resources of routes.
//!
//! What it represents: a resource is a direction of a link, which is a channel of the system. What enters the fabric at ports
//! leaves it at others, each with its part of the whole, and is divided over the shortest paths between their switches. That
//! also holds where these hold nothing up, and so are no resources.
//!
//! What it leaves out: dragonflies, whose paths depend on all that is under way. Nobody knows what their switches' links carry.

use super::{ResourceId, Routes};
use crate::system::System;
use crate::system::fabric::{ChannelId, Fabric, FabricPaths, NodeId};

/// What is counted of the links between a fabric's switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum InnerCounts {
    /// Data, packets and queues.
    #[default]
    All,
    /// Data alone.
    Data,
    /// Nothing.
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
    /// Those of routes over a whole system.
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

    /// What is counted of the links between the fabric's switches.
    #[must_use]
    pub const fn inner(&self) -> InnerCounts {
        self.inner
    }

    /// The channel of a resource; None of what is none, as the memory of a CPU.
    ///
    /// # Panics
    /// If there is no such resource.
    #[must_use]
    pub fn channel(&self, resource: ResourceId) -> Option<ChannelId> {
        self.channels[resource]
    }

    /// Tells each channel, with what it carries of what is divided over resources so; some of them several times.
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
