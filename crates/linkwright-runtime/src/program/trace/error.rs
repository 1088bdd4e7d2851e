//! Says why an archive makes no program.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, shown};
use crate::program::{MOST_MESSAGE, Rank};
use crate::units::Bytes;

/// An archive that is no program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TraceError {
    /// No location has a rank in `MPI_COMM_WORLD`.
    NoRanks,
    /// An event that cannot be played again.
    Call {
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the event's index at the rank's location.
        event: usize,
        /// The MPI call that holds it.
        call: String,
        /// Says why.
        fault: CallFault,
    },
    /// A main loop that is not there.
    NoLoop {
        /// The first rank that never enters it.
        rank: Rank,
        /// Names the region asked for.
        region: String,
        /// The regions that the rank enters and that may be a loop.
        known: Vec<String>,
    },
    /// A request that is open when the main loop begins or ends.
    RequestAcrossLoop {
        /// Gives the number of the rank.
        rank: Rank,
        /// Gives the event that started the request.
        start: usize,
        /// Gives the event that found it complete.
        event: usize,
        /// The MPI call that holds it.
        call: String,
        /// Names the main loop's region.
        region: String,
    },
    /// Times that do not fit 64 bits of picoseconds.
    TooLong {
        /// Gives the number of the rank.
        rank: Rank,
        /// Holds the clock's resolution, in ticks per second.
        ticks_per_second: u64,
    },
}

impl Diagnose for TraceError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoRanks => Diagnosis::of("the trace has no MPI ranks").remedy(
                "record an MPI program with MPI events (with Score-P, link it by `scorep \
                 --mpp=mpi`)",
            ),
            Self::Call { rank, event, call, fault } => fault
                .diagnosis()
                .within(format_args!("rank {rank}, event {event}, in {}", shown(call))),
            Self::NoLoop { rank, region, known } => Diagnosis::of(format!(
                "rank {rank} never enters the region `{}`, which you named as the main loop",
                shown(region)
            ))
            .remedy(there_are(known).to_string()),
            Self::RequestAcrossLoop { rank, start, event, call, region } => Diagnosis::of(format!(
                "rank {rank} waits in event {event}, in {}, for a request of event {start}, but \
                 the main loop `{}` holds only one of them",
                shown(call),
                shown(region)
            ))
            .remedy("name another region as the main loop"),
            Self::TooLong { rank, ticks_per_second } => Diagnosis::of(format!(
                "rank {rank} computes for more than 213 days, at {ticks_per_second} ticks of the \
                 trace's clock a second"
            ))
            .remedy("correct the clock's resolution, or record the program again"),
        }
    }
}

/// Why an event cannot be played again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum CallFault {
    /// Refuses a message or a collective between two groups.
    InterCommunicator {
        /// Names the communicator.
        communicator: String,
    },
    /// A rank that uses a communicator of others.
    NotMember {
        /// Names the communicator.
        communicator: String,
    },
    /// A collective that is not known.
    UnknownCollective {
        /// Gives its number in OTF2.
        number: u8,
    },
    /// Refuses a message or a collective of more than [`MOST_MESSAGE`].
    TooLarge {
        /// Counts the bytes that it carries.
        size: Bytes,
    },
    /// A collective that needs a root.
    NoRoot,
}

impl Diagnose for CallFault {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::InterCommunicator { communicator } => Diagnosis::of(format!(
                "the communicator `{}` joins two groups, and Linkwright does not play \
                 inter-communicators",
                shown(communicator)
            ))
            .remedy("record the program without inter-communicators"),
            Self::NotMember { communicator } => Diagnosis::of(format!(
                "the communicator `{}` does not hold this rank",
                shown(communicator)
            ))
            .remedy("record the program again"),
            Self::UnknownCollective { number } => Diagnosis::of(format!(
                "the trace names the collective {number}, which Linkwright \
                    does not know"
            ))
            .remedy("convert the trace with OTF2 3.1 or older"),
            Self::TooLarge { size } => Diagnosis::of(format!(
                "it carries {size} bytes, but a rank can send at most {most} at once",
                size = size.0,
                most = MOST_MESSAGE.0
            ))
            .remedy("record the program again, since the trace is probably damaged"),
            Self::NoRoot => Diagnosis::of("the collective has no root in its communicator")
                .remedy("record the program again"),
        }
    }
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() {
        return "it enters no region that may be one; mark the loop with SCOREP_USER_REGION".into();
    }
    let known: Vec<_> = known.iter().map(|name| format!("`{}`", shown(name))).collect();
    format!("it enters {}", known.join(", "))
}
