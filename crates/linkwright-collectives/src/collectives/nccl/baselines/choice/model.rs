//! The cost model: for each algorithm and protocol a latency, and a bandwidth of size.
//!
//! It exists to choose, and its times are its own.

use super::graph::Graph;
use super::rules::{
    Bandwidths, ByCollective, Limits, Nvls, NvlsShare, Plateau, Rules, Shares, TreeMost,
};
use crate::collectives::nccl::baselines::constants::{Generation, Hop};
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;

/// Rows of the tables by algorithm.
const TREE: usize = 0;
const RING: usize = 1;

/// An algorithm with a protocol.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub algorithm: ExpectedAlgorithm,
    pub protocol: Protocol,
    /// Microseconds.
    latency: f64,
    /// GB/s of size.
    bandwidth: f64,
    /// From this size on the latency is so many times longer.
    plateau: Option<(u64, f64)>,
    /// What it reaches of the bandwidth by powers of two from 64 B, and beyond the last.
    correction: Option<(&'static [f64], f64)>,
}

impl Candidate {
    /// Microseconds, by the model.
    pub fn time(&self, size: u64) -> f64 {
        let part = self.correction.map_or(1.0, |(entries, beyond)| {
            let place = (size >> 6).checked_ilog2().unwrap_or(0) as usize;
            entries.get(place).copied().unwrap_or(beyond)
        });
        self.with(size, part)
    }

    fn with(&self, size: u64, part: f64) -> f64 {
        let longer = self.plateau.filter(|(from, _)| size >= *from).map_or(1.0, |(_, by)| by);
        self.latency * longer + size as f64 / (1e3 * self.bandwidth * part)
    }
}

/// Columns for one server, two, and more.
const fn column(servers: usize) -> usize {
    if servers <= 1 {
        0
    } else if servers == 2 {
        1
    } else {
        2
    }
}

/// A release's model of a graph.
pub struct Model<'a> {
    pub rules: &'a Rules,
    pub graph: &'a Graph,
}

