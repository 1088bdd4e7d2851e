//! The texts of a scenario: its file, and settings that were given beside it.
//!
//! One range of offsets runs over both, so that whatever was read knows where it stands, and an
//! error names the file or the setting.

use std::ops::Range;

use super::registries::Registries;
use crate::diagnostic::{Diagnosis, InputError, MOST_TOML_VALUES, Position};

/// Names the settings that were given beside a file in errors.
pub const SETTINGS_FILE: &str = "<settings>";

/// Where a text says something. It is no part of what is said: all places are equal.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Gives line and column.
    pub position: Position,
    /// Whether it is in the settings beside the file.
    in_settings: bool,
}

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

impl Place {
    /// An error here; `file` names the scenario's file.
    pub(super) fn refuse(
        self,
        file: &str,
        problem: &str,
        value: &str,
        remedy: impl Into<String>,
    ) -> InputError {
        let file = if self.in_settings { SETTINGS_FILE } else { file };
        InputError::at(file, self.position, problem, value, remedy)
    }

    /// An error of another layer; `remedy` is for one that knows none.
    pub(super) fn refuse_as(
        self,
        file: &str,
        error: impl Into<Diagnosis>,
        value: &str,
        remedy: &str,
    ) -> InputError {
        let told = error.into();
        self.refuse(file, &told.problem, value, told.remedy.as_deref().unwrap_or(remedy))
    }
}

/// Holds the texts, and says where their lines start.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    file: &'a str,
    text: &'a str,
    settings: &'a str,
    registries: &'a Registries,
    lines: Vec<usize>,
}

impl<'a> Texts<'a> {
    pub fn new(
        file: &'a str,
        text: &'a str,
        settings: &'a str,
        registries: &'a Registries,
    ) -> Self {
        // A text of more lines is refused before anything of it is placed.
        let ends = text.match_indices('\n').map(|(at, _)| at + 1).take(MOST_TOML_VALUES);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { file, text, settings, registries, lines }
    }

    pub fn source(&self) -> Source<'_> {
        let Self { file, text, settings, registries, lines } = self;
        Source { file, text, settings, registries, lines }
    }
}

/// Holds the texts of a scenario, which place their errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// Holds the settings beside the file. Their offsets count on from the text's end.
    pub settings: &'a str,
    /// Holds what names may mean.
    pub registries: &'a Registries,
    lines: &'a [usize],
}

impl<'a> Source<'a> {
    /// Returns the text at a span.
    pub fn written(self, span: &Range<usize>) -> &'a str {
        let length = self.text.len();
        let found = match span.start.checked_sub(length) {
            Some(start) if !self.settings.is_empty() => self.settings.get(start..span.end - length),
            _ => self.text.get(span.clone()),
        };
        found.unwrap_or_default()
    }

    /// Where a span starts.
    pub fn place(self, span: &Range<usize>) -> Place {
        let length = self.text.len();
        if span.start >= length && !self.settings.is_empty() {
            let position = Position::of_offset(self.settings, span.start - length);
            return Place { position, in_settings: true };
        }
        let mut offset = span.start.min(length);
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= offset);
        let before = &self.text[self.lines[line - 1]..offset];
        let position = Position { line, column: before.chars().count() + 1 };
        Place { position, in_settings: false }
    }

    /// An error at a span, which is the value.
    pub fn refuse(
        self,
        span: &Range<usize>,
        problem: &str,
        remedy: impl Into<String>,
    ) -> InputError {
        self.place(span).refuse(self.file, problem, self.written(span), remedy)
    }

    /// An error of a value that stands in no text.
    pub fn refuse_value(self, problem: &str, value: &str, remedy: String) -> InputError {
        let position = Position { line: 1, column: 1 };
        InputError::at(SETTINGS_FILE, position, problem, value, remedy)
    }

    /// An error of another layer at a span; `remedy` is for one that knows none.
    pub fn refuse_as(
        self,
        span: &Range<usize>,
        error: impl Into<Diagnosis>,
        remedy: &str,
    ) -> InputError {
        self.place(span).refuse_as(self.file, error, self.written(span), remedy)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_follow_the_text() {
        let registries = Registries::default();
        let texts = Texts::new("a.toml", "x = 1\ny = 2\n", "z = 3\nu = 4", &registries);
        let source = texts.source();
        let error = source.refuse(&(10..11), "no", "yes").to_string();
        assert_eq!(error, "a.toml:2:5: no: `2`; yes");
        let error = source.refuse(&(22..23), "no", "yes").to_string();
        assert_eq!(error, "<settings>:2:5: no: `4`; yes");
        assert_eq!(source.place(&(0..1)), source.place(&(22..23)));
    }

    proptest! {
        #[test]
        fn places_are_those_of_offsets(text in "[añ\n]{0,30}", offset in 0..40_usize) {
            let registries = Registries::default();
            let texts = Texts::new("a.toml", &text, "", &registries);
            let place = texts.source().place(&(offset..offset));
            prop_assert_eq!(place.position, Position::of_offset(&text, offset));
        }
    }
}
