//! NCCL 2.28 and 2.29.

use super::nccl_2_30;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

const LIMITS: Limits = Limits {
    ring_ll128_most: ByCollective::Generations([
        [20.0, 20.0, 20.0],
        [20.0, 20.0, 20.0],
        [36.7, 36.7, 36.7],
        [73.4, 73.4, 73.4],
    ]),
    ..nccl_2_30::LIMITS
};

pub const RULES: Rules = Rules {
    version: Version::new(2, 28, 0),
    source: "NVIDIA/nccl 2.28.3, src/graph/tuning.cc; 2.28, src/graph/search.cc and src/enqueue.cc",
    bandwidths: Bandwidths::Limits(LIMITS),
    ..nccl_2_30::RULES
};
