//! The anchor file: how the other files are to be read.

use super::bytes::{Cursor, File};
use super::records::{self, END_OF_FILE};
use crate::diagnostic::InputError;

const MAGIC: &str = "OTF2";
/// The newest format of the anchor file whose end is known.
const NEWEST_ANCHOR_FORMAT: u8 = 3;
/// The newest trace format that this reader knows, that of OTF2 3.2.
const NEWEST_TRACE_FORMAT: u8 = 2;
/// Counts the bytes of the smallest chunk: a header of 18 bytes and an end mark. Writers use 256
/// KiB and more.
const SMALLEST_CHUNK: u64 = 19;
/// Says that every file stands by itself in the file system.
const POSIX: u8 = 1;
const NO_COMPRESSION: u8 = 1;

/// Holds the contents of the anchor file.
pub(super) struct Anchor {
    /// Gives the version of OTF2 that wrote the archive.
    pub(super) version: [u8; 3],
    /// Gives the size of an event file's chunk, in bytes.
    pub(super) event_chunk: u64,
    /// Gives the size of a definition file's chunk, in bytes.
    pub(super) definition_chunk: u64,
    pub(super) locations: u64,
    pub(super) global_definitions: u64,
    pub(super) machine: String,
    pub(super) creator: String,
    pub(super) description: String,
    pub(super) properties: Vec<(String, String)>,
}

/// Reads the anchor file.
pub(super) fn read(file: File) -> Result<Anchor, InputError> {
    let remedy = "give the archive's anchor file, which ends in .otf2";
    if !file.bytes.starts_with(&[3]) {
        let value = String::from_utf8_lossy(&file.bytes[..file.bytes.len().min(16)]);
        return Err(file.refuse_with(0, "this is no anchor file of OTF2", &value, remedy));
    }
    let mut cursor = records::open(file, 0)?;
    let start = cursor.at;
    let magic = cursor.text("the format's name")?;
    if magic != MAGIC {
        return Err(file.refuse_with(start, "this is no anchor file of OTF2", &magic, remedy));
    }
    let start = cursor.at;
    let anchor_format = cursor.byte("the anchor file's format")?;
    if anchor_format == 0 {
        return Err(file.refuse(start, "the anchor file has no such format", "0"));
    }
    let start = cursor.at;
    let trace_format = cursor.byte("the trace format")?;
    if trace_format > NEWEST_TRACE_FORMAT {
        let remedy = format!(
            "write it with a version of OTF2 that writes trace format {NEWEST_TRACE_FORMAT}"
        );
        let problem = "the trace format is newer than this reader";
        return Err(file.refuse_with(start, problem, &trace_format.to_string(), &remedy));
    }
    let version =
        [cursor.byte("the version")?, cursor.byte("the version")?, cursor.byte("the version")?];
    let event_chunk = chunk_size(&mut cursor, "the size of event chunks")?;
    let definition_chunk = chunk_size(&mut cursor, "the size of definition chunks")?;
    let start = cursor.at;
    let substrate = cursor.byte("the file substrate")?;
    if substrate != POSIX {
        let problem = "the archive's files are not plain files";
        let remedy = "record it with SCOREP_TRACING_USE_SION=false";
        return Err(file.refuse_with(start, problem, &substrate.to_string(), remedy));
    }
    let start = cursor.at;
    let compression = cursor.byte("the compression")?;
    if compression != NO_COMPRESSION {
        let problem = "the archive's files are compressed";
        let remedy = "record it with SCOREP_TRACING_COMPRESS=false";
        return Err(file.refuse_with(start, problem, &compression.to_string(), remedy));
    }
    let locations = cursor.fixed(8, "the number of locations")?;
    let global_definitions = cursor.fixed(8, "the number of global definitions")?;
    let machine = cursor.text("the machine's name")?.into_owned();
    let creator = cursor.text("the creator")?.into_owned();
    let description = cursor.text("the description")?.into_owned();
    let mut properties = Vec::new();
    if anchor_format >= 2 {
        for _ in 0..cursor.fixed(4, "the number of properties")? {
            let name = cursor.text("a property's name")?.into_owned();
            properties.push((name, cursor.text("a property's value")?.into_owned()));
        }
        cursor.fixed(8, "the trace's number")?;
    }
    if anchor_format >= 3 {
        cursor.fixed(4, "the number of snapshots")?;
        cursor.fixed(4, "the number of thumbnails")?;
    }
    // Later formats of the anchor file only add to it.
    if anchor_format == NEWEST_ANCHOR_FORMAT {
        let start = cursor.at;
        let mark = cursor.byte("the end mark")?;
        if mark != END_OF_FILE {
            let problem = "the anchor file does not end here as it should";
            return Err(file.refuse(start, problem, &mark.to_string()));
        }
    }
    Ok(Anchor {
        version,
        event_chunk,
        definition_chunk,
        locations,
        global_definitions,
        machine,
        creator,
        description,
        properties,
    })
}

fn chunk_size(cursor: &mut Cursor, what: &str) -> Result<u64, InputError> {
    let start = cursor.at;
    let size = cursor.fixed(8, what)?;
    if size < SMALLEST_CHUNK {
        let problem = format!("{what} is less than {SMALLEST_CHUNK} bytes");
        return Err(cursor.file.refuse(start, &problem, &size.to_string()));
    }
    Ok(size)
}
