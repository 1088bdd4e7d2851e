//! Reads the global definitions, which all locations share.
//!
//! Definitions refer to others by id and may do so before these appear. So a first pass keeps
//! what each record says, and a second resolves names and members.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::anchor::Anchor;
use super::archive::{Communicator, Parameter, Region};
use super::bytes::File;
use super::clock::ClockProperties;
use super::groups::{self, Group};
use super::kinds::{LocationKind, Paradigm, RegionRole};
use super::records::{Content, Record, Records};
use crate::diagnostic::InputError;

const CLOCK_PROPERTIES: u8 = 5;
const STRING: u8 = 10;
const LOCATION_GROUP: u8 = 13;
const LOCATION: u8 = 14;
const REGION: u8 = 15;
const GROUP: u8 = 18;
const COMMUNICATOR: u8 = 22;
const PARAMETER: u8 = 23;
const INTER_COMMUNICATOR: u8 = 43;

/// Stands for a reference to nothing.
const UNDEFINED: u32 = u32::MAX;
const DYNAMIC_REGION: u32 = 1;
const PHASE_REGION: u32 = 2;

/// Holds something that the record at a byte defines.
#[derive(Clone)]
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) what: T,
}

/// Describes a location without its events.
pub(super) struct LocationDefinition {
    pub(super) id: u64,
    pub(super) name: Arc<str>,
    pub(super) kind: LocationKind,
    pub(super) event_count: u64,
    pub(super) process: u32,
    pub(super) process_name: Arc<str>,
    pub(super) rank: Option<u32>,
}

/// Holds the global definitions, resolved.
pub(super) struct GlobalDefinitions {
    pub(super) clock: ClockProperties,
    pub(super) strings: BTreeMap<u32, Arc<str>>,
    pub(super) regions: BTreeMap<u32, Region>,
    pub(super) communicators: BTreeMap<u32, Communicator>,
    pub(super) parameters: BTreeMap<u32, Parameter>,
    pub(super) locations: Vec<LocationDefinition>,
    /// Gives the index in `locations` of each MPI rank.
    pub(super) ranks: Vec<usize>,
}

struct RawRegion {
    name: u32,
    role: RegionRole,
    paradigm: Paradigm,
    flags: u32,
}

struct RawLocation {
    name: u32,
    kind: LocationKind,
    event_count: u64,
    process: u32,
}

/// Holds a communicator's groups: one, or two for an inter-communicator.
pub(super) struct RawCommunicator {
    pub(super) name: u32,
    pub(super) group: u32,
    pub(super) other_group: Option<u32>,
    pub(super) parent: u32,
}

/// Holds the contents of the records, unresolved.
#[derive(Default)]
pub(super) struct Raw {
    clock: Option<ClockProperties>,
    strings: BTreeMap<u32, Arc<str>>,
    processes: BTreeMap<u32, At<u32>>,
    locations: Vec<At<(u64, RawLocation)>>,
    regions: BTreeMap<u32, At<RawRegion>>,
    pub(super) groups: BTreeMap<u32, At<Group>>,
    pub(super) communicators: BTreeMap<u32, At<RawCommunicator>>,
    parameters: BTreeMap<u32, At<u32>>,
}

/// Reads the global definition file.
pub(super) fn read(file: File, anchor: &Anchor) -> Result<GlobalDefinitions, InputError> {
    let mut records = Records::new(file, Content::Definitions, anchor.definition_chunk)?;
    let mut raw = Raw::default();
    let mut count = 0;
    while let Some(mut record) = records.next()? {
        raw.add(&mut record)?;
        count += 1;
    }
    let announced = |what: &str, found: u64, announced: u64| {
        let problem = format!("the anchor file announces {announced} {what}, not this many");
        file.refuse(file.bytes.len(), &problem, &found.to_string())
    };
    if count != anchor.global_definitions {
        return Err(announced("global definitions", count, anchor.global_definitions));
    }
    let count = raw.locations.len() as u64;
    if count != anchor.locations {
        return Err(announced("locations", count, anchor.locations));
    }
    raw.resolve(file)
}

/// Adds a definition. Each id may have one.
fn define<T>(
    table: &mut BTreeMap<u32, T>,
    id: u32,
    what: T,
    record: &Record,
) -> Result<(), InputError> {
    match table.insert(id, what) {
        None => Ok(()),
        Some(_) => Err(record.refuse("two definitions have the same id", &id.to_string())),
    }
}

