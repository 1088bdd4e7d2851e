//! Holds the rules of RCCL 2.22, of ROCm 6.3 and later: tuning model 5, of 8 MI300X in a full mesh.
//!
//! Of the MI200 series, whose boxes have models of their own, this model is taken too.

use super::nccl_2_18::RULES_2_20;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;
use crate::collectives::nccl::baselines::generation::Generation;

const TREE_LL: &[f64] = &[
    0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 0.6, 1.0, 0.9, 1.0, 1.0, 0.1, 0.1, 0.1,
    0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
];
const RING_LL: &[f64] = &[
    0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 0.2, 1.0, 0.4, 0.4, 0.1, 0.2, 0.2,
    0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
];

const SHARES: Shares = Shares {
    two: [[0.06, 0.06, 0.11], [0.08, 0.08, 1.0]],
    more: [[0.06, 0.06, 0.59], [0.08, 0.08, 1.0]],
    ring_correction: [
        RING_LL,
        RING_LL,
        &[
            0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
            0.1, 0.1, 0.1, 0.1, 0.1, 1.0, 0.8, 1.0, 1.0, 1.0,
        ],
    ],
    rooted_ll: 1.65,
    tree_simple_within: false,
    ll_between: [655_360, 98_304, 1_048_576],
};

pub const RULES: Rules = Rules {
    library: Library::Rccl,
    version: Version::new(2, 22, 0),
    source: "ROCm/rccl, src/graph/tuning.cc (tuning_model_5), topo.h, rome_models.cc \
             (rome_model_79), connect.cc, src/init.cc, src/include/device.h, src/misc/rccl_wrap.cc",
    base: [[12.0, 12.0, 17.0], [12.0, 12.0, 17.0]],
    hops: [
        [[0.9, 0.9, 2.3], [2.2, 2.2, 5.7], [10.5, 10.5, 25.0]],
        [[0.8, 0.8, 2.1], [2.2, 2.2, 5.7], [9.5, 9.5, 320.0]],
    ],
    rings: Rounds { one_more: false, posting: true, alone_as_trees: true },
    bandwidths: Bandwidths::Shares(SHARES),
    tree_correction: [
        TREE_LL,
        TREE_LL,
        &[
            0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.7, 1.0,
            1.0, 1.0, 1.0, 1.0, 0.7, 0.7, 0.5, 0.6, 0.6, 0.6,
        ],
    ],
    plateau: Plateau::None,
    // The model has numbers for LL128, and no build of rings for 8 MI300X turns it on.
    ll128: Ll128 { generations: 0, relayed: false },
    nvls: None,
    pat: None,
    blocks: Blocks {
        most: 128,
        doubled_from: Generation::Blackwell,
        doubled_to: 0,
        threads: [256, 256, 256],
        thread_bytes: [8, 8, 64],
        warp: 64,
        beside: [0, 0],
        tree_has_all: false,
        least_traffic: 16 << 10,
        last: LastChunk::Sixteen,
        tree_shrinks: false,
    },
    ..RULES_2_20
};
