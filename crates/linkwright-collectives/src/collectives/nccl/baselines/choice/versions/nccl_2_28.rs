//! NCCL 2.28 to 2.30: NVLS by what links reach of it.

use super::nccl_2_18::{BETWEEN, HOPPER_BETWEEN_2_19, RATES};
use super::nccl_2_21::{HOPPER, LIMITS_2_23};
use super::nccl_2_25::{LL_MOST, RULES_2_27};
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

/// Lists the rates of one channel on Blackwell, in 2.29 and 2.30.
const BLACKWELL: &[f64] = &[90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0];
const BLACKWELL_BETWEEN_2_29: &[f64] = &[
    96.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4,
    1.2, 0.24, 0.12,
];
const BLACKWELL_BETWEEN_2_30: &[f64] = &[
    96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0,
    2.4, 1.2, 0.24, 0.12,
];

/// The limits, with those of a ring's LL128 on one channel of Blackwell.
const fn limits(blackwell: [f64; 3]) -> Limits {
    Limits {
        ll_most: LL_MOST,
        ring_ll128_most: ByCollective::Generations([
            [20.0, 20.0, 20.0],
            [20.0, 20.0, 20.0],
            [36.7, 36.7, 36.7],
            blackwell,
        ]),
        tree_most: TreeMost::Channel([
            [26.5, 18.5, 10.0],
            [24.0, 23.6, 17.8],
            [38.7, 41.4, 36.0],
            [70.0, 42.8, 24.0],
        ]),
        tree_ll128_most: ByCollective::Generations([
            [20.0, 20.0, 20.0],
            [20.0, 20.0, 20.0],
            [36.7, 36.7, 29.0],
            [55.6, 31.67, 20.0],
        ]),
        ..LIMITS_2_23
    }
}

/// Rates NVLS by what links reach. Beyond two servers a channel of Blackwell has N GB/s on trees between them.
const fn nvls(
    least: usize,
    hop: f64,
    beyond_two: f64,
    [corrected, tuned]: [bool; 2],
) -> Option<Nvls> {
    Some(Nvls {
        latency: 25.0,
        share: NvlsShare::Links([0.85, 0.74]),
        halves: Halves::Parts,
        channels: [16, 24, 32],
        least,
        tree: Some(NvlsTree {
            hop,
            most: [[57.7, 45.5], [96.0, beyond_two]],
            in_turn: false,
            corrected,
            tuned,
        }),
    })
}

pub const RULES_2_28_3: Rules = Rules {
    version: Version::new(2, 28, 3),
    source: "NVIDIA/nccl v2.28.3-1: src/graph/tuning.cc 134-601, search.cc 952-1174, \
             topo.h 15-36 and connect.cc 374-522. In src/: enqueue.cc 512 and 1768-2075, \
             transport/nvls.cc 147-203",
    bandwidths: Bandwidths::Limits(limits([73.4, 73.4, 73.4])),
    nvls: nvls(3, 14.0, 43.1, [false, false]),
    ..RULES_2_27
};

pub const RULES_2_28_7: Rules = Rules {
    version: Version::new(2, 28, 7),
    source: "NVIDIA/nccl v2.28.7-1: src/graph/tuning.cc 134-601, search.cc 976-1198, \
             topo.h 15-36 and connect.cc 374-522. In src/: enqueue.cc 529 and 1785-2092, \
             transport/nvls.cc 148-204",
    bandwidths: Bandwidths::Limits(limits([73.4, 34.6, 73.4])),
    nvls: nvls(2, 14.0, 43.1, [false, false]),
    ..RULES_2_28_3
};

pub const RULES_2_28: Rules = Rules {
    version: Version::new(2, 28, 9),
    source: "NVIDIA/nccl v2.28.9-1: src/graph/tuning.cc 134-601, search.cc 976-1198, \
             topo.h 15-36 and connect.cc 374-522. In src/: enqueue.cc 529 and 1785-2092, \
             transport/nvls.cc 148-204",
    nvls: nvls(2, 20.9, 43.8, [false, false]),
    ..RULES_2_28_7
};

pub const RULES_2_29_2: Rules = Rules {
    version: Version::new(2, 29, 2),
    source: "NVIDIA/nccl v2.29.2-1: src/graph/tuning.cc 134-604, search.cc 976-1239, \
             topo.h 16-37 and connect.cc 374-522. In src/: enqueue.cc 576 and 1892-2198, \
             transport/nvls.cc 148-204",
    search: Search { rates: [RATES, HOPPER, BLACKWELL], ..RULES_2_28.search },
    bandwidths: Bandwidths::Limits(limits([34.5, 34.6, 34.5])),
    nvls: nvls(2, 20.9, 43.8, [true, false]),
    blocks: Blocks { least_traffic: 32 << 10, ..RULES_2_28.blocks },
    ..RULES_2_28
};

pub const RULES_2_29: Rules = Rules {
    version: Version::new(2, 29, 7),
    source: "NVIDIA/nccl v2.29.7-1: src/graph/tuning.cc 135-605, search.cc 977-1240, \
             topo.h 17-38 and connect.cc 375-523. In src/: enqueue.cc 581 and 1897-2203, \
             transport/nvls.cc 149-205",
    search: Search {
        between: [BETWEEN, HOPPER_BETWEEN_2_19, BLACKWELL_BETWEEN_2_29],
        ..RULES_2_29_2.search
    },
    bandwidths: Bandwidths::Limits(limits([40.0, 40.0, 40.0])),
    ..RULES_2_29_2
};

pub const RULES_2_30: Rules = Rules {
    version: Version::new(2, 30, 0),
    source: "NVIDIA/nccl v2.30.7-1: src/graph/tuning.cc 139-655, search.cc 1051-1313, \
             topo.h 17-39 and connect.cc 380-536. In src/: enqueue.cc 585 and 1989-2320, \
             transport/nvls.cc 155-281, include/device.h 91 and 213",
    search: Search {
        between: [BETWEEN, HOPPER_BETWEEN_2_19, BLACKWELL_BETWEEN_2_30],
        ..RULES_2_29.search
    },
    // Channels and chunks go by the network.
    nvls: nvls(2, 20.9, 80.0, [true, true]),
    ..RULES_2_29
};