impl Raw {
    fn add(&mut self, record: &mut Record) -> Result<(), InputError> {
        let at = record.at;
        match record.kind {
            CLOCK_PROPERTIES => {
                let clock = clock(record)?;
                if self.clock.replace(clock).is_some() {
                    return Err(record.refuse("the clock is defined twice", ""));
                }
            }
            STRING => {
                let id = record.body.u32("a string's id")?;
                let text = Arc::from(record.body.text("a string")?);
                define(&mut self.strings, id, text, record)?;
            }
            LOCATION_GROUP => {
                let id = record.body.u32("a process's id")?;
                let what = record.body.u32("a process's name")?;
                define(&mut self.processes, id, At { at, what }, record)?;
            }
            LOCATION => {
                let what = location(record)?;
                self.locations.push(At { at, what });
            }
            REGION => {
                let (id, what) = region(record)?;
                define(&mut self.regions, id, At { at, what }, record)?;
            }
            GROUP => {
                let (id, what) = groups::read(record)?;
                define(&mut self.groups, id, At { at, what }, record)?;
            }
            COMMUNICATOR | INTER_COMMUNICATOR => {
                let (id, what) = communicator(record)?;
                define(&mut self.communicators, id, At { at, what }, record)?;
            }
            PARAMETER => {
                let id = record.body.u32("a parameter's id")?;
                let what = record.body.u32("a parameter's name")?;
                define(&mut self.parameters, id, At { at, what }, record)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn resolve(self, file: File) -> Result<GlobalDefinitions, InputError> {
        let Some(clock) = self.clock else {
            let problem = "the global definitions lack the clock's properties";
            return Err(file.refuse(file.bytes.len(), problem, ""));
        };
        let strings = &self.strings;
        let name = |at: usize, id: u32| match strings.get(&id) {
            Some(text) => Ok(Arc::clone(text)),
            None if id == UNDEFINED => Ok(Arc::from("")),
            None => {
                let problem = "a definition refers to a string that is not defined";
                Err(file.refuse(at, problem, &id.to_string()))
            }
        };
        let mut places = BTreeMap::new();
        for (index, At { at, what: (id, _) }) in self.locations.iter().enumerate() {
            if places.insert(*id, index).is_some() {
                let problem = "two locations have the same id";
                return Err(file.refuse(*at, problem, &id.to_string()));
            }
        }
        let (communicators, ranks) = groups::resolve(file, &self, &places, &name)?;
        let mut locations = Vec::with_capacity(self.locations.len());
        for At { at, what: (id, raw) } in &self.locations {
            let process_name = match self.processes.get(&raw.process) {
                Some(process) => name(process.at, process.what)?,
                None => Arc::from(""),
            };
            locations.push(LocationDefinition {
                id: *id,
                name: name(*at, raw.name)?,
                kind: raw.kind,
                event_count: raw.event_count,
                process: raw.process,
                process_name,
                rank: None,
            });
        }
        for (rank, index) in (0..).zip(&ranks) {
            locations[*index].rank = Some(rank);
        }
        let mut regions = BTreeMap::new();
        for (id, At { at, what }) in &self.regions {
            let region = Region {
                name: name(*at, what.name)?,
                role: what.role,
                paradigm: what.paradigm,
                dynamic: what.flags & DYNAMIC_REGION != 0,
                phase: what.flags & PHASE_REGION != 0,
            };
            regions.insert(*id, region);
        }
        let mut parameters = BTreeMap::new();
        for (id, At { at, what }) in &self.parameters {
            parameters.insert(*id, Parameter { name: name(*at, *what)? });
        }
        Ok(GlobalDefinitions {
            clock,
            regions,
            communicators,
            parameters,
            locations,
            ranks,
            strings: self.strings,
        })
    }
}

fn clock(record: &mut Record) -> Result<ClockProperties, InputError> {
    let ticks_per_second = record.body.u64("the clock's ticks per second")?;
    if ticks_per_second == 0 {
        return Err(record.refuse("the clock has no ticks in a second", "0"));
    }
    Ok(ClockProperties {
        ticks_per_second,
        global_offset: record.body.u64("the clock's offset")?,
        trace_length: record.body.u64("the trace's length")?,
    })
}

fn location(record: &mut Record) -> Result<(u64, RawLocation), InputError> {
    let body = &mut record.body;
    let id = body.u64("a location's id")?;
    let name = body.u32("a location's name")?;
    let kind = LocationKind::of(body.byte("a location's kind")?);
    let event_count = body.u64("a location's number of events")?;
    let process = body.u32("a location's process")?;
    Ok((id, RawLocation { name, kind, event_count, process }))
}

fn region(record: &mut Record) -> Result<(u32, RawRegion), InputError> {
    let body = &mut record.body;
    let id = body.u32("a region's id")?;
    let name = body.u32("a region's name")?;
    body.u32("a region's description")?;
    body.byte("a region's old type")?;
    body.u32("a region's file")?;
    body.u32("a region's first line")?;
    body.u32("a region's last line")?;
    let mut region =
        RawRegion { name, role: RegionRole::Unknown, paradigm: Paradigm::Unknown, flags: 0 };
    // OTF2 1.1 added the rest.
    if !body.is_empty() {
        body.u32("a region's canonical name")?;
        region.role = RegionRole::of(body.byte("a region's role")?);
        region.paradigm = Paradigm::of(body.byte("a region's paradigm")?);
        region.flags = body.u32("a region's flags")?;
    }
    Ok((id, region))
}

fn communicator(record: &mut Record) -> Result<(u32, RawCommunicator), InputError> {
    let body = &mut record.body;
    let id = body.u32("a communicator's id")?;
    let name = body.u32("a communicator's name")?;
    let group = body.u32("a communicator's group")?;
    let other_group = match record.kind {
        INTER_COMMUNICATOR => Some(body.u32("an inter-communicator's other group")?),
        _ => None,
    };
    let parent = body.u32("a communicator's parent")?;
    Ok((id, RawCommunicator { name, group, other_group, parent }))
}
