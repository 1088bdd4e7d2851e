//! Why a kernel of one's own cannot be.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, instead_of, shown};
use crate::units::Bytes;

/// Why a kernel of one's own cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum RecordedError {
    /// A name that is none.
    Name {
        /// Gives the name.
        name: String,
    },
    /// A buffer whose name another has.
    Taken {
        /// Gives the name.
        name: String,
    },
    /// A buffer that there is not.
    NoBuffer {
        /// Gives the name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A number that is too small or too large.
    Range {
        /// Says which thing it is.
        what: &'static str,
        /// Gives the number.
        value: u64,
        /// The least that is possible.
        least: u64,
        /// Gives the most.
        most: u64,
    },
    /// Bytes that are no whole words.
    NoWord {
        /// Says which things they are.
        what: &'static str,
        /// Counts them.
        bytes: u64,
    },
    /// Words that are not as many as they should be.
    Count {
        /// How many are listed.
        listed: u64,
        /// How many there should be.
        wanted: u64,
    },
    /// Bytes that a buffer does not have.
    Outside {
        /// Names the buffer.
        buffer: String,
        /// How many bytes it has.
        size: Bytes,
        /// The first byte that is touched.
        offset: u64,
        /// How many are.
        bytes: u64,
    },
    /// No load before keeps words under a name.
    NoLoad {
        /// Says which name was asked for.
        name: String,
        /// Lists those that loads have.
        known: Vec<String>,
    },
    /// A name is expected before its last load, or twice.
    ExpectedAlready {
        /// Says which name it is.
        name: String,
    },
    /// A buffer that starts with words that nobody copies in.
    NotCopied {
        /// Gives its name.
        name: String,
    },
}

impl Diagnose for RecordedError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Name { name } => Diagnosis::of(format!("`{}` is not a valid name", shown(name)))
                .remedy("write a letter, then at most 63 letters, digits, `_`, `-` or `.`"),
            Self::Taken { name } => Diagnosis::of(format!("there is a buffer `{name}` already"))
                .remedy("use another name"),
            Self::NoBuffer { name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = match &known[..] {
                    [] => "add the buffer before the operations that use it".to_owned(),
                    known => instead_of(name, known),
                };
                Diagnosis::of(format!("there is no buffer `{}`", shown(name))).remedy(remedy)
            }
            Self::Range { what, value, least, most } => {
                Diagnosis::of(format!("{what}: {value} is not possible"))
                    .remedy(format!("use {least} to {most}"))
            }
            Self::NoWord { what, bytes } => {
                Diagnosis::of(format!("{what} is {bytes}, which is not a multiple of 4"))
                    .remedy("use whole words of 4 bytes")
            }
            Self::Count { listed, wanted } => {
                Diagnosis::of(format!("{listed} values are listed for {wanted} words"))
                    .remedy("list one value for each word, or give the first and a step")
            }
            Self::Outside { buffer, size, offset, bytes } => Diagnosis::of(format!(
                "{bytes} bytes from byte {offset} on do not fit in `{buffer}`, which has {}",
                size.0
            ))
            .remedy("use a smaller address or a larger buffer"),
            Self::NoLoad { name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let remedy = match &known[..] {
                    [] => "load words `as` this name first".to_owned(),
                    known => instead_of(name, known),
                };
                Diagnosis::of(format!("no earlier load keeps words as `{}`", shown(name)))
                    .remedy(remedy)
            }
            Self::ExpectedAlready { name } => {
                Diagnosis::of(format!("the words of `{}` are expected already", shown(name)))
                    .remedy("expect them once, after the last load")
            }
            Self::NotCopied { name } => {
                Diagnosis::of(format!("`{name}` has initial values, but no copy brings them in"))
                    .remedy("make it `in` or `inout`")
            }
        }
    }
}
