//! Numbers and texts out of bytes, each read within bounds.

use std::borrow::Cow;

use crate::diagnostic::{InputError, Position};

/// Says how to mend a file that differs from the file its writer wrote.
const COPY_AGAIN: &str = "copy the archive again from where it was recorded, or record it again";

/// Holds one file of an archive.
#[derive(Clone, Copy)]
pub(super) struct File<'a> {
    /// Names it relative to the anchor file's folder.
    pub(super) name: &'a str,
    /// Holds its content.
    pub(super) bytes: &'a [u8],
}

impl File<'_> {
    /// The error that something is wrong at a byte, and that only a sound copy helps.
    pub(super) fn refuse(self, at: usize, problem: &str, value: &str) -> InputError {
        self.refuse_with(at, problem, value, COPY_AGAIN)
    }

    /// The error that something is wrong at a byte, with its own remedy.
    pub(super) fn refuse_with(
        self,
        at: usize,
        problem: &str,
        value: &str,
        remedy: &str,
    ) -> InputError {
        let problem = format!("{problem} (byte {at})");
        InputError::at(self.name, Position::of_byte(at), problem, value, remedy)
    }
}

/// A place in a file, with the end of what may be read from there.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) file: File<'a>,
    /// Gives the place of the next byte.
    pub(super) at: usize,
    /// One past the last byte that may be read; never past the file's end.
    pub(super) end: usize,
    /// Whether the most significant byte of a number comes first.
    pub(super) big_endian: bool,
}

impl<'a> Cursor<'a> {
    /// Whether every byte is read.
    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// Takes the next bytes, which hold `what`.
    pub(super) fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], InputError> {
        let left = self.end.saturating_sub(self.at);
        match usize::try_from(count).ok().filter(|count| *count <= left) {
            Some(count) => {
                let taken = &self.file.bytes[self.at..self.at + count];
                self.at += count;
                Ok(taken)
            }
            None => {
                let problem = format!("{what} needs more bytes than the {left} that are left");
                Err(self.file.refuse(self.at, &problem, &count.to_string()))
            }
        }
    }

    pub(super) fn byte(&mut self, what: &str) -> Result<u8, InputError> {
        Ok(self.take(1, what)?[0])
    }

    /// Reads a number of a fixed count of bytes, at most eight.
    pub(super) fn fixed(&mut self, size: u8, what: &str) -> Result<u64, InputError> {
        let bytes = self.take(u64::from(size), what)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(if self.big_endian {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        })
    }

    /// A compressed number: a byte that counts the bytes that follow, from none (zero) to
    /// `most`, or 255 for the largest number.
    fn compressed(&mut self, most: u8, what: &str) -> Result<u64, InputError> {
        let start = self.at;
        match self.byte(what)? {
            u8::MAX => Ok(u64::MAX >> (64 - 8 * u32::from(most))),
            size if size <= most => self.fixed(size, what),
            size => {
                let problem = format!("the size of {what} is more than {most} bytes");
                Err(self.file.refuse(start, &problem, &size.to_string()))
            }
        }
    }

    /// Reads a compressed number of at most 32 bits.
    pub(super) fn u32(&mut self, what: &str) -> Result<u32, InputError> {
        self.compressed(4, what).map(|number| number as u32)
    }

    /// Reads a compressed number of at most 64 bits.
    pub(super) fn u64(&mut self, what: &str) -> Result<u64, InputError> {
        self.compressed(8, what)
    }

    /// Reads a compressed signed number, written as its two's complement.
    pub(super) fn i64(&mut self, what: &str) -> Result<i64, InputError> {
        self.compressed(8, what).map(u64::cast_signed)
    }

    /// Reads a text up to its zero byte; bytes that are not UTF-8 are replaced.
    pub(super) fn text(&mut self, what: &str) -> Result<Cow<'a, str>, InputError> {
        let rest = &self.file.bytes[self.at.min(self.end)..self.end];
        let Some(length) = rest.iter().position(|byte| *byte == 0) else {
            let problem = format!("{what} has no end");
            return Err(self.file.refuse(self.at, &problem, &String::from_utf8_lossy(rest)));
        };
        self.at += length + 1;
        Ok(String::from_utf8_lossy(&rest[..length]))
    }
}
