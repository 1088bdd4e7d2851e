//! Turns a step of training into a program: the computing, copies and reductions of every rank,
//! layer by layer.
//!
//! A [`RankStep`] is what one GPU does of a step, whatever moves its data: the time of each layer, its weights, gradients
//! and activations. A [`Way`] makes the [`Program`] of all ranks from them. Nothing here knows how long data travels:
//! the runtime plays the program on the system.
//!
//! All ways share the following. An iteration begins with the framework's work on the host. Then
//! each GPU copies its samples from the host. It computes the layers forward, and backward from the
//! last. A GPU computes one thing at a time. An iteration ends when every GPU has the new weights
//! of all layers, so that the next one begins with all of them.
//!
//! They leave out samples of the next iteration that are copied while this one computes. They leave
//! out weights that arrive while the next forward pass has begun, and time to read samples from
//! disks.

mod alike;
mod parts;
mod pipeline;
mod reduced;
mod sharded;
mod shared;
mod tensor;
mod to_first;
mod truly_shared;
mod writing;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use alike::{Representatives, collectives_of};
pub use parts::{LayerStep, RankStep};
pub use pipeline::PipelineStages;
pub use writing::FRAMEWORK_REGION;
pub(in crate::training) use writing::Region;

use super::error::TrainingError;
use super::joins::Joins;
use super::terms::FrameworkCosts;
use crate::diagnostic::Named;
use crate::program::{PendingOperation, Program};

/// How data moves between the GPUs of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Gradients are all-reduced, and every GPU updates all weights.
    AllReduce,
    /// Gradients are all-reduced, GPU 0 updates the weights and broadcasts them: MXNet with NCCL, as the text of
    /// MGPU-TSM (section 2.2.3) has it.
    AllReduceBroadcast,
    /// Gradients are reduced to GPU 0, which updates the weights and broadcasts them, as the names of the kernels
    /// have it there.
    ReduceBroadcast,
    /// Every layer's gradients are copied to GPU 0, which adds them, updates the weights and copies
    /// them back. The copies pass through the host's memory where no peer copy is possible.
    PeerCopies,
    /// The same, by a third GPU with links to both where two have none.
    RelayedCopies,
    /// GPU 0 reads the gradients in the others' memory, and they read the weights in its.
    DirectAccess,
    /// Weights and gradients are in the memory of the host, and one GPU at a time has them.
    ZeroCopy,
    /// Weights and gradients are pages that the driver moves to the GPU that touches them.
    UnifiedMemory,
    /// Weights and gradients are in GPU 0's memory alone, and every GPU's kernels use them there.
    /// That is the prototype of true shared memory of MGPU-TSM (section 2.3.1, Figure 2-7e).
    SharedMemory,
    /// Keeps weights, gradients and all else in one memory. The kernels of every GPU reach it through a switch (truly
    /// shared memory of MGPU-TSM, chapter 3).
    TrulyShared,
    /// Every GPU has a part of the weights, the gradients and the optimizer's state. A layer's
    /// weights are gathered before it is computed (ZeRO stage 3, PyTorch's FSDP).
    FullySharded,
    /// Every GPU has a part of each layer, and all compute the same samples (Megatron-LM).
    TensorParallel,
    /// Every GPU has some of the layers, and parts of the batch follow one another, one forward and one backward
    /// (PipeDream's 1F1B).
    Pipeline,
}

impl Way {
    /// Whether all data moves by all-reduces. A fluid takes nothing else.
    #[must_use]
    pub const fn is_fluid(self) -> bool {
        matches!(self, Self::AllReduce)
    }
}

impl Named for Way {
    const WHAT: &'static str = "way to communicate";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("all-reduce", Self::AllReduce),
        ("all-reduce-broadcast", Self::AllReduceBroadcast),
        ("reduce-broadcast", Self::ReduceBroadcast),
        ("p2p", Self::PeerCopies),
        ("p2p-relay", Self::RelayedCopies),
        ("p2p-direct", Self::DirectAccess),
        ("zero-copy", Self::ZeroCopy),
        ("unified-memory", Self::UnifiedMemory),
        ("shared-memory", Self::SharedMemory),
        ("tsm", Self::TrulyShared),
        ("fsdp", Self::FullySharded),
        ("tensor", Self::TensorParallel),
        ("pipeline", Self::Pipeline),
    ];

    const ELSEWHERE: &'static [(&'static str, Self)] = &[
        ("mgputsm", Self::TrulyShared),
        ("trulysharedmemory", Self::TrulyShared),
        ("zero3", Self::FullySharded),
        ("zerostage3", Self::FullySharded),
        ("deepspeed", Self::FullySharded),
        ("fullysharded", Self::FullySharded),
        ("fsdp2", Self::FullySharded),
        ("nccl", Self::AllReduce),
        ("allreduce", Self::AllReduce),
        ("ddp", Self::AllReduce),
        ("dataparallel", Self::AllReduce),
        ("distributeddataparallel", Self::AllReduce),
        ("tp", Self::TensorParallel),
        ("tensorparallel", Self::TensorParallel),
        ("megatron", Self::TensorParallel),
        ("pp", Self::Pipeline),
        ("pipelineparallel", Self::Pipeline),
        ("gpipe", Self::Pipeline),
        ("1f1b", Self::Pipeline),
    ];
}

