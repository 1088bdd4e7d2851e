//! NCCL 2.20; the series up to 2.27 is taken to choose like it.

use super::nccl_2_18;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

pub const RULES: Rules = Rules {
    version: Version::new(2, 20, 0),
    source: "NVIDIA/nccl 2.20.3, src/graph/tuning.cc",
    hops: [[[0.6, 1.25, 28.0], [1.0, 1.9, 28.0], [5.0, 8.5, 28.0]], nccl_2_18::RULES.hops[1]],
    nvls: Some(Nvls {
        latency: 23.0,
        share: NvlsShare::Size(5.0 / 6.0),
        halves: true,
        channels: [16, 16],
        tree: Some(NvlsTree { hop: 14.0, most: [[f64::INFINITY; 2]; 2] }),
    }),
    ..nccl_2_18::RULES
};
