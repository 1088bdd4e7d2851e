//! Runs kernels of one's own: the work of each wavefront, operation by operation, as data.
//!
//! It represents buffers, launches, and a list of operations for each wavefront that has any, as a
//! text ([`read`]) or a builder says. It leaves out loops and conditions, except waiting until a
//! word has a value. Users who need more write a kernel in Rust.

mod error;
mod loads;
mod play;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

pub use error::RecordedError;
pub use loads::{Checked, LoadedWords, WrongLoad};
pub use read::{read, read_unfinished};
pub use write::write;

use self::loads::Loads;
use super::{AtomicOperation, LANES, Scope};
use crate::diagnostic::Named;
use crate::units::Bytes;

/// Limits the work-groups of a launch.
pub const MOST_GROUPS: u32 = 1 << 20;
/// Wavefronts of a work-group, at most; a GPU may have room for fewer.
pub const MOST_WAVEFRONTS: u32 = 64;
/// Limits the bytes of a buffer.
pub const MOST_BYTES: u64 = 1 << 40;
/// Buffers, launches, and lines of what is expected, at most.
const MOST_PARTS: usize = 1 << 16;
/// A kernel has at most this number of operations; each takes some 120 bytes.
pub const MOST_OPERATIONS: u64 = 1 << 19;
/// All loads keep at most this number of words under names, as 4,096 loads of a whole wavefront do.
pub const MOST_KEPT: u64 = 1 << 18;
/// Limits the characters of a name.
const MOST_OF_NAME: usize = 64;
/// Limits the bytes of an access of a work-item to four words.
pub const MOST_WIDTH: u64 = 16;

/// Holds words, one for each element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// The first, and by how much each next is larger, modulo 2^32.
    Ramp {
        /// Gives the first word.
        first: u32,
        /// Gives the number that is added for each element.
        step: u32,
    },
    /// Lists each word.
    Listed(Vec<u32>),
}

impl Words {
    /// Returns the word of an element.
    #[must_use]
    pub fn at(&self, element: u64) -> u32 {
        match self {
            Self::Ramp { first, step } => first.wrapping_add(step.wrapping_mul(element as u32)),
            Self::Listed(words) => words.get(element as usize).copied().unwrap_or(0),
        }
    }

    /// How many words are listed, if they are.
    fn listed(&self) -> Option<u64> {
        match self {
            Self::Ramp { .. } => None,
            Self::Listed(words) => Some(words.len() as u64),
        }
    }
}

/// Which way the host copies a buffer, where GPUs have memories of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// Copies to the GPUs.
    In,
    /// Copies back, at the end.
    Out,
    /// Copies both ways.
    InOut,
    /// Copies neither way.
    Scratch,
}

impl Named for Copies {
    const WHAT: &'static str = "direction of copies";
    const NAMED: &'static [(&'static str, Self)] =
        &[("in", Self::In), ("out", Self::Out), ("inout", Self::InOut), ("scratch", Self::Scratch)];
}

impl Named for AtomicOperation {
    const WHAT: &'static str = "atomic operation";
    const NAMED: &'static [(&'static str, Self)] =
        &[("add", Self::Add), ("exchange", Self::Exchange), ("max", Self::Max)];
}

/// Describes bytes that wavefronts work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedBuffer {
    /// Gives the name that people use.
    pub name: String,
    /// Counts its bytes, which are whole words.
    pub size: Bytes,
    /// Which way it is copied.
    pub copies: Copies,
    /// Holds its content at the start.
    pub initial: Words,
}

/// Gives the work-items' addresses, in bytes from the start of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offsets {
    /// Begins at one address and goes on, one after another.
    Strided {
        /// Gives the address of the first.
        first: u64,
        /// Counts the bytes to the address of the next.
        stride: u64,
        /// Counts the work-items that take part.
        lanes: u32,
    },
    /// One for each work-item that takes part.
    Listed(Vec<Option<u64>>),
}

impl Offsets {
    /// That of a work-item, if it takes part.
    #[inline]
    #[must_use]
    pub fn of(&self, lane: usize) -> Option<u64> {
        match self {
            Self::Strided { first, stride, lanes } => {
                (lane < *lanes as usize).then(|| first + stride * lane as u64)
            }
            Self::Listed(offsets) => offsets.get(lane).copied().flatten(),
        }
    }

