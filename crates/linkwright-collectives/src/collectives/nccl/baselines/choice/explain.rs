//! Prints a job as NCCL does with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH,TUNING`, to lay it beside.
//!
//! Source: NCCL 2.30.7, `ncclTopoPrintGraph` of `src/graph/search.cc`, lines 1318 to 1350, and `ncclTopoTuneModel` of
//! `src/graph/tuning.cc`, lines 540 to 584. It leaves out the GPUs of each channel, and `CollNet`.

use std::iter;

use super::found::Found;
use super::graph::Graph;
use super::model::{Candidate, Model};
use super::rules::Rules;
use super::shape::MOST_THREADS;
use crate::collectives::nccl::baselines::constants::PCIE3_BANDWIDTH;
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;

/// Holds the answers of a library's search and of its cost model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceExplanation {
    /// These are the rules of this library and release.
    pub library: String,
    /// This is where the rules stand.
    pub source: &'static str,
    /// These are what the search found.
    pub graphs: Vec<FoundGraph>,
    /// The cost model says this by collective, algorithm and protocol.
    pub costs: Vec<ModelCost>,
    /// Rings and trees have this number of channels in the end.
    pub channels: u32,
    /// NVLS has these; zero where there is none.
    pub nvls_channels: u32,
    /// Trees and rings have these threads at most, by protocol.
    threads: [[u32; 3]; 2],
    /// Whether the release has parallel trees, and prints a column for them.
    has_pat: bool,
}

/// Describes channels of one shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundGraph {
    /// This algorithm runs on them.
    pub algorithm: ExpectedAlgorithm,
    /// NCCL prints this number of the shape.
    pub pattern: u32,
    /// There are this number of them.
    pub channels: u32,
    /// Each carries these GB/s inside a server.
    pub intra: f64,
    /// Each carries these GB/s between servers.
    pub inter: f64,
    /// Hops inside a server go as far as this, by NCCL's names.
    pub type_intra: &'static str,
    /// GPUs are as far from their network interfaces.
    pub type_inter: &'static str,
    /// Whether all have one order.
    pub same_channels: bool,
}

/// Holds what the cost model takes to be true.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCost {
    /// It is about this collective.
    pub collective: Collective,
    /// This algorithm runs it.
    pub algorithm: ExpectedAlgorithm,
    /// It is with this protocol.
    pub protocol: Protocol,
    /// It takes these microseconds before any that depend on the size.
    pub latency: f64,
    /// It moves these GB/s of size.
    pub bandwidth: f64,
}

/// Those that NCCL prints, in its order and by its names.
const COLLECTIVES: [(Collective, &str); 5] = [
    (Collective::Broadcast { root: 0 }, "Broadcast"),
    (Collective::Reduce { root: 0 }, "Reduce"),
    (Collective::AllGather, "AllGather"),
    (Collective::ReduceScatter, "ReduceScatter"),
    (Collective::AllReduce, "AllReduce"),
];

/// NCCL's algorithms in its order; there is none of ours for `CollNet`.
const COLUMNS: [(Option<ExpectedAlgorithm>, &str); 7] = [
    (Some(ExpectedAlgorithm::Tree), "Tree"),
    (Some(ExpectedAlgorithm::Ring), "Ring"),
    (None, "CollNetDirect"),
    (None, "CollNetChain"),
    (Some(ExpectedAlgorithm::Nvls), "NVLS"),
    (Some(ExpectedAlgorithm::NvlsTree), "NVLSTree"),
    (Some(ExpectedAlgorithm::Pat), "PAT"),
];

pub fn explained(rules: &Rules, graph: &Graph) -> ChoiceExplanation {
    let model = Model { rules, graph };
    let costs = COLLECTIVES.iter().flat_map(|(collective, _)| {
        let cost = |it: Candidate| ModelCost {
            collective: *collective,
            algorithm: it.algorithm,
            protocol: it.protocol,
            latency: it.latency,
            bandwidth: it.bandwidth,
        };
        model.candidates(*collective).into_iter().map(cost)
    });
    let switches = graph.nvls.map(|found| (ExpectedAlgorithm::Nvls, found));
    let graphs = [(ExpectedAlgorithm::Ring, graph.rings), (ExpectedAlgorithm::Tree, graph.trees)];
    let graphs =
        graphs.into_iter().chain(switches).map(|(algorithm, found)| shown(algorithm, &found));
    let [ll, ll128, simple] = rules.blocks.threads;
    let slow = if graph.rings.whole() <= PCIE3_BANDWIDTH { simple.min(256) } else { simple };
    ChoiceExplanation {
        library: format!("{} {}", rules.library.name(), rules.version),
        source: rules.source,
        graphs: graphs.collect(),
        costs: costs.collect(),
        channels: graph.built,
        nvls_channels: graph.nvls.map_or(0, |_| model.nvls_channels()),
        threads: [[ll, ll128, simple], [ll, ll128, slow]],
        has_pat: rules.pat.is_some(),
    }
}