impl Model<'_> {
    /// What there is to choose from, whatever a user restricts; not of pairs.
    pub fn candidates(&self, collective: Collective) -> Vec<Candidate> {
        let protocols = || Protocol::ALL.into_iter().filter(|it| self.has(*it));
        let mut found: Vec<Candidate> =
            protocols().map(|protocol| self.ring(collective, protocol)).collect();
        if collective == Collective::AllReduce {
            let trees = protocols().filter(|protocol| self.has_tree(*protocol));
            found.extend(trees.map(|protocol| self.tree(protocol)));
        }
        found.extend(self.nvls(collective));
        found.extend(self.nvls_tree(collective));
        found
    }

    /// Whether a protocol is on: LL128 wants NVLink, and GPUs that write 128 bytes at once.
    pub fn has(&self, protocol: Protocol) -> bool {
        let (graph, ll128) = (self.graph, self.rules.ll128);
        let new_enough = graph.generation >= Generation::Volta;
        let known = graph.generation.row() < ll128.generations;
        let joined = graph.over_fabric && (ll128.relayed || !graph.relayed);
        protocol != Protocol::LL128 || (new_enough && known && joined)
    }

    fn has_tree(&self, protocol: Protocol) -> bool {
        match &self.rules.bandwidths {
            Bandwidths::Limits(_) => true,
            Bandwidths::Shares(shares) => {
                self.graph.servers > 1 || protocol != Protocol::Simple || shares.tree_simple_within
            }
        }
    }

    /// The steps around a ring, in all and between servers.
    fn steps(&self, collective: Collective) -> (f64, f64) {
        let (ranks, servers) = (self.graph.ranks as f64, self.graph.servers as f64);
        let between = servers - 1.0;
        match collective {
            Collective::AllReduce if self.rules.rings.one_more && between > 0.0 => {
                (2.0 * (ranks - 1.0), 2.0 * servers)
            }
            Collective::AllReduce => (2.0 * (ranks - 1.0), 2.0 * between),
            Collective::AllGather | Collective::ReduceScatter => (ranks - 1.0, between),
            _ => (ranks, between),
        }
    }

    /// The row of what LL moves at most: by GPU within a server, by the host between servers.
    fn ll_row(&self) -> usize {
        if self.graph.servers == 1 {
            self.graph.generation.row()
        } else {
            usize::from(self.graph.amd_host)
        }
    }

    fn ring(&self, collective: Collective, protocol: Protocol) -> Candidate {
        let graph = self.graph;
        let index = protocol as usize;
        let bus = match &self.rules.bandwidths {
            Bandwidths::Limits(limits) => self.ring_limit(limits, collective, protocol),
            Bandwidths::Shares(shares) => self.ring_share(shares, collective, protocol),
        };
        let (steps, _) = self.steps(collective);
        let correction = match &self.rules.bandwidths {
            Bandwidths::Shares(shares) if graph.servers > 1 => {
                let entries = shares.ring_correction[index];
                Some((entries, entries[entries.len() - 1]))
            }
            _ => None,
        };
        Candidate {
            algorithm: ExpectedAlgorithm::Ring,
            protocol,
            latency: self.rules.base[RING][index] + self.around(collective, protocol),
            bandwidth: bus * graph.ranks as f64 / steps,
            plateau: self.plateau(collective, protocol),
            correction,
        }
    }

    fn ring_limit(&self, limits: &Limits, collective: Collective, protocol: Protocol) -> f64 {
        let graph = self.graph;
        let row = graph.generation.row();
        let whole = graph.bandwidth.min(limits.most[row]);
        let reduces = matches!(collective, Collective::AllReduce | Collective::Reduce { .. });
        match protocol {
            Protocol::LL => {
                let share = limits.ll[usize::from(!(graph.servers > 1 || reduces))];
                (whole * share).min(limits.ll_most[self.ll_row()][column(graph.servers)])
            }
            Protocol::LL128 => {
                let alone = graph.ranks < 2 * graph.servers;
                let share = if alone { limits.ll128_alone } else { limits.ll128 };
                let most = self.most(&limits.ring_ll128_most, collective);
                (whole * share).min(graph.channels * most)
            }
            Protocol::Simple => whole,
        }
    }

    fn ring_share(&self, shares: &Shares, collective: Collective, protocol: Protocol) -> f64 {
        let graph = self.graph;
        let table = if graph.servers <= 2 { &shares.two } else { &shares.more };
        let rooted = matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. });
        let more = rooted && protocol == Protocol::LL && graph.servers == 1;
        graph.bandwidth * table[RING][protocol as usize] * if more { shares.rooted_ll } else { 1.0 }
    }

    /// The most on a channel.
    fn most(&self, table: &ByCollective, collective: Collective) -> f64 {
        match table {
            ByCollective::Kinds(kinds) => match collective {
                Collective::Broadcast { .. } => kinds[0],
                Collective::Reduce { .. } => kinds[1],
                Collective::AllGather => kinds[2],
                Collective::ReduceScatter => kinds[3],
                _ => kinds[4],
            },
            ByCollective::Generations(rows) => {
                rows[self.graph.generation.row()][column(self.graph.servers)]
            }
        }
    }

    /// Microseconds around a ring.
    fn around(&self, collective: Collective, protocol: Protocol) -> f64 {
        let (graph, rules) = (self.graph, self.rules);
        let index = protocol as usize;
        let (steps, between) = self.steps(collective);
        let across = graph.servers > 1;
        let outer = if across { Hop::Network } else { graph.hop };
        if matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. }) {
            let hop = rules.hops[RING][outer as usize][index];
            return match (graph.same_channels, protocol) {
                (true, _) => hop,
                (false, Protocol::Simple) => steps * rules.hops[TREE][outer as usize][index],
                (false, _) => steps * hop,
            };
        }
        let post = if graph.amd_host { 2.0 } else { 1.0 };
        let posting = match (across && rules.rings.posting, protocol) {
            (false, _) => 0.0,
            (true, Protocol::Simple) => 3.0 * post,
            (true, _) => post,
        };
        let alone = rules.rings.alone_as_trees && graph.ranks == graph.servers;
        let row = if alone { TREE } else { RING };
        let inner = self.inner(RING, protocol).max(posting);
        (steps - between) * inner + between * rules.hops[row][outer as usize][index]
    }

    /// A hop inside a server.
    fn inner(&self, row: usize, protocol: Protocol) -> f64 {
        let longer = self.graph.servers > 1 && protocol == Protocol::LL;
        let hop = self.rules.hops[row][self.graph.hop as usize][protocol as usize];
        hop * if longer { self.rules.ll_hop_between } else { 1.0 }
    }

    fn plateau(&self, collective: Collective, protocol: Protocol) -> Option<(u64, f64)> {
        let graph = self.graph;
        let concerned = graph.servers > 1
            && collective == Collective::AllReduce
            && protocol == Protocol::Simple;
        let newer = |from| usize::from(graph.generation >= from);
        let found = match self.rules.plateau {
            Plateau::None => None,
            Plateau::Ranks { by } => Some((4096 * graph.ranks, by[newer(Generation::Hopper)])),
            Plateau::Channels { by } => {
                let channels = graph.channels as usize;
                Some((64 * channels * graph.ranks, by[newer(Generation::Ampere)]))
            }
        };
        found.filter(|_| concerned).map(|(from, by)| (from as u64, by))
    }

    fn tree(&self, protocol: Protocol) -> Candidate {
        let (graph, rules) = (self.graph, self.rules);
        let index = protocol as usize;
        let bus = match &rules.bandwidths {
            Bandwidths::Limits(limits) => self.tree_limit(limits, protocol),
            Bandwidths::Shares(shares) => {
                let table = if graph.servers <= 2 { &shares.two } else { &shares.more };
                graph.bandwidth * table[TREE][index]
            }
        };
        let chain = (graph.ranks / graph.servers) as f64 - 1.0;
        let levels = f64::from(graph.servers.ilog2());
        let network = rules.hops[TREE][Hop::Network as usize][index];
        let travel = chain * self.inner(TREE, protocol) + levels * network;
        let entries = rules.tree_correction[index];
        let beyond = match &rules.bandwidths {
            Bandwidths::Limits(_) => 1.0,
            Bandwidths::Shares(_) => entries[entries.len() - 1],
        };
        Candidate {
            algorithm: ExpectedAlgorithm::Tree,
            protocol,
            latency: rules.base[TREE][index] + 2.0 * travel,
            bandwidth: bus * 0.5,
            plateau: None,
            correction: Some((entries, beyond)),
        }
    }

    /// Measures a tree's channels. Of two servers those inside count (`ncclTopoTuneModel`), and the search raises them to
    /// twice what the channels between servers carry (`ncclTopoCompute`).
    fn tree_whole(&self) -> f64 {
        let graph = self.graph;
        if graph.servers == 2 { graph.inside.min(2.0 * graph.bandwidth) } else { graph.bandwidth }
    }

    fn tree_limit(&self, limits: &Limits, protocol: Protocol) -> f64 {
        let graph = self.graph;
        let row = graph.generation.row();
        let whole = self.tree_whole().min(limits.most[row]);
        let most = match &limits.tree_most {
            TreeMost::Whole(rows) => {
                let ampere = graph.generation == Generation::Ampere;
                let row = usize::from(!(ampere && protocol == Protocol::LL128));
                rows[row][usize::from(graph.servers > 2)]
            }
            TreeMost::Channel(rows) => graph.channels * rows[row][column(graph.servers)],
        };
        let mut bus = (whole * limits.tree).min(most);
        match protocol {
            Protocol::LL => {
                bus = (bus / 3.8).min(limits.ll_most[self.ll_row()][column(graph.servers)]);
            }
            Protocol::LL128 => {
                let part = limits.tree_ll128[usize::from(graph.servers > 1)];
                let most = self.most(&limits.tree_ll128_most, Collective::AllReduce);
                bus = (bus * part).min(graph.channels * most);
            }
            Protocol::Simple => {}
        }
        bus * if graph.generation >= Generation::Hopper { limits.tree_hopper } else { 1.0 }
    }

    fn nvls(&self, collective: Collective) -> Option<Candidate> {
        let graph = self.graph;
        let rate = graph.nvls.filter(|_| graph.generation >= Generation::Hopper)?;
        if graph.servers > 1 {
            return None;
        }
        let Nvls { latency, share, halves, .. } = self.rules.nvls?;
        let count = graph.ranks as f64;
        let all = collective == Collective::AllReduce;
        let half = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        if !(all || half && halves) {
            return None;
        }
        let bandwidth = match share {
            NvlsShare::OfRings(share) => graph.inside * share,
            NvlsShare::Size(share) => count * rate * share,
            NvlsShare::Links(efficiency) => {
                let blackwell = usize::from(graph.generation == Generation::Blackwell);
                let channel = rate * efficiency[blackwell] * (count - 1.0) / count;
                if all {
                    2.0 * count * channel / collective.bus_factor(graph.ranks)
                } else {
                    count * channel * (count - 1.0) / count
                }
            }
        };
        Some(Candidate {
            algorithm: ExpectedAlgorithm::Nvls,
            protocol: Protocol::Simple,
            latency,
            bandwidth,
            plateau: None,
            correction: None,
        })
    }

    /// Rates switches within servers and trees between them. Each GPU of a server has a channel, as fast as the switches or
    /// as its part of the network. Two servers take each direction once.
    fn nvls_tree(&self, collective: Collective) -> Option<Candidate> {
        let graph = self.graph;
        let rate = graph.nvls.filter(|_| graph.generation >= Generation::Hopper)?;
        let Nvls { latency, share, tree, .. } = self.rules.nvls?;
        let tree = tree.filter(|_| graph.servers > 1 && collective == Collective::AllReduce)?;
        let heads = (graph.ranks / graph.servers) as f64;
        let (between, is_pair) = (graph.network / heads, graph.servers == 2);
        let bandwidth = match share {
            NvlsShare::OfRings(_) => return None,
            NvlsShare::Size(share) => {
                let between = if is_pair { between } else { between / 2.0 };
                heads * rate.min(between) * share
            }
            NvlsShare::Links(efficiency) => {
                let blackwell = usize::from(graph.generation == Generation::Blackwell);
                let inside = 2.0 * rate * efficiency[blackwell] * (heads - 1.0) / heads;
                let between = if is_pair { 2.0 * between } else { between };
                let most = tree.most[blackwell][usize::from(!is_pair)];
                heads * inside.min(between).min(most) / collective.bus_factor(graph.ranks)
            }
        };
        Some(Candidate {
            algorithm: ExpectedAlgorithm::NvlsTree,
            protocol: Protocol::Simple,
            latency: latency + 2.0 * f64::from(graph.servers.ilog2()) * tree.hop,
            bandwidth,
            plateau: None,
            correction: None,
        })
    }

    /// Sends and receives that move so many GB/s of size, which no release has a model of: one
    /// hop, and as long as their most loaded link.
    pub fn pairs(&self, protocol: Protocol) -> Candidate {
        let outer = if self.graph.servers > 1 { Hop::Network } else { self.graph.hop };
        let index = protocol as usize;
        Candidate {
            algorithm: ExpectedAlgorithm::Pairs,
            protocol,
            latency: self.rules.base[RING][index] + self.rules.hops[RING][outer as usize][index],
            bandwidth: f64::INFINITY,
            plateau: None,
            correction: None,
        }
    }
}
