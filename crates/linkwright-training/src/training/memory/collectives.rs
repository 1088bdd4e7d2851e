//! Buffers of collectives, and weights that are gathered.

use super::{Bytes, Kind, ModelTraining, bytes, sum};

/// Blocks whose weights are whole at once: one that is computed and the one that is gathered ahead.
const AT_ONCE: u64 = 2;
/// Counts whole activations under sequence parallelism: a product's input, the same gathered again for the
/// weights' gradient, and the gradient before it is divided.
const WHOLE_ACTIVATIONS: u64 = 3;

impl ModelTraining<'_> {
    pub(super) fn collectives(&self, stage: u64, chunks: &[&[&Kind]]) -> Bytes {
        let number = self.number();
        let hidden = bytes(self.tokens(), self.model.hidden * number);
        let mut parts = vec![self.gathered(stage, chunks)];
        if self.layout.tp > 1 && self.sequence_parallel {
            parts.extend([hidden; WHOLE_ACTIVATIONS as usize]);
        }
        if self.layout.cp > 1 {
            // Keys and values of one part while those of the next come.
            let attention = self.model.attention;
            let numbers = self.key_value_heads() * (attention.head + attention.value_head);
            parts.push(bytes(self.tokens(), 2 * numbers * number));
        }
        if self.layout.ep > 1 {
            let sent =
                chunks.iter().copied().flatten().map(|kind| kind.held.sent).max().unwrap_or(0);
            parts.push(bytes(sent, self.model.hidden * number));
        }
        parts.into_iter().fold(Bytes(0), |all, part| sum([all, part]))
    }

    /// Weights of blocks while they are computed, with the gradients of one; those of both ends all the
    /// time (FSDP's root). A stage of a pipeline keeps all of its blocks whole until its last micro-batch.
    fn gathered(&self, stage: u64, chunks: &[&[&Kind]]) -> Bytes {
        if self.zero < 3 || self.layout.shards() == 1 {
            return Bytes(0);
        }
        let number = self.number();
        let blocks = chunks.iter().copied().flatten().map(|kind| kind.own.plain + kind.own.experts);
        if self.layout.pp > 1 {
            let gradients = if self.lora.is_some() { 0 } else { self.gradients.bytes() };
            return bytes(blocks.sum::<u64>() + self.ends(stage), number + gradients);
        }
        let block = blocks.max().unwrap_or(0);
        let gradients = if self.lora.is_some() { 0 } else { number + self.gradients.bytes() };
        sum([bytes(block, AT_ONCE * number + gradients), bytes(self.ends(stage), number)])
    }
}