fn shown(algorithm: ExpectedAlgorithm, found: &Found) -> FoundGraph {
    FoundGraph {
        algorithm,
        pattern: found.pattern as u32,
        channels: found.channels,
        intra: found.intra,
        inter: found.inter,
        type_intra: found.reach_intra.name(),
        type_inter: found.reach_inter.name(),
        same_channels: found.same_channels,
    }
}

impl ChoiceExplanation {
    /// Writes what the search found as NCCL does. A NIC is never crossed to another one (`crossNic 0`).
    #[must_use]
    pub fn graph_lines(&self) -> Vec<String> {
        let line = |it: &FoundGraph| {
            let FoundGraph { pattern, channels, intra, inter, type_intra, type_inter, .. } = it;
            format!(
                "Pattern {pattern}, crossNic 0, nChannels {channels}, bw {intra:.6}/{inter:.6}, \
                 type {type_intra}/{type_inter}, sameChannels {}",
                u32::from(it.same_channels)
            )
        };
        self.graphs.iter().map(line).collect()
    }

    /// Writes the cost model as NCCL does: latency in microseconds and bandwidth in GB/s of size, three algorithms at a time.
    /// Where an algorithm does not run both are zero.
    #[must_use]
    pub fn tuning_lines(&self) -> Vec<String> {
        let columns = &COLUMNS[..if self.has_pat { 7 } else { 6 }];
        columns.chunks(3).flat_map(|block| self.block(block)).collect()
    }

    fn block(&self, columns: &[(Option<ExpectedAlgorithm>, &str)]) -> Vec<String> {
        let heading = |(_, name): &(_, &str)| format!(" {:>14}   {name:>14}   {:>14} |", "", "");
        let protocols = Protocol::ALL.map(|it| format!(" {:>14} |", it.name())).concat();
        let threads = columns.iter().flat_map(|(algorithm, _)| self.threads_of(*algorithm));
        let threads: String = threads.map(|it| format!(" {it:>14} |")).collect();
        let names: String = columns.iter().map(heading).collect();
        let row = |(collective, name): &(Collective, &str)| {
            let cells = columns.iter().flat_map(|(algorithm, _)| {
                Protocol::ALL.map(|protocol| self.cell(*collective, *algorithm, protocol))
            });
            format!("{name:>13} |{}", cells.collect::<String>())
        };
        let head = [
            format!("  Algorithm   |{names}"),
            // NCCL prints the protocols of three algorithms, however many there are.
            format!("  Protocol    |{}", protocols.repeat(3)),
            format!(" Max NThreads |{threads}"),
        ];
        head.into_iter().chain(COLLECTIVES.iter().map(row)).collect()
    }

    fn threads_of(&self, algorithm: Option<ExpectedAlgorithm>) -> [u32; 3] {
        match algorithm {
            Some(ExpectedAlgorithm::Tree) => self.threads[0],
            Some(ExpectedAlgorithm::Ring) => self.threads[1],
            Some(ExpectedAlgorithm::Pat) => [0, 0, 0],
            _ => [0, 0, MOST_THREADS],
        }
    }

    fn cell(
        &self,
        collective: Collective,
        algorithm: Option<ExpectedAlgorithm>,
        protocol: Protocol,
    ) -> String {
        let is_it = |it: &&ModelCost| {
            (it.collective, Some(it.algorithm), it.protocol) == (collective, algorithm, protocol)
        };
        let found = self.costs.iter().find(is_it);
        let (latency, bandwidth) = found.map_or((0.0, 0.0), |it| (it.latency, it.bandwidth));
        format!("{latency:8.1}/{bandwidth:6.1} |")
    }

    /// Lists all lines, those of the search first.
    pub fn lines(&self) -> impl Iterator<Item = String> + use<> {
        let counts =
            format!("{} coll channels, {} nvls channels", self.channels, self.nvls_channels);
        self.graph_lines().into_iter().chain(iter::once(counts)).chain(self.tuning_lines())
    }
}
