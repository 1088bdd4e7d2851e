//! Programs that run over a network: the ranks of every job, MPI's matching and protocols.
//!
//! A [`Runtime`] takes several [`ProgramJob`]s, each a program with a GPU for every rank, and plays
//! them to their ends over one network. It knows the network only as a
//! [`Transport`](crate::network::Transport), so that the packet model and the flow model run
//! the same programs.
//!
//! An operation starts when the conditions that it depends on hold. A rank has one processor, which
//! computes one thing at a time, and one messaging library, which handles one call at a time. The
//! two work side by side, as a GPU and its host do. Messages match as MPI says: by communicator,
//! source and tag, with wildcards. They never overtake another of the same sender and communicator,
//! whatever the network does. Small messages are eager. Large ones wait for their receive: their
//! sender asks for it, or their receiver announces it ([`MpiProtocol`]). A collective becomes
//! messages by a [`Lowering`](crate::program::lowering::Lowering) when a rank reaches it. Or it
//! runs as a [`Kernel`](crate::program::kernel::Kernel) under NCCL's protocol, beside the rank's
//! library.
//!
//! The model simplifies three things. The buffers of unexpected messages have no end, a library
//! makes progress while its rank computes, and calls cost the same whatever their argument. The
//! costs are those of TraceR, which [`MpiProtocol`] names.
//!
//! Nothing is allocated per operation once the tables have grown to the number of operations under
//! way at a time. The same inputs give the same result to the last picosecond.

mod admission;
mod call;
mod calls;
mod communicators;
mod copies;
mod dependencies;
mod diagnosis;
mod error;
mod event;
mod frames;
mod gpu_kernel;
mod gpu_kernels;
mod job;
mod jobs;
mod lanes;
mod messages;
mod observer;
mod occupancy;
mod outcome;
mod plan;
mod plans;
mod play;
mod port;
mod protocols;
mod ranges;
mod ranks;
mod rest;
mod shared;
mod slab;
mod stalled;
mod state;
#[doc(hidden)]
pub mod test_support;
#[cfg(test)]
mod tests;
mod token;
mod validate;
mod works;

pub use call::{Call, Pending, PendingKind, RankId};
pub use error::RuntimeError;
pub use event::RuntimeEvent;
pub use gpu_kernel::{GpuKernel, GpuKernelMessage, GpuKernelRun, PreparedGpuKernel};
pub use job::ProgramJob;
pub use observer::{CopyRecord, KernelRecord, MessageRecord, Observer};
pub use outcome::{JobOutcome, Outcome, RankOutcome};
pub use protocols::{
    MpiProtocol, Ports, ProtocolCall, ProtocolKind, ProtocolOffer, ProtocolState, Rendezvous,
    StuckCall,
};
pub use rest::Rest;
pub use stalled::{Absence, Stalled, WaitingJob};
pub use state::Runtime;
pub use validate::validate;
