//! What there is to choose from: NCCL's latency and bandwidth of each algorithm and protocol.

use super::ExpectedAlgorithm;
use crate::collectives::baselines::calibration::{nvlink_reach, reduction_delay};
use crate::collectives::baselines::constants::{
    Generation, Hop, NVLS_LATENCY, RING_BASE, TREE_BASE, host_bandwidth, ll_limit,
    nvlink_bandwidth, nvls_efficiency, nvls_rate, ring_hop, ring_ll128_limit, switched_channels,
    tree_correction, tree_hop, tree_limit, tree_ll128_limit,
};
use crate::collectives::baselines::fabric::{Fabric, by_server, farthest_hop};
use crate::collectives::baselines::rings::{Era, RingPath, rings_of};
use crate::collectives::collective::Collective;
use crate::collectives::schedule::Protocol;
use crate::system::{Proximity, Wiring};

/// An algorithm with a protocol: a latency in microseconds and a bandwidth in GB/s of size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) algorithm: ExpectedAlgorithm,
    pub(super) protocol: Protocol,
    latency: f64,
    bandwidth: f64,
    /// From this size on the latency is so many times longer (NCCL's plateau of rings).
    plateau: Option<(u64, f64)>,
    /// Whether the measured delay of reductions over NVLink applies.
    delayed: bool,
}

impl Choice {
    /// Microseconds.
    pub(super) fn time(&self, collective: Collective, size: u64) -> f64 {
        let corrected = self.algorithm == ExpectedAlgorithm::Tree;
        let part = if corrected { tree_correction(self.protocol as usize, size) } else { 1.0 };
        let longer = self.plateau.filter(|(from, _)| size >= *from).map_or(1.0, |(_, by)| by);
        let delay = if self.delayed { reduction_delay(collective, size) } else { 0.0 };
        self.latency * longer + delay + size as f64 / (1e3 * self.bandwidth * part)
    }
}

/// What NCCL's search tells its cost model.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    generation: Generation,
    ranks: usize,
    servers: usize,
    channels: f64,
    /// GB/s of all channels together.
    bandwidth: f64,
    hop: Hop,
    /// Whether rings run over NVLink all the way, or with relays.
    over_nvlink: bool,
    /// Whether all channels have the same order.
    same_channels: bool,
    /// GB/s of an all-reduce on the bus in the switches.
    nvls: Option<f64>,
}

impl Graph {
    pub(super) fn new(wiring: &Wiring, gpus: &[usize]) -> Self {
        let generation = Generation::of(wiring, gpus);
        let groups = by_server(wiring, gpus);
        let ids = |ranks: &Vec<usize>| ranks.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let groups: Vec<Vec<usize>> = groups.iter().map(ids).collect();
        let parts: Vec<Part> = groups.iter().map(|own| Part::new(wiring, own)).collect();
        let narrowest = |part: &&Part| (part.channels * part.rate * 1e6) as u64;
        let part = parts.iter().min_by_key(narrowest).expect("a job has a server");
        let inside = part.channels * part.rate;
        let network = if groups.len() > 1 {
            groups.iter().map(|own| network_bandwidth(wiring, own)).fold(f64::INFINITY, f64::min)
        } else {
            f64::INFINITY
        };
        let fabric = Fabric::new(wiring, gpus);
        let nvls = (groups.len() == 1 && fabric.switched > 0)
            .then(|| nvls_rate(generation, fabric.switched, gpus.len()))
            .flatten()
            .map(|rate| {
                let count = gpus.len() as f64;
                2.0 * count * rate * nvls_efficiency(generation) * (count - 1.0) / count
            });
        Self {
            generation,
            ranks: gpus.len(),
            servers: groups.len(),
            channels: part.channels,
            bandwidth: inside.min(network),
            hop: if parts.iter().all(|part| part.hop == Hop::Nvlink) {
                Hop::Nvlink
            } else {
                Hop::Host
            },
            over_nvlink: parts.iter().all(|part| part.path != RingPath::Host),
            same_channels: parts.iter().all(|part| part.same_channels),
            nvls: nvls.filter(|bandwidth| *bandwidth > 0.0),
        }
    }

