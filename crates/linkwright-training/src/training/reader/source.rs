//! Tables of a text, whose keys are asked for one by one, so that each error has its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{InputError, Position, instead_of};

/// Holds a text and its name, for errors.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub(super) fn refuse(
        self,
        span: Range<usize>,
        problem: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> InputError {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(self.text, span.start);
        InputError::at(self.file, position, problem.to_string(), value, remedy.to_string())
    }
}

/// Numbers that go by a name: the arguments of a block.
pub(super) type Numbers = BTreeMap<String, u64>;

/// Holds a value in its place.
pub(super) type Value<'a> = &'a Spanned<DeValue<'a>>;

/// Holds a table in its place.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    source: Source<'a>,
    table: &'a DeTable<'a>,
    span: (usize, usize),
}

impl<'a> Keys<'a> {
    pub(super) fn new(source: Source<'a>, table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        Self { source, table, span: (span.start, span.end) }
    }

    /// The table that a value is.
    pub(super) fn of(source: Source<'a>, value: Value<'a>, what: &str) -> Result<Self, InputError> {
        match value.get_ref().as_table() {
            Some(table) => Ok(Self::new(source, table, value.span())),
            None => {
                let problem = format!("{what} is no table");
                Err(source.refuse(value.span(), problem, "write keys and values: { key = value }"))
            }
        }
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.0..self.span.1
    }

    pub(super) fn refuse(
        &self,
        span: Range<usize>,
        problem: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> InputError {
        self.source.refuse(span, problem, remedy)
    }

    pub(super) fn source(&self) -> Source<'a> {
        self.source
    }

    /// Refuses a key that is none of the known ones.
    pub(super) fn check(&self, what: &str, known: &[&str]) -> Result<(), InputError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let problem = format!("{what} has no key of this name");
                return Err(self.refuse(key.span(), problem, instead_of(name, known)));
            }
        }
        Ok(())
    }

    /// Returns every key with its value.
    pub(super) fn every(
        &self,
    ) -> impl Iterator<Item = (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)> {
        self.table.iter()
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.table.get(key)
    }

    /// The text that a key holds.
    pub(super) fn text(&self, key: &str) -> Result<Option<(&'a str, Range<usize>)>, InputError> {
        self.get(key).map(|value| self.text_of(value, key)).transpose()
    }

    pub(super) fn text_of(
        &self,
        value: Value<'a>,
        what: &str,
    ) -> Result<(&'a str, Range<usize>), InputError> {
        match value.get_ref().as_str() {
            Some(text) if !text.trim().is_empty() => Ok((text, value.span())),
            Some(_) => {
                Err(self.refuse(value.span(), format!("`{what}` is empty"), "write what it is"))
            }
            None => Err(self.refuse(
                value.span(),
                format!("`{what}` is no text"),
                "write it between quotation marks",
            )),
        }
    }

    /// The texts that a key holds: one, or a list.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<(&'a str, Range<usize>)>, InputError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.get_ref().as_array() {
                Some(list) => list.iter().map(|each| self.text_of(each, key)).collect(),
                None => Ok(vec![self.text_of(value, key)?]),
            },
        }
    }

    /// The list that a key holds.
    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Spanned<DeValue<'a>>]>, InputError> {
        self.get(key)
            .map(|value| match value.get_ref().as_array() {
                Some(list) => Ok(list.as_ref()),
                None => {
                    let remedy = "write values between [ and ]";
                    Err(self.refuse(value.span(), format!("`{key}` is no list"), remedy))
                }
            })
            .transpose()
    }

    /// Whether a key holds `true`.
    pub(super) fn flag(&self, key: &str, absent: bool) -> Result<bool, InputError> {
        self.get(key).map_or(Ok(absent), |value| {
            value.get_ref().as_bool().ok_or_else(|| {
                let problem = format!("`{key}` is neither true nor false");
                self.refuse(value.span(), problem, "write true or false")
            })
        })
    }

    /// The whole number that a key holds, from least to most.
    pub(super) fn number(
        &self,
        key: &str,
        numbers: &Numbers,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, InputError> {
        self.get(key).map(|value| self.number_of(value, key, numbers, (least, most))).transpose()
    }

    /// Reads one number for both ways, or two numbers: `kernel = 3` or `kernel = [1, 7]`.
    pub(super) fn both_ways(
        &self,
        key: &str,
        numbers: &Numbers,
        bounds: (u64, u64),
    ) -> Result<Option<[u64; 2]>, InputError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Some(list) = value.get_ref().as_array() else {
            let number = self.number_of(value, key, numbers, bounds)?;
            return Ok(Some([number; 2]));
        };
        match list.as_ref() {
            [height, width] => Ok(Some([
                self.number_of(height, key, numbers, bounds)?,
                self.number_of(width, key, numbers, bounds)?,
            ])),
            _ => Err(self.refuse(
                value.span(),
                format!("`{key}` has not two numbers"),
                "write one number, or height and width: [1, 7]",
            )),
        }
    }

    /// A whole number, or a product of numbers and names of them: `"4 * width"`.
    pub(super) fn number_of(
        &self,
        value: Value<'a>,
        what: &str,
        numbers: &Numbers,
        (least, most): (u64, u64),
    ) -> Result<u64, InputError> {
        let number = match value.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .and_then(|it| u64::try_from(it).ok()),
            DeValue::String(text) => Some(self.product(value, text, numbers)?),
            _ => {
                let problem = format!("`{what}` is no whole number");
                return Err(self.refuse(value.span(), problem, format!("write {least} to {most}")));
            }
        };
        number.filter(|it| (least..=most).contains(it)).ok_or_else(|| {
            let problem = format!("`{what}` is out of range");
            self.refuse(value.span(), problem, format!("write {least} to {most}"))
        })
    }

    fn product(&self, value: Value<'a>, text: &str, numbers: &Numbers) -> Result<u64, InputError> {
        text.split('*').map(str::trim).try_fold(1_u64, |product, factor| {
            let digits = factor.bytes().all(|byte| byte.is_ascii_digit());
            let number = match numbers.get(factor) {
                Some(number) => *number,
                None if digits && !factor.is_empty() => factor.parse().unwrap_or(u64::MAX),
                None => {
                    let known: Vec<&str> = numbers.keys().map(String::as_str).collect();
                    let problem = format!("`{factor}` is no number and no argument");
                    let remedy = if known.is_empty() {
                        "write a whole number; only blocks have arguments".to_owned()
                    } else {
                        instead_of(factor, &known)
                    };
                    return Err(self.refuse(value.span(), problem, remedy));
                }
            };
            Ok(product.saturating_mul(number))
        })
    }
}
