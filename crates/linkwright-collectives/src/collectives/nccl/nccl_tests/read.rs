//! Reads nccl-tests' output.
//!
//! The log's own heading names the columns (`#  size  count  type  redop  root  time algbw  busbw
//! #wrong`, once for each way of using the buffers). So old and new releases read alike:
//! <https://github.com/NVIDIA/nccl-tests>, `src/common.cu`. A launcher's prefix of the heading
//! ([`crate::diagnostic::prefix`]) is taken off the lines of the rank that printed it. Lines of
//! other ranks count as far as they tell of a failure, or of the run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::ending::{Step, most_of, tells_failure};
use super::lines::LogReader;
use super::log::{LogNote, NcclTestsLog};
use super::table::{Heading, MOST_WORDS, TableLine};
use crate::diagnostic::prefix::{label, with_any_numbers};
use crate::diagnostic::{InputError, Position, shown};
use crate::system::LaunchProcesses;

/// The longest log that is read, in bytes.
pub const LONGEST: usize = 16 << 20;

/// How many notes are kept, and of how many warnings.
const MOST_NOTES: usize = 20;
const MOST_WARNINGS: usize = 8;

/// How many ranks and rows are kept. A run of nccl-tests has less than a hundred sizes.
const MOST_RANKS: usize = 1 << 16;
const MOST_ROWS: usize = 1 << 14;

/// Reads what nccl-tests printed; `file` names it in errors.
///
/// # Errors
/// Refuses a text that is too long, or has no row that can be read. Such a text is of another tool,
/// or of a run that failed before its first size.
pub fn read(file: &str, text: &str) -> Result<NcclTestsLog, InputError> {
    if text.len() > LONGEST {
        let problem = format!("a log of more than {} MiB", LONGEST >> 20);
        let remedy = "give the part with the table of sizes";
        return Err(InputError::at(file, Position { line: 1, column: 1 }, problem, "", remedy));
    }
    let mut reader = LogReader::default();
    for (line, text) in (1..).zip(text.lines()) {
        reader.line(line, &plain(text));
    }
    reader.finish(file)
}

/// Takes off what colours a line on a terminal.
#[must_use]
pub fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    Cow::Owned(parts.fold(first, |plain, part| {
        let end = part.find(|it: char| it.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
        plain + &part[end..]
    }))
}

/// Holds the part of a log that was read so far.
#[derive(Clone, Default)]
pub(super) struct Reader {
    pub(super) log: NcclTestsLog,
    /// Who printed the first table; None where there is none.
    pub(super) printer: Option<String>,
    /// Whether each line has a number of its own, so that numbers tell no ranks apart.
    pub(super) are_numbered: bool,
    pub(super) heading: Option<Heading>,
    /// Names the host and the process of each rank.
    pub(super) ranks: Vec<(String, String)>,
    pub(super) sizes: BTreeSet<u64>,
    /// Lists the lines of rows of size zero.
    pub(super) empty: Vec<usize>,
    /// Whether the last row is none.
    pub(super) broken: bool,
    /// The first line that tells of a failure.
    pub(super) failure: Option<(usize, String)>,
    /// Holds each warning, with its first line and how often it came.
    pub(super) warnings: BTreeMap<String, (usize, usize)>,
    /// Numbers the first line of another rank's table.
    pub(super) other_table: Option<usize>,
    /// The largest size that the run goes up to, and its steps.
    pub(super) most: Option<(u64, Step)>,
    pub(super) ended: bool,
    /// The first row that is not kept, as the table is too long.
    pub(super) more_rows: Option<usize>,
    pub(super) last: usize,
}

impl Reader {
    fn note(&mut self, line: usize, text: impl Into<String>) {
        if self.log.notes.len() < MOST_NOTES {
            self.log.notes.push(LogNote { line, text: text.into() });
        }
    }

    /// Whether a label is that of the rank that prints the table.
    fn is_own(&self, label: &str) -> bool {
        self.printer.as_deref().is_some_and(|own| {
            own == label || self.are_numbered && with_any_numbers(own) == with_any_numbers(label)
        })
    }

