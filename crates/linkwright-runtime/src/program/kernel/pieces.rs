//! How the data of a kernel is cut.

use crate::units::Bytes;

/// Divides a kernel's data into pieces, which follow one another through its blocks.
///
/// Data is shards, a shard is `chunks` chunks, and every piece has its part of each chunk. Chunks
/// are equally long. Where a shard does not divide, the last chunk is filled up, as the buffers of
/// NCCL are. So ranks take the same time if they differ only in which chunks they have. Some pieces
/// are a byte of each chunk longer than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// Counts the bytes of one chunk in all pieces.
    chunk: Bytes,
    count: u64,
}

impl Pieces {
    /// Divides a shard of that many bytes and chunks into `count` pieces; at least one of each.
    #[must_use]
    pub fn new(shard: Bytes, chunks: u32, count: u64) -> Self {
        let chunk = Bytes(shard.0.div_ceil(u64::from(chunks.max(1))));
        Self { chunk, count: count.max(1) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Counts the bytes of a run of `chunks` chunks in one piece.
    #[must_use]
    pub fn bytes(&self, piece: u64, chunks: u32) -> Bytes {
        let (chunk, pieces) = (self.chunk.0, self.count);
        let length = part(piece + 1, pieces, chunk) - part(piece, pieces, chunk);
        Bytes(length.saturating_mul(u64::from(chunks)))
    }
}

/// Returns `parts` parts of a whole that is divided into `of` parts, rounded down.
fn part(parts: u64, of: u64, whole: u64) -> u64 {
    match whole.checked_mul(parts) {
        Some(product) => product / of,
        None => (u128::from(whole) * u128::from(parts) / u128::from(of)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The pieces of all chunks together are the shard with its last chunk filled up. They
        /// differ by a byte.
        #[test]
        fn nothing_is_lost_between_pieces(
            shard in prop_oneof![0_u64..10_000, 0..=u64::MAX >> 1], chunks in 1_u32..40, count in 1_u64..40,
        ) {
            let pieces = Pieces::new(Bytes(shard), chunks, count);
            let whole: u128 = (0..count).map(|piece| u128::from(pieces.bytes(piece, chunks).0)).sum();
            let filled = u128::from(shard).next_multiple_of(u128::from(chunks));
            prop_assert_eq!(whole, filled);
            let one = (0..count).map(|piece| pieces.bytes(piece, 1).0);
            prop_assert!(one.clone().max().unwrap() - one.min().unwrap() <= 1);
        }
    }
}
