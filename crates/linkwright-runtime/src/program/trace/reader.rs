//! Who reads a recorded trace: one reader for each kind of file.

use super::{TraceOptions, TraceProgram, program_of};
use crate::diagnostic::{Diagnosis, InputError, Registered, Registry};
use crate::program::otf2::{Archive, ArchiveFiles};

/// A trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceFault {
    /// Stands at a place of one of its files.
    File(InputError),
    /// It holds no program.
    Program(Diagnosis),
}

impl From<InputError> for TraceFault {
    fn from(error: InputError) -> Self {
        Self::File(error)
    }
}

/// Reads the program that a trace recorded.
pub trait TraceReader: Registered {
    /// Whether it reads a file of that name.
    fn reads(&self, file: &str) -> bool;

    /// The program of a trace by the name of its file, beside which others may lie.
    ///
    /// # Errors
    /// Files that are missing or damaged, or hold no program.
    fn program(
        &self,
        file: &str,
        files: &dyn ArchiveFiles,
        options: &TraceOptions,
    ) -> Result<TraceProgram, TraceFault>;
}

/// Reads archives of the Open Trace Format 2, by their anchor files.
#[derive(Debug, Clone, Copy)]
pub struct Otf2Reader;

impl Registered for Otf2Reader {
    fn name(&self) -> &'static str {
        "otf2"
    }
}

impl TraceReader for Otf2Reader {
    fn reads(&self, file: &str) -> bool {
        file.ends_with(".otf2")
    }

    fn program(
        &self,
        file: &str,
        files: &dyn ArchiveFiles,
        options: &TraceOptions,
    ) -> Result<TraceProgram, TraceFault> {
        let archive = Archive::read(file, files)?;
        program_of(&archive, options).map_err(|error| TraceFault::Program((&error).into()))
    }
}

/// Gives Linkwright's own readers.
#[must_use]
pub fn readers() -> Registry<dyn TraceReader> {
    Registry::new("reader of traces", &[&Otf2Reader])
}

/// The reader of a file by its name; that of OTF2 where none reads it, which says why not.
#[must_use]
pub fn reader_of(file: &str, known: &Registry<dyn TraceReader>) -> &'static dyn TraceReader {
    known.iter().find(|reader| reader.reads(file)).unwrap_or(&Otf2Reader)
}
