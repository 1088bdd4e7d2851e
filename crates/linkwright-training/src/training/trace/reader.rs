//! Reads the events of a trace one by one, so that memory does not grow with the file.

use std::fmt;
use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::event::{Event, First, Loose};
use super::records::{MOST_OF_NAME, Records};
use crate::diagnostic::{InputError, Position};

/// No text within a trace has more bytes, and no more lists are within one another.
const LONGEST_TEXT: u64 = 1 << 20;
const DEEPEST: u64 = 128;
/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 16;
/// Names files that are no JSON by their first bytes.
const OTHERS: [(&[u8], &str); 6] = [
    (b"SQLite format 3", "a database, as Nsight Systems and rocprof export"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"\xfd7zXZ", "compressed by xz"),
    (b"BZh", "compressed by bzip2"),
    (b"NSYS", "a report of Nsight Systems"),
];
const EXPORT: &str =
    "export it by torch.profiler.profile(...).export_chrome_trace(FILE), gzipped or not";

/// Reads the records of a trace; `file` names it in errors.
///
/// # Errors
/// A file that is none, with line and column.
pub(super) fn read(file: &str, input: impl Read) -> Result<Records, InputError> {
    let mut input = BufReader::with_capacity(AT_ONCE, input);
    let first = input.fill_buf().map_err(|error| unread(file, &error))?;
    let start = Position { line: 1, column: 1 };
    if first.is_empty() {
        return Err(InputError::at(file, start, "the trace is empty", "", EXPORT));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| first.starts_with(magic)) {
        let problem = format!("this is no trace of PyTorch's profiler, but {what}");
        return Err(InputError::at(file, start, problem, "", EXPORT));
    }
    if first.starts_with(&[0x1f, 0x8b]) {
        let whole = BufReader::with_capacity(AT_ONCE, MultiGzDecoder::new(input));
        parse(file, whole)
    } else {
        parse(file, input)
    }
}

fn unread(file: &str, error: &std::io::Error) -> InputError {
    let problem = format!("the trace cannot be read: {error}");
    InputError::at(file, Position { line: 1, column: 1 }, problem, "", "check the file")
}

fn parse(file: &str, input: impl Read) -> Result<Records, InputError> {
    let guarded = BufReader::with_capacity(AT_ONCE, Guard::new(input));
    let mut records = Records::default();
    let mut deserializer = serde_json::Deserializer::from_reader(guarded);
    let read = OfTrace(&mut records).deserialize(&mut deserializer);
    read.and_then(|()| deserializer.end()).map_err(|error| refused(file, &error))?;
    Ok(records)
}

fn refused(file: &str, error: &serde_json::Error) -> InputError {
    // The place is told before.
    let told = error.to_string();
    let told = told.split(" at line ").next().unwrap_or_default();
    let position = Position { line: error.line().max(1), column: error.column().max(1) };
    let again = "write it again, and wait until the profiler has ended; or decompress it and look at its end";
    match error.classify() {
        Category::Eof => InputError::at(file, position, "the trace is cut off here", "", again),
        Category::Io => {
            let kind = error.io_error_kind();
            if kind == Some(std::io::ErrorKind::UnexpectedEof) {
                return InputError::at(
                    file,
                    position,
                    "the compressed trace is cut off here",
                    "",
                    again,
                );
            }
            let problem = format!("the trace cannot be read on: {told}");
            InputError::at(file, position, problem, "", again)
        }
        Category::Syntax => {
            InputError::at(file, position, format!("this is no JSON: {told}"), "", EXPORT)
        }
        Category::Data => {
            let problem = format!("this is no trace of PyTorch's profiler: {told}");
            InputError::at(file, position, problem, "", EXPORT)
        }
    }
}

/// Refuses texts and nesting that no trace has, before anything is made of them.
struct Guard<R> {
    inner: R,
    depth: u64,
    /// Bytes of the text that is being read; none outside of texts.
    text: Option<u64>,
    is_escaped: bool,
}

impl<R: Read> Guard<R> {
    const fn new(inner: R) -> Self {
        Self { inner, depth: 0, text: None, is_escaped: false }
    }

    fn see(&mut self, byte: u8) -> Result<(), &'static str> {
        if let Some(length) = self.text {
            let is_end = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.text = (!is_end).then_some(length + 1);
            if length > LONGEST_TEXT {
                return Err("a text of more than a megabyte");
            }
            return Ok(());
        }
        match byte {
            b'"' => self.text = Some(0),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth > DEEPEST { Err("lists within one another too deeply") } else { Ok(()) }
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in &buffer[..count] {
            self.see(*byte).map_err(std::io::Error::other)?;
        }
        Ok(count)
    }
}

/// Reads a trace: an object that has its events in `traceEvents`, or a list of events.
struct OfTrace<'a>(&'a mut Records);

impl<'de> DeserializeSeed<'de> for OfTrace<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OfTrace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `traceEvents`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => map.next_value_seed(OfEvents(self.0))?,
                "distributedInfo" => {
                    self.0.is_pytorch = true;
                    map.next_value_seed(OfRank(self.0))?;
                }
                "deviceProperties" => {
                    self.0.is_pytorch = true;
                    let devices = map.next_value::<First<Device, 1>>()?.0;
                    let name = devices.first().map_or("", |device| device.name.text());
                    self.0.gpu = name.chars().take(MOST_OF_NAME).collect();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(event) = sequence.next_element::<Event>()? {
            self.0.take(event);
        }
        Ok(())
    }
}

/// Describes a GPU of the machine.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Device {
    name: Loose,
}

/// Reads the list of events.
struct OfEvents<'a>(&'a mut Records);

impl<'de> DeserializeSeed<'de> for OfEvents<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(OfTrace(self.0))
    }
}

/// Reads which rank of the job wrote the trace, and how many there were.
struct OfRank<'a>(&'a mut Records);

impl<'de> DeserializeSeed<'de> for OfRank<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OfRank<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `rank`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "rank" => self.0.rank = map.next_value::<Loose>()?.integer(),
                "world_size" => self.0.ranks = map.next_value::<Loose>()?.integer(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}
