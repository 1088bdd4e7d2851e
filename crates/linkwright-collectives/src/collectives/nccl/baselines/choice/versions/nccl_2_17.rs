//! Holds the rules of NCCL 2.17, the first with reduction in the `NVSwitches` of the H100.

use super::nccl_2_10;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

/// The rates of one channel that the search tries, up to Ampere and on Hopper, inside a server and with a network.
const RATES: &[f64] = &[44.0, 30.0, 22.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0];
const HOPPER: &[f64] = &[66.0, 33.0, 24.0, 20.0, 15.0, 12.0, 6.0, 3.0];
const BETWEEN: &[f64] = &[
    48.0, 30.0, 28.0, 24.0, 22.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2,
    0.24, 0.12,
];
const HOPPER_BETWEEN: &[f64] =
    &[48.0, 45.0, 30.0, 24.0, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12];

const RING_LL128: ByCollective = ByCollective::Generations([
    [20.0, 20.0, 20.0],
    [20.0, 20.0, 20.0],
    [36.7, 36.7, 36.7],
    [36.7, 36.7, 36.7],
]);

pub const LIMITS: Limits = Limits {
    most: [f64::INFINITY, 235.0, 370.0, 370.0],
    ll: [1.0 / 4.0, 1.0 / 3.0],
    ll_most: nccl_2_10::LL_MOST,
    ll128: 0.92,
    ll128_alone: 0.7,
    ring_ll128_most: RING_LL128,
    tree: 0.92,
    tree_most: TreeMost::Channel([
        [26.5, 18.5, 10.0],
        [24.0, 23.6, 17.8],
        [38.7, 41.4, 33.0],
        [38.7, 41.4, 33.0],
    ]),
    tree_ll128: [7.0 / 9.0, 120.0 / 128.0],
    tree_ll128_most: RING_LL128,
    tree_unbalanced: 1.0,
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 17, 0),
    source: "NVIDIA/nccl v2.17.1-1: src/graph/tuning.cc 56-350, src/graph/search.cc 729-909, \
             src/graph/topo.h 13-29",
    search: Search {
        // Blackwell came later: NVLink of Ampere stands in, as it does for Hopper.
        nvlink: [18.0, 22.0, 22.0, 22.0, 22.0],
        rates: [RATES, HOPPER, HOPPER],
        between: [BETWEEN, HOPPER_BETWEEN, HOPPER_BETWEEN],
        intel_overhead: 6.0 / 5.0,
        upi: [9.0, 9.0, 9.0],
        most: 16,
        heads: 8,
        raises: false,
    },
    rings: Rounds { one_more: true, posting: false, alone_as_trees: false },
    bandwidths: Bandwidths::Limits(LIMITS),
    plateau: Plateau::Ranks { by: [1.9, 1.5] },
    ll128: Ll128 { generations: 3, relayed: false },
    nvls: Some(Nvls {
        latency: 40.0,
        share: NvlsShare::OfRings(0.75),
        halves: Halves::Share,
        channels: [16, 16, 16],
        least: 1,
        tree: None,
    }),
    ..nccl_2_10::RULES
};
