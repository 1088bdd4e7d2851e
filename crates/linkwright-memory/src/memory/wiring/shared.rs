//! Joins second levels and the unified controllers of truly shared memory.
//!
//! One switch joins them, or another wiring ([`PackageWiring`](crate::system::gpus::PackageWiring)).
//! Each GPU and its share of the controllers make a tile, as stacks of memory stand beside GPUs on an interposer. A bank has a link
//! each way, all banks of a GPU together as fast as the bandwidth says. So has each controller, as
//! fast as the banks that it serves. Links between switches carry messages to memory and back.
//!
//! An answer goes back the way on which its request came, so that no probe overtakes an answer. There are
//! no credits, and so no deadlock; nor does a way avoid what is busy.

use std::collections::BTreeMap;

use super::of_bank;
use crate::network::wires::{SharedWays, WirePath, WireRate, Wires};
use crate::system::gpus::{Hierarchy, PackageWiring, WiringShape};
use crate::units::{Bandwidth, Picoseconds};

/// Middle switches of a Clos network where nothing else is said.
const MIDDLE: u32 = 2;

/// Places GPUs and controllers at switches, and says which switches lie between two of them.
#[derive(Debug, Clone, Copy)]
struct Layout {
    shape: WiringShape,
    gpus: u32,
    banks: u32,
    middle: u32,
}

impl Layout {
    /// Gives the switches on the way from a GPU to a controller; none where a link joins them.
    fn way(&self, gpu: u32, controller: u32) -> Vec<u32> {
        let home = controller * self.gpus / self.banks;
        match self.shape {
            WiringShape::Switch => vec![0],
            WiringShape::Crossbar => Vec::new(),
            WiringShape::Ring => self.around(gpu, home, controller),
            WiringShape::Mesh => self.across(gpu, home),
            WiringShape::Clos if gpu == home => vec![gpu],
            WiringShape::Clos => vec![gpu, self.gpus + controller % self.middle, home],
            WiringShape::Interposers => {
                let mut way = [gpu, home].map(|tile| tile * 2 / self.gpus).to_vec();
                way.dedup();
                way
            }
        }
    }

    /// Gives the shorter way around a ring. Of two that are equal, controllers take turns.
    fn around(&self, from: u32, to: u32, controller: u32) -> Vec<u32> {
        let up = (to + self.gpus - from) % self.gpus;
        let down = (self.gpus - up) % self.gpus;
        let goes_up = up < down || (up == down && controller.is_multiple_of(2));
        let (steps, step) = if goes_up { (up, 1) } else { (down, self.gpus - 1) };
        (0..=steps).map(|taken| (from + taken * step) % self.gpus).collect()
    }

    /// Gives the way along a row of a mesh, then along a column.
    fn across(&self, from: u32, to: u32) -> Vec<u32> {
        let columns = self.columns();
        let mut at = [from % columns, from / columns];
        let to = [to % columns, to / columns];
        let mut way = vec![from];
        for side in 0..2 {
            while at[side] != to[side] {
                at[side] = if at[side] < to[side] { at[side] + 1 } else { at[side] - 1 };
                way.push(at[1] * columns + at[0]);
            }
        }
        way
    }

    /// Gives the columns of a mesh: the least number that divides the tiles and is no less than
    /// the rows.
    fn columns(&self) -> u32 {
        let is_it =
            |columns: &u32| self.gpus.is_multiple_of(*columns) && columns * columns >= self.gpus;
        (1..=self.gpus).find(is_it).unwrap_or(self.gpus)
    }

    fn name(&self, switch: u32) -> String {
        match self.shape {
            WiringShape::Switch | WiringShape::Crossbar => "switch".to_owned(),
            WiringShape::Clos if switch >= self.gpus => format!("middle {}", switch - self.gpus),
            WiringShape::Clos => format!("leaf {switch}"),
            WiringShape::Ring | WiringShape::Mesh => format!("router {switch}"),
            WiringShape::Interposers => format!("interposer {switch}"),
        }
    }
}

/// Builds the links between the banks of all second-level caches and the unified controllers. There
/// are as many controllers as a GPU has banks. [`shared_path`] numbers the ways.
///
/// Alone, a message takes each link's latency and its bytes' time on it. The last link's latency
/// stands with the first link, as it does in a switch: no queue tells the difference.
#[must_use]
pub fn shared(hierarchy: &Hierarchy, gpus: u32, bandwidth: Bandwidth) -> Wires {
    let cycle = hierarchy.cycle.0;
    let wiring = hierarchy.wiring.as_ref();
    let latency = Picoseconds(u64::from(hierarchy.pcie.switch) * cycle);
    let ways = SharedWays {
        gpus: (0..gpus).map(|gpu| (format!("GPU{gpu}"), bandwidth)).collect(),
        switch: "switch".to_owned(),
        memory: Bandwidth(bandwidth.0.saturating_mul(u64::from(gpus))),
        latency,
    };
    wired(hierarchy, &ways, wiring)
}

