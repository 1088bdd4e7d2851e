//! How many elements each shard has, and which of them belong to a chunk.

use std::ops::Range;

use super::ExecuteError;
use crate::collectives::schedule::Buffer;
use crate::collectives::schedule::collective::Collective;

/// Holds the lengths of all shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lengths {
    collective: Collective,
    /// Gives the length of each rank's shards. Ranks differ for gather and all-gather only.
    shards: Vec<usize>,
}

impl Lengths {
    /// Takes the lengths from the ranks' inputs.
    ///
    /// # Errors
    /// A root that is no rank, and inputs that do not fit the collective or each other.
    pub(super) fn new(collective: Collective, inputs: &[usize]) -> Result<Self, ExecuteError> {
        let ranks = inputs.len();
        if let Some(root) = collective.root().filter(|root| *root >= ranks) {
            return Err(ExecuteError::Root { root, ranks });
        }
        let leader = match collective {
            Collective::Broadcast { root } | Collective::Scatter { root } => root,
            _ => 0,
        };
        let free = matches!(collective, Collective::Gather { .. } | Collective::AllGather);
        let model = inputs.get(leader).copied().unwrap_or(0);
        let mut shards = Vec::with_capacity(ranks);
        for (rank, &found) in inputs.iter().enumerate() {
            let count = collective.input_shards(ranks, rank);
            let expected = match count {
                0 => 0,
                _ if free => found,
                _ => model,
            };
            if found != expected {
                return Err(ExecuteError::InputLength { rank, found, expected });
            }
            if count > 1 && found % count != 0 {
                return Err(ExecuteError::Indivisible { rank, found, shards: count });
            }
            let shard = if free { found } else { model / collective.input_shards(ranks, leader) };
            shards.push(shard);
        }
        Ok(Self { collective, shards })
    }

    /// Returns the elements of one shard of a rank's input or output.
    pub(super) fn shard(&self, rank: usize, buffer: Buffer, shard: usize) -> usize {
        let gathered = matches!(self.collective, Collective::Gather { .. } | Collective::AllGather);
        self.shards[if gathered && buffer == Buffer::Output { shard } else { rank }]
    }

    /// Returns the elements of the longest shard.
    pub(super) fn longest(&self) -> usize {
        self.shards.iter().copied().max().unwrap_or(0)
    }

    /// Returns the elements of the shortest shard.
    pub(super) fn shortest(&self) -> usize {
        self.shards.iter().copied().min().unwrap_or(0)
    }

    /// Where each shard of a rank's input or output lies in the caller's vector.
    pub(super) fn ranges(&self, rank: usize, buffer: Buffer) -> Vec<Range<usize>> {
        let ranks = self.shards.len();
        let count = match buffer {
            Buffer::Input => self.collective.input_shards(ranks, rank),
            Buffer::Output => self.collective.output_shards(ranks, rank),
            Buffer::Scratch => 0,
        };
        let mut start = 0;
        let range = |shard| {
            let range = start..start + self.shard(rank, buffer, shard);
            start = range.end;
            range
        };
        (0..count).map(range).collect()
    }
}

/// Returns the elements of a chunk among those of its shard: from `chunk * length / chunks` on.
pub(super) fn chunk_range(length: usize, chunk: usize, chunks: usize) -> Range<usize> {
    let bound = |chunk: usize| (chunk as u128 * length as u128 / chunks as u128) as usize;
    bound(chunk)..bound(chunk + 1)
}
