//! Says how a format of accounting is read, and lists Linkwright's own formats.

use std::borrow::Cow;

use super::formats::{Helios, PaiPods, PaiTasks, Philly, Swf, Table};
use super::values::{GpuCount, Moment};
use crate::diagnostic::{InputError, Position, Registered, Registry};
use crate::units::Picoseconds;

/// A format in which a cluster tells the jobs that ran on it. It is known by its look.
pub trait AccountingFormat: Registered {
    /// Whether a text looks like one of this format; reads no more than its first lines.
    fn is_of(&self, text: &str) -> bool;

    /// Gives each job of a text in turn, or why it is none to play; `file` names the text in errors.
    ///
    /// # Errors
    /// A text that lacks what every job needs; an entry of it that cannot be read: each with line, column,
    /// value and remedy.
    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError>;

    /// Says what is taken for granted of every such text, as a sentence; nothing where absent.
    fn assumed(&self) -> Option<&'static str> {
        None
    }
}

/// Gives the entries of a text, in its order.
pub type Entries<'a> = Box<dyn Iterator<Item = Result<AccountEntry<'a>, InputError>> + 'a>;

/// Says whether an entry of a text is a job to play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountEntry<'a> {
    /// It is a job that ran.
    Job(Box<AccountedJob<'a>>),
    /// It is no job to play.
    LeftOut(NotPlayed),
}

/// A job that ran, as a text tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountedJob<'a> {
    /// The text calls it so; None where it gives no name.
    pub id: Option<Written<'a>>,
    /// Its user gave it this name, where the text says so.
    pub title: Option<Written<'a>>,
    /// When it was submitted.
    pub submit: Moment,
    /// The text says so when it was submitted.
    pub submitted: Written<'a>,
    /// It had these GPUs, at least one.
    pub gpus: GpuCount,
    /// How long it ran, which is not zero.
    pub duration: Picoseconds,
    /// Where the text says how long.
    pub lasted: Position,
    /// Which workload it ran, where the text says so.
    pub workload: Option<Written<'a>>,
    /// Counts the servers that it was on, where the text says so.
    pub servers: Option<u32>,
    /// Whether it had its servers for itself.
    pub exclusive: bool,
    /// All that the text says of it.
    pub row: Written<'a>,
}

/// Why an entry is no job to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPlayed {
    /// It is a step of a job.
    Step,
    /// It was cancelled before it started, or still waits.
    NeverStarted,
    /// It had not ended.
    Unfinished,
    /// It had no GPU.
    WithoutGpus,
    /// It has no length.
    WithoutLength,
}

/// Keeps words of a text, and where they stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<'a> {
    /// It is where they begin.
    pub position: Position,
    /// The text has these words.
    pub value: Cow<'a, str>,
}

impl Written<'_> {
    /// Refuses these words.
    #[must_use]
    pub fn refuse(
        &self,
        file: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        InputError::at(file, self.position, problem, &self.value, remedy)
    }
}

/// Linkwright's own formats of accounting, by name; of those that a text looks like, the last is meant.
#[must_use]
pub fn accounting_formats() -> Registry<dyn AccountingFormat> {
    Registry::new("format of accounting", &[&Table, &Helios, &PaiTasks, &PaiPods, &Philly, &Swf])
}