impl Way {
    /// Whether only messages and collectives join the GPUs, which may then be in several servers.
    #[must_use]
    pub const fn joins_servers(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::AllReduceBroadcast
                | Self::ReduceBroadcast
                | Self::FullySharded
                | Self::TensorParallel
                | Self::Pipeline
        )
    }

    /// Whether weights are updated once all gradients are known, which one kernel may do; else as soon as some are.
    #[must_use]
    pub(super) const fn updates_at_once(self) -> bool {
        !matches!(
            self,
            Self::AllReduceBroadcast
                | Self::ReduceBroadcast
                | Self::PeerCopies
                | Self::RelayedCopies
                | Self::DirectAccess
        )
    }

    /// Says whether each GPU updates a part of the weights.
    #[must_use]
    pub(super) const fn divides_updates(self) -> bool {
        matches!(self, Self::FullySharded | Self::TrulyShared)
    }

    /// Why data moves while GPUs compute, where nothing keeps it from that.
    #[must_use]
    pub const fn always_overlaps(self) -> Option<&'static str> {
        match self {
            Self::FullySharded => {
                Some("a block's weights are gathered while the block before it is computed")
            }
            Self::Pipeline => {
                Some("a stage computes one part of the batch while another is on its way")
            }
            Self::ZeroCopy => Some("kernels read and write the host's memory while they compute"),
            Self::SharedMemory => Some("kernels read and write GPU 0's memory while they compute"),
            Self::TrulyShared => Some("kernels read and write shared memory while they compute"),
            _ => None,
        }
    }
}

/// Describes a step of training on some GPUs.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    /// Names the step.
    pub name: &'a str,
    /// Holds the work of each rank; ranks of like GPUs share it.
    pub ranks: &'a [Arc<RankStep>],
    /// Says how their GPUs reach each other.
    pub joins: &'a Joins,
    /// Holds the costs of the framework.
    pub costs: FrameworkCosts,
    /// Whether GPUs have page faults; else all pages move at once, before a kernel starts.
    pub has_faults: bool,
    /// Whether gradients are reduced while others are still computed.
    pub overlaps: bool,
    /// Counts the parts of the batch that follow one another through a pipeline.
    pub micro_batches: u32,
}

impl Step<'_> {
    /// Builds the program of one iteration.
    ///
    /// # Errors
    /// A way that the GPUs cannot go: copies between servers, memory that is not reached, more stages than layers. One
    /// whose data moves while GPUs compute, where nothing is to overlap.
    pub fn program(&self, way: Way) -> Result<Program, TrainingError> {
        if !self.overlaps
            && let Some(why) = way.always_overlaps()
        {
            return Err(TrainingError::Overlap { way: way.name(), why });
        }
        if !way.joins_servers()
            && let Some((first, second)) = self.joins.apart()
        {
            return Err(TrainingError::Apart { way: way.name(), first, second });
        }
        if matches!(way, Way::DirectAccess | Way::SharedMemory)
            && let Some(second) = self.joins.staged(0)
        {
            return Err(TrainingError::NoPeerAccess { way: way.name(), first: 0, second });
        }
        match way {
            Way::AllReduce | Way::AllReduceBroadcast | Way::ReduceBroadcast => {
                Ok(reduced::program(self, way))
            }
            Way::PeerCopies => Ok(to_first::program(self, to_first::Copies::Staged)),
            Way::RelayedCopies => Ok(to_first::program(self, to_first::Copies::Relayed)),
            Way::DirectAccess => Ok(to_first::program(self, to_first::Copies::Direct)),
            Way::ZeroCopy => Ok(shared::zero_copy(self)),
            Way::UnifiedMemory => Ok(shared::unified_memory(self)),
            Way::SharedMemory => Ok(shared::shared_memory(self)),
            Way::TrulyShared => Ok(truly_shared::program(self)),
            Way::FullySharded => Ok(sharded::program(self)),
            Way::TensorParallel => Ok(tensor::program(self)),
            Way::Pipeline => pipeline::program(self),
        }
    }

    /// Does the stages of some items: all of one item, then those of the next. Where nothing is to overlap, it does each
    /// stage of all items before the next stage.
    fn in_turns(&self, items: usize, stages: usize, mut act: impl FnMut(usize, usize)) {
        for at in 0..items * stages {
            let (stage, item) =
                if self.overlaps { (at % stages, at / stages) } else { (at / items, at % items) };
            act(stage, item);
        }
    }

    /// Lists all that the next stage of an item waits for: its stage before, or that of all where nothing is to overlap.
    fn after(&self, done: &[Vec<PendingOperation>], item: usize) -> Vec<PendingOperation> {
        if self.overlaps { done[item].clone() } else { done.concat() }
    }
}
