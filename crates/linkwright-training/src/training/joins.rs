//! Says how the GPUs of a job reach each other's memory.

use std::collections::BTreeMap;

use crate::network::{RouteClass, Routes};
use crate::system::{Proximity, System, Wiring, proximity};

/// How one GPU copies to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Join {
    /// They have their own NVLinks or xGMI, or NVSwitches.
    Fabric,
    /// Data goes from one to the other over PCIe, below one CPU.
    Pcie,
    /// Data goes into the memory of a CPU and out of it again, since no peer copy crosses the links
    /// between CPUs.
    Staged,
    /// They are in two servers.
    Network,
}

/// How every GPU of a job reaches every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joins {
    ranks: Vec<Seat>,
    /// For each kind of server how its GPUs reach each other, row by row; a GPU and itself are joined by their fabric.
    of_kind: BTreeMap<usize, Vec<Vec<Join>>>,
}

/// Where a rank's GPU is: its server, that one's kind, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seat {
    server: u32,
    kind: usize,
    place: usize,
}

impl Joins {
    /// Returns the joins of GPUs by their ids in the system, in the order of a job's ranks.
    #[must_use]
    pub fn of(system: &System, gpus: &[u32]) -> Self {
        let seat = |gpu: &u32| {
            let place = system.gpu(*gpu);
            let kind = system.kind_index_of(place.server);
            Seat { server: place.server, kind, place: place.index as usize }
        };
        let ranks: Vec<Seat> = gpus.iter().map(seat).collect();
        let mut of_kind = BTreeMap::new();
        for Seat { server, kind, .. } in &ranks {
            of_kind.entry(*kind).or_insert_with(|| of_server(system, *server));
        }
        Self { ranks, of_kind }
    }

    /// How one rank copies to another.
    #[must_use]
    pub fn of_pair(&self, from: u32, to: u32) -> Join {
        let [from, to] = [from, to].map(|rank| self.ranks[rank as usize]);
        if from.server != to.server {
            return Join::Network;
        }
        self.of_kind[&from.kind][from.place][to.place]
    }

    /// The rank with links to both that copies pass through where two have none; the first that has.
    #[must_use]
    pub fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let is_joined = |a: u32, b: u32| a != b && self.of_pair(a, b) == Join::Fabric;
        (0..self.ranks.len() as u32).find(|by| is_joined(from, *by) && is_joined(*by, to))
    }

    /// The first rank that copies to another only by the memory of a CPU.
    #[must_use]
    pub fn staged(&self, to: u32) -> Option<u32> {
        (0..self.ranks.len() as u32).find(|from| self.of_pair(*from, to) == Join::Staged)
    }

    /// The first two ranks that are in two servers.
    #[must_use]
    pub fn apart(&self) -> Option<(u32, u32)> {
        let first = self.ranks.first()?.server;
        let other = self.ranks.iter().position(|seat| seat.server != first)?;
        Some((0, other as u32))
    }
}

/// Says how the GPUs of a server reach each other.
fn of_server(system: &System, server: u32) -> Vec<Vec<Join>> {
    let first = system.gpu_at(server, 0) as usize;
    let wiring = Wiring::of_gpus(system, &[first]);
    let routes = Routes::at_peak(&wiring);
    let near = proximity(system.kind_of(server).server());
    let joined = |a: usize, b: usize| {
        let [own, other] = [a, b].map(|place| wiring.gpu(first + place));
        if a == b || routes.route(own, other, RouteClass::Fabric).is_some() {
            return Join::Fabric;
        }
        match near[a][b] {
            Some(Proximity::Sys) | None => Join::Staged,
            Some(_) => Join::Pcie,
        }
    };
    let row = |a: usize| (0..near.len()).map(|b| joined(a, b)).collect();
    (0..near.len()).map(row).collect()
}
