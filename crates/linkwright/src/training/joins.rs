//! How the GPUs of a job reach each other's memory.

use std::collections::BTreeMap;

use crate::network::{RouteClass, Routes};
use crate::system::{Proximity, System, Wiring, proximity};

/// How one GPU copies to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Join {
    /// Over their own NVLinks or xGMI, or NVSwitches.
    Fabric,
    /// From one to the other over PCIe, below one CPU.
    Pcie,
    /// Into the memory of a CPU and out of it again, since no peer copy crosses the links between CPUs.
    Staged,
    /// In two servers.
    Network,
}

/// How every GPU of a job reaches every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joins {
    /// Row by row; a GPU and itself are joined by their fabric.
    joins: Vec<Vec<Join>>,
}

impl Joins {
    /// Those of GPUs by their ids in the system, in the order of a job's ranks.
    #[must_use]
    pub fn of(system: &System, gpus: &[u32]) -> Self {
        let wiring = Wiring::of_system(system);
        let routes = Routes::at_peak(&wiring);
        let places: Vec<_> = gpus.iter().map(|gpu| system.gpu(*gpu)).collect();
        let kinds = places.iter().map(|place| system.kind_index_of(place.server));
        let near: BTreeMap<usize, _> =
            kinds.map(|kind| (kind, proximity(system.kinds()[kind].server()))).collect();
        let joined = |a: usize, b: usize| {
            let [from, to] = [&places[a], &places[b]];
            if from.server != to.server {
                return Join::Network;
            }
            let [own, other] = [a, b].map(|rank| wiring.gpu(gpus[rank] as usize));
            if a == b || routes.route(own, other, RouteClass::Fabric).is_some() {
                return Join::Fabric;
            }
            let near = &near[&system.kind_index_of(from.server)];
            match near[from.index as usize][to.index as usize] {
                Some(Proximity::Sys) | None => Join::Staged,
                Some(_) => Join::Pcie,
            }
        };
        let row = |a: usize| (0..gpus.len()).map(|b| joined(a, b)).collect();
        Self { joins: (0..gpus.len()).map(row).collect() }
    }

    /// How one rank copies to another.
    #[must_use]
    pub fn of_pair(&self, from: u32, to: u32) -> Join {
        self.joins[from as usize][to as usize]
    }

    /// The rank with links to both that copies pass through where two have none; the first that has.
    #[must_use]
    pub fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let is_joined = |a: u32, b: u32| a != b && self.of_pair(a, b) == Join::Fabric;
        (0..self.joins.len() as u32).find(|by| is_joined(from, *by) && is_joined(*by, to))
    }

    /// The first two ranks that are in two servers.
    #[must_use]
    pub fn apart(&self) -> Option<(u32, u32)> {
        let ranks = self.joins.len() as u32;
        let pairs = (0..ranks).flat_map(|a| (a + 1..ranks).map(move |b| (a, b)));
        pairs.into_iter().find(|(a, b)| self.of_pair(*a, *b) == Join::Network)
    }
}
