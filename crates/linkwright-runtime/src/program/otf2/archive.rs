//! Holds the contents of an archive, and reads all its files.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::anchor;
use super::balance::{self, Unbalanced};
use super::bytes::File;
use super::clock::{ClockCorrection, ClockProperties};
use super::event::Event;
use super::events;
use super::files::ArchiveFiles;
use super::global::{self, LocationDefinition};
use super::kinds::{LocationKind, Paradigm, RegionRole};
use super::local::{self, LocalDefinitions};
use crate::diagnostic::{Diagnosis, InputError, Position};

/// Holds a trace: its definitions, and the events of each location.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// Names the program that wrote the archive, such as `Score-P 3.0`.
    pub creator: String,
    /// Names the machine, as far as the writer gave a name.
    pub machine: String,
    /// Holds the writer's description of the trace.
    pub description: String,
    /// Gives the version of OTF2 that wrote the archive.
    pub version: [u8; 3],
    /// The anchor file's properties: names and values.
    pub properties: Vec<(String, String)>,
    /// Describes the clock that all corrected times refer to.
    pub clock: ClockProperties,
    /// Holds texts by id.
    pub strings: BTreeMap<u32, Arc<str>>,
    /// Holds regions by id.
    pub regions: BTreeMap<u32, Region>,
    /// Holds communicators by id.
    pub communicators: BTreeMap<u32, Communicator>,
    /// Holds parameters by id.
    pub parameters: BTreeMap<u32, Parameter>,
    /// Lists locations, in the order in which the archive defines them.
    pub locations: Vec<Location>,
    /// Gives the index in `locations` of each MPI rank.
    pub ranks: Vec<usize>,
}

/// A piece of code that is entered and left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Names it, as in `MPI_Send`.
    pub name: Arc<str>,
    /// Says which part it plays.
    pub role: RegionRole,
    /// Says which software it belongs to; [`Paradigm::User`] for regions that the program's author
    /// marked.
    pub paradigm: Paradigm,
    /// Whether each entry is a thing of its own, such as an iteration.
    pub dynamic: bool,
    /// Whether it is a phase of the program.
    pub phase: bool,
}

/// Describes a group of ranks that exchange messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// Its name; may be empty.
    pub name: Arc<str>,
    /// Says which software it belongs to.
    pub paradigm: Paradigm,
    /// Who belongs to it.
    pub members: Members,
    /// The id of the communicator that it was made from.
    pub parent: Option<u32>,
}

/// Who belongs to a communicator: ranks of all that its paradigm has, each in the place of its
/// rank in the communicator. For MPI these are ranks in `MPI_COMM_WORLD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// Holds every rank alone with itself (`MPI_COMM_SELF`).
    Itself,
    /// Holds these ranks.
    Ranks(Arc<[u32]>),
    /// Two groups of ranks; the peers of each are in the other.
    Between(Arc<[u32]>, Arc<[u32]>),
}

impl Members {
    /// The most ranks that a peer may be chosen from.
    pub(super) fn most_peers(&self) -> usize {
        match self {
            Self::Itself => 1,
            Self::Ranks(ranks) => ranks.len(),
            Self::Between(one, other) => one.len().max(other.len()),
        }
    }

    /// The rank in the world of a peer's rank in the communicator, as `own` sees it, which is a
    /// rank in the world. `None` where there is no such peer, or where `own` is in neither
    /// group of an inter-communicator.
    #[must_use]
    pub fn world_rank(&self, own: u32, peer: u32) -> Option<u32> {
        let peers = match self {
            Self::Itself => return (peer == 0).then_some(own),
            Self::Ranks(ranks) => ranks,
            Self::Between(one, other) if one.contains(&own) => other,
            Self::Between(one, other) if other.contains(&own) => one,
            Self::Between(..) => return None,
        };
        peers.get(peer as usize).copied()
    }
}

/// A value that a program records, such as the number of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Names it in messages.
    pub name: Arc<str>,
}

/// Describes a thread or a stream, with its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    /// Its id, which names its files.
    pub id: u64,
    /// Names it, as in `Master thread`.
    pub name: Arc<str>,
    /// Says of what kind it is.
    pub kind: LocationKind,
    /// The id of the process that it belongs to.
    pub process: u32,
    /// Names its process, such as `MPI Rank 3`; empty where the archive defines none.
    pub process_name: Arc<str>,
    /// Gives the rank in `MPI_COMM_WORLD`; further threads of a process have none.
    pub rank: Option<u32>,
    /// Brings its times to the common clock.
    pub clock: ClockCorrection,
    /// Lists its events, by rising time.
    pub events: Vec<Event>,
    /// Entries of regions that were never left, and exits of regions that were not open.
    pub unbalanced: Vec<Unbalanced>,
}

