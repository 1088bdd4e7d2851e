//! Holds a problem and its remedy, apart from each other.

use std::error::Error;
use std::fmt;

/// Holds the problem with a request, and the remedy.
///
/// Callers that show the two apart (Python, the place in a file) take the fields. The text has
/// both, and a name of the user's in it may have semicolons, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Describes the problem.
    pub problem: String,
    /// Tells the remedy. It is none where nothing is known.
    pub remedy: Option<String>,
}

impl Diagnosis {
    /// A problem for which nothing is known to work.
    #[must_use]
    pub fn of(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: None }
    }

    /// Makes the diagnosis of a reader that hands on text alone: the remedy stands behind the first
    /// semicolon.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        match text.split_once("; ") {
            Some((problem, remedy)) => Self::of(problem).remedy(remedy),
            None => Self::of(text),
        }
    }

    /// Adds the remedy: a text that says what would work.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// The same, said of a part of something: whose it is stands before the problem.
    #[must_use]
    pub fn within(self, whole: impl fmt::Display) -> Self {
        Self { problem: format!("{whole}: {}", self.problem), ..self }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remedy {
            Some(remedy) => write!(f, "{}; {remedy}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl<E: Diagnose> From<E> for Diagnosis {
    fn from(error: E) -> Self {
        error.diagnosis()
    }
}

/// An error that says what is wrong and what would work, each by itself.
///
/// Both stand in [`Diagnose::diagnosis`] alone; the error's message is put together from it.
pub trait Diagnose: Error {
    /// Returns the problem and the remedy.
    fn diagnosis(&self) -> Diagnosis;
}

impl<E: Diagnose + ?Sized> Diagnose for &E {
    fn diagnosis(&self) -> Diagnosis {
        (*self).diagnosis()
    }
}
