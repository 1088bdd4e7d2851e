//! Reads a location's own definitions: its mapping tables and its clock offsets.
//!
//! A location numbers regions, communicators and the rest as it meets them; a mapping table
//! says which global id each local one is. Ids without an entry are the same in both.

use std::collections::BTreeMap;

use super::bytes::File;
use super::clock::{ClockCorrection, ClockOffset};
use super::records::{Content, Record, Records};
use crate::diagnostic::InputError;

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
/// A mapping table that gives the global id of each local one from zero on.
const DENSE: u8 = 0;
/// Marks a mapping table of pairs.
const SPARSE: u8 = 1;

/// Says which things a mapping table is about, by its number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mapped(u8);

impl Mapped {
    pub(super) const STRING: Self = Self(0);
    pub(super) const REGION: Self = Self(3);
    pub(super) const COMMUNICATOR: Self = Self(6);
    pub(super) const PARAMETER: Self = Self(7);
}

/// Maps local ids to global ones.
enum Table {
    Dense(Vec<u64>),
    Sparse(BTreeMap<u64, u64>),
}

/// Holds the definitions of one location.
#[derive(Default)]
pub(super) struct LocalDefinitions {
    tables: BTreeMap<Mapped, Table>,
    pub(super) clock: ClockCorrection,
}

impl LocalDefinitions {
    /// Returns the global id of a local one.
    pub(super) fn global(&self, of: Mapped, local: u32) -> u64 {
        let id = u64::from(local);
        let found = match self.tables.get(&of) {
            Some(Table::Dense(ids)) => ids.get(local as usize).copied(),
            Some(Table::Sparse(ids)) => ids.get(&id).copied(),
            None => None,
        };
        found.unwrap_or(id)
    }
}

/// Reads a local definition file.
pub(super) fn read(file: File, chunk_size: u64) -> Result<LocalDefinitions, InputError> {
    let mut records = Records::new(file, Content::Definitions, chunk_size)?;
    let mut definitions = LocalDefinitions::default();
    let mut offsets: Vec<ClockOffset> = Vec::new();
    while let Some(mut record) = records.next()? {
        match record.kind {
            MAPPING_TABLE => {
                let of = record.body.byte("the kind of a mapping table")?;
                let table = table(&mut record)?;
                if definitions.tables.insert(Mapped(of), table).is_some() {
                    let problem = "the location has two mapping tables of one kind";
                    return Err(record.refuse(problem, &of.to_string()));
                }
            }
            CLOCK_OFFSET => {
                let time = record.body.fixed(8, "the time of a clock offset")?;
                let offset = record.body.i64("a clock offset")?;
                if offsets.last().is_some_and(|last| last.time >= time) {
                    let problem = "the time of a clock offset is not after the one before";
                    return Err(record.refuse(problem, &time.to_string()));
                }
                offsets.push(ClockOffset { time, offset });
            }
            _ => {}
        }
    }
    definitions.clock = ClockCorrection::new(offsets).unwrap_or_default();
    Ok(definitions)
}

/// Each entry takes a byte of the file at least, so a hostile size ends where the record does.
fn table(record: &mut Record) -> Result<Table, InputError> {
    let body = &mut record.body;
    let size = body.u64("the size of a mapping table")?;
    match body.byte("the form of a mapping table")? {
        DENSE => {
            let mut ids = Vec::new();
            for _ in 0..size {
                ids.push(body.u64("a global id")?);
            }
            Ok(Table::Dense(ids))
        }
        SPARSE => {
            let mut ids = BTreeMap::new();
            for _ in 0..size {
                let local = body.u64("a local id")?;
                ids.insert(local, body.u64("a global id")?);
            }
            Ok(Table::Sparse(ids))
        }
        form => Err(record.refuse("a mapping table has no such form", &form.to_string())),
    }
}
