//! Reads a log of nccl-tests line by line, so that its length bounds nothing.

use super::log::NcclTestsLog;
use super::read::Reader;
use super::table::Heading;
use crate::diagnostic::InputError;
use crate::diagnostic::prefix::label;

/// Comments before a table are kept up to this number of bytes, until its heading says who prints it.
const MOST_PENDING: usize = 4 << 20;

/// A reader of one log of nccl-tests that takes one line at a time.
///
/// A launcher may number lines, so that no two prefixes are equal. Whether it does shows at the end: until then the
/// log is read in both ways.
#[derive(Default)]
pub struct LogReader {
    /// The heading of the table shows who prints the comments before it.
    pending: Vec<(usize, String)>,
    pending_bytes: usize,
    /// Reads with numbers that tell ranks apart.
    told: Reader,
    /// Reads with numbers that are those of lines.
    numbered: Option<Reader>,
}

impl LogReader {
    /// Takes a line without colours ([`super::plain`]); `number` is its own in the file.
    pub fn line(&mut self, number: usize, text: &str) {
        if self.told.printer.is_none() {
            if let Some(heading) = Heading::of(text) {
                self.begin(heading.label);
            } else if text.contains('#') && self.pending_bytes + text.len() <= MOST_PENDING {
                self.pending_bytes += text.len();
                self.pending.push((number, text.to_owned()));
                return;
            }
        }
        self.both(number, text);
    }

    /// Takes a line of NCCL's own, which no table has.
    pub fn debug_line(&mut self, number: usize, text: &str) {
        for reader in [Some(&mut self.told), self.numbered.as_mut()].into_iter().flatten() {
            reader.log.stated.line(number, text);
            reader.last = reader.last.max(number);
        }
    }

    /// Whether the heading of a table was read.
    #[must_use]
    pub fn has_table(&self) -> bool {
        self.told.printer.is_some()
    }

    /// Whether a line tells of a failure.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.told.failure.is_some()
    }

    /// Tells whether the run printed its average.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.told.ended || self.numbered.as_ref().is_some_and(|it| it.ended)
    }

    fn begin(&mut self, printer: String) {
        self.told.printer = Some(printer);
        let mut numbered = self.told.clone();
        numbered.are_numbered = true;
        self.numbered = Some(numbered);
        for (number, text) in std::mem::take(&mut self.pending) {
            self.both(number, &text);
        }
    }

    fn both(&mut self, number: usize, text: &str) {
        self.told.line(number, text);
        if let Some(numbered) = &mut self.numbered {
            numbered.line(number, text);
        }
    }

    /// Gives the log; `file` names it in errors.
    ///
    /// # Errors
    /// Fails as [`super::read`] does.
    pub fn finish(mut self, file: &str) -> Result<NcclTestsLog, InputError> {
        for (number, text) in std::mem::take(&mut self.pending) {
            self.both(number, &text);
        }
        let is_empty = self.told.log.rows.is_empty() && self.told.empty.is_empty();
        match self.numbered {
            Some(numbered) if is_empty && !numbered.log.rows.is_empty() => numbered.finish(file),
            _ => self.told.finish(file),
        }
    }
}

/// Who printed a comment or a heading of nccl-tests: the prefix of its line without times and blanks. None where the
/// line is neither.
#[must_use]
pub fn printer_of(text: &str) -> Option<String> {
    let heading = || Heading::of(text).map(|it| it.label);
    text.split_once('#').and_then(|(before, _)| label(before)).or_else(heading)
}
