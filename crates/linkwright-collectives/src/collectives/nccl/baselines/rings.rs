//! NCCL's rings on the links that one server gives a job.
//!
//! Over NVLink between GPUs a ring takes one link of every pair that it crosses, in one direction.
//! There are as many rings as fit, in both directions. NCCL's `search.cc` tries each rate from high
//! to low. At each rate it tries direct NVLinks before relays before PCIe. Over `NVSwitches` any
//! order does. Over PCIe the order follows the host tree.

use super::choice::rules::Search;
use super::choice::versions::today;
use super::fabric::{Fabric, host_order};
use super::generation::Generation;
use super::search::pack_rings;
use crate::collectives::planners::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::schedule::{ChannelTransport, Relay};
use crate::system::{System, Wiring};

/// Names the era of NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// Stands for NCCL 2.3 and 2.4, which have no relays.
    Classic,
    /// Stands for NCCL as seen in 2.18.5 and 2.30, with relays through GPUs of the job (NVB).
    Recent,
}

/// Names the links that carry the rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RingPath {
    /// Stands for NVLinks between GPUs.
    Direct,
    /// Stands for `NVSwitches`.
    Switched,
    /// Stands for NVLinks, with some hops through a third GPU.
    Relayed,
    /// PCIe and what joins the sockets.
    Host,
}

impl RingPath {
    /// The links that a schedule's channel uses.
    #[must_use]
    pub const fn transport(self) -> ChannelTransport {
        match self {
            Self::Host => ChannelTransport::Host,
            Self::Direct | Self::Switched | Self::Relayed => ChannelTransport::Best,
        }
    }
}

/// Describes one directed ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRing {
    /// Positions in the list of GPUs; each sends to the next, the last to the first.
    pub order: Vec<usize>,
    /// Hops through a third GPU: ends as positions in the list, the relay by its id in the
    /// system. Both links of such a hop are used.
    pub relays: Vec<Relay>,
}

/// Holds the rings of one server's GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rings {
    /// Names the links that carry them.
    pub path: RingPath,
    /// Holds the rings, at least one.
    pub rings: Vec<FoundRing>,
    /// Whether no larger set of rings exists on these links.
    pub exact: bool,
}

/// The rings that NCCL of an era makes on these GPUs of one server.
///
/// # Errors
/// Fails as [`check_gpus`] does.
pub fn find_rings(system: &System, gpus: &[usize], era: Era) -> Result<Rings, LinkGraphError> {
    check_gpus(system, gpus)?;
    Ok(rings_of(today(), &Wiring::of_gpus(system, gpus), gpus, era))
}

/// As [`find_rings`], also for one GPU, whose only ring is itself.
pub(super) fn rings_of(search: &Search, wiring: &Wiring, gpus: &[usize], era: Era) -> Rings {
    let fabric = Fabric::new(wiring, gpus);
    let plain = |order: Vec<usize>| FoundRing { order, relays: Vec::new() };
    let whole = (0..gpus.len()).collect::<Vec<_>>();
    if fabric.switched > 0 || gpus.len() == 1 {
        let generation = Generation::of(wiring, gpus);
        let channels = search.switched_channels(generation, fabric.switched).0.max(1);
        let rings = vec![plain(whole); channels as usize];
        return Rings { path: RingPath::Switched, rings, exact: true };
    }
    let packed = pack_rings(&fabric, false);
    if !packed.orders.is_empty() {
        let rings = packed.orders.into_iter().map(plain).collect();
        return Rings { path: RingPath::Direct, rings, exact: packed.exact };
    }
    if era == Era::Recent {
        let packed = pack_rings(&fabric, true);
        if !packed.orders.is_empty() {
            let rings = packed.orders.into_iter().map(|order| {
                let relays = relays_of(&fabric, gpus, &order);
                FoundRing { order, relays }
            });
            let rings = rings.collect();
            return Rings { path: RingPath::Relayed, rings, exact: packed.exact };
        }
    }
    host_ring(wiring, gpus, era == Era::Recent)
}

/// Lists the rings of RCCL's model of 8 MI300X in a full mesh. It has 14 rings, two on each link in
/// each direction (ROCm/rccl, `src/graph/rome_models.cc`, `rome_model_79`).
const FULL_MESH_OF_8: [[usize; 8]; 14] = [
    [0, 1, 2, 3, 4, 5, 6, 7],
    [0, 1, 2, 3, 4, 5, 7, 6],
    [0, 2, 4, 1, 3, 6, 5, 7],
    [0, 2, 4, 6, 1, 7, 3, 5],
    [0, 3, 1, 5, 2, 7, 4, 6],
    [0, 3, 5, 1, 6, 2, 7, 4],
    [0, 4, 1, 7, 3, 6, 2, 5],
    [7, 6, 5, 4, 3, 2, 1, 0],
    [6, 7, 5, 4, 3, 2, 1, 0],
    [7, 5, 6, 3, 1, 4, 2, 0],
    [5, 3, 7, 1, 6, 4, 2, 0],
    [6, 4, 7, 2, 5, 1, 3, 0],
    [4, 7, 2, 6, 1, 5, 3, 0],
    [5, 2, 6, 3, 7, 1, 4, 0],
];

/// Returns the rings that RCCL makes. For 8 GPUs in a full mesh they are the rings of its model.
/// For others as many as fit with two on each link are found by the search of [`rings_of`].
pub(super) fn rings_of_rccl(wiring: &Wiring, gpus: &[usize]) -> Rings {
    let mut fabric = Fabric::new(wiring, gpus);
    let plain = |order: Vec<usize>| FoundRing { order, relays: Vec::new() };
    let mesh = gpus.len() == 8 && fabric.fewest() == 1;
    if mesh && fabric.lanes.iter().all(|lanes| *lanes <= 1) {
        let rings = FULL_MESH_OF_8.iter().map(|order| plain(order.to_vec())).collect();
        return Rings { path: RingPath::Direct, rings, exact: true };
    }
    fabric.lanes.iter_mut().for_each(|lanes| *lanes *= 2);
    let packed = pack_rings(&fabric, false);
    if packed.orders.is_empty() {
        return host_ring(wiring, gpus, true);
    }
    let rings = packed.orders.into_iter().map(plain).collect();
    Rings { path: RingPath::Direct, rings, exact: packed.exact }
}

/// The one ring over PCIe. Where rings may be mixed, neighbours that NVLink joins follow one another in it.
/// NCCL's search bounds the worst of a ring's hops alone (`typeIntra` of `search.cc`).
pub(super) fn host_ring(wiring: &Wiring, gpus: &[usize], is_mixed: bool) -> Rings {
    let order = host_order(wiring, gpus, is_mixed);
    Rings {
        path: RingPath::Host,
        rings: vec![FoundRing { order, relays: Vec::new() }],
        exact: true,
    }
}

fn relays_of(fabric: &Fabric, gpus: &[usize], order: &[usize]) -> Vec<Relay> {
    let hop = |at: usize| (order[at], order[(at + 1) % order.len()]);
    let relay = |(from, to): (usize, usize)| {
        fabric.relay(from, to).map(|through| Relay { from, to, through: gpus[through] })
    };
    (0..order.len()).map(hop).filter_map(relay).collect()
}

#[cfg(test)]
mod tests;
