//! Gives the cost model: for each algorithm and protocol a latency, and a bandwidth of size.
//!
//! It exists to choose, and its times are its own.

use super::found::{Found, Pattern, Reach};
use super::graph::Graph;
use super::rules::{
    Bandwidths, ByCollective, Halves, Limits, Nvls, NvlsShare, NvlsTree, Plateau, Rules, Shares,
    TreeMost,
};
use crate::collectives::nccl::baselines::constants::Hop;
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::nccl::baselines::generation::Generation;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;

/// Numbers the rows of the tables by algorithm.
const TREE: usize = 0;
const RING: usize = 1;

/// Holds an algorithm with a protocol.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub algorithm: ExpectedAlgorithm,
    pub protocol: Protocol,
    /// Gives the latency in microseconds.
    pub latency: f64,
    /// Gives the GB/s of size.
    pub bandwidth: f64,
    /// Gives a size from which on the latency is longer, and the factor.
    plateau: Option<(u64, f64)>,
    /// Gives the share of the bandwidth that it reaches, by powers of two from 64 B, and beyond the
    /// last.
    correction: Option<(&'static [f64], f64)>,
}

impl Candidate {
    /// Returns the microseconds by the model.
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

/// Returns the column for one server, two, and more.
const fn column(servers: usize) -> usize {
    if servers <= 1 {
        0
    } else if servers == 2 {
        1
    } else {
        2
    }
}

/// Holds a release's model of a graph.
pub struct Model<'a> {
    pub rules: &'a Rules,
    pub graph: &'a Graph,
}

