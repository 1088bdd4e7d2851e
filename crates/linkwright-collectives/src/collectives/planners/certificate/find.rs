//! Finds certificates.

use std::collections::BTreeSet;

use super::cuts::{Side, from_root, isolating, of_each, to_each_from_root};
use super::weights::lengths;
use super::{Certificate, Claim, CutLink, Need, Proof, quotient, verify};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::planners::plan::{Plan, nvls};
use crate::collectives::schedule::collective::Collective;
use crate::graph::partition::tightest_partition;
use crate::network::{RouteClass, Routes};
use crate::system::views::wiring::WiredDevice;
use crate::system::{DeviceId, DeviceKind, System, Wiring};

/// Is the most GPUs on direct links for which every cut of an all-to-all is tried.
const MOST_TRIED: usize = 10;

impl Plan {
    /// Gives the claim of its optimum, to be proved; None where it has none. `system` is what it
    /// was planned for.
    #[must_use]
    pub fn claim(&self, system: &System) -> Option<Claim> {
        Some(Claim {
            collective: self.schedule.collective,
            gpus: self.schedule.gpus.clone(),
            helpers: self.helpers(system),
            links: self.links,
            is_in_switch: self.algorithm == nvls::NAME,
            optimum: self.optimum?,
            rate: self.rate,
        })
    }

    /// Why nothing passes [`Plan::optimum`]; None where it has none, or none is found. `system` is what it
    /// was planned for.
    #[must_use]
    pub fn certificate(&self, system: &System) -> Option<Certificate> {
        let claim = self.claim(system)?;
        let wiring = Wiring::of_gpus(system, &claim.gpus);
        let proved = |left_out: Vec<DeviceId>| {
            let found = Finder::new(&wiring, &claim, left_out).candidates();
            let best = found.into_iter().min_by_key(|certificate| certificate.bound)?;
            verify(system, &best, &claim).is_ok().then_some(best)
        };
        let is_across = claim.links == LinkClass::Network;
        proved(Vec::new())
            .or_else(|| proved(far_interfaces(&wiring, &claim.gpus)).filter(|_| is_across))
    }
}

/// The interfaces that no GPU's data takes to another server's GPUs, since others are nearer.
fn far_interfaces(wiring: &Wiring, gpus: &[usize]) -> Vec<DeviceId> {
    let routes = Routes::at_peak(wiring);
    let servers = by_server(wiring, gpus);
    let mut near = BTreeSet::new();
    for (at, ranks) in servers.iter().enumerate() {
        let other = servers[(at + 1) % servers.len()][0];
        for rank in ranks {
            let ends = [*rank, other].map(|rank| wiring.gpu(gpus[rank]));
            let both = [(ends[0], ends[1]), (ends[1], ends[0])];
            let found = both.iter().filter_map(|(a, b)| routes.route(*a, *b, RouteClass::Network));
            for (resource, _) in found.flat_map(|route| route.uses) {
                let (wire, _) = routes.wire(resource);
                near.extend([wire.a, wire.b]);
            }
        }
    }
    let devices = wiring.devices().iter().enumerate();
    let is_far =
        |(at, device): &(usize, &WiredDevice)| device.kind == DeviceKind::Nic && !near.contains(at);
    devices.filter(is_far).map(|(_, device)| device.id).collect()
}

/// Looks for what bounds a collective.
struct Finder<'a> {
    claim: &'a Claim,
    wiring: &'a Wiring,
    graph: LinkGraph,
    left_out: Vec<DeviceId>,
}

impl<'a> Finder<'a> {
    fn new(wiring: &'a Wiring, claim: &'a Claim, left_out: Vec<DeviceId>) -> Self {
        let mut graph = LinkGraph::whole(wiring, &claim.gpus, &claim.helpers, claim.links);
        let out: Vec<bool> = graph.devices.iter().map(|id| left_out.contains(id)).collect();
        graph.links.retain(|(a, b, _)| !out[*a] && !out[*b]);
        Self { claim, wiring, graph, left_out }
    }

    /// Tells whether links join the job's GPUs and nothing else.
    fn is_direct(&self) -> bool {
        self.graph.links.iter().all(|(_, b, _)| *b < self.graph.gpus)
    }

    fn candidates(&self) -> Vec<Certificate> {
        let graph = &self.graph;
        let others = |side: Side| -> Side { side.into_iter().map(|is_near| !is_near).collect() };
        let cut = |side: Option<Side>| side.and_then(|side| self.cut(&side)).into_iter().collect();
        match self.claim.collective {
            Collective::Broadcast { root } => cut(from_root(graph, root)),
            Collective::Reduce { root } => cut(from_root(graph, root).map(others)),
            Collective::Scatter { root } => cut(Some(to_each_from_root(graph, root))),
            Collective::Gather { root } => cut(Some(others(to_each_from_root(graph, root)))),
            Collective::AllGather => cut(Some(of_each(graph))),
            Collective::ReduceScatter => cut(Some(others(of_each(graph)))),
            Collective::AllReduce if self.claim.is_in_switch => {
                self.in_switch().into_iter().collect()
            }
            Collective::AllReduce => self.of_all_reduce(),
            Collective::AllToAll => self.of_all_to_all(),
            Collective::Barrier | Collective::Scan => Vec::new(),
        }
    }

    /// Tries GPUs alone, those of each server together, and the tightest partition of direct links.
    /// It tries the cut around each, too.
    fn of_all_reduce(&self) -> Vec<Certificate> {
        let graph = &self.graph;
        let alone: Vec<Vec<usize>> = (0..graph.gpus).map(|vertex| vec![vertex]).collect();
        let mut partitions = vec![alone, by_server(self.wiring, &self.claim.gpus)];
        if self.is_direct() {
            partitions.push(tightest_partition(graph.gpus, &graph.direct_capacity()).1);
        }
        partitions.retain(|groups| groups.len() > 1);
        let mut found = Vec::new();
        for groups in partitions {
            let sides = isolating(graph, &groups);
            found.extend(sides.iter().filter_map(|side| self.cut(side)));
            found.extend(self.parts(&sides));
        }
        found
    }