impl Archive {
    /// Reads the archive of an anchor file, such as `traces.otf2`.
    ///
    /// Events stay as recorded, on the clock of their location. A trace may stop in the middle
    /// of regions or start there: [`Location::unbalanced`] lists what does not pair.
    ///
    /// # Errors
    /// A file that is missing, cut or damaged, a version or packing that is not read, and an
    /// event that refers to something undefined. The error names the file inside the archive;
    /// its line is 1 and its column the byte, counted from one.
    pub fn read(anchor: &str, files: &dyn ArchiveFiles) -> Result<Self, InputError> {
        let Some(stem) = anchor.strip_suffix(".otf2") else {
            let problem = "the name is not that of an anchor file";
            return Err(about(anchor, problem, anchor, "name the file that ends in .otf2"));
        };
        let bytes = required(files, anchor)?;
        let head = anchor::read(File { name: anchor, bytes: &bytes })?;
        let name = format!("{stem}.def");
        let bytes = required(files, &name)?;
        let definitions = global::read(File { name: &name, bytes: &bytes }, &head)?;

        let (event_chunk, definition_chunk) = (head.event_chunk, head.definition_chunk);
        let mut archive = Self {
            creator: head.creator,
            machine: head.machine,
            description: head.description,
            version: head.version,
            properties: head.properties,
            clock: definitions.clock,
            strings: definitions.strings,
            regions: definitions.regions,
            communicators: definitions.communicators,
            parameters: definitions.parameters,
            locations: Vec::new(),
            ranks: definitions.ranks,
        };
        let locals = local_definitions(stem, files, &definitions.locations, definition_chunk)?;
        for (location, local) in definitions.locations.into_iter().zip(locals) {
            let name = format!("{stem}/{}.evt", location.id);
            let events = match optional(files, &name)? {
                Some(bytes) => {
                    let file = File { name: &name, bytes: &bytes };
                    events::read(file, event_chunk, &local, &archive)?
                }
                None if location.event_count == 0 => Vec::new(),
                None => return Err(missing(&name)),
            };
            archive.locations.push(finish(location, local, events));
        }
        Ok(archive)
    }
}

/// The local definitions of every location: of all or of none, because without its mapping
/// table a location's ids would silently mean other things.
fn local_definitions(
    stem: &str,
    files: &dyn ArchiveFiles,
    locations: &[LocationDefinition],
    chunk_size: u64,
) -> Result<Vec<LocalDefinitions>, InputError> {
    let mut found = Vec::new();
    let mut without = None;
    for location in locations {
        let name = format!("{stem}/{}.def", location.id);
        match optional(files, &name)? {
            Some(bytes) => {
                let file = File { name: &name, bytes: &bytes };
                found.push(local::read(file, chunk_size)?);
            }
            None => without = without.or(Some(name)),
        }
    }
    match without {
        Some(name) if !found.is_empty() => Err(missing(&name)),
        Some(_) => Ok(locations.iter().map(|_| LocalDefinitions::default()).collect()),
        None => Ok(found),
    }
}

fn finish(definition: LocationDefinition, local: LocalDefinitions, events: Vec<Event>) -> Location {
    let unbalanced = balance::unbalanced(&events);
    Location {
        id: definition.id,
        name: definition.name,
        kind: definition.kind,
        process: definition.process,
        process_name: definition.process_name,
        rank: definition.rank,
        clock: local.clock,
        events,
        unbalanced,
    }
}

/// Makes an error about a file as a whole.
fn about(name: &str, problem: &str, value: &str, remedy: &str) -> InputError {
    InputError::at(name, Position::of_byte(0), problem, value, remedy)
}

fn missing(name: &str) -> InputError {
    let remedy = "copy the whole archive: the anchor file, the .def file and the folder beside it";
    about(name, "the archive lacks this file", name, remedy)
}

type Content<'a> = std::borrow::Cow<'a, [u8]>;

fn optional<'a>(
    files: &'a dyn ArchiveFiles,
    name: &str,
) -> Result<Option<Content<'a>>, InputError> {
    files.read(name).map_err(|Diagnosis { problem, remedy }| {
        about(name, &problem, name, remedy.as_deref().unwrap_or("see that it may be read"))
    })
}

fn required<'a>(files: &'a dyn ArchiveFiles, name: &str) -> Result<Content<'a>, InputError> {
    optional(files, name)?.ok_or_else(|| missing(name))
}
