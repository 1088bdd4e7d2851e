//! How NCCL 2.4 chose, before it had a cost model.
//!
//! The sources are `ncclTreeThreshold` of `src/init.cc` and `getKernelInfo` of `src/enqueue.cc` of
//! NCCL 2.4.

use super::graph::Graph;
use super::rules::Thresholds;
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::nccl::baselines::generation::Generation;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;

/// Describes the operation that runs, whatever a model says.
#[derive(Debug, Clone, Copy)]
pub struct Forced {
    pub algorithm: ExpectedAlgorithm,
    pub protocol: Protocol,
    /// Gives the channels and threads, where they follow from no other rule.
    pub blocks: Option<(u32, u32)>,
}

/// Returns the algorithm and the protocol of a size, and for LL the channels and threads.
pub fn choose(thresholds: &Thresholds, graph: &Graph, collective: Collective, size: u64) -> Forced {
    let tree = collective == Collective::AllReduce && (size as f64) <= tree_most(thresholds, graph);
    let circles = matches!(
        collective,
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter
    );
    let chunks = if circles && !tree { graph.ranks as u64 } else { 1 };
    let Thresholds { ll_thread_bytes, ll_threads: [fewest, most], .. } = *thresholds;
    let mut threads = fewest;
    while size.div_ceil(u64::from(threads) * chunks) > ll_thread_bytes && threads * 2 <= most {
        threads *= 2;
    }
    let each = u64::from(threads) * chunks;
    let channels = size.div_ceil(each * ll_thread_bytes).clamp(1, u64::from(graph.built));
    let older = graph.generation < Generation::Volta;
    let bytes = if older { thresholds.older_thread_bytes } else { thresholds.thread_bytes };
    let several = if graph.servers > 1 { 2 } else { 1 };
    let bytes = bytes * several * if tree { 4 } else { 1 };
    let algorithm = if tree { ExpectedAlgorithm::Tree } else { ExpectedAlgorithm::Ring };
    if size <= channels * each * bytes {
        Forced { algorithm, protocol: Protocol::LL, blocks: Some((channels as u32, threads)) }
    } else {
        Forced { algorithm, protocol: Protocol::Simple, blocks: None }
    }
}

/// Returns the most bytes of a tree, which are none within one server.
fn tree_most(thresholds: &Thresholds, graph: &Graph) -> f64 {
    let Thresholds { channel, ring_between, tree_within, tree_between, tree_share, .. } =
        *thresholds;
    let (ranks, servers) = (graph.ranks as f64, graph.servers as f64);
    let channels = if graph.over_fabric { f64::from(graph.built) } else { 1.0 };
    let ring = channel * 1e3 * channels;
    let share = tree_share[usize::from(!graph.over_fabric)];
    let twice = if graph.over_fabric && graph.servers == 2 { 2.0 } else { 1.0 };
    let tree = ring * share * twice;
    let around = ring_between * (ranks - 1.0);
    let levels = f64::from(graph.servers.ilog2());
    let down = tree_between * levels + tree_within * ((ranks / servers).floor() - 1.0);
    if graph.servers < 2 || around <= down {
        0.0
    } else if tree > ring {
        f64::INFINITY
    } else {
        ring * tree / (ring - tree) * (around - down)
    }
}