    /// Tries the cut around each GPU and each server, every cut of few GPUs on direct links, and
    /// else lengths.
    fn of_all_to_all(&self) -> Vec<Certificate> {
        let graph = &self.graph;
        let is_direct = self.is_direct();
        if is_direct && graph.gpus <= MOST_TRIED {
            let of_set = |set: usize| move |at: usize| at < 16 && set >> at & 1 == 1;
            let bits = |set: usize| (0..graph.devices.len()).map(of_set(set)).collect::<Side>();
            let cuts = (1..(1 << graph.gpus) - 1).filter_map(|set| self.cut(&bits(set)));
            let best = cuts.min_by_key(|cut| cut.bound);
            return best.into_iter().chain(self.weights()).collect();
        }
        let mut groups: Vec<Vec<usize>> = (0..graph.gpus).map(|vertex| vec![vertex]).collect();
        groups.extend(by_server(self.wiring, &self.claim.gpus));
        groups.retain(|group| group.len() < graph.gpus);
        let sides = isolating(graph, &groups);
        let found = sides.iter().filter_map(|side| self.cut(side));
        found.chain(is_direct.then(|| self.weights()).flatten()).collect()
    }

    /// Lists links in each direction; `counts` says how often each does.
    fn crossing(&self, counts: impl Fn(usize, usize, usize) -> u64) -> Vec<CutLink> {
        let graph = &self.graph;
        let both = |(link, (a, b, bandwidth)): (usize, &(usize, usize, u64))| {
            [(2 * link, *a, *b, *bandwidth), (2 * link + 1, *b, *a, *bandwidth)]
        };
        let arcs = graph.links.iter().enumerate().flat_map(both);
        let link = |(arc, from, to, bandwidth): (usize, usize, usize, u64)| CutLink {
            from: graph.devices[from],
            to: graph.devices[to],
            bandwidth,
            weight: counts(arc, from, to),
        };
        let mut links: Vec<CutLink> = arcs.map(link).filter(|link| link.weight > 0).collect();
        links.sort_unstable();
        links
    }

    fn certificate(&self, proof: Proof, crossing: Vec<CutLink>, need: Need) -> Option<Certificate> {
        let each = crossing.iter();
        let capacity = each.map(|link| u128::from(link.bandwidth) * u128::from(link.weight)).sum();
        let Claim { collective, gpus, helpers, links, .. } = self.claim.clone();
        let bound = quotient(capacity, need)?;
        let left_out = self.left_out.clone();
        Some(Certificate {
            collective,
            gpus,
            helpers,
            links,
            left_out,
            proof,
            crossing,
            capacity,
            need,
            bound,
        })
    }

    fn devices(&self, side: &[bool]) -> Vec<usize> {
        let near = self.graph.devices.iter().zip(side).filter(|(_, is_near)| **is_near);
        // An interface that is left out stands on no side, though no link joins it to either.
        let mut devices: Vec<usize> =
            near.map(|(id, _)| *id).filter(|id| !self.left_out.contains(id)).collect();
        devices.sort_unstable();
        devices
    }

    fn cut(&self, side: &[bool]) -> Option<Certificate> {
        let all = self.graph.gpus as u64;
        let near = side[..self.graph.gpus].iter().filter(|is_near| **is_near).count() as u64;
        let need = |bytes| Need { bytes, of: all };
        let need = match self.claim.collective {
            Collective::Scatter { .. } | Collective::ReduceScatter => need(all - near),
            Collective::Gather { .. } | Collective::AllGather => need(near),
            Collective::AllToAll => need(near * (all - near)),
            _ => Need { bytes: 1, of: 1 },
        };
        let crossing = self.crossing(|_, from, to| u64::from(side[from] && !side[to]));
        self.certificate(Proof::Cut { side: self.devices(side) }, crossing, need)
    }

    fn parts(&self, sides: &[Side]) -> Option<Certificate> {
        let place = |vertex: usize| sides.iter().position(|side| side[vertex]);
        let arrives = |from, to| place(to).is_some() && place(from) != place(to);
        let crossing = self.crossing(|_, from, to| u64::from(arrives(from, to)));
        let parts = sides.iter().map(|side| self.devices(side)).collect();
        let need = Need { bytes: 2 * (sides.len() as u64 - 1), of: 1 };
        self.certificate(Proof::Parts { parts }, crossing, need)
    }

    fn in_switch(&self) -> Option<Certificate> {
        let ranks = self.graph.gpus;
        let crossing = self.crossing(|_, from, to| u64::from(from < ranks || to < ranks));
        let ranks = ranks as u64;
        let need = Need { bytes: 2 * (ranks + 1).min(2 * (ranks - 1)), of: 1 };
        self.certificate(Proof::InSwitch, crossing, need)
    }

    fn weights(&self) -> Option<Certificate> {
        let graph = &self.graph;
        let found = lengths(graph)?;
        let crossing = self.crossing(|arc, _, _| found.arcs[arc]);
        let of_ranks = |own: &Vec<u64>| own[..graph.gpus].iter().sum::<u64>();
        let need =
            Need { bytes: found.distances.iter().map(of_ranks).sum(), of: graph.gpus as u64 };
        let named = |own: Vec<u64>| graph.devices.iter().copied().zip(own).collect();
        let distances = found.distances.into_iter().map(named).collect();
        self.certificate(Proof::Weights { distances }, crossing, need)
    }
}
