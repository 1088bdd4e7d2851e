//! The table of a log: the columns that its heading names, and its rows.

use super::log::{Measured, Row};
use crate::collectives::nccl::baselines::{ElementType, ReduceOperation};
use crate::diagnostic::Named as _;
use crate::diagnostic::prefix::label;
use crate::units::Bytes;

/// More words than a heading or a row of any release has.
pub(super) const MOST_WORDS: usize = 64;

/// Holds the places of the columns of the log's table.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    /// Each measurement has a time and two bandwidths.
    measured: Vec<[usize; 3]>,
    wrong: Vec<Option<usize>>,
    /// Holds the columns of the type and of the operation.
    reduced: [Option<usize>; 2],
    count: usize,
}

/// Holds the heading of a table.
#[derive(Clone)]
pub(super) struct Heading {
    /// The rank that printed it has this label.
    pub label: String,
    /// It begins behind this number of words.
    pub words: usize,
    pub columns: Columns,
}

/// A line of the table is one of these.
pub(super) enum TableLine {
    Row(Row),
    /// A rank has less than one element, so that nothing moved.
    Empty,
    /// It begins as a row does, and is none.
    Broken,
}

impl Heading {
    /// The heading in a line; None where it has none.
    pub fn of(line: &str) -> Option<Self> {
        line.match_indices("size").take(2).find_map(|(at, _)| {
            let before = line[..at].trim_end().trim_end_matches('#');
            let is_word = line[..at].ends_with(|last: char| last.is_whitespace() || last == '#');
            if at > 0 && !is_word {
                return None;
            }
            let columns = Columns::of(&line[at..])?;
            let words = before.split_whitespace().count();
            Some(Self { label: label(before)?, words, columns })
        })
    }

    /// A line of the table, by whoever printed the heading; None where it is none.
    pub fn line(
        &self,
        number: usize,
        text: &str,
        is_own: impl Fn(&str) -> bool,
    ) -> Option<TableLine> {
        // Blanks within a prefix come and go with the digits of a time.
        let starts =
            words_with_places(text).take(self.words + 3).skip(self.words.saturating_sub(2));
        for (start, word) in starts {
            let glued = word.trim_end_matches(|last: char| last.is_ascii_digit()).len();
            let (prefix, row) = text.split_at(start + glued);
            if glued < word.len() && label(prefix).is_some_and(|label| is_own(&label)) {
                return self.columns.line(number, row);
            }
        }
        None
    }
}

impl Columns {
    /// The columns that a heading names; None where it is none.
    fn of(heading: &str) -> Option<Self> {
        let words: Vec<&str> = heading.split_whitespace().take(MOST_WORDS).collect();
        if !(words.contains(&"time") && words.contains(&"busbw")) {
            return None;
        }
        let at = |name: &'static str| {
            words.iter().enumerate().filter(move |(_, word)| **word == name).map(|(index, _)| index)
        };
        let wrong_after = |busbw: usize| {
            let next = words.get(busbw + 1).filter(|word| ["#wrong", "error"].contains(word));
            next.map(|_| busbw + 1)
        };
        let measured: Vec<[usize; 3]> = at("time")
            .zip(at("algbw"))
            .zip(at("busbw"))
            .map(|((time, algorithm), bus)| [time, algorithm, bus])
            .collect();
        let wrong = measured.iter().map(|[.., bus]| wrong_after(*bus)).collect();
        let reduced = ["type", "redop"].map(|name| at(name).next());
        (!measured.is_empty()).then_some(Self { measured, wrong, reduced, count: words.len() })
    }

    fn line(&self, number: usize, text: &str) -> Option<TableLine> {
        let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
        let whole = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let size = whole(0)?;
        // The size and the count of elements stand side by side, where the row is whole.
        let is_row = words.len() == self.count;
        if !is_row && whole(1).is_none() {
            return None;
        }
        if is_row && size == 0 {
            return Some(TableLine::Empty);
        }
        let row = is_row.then(|| self.row(number, Bytes(size), &words)).flatten();
        Some(row.map_or(TableLine::Broken, TableLine::Row))
    }

    fn row(&self, line: usize, size: Bytes, words: &[&str]) -> Option<Row> {
        let number = |at: usize| {
            let value: f64 = words[at].parse().ok()?;
            (value.is_finite() && value >= 0.0).then_some(value)
        };
        let measured = |which: usize| {
            let [time, algorithm, bus] = *self.measured.get(which)?;
            Some(Measured {
                time: number(time).filter(|time| *time > 0.0)? * 1e-6,
                algorithm_bandwidth: number(algorithm)?,
                bus_bandwidth: number(bus)?,
                wrong: self.wrong[which].and_then(number).map(|wrong| wrong as u64),
            })
        };
        let [numbers, operation] = self.reduced.map(|at| at.map(|at| words[at]));
        let numbers = numbers.and_then(|name| ElementType::from_name(name).ok());
        let operation = operation.and_then(|name| ReduceOperation::from_name(name).ok());
        let (out_of_place, in_place) = (measured(0)?, measured(1));
        Some(Row { line, size, numbers, operation, out_of_place, in_place })
    }
}

/// The words of a line, each with the byte at which it begins.
fn words_with_places(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start();
        let start = text.len() - rest.len();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        at = start + end;
        (end > 0).then(|| (start, &rest[..end]))
    })
}