    /// Counts the work-items that take part.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Strided { lanes, .. } => u64::from(*lanes),
            Self::Listed(offsets) => offsets.iter().flatten().count() as u64,
        }
    }
}

/// Names the bytes that an operation touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Names the buffer, by its place among all.
    pub buffer: usize,
    /// Where the work-items' words are.
    pub offsets: Offsets,
    /// Counts the bytes of each work-item.
    pub width: u32,
}

/// Names an operation of a wavefront.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Takes this number of vector instructions.
    Compute(u32),
    /// Makes this number of accesses to the memory of its group.
    Lds(u32),
    /// Asks for words, and keeps them under a name.
    Load(Touched, Option<String>),
    /// Asks for words of one address, through the cache of scalars.
    Scalar(Touched, Option<String>),
    /// Stores words.
    Store(Touched, Words),
    /// Stores the words of the wavefront's last load of a name, once they are there. A single word goes everywhere.
    StoreLoaded(Touched, String),
    /// An atomic operation on a word of each work-item; the words before may be kept.
    Atomic(AtomicOperation, Touched, Words, Option<String>),
    /// Loads a word again and again, with a fence between any two loads, until it has a value; a
    /// run without data loads it once.
    Spin(Touched, u32),
    /// Waits for all its loads.
    Wait,
    /// Waits until all that it asked of memory is done, and seen by others.
    Fence,
    /// Waits for others.
    Barrier(Scope),
}

impl Action {
    /// The name under which it keeps the words that it reads, and how many these are.
    fn kept(&self) -> Option<(&str, u64)> {
        let (touched, name, each) = match self {
            Self::Load(touched, Some(name)) => (touched, name, u64::from(touched.width / 4)),
            Self::Scalar(touched, Some(name)) => {
                return Some((name, u64::from(touched.width / 4)));
            }
            Self::Atomic(_, touched, _, Some(name)) => (touched, name, 1),
            _ => return None,
        };
        Some((name, touched.offsets.count() * each))
    }
}

/// Describes one launch.
#[derive(Debug, Clone)]
pub struct RecordedLaunch {
    /// Gives the name that people use.
    pub name: String,
    /// Counts the bytes that each group shares.
    pub lds: Bytes,
    /// Holds the operations of each wavefront that has any, by group and number there.
    pub wavefronts: BTreeMap<(u32, u32), Vec<Action>>,
    /// Gives the lines of a text where their first operations stand. They make no launch different.
    lines: BTreeMap<(u32, u32), Vec<u32>>,
}

impl PartialEq for RecordedLaunch {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.lds, &self.wavefronts) == (&other.name, other.lds, &other.wavefronts)
    }
}

impl Eq for RecordedLaunch {}

/// Describes the content that a buffer must have at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Names the buffer, by its place among all.
    pub buffer: usize,
    /// Gives the first byte.
    pub offset: u64,
    /// Counts the words.
    pub count: u64,
    /// Gives the words that they must be.
    pub words: Words,
}

/// Holds a kernel of one's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedKernel {
    name: String,
    buffers: Vec<RecordedBuffer>,
    launches: Vec<RecordedLaunch>,
    expected: Vec<Expected>,
    loads: Loads,
    /// The buffers' places by their names.
    places: BTreeMap<String, usize>,
    /// How many operations all wavefronts have together.
    operations: u64,
    /// How many words all loads keep together.
    kept: u64,
}

impl RecordedKernel {
    /// Makes a kernel without buffers and operations.
    ///
    /// # Errors
    /// A name that is none.
    pub fn new(name: &str) -> Result<Self, RecordedError> {
        let name = checked(name)?;
        Ok(Self {
            name,
            buffers: Vec::new(),
            launches: Vec::new(),
            expected: Vec::new(),
            loads: Loads::default(),
            places: BTreeMap::new(),
            operations: 0,
            kept: 0,
        })
    }

    /// Gives the name that people use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its buffers, in the order of their addresses.
    #[must_use]
    pub fn buffers(&self) -> &[RecordedBuffer] {
        &self.buffers
    }