/// Builds the same of a machine, whose links lead to one switch whatever a GPU's file says of a wiring.
#[must_use]
pub fn shared_of(hierarchy: &Hierarchy, ways: &SharedWays) -> Wires {
    wired(hierarchy, ways, None)
}

fn wired(hierarchy: &Hierarchy, ways: &SharedWays, wiring: Option<&PackageWiring>) -> Wires {
    let (banks, gpus) = (hierarchy.second.banks, ways.gpus.len() as u32);
    let cycle = hierarchy.cycle.0;
    // Each GPU has an even part of the way to memory.
    let bandwidth = Bandwidth(ways.memory.0 / u64::from(gpus));
    let layout = Layout {
        shape: wiring.map_or(WiringShape::Switch, |it| it.shape),
        gpus,
        banks,
        middle: wiring.and_then(|it| it.middle).unwrap_or(MIDDLE),
    };
    let [of_ends, of_others] = match wiring {
        None => [ways.latency.0, 0],
        Some(it) => {
            let link = u64::from(it.link) * cycle;
            [2 * link, it.between.map_or(link, |between| u64::from(between) * cycle)]
        }
    };
    let rate = |bandwidth: u64| WireRate::Bytes { bandwidth, cycle };
    let of_memory = of_bank(hierarchy, bandwidth);
    let of_gpu = |end: u32| of_bank(hierarchy, ways.gpus[(end / banks) as usize].1);
    let between = rate(wiring.and_then(|it| it.bandwidth).unwrap_or(bandwidth).0.max(1));
    let name = |switch: u32| match layout.shape {
        WiringShape::Switch => ways.switch.clone(),
        _ => layout.name(switch),
    };
    let routes: Vec<Vec<u32>> =
        (0..gpus * banks).map(|end| layout.way(end / banks, end % banks)).collect();

    let mut links = Wires::new();
    let mut joined = BTreeMap::new();
    for down in [true, false] {
        let mut link = |of: (String, String), bandwidth, is_first: bool| {
            let (from, to) = if is_first { of } else { (of.1, of.0) };
            let latency = if is_first { of_ends } else { 0 };
            links.channel(format!("{from} to {to}"), rate(bandwidth), latency)
        };
        let bank_of =
            |end: u32| format!("{} L2 bank {}", ways.gpus[(end / banks) as usize].0, end % banks);
        if layout.shape == WiringShape::Crossbar {
            let path = |end: u32| {
                let of = (bank_of(end), format!("controller {}", end % banks));
                let (from, to) = if down { of } else { (of.1, of.0) };
                links.channel(format!("{from} to {to}"), rate(of_gpu(end)), of_ends / 2)
            };
            let paths: Vec<u32> = (0..gpus * banks).map(path).collect();
            paths.iter().for_each(|link| links.path(&[*link]));
            continue;
        }
        let controllers: Vec<u32> = (0..banks)
            .map(|controller| {
                let tile = (controller * gpus / banks) * banks + controller;
                let switch = name(routes[tile as usize][0]);
                let controller = format!("controller {controller}");
                link((controller, switch), of_memory * u64::from(gpus), !down)
            })
            .collect();
        let ends: Vec<u32> = (0..gpus * banks)
            .map(|end| link((bank_of(end), name(routes[end as usize][0])), of_gpu(end), down))
            .collect();
        for (end, way) in routes.iter().enumerate() {
            let mut path = vec![ends[end]];
            for step in way.windows(2) {
                let (from, to) = if down { (step[0], step[1]) } else { (step[1], step[0]) };
                let link = joined.entry((from, to)).or_insert_with(|| {
                    let both = format!("{} to {}", name(from), name(to));
                    links.channel(both, between, of_others)
                });
                path.push(*link);
            }
            path.push(controllers[end % banks as usize]);
            if !down {
                path.reverse();
            }
            links.path(&path);
        }
    }
    links
}

/// Gives the path from a bank, by its number over all GPUs, to its controller, or back.
#[inline]
#[must_use]
pub fn shared_path(banks: u32, bank: u32, to_memory: bool) -> WirePath {
    if to_memory { bank } else { banks + bank }
}

#[cfg(test)]
mod tests;
