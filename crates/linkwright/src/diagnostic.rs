//! Where an input is wrong and what would work.
//!
//! Every parser of the crate reports through [`InputError`], so that a person always
//! reads the same five things: file, line and column, the problem, the value, the remedy.

use std::fmt;

use thiserror::Error;

/// A place in a text: line and column count from one, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset in a text; offsets past the end mean the end.
    #[must_use]
    pub fn of_offset(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An input that cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{position}: {problem}: `{value}`; {remedy}")]
pub struct InputError {
    /// The file's name as the user gave it, or `<text>`.
    pub file: String,
    /// Where the offending value starts.
    pub position: Position,
    /// What is wrong, without the value.
    pub problem: String,
    /// The offending value, as written, shortened to 60 characters.
    pub value: String,
    /// What the user can do.
    pub remedy: String,
}

impl InputError {
    /// An error at a known line and column.
    #[must_use]
    pub fn at(
        file: &str,
        position: Position,
        problem: impl Into<String>,
        value: &str,
        remedy: impl Into<String>,
    ) -> Self {
        let one_line = value.lines().next().unwrap_or_default();
        let mut shown: String = one_line.chars().take(60).collect();
        if shown.len() < value.trim_end().len() {
            shown.push('…');
        }
        Self {
            file: file.to_owned(),
            position,
            problem: problem.into(),
            value: shown,
            remedy: remedy.into(),
        }
    }

    /// An error of the TOML reader, with the value that its span covers.
    #[must_use]
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(text.len()..text.len());
        let value = text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(text, span.start);
        Self::at(file, position, error.message(), value, "see the file format in the reference")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let text = "añb\ncd";
        assert_eq!(Position::of_offset(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of_offset(text, 3), Position { line: 1, column: 3 });
        assert_eq!(Position::of_offset(text, 6), Position { line: 2, column: 2 });
        assert_eq!(Position::of_offset(text, 99), Position { line: 2, column: 3 });
    }

    #[test]
    fn an_error_shows_five_things() {
        let position = Position { line: 3, column: 7 };
        let error = InputError::at("a.csv", position, "not a number", "x\ny", "write 3");
        assert_eq!(error.to_string(), "a.csv:3:7: not a number: `x…`; write 3");
    }
}
