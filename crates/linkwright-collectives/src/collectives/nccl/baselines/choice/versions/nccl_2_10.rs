//! NCCL 2.10, of the A100; the series up to 2.16 is taken to choose like it.

use super::nccl_2_7;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

/// The rates of one channel that the search tries.
const RATES: &[f64] = &[44.0, 30.0, 22.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0];

/// Those that it tries where there is a network.
const BETWEEN: &[f64] = &[
    48.0, 30.0, 24.0, 22.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24,
    0.12,
];

/// The most of LL; Hopper came later and has Ampere's.
pub const LL_MOST: Generations =
    [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [87.7, 22.5, 19.0], [87.7, 22.5, 19.0]];

const LIMITS: Limits = Limits {
    ll_most: LL_MOST,
    ring_ll128_most: ByCollective::Kinds([20.0; 5]),
    tree: 0.92,
    tree_most: TreeMost::Channel([
        [26.5, 18.5, 10.0],
        [24.0, 23.6, 17.8],
        [24.0, 23.6, 17.8],
        [24.0, 23.6, 17.8],
    ]),
    tree_ll128: [7.0 / 9.0, 120.0 / 128.0],
    tree_ll128_most: ByCollective::Kinds([20.0; 5]),
    ..nccl_2_7::LIMITS
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 10, 0),
    source: "NVIDIA/nccl v2.10.3-1: src/graph/tuning.cc 56-288, src/graph/search.cc 710-885, \
             src/graph/topo.h 13-29",
    search: Search {
        nvlink: [18.0, 22.0, 22.0, 22.0, 22.0],
        rates: [RATES, RATES, RATES],
        between: [BETWEEN, BETWEEN, BETWEEN],
        intel_overhead: 6.0 / 5.0,
        upi: [9.0, 9.0, 9.0],
        ..nccl_2_7::RULES.search
    },
    hops: [[[0.52, 1.25, 28.0], [1.0, 1.9, 28.0], [5.0, 8.5, 28.0]], nccl_2_7::RULES.hops[1]],
    bandwidths: Bandwidths::Limits(LIMITS),
    tree_correction: [
        &[
            1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7,
            0.8, 0.9, 1.0, 1.0, 1.0, 1.0,
        ],
        &[
            1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8,
            0.9, 0.9, 0.9, 0.9, 1.0, 1.0,
        ],
        &[
            0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7,
            0.8, 0.7, 0.7, 0.8, 0.9, 0.9,
        ],
    ],
    blocks: Blocks { beside: [32, 128], ..nccl_2_7::RULES.blocks },
    ..nccl_2_7::RULES
};
