//! Reads lines of `NCCL_DEBUG=INFO` into a [`DebugLog`].
//!
//! Each file below reads the lines of one part of NCCL. The crate's tests name the forms of 2.18,
//! 2.23, 2.27 and 2.30. They give the file and line of NCCL's source (`tests/forms.tsv`).

mod communicator;
mod connections;
mod graph;
mod network;
mod settings;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::debug_line::NcclLine;
use crate::doctor::evidence::{DebugLog, Line, Warning};

/// More facts than a log of ten thousand ranks has.
pub(super) const MOST_FACTS: usize = 1 << 17;

/// How many groups of warnings are kept, and how long their texts may be.
const MOST_WARNINGS: usize = 64;
const LONGEST_WARNING: usize = 200;

/// Says what a line was to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It states no fact that is kept.
    Nothing,
    /// Is a line that states a fact.
    Fact,
    /// It is of another communicator than the largest.
    Other,
    /// It cannot be true, or a part of it is missing.
    Refused(&'static str),
}

/// Reads one job's lines, in any order of ranks.
#[derive(Debug, Default)]
pub struct DebugReader {
    file: String,
    log: DebugLog,
    /// Whether a thread sets up the largest communicator, while it sets up one.
    threads: HashMap<u64, bool>,
    communicators: BTreeSet<String>,
    /// Lines of the largest communicator.
    own_lines: u64,
    /// Holds speeds that come before the list of a host's interfaces.
    speeds: BTreeMap<(String, String), u32>,
    /// The thread whose print of the topology is read.
    topology_of: Option<u64>,
    topology_is_open: bool,
    /// The thread whose graphs are read, and whether its last line was of a graph.
    graphs_of: Option<u64>,
    graph_is_open: bool,
}

impl DebugReader {
    /// Begins a job; `file` names it in proofs.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Gives what was read.
    #[must_use]
    pub fn finish(self) -> DebugLog {
        self.log
    }

    /// Tells whether a line stated a fact.
    pub(super) fn has_read(&self) -> bool {
        self.log.read > 0
    }

    /// Takes a line; `room` is how many facts may still be kept.
    pub(super) fn line(&mut self, number: u64, line: &NcclLine<'_>, room: &mut usize) -> Heard {
        let mut one = One { number, line, room, key: key(line.host, line.thread) };
        let heard = if line.warns { self.warning(&mut one) } else { self.message(&mut one) };
        match heard {
            Heard::Fact => self.log.read += 1,
            Heard::Other => self.log.other_lines += 1,
            Heard::Nothing | Heard::Refused(_) => {}
        }
        heard
    }

    fn message(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let open = [self.topology_line(one), self.graph_path(one)];
        if open.contains(&Heard::Fact) {
            return Heard::Fact;
        }
        let readers: [fn(&mut Self, &mut One<'_, '_>) -> Heard; 6] = match message.as_bytes() {
            [b'C', ..] => [
                Self::connection,
                Self::ring,
                Self::refusal,
                Self::connected,
                Self::setting,
                Self::unmodelled,
            ],
            [b'N' | b'G', ..] => [
                Self::network,
                Self::gpudirect,
                Self::nvls,
                Self::setting,
                Self::plugin,
                Self::version,
            ],
            _ => [
                Self::communicator,
                Self::channels,
                Self::graph,
                Self::choice,
                Self::setting,
                Self::rest,
            ],
        };
        let heard = readers.iter().map(|read| read(self, one));
        heard.into_iter().find(|heard| *heard != Heard::Nothing).unwrap_or(Heard::Nothing)
    }

    fn rest(&mut self, one: &mut One<'_, '_>) -> Heard {
        let readers: [fn(&mut Self, &mut One<'_, '_>) -> Heard; 7] = [
            Self::network,
            Self::plugin,
            Self::refusal,
            Self::version,
            Self::trees,
            Self::unmodelled,
            Self::failure,
        ];
        let heard = readers.iter().map(|read| read(self, one));
        heard.into_iter().find(|heard| *heard != Heard::Nothing).unwrap_or(Heard::Nothing)
    }

    /// Keeps a warning by its text without numbers.
    fn warning(&mut self, one: &mut One<'_, '_>) -> Heard {
        self.refusal(one);
        self.group(one)
    }

    /// Reads `init.cc:1377 -> 3`, by which NCCL hands on an error, and `... Abort COMPLETE`.
    fn failure(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let handed = message.split_once(" -> ").is_some_and(|(place, code)| {
            place.contains(".cc:") && !place.contains(' ') && code.trim().parse::<u32>().is_ok()
        });
        if handed || message.contains("Abort COMPLETE") { self.group(one) } else { Heard::Nothing }
    }

    fn group(&mut self, one: &mut One<'_, '_>) -> Heard {
        let text = words::without_numbers(one.line.message.trim(), LONGEST_WARNING);
        if let Some(warning) = self.log.warnings.get_mut(&text) {
            warning.count += 1;
        } else if self.log.warnings.len() < MOST_WARNINGS && one.take() {
            let line = self.proof(one);
            self.log.warnings.insert(text, Warning { count: 1, line });
        } else {
            self.log.skipped += 1;
        }
        Heard::Fact
    }

    fn proof(&self, one: &One<'_, '_>) -> Line {
        Line::new(&self.file, one.number, one.line.whole)
    }

    /// Keeps the first value of a name, where there is room.
    fn keep<K: Ord, V>(
        &mut self,
        one: &mut One<'_, '_>,
        of: impl Fn(&mut DebugLog) -> &mut BTreeMap<K, V>,
        name: K,
        value: impl FnOnce(Line) -> V,
    ) -> Heard {
        if of(&mut self.log).contains_key(&name) {
            return Heard::Fact;
        }
        if one.take() {
            let line = self.proof(one);
            of(&mut self.log).insert(name, value(line));
        } else {
            self.log.skipped += 1;
        }
        Heard::Fact
    }
}

/// A line that is being read.
pub(super) struct One<'a, 'l> {
    number: u64,
    line: &'a NcclLine<'l>,
    room: &'a mut usize,
    /// Stands for the host and the thread.
    key: u64,
}

impl One<'_, '_> {
    /// Takes the room of a fact; whether there was one.
    fn take(&mut self) -> bool {
        let has_room = *self.room > 0;
        *self.room -= usize::from(has_room);
        has_room
    }
}

fn key(host: &str, thread: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (host, thread).hash(&mut hasher);
    hasher.finish()
}
