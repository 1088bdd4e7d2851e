//! Says how a step by a layout is run: which exchanges move while GPUs compute, and how parts of sequences meet.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::training::kernel_ratios::KernelRatios;
use crate::units::Bytes;

/// How the GPUs that have parts of the same sequences attend to one another's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextExchange {
    /// Keys and values go around, while the part that has come is attended to (Liu et al., Ring Attention, 2023).
    #[default]
    Ring,
    /// All keys and values are gathered before (Llama 3, 2024).
    AllGather,
    /// Each GPU has some of the heads, for all tokens (Jacobs et al., DeepSpeed-Ulysses, 2023).
    AllToAll,
}

impl Named for ContextExchange {
    const WHAT: &'static str = "exchange between parts of sequences";
    const NAMED: &'static [(&'static str, Self)] =
        &[("ring", Self::Ring), ("all-gather", Self::AllGather), ("all-to-all", Self::AllToAll)];
    const ELSEWHERE: &'static [(&'static str, Self)] = &[
        ("p2p", Self::Ring),
        ("allgather", Self::AllGather),
        ("a2a", Self::AllToAll),
        ("alltoall", Self::AllToAll),
        ("ulysses", Self::AllToAll),
    ];
}

/// How a step is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Says how parts of sequences meet.
    pub context: ContextExchange,
    /// Whether collectives of tensor parallelism are cut into as many parts as there are GPUs (sequence parallelism
    /// only). All parts but one then hide behind the products beside them.
    pub async_tensor: bool,
    /// Blocks whose divided weights are gathered ahead of the one that is computed.
    pub prefetch: usize,
    /// Gradients that are reduced at once where replicas keep whole weights; a framework's own size where absent.
    pub bucket: Option<Bytes>,
    /// Gives measured times of kernels over modelled ones, where there is a trace.
    #[serde(default)]
    pub measured: Option<KernelRatios>,
}

impl Default for Execution {
    fn default() -> Self {
        let context = ContextExchange::default();
        Self { context, async_tensor: false, prefetch: 1, bucket: None, measured: None }
    }
}