    pub(super) fn line(&mut self, line: usize, text: &str) {
        self.last = self.last.max(line);
        if text.trim_start().is_empty() {
            return;
        }
        if let Some(heading) = Heading::of(text) {
            if self.is_own(&heading.label) {
                self.heading = Some(heading);
            } else {
                self.other_table.get_or_insert(line);
            }
            return;
        }
        let of_table = self.heading.as_ref();
        if let Some(found) = of_table.and_then(|it| it.line(line, text, |label| self.is_own(label)))
        {
            self.table_line(line, text, found);
            return;
        }
        if let Some((before, comment)) = text.split_once('#')
            && label(before).is_some_and(|label| self.is_own(&label))
        {
            self.comment(line, comment.trim_start_matches('#'));
            return;
        }
        self.log.stated.line(line, text);
        if let Some((_, warning)) = text.split_once("NCCL WARN") {
            self.warning(line, warning.trim());
        }
        if tells_failure(text) {
            self.failure.get_or_insert_with(|| (line, text.trim().to_owned()));
        } else if let Some((_, version)) = text.split_once("CCL version") {
            let version = version.trim_start_matches([' ', ':']).split_whitespace().next();
            let is_number = |it: &&str| it.starts_with(|first: char| first.is_ascii_digit());
            if let Some(version) = version.filter(is_number) {
                self.version(line, version.to_owned());
            }
        }
    }

    /// Keeps the version of the last line that names one.
    fn version(&mut self, line: usize, version: String) {
        if line >= self.log.version_line {
            self.log.version = Some(version);
            self.log.version_line = line;
        }
    }

    fn warning(&mut self, line: usize, text: &str) {
        if let Some((_, count)) = self.warnings.get_mut(text) {
            *count += 1;
        } else if self.warnings.len() < MOST_WARNINGS {
            self.warnings.insert(text.to_owned(), (line, 1));
        }
    }

    fn comment(&mut self, line: usize, text: &str) {
        let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
        match words[..] {
            ["Rank", ref rest @ ..] => self.rank(line, rest, text),
            ["Collective", "test", "starting:", test, ..] => {
                self.log.test = Some(test.to_owned());
                self.log.test_line = line;
            }
            ["nccl-tests", "version", ..] => {
                let library = words.iter().find_map(|word| word.strip_prefix("nccl-library="));
                if let Some(version) = library.and_then(of_code) {
                    self.version(line, version);
                }
            }
            ["nThread", ..] => {
                self.log.stated.windows_in(line, text);
                self.ended = false;
                self.most = most_of(&words);
            }
            ["Avg", "bus", "bandwidth", ..] => self.ended = true,
            ["Out", "of", "bounds", "values", ":", count, ..] if count != "0" => {
                let text = format!("{} values out of bounds", shown(count));
                self.failure.get_or_insert((line, text));
            }
            _ => {}
        }
    }

    /// Reads `0 Group 0 Pid 1887 on worker-1 device 0 [0x8d] NVIDIA H100 80GB HBM3`.
    fn rank(&mut self, line: usize, rest: &[&str], text: &str) {
        let after =
            |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1));
        let (host, process) = (after("on"), after("Pid"));
        if let (Some(host), Some((_, model))) = (host, text.split_once("] "))
            && self.ranks.len() < MOST_RANKS
        {
            self.log.gpus.push(model.trim().to_owned());
            self.log.gpus_line = line;
            let process = process.copied().unwrap_or_default();
            self.ranks.push(((*host).to_owned(), process.to_owned()));
        }
    }

    fn table_line(&mut self, line: usize, text: &str, found: TableLine) {
        self.broken = false;
        let row = match found {
            TableLine::Row(row) => row,
            TableLine::Empty => {
                self.empty.push(line);
                return;
            }
            TableLine::Broken => {
                self.broken = true;
                self.note(line, format!("no row of the table: {}", shown(text.trim())));
                return;
            }
        };
        if self.log.rows.len() >= MOST_ROWS {
            self.more_rows.get_or_insert(line);
            return;
        }
        if let Some(wrong) = row.wrong() {
            self.note(line, format!("{wrong} values of {} are wrong", row.size));
        }
        if !self.sizes.insert(row.size.0) {
            self.log.repeated.get_or_insert(line);
            self.note(line, format!("{} was measured before; both rows are kept", row.size));
        }
        self.log.rows.push(row);
    }

    /// Ranks of one host are of one process, or each is of its own.
    pub(super) fn processes(&self) -> Option<LaunchProcesses> {
        let distinct: BTreeSet<&(String, String)> = self.ranks.iter().collect();
        let named = self.ranks.iter().all(|(_, process)| !process.is_empty());
        match (distinct.len(), self.ranks.len()) {
            _ if !named => None,
            (all, ranks) if all == ranks && ranks > self.log.hosts() => Some(LaunchProcesses::Each),
            (all, ranks) if all < ranks && all == self.log.hosts() => Some(LaunchProcesses::One),
            _ => None,
        }
    }
}

/// `22907` is 2.29.7, and 2708 was 2.7.8.
fn of_code(code: &str) -> Option<String> {
    let code: u32 = code.parse().ok()?;
    let of = |major: u32| format!("{}.{}.{}", code / major, code % major / 100, code % 100);
    Some(if code >= 10_000 { of(10_000) } else { of(1_000) })
}

#[cfg(test)]
mod tests;
