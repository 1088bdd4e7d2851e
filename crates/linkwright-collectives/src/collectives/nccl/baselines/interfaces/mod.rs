//! Tells how channels between servers are dealt to network interfaces.
//!
//! NCCL's search goes over all interfaces of a server in turn. For each it makes a chain through the server's GPUs that
//! enters by it. Where it can, the chain leaves by it again, so that a ring stays on one rail. It keeps the channels that
//! carry the most together (NCCL 2.30.7, `src/graph/search.cc`: `ncclTopoSearchRecNet`, `ncclTopoSelectNets`,
//! `ncclTopoCompute`). So does this. A way to deal channels carries what its fullest link lets it, as long transfers reach
//! that. Of about equal ways the first that NCCL would try is taken. RCCL goes by the same source without forwarding
//! GPUs (`PXN_DISABLE` is 1 in its `src/graph/paths.cc`), and lists the chains of eight MI300X.
//!
//! Left out are the rates that NCCL counts on in place of the links' own, and its limit of time.

mod chains;
mod crossings;
mod reach;
mod side;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use self::chains::Chain;
pub(in crate::collectives) use self::crossings::Messages;
use self::reach::Reach;
use self::side::{Dealt, Side};
use super::rings::Rings;
use crate::collectives::schedule::time::resources;
use crate::diagnostic::Named;
use crate::system::{LinkKind, Wiring};

/// Says whether a ring or tree may leave a server by another interface than it entered by (`NCCL_CROSS_NIC`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum CrossNic {
    /// It may not: every ring stays on its rail.
    Never,
    /// It always may.
    Always,
    /// It may where that carries more.
    #[default]
    IfBetter,
}

impl Named for CrossNic {
    const WHAT: &'static str = "value of NCCL_CROSS_NIC";
    const NAMED: &'static [(&'static str, Self)] =
        &[("0", Self::Never), ("1", Self::Always), ("2", Self::IfBetter)];
}

/// Says what a release and the settings make of interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::collectives) struct Dealing {
    pub(super) cross: CrossNic,
    /// Whether GPUs far from an interface send by one that is near.
    pub(super) pxn: bool,
    /// Lets interfaces read and write the memory of GPUs.
    pub(super) gpudirect: bool,
    /// Lets rings that cross go by pairs. Every other server exchanges the two, so that they stay on rails.
    pub(super) paired: bool,
    /// Whether it is RCCL, which has a list for eight MI300X.
    pub(super) listed: bool,
}

impl Dealing {
    /// That of the newest release of the library that runs on these links.
    pub(in crate::collectives) fn newest(wiring: &Wiring) -> Self {
        let is_amd = wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi));
        let cross = CrossNic::default();
        Self { cross, pxn: !is_amd, gpudirect: true, paired: !is_amd, listed: is_amd }
    }

    /// That of releases before PXN.
    pub(super) fn classic(wiring: &Wiring) -> Self {
        Self { pxn: false, paired: false, ..Self::newest(wiring) }
    }
}

/// How much of the best a way to deal may lack that is tried before it.
const AS_GOOD: f64 = 0.98;

/// Holds a job's channels on its servers.
#[derive(Debug, Clone)]
pub(super) struct Deal {
    /// Gives the kind of each server.
    kinds: Vec<usize>,
    /// Gives the channels of each kind of server.
    dealt: Vec<Dealt>,
    reaches: Vec<Reach>,
}

