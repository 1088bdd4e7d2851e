//! Holds a line of a file as proof.

use serde::{Deserialize, Serialize};

/// A proof keeps at most this many bytes of its line.
const LONGEST: usize = 400;

/// A line of a file, by which a person finds it again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Line {
    /// The file has this name.
    pub file: String,
    /// The line has this number, from one.
    pub number: u64,
    /// It reads so, without colours and without a launcher's prefix; cut where it is long.
    pub text: String,
}

impl Line {
    /// Keeps a line.
    #[must_use]
    pub fn new(file: &str, number: u64, text: &str) -> Self {
        let text = text.trim();
        let end = (0..=LONGEST.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        Self { file: file.to_owned(), number, text: text[..end.unwrap_or(0)].to_owned() }
    }
}
