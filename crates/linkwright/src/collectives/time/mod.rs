//! How long a schedule takes on a machine's links.
//!
//! What it represents: every transfer is a flow on the links of its route and shares them
//! max-min fairly with the others ([`crate::network`]); a thread block starts a step when its
//! data has arrived, the steps that it waits for have ended and the receiver has room, and is
//! busy while it sends; what is sent arrives one hop's latency after its last byte. Data is
//! cut into pieces that follow one another through the blocks, so that a long way fills like a
//! pipeline. Latencies and protocol losses are NCCL's tuning constants ([`Costs`]). What it
//! leaves out: reduction and copy time inside a GPU, and what else the links carry.

mod costs;
mod miad;
mod program;
mod run;

pub use costs::Costs;
pub use miad::{ChunkTrial, choose_chunk};
pub use program::TimeError;
pub use run::{LinkLoad, Timing, time};