impl Deal {
    /// Deals channels on servers, by the ranks of each and the rings that were found there.
    pub(super) fn new(
        wiring: &Wiring,
        gpus: &[usize],
        servers: &[Vec<usize>],
        found: &[Rings],
        dealing: &Dealing,
    ) -> Self {
        let routes = resources(wiring);
        let (kinds, firsts) = kinds_of(wiring, gpus, servers);
        let side = |first: &usize| {
            let own = servers[*first].iter().map(|rank| gpus[*rank]).collect();
            Side::new(&routes, own, &found[*first], dealing)
        };
        let sides: Vec<Side<'_>> = firsts.iter().map(side).collect();
        let mut counts: Vec<usize> = sides.iter().flat_map(Side::counts).collect();
        counts.sort_unstable();
        counts.dedup();
        let mut best: Option<(f64, Vec<Dealt>)> = None;
        for count in counts {
            let most = sides.iter().map(|side| side.most(count)).fold(f64::INFINITY, f64::min);
            if best.as_ref().is_some_and(|(best, _)| most * count as f64 * AS_GOOD <= *best) {
                continue;
            }
            let dealt: Option<Vec<Dealt>> =
                sides.iter().map(|side| side.deal(count, dealing)).collect();
            let Some(dealt) = dealt else { continue };
            let rate = dealt.iter().map(|dealt| dealt.rate).fold(f64::INFINITY, f64::min);
            let whole = rate * count as f64;
            if best.as_ref().is_none_or(|(most, _)| whole * AS_GOOD > *most) {
                best = Some((whole, dealt));
            }
        }
        let alone = || sides.iter().map(Side::alone).collect();
        let mut dealt = best.map_or_else(alone, |(_, dealt)| dealt);
        imitate_the_slowest(&sides, &mut dealt);
        let reaches = sides.into_iter().map(|side| side.reach).collect();
        Self { kinds, dealt, reaches }
    }

    /// How many channels there are.
    pub(super) fn channels(&self) -> usize {
        self.dealt[0].chains.len()
    }

    /// Gives the chain of a ring's channel on a server. Of pairs that cross every other server exchanges the two.
    pub(super) fn of_ring(&self, channel: usize, server: usize) -> &Chain {
        let Dealt { chains, is_paired, .. } = &self.dealt[self.kinds[server]];
        let is_exchanged = *is_paired && server % 2 == 1;
        &chains[if is_exchanged { channel ^ 1 } else { channel }]
    }

    /// Gives the chain of a tree's channel on a server.
    pub(super) fn of_tree(&self, channel: usize, server: usize) -> &Chain {
        &self.dealt[self.kinds[server]].chains[channel]
    }
}

/// Gives servers that could do more the channels of the one that carries the least, where they can have them. Then it is
/// all the same to a job how many of its servers lack an interface.
fn imitate_the_slowest(sides: &[Side<'_>], dealt: &mut [Dealt]) {
    let order = |at: &usize| (dealt[*at].rate, sides[*at].reach.nics());
    let compared = |a: &usize, b: &usize| {
        let ((rate, nics), (other, more)) = (order(a), order(b));
        rate.total_cmp(&other).then(nics.cmp(&more))
    };
    let Some(slowest) = (0..sides.len()).min_by(compared) else { return };
    let model = dealt[slowest].clone();
    for (side, dealt) in sides.iter().zip(dealt) {
        if let Some(chains) = side.like(&sides[slowest], &model.chains) {
            let rate = side.rate(&chains);
            if rate >= model.rate * AS_GOOD {
                *dealt = Dealt { chains, rate, is_paired: model.is_paired };
            }
        }
    }
}

/// Gives each server its kind, and each kind its first server: one template, the same places, ports as wide.
fn kinds_of(wiring: &Wiring, gpus: &[usize], servers: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut ports: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for wire in wiring.wires().iter().filter(|wire| wire.is_network()) {
        for server in [wire.a, wire.b].into_iter().filter_map(|end| wiring.devices()[end].server) {
            ports.entry(server).or_default().push(wire.bandwidth.0);
        }
    }
    let mut known = BTreeMap::new();
    let mut firsts = Vec::new();
    let kind = |(at, ranks): (usize, &Vec<usize>)| {
        let template = std::ptr::from_ref(wiring.in_template(gpus[ranks[0]]).0).addr();
        let places: Vec<usize> =
            ranks.iter().map(|rank| wiring.in_template(gpus[*rank]).1).collect();
        let ports = wiring.server_of(gpus[ranks[0]]).and_then(|server| ports.get(&server));
        *known.entry((template, places, ports)).or_insert_with(|| {
            firsts.push(at);
            firsts.len() - 1
        })
    };
    let kinds = servers.iter().enumerate().map(kind).collect();
    (kinds, firsts)
}

#[cfg(test)]
mod tests;
