//! NCCL 2.21 to 2.24 has racks of one NVLink domain, and from 2.23 on parallel trees.

use super::nccl_2_18::{self, BETWEEN, HOPPER_BETWEEN_2_19, NVLS_2_19, RATES};
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

pub const HOPPER: &[f64] = &[60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0];

const LIMITS: Limits = Limits {
    ll: [0.5, 0.5],
    ll_most: [[39.0, 39.0, 20.4], [87.7, 22.5, 19.0], [141.0, 45.0, 35.0], [141.0, 45.0, 35.0]],
    ..nccl_2_18::LIMITS
};

/// From 2.23 on LL128 loses nothing on servers of one GPU.
pub const LIMITS_2_23: Limits = Limits { ll128_alone: 0.92, ..LIMITS };

pub const NVLS: Nvls = Nvls { latency: 25.0, ..NVLS_2_19 };

pub const RULES: Rules = Rules {
    version: Version::new(2, 21, 0),
    source: "NVIDIA/nccl v2.21.5-1: src/graph/tuning.cc 56-445, search.cc 850-1044, \
             topo.h 13-31 and connect.cc 366-501. In src/: enqueue.cc 1484-1767, \
             transport/nvls.cc 232-261, include/device.h 54 and 170",
    search: Search {
        rates: [RATES, HOPPER, HOPPER],
        between: [BETWEEN, HOPPER_BETWEEN_2_19, HOPPER_BETWEEN_2_19],
        heads: 32,
        ..nccl_2_18::RULES_2_20.search
    },
    bandwidths: Bandwidths::Limits(LIMITS),
    nvls: Some(NVLS),
    ..nccl_2_18::RULES_2_20
};

pub const RULES_2_22: Rules = Rules {
    version: Version::new(2, 22, 0),
    source: "NVIDIA/nccl v2.22.3-1: src/graph/tuning.cc 56-443, search.cc 909-1104, \
             topo.h 13-31 and connect.cc 375-516. In src/: enqueue.cc 614 and 1543-1811, \
             transport/nvls.cc 138-167",
    blocks: Blocks {
        tree_has_all: true,
        least_traffic: 512,
        last: LastChunk::Sixteen,
        ..RULES.blocks
    },
    ..RULES
};

/// Rates parallel trees at 0.85 of a tree's channels.
const PAT: Pat = Pat { share: 0.85, base: 8.0, overlap: 3.5, each: 2.8 };

pub const RULES_2_23: Rules = Rules {
    version: Version::new(2, 23, 0),
    source: "NVIDIA/nccl v2.23.4-1: src/graph/tuning.cc 56-467, search.cc 930-1126, \
             topo.h 13-31 and connect.cc 377-521. In src/: enqueue.cc 723 and 1778-2074, \
             transport/nvls.cc 145-174",
    base: [[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]],
    hops: [[[0.6, 1.25, 4.0], [1.0, 1.9, 4.0], [5.0, 8.5, 14.0]], RULES.hops[1]],
    rings: Rounds { one_more: false, posting: true, alone_as_trees: true },
    bandwidths: Bandwidths::Limits(LIMITS_2_23),
    nvls: Some(Nvls { halves: Halves::Whole, ..NVLS }),
    pat: Some(PAT),
    blocks: Blocks { least_traffic: 16 << 10, ..RULES_2_22.blocks },
    ..RULES_2_22
};

pub const RULES_2_24: Rules = Rules {
    version: Version::new(2, 24, 0),
    source: "NVIDIA/nccl v2.24.3-1: src/graph/tuning.cc 120-539, search.cc 930-1126, \
             topo.h 13-31 and connect.cc 377-521. In src/: enqueue.cc 481 and 1582-1852, \
             transport/nvls.cc 146-175",
    pat: Some(Pat { share: 0.75, ..PAT }),
    ..RULES_2_23
};