    /// NCCL's steps around a ring, in all and between servers.
    fn steps(&self, collective: Collective) -> (f64, f64) {
        let (ranks, servers) = (self.ranks as f64, self.servers as f64);
        match collective {
            Collective::AllReduce => (2.0 * (ranks - 1.0), 2.0 * (servers - 1.0)),
            Collective::AllGather | Collective::ReduceScatter => (ranks - 1.0, servers - 1.0),
            _ => (ranks, servers - 1.0),
        }
    }

    pub(super) fn choices(&self, collective: Collective) -> Vec<Choice> {
        let allowed = |protocol: &Protocol| {
            let modern = self.over_nvlink && self.generation >= Generation::Volta;
            *protocol != Protocol::LL128 || modern
        };
        let protocols = || Protocol::ALL.into_iter().filter(allowed);
        let mut choices: Vec<Choice> =
            protocols().map(|protocol| self.ring(collective, protocol)).collect();
        if collective == Collective::AllReduce {
            choices.extend(protocols().map(|protocol| self.tree(protocol)));
            choices.extend(self.nvls.map(|bandwidth| Choice {
                algorithm: ExpectedAlgorithm::Nvls,
                protocol: Protocol::Simple,
                latency: NVLS_LATENCY,
                bandwidth: bandwidth / collective.bus_factor(self.ranks),
                plateau: None,
                delayed: false,
            }));
        }
        choices
    }

    fn ring(&self, collective: Collective, protocol: Protocol) -> Choice {
        let index = protocol as usize;
        let bus = match protocol {
            Protocol::LL => (self.bandwidth * 0.5).min(ll_limit(self.generation, self.servers)),
            Protocol::LL128 => {
                (self.bandwidth * 0.92).min(self.channels * ring_ll128_limit(self.generation))
            }
            Protocol::Simple => self.bandwidth,
        };
        let (steps, between) = self.steps(collective);
        let across = self.servers > 1;
        let outer = if across { Hop::Network } else { self.hop };
        let inner = ring_hop(self.hop)[index];
        let travel =
            if matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. }) {
                match (self.same_channels, protocol) {
                    (true, _) => ring_hop(outer)[index],
                    (false, Protocol::Simple) => steps * tree_hop(outer)[index],
                    (false, _) => steps * ring_hop(outer)[index],
                }
            } else {
                let posting = match (across, protocol) {
                    (false, _) => 0.0,
                    (true, Protocol::Simple) => 3.0,
                    (true, _) => 1.0,
                };
                let alone = self.ranks == self.servers;
                let outer = if alone { tree_hop(outer)[index] } else { ring_hop(outer)[index] };
                (steps - between) * inner.max(posting) + between * outer
            };
        let plateau = across && collective == Collective::AllReduce && protocol == Protocol::Simple;
        let from = 64 * self.channels as u64 * self.ranks as u64;
        let by = if self.generation < Generation::Ampere { 1.9 } else { 1.4 };
        Choice {
            algorithm: ExpectedAlgorithm::Ring,
            protocol,
            latency: RING_BASE[index] + travel,
            bandwidth: bus * self.ranks as f64 / steps,
            plateau: plateau.then_some((from, by)),
            delayed: self.over_nvlink,
        }
    }

    fn tree(&self, protocol: Protocol) -> Choice {
        let index = protocol as usize;
        let limit = self.channels * tree_limit(self.generation, self.servers);
        let mut bus = (self.bandwidth * 0.92).min(limit);
        match protocol {
            Protocol::LL => bus = (bus / 3.8).min(ll_limit(self.generation, self.servers)),
            Protocol::LL128 => {
                let part = if self.servers == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                let limit = tree_ll128_limit(self.generation, self.servers);
                bus = (bus * part).min(self.channels * limit);
            }
            Protocol::Simple => {}
        }
        if self.generation >= Generation::Hopper {
            // From Hopper on the search takes trees that are not balanced over two GPUs.
            bus *= 0.85;
        }
        let chain = (self.ranks / self.servers) as f64 - 1.0;
        let levels = f64::from(self.servers.ilog2());
        let travel = chain * tree_hop(self.hop)[index] + levels * tree_hop(Hop::Network)[index];
        Choice {
            algorithm: ExpectedAlgorithm::Tree,
            protocol,
            latency: TREE_BASE[index] + 2.0 * travel,
            bandwidth: bus * 0.5,
            plateau: None,
            delayed: self.over_nvlink,
        }
    }

    /// Sends and receives that move so many GB/s of size.
    pub(super) fn pairs(&self, bandwidth: f64) -> Vec<Choice> {
        let hop = ring_hop(if self.servers > 1 { Hop::Network } else { self.hop });
        let of = |protocol: Protocol, part: f64| Choice {
            algorithm: ExpectedAlgorithm::Pairs,
            protocol,
            latency: RING_BASE[protocol as usize] + hop[protocol as usize],
            bandwidth: bandwidth * part,
            plateau: None,
            delayed: false,
        };
        vec![of(Protocol::LL, 0.5), of(Protocol::Simple, 1.0)]
    }
}

