//! Reads lines of bounded length from a stream.

use std::borrow::Cow;
use std::io::BufRead;

use super::Source;
use crate::diagnostic::InputError;

/// A line keeps at most this number of bytes.
pub(super) const LONGEST: usize = 1 << 16;

/// Holds a line of a file, without its end.
pub(super) struct NumberedLine<'a> {
    /// Counts from one.
    pub number: u64,
    pub text: &'a str,
}

/// Holds what was read when a file ended.
pub(super) struct Ended {
    pub count: u64,
    pub bytes: u64,
    /// The first line that was cut, and how many were.
    pub cut: Option<(u64, u64)>,
}

/// Reads the lines of a stream.
pub(super) struct Lines<R> {
    from: R,
    raw: Vec<u8>,
    text: String,
    count: u64,
    bytes: u64,
    cut: Option<(u64, u64)>,
    most: usize,
}

impl<R: BufRead> Lines<R> {
    pub fn new(from: R) -> Self {
        let (raw, text) = (Vec::new(), String::new());
        Self { from, raw, text, count: 0, bytes: 0, cut: None, most: LONGEST }
    }

    /// Lines of a text that is kept whole may be this long.
    pub fn up_to(&mut self, most: usize) {
        self.most = most;
    }

    /// Gives the next line; None at the end.
    pub fn next(&mut self, source: &Source<'_>) -> Result<Option<NumberedLine<'_>>, InputError> {
        self.raw.clear();
        let mut is_cut = false;
        let mut is_empty = true;
        loop {
            let part = self.from.fill_buf().map_err(|error| {
                let problem = format!("the file cannot be read: {error}");
                source.error(self.count + 1, &problem, "", "give a file that can be read")
            })?;
            if part.is_empty() {
                break;
            }
            is_empty = false;
            let end = part.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(part.len(), |at| at + 1);
            let line = &part[..end.unwrap_or(part.len())];
            let room = self.most.saturating_sub(self.raw.len());
            is_cut |= line.len() > room;
            self.raw.extend_from_slice(&line[..line.len().min(room)]);
            self.from.consume(taken);
            self.bytes += taken as u64;
            if end.is_some() {
                break;
            }
        }
        if is_empty {
            return Ok(None);
        }
        self.count += 1;
        if is_cut {
            let (_, count) = self.cut.get_or_insert((self.count, 0));
            *count += 1;
        }
        if self.raw.last() == Some(&b'\r') {
            self.raw.pop();
        }
        let text = match String::from_utf8_lossy(&self.raw) {
            Cow::Borrowed(text) => text,
            Cow::Owned(text) => {
                self.text = text;
                &self.text
            }
        };
        Ok(Some(NumberedLine { number: self.count, text }))
    }

    pub fn ended(&self) -> Ended {
        Ended { count: self.count, bytes: self.bytes, cut: self.cut }
    }
}
