//! Holds the rules of NCCL 2.4, of Blink's time: no cost model, but thresholds.

use super::nccl_2_7;
use crate::collectives::nccl::baselines::choice::rules::*;
use crate::collectives::nccl::baselines::choice::version::Version;

pub const RULES: Rules = Rules {
    version: Version::new(2, 4, 0),
    source: "NVIDIA/nccl v2.4.8-1: src/init.cc 354-385, src/enqueue.cc 267-297, src/misc/rings.cc; \
             times by the model of 2.7",
    thresholds: Some(Thresholds {
        channel: 5.0,
        ring_between: 6.0,
        tree_within: 4.0,
        tree_between: 15.0,
        tree_share: [3.0 / 4.0, 2.0 / 3.0],
        ll_thread_bytes: 8,
        thread_bytes: 64,
        older_thread_bytes: 32,
        ll_threads: [64, 256],
    }),
    ll128: Ll128 { generations: 0, relayed: false },
    blocks: Blocks { most: 16, threads: [256, 0, 256], ..nccl_2_7::RULES.blocks },
    ..nccl_2_7::RULES
};
