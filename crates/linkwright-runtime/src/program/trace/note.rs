//! Lists the things that a program from a trace lacks.

use std::collections::BTreeMap;
use std::fmt;

use crate::program::otf2::{Archive, EventKind};
use crate::program::{CollectiveKind, Rank};
use crate::units::Bytes;

/// Tells of something that was left out of a program, or could not be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceNote {
    /// MPI events of locations that are no rank's own: further threads.
    OtherLocations {
        /// Counts the locations with such events.
        locations: usize,
        /// Counts the events.
        events: usize,
    },
    /// Calls of MPI that record no message: they are left out, and so is their time.
    SilentCalls {
        /// How often each was called, by name.
        calls: BTreeMap<String, usize>,
    },
    /// Receives and collectives that were never found complete, so that the trace does not say
    /// what they were.
    OpenRequests {
        /// Says how many there are.
        count: usize,
    },
    /// Non-blocking sends that were never found complete: they are sent, and nobody waits.
    UnwaitedSends {
        /// Says how many there are.
        count: usize,
    },
    /// Messages and collectives whose start was not recorded: they start where they complete.
    LateStarts {
        /// Says how many there are.
        count: usize,
    },
    /// Requests that were cancelled.
    Cancelled {
        /// Says how many there are.
        count: usize,
    },
    /// Recorded sizes of collectives are divided by the peers of a rank.
    DividedSizes {
        /// Counts these collectives.
        count: usize,
        /// Holds the record of the first.
        first: DividedSize,
        /// Holds the size that the first is taken to have.
        size: Bytes,
    },
    /// Sizes of collectives are as they were recorded, since dividing them leaves a rest.
    UndividedSizes {
        /// Counts these collectives.
        count: usize,
        /// Holds the record of the first.
        first: DividedSize,
    },
    /// A main loop that requests cross: it is not marked, so that iterations cannot repeat it.
    LoopNotMarked {
        /// Names the loop's region.
        region: String,
        /// Gives the first rank with such a request.
        rank: Rank,
    },
}

/// Holds the record of a collective whose size may have to be divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DividedSize {
    /// Says which collective it is.
    pub kind: CollectiveKind,
    /// Counts its ranks.
    pub ranks: u64,
    /// Holds the most bytes that a rank recorded.
    pub recorded: Bytes,
}

impl fmt::Display for DividedSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, ranks, recorded } = self;
        write!(f, "{} B of the {} of {ranks} ranks", recorded.0, kind.name())
    }
}

impl fmt::Display for TraceNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherLocations { locations, events } => write!(
                f,
                "{events} MPI events of {locations} further threads are left out; only the \
                 first thread of a rank is played"
            ),
            Self::SilentCalls { calls } => {
                write!(f, "calls that record no message are left out, and so is their time: ")?;
                for (index, (name, count)) in calls.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{count} of {name}")?;
                }
                Ok(())
            }
            Self::OpenRequests { count } => write!(
                f,
                "{count} receives or collectives are left out, as the trace ends before they are \
                 complete"
            ),
            Self::UnwaitedSends { count } => {
                write!(f, "{count} non-blocking sends are made and never waited for")
            }
            Self::LateStarts { count } => write!(
                f,
                "{count} requests were made before the recording began; they start where they \
                 are complete"
            ),
            Self::Cancelled { count } => write!(f, "{count} cancelled requests are left out"),
            Self::DividedSizes { count, first, size } => write!(
                f,
                "bytes of {count} collectives are divided, as Score-P counts them for each rank: \
                 the first, {first}, to {} B; `trace.collective_bytes = \"as-recorded\"` divides none",
                size.0
            ),
            Self::UndividedSizes { count, first } => write!(
                f,
                "bytes of {count} collectives are taken as recorded, since the ranks that would share them \
                 leave a rest: the first are {first}"
            ),
            Self::LoopNotMarked { region, rank } => write!(
                f,
                "the region {region} is not marked as the main loop, as a request of rank {rank} \
                 crosses its edge; the program runs once"
            ),
        }
    }
}

/// Holds the counts that notes are made from.
#[derive(Debug, Default)]
pub struct Counts {
    pub other_locations: usize,
    pub other_events: usize,
    pub silent: BTreeMap<String, usize>,
    pub open: usize,
    pub unwaited: usize,
    pub late: usize,
    pub cancelled: usize,
    divided: usize,
    first_divided: Option<(DividedSize, Bytes)>,
    undivided: usize,
    first_undivided: Option<DividedSize>,
    pub not_marked: Option<(String, Rank)>,
}

impl Counts {
    /// Counts the MPI events of locations that are no rank's own.
    pub fn count_others(&mut self, archive: &Archive) {
        let mut own = vec![false; archive.locations.len()];
        archive.ranks.iter().for_each(|place| own[*place] = true);
        for (location, _) in archive.locations.iter().zip(own).filter(|(_, own)| !own) {
            let events = location.events.iter().filter(|event| is_mpi(event.kind)).count();
            self.other_locations += usize::from(events > 0);
            self.other_events += events;
        }
    }

    /// Counts a collective of that size, and whether it was divided.
    pub fn count_size(&mut self, recorded: Option<DividedSize>, size: Bytes) {
        let Some(recorded) = recorded else { return };
        if recorded.recorded == size {
            self.undivided += 1;
            self.first_undivided.get_or_insert(recorded);
        } else {
            self.divided += 1;
            self.first_divided.get_or_insert((recorded, size));
        }
    }

    /// Makes the notes.
    pub fn into_notes(self) -> Vec<TraceNote> {
        let some = |count: usize, note: fn(usize) -> TraceNote| (count > 0).then(|| note(count));
        let (locations, events) = (self.other_locations, self.other_events);
        let calls = self.silent;
        let (divided, undivided) = (self.divided, self.undivided);
        let divided = self.first_divided.map(|(first, size)| TraceNote::DividedSizes {
            count: divided,
            first,
            size,
        });
        let undivided =
            self.first_undivided.map(|first| TraceNote::UndividedSizes { count: undivided, first });
        [
            (events > 0).then_some(TraceNote::OtherLocations { locations, events }),
            (!calls.is_empty()).then_some(TraceNote::SilentCalls { calls }),
            some(self.open, |count| TraceNote::OpenRequests { count }),
            some(self.unwaited, |count| TraceNote::UnwaitedSends { count }),
            some(self.late, |count| TraceNote::LateStarts { count }),
            some(self.cancelled, |count| TraceNote::Cancelled { count }),
            divided,
            undivided,
            self.not_marked.map(|(region, rank)| TraceNote::LoopNotMarked { region, rank }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Whether an event is of a message or a collective.
pub fn is_mpi(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::Enter { .. }
            | EventKind::Leave { .. }
            | EventKind::MeasurementOnOff { .. }
            | EventKind::BufferFlush { .. }
            | EventKind::ParameterString { .. }
            | EventKind::ParameterInt { .. }
            | EventKind::ParameterUnsignedInt { .. }
            | EventKind::Other { .. }
    )
}
