//! Holds NCCL 2.18, 2.19 and 2.20, which are of the H100.

use super::nccl_2_17;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

/// The rates of one channel that the search tries, up to Ampere and on Hopper, inside a server and with a network.
pub const RATES: &[f64] = &[40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0];
const HOPPER: &[f64] = &[60.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0];
pub const BETWEEN: &[f64] = &[
    48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2,
    0.24, 0.12,
];
const HOPPER_BETWEEN: &[f64] =
    &[48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12];

/// It has these from 2.19 on.
const HOPPER_2_19: &[f64] = &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0];
pub const HOPPER_BETWEEN_2_19: &[f64] = &[
    48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24,
    0.12,
];

pub const LIMITS: Limits = Limits {
    most: [f64::INFINITY; 4],
    tree_most: TreeMost::Channel([
        [26.5, 18.5, 10.0],
        [24.0, 23.6, 17.8],
        [38.7, 41.4, 36.0],
        [38.7, 41.4, 36.0],
    ]),
    tree_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 29.0],
        [36.7, 36.7, 29.0],
    ]),
    tree_unbalanced: 0.85,
    ..nccl_2_17::LIMITS
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 18, 0),
    source: "NVIDIA/nccl v2.18.5-1: src/graph/tuning.cc 56-398, search.cc 807-998, \
             topo.h 13-30 and connect.cc 351-433. In src/: enqueue.cc 1153-1371, \
             transport/nvls.cc 231-259",
    search: Search {
        // Blackwell came later: NVLink of Hopper stands in.
        nvlink: [18.0, 20.0, 20.0, 20.0, 20.0],
        rates: [RATES, HOPPER, HOPPER],
        between: [BETWEEN, HOPPER_BETWEEN, HOPPER_BETWEEN],
        intel_overhead: 6.0 / 5.0,
        upi: [10.0, 10.0, 10.0],
        most: 16,
        heads: 8,
        raises: false,
    },
    base: [[6.8, 14.0, 0.0], [6.6, 14.0, 8.4]],
    hops: [
        [[0.6, 1.25, 4.0], [1.0, 1.9, 6.0], [5.0, 8.5, 14.0]],
        [[0.6, 1.9, 3.4], [1.0, 2.5, 5.7], [2.7, 4.0, 14.0]],
    ],
    ll_hop_between: 1.0,
    rings: Rounds { one_more: true, posting: true, alone_as_trees: false },
    bandwidths: Bandwidths::Limits(LIMITS),
    plateau: Plateau::Channels { by: [1.9, 1.4] },
    ll128: Ll128 { generations: 3, relayed: true },
    nvls: Some(Nvls {
        latency: 23.0,
        share: NvlsShare::Size(5.0 / 6.0),
        halves: Halves::None,
        channels: [16, 16, 16],
        least: 3,
        tree: Some(NvlsTree {
            hop: 19.0,
            most: [[f64::INFINITY; 2]; 2],
            in_turn: true,
            corrected: false,
            tuned: false,
        }),
    }),
    // All that 32 channels hold are doubled.
    blocks: Blocks { doubled_to: 16, ..nccl_2_17::RULES.blocks },
    ..nccl_2_17::RULES
};

/// Rates NVLS from 2.19 on.
pub const NVLS_2_19: Nvls = Nvls {
    latency: 23.0,
    share: NvlsShare::Size(5.0 / 6.0),
    halves: Halves::Share,
    channels: [16, 16, 16],
    least: 3,
    tree: Some(NvlsTree {
        hop: 14.0,
        most: [[f64::INFINITY; 2]; 2],
        in_turn: false,
        corrected: false,
        tuned: false,
    }),
};

/// Rates trees by whole chunks again, and NVLSTree by levels.
pub const RULES_2_19: Rules = Rules {
    version: Version::new(2, 19, 0),
    source: "NVIDIA/nccl v2.19.4-1: src/graph/tuning.cc 56-427, search.cc 838-1032, \
             topo.h 13-31 and connect.cc 351-438. In src/: enqueue.cc 1261-1409, \
             transport/nvls.cc 243-271",
    search: Search {
        rates: [RATES, HOPPER_2_19, HOPPER_2_19],
        between: [BETWEEN, HOPPER_BETWEEN_2_19, HOPPER_BETWEEN_2_19],
        raises: true,
        ..RULES.search
    },
    hops: [[[0.6, 1.25, 28.0], [1.0, 1.9, 28.0], [5.0, 8.5, 28.0]], RULES.hops[1]],
    nvls: Some(NVLS_2_19),
    ..RULES
};

pub const RULES_2_20: Rules = Rules {
    version: Version::new(2, 20, 0),
    source: "NVIDIA/nccl v2.20.5-1: src/graph/tuning.cc 56-448, search.cc 839-1033, \
             topo.h 13-31 and connect.cc 366-491. In src/: enqueue.cc 1448-1727, \
             transport/nvls.cc 231-260",
    search: Search { nvlink: [18.0, 20.0, 20.0, 20.6, 20.6], ..RULES_2_19.search },
    blocks: Blocks { doubled_to: 15, tree_shrinks: false, ..RULES_2_19.blocks },
    ..RULES_2_19
};
