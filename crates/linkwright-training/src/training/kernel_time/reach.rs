//! Says what each kind of kernel reaches of a GPU.

use serde::{Deserialize, Deserializer};

use crate::training::terms::values::{Amount, Microseconds, Share};

/// Says what products of matrices reach.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProductTerms {
    /// The part of its peak that a multiprocessor reaches.
    #[serde(deserialize_with = "share")]
    pub share: f64,
    /// Counts the bytes a cycle that a multiprocessor loads.
    #[serde(deserialize_with = "amount")]
    pub loaded: f64,
    /// Cycles of a block's first loads and last stores.
    #[serde(deserialize_with = "amount")]
    pub start: f64,
    /// Seconds of a kernel that does nothing.
    #[serde(deserialize_with = "seconds")]
    pub least: f64,
    /// The part of its peak that the memory reaches.
    #[serde(deserialize_with = "share")]
    pub memory: f64,
    /// Up to each first number of rows, a tile has the second; tiles are of any rows where this is empty.
    #[serde(default)]
    pub rows: Vec<[u64; 2]>,
    /// Counts the cycles that a multiprocessor takes to make narrow numbers of a row.
    #[serde(deserialize_with = "amount", default)]
    pub cast_row: f64,
    /// Says what the host of an inference engine takes, where that is long.
    #[serde(default)]
    pub host: Option<HostTerms>,
}

/// Says what an inference engine's host takes to call a product, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostTerms {
    /// Is the time of products of up to 17 rows.
    #[serde(deserialize_with = "seconds")]
    pub few: f64,
    /// Is the time of products of more rows.
    #[serde(deserialize_with = "seconds")]
    pub even: f64,
    /// Is the time of shapes that are no multiple of a block of scales.
    #[serde(deserialize_with = "seconds")]
    pub odd: f64,
}

impl ProductTerms {
    /// Gives the rows of a tile where they follow from those of the product.
    pub(super) fn tile_rows(&self, rows: u64) -> Option<u64> {
        let found = self.rows.iter().find(|[most, _]| rows <= *most).or(self.rows.last());
        found.map(|[_, tile]| *tile)
    }
}

/// Says what attention within sequences reaches.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AttentionTerms {
    /// Says which part of its peak a multiprocessor's products reach.
    #[serde(deserialize_with = "share")]
    pub share: f64,
    /// Counts the exponentials a cycle of a multiprocessor.
    #[serde(deserialize_with = "amount")]
    pub exponentials: f64,
    /// Counts the queries of a block.
    #[serde(deserialize_with = "amount")]
    pub queries: f64,
    /// Counts the cycles of a block's start.
    #[serde(deserialize_with = "amount")]
    pub start: f64,
    /// How much of the longest block runs alone at the end.
    #[serde(deserialize_with = "amount")]
    pub last: f64,
    /// The part of its peak that the memory reaches.
    #[serde(deserialize_with = "share")]
    pub memory: f64,
    /// Seconds of a kernel that does nothing.
    #[serde(deserialize_with = "seconds")]
    pub least: f64,
    /// Times of a tile whose keys have eight bits.
    #[serde(deserialize_with = "amount", default = "once")]
    pub narrow: f64,
    /// Gives the seconds of casts to eight bits.
    #[serde(deserialize_with = "seconds", default)]
    pub cast: f64,
    /// Counts the bytes that casts move for each number of a query.
    #[serde(deserialize_with = "amount", default)]
    pub cast_bytes: f64,
}

/// Says what attention of new tokens reaches.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DecodingTerms {
    /// The part of its peak that the memory reaches.
    #[serde(deserialize_with = "share")]
    pub memory: f64,
    /// Counts the bytes a cycle that a multiprocessor loads.
    #[serde(deserialize_with = "amount")]
    pub loaded: f64,
    /// Counts the cycles of a block's start.
    #[serde(deserialize_with = "amount")]
    pub start: f64,
    /// Keys that a block has at least.
    #[serde(deserialize_with = "amount")]
    pub part: f64,
    /// Queries that are the rows of a tile.
    #[serde(deserialize_with = "amount")]
    pub queries: f64,
    /// Gives the seconds of putting parts together.
    #[serde(deserialize_with = "seconds")]
    pub merge: f64,
    /// Seconds of a kernel that does nothing.
    #[serde(deserialize_with = "seconds")]
    pub least: f64,
    /// Gives the seconds of casts to eight bits.
    #[serde(deserialize_with = "seconds", default)]
    pub cast: f64,
}

/// Says what the products of experts reach.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpertsTerms {
    /// The part of its peak that a multiprocessor reaches.
    #[serde(deserialize_with = "share")]
    pub share: f64,
    /// Counts the bytes a cycle that a multiprocessor loads.
    #[serde(deserialize_with = "amount")]
    pub loaded: f64,
    /// Counts the cycles of a block's start.
    #[serde(deserialize_with = "amount")]
    pub start: f64,
    /// The part of its peak that the memory reaches with weights.
    #[serde(deserialize_with = "share")]
    pub memory: f64,
    /// The same with tokens that are put in order.
    #[serde(deserialize_with = "share")]
    pub ordered: f64,
    /// Seconds of all kernels that do nothing.
    #[serde(deserialize_with = "seconds")]
    pub least: f64,
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Share::deserialize(from).map(|share| share.0)
}

fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Amount::deserialize(from).map(|amount| amount.0)
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Microseconds::deserialize(from).map(|time| time.0.as_seconds())
}

const fn once() -> f64 {
    1.0
}
