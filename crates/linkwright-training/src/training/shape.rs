//! The shape of what a layer reads or writes, of one sample.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most that a shape is long in any direction: twenty binary digits.
pub const MOST_EXTENT: u64 = 1 << 20;
/// The most elements of one sample's shape, so that sums over a network stay within 64 bits.
pub(super) const MOST_ELEMENTS: u64 = 1 << 40;

/// Gives the shape of one sample's tensor, without the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Numbers in a row.
    Vector {
        /// Counts the numbers.
        width: u64,
    },
    /// A sequence of vectors, one for each token; of a text's own token numbers the width is one.
    Tokens {
        /// Counts the tokens of the sequence.
        tokens: u64,
        /// Numbers of each token.
        width: u64,
    },
    /// Counts the channels of a picture.
    Image {
        /// Channels: three colours, or the features that a convolution finds.
        channels: u64,
        /// Points from top to bottom.
        height: u64,
        /// Points from left to right.
        width: u64,
    },
}

impl Shape {
    /// How many numbers it holds.
    #[must_use]
    pub const fn elements(self) -> u64 {
        match self {
            Self::Vector { width } => width,
            Self::Tokens { tokens, width } => tokens * width,
            Self::Image { channels, height, width } => channels * height * width,
        }
    }

    /// How many sets of numbers a layer treats alike, one after another: tokens, or one.
    #[must_use]
    pub const fn positions(self) -> u64 {
        match self {
            Self::Tokens { tokens, .. } => tokens,
            Self::Vector { .. } | Self::Image { .. } => 1,
        }
    }

    /// Whether nothing of it is zero or beyond what is possible.
    pub(super) fn is_possible(self) -> bool {
        let extents = match self {
            Self::Vector { width } => [width, 1, 1],
            Self::Tokens { tokens, width } => [tokens, width, 1],
            Self::Image { channels, height, width } => [channels, height, width],
        };
        extents.iter().all(|extent| (1..=MOST_EXTENT).contains(extent))
            && self.elements() <= MOST_ELEMENTS
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector { width } => write!(f, "{width}"),
            Self::Tokens { tokens, width } => write!(f, "{tokens} tokens x {width}"),
            Self::Image { channels, height, width } => write!(f, "{channels} x {height} x {width}"),
        }
    }
}
