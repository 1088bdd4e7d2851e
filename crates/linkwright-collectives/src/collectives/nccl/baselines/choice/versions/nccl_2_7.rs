//! Holds the rules of NCCL 2.7, of the V100 and the first A100s.

use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;
use crate::collectives::nccl::baselines::generation::Generation;

/// The rates of one channel that the search tries.
const RATES: &[f64] = &[42.0, 24.0, 21.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0];

/// It tries the same and lower ones where there is a network.
const BETWEEN: &[f64] =
    &[42.0, 24.0, 21.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12];

/// 7/9 of what a ring's LL128 moves on a channel.
const TREE_LL128: [f64; 5] =
    [18.8 * 7.0 / 9.0, 12.0 * 7.0 / 9.0, 18.3 * 7.0 / 9.0, 15.2 * 7.0 / 9.0, 16.7 * 7.0 / 9.0];

pub const LIMITS: Limits = Limits {
    most: [f64::INFINITY, 235.0, f64::INFINITY, f64::INFINITY],
    ll: [1.0 / 4.0, 1.0 / 3.0],
    ll_most: [[f64::INFINITY; 3]; 4],
    ll128: 0.92,
    ll128_alone: 0.7,
    ring_ll128_most: ByCollective::Kinds([18.8, 12.0, 18.3, 15.2, 16.7]),
    tree: 0.9,
    tree_most: TreeMost::Whole([[130.0, 105.0], [110.0, 80.0]]),
    tree_ll128: [7.0 / 9.0, 0.915],
    tree_ll128_most: ByCollective::Kinds(TREE_LL128),
    tree_unbalanced: 1.0,
};

pub const RULES: Rules = Rules {
    library: Library::Nccl,
    version: Version::new(2, 7, 0),
    source: "NVIDIA/nccl v2.7.8-1: src/graph/tuning.cc 56-265, src/graph/search.cc 626-781, \
             src/graph/topo.h 12-26, src/enqueue.cc 253-430",
    thresholds: None,
    search: Search {
        // Hopper and Blackwell came later: NVLink of Ampere stands in.
        nvlink: [18.0, 21.0, 21.0, 21.0, 21.0],
        rates: [RATES, RATES, RATES],
        between: [BETWEEN, BETWEEN, BETWEEN],
        intel_overhead: 12.0 / 9.0,
        upi: [9.0, 9.0, 9.0],
        most: 16,
        heads: 0,
        raises: false,
    },
    base: [[4.4, 4.4, 0.0], [3.6, 10.0, 8.4]],
    hops: [
        [[0.52, 1.2, 28.0], [1.0, 1.9, 28.0], [5.0, 8.5, 50.0]],
        [[0.47, 1.9, 3.4], [1.0, 2.5, 5.7], [2.7, 4.0, 9.6]],
    ],
    ll_hop_between: 1.8,
    rings: Rounds { one_more: false, posting: false, alone_as_trees: false },
    bandwidths: Bandwidths::Limits(LIMITS),
    tree_correction: [
        &[
            1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7,
            0.8, 0.9, 1.0, 1.0, 1.0,
        ],
        &[
            1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.5, 0.6, 0.6, 0.7,
            0.7, 0.8, 0.9, 0.9, 1.0,
        ],
        &[
            0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
            0.6, 0.6, 0.7, 0.8, 0.9,
        ],
    ],
    plateau: Plateau::Ranks { by: [1.9, 1.9] },
    ll128: Ll128 { generations: 2, relayed: false },
    nvls: None,
    pat: None,
    blocks: Blocks {
        most: 32,
        doubled_from: Generation::Hopper,
        doubled_to: 0,
        threads: [512, 640, 512],
        thread_bytes: [8, 8, 64],
        warp: 32,
        beside: [32, 32],
        tree_has_all: false,
        least_traffic: 0,
        last: LastChunk::Threads,
        tree_shrinks: true,
    },
};
