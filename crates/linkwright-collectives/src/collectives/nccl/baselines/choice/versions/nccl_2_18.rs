//! NCCL 2.18 and 2.19, of the H100.

use super::nccl_2_17;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

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
    tree_hopper: 0.85,
    ..nccl_2_17::LIMITS
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 18, 0),
    source: "NVIDIA/nccl 2.18.3, src/graph/tuning.cc; 2.19, src/enqueue.cc",
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
        halves: false,
        channels: [16, 16],
        tree: Some(NvlsTree { hop: 14.0, most: [[f64::INFINITY; 2]; 2] }),
    }),
    ..nccl_2_17::RULES
};
