//! What makes an archive no program.

use thiserror::Error;

use crate::diagnostic::shown;
use crate::program::{MOST_MESSAGE, Rank};
use crate::units::Bytes;

/// An archive that is no program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// No location has a rank in `MPI_COMM_WORLD`.
    #[error(
        "the archive has no MPI ranks; record an MPI program, with MPI events (for Score-P: link \
         it with `scorep --mpp=mpi`)"
    )]
    NoRanks,
    /// An event that cannot be played again.
    #[error("rank {rank}, event {event}, in {}: {fault}", shown(.call))]
    Call {
        /// The rank.
        rank: Rank,
        /// The event's index at the rank's location.
        event: usize,
        /// The MPI call that holds it.
        call: String,
        /// Why.
        fault: CallFault,
    },
    /// A main loop that is not there.
    #[error(
        "rank {rank} never enters the region `{}`, which is to be the main loop; {}",
        shown(.region), there_are(.known)
    )]
    NoLoop {
        /// The first rank that never enters it.
        rank: Rank,
        /// The region asked for.
        region: String,
        /// The regions that the rank enters and that may be a loop.
        known: Vec<String>,
    },
    /// A request that is open when the main loop begins or ends.
    #[error(
        "rank {rank} waits in event {event}, in {}, for a request of event {start}: only one of \
         the two is in the main loop `{}`, so that iterations would not match; name another \
         region as the main loop",
        shown(.call), shown(.region)
    )]
    RequestAcrossLoop {
        /// The rank.
        rank: Rank,
        /// The event that started the request.
        start: usize,
        /// The event that found it complete.
        event: usize,
        /// The MPI call that holds it.
        call: String,
        /// The main loop's region.
        region: String,
    },
    /// Times that do not fit 64 bits of picoseconds.
    #[error(
        "rank {rank} computes for more than 213 days; the archive's clock makes \
         {ticks_per_second} ticks in a second, which is probably wrong"
    )]
    TooLong {
        /// The rank.
        rank: Rank,
        /// The clock's resolution.
        ticks_per_second: u64,
    },
}

/// Why an event cannot be played again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallFault {
    /// A message or a collective between two groups.
    #[error(
        "the communicator `{}` lies between two groups, and inter-communicators are not played; \
         record the program without them", shown(.communicator)
    )]
    InterCommunicator {
        /// The communicator's name.
        communicator: String,
    },
    /// A rank that uses a communicator of others.
    #[error(
        "the communicator `{}` does not hold this rank; record the program again",
        shown(.communicator)
    )]
    NotMember {
        /// The communicator's name.
        communicator: String,
    },
    /// A collective that is not known.
    #[error("the collective {number} is not known; convert the trace with OTF2 3.1 or older")]
    UnknownCollective {
        /// Its number in OTF2.
        number: u8,
    },
    /// A message or a collective of more than [`MOST_MESSAGE`].
    #[error(
        "it carries {size} bytes, and a rank may send {most} at once; the trace is probably \
         damaged, record the program again", most = MOST_MESSAGE.0, size = .size.0
    )]
    TooLarge {
        /// What it carries.
        size: Bytes,
    },
    /// A collective that needs a root.
    #[error("the collective has no root in its communicator; record the program again")]
    NoRoot,
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() {
        return "it enters no region that may be one; mark the loop with SCOREP_USER_REGION".into();
    }
    let known: Vec<_> = known.iter().map(|name| format!("`{}`", shown(name))).collect();
    format!("it enters {}", known.join(", "))
}