    /// Returns its launches, one after another.
    #[must_use]
    pub fn launches(&self) -> &[RecordedLaunch] {
        &self.launches
    }

    /// How many operations all wavefronts have together.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Returns the place of a buffer among all.
    ///
    /// # Errors
    /// A name that no buffer has.
    pub fn buffer(&self, name: &str) -> Result<usize, RecordedError> {
        self.places.get(name).copied().ok_or_else(|| RecordedError::NoBuffer {
            name: name.to_owned(),
            known: self.buffers.iter().map(|buffer| buffer.name.clone()).collect(),
        })
    }

    /// Adds a buffer behind the others.
    ///
    /// # Errors
    /// Refuses a name that is none or taken, and a size that is not possible. Refuses initial words
    /// that are not as many, or are not copied in.
    pub fn add_buffer(&mut self, buffer: RecordedBuffer) -> Result<(), RecordedError> {
        checked(&buffer.name)?;
        if self.places.contains_key(&buffer.name) {
            return Err(RecordedError::Taken { name: buffer.name });
        }
        within("buffers", self.buffers.len() as u64 + 1, 0, MOST_PARTS as u64)?;
        within("the size of a buffer", buffer.size.0, 4, MOST_BYTES)?;
        whole_words("the size of a buffer", buffer.size.0)?;
        as_many(&buffer.initial, buffer.size.0 / 4)?;
        let zeros = Words::Ramp { first: 0, step: 0 };
        if matches!(buffer.copies, Copies::Out | Copies::Scratch) && buffer.initial != zeros {
            return Err(RecordedError::NotCopied { name: buffer.name });
        }
        self.places.insert(buffer.name.clone(), self.buffers.len());
        self.buffers.push(buffer);
        Ok(())
    }

    /// Begins another launch, to which operations go from now on.
    ///
    /// # Errors
    /// A name that is none, or too many launches.
    pub fn launch(&mut self, name: &str, lds: Bytes) -> Result<(), RecordedError> {
        let name = checked(name)?;
        within("launches", self.launches.len() as u64 + 1, 0, MOST_PARTS as u64)?;
        within("the memory of a group", lds.0, 0, MOST_BYTES)?;
        let (wavefronts, lines) = (BTreeMap::new(), BTreeMap::new());
        self.launches.push(RecordedLaunch { name, lds, wavefronts, lines });
        self.loads.forget();
        Ok(())
    }

    /// Adds an operation of a wavefront of the last launch, which begins where there is none.
    ///
    /// # Errors
    /// A wavefront that cannot be, bytes outside of their buffer or on no word's bounds, and
    /// values that are not as many as the words. A store of a load that was not made, and a load of a name that
    /// is expected already. More than [`MOST_OPERATIONS`], or than [`MOST_KEPT`] words.
    pub fn push(
        &mut self,
        (group, wavefront): (u32, u32),
        action: Action,
    ) -> Result<(), RecordedError> {
        within("the work-group", group.into(), 0, u64::from(MOST_GROUPS) - 1)?;
        within("the wavefront", wavefront.into(), 0, u64::from(MOST_WAVEFRONTS) - 1)?;
        self.check(&action)?;
        let kept = self.kept + action.kept().map_or(0, |(_, words)| words);
        within("the words that all loads keep", kept, 0, MOST_KEPT)?;
        within("operations", self.operations + 1, 0, MOST_OPERATIONS)?;
        self.loads.check((group, wavefront), &action)?;
        if self.launches.is_empty() {
            self.launch(&self.name.clone(), Bytes(0))?;
        }
        self.loads.add((group, wavefront), &action);
        if let Some(launch) = self.launches.last_mut() {
            launch.wavefronts.entry((group, wavefront)).or_default().push(action);
        }
        self.operations += 1;
        self.kept = kept;
        Ok(())
    }

    /// Says in which line of a text the last operation of a wavefront stands.
    fn came_from(&mut self, wavefront: (u32, u32), line: usize) {
        if let Some(launch) = self.launches.last_mut() {
            launch.lines.entry(wavefront).or_default().push(line as u32);
        }
    }

