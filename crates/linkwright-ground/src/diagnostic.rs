//! Where an input is wrong and what would work.
//!
//! Every parser of the crate reports through [`InputError`]. So a person always reads the same five
//! things: file, line and column, the problem, the value, the remedy.

mod diagnosis;
pub mod fields;
mod named;
mod plain;
pub mod prefix;
mod registry;
mod toml;

use std::fmt;

use thiserror::Error;

pub use self::diagnosis::{Diagnose, Diagnosis};
pub use self::toml::{DEEPEST_TOML, MOST_TOML_VALUES, from_toml, from_toml_seed, toml_table};
pub use named::{Named, UnknownName};
pub use plain::in_plain_words;
pub use registry::{Chosen, Finder, Registered, Registry};

/// A place in a text: line and column count from one, columns in characters. In a file that is
/// no text, the line is one and the columns count bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Numbers the line, from one.
    pub line: usize,
    /// Counts the column in characters, from one.
    pub column: usize,
}

impl Position {
    /// Returns the position of a byte offset in a text. Offsets past the end mean the end.
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

    /// The position of a byte of a file that is no text: one line, whose columns are its bytes.
    #[must_use]
    pub fn of_byte(offset: usize) -> Self {
        Self { line: 1, column: offset.saturating_add(1) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The most characters of a user's value that an error shows.
const MOST_OF_VALUE: usize = 60;

/// Of how many letters a beginning must be to mean the whole name.
const LEAST_OF_PREFIX: usize = 4;
/// Limits the characters of a problem or a remedy. Either may name the value that it found.
const MOST_OF_SENTENCE: usize = 400;

/// A value as errors show it: its first line, at most 60 characters, and whatever a terminal
/// would obey or hide written as an escape.
#[must_use]
pub fn shown(value: &str) -> String {
    let first = value.lines().next().unwrap_or_default();
    let mut shown = visible(first, MOST_OF_VALUE);
    if first.len() < value.trim_end().len() && !shown.ends_with('…') {
        shown.push('…');
    }
    shown
}

/// The first characters of a text, with escapes for what a terminal would obey or hide.
fn visible(text: &str, most: usize) -> String {
    let mut visible = String::new();
    for (index, character) in text.chars().enumerate() {
        if index == most {
            visible.push('…');
            break;
        }
        // Marks of direction and of no width turn a line around, or into another.
        let hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if hidden || character.is_control() {
            visible.extend(character.escape_default());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Returns the known name that was probably meant. This is the nearest, if at most two fifths of it
/// are wrong, as two swapped letters of five are. Else it is the only one that goes on where the
/// name ends, or that the name goes on from. So `ugal-l` goes on from `ugal`.
#[must_use]
pub fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // A name much longer than any known one is near none, and would take long to compare.
    let name: Vec<char> = name.chars().take(MOST_OF_VALUE).collect();
    let distances = known.iter().map(|candidate| (edit_distance(&name, candidate), *candidate));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    let letters = nearest.chars().count();
    // Of a name of one letter another letter leaves nothing.
    if distance < letters && distance * 5 <= letters.max(3) * 2 {
        return Some(nearest);
    }
    let name: String = name.iter().collect();
    let longer = |a: &str, b: &str| b.len() >= LEAST_OF_PREFIX && a.starts_with(b);
    let mut alike = known.iter().filter(|it| longer(&name, it) || longer(it, &name));
    alike.next().copied().filter(|_| alike.next().is_none())
}

/// Returns a remedy for a name that is none of the known ones: the one that was probably meant, and
/// all of them.
#[must_use]
pub fn instead_of(name: &str, known: &[&str]) -> String {
    let meant = closest(name, known).map_or(String::new(), |it| format!("did you mean `{it}`? "));
    format!("{meant}{}", one_of(known))
}

/// Tells the user to take one of these names.
#[must_use]
pub fn one_of(known: &[&str]) -> String {
    match known {
        [single] => format!("use {single}"),
        several => format!("use one of {}", several.join(", ")),
    }
}

/// Counts the letters to insert, remove or replace (Levenshtein's distance).
fn edit_distance(a: &[char], b: &str) -> usize {
    let mut row: Vec<usize> = (0..=a.len()).collect();
    for (line, letter) in b.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for column in 0..a.len() {
            let replaced = diagonal + usize::from(a[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[a.len()]
}

/// A value in its place behind a problem; where there is none, nothing.
fn behind_problem(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(": `{value}`") }
}

/// An input that cannot be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct InputError {
    /// Names the file as the user gave it, or is `<text>`.
    pub file: String,
    /// Where the offending value starts.
    pub position: Position,
    /// Describes the problem, without the value.
    pub problem: String,
    /// The offending value as [`shown`]; empty where something is missing.
    pub value: String,
    /// Tells the user's remedy.
    pub remedy: String,
}

impl Diagnose for InputError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { file, position, problem, value, remedy } = self;
        // A problem that ends with the value's name has said it.
        let said = problem.ends_with(&format!("`{}`", value.trim_matches('"')));
        let problem = format!("{problem}{}", behind_problem(if said { "" } else { value }));
        Diagnosis::of(problem).within(format_args!("{file}:{position}")).remedy(remedy)
    }
}

impl InputError {
    /// Makes an error at a known line and column.
    #[must_use]
    pub fn at(
        file: &str,
        position: Position,
        problem: impl Into<String>,
        value: &str,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: file.to_owned(),
            position,
            problem: visible(&problem.into(), MOST_OF_SENTENCE),
            value: shown(value),
            remedy: visible(&remedy.into(), MOST_OF_SENTENCE),
        }
    }

    /// An error of the TOML reader, with the value that its span covers.
    #[must_use]
    pub fn from_toml(file: &str, text: &str, error: &::toml::de::Error) -> Self {
        let span = error.span().unwrap_or(text.len()..text.len());
        let value = text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(text, span.start);
        let Diagnosis { problem, remedy } = in_plain_words(error.message());
        // The value stands behind the problem, which need not name it, too.
        let named = format!(" `{}`", value.trim_matches('"'));
        let problem = problem.strip_suffix(&named).unwrap_or(&problem);
        let remedy = remedy.unwrap_or_else(|| "see the file format in the reference".to_owned());
        Self::at(file, position, problem, value, remedy)
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
        let error =
            InputError::at("a.toml", position, "there is no file `b`", "\"b\"", "write one");
        assert_eq!(error.to_string(), "a.toml:3:7: there is no file `b`; write one");
    }

    #[test]
    fn values_are_short_and_obeyed_by_no_terminal() {
        assert_eq!(shown("a\u{1b}[2J\tb\u{202e}"), "a\\u{1b}[2J\\tb\\u{202e}");
        assert_eq!(shown(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(shown(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(shown("x\ny"), "x…");
        assert_eq!(shown("x\n"), "x");
        let position = Position { line: 1, column: 1 };
        let endless = "n\u{7}".repeat(10_000);
        let error = InputError::at("a.csv", position, endless.as_str(), &endless, endless.as_str());
        let message = error.to_string();
        assert!(message.len() < 5_000 && !message.contains('\u{7}'), "{message}");
    }

    #[test]
    fn the_name_that_was_meant_is_found() {
        let known = ["bandwidth_model", "bandwidth_profile", "policies"];
        assert_eq!(closest("bandwith_model", &known), Some("bandwidth_model"));
        assert_eq!(closest("policy", &known), Some("policies"));
        assert_eq!(closest("conut", &["seed", "count"]), Some("count"));
        assert_eq!(closest("band", &known), None);
        assert_eq!(closest("poli", &known), Some("policies"));
        assert_eq!(closest("pol", &known), None);
        assert_eq!(closest("ugal-l", &["static", "ugal"]), Some("ugal"));
        assert_eq!(closest("", &known), None);
        assert_eq!(closest("d", &["a", "b"]), None);
        assert_eq!(closest("sw2", &["sw1"]), Some("sw1"));
        assert_eq!(closest("x", &[]), None);
        let word: Vec<char> = "kitten".chars().collect();
        assert_eq!(edit_distance(&word, "sitting"), 3);
    }

    #[test]
    fn a_wrong_name_is_told_the_right_ones() {
        let known = ["static", "adaptive"];
        let meant = "did you mean `adaptive`? use one of static, adaptive";
        assert_eq!(instead_of("adaptve", &known), meant);
        assert_eq!(instead_of("x", &known), "use one of static, adaptive");
    }

    #[test]
    fn an_error_about_nothing_quotes_nothing() {
        let position = Position { line: 2, column: 1 };
        let error = InputError::at("a.csv", position, "the file ends here", "", "add a row");
        assert_eq!(error.to_string(), "a.csv:2:1: the file ends here; add a row");
    }
}
