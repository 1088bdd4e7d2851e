//! Works the needs of each kind of block out once: most models have one kind or two.

use super::recompute::Recompute;
use super::state::Numbers;
use super::{Bytes, Held, ModelTraining};

/// Holds the needs of blocks that are alike.
pub(super) struct Kind {
    pub held: Held,
    /// Numbers of its weights.
    pub own: Numbers,
    /// Numbers of small matrices that are trained in their place.
    pub small: u64,
    /// Bytes that it keeps of one micro-batch: where it is computed again, and where it is not.
    kept: [u64; 2],
    /// Counts bytes that its backward pass needs for a while.
    pub backward: Bytes,
}

impl ModelTraining<'_> {
    /// Gives the kinds of blocks, and the kind of each.
    pub(super) fn kinds(&self, each: &[Held]) -> (Vec<Kind>, Vec<usize>) {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut of_each: Vec<usize> = Vec::with_capacity(each.len());
        for held in each {
            // Most blocks are as the one before.
            let before = of_each.last().copied().filter(|at| kinds[*at].held == *held);
            let known = before.or_else(|| kinds.iter().position(|kind| kind.held == *held));
            of_each.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(self.kind(held));
            }
        }
        (kinds, of_each)
    }

    fn kind(&self, held: &Held) -> Kind {
        let mlp = &held.mlp;
        let small = self.lora.map_or(0, |it| it.parameters(self.model, mlp, self.layout.tp));
        let kept = [0, u64::MAX].map(|at| self.kept(held, at));
        Kind { held: *held, own: self.block(mlp), small, kept, backward: self.backward(held) }
    }

    /// Bytes that a block of a kind keeps of one micro-batch; `at` is its place in its chunk.
    pub(super) fn kept_of(&self, kind: &Kind, at: u64) -> u64 {
        let is_beyond = matches!(self.recompute, Recompute::Full(Some(count)) if at >= count);
        kind.kept[usize::from(is_beyond)]
    }
}
