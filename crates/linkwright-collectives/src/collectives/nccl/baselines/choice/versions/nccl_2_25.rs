//! NCCL 2.25 to 2.27 has Blackwell.

use super::nccl_2_18::{BETWEEN, HOPPER_BETWEEN_2_19, RATES};
use super::nccl_2_21::{self, HOPPER, LIMITS_2_23, RULES_2_24};
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

/// Lists the rates of one channel on Blackwell, in 2.25 and 2.26, and then in 2.27.
const BLACKWELL: &[f64] = &[90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0];
pub const BLACKWELL_2_27: &[f64] =
    &[90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0];
const BLACKWELL_BETWEEN_2_27_3: &[f64] = &[
    47.9, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24,
    0.12,
];
const BLACKWELL_BETWEEN_2_27_5: &[f64] = &[
    48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24,
    0.12,
];
pub const BLACKWELL_BETWEEN: &[f64] = &[
    96.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2,
    0.24, 0.12,
];

/// Blackwell's LL has twice what Hopper's has.
pub const LL_MOST: Generations =
    [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [282.0, 90.0, 70.0]];

/// All of Blackwell's limits are twice Hopper's.
const LIMITS: Limits = Limits {
    ll_most: LL_MOST,
    ring_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 36.7],
        [73.4, 73.4, 73.4],
    ]),
    tree_most: TreeMost::Channel([
        [26.5, 18.5, 10.0],
        [24.0, 23.6, 17.8],
        [38.7, 41.4, 36.0],
        [77.4, 82.8, 72.0],
    ]),
    tree_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 29.0],
        [73.4, 73.4, 58.0],
    ]),
    ..LIMITS_2_23
};

const NVLS: Nvls = Nvls { halves: Halves::Whole, channels: [16, 32, 32], ..nccl_2_21::NVLS };

pub const RULES: Rules = Rules {
    version: Version::new(2, 25, 0),
    source: "NVIDIA/nccl v2.25.1-1: src/graph/tuning.cc 120-546, search.cc 930-1143, \
             topo.h 13-32 and connect.cc 374-518. In src/: enqueue.cc 491 and 1592-1862, \
             transport/nvls.cc 144-181, include/device.h 62 and 180",
    search: Search {
        nvlink: [18.0, 20.0, 20.0, 20.6, 40.0],
        rates: [RATES, HOPPER, BLACKWELL],
        between: [BETWEEN, HOPPER_BETWEEN_2_19, HOPPER_BETWEEN_2_19],
        most: 32,
        ..RULES_2_24.search
    },
    bandwidths: Bandwidths::Limits(LIMITS),
    ll128: Ll128 { generations: 4, relayed: true },
    nvls: Some(NVLS),
    blocks: Blocks { most: 64, ..RULES_2_24.blocks },
    ..RULES_2_24
};

pub const RULES_2_26: Rules = Rules {
    version: Version::new(2, 26, 0),
    source: "NVIDIA/nccl v2.26.6-1: src/graph/tuning.cc 120-547, search.cc 913-1135, \
             topo.h 13-34 and connect.cc 374-518. In src/: enqueue.cc 499 and 1671-1941, \
             transport/nvls.cc 144-181",
    search: Search { upi: [10.0, 22.0, 40.0], ..RULES.search },
    ..RULES
};

pub const RULES_2_27_3: Rules = Rules {
    version: Version::new(2, 27, 3),
    source: "NVIDIA/nccl v2.27.3-1: src/graph/tuning.cc 134-571, search.cc 902-1124, \
             topo.h 15-36 and connect.cc 374-518. In src/: enqueue.cc 539 and 1756-2057, \
             transport/nvls.cc 147-203",
    search: Search {
        rates: [RATES, HOPPER, BLACKWELL_2_27],
        between: [BETWEEN, HOPPER_BETWEEN_2_19, BLACKWELL_BETWEEN_2_27_3],
        ..RULES_2_26.search
    },
    nvls: Some(Nvls { halves: Halves::Parts, channels: [16, 24, 32], ..NVLS }),
    ..RULES_2_26
};

pub const RULES_2_27_5: Rules = Rules {
    version: Version::new(2, 27, 5),
    source: "NVIDIA/nccl v2.27.5-1: src/graph/tuning.cc 134-578, search.cc 952-1174, \
             topo.h 15-36 and connect.cc 374-518. In src/: enqueue.cc 539 and 1756-2057, \
             transport/nvls.cc 147-203",
    search: Search {
        nvlink: [18.0, 20.0, 20.0, 20.6, 40.1],
        between: [BETWEEN, HOPPER_BETWEEN_2_19, BLACKWELL_BETWEEN_2_27_5],
        ..RULES_2_27_3.search
    },
    ..RULES_2_27_3
};

pub const RULES_2_27: Rules = Rules {
    version: Version::new(2, 27, 6),
    source: "NVIDIA/nccl v2.27.7-1: src/graph/tuning.cc 134-578, search.cc 952-1174, \
             topo.h 15-36 and connect.cc 374-518. In src/: enqueue.cc 536 and 1753-2054, \
             transport/nvls.cc 147-203",
    search: Search {
        between: [BETWEEN, HOPPER_BETWEEN_2_19, BLACKWELL_BETWEEN],
        ..RULES_2_27_5.search
    },
    ..RULES_2_27_5
};
