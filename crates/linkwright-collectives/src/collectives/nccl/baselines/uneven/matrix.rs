//! How many bytes each rank has for each other.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};
use crate::units::Bytes;

/// The most bytes that one rank has for another.
pub(super) const MOST_BYTES: u64 = 1 << 50;

/// A square of bytes: the row is the sender's, the column the receiver's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteMatrix {
    ranks: usize,
    bytes: Vec<u64>,
}

/// Says why rows are no matrix of a job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum MatrixError {
    /// There are not as many rows as ranks.
    Rows {
        /// Counts the rows.
        rows: usize,
        /// Counts the ranks.
        ranks: usize,
    },
    /// A row has not as many values as there are ranks.
    Row {
        /// Numbers the row, from 0.
        row: usize,
        /// Counts its values.
        values: usize,
        /// Counts the ranks.
        ranks: usize,
    },
    /// A rank has more for another than any has.
    TooMany {
        /// Numbers the row, from 0.
        row: usize,
        /// Numbers the column, from 0.
        column: usize,
        /// Is what was given.
        bytes: u64,
    },
}

impl Diagnose for MatrixError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Rows { rows, ranks } => {
                Diagnosis::of(format!("the matrix has {rows} rows, and the job has {ranks} GPUs"))
                    .remedy("give one row and one column for each GPU of the job")
            }
            Self::Row { row, values, ranks } => Diagnosis::of(format!(
                "row {row} of the matrix has {values} values, and the job has {ranks} GPUs"
            ))
            .remedy("give one row and one column for each GPU of the job"),
            Self::TooMany { row, column, bytes } => {
                Diagnosis::of(format!("row {row}, column {column} of the matrix is {bytes} bytes"))
                    .remedy("give at most 2^50 bytes")
            }
        }
    }
}

impl ByteMatrix {
    /// Makes the matrix of a job of `ranks` ranks.
    ///
    /// # Errors
    /// Rows that are not as many, or not as long, as there are ranks, and more bytes than 2^50.
    pub fn new(rows: &[Vec<u64>], ranks: usize) -> Result<Self, MatrixError> {
        if rows.len() != ranks {
            return Err(MatrixError::Rows { rows: rows.len(), ranks });
        }
        for (row, values) in rows.iter().enumerate() {
            if values.len() != ranks {
                return Err(MatrixError::Row { row, values: values.len(), ranks });
            }
            if let Some(column) = values.iter().position(|bytes| *bytes > MOST_BYTES) {
                return Err(MatrixError::TooMany { row, column, bytes: values[column] });
            }
        }
        Ok(Self { ranks, bytes: rows.concat() })
    }

    /// Counts the ranks.
    #[must_use]
    pub const fn ranks(&self) -> usize {
        self.ranks
    }

    /// Gives the bytes that one rank has for another.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn bytes(&self, from: usize, to: usize) -> Bytes {
        Bytes(self.bytes[from * self.ranks + to])
    }

    /// Gives the messages between ranks that have any bytes, by sender and then by receiver. Data
    /// that a rank keeps makes no message.
    pub fn messages(&self) -> impl Iterator<Item = ((usize, usize), Bytes)> {
        let pairs = (0..self.ranks).flat_map(|from| (0..self.ranks).map(move |to| (from, to)));
        let messages = pairs.filter(|(from, to)| from != to);
        messages.map(|(from, to)| ((from, to), self.bytes(from, to))).filter(|(_, it)| it.0 > 0)
    }

    /// Counts the bytes that ranks have for themselves.
    #[must_use]
    pub fn kept(&self) -> u128 {
        (0..self.ranks).map(|rank| u128::from(self.bytes(rank, rank).0)).sum()
    }
}
