//! The records of a definition or event file, one after the other.
//!
//! A file is a row of chunks of the size that the anchor file gives; only the last may be shorter.
//! A chunk starts with a header: its byte order, the first and last number of an event. It ends
//! with an end mark, the last one with the end mark of the file. A record is its kind, the length
//! of its body (one byte, or 255 and eight more) and its body.

use super::bytes::{Cursor, File};
use crate::diagnostic::InputError;

const END_OF_CHUNK: u8 = 0;
/// Marks the end behind a file's last record.
pub(super) const END_OF_FILE: u8 = 2;
const CHUNK_HEADER: u8 = 3;
/// The first kind that is a record's, not a mark of the layout.
const FIRST_RECORD: u8 = 5;
const BIG_ENDIAN: u8 = 0x23;
const LITTLE_ENDIAN: u8 = 0x42;

/// The kind of the record that says when the events after it happened.
pub(super) const TIMESTAMP: u8 = 5;
/// The kinds of events whose body is one compressed number, without a length before it.
const SINGLE_NUMBER: [u8; 10] = [12, 13, 16, 17, 20, 21, 24, 28, 29, 30];

/// Which records a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Definitions,
    Events,
}

/// Holds one record.
pub(super) struct Record<'a> {
    /// Its kind, a number that each kind of file gives its own meaning.
    pub(super) kind: u8,
    /// The byte at which it starts.
    pub(super) at: usize,
    /// Holds its body, and nothing after it.
    pub(super) body: Cursor<'a>,
}

impl Record<'_> {
    /// The error that this record is wrong.
    pub(super) fn refuse(&self, problem: &str, value: &str) -> InputError {
        self.body.file.refuse(self.at, problem, value)
    }
}

/// Holds the rest of a file's records.
pub(super) struct Records<'a> {
    cursor: Cursor<'a>,
    content: Content,
    chunk_start: usize,
    chunk_size: u64,
}

/// A cursor behind the byte order's mark, which follows the mark of a header.
pub(super) fn open(file: File, at: usize) -> Result<Cursor, InputError> {
    let mut cursor = Cursor { file, at, end: file.bytes.len(), big_endian: false };
    let mark = cursor.byte("the header")?;
    if mark != CHUNK_HEADER {
        return Err(file.refuse(at, "no header of OTF2 starts here", &mark.to_string()));
    }
    let order = cursor.byte("the byte order")?;
    cursor.big_endian = match order {
        BIG_ENDIAN => true,
        LITTLE_ENDIAN => false,
        _ => return Err(file.refuse(at + 1, "no such byte order", &order.to_string())),
    };
    Ok(cursor)
}

impl<'a> Records<'a> {
    /// The records of a file whose chunks have the given size in bytes.
    pub(super) fn new(
        file: File<'a>,
        content: Content,
        chunk_size: u64,
    ) -> Result<Self, InputError> {
        let mut records = Self { cursor: open(file, 0)?, content, chunk_start: 0, chunk_size };
        records.enter_chunk(0)?;
        Ok(records)
    }

    fn enter_chunk(&mut self, start: usize) -> Result<(), InputError> {
        let file = self.cursor.file;
        self.cursor = open(file, start)?;
        self.chunk_start = start;
        self.cursor.end = self.chunk_end();
        self.cursor.fixed(8, "the number of the chunk's first event")?;
        self.cursor.fixed(8, "the number of the chunk's last event")?;
        Ok(())
    }

    fn chunk_end(&self) -> usize {
        let size = usize::try_from(self.chunk_size).unwrap_or(usize::MAX);
        self.chunk_start.saturating_add(size).min(self.cursor.file.bytes.len())
    }

    /// Reads the next record, or returns `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Record<'a>>, InputError> {
        loop {
            let at = self.cursor.at;
            match self.cursor.byte("a record or the file's end mark")? {
                END_OF_FILE => return Ok(None),
                END_OF_CHUNK => self.enter_chunk(self.chunk_end())?,
                kind if kind < FIRST_RECORD => {
                    let problem = "no record has this kind";
                    return Err(self.cursor.file.refuse(at, problem, &kind.to_string()));
                }
                kind => return Ok(Some(Record { kind, at, body: self.body(kind)? })),
            }
        }
    }

    fn body(&mut self, kind: u8) -> Result<Cursor<'a>, InputError> {
        let cursor = &mut self.cursor;
        let mut body = cursor.clone();
        let events = self.content == Content::Events;
        if events && kind == TIMESTAMP {
            cursor.take(8, "a timestamp")?;
        } else if events && SINGLE_NUMBER.contains(&kind) {
            cursor.u64("the number of an event")?;
        } else {
            let length = match cursor.byte("the length of a record")? {
                u8::MAX => cursor.fixed(8, "the length of a record")?,
                short => u64::from(short),
            };
            body.at = cursor.at;
            cursor.take(length, "the record's body")?;
        }
        body.end = cursor.at;
        Ok(body)
    }
}
