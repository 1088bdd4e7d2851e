//! Holds the channels of a job as they are dealt to the interfaces of its servers.

use std::collections::BTreeMap;

use super::chains::Chain;
use super::dealing::{AS_GOOD, Dealing};
use super::reach::Reach;
use super::side::{Dealt, Side};
use crate::collectives::nccl::baselines::rings::Rings;
use crate::collectives::schedule::time::resources;
use crate::system::Wiring;

/// Holds a job's channels on its servers.
#[derive(Debug, Clone)]
pub(in crate::collectives::nccl::baselines) struct Deal {
    /// Gives the kind of each server.
    pub(super) kinds: Vec<usize>,
    /// Gives the channels of each kind of server.
    pub(super) dealt: Vec<Dealt>,
    pub(super) reaches: Vec<Reach>,
}

impl Deal {
    /// Whether all servers are alike.
    pub(in crate::collectives::nccl::baselines) fn is_of_one_kind(&self) -> bool {
        self.kinds.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Deals channels on servers, by the ranks of each and the rings that were found there.
    pub(in crate::collectives::nccl::baselines) fn new(
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
    pub(in crate::collectives::nccl::baselines) fn channels(&self) -> usize {
        self.dealt[0].chains.len()
    }

    /// Gives the chain of a ring's channel on a server. Of pairs that cross every other server exchanges the two.
    pub(in crate::collectives::nccl::baselines) fn of_ring(
        &self,
        channel: usize,
        server: usize,
    ) -> &Chain {
        let Dealt { chains, is_paired, .. } = &self.dealt[self.kinds[server]];
        let is_exchanged = *is_paired && server % 2 == 1;
        &chains[if is_exchanged { channel ^ 1 } else { channel }]
    }

    /// Gives the chain of a tree's channel on a server.
    pub(in crate::collectives::nccl::baselines) fn of_tree(
        &self,
        channel: usize,
        server: usize,
    ) -> &Chain {
        &self.dealt[self.kinds[server]].chains[channel]
    }

    /// Lists the channels of a server as its own search finds them. A channel has the GPUs in their
    /// order, and the places of the interfaces by which data enters and leaves. None is exchanged
    /// with another.
    pub(in crate::collectives::nccl::baselines) fn on_server(
        &self,
        server: usize,
    ) -> Vec<(Vec<usize>, Option<[u64; 2]>)> {
        let kind = self.kinds[server];
        let place = |nic: usize| self.reaches[kind].places.get(nic).copied().map(u64::from);
        let nets = |chain: &Chain| Some([place(chain.arrives)?, place(chain.leaves)?]);
        self.dealt[kind].chains.iter().map(|chain| (chain.order.clone(), nets(chain))).collect()
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
pub(super) fn kinds_of(
    wiring: &Wiring,
    gpus: &[usize],
    servers: &[Vec<usize>],
) -> (Vec<usize>, Vec<usize>) {
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
