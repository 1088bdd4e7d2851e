//! NCCL 2.30, the present.

use super::nccl_2_20;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

pub const LIMITS: Limits = Limits {
    most: [f64::INFINITY; 4],
    ll: [0.5, 0.5],
    ll_most: [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [282.0, 90.0, 70.0]],
    ll128: 0.92,
    ll128_alone: 0.92,
    ring_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 36.7],
        [40.0, 40.0, 40.0],
    ]),
    tree: 0.92,
    tree_most: TreeMost::Channel([
        [26.5, 18.5, 10.0],
        [24.0, 23.6, 17.8],
        [38.7, 41.4, 36.0],
        [70.0, 42.8, 24.0],
    ]),
    tree_ll128: [7.0 / 9.0, 120.0 / 128.0],
    tree_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 29.0],
        [55.6, 31.67, 20.0],
    ]),
    tree_hopper: 0.85,
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 30, 0),
    source: "NVIDIA/nccl v2.30.7-1, src/graph/tuning.cc, lines 133 to 440; \
             src/graph/topo.h and search.cc; src/transport/nvls.cc",
    search: Search {
        nvlink: [18.0, 20.0, 20.0, 20.6, 40.1],
        rates: [
            &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0],
            &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0],
            &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0],
        ],
        intel_overhead: 6.0 / 5.0,
        upi: 10.0,
    },
    base: [[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]],
    hops: [
        [[0.6, 1.25, 4.0], [1.0, 1.9, 4.0], [5.0, 8.5, 14.0]],
        [[0.6, 1.9, 3.4], [1.0, 2.5, 5.7], [2.7, 4.0, 14.0]],
    ],
    rings: Rounds { one_more: false, posting: true, alone_as_trees: true },
    bandwidths: Bandwidths::Limits(LIMITS),
    ll128: Ll128 { generations: 4, relayed: true },
    nvls: Some(Nvls {
        latency: 25.0,
        share: NvlsShare::Links([0.85, 0.74]),
        halves: true,
        channels: [16, 24],
        tree: Some(NvlsTree { hop: 20.9, most: [[57.7, 45.5], [96.0, 80.0]] }),
    }),
    blocks: Blocks {
        most: 64,
        tree_has_all: true,
        least_traffic: 32 << 10,
        last: LastChunk::Sixteen,
        tree_shrinks: false,
        ..nccl_2_20::RULES.blocks
    },
    ..nccl_2_20::RULES
};
