//! Says how data come to the GPU that needs them: where a page lives, who may cache it, what moves.
//!
//! The mechanisms are those that the MGPU-TSM dissertation compares. A step of training and a kernel
//! inside GPUs choose among them, each by names of its own. Both take the terms of pages that move from
//! here, and the rates of links from the system.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::diagnostic::from_toml;
use crate::units::{Bytes, Picoseconds};

/// Holds the text of the table.
const TEXT: &str = include_str!("movement.toml");

static TABLE: LazyLock<Table> =
    LazyLock::new(|| from_toml("movement.toml", TEXT).expect("the compiled-in table is valid"));

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    pages: PageMoves,
    mechanism: Vec<Mechanism>,
}

/// Says whose memory pages lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Each stays in the memory of a GPU.
    Own,
    /// All are in one memory that the GPUs share.
    Shared,
    /// All are in the host's memory. It is as large as the memories of all GPUs together.
    Pinned,
    /// Each lies in the host's memory first, then in that of the GPU that touched it last.
    Migrating,
}

/// Says what a driver takes to move pages to the GPU that touches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageMoves {
    /// A fault asks for a page of this size.
    pub page: Bytes,
    /// A batch of faults takes this before its first page moves.
    pub service: Picoseconds,
    /// The pages of a batch have this size together at most.
    pub batch: Bytes,
}

impl PageMoves {
    /// Gives how many faults of pages of a size the driver takes in at once: one at least.
    #[must_use]
    pub fn faults(&self, page: Bytes) -> u64 {
        (self.batch.0 / page.0.max(1)).max(1)
    }

    /// Gives how long the driver serves the faults of pages of this size together, beside the moves themselves.
    #[must_use]
    pub fn service_of(&self, size: Bytes) -> Picoseconds {
        Picoseconds(self.service.0.saturating_mul(size.0.div_ceil(self.batch.0)))
    }
}

/// Describes a mechanism.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// Names the mechanism.
    pub name: String,
    /// Says where its pages lie.
    pub pages: Pages,
    /// Says the same in words.
    pub lives: String,
    /// These caches may hold its lines.
    pub caches: String,
    /// Says which data moves.
    pub moves: String,
    /// Lists its names in steps of training ([`Way`](../../linkwright/training/enum.Way.html)).
    pub training: Vec<String>,
    /// Lists its names in runs of kernels, which are memory systems.
    pub kernels: Vec<String>,
    /// Its description follows this.
    pub source: String,
}

/// Gives what a driver takes to move pages.
#[must_use]
pub fn page_moves() -> &'static PageMoves {
    &TABLE.pages
}

/// Lists the mechanisms.
#[must_use]
pub fn mechanisms() -> &'static [Mechanism] {
    &TABLE.mechanism
}

/// Gives the size of a page where a GPU's file says none.
pub(super) fn usual_page() -> Bytes {
    page_moves().page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_by_batches() {
        let moves = page_moves();
        assert_eq!(moves.faults(moves.page), 64);
        assert_eq!(moves.faults(Bytes(1 << 30)), 1);
        let of = |kibibytes: u64| moves.service_of(Bytes(kibibytes << 10)).0 / moves.service.0;
        assert_eq!([0, 1, 256, 257, 1024].map(of), [0, 1, 1, 2, 4]);
    }

    #[test]
    fn names_are_told_once() {
        let of: [fn(&'static Mechanism) -> &'static Vec<String>; 2] =
            [|it| &it.training, |it| &it.kernels];
        for names in of {
            let mut all: Vec<&String> = mechanisms().iter().flat_map(names).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