    /// Adds what a buffer must hold at the end.
    ///
    /// # Errors
    /// Bytes outside of their buffer or on no word's bounds, and words that are not as many.
    pub fn expect(&mut self, expected: Expected) -> Result<(), RecordedError> {
        within("what is expected", self.expected.len() as u64 + 1, 0, MOST_PARTS as u64)?;
        whole_words("the offset", expected.offset)?;
        as_many(&expected.words, expected.count)?;
        let buffer = &self.buffers[expected.buffer];
        let end =
            expected.count.checked_mul(4).and_then(|bytes| bytes.checked_add(expected.offset));
        if end.is_none_or(|end| end > buffer.size.0) {
            return Err(outside(buffer, expected.offset, expected.count.saturating_mul(4)));
        }
        self.expected.push(expected);
        Ok(())
    }

    fn check(&self, action: &Action) -> Result<(), RecordedError> {
        match action {
            Action::Load(touched, _) => self.check_touched(touched, MOST_WIDTH)?,
            // A line at most, and from one address.
            Action::Scalar(touched, _) => self.check_touched(touched, 64)?,
            Action::Store(touched, words) => {
                self.check_touched(touched, MOST_WIDTH)?;
                as_many(words, touched.offsets.count() * u64::from(touched.width / 4))?;
            }
            Action::StoreLoaded(touched, _) => self.check_touched(touched, MOST_WIDTH)?,
            Action::Atomic(_, touched, words, _) => {
                self.check_touched(touched, 4)?;
                as_many(words, touched.offsets.count())?;
            }
            Action::Spin(touched, _) => self.check_touched(touched, 4)?,
            Action::Compute(_)
            | Action::Lds(_)
            | Action::Wait
            | Action::Fence
            | Action::Barrier(_) => {}
        }
        action.kept().map_or(Ok(()), |(name, _)| checked(name).map(|_| ()))
    }

    fn check_touched(&self, touched: &Touched, widest: u64) -> Result<(), RecordedError> {
        let buffer = &self.buffers[touched.buffer];
        let width = u64::from(touched.width);
        within("the bytes of a work-item", width, 4, widest)?;
        whole_words("the bytes of a work-item", width)?;
        let lanes = match &touched.offsets {
            Offsets::Strided { first, stride, lanes } => {
                within("the first address", *first, 0, MOST_BYTES)?;
                within("the stride", *stride, 0, MOST_BYTES)?;
                whole_words("the stride", *stride)?;
                u64::from(*lanes)
            }
            Offsets::Listed(offsets) => offsets.len() as u64,
        };
        within("the work-items", lanes, 1, LANES as u64)?;
        for offset in (0..LANES).filter_map(|lane| touched.offsets.of(lane)) {
            whole_words("an address", offset)?;
            if offset.checked_add(width).is_none_or(|end| end > buffer.size.0) {
                return Err(outside(buffer, offset, width));
            }
        }
        Ok(())
    }
}

fn checked(name: &str) -> Result<String, RecordedError> {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    let fits = name.len() <= MOST_OF_NAME
        && name.starts_with(is_first)
        && name.chars().all(|it| it.is_ascii_alphanumeric() || "_-.".contains(it));
    if fits { Ok(name.to_owned()) } else { Err(RecordedError::Name { name: name.to_owned() }) }
}

fn within(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), RecordedError> {
    let fits = (least..=most).contains(&value);
    if fits { Ok(()) } else { Err(RecordedError::Range { what, value, least, most }) }
}

fn whole_words(what: &'static str, bytes: u64) -> Result<(), RecordedError> {
    if bytes.is_multiple_of(4) { Ok(()) } else { Err(RecordedError::NoWord { what, bytes }) }
}

fn as_many(words: &Words, wanted: u64) -> Result<(), RecordedError> {
    match words.listed() {
        Some(listed) if listed != wanted => Err(RecordedError::Count { listed, wanted }),
        _ => Ok(()),
    }
}

fn outside(buffer: &RecordedBuffer, offset: u64, bytes: u64) -> RecordedError {
    RecordedError::Outside { buffer: buffer.name.clone(), size: buffer.size, offset, bytes }
}