/// What one server's GPUs have.
#[derive(Debug, Clone)]
struct Part {
    path: RingPath,
    channels: f64,
    /// GB/s of one channel.
    rate: f64,
    hop: Hop,
    same_channels: bool,
}

impl Part {
    fn new(wiring: &Wiring, gpus: &[usize]) -> Self {
        let generation = Generation::of(wiring, gpus);
        let fabric = Fabric::new(wiring, gpus);
        let found = rings_of(wiring, gpus, Era::Recent);
        let first = &found.rings[0].order;
        let same_channels = gpus.len() == 2 || found.rings.iter().all(|ring| ring.order == *first);
        let reach = nvlink_reach(generation);
        let (channels, rate, hop) = match found.path {
            _ if gpus.len() == 1 => (1.0, f64::INFINITY, Hop::Nvlink),
            RingPath::Switched => {
                let (channels, rate) = switched_channels(generation, fabric.switched);
                // Fast channels are split in two, which their limits are about.
                let split = if rate >= 25.0 { 2.0 } else { 1.0 };
                (f64::from(channels) * split, rate / split * reach, Hop::Nvlink)
            }
            RingPath::Direct | RingPath::Relayed => {
                let lane = fabric.kind.map_or(20.0, nvlink_bandwidth);
                let direct = found.path == RingPath::Direct;
                // A relayed path is no plain NVLink to the cost model, which then takes PCIe's.
                let hop = if direct { Hop::Nvlink } else { Hop::Host };
                (found.rings.len() as f64, lane * reach, hop)
            }
            RingPath::Host => {
                let farthest = farthest_hop(wiring, gpus, first);
                (1.0, host_bandwidth(wiring, gpus, farthest), Hop::Host)
            }
        };
        Self { path: found.path, channels, rate, hop, same_channels }
    }
}

/// GB/s that a server's network interfaces carry, no more than PCIe gives each.
fn network_bandwidth(wiring: &Wiring, gpus: &[usize]) -> f64 {
    let own = wiring.server_of(gpus[0]);
    let is_own = |device: usize| wiring.devices()[device].server == own;
    let slot = host_bandwidth(wiring, gpus, Proximity::Pix);
    let wires = wiring.wires().iter().filter(|wire| wire.is_network());
    let ends_here = wires.filter(|wire| is_own(wire.a) || is_own(wire.b));
    ends_here.map(|wire| wire.bandwidth.as_gigabytes_per_second().min(slot)).sum()
}