impl Model<'_> {
    /// Counts the blocks that run NVLS on each GPU.
    pub fn nvls_channels(&self) -> u32 {
        let place = match self.graph.generation {
            Generation::Blackwell => 1 + usize::from(self.graph.servers > 1),
            _ => 0,
        };
        let usual = self.rules.nvls.map_or(1, |nvls| nvls.channels[place]);
        self.tuned_trees().map_or(usual, |(channels, _)| channels)
    }

    /// Gives Blackwell's channels of NVLSTree, and its most bytes of a chunk, where they go by the network.
    pub fn tuned_trees(&self) -> Option<(u32, u64)> {
        let graph = self.graph;
        let is_new = graph.generation == Generation::Blackwell && graph.servers > 1;
        self.rules.nvls?.tree.filter(|tree| tree.tuned && is_new)?;
        let of_server = graph.ranks / graph.servers;
        let is_near = graph.nvls?.reach_inter <= Reach::Pxb;
        let (is_fast, is_pair) = (graph.interface >= 96.0, graph.servers == 2);
        Some(match of_server {
            _ if graph.interface < 48.0 => return None,
            ..=4 if is_pair => (32, 256 << 10),
            16.. if is_pair => (32, 64 << 10),
            ..=8 if is_pair && is_near && !is_fast => (32, 64 << 10),
            _ if is_pair => (32, 128 << 10),
            ..=8 if is_fast => (24, 256 << 10),
            ..32 if is_fast => (32, 128 << 10),
            _ if is_fast => (32, 64 << 10),
            _ if is_near => (24, 64 << 10),
            _ => (24, 128 << 10),
        })
    }

    /// Lists all candidates, whatever a user restricts. Pairs have none.
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
        found.extend(self.pat(collective));
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

    /// Counts the steps around a ring, in all and between servers.
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
        let whole = graph.rings.counted(graph.servers).min(limits.most[row]);
        let channels = f64::from(graph.rings.channels);
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
                (whole * share).min(channels * most)
            }
            Protocol::Simple => whole,
        }
    }

    fn ring_share(&self, shares: &Shares, collective: Collective, protocol: Protocol) -> f64 {
        let graph = self.graph;
        let table = if graph.servers <= 2 { &shares.two } else { &shares.more };
        let rooted = matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. });
        let more = rooted && protocol == Protocol::LL && graph.servers == 1;
        graph.rings.whole()
            * table[RING][protocol as usize]
            * if more { shares.rooted_ll } else { 1.0 }
    }

    /// Returns the most on a channel.
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

    /// Returns the microseconds around a ring.
    fn around(&self, collective: Collective, protocol: Protocol) -> f64 {
        let (graph, rules) = (self.graph, self.rules);
        let index = protocol as usize;
        let (steps, between) = self.steps(collective);
        let across = graph.servers > 1;
        let outer = if across { Hop::Network } else { graph.hop };
        if matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. }) {
            let hop = rules.hops[RING][outer as usize][index];
            return match (graph.rings.same_channels, protocol) {
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
        let inner = self.inner(RING, protocol).max(posting);
        (steps - between) * inner + between * self.across(protocol)
    }

    /// Times a hop around a ring between servers.
    fn across(&self, protocol: Protocol) -> f64 {
        let (graph, rules) = (self.graph, self.rules);
        let outer = if graph.servers > 1 { Hop::Network } else { graph.hop };
        let alone = rules.rings.alone_as_trees && graph.ranks == graph.servers;
        rules.hops[if alone { TREE } else { RING }][outer as usize][protocol as usize]
    }

    /// Returns the latency of a hop inside a server.
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
                let channels = graph.built as usize;
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
                graph.rings.whole() * table[TREE][index]
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

    fn tree_limit(&self, limits: &Limits, protocol: Protocol) -> f64 {
        let graph = self.graph;
        let row = graph.generation.row();
        let whole = graph.trees.counted(graph.servers).min(limits.most[row]);
        let channels = f64::from(graph.trees.channels);
        let most = match &limits.tree_most {
            TreeMost::Whole(rows) => {
                let ampere = graph.generation == Generation::Ampere;
                let row = usize::from(!(ampere && protocol == Protocol::LL128));
                rows[row][usize::from(graph.servers > 2)]
            }
            TreeMost::Channel(rows) => channels * rows[row][column(graph.servers)],
        };
        let mut bus = (whole * limits.tree).min(most);
        match protocol {
            Protocol::LL => {
                bus = (bus / 3.8).min(limits.ll_most[self.ll_row()][column(graph.servers)]);
            }
            Protocol::LL128 => {
                let part = limits.tree_ll128[usize::from(graph.servers > 1)];
                let most = self.most(&limits.tree_ll128_most, Collective::AllReduce);
                bus = (bus * part).min(channels * most);
            }
            Protocol::Simple => {}
        }
        let unbalanced = graph.trees.pattern == Pattern::Tree;
        bus * if unbalanced { limits.tree_unbalanced } else { 1.0 }
    }

    /// Gives the row of Hopper or of Blackwell.
    fn newer_row(&self) -> usize {
        usize::from(self.graph.generation == Generation::Blackwell)
    }

    /// Rates reduction in switches within one server. Between servers NCCL takes it with `CollNet` alone.
    fn nvls(&self, collective: Collective) -> Option<Candidate> {
        let graph = self.graph;
        let found = graph.nvls.filter(|_| graph.servers == 1)?;
        let nvls = self.rules.nvls?;
        let is_whole = collective == Collective::AllReduce;
        let is_half = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        let fits = graph.ranks <= self.rules.search.heads as usize;
        if !(is_whole || is_half && fits && nvls.halves != Halves::None) {
            return None;
        }
        let bandwidth = self.nvls_bandwidth(collective, &nvls, &found);
        Some(Self::in_switch(ExpectedAlgorithm::Nvls, nvls.latency, bandwidth, None))
    }

    fn nvls_bandwidth(&self, collective: Collective, nvls: &Nvls, found: &Found) -> f64 {
        let graph = self.graph;
        let (ranks, channels) = (graph.ranks as f64, f64::from(found.channels));
        let others = (ranks - 1.0) / ranks;
        let is_whole = collective == Collective::AllReduce;
        match nvls.share {
            NvlsShare::OfRings(share) => graph.rings.whole() * share,
            NvlsShare::Size(share) if is_whole || nvls.halves == Halves::Share => {
                channels * found.intra.min(found.inter) * share
            }
            NvlsShare::Size(_) if nvls.halves == Halves::Parts => {
                channels * (found.intra * others).min(found.inter * 0.9)
            }
            NvlsShare::Size(_) => channels * found.intra.min(found.inter),
            NvlsShare::Links(efficiency) => {
                let inside =
                    found.intra * efficiency[self.newer_row()] * (channels - 1.0) / channels;
                if is_whole {
                    channels * (2.0 * inside).min(found.inter) / collective.bus_factor(graph.ranks)
                } else {
                    channels * (inside * others).min(found.inter)
                }
            }
        }
    }

    /// Rates switches within servers and trees between them.
    fn nvls_tree(&self, collective: Collective) -> Option<Candidate> {
        let graph = self.graph;
        let found = graph.nvls.filter(|_| graph.servers > 1)?;
        let Nvls { latency, share, tree, .. } = self.rules.nvls?;
        let tree = tree.filter(|_| collective == Collective::AllReduce)?;
        let NvlsTree { hop, most, in_turn, corrected, .. } = tree;
        let (channels, is_pair) = (f64::from(found.channels), graph.servers == 2);
        let servers = graph.servers as f64;
        let bandwidth = match share {
            NvlsShare::OfRings(_) => return None,
            NvlsShare::Size(_) if in_turn => {
                found.counted(graph.servers) * 0.7 * servers / (2.0 * (servers - 1.0))
            }
            NvlsShare::Size(share) => {
                let between = if is_pair { found.inter } else { found.inter / 2.0 };
                channels * found.intra.min(between) * share
            }
            NvlsShare::Links(efficiency) => {
                let row = self.newer_row();
                let inside = 2.0 * found.intra * efficiency[row] * (channels - 1.0) / channels;
                let between = if is_pair { 2.0 * found.inter } else { found.inter };
                let most = most[row][usize::from(!is_pair)];
                channels * inside.min(between).min(most) / collective.bus_factor(graph.ranks)
            }
        };
        let hops = if in_turn { servers - 1.0 } else { f64::from(graph.servers.ilog2()) };
        let is_blackwell = graph.generation == Generation::Blackwell;
        let entries = self.rules.tree_correction[Protocol::Simple as usize];
        let correction = (corrected && is_blackwell && graph.x86_host).then_some((entries, 1.0));
        let latency = latency + 2.0 * hops * hop;
        Some(Self::in_switch(ExpectedAlgorithm::NvlsTree, latency, bandwidth, correction))
    }

    const fn in_switch(
        algorithm: ExpectedAlgorithm,
        latency: f64,
        bandwidth: f64,
        correction: Option<(&'static [f64], f64)>,
    ) -> Candidate {
        let (protocol, plateau) = (Protocol::Simple, None);
        Candidate { algorithm, protocol, latency, bandwidth, plateau, correction }
    }

    /// Rates parallel trees, on servers of one GPU each.
    fn pat(&self, collective: Collective) -> Option<Candidate> {
        let graph = self.graph;
        let is_half = matches!(collective, Collective::AllGather | Collective::ReduceScatter);
        let pat = self.rules.pat.filter(|_| is_half && graph.is_one_each())?;
        let levels = f64::from(graph.servers.ilog2());
        let hops = levels * self.across(Protocol::Simple) / pat.overlap;
        Some(Candidate {
            algorithm: ExpectedAlgorithm::Pat,
            protocol: Protocol::Simple,
            latency: pat.base + hops + graph.ranks as f64 * pat.each,
            bandwidth: graph.trees.counted(graph.servers) * pat.share,
            plateau: None,
            correction: None,
        })
    }

    /// Models sends and receives between pairs, which no release has a model of. They take one hop,
    /// and as long as their most loaded link.
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

#[cfg(test)]
mod tests;
