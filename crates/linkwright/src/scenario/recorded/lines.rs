//! Lines of a file of recorded jobs, which place their errors.

use super::format::Written;
use crate::diagnostic::fields::{Field, split};
use crate::diagnostic::{InputError, Position};

/// Stands between the fields of `sacct --parsable2`.
pub(super) const BAR: char = '|';

/// Knows a line of a file, and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub file: &'a str,
    pub number: usize,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) const fn position(self, column: usize) -> Position {
        Position { line: self.number, column }
    }

    /// Gives the whole line, in its place.
    pub(super) fn written(self) -> Written<'a> {
        Written { position: self.position(1), value: self.text.into() }
    }

    /// Gives a field of it, in its place.
    pub(super) fn written_in(self, field: &Field<'a>) -> Written<'a> {
        Written { position: self.position(field.column), value: field.value.clone() }
    }

    pub(super) fn refuse(
        self,
        field: &Field<'_>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        InputError::at(self.file, self.position(field.column), problem, &field.value, remedy)
    }

    pub(super) fn refuse_all(self, problem: &str, remedy: impl Into<String>) -> InputError {
        InputError::at(self.file, self.position(1), problem, self.text, remedy)
    }

    /// Whether it is a header that has all of these columns, in any case.
    pub(super) fn has_columns(self, names: &[&str]) -> bool {
        self.fields_between_commas().is_ok_and(|fields| {
            names.iter().all(|name| fields.iter().any(|it| it.value.eq_ignore_ascii_case(name)))
        })
    }

    /// Gives its fields: those of `sacct` stand between bars, without quotes, all others between commas.
    pub(super) fn fields(self) -> Result<Vec<Field<'a>>, InputError> {
        if !self.text.contains(BAR) {
            return self.fields_between_commas();
        }
        let mut column = 1;
        let each = self.text.split(BAR).map(|part| {
            let blank = part.chars().take_while(|it| it.is_whitespace()).count();
            let field = Field { value: part.trim().into(), column: column + blank };
            column += part.chars().count() + 1;
            field
        });
        Ok(each.collect())
    }

    /// Gives its fields between commas; a bar is a letter as any other.
    pub(super) fn fields_between_commas(self) -> Result<Vec<Field<'a>>, InputError> {
        split(self.text).map_err(|error| {
            let (at, value) = (self.position(error.column), error.value);
            InputError::at(self.file, at, error.problem, value, error.remedy)
        })
    }
}

/// Gives the lines that say something.
pub(super) fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> + Clone {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .zip(1..)
        .map(move |(text, number)| Line { file, number, text })
        .filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'))
}
