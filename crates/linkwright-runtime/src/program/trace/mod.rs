//! Makes programs from recorded traces: the work of the ranks of an OTF2 archive, to be played
//! again.
//!
//! [`program_of`] turns an [`Archive`] into a [`Program`]. The time between MPI calls becomes
//! computation; the time inside them is dropped, because the replay makes it anew.
//!
//! **Time.** Only differences between times of the same rank are used, on its own clock, so
//! that clocks which run apart do no harm. Sums of ticks are rounded to picoseconds, not single
//! differences, so that rounding does not add up. While the recording was switched off, or the
//! recorder wrote its memory to disk, no time passes.
//!
//! **Messages.** A blocking send or receive is one operation. Both in one call (`MPI_Sendrecv`) go
//! on side by side, and the call waits for the two. A non-blocking call starts its operation, and
//! the call that found it complete (`MPI_Wait` or a test) waits for it. A call such as
//! `MPI_Waitany` waits in the replay for the operations that it found complete in the trace. A test
//! that found nothing complete is nothing. OTF2 writes down whom a receive got its message from,
//! not whom it would have taken one from. So a receive of any source or tag becomes one of the
//! source and tag that came. A receive is posted where its request was made, and takes its peer,
//! tag and size from its completion. Operations that were cancelled, or not complete at the trace's
//! end, are left out, but for sends. The modes of sends (synchronous, buffered, ready) are not told
//! apart: the replay's protocol decides by size.
//!
//! **Collectives.** Ranks of a communicator make their collectives in the same order, so that the
//! n-th of each rank are one. Its size is worked out from the records of all its ranks (see
//! `collectives.rs`), and is the same for all. Versions with a size for each rank (`MPI_Gatherv`,
//! `MPI_Alltoallv`) take the average, rounded up. An exclusive scan is a scan, and making or
//! freeing a handle of a window or the like is a barrier. A collective of one rank moves nothing
//! and is left out.
//!
//! **Other calls** record no messages (`MPI_Init`, `MPI_Comm_split`, one-sided and file calls).
//! They are left out with the time that they took, and a [note](TraceNote) counts them.
//!
//! **Regions.** Those that the program's author marked are kept, balanced or not. The main loop,
//! which iterations repeat, is such a region too: [`TraceOptions::main_loop`].
//!
//! **Threads.** The messages of a process are those of its first location, the rank's own. Events
//! of other locations are left out, and a note counts them.

mod calls;
mod collectives;
mod communicators;
mod error;
mod note;
mod rank;
mod reader;
mod steps;
#[cfg(test)]
mod tests;

pub use collectives::CollectiveBytes;
pub use error::{CallFault, TraceError};
pub use note::{DividedSize, TraceNote};
pub use reader::{Otf2Reader, TraceFault, TraceReader, reader_of, readers};

use std::collections::BTreeMap;

use super::Program;
use super::otf2::{Archive, Paradigm};
use collectives::Sizes;
use communicators::Communicators;
use note::Counts;
use rank::{Context, write_rank};
use steps::Steps;

/// The regions that mark the main loop where no other is named; the first that an archive has.
/// `TRACER_Loop` is that of traces made for TraceR (its user guide, "Marking the regions": the name
/// of a loop begins so).
pub const MAIN_LOOPS: [&str; 2] = ["TRACER_Loop", "main_loop"];

/// How a trace is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Names the program.
    pub name: String,
    /// The region of the main loop, from its first entry to its last exit; any region of the
    /// archive but an MPI call. Absent, it is one of [`MAIN_LOOPS`] where there is such a region.
    pub main_loop: Option<String>,
    /// Says how the recorded bytes of collectives are counted.
    pub collective_bytes: CollectiveBytes,
}

impl Default for TraceOptions {
    fn default() -> Self {
        let collective_bytes = CollectiveBytes::default();
        Self { name: "trace".to_owned(), main_loop: None, collective_bytes }
    }
}

/// Holds a program from a trace, with notes for its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceProgram {
    /// Holds the program.
    pub program: Program,
    /// Lists the things that were left out or could not be told.
    pub notes: Vec<TraceNote>,
}

/// Names an archive by its folder, as the anchor is mostly called `traces.otf2`. Where no folder is
/// named, it takes the anchor without its ending.
#[must_use]
pub fn archive_name(anchor: &str) -> &str {
    let mut parts = anchor.rsplit(['/', '\\']);
    let file = parts.next().unwrap_or_default();
    let folder = parts.find(|part| !part.is_empty() && *part != ".");
    let name = folder.filter(|folder| *folder != "..").or_else(|| file.strip_suffix(".otf2"));
    name.unwrap_or(file)
}

/// Makes the program that an archive recorded.
///
/// Sends without receives are not looked for: the replay finds them.
///
/// # Errors
/// Refuses an archive without MPI ranks, messages over inter-communicators, and a rank outside the
/// communicator that it uses. Refuses collectives that are unknown or lack their root. Refuses a
/// main loop that is named but missing, or that a request crosses. Refuses a rank that computed for
/// more than 213 days.
pub fn program_of(archive: &Archive, options: &TraceOptions) -> Result<TraceProgram, TraceError> {
    if archive.ranks.is_empty() {
        return Err(TraceError::NoRanks);
    }
    let mut counts = Counts::default();
    counts.count_others(archive);
    let steps: Vec<Steps> = (archive.ranks.iter())
        .map(|place| Steps::of(&archive.locations[*place].events, &mut counts))
        .collect();
    let communicators = Communicators::of(archive, &steps)?;
    let bytes = options.collective_bytes;
    let sizes = Sizes::of(archive, &steps, &communicators, (bytes, &mut counts))?;
    let (regions, region_ids) = regions(archive, options);
    let bodies = rank::bodies(archive, options, &steps, &mut counts)?;
    let context = Context { archive, communicators: &communicators, sizes: &sizes, region_ids };
    let ranks = (0..).zip(&steps).zip(bodies);
    let ranks = ranks
        .map(|((rank, steps), body)| write_rank(&context, rank, steps, body, &mut counts))
        .collect::<Result<_, _>>()?;
    let name = options.name.clone();
    let program = Program { name, communicators: communicators.into_members(), regions, ranks };
    Ok(TraceProgram { program, notes: counts.into_notes() })
}

/// The name of the region that is the main loop: the one that the options name, or the first of
/// [`MAIN_LOOPS`] that the archive has.
fn main_loop<'a>(archive: &Archive, options: &'a TraceOptions) -> &'a str {
    let there = |name: &str| archive.regions.values().any(|region| &*region.name == name);
    let usual = || MAIN_LOOPS.into_iter().find(|name| there(name)).unwrap_or(MAIN_LOOPS[0]);
    options.main_loop.as_deref().unwrap_or_else(usual)
}

/// The names of the regions that are kept, and the index of each in them by its id.
fn regions(archive: &Archive, options: &TraceOptions) -> (Vec<String>, BTreeMap<u32, u32>) {
    let main_loop = main_loop(archive, options);
    let kept = archive.regions.iter().filter(|(_, region)| {
        let named = &*region.name == main_loop && !calls::is_call(region);
        region.paradigm == Paradigm::User || named
    });
    let (mut names, mut ids) = (Vec::new(), BTreeMap::new());
    for (id, region) in kept {
        ids.insert(*id, names.len() as u32);
        names.push(region.name.to_string());
    }
    (names, ids)
}
