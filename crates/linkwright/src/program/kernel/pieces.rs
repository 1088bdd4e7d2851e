//! How the data of a kernel is cut.

use crate::units::Bytes;

/// The pieces of a kernel's data, which follow one another through its blocks.
///
/// Data is shards, a shard is `chunks` chunks, and every piece has its part of each chunk. Parts
/// differ by a byte where they do not divide, and are together the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    shard: Bytes,
    count: u64,
    chunks: u32,
}

impl Pieces {
    /// A shard of that many bytes and chunks in `count` pieces; at least one of each.
    #[must_use]
    pub fn new(shard: Bytes, chunks: u32, count: u64) -> Self {
        Self { shard, count: count.max(1), chunks: chunks.max(1) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The bytes of a run of chunks in one piece.
    #[must_use]
    pub fn bytes(&self, piece: u64, start: u32, count: u32) -> Bytes {
        let (shard, pieces, chunks) = (self.shard.0, self.count, u64::from(self.chunks));
        let length = part(piece + 1, pieces, shard) - part(piece, pieces, shard);
        // A run that goes on into the next shard has that shard's chunks, which are alike.
        let (start, end) = (u64::from(start), u64::from(start) + u64::from(count));
        Bytes(part(end, chunks, length) - part(start, chunks, length))
    }
}

/// So many parts of a whole, rounded down.
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
        /// Pieces of all chunks are together the shard, and differ by a byte for each cut.
        #[test]
        fn nothing_is_lost_between_pieces(
            shard in prop_oneof![0_u64..10_000, 0..=u64::MAX >> 1], chunks in 1_u32..40, count in 1_u64..40,
        ) {
            let pieces = Pieces::new(Bytes(shard), chunks, count);
            let runs = (0..count).flat_map(|piece| (0..chunks).map(move |chunk| (piece, chunk)));
            let bytes: Vec<u64> = runs.map(|(piece, chunk)| pieces.bytes(piece, chunk, 1).0).collect();
            prop_assert_eq!(bytes.iter().map(|bytes| u128::from(*bytes)).sum::<u128>(), u128::from(shard));
            let spread = bytes.iter().max().unwrap() - bytes.iter().min().unwrap();
            prop_assert!(spread <= 2, "{spread}");
            // A run that goes round has the whole.
            prop_assert_eq!(pieces.bytes(0, 1, chunks), pieces.bytes(0, 0, chunks));
        }
    }
}
