//! Which layers each stage of a pipeline has.

use super::ModelLayout;

/// Counts places that the embedding, the loss and the prediction of further tokens may fill.
pub(in crate::training) const MOST_FEWER: u64 = 4;

/// Holds the layers of each stage. All chunks have as many, but for the first and the last: there the
/// embedding or the loss may take the place of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    /// Gives the layers of each chunk of each stage, as ranges of blocks.
    chunks: Vec<Vec<std::ops::Range<u64>>>,
}

impl Stages {
    /// Divides layers over the stages of a layout. It gives none where some chunk would have nothing, or
    /// where a stage's chunks would not be alike.
    #[must_use]
    pub fn of(layers: u64, layout: &ModelLayout) -> Option<Self> {
        let (stages, virtual_stages) = (layout.pp, layout.vp);
        let all = stages.checked_mul(virtual_stages)?;
        let mut counts: Vec<u64> = if layers.is_multiple_of(all) {
            vec![layers / all; all as usize]
        } else if (layers + 2).is_multiple_of(all) {
            // The embedding and the loss each fill a place.
            let mut counts = vec![(layers + 2) / all; all as usize];
            counts[0] -= 1;
            *counts.last_mut()? -= 1;
            counts
        } else if (layers + 1).is_multiple_of(all) {
            let mut counts = vec![(layers + 1) / all; all as usize];
            *counts.last_mut()? -= 1;
            counts
        } else if virtual_stages == 1 {
            // One more for the stages in the middle, from the last but one on backwards.
            let mut counts = vec![layers / all; all as usize];
            let more = layers % all;
            for at in 0..more {
                counts[((all - 2).saturating_sub(at)) as usize] += 1;
            }
            counts
        } else {
            let each = layers.div_ceil(all);
            let fewer = (each * all).checked_sub(layers).filter(|fewer| *fewer <= MOST_FEWER)?;
            let mut counts = vec![each; all as usize];
            counts[0] = counts[0].checked_sub(fewer / 2)?;
            let last = counts.last_mut()?;
            *last = last.checked_sub(fewer.div_ceil(2))?;
            counts
        };
        let inner = counts.len().saturating_sub(1);
        let is_empty = counts.iter().enumerate().any(|(at, it)| *it == 0 && at > 0 && at < inner);
        if is_empty || layers == 0 || (all == 1 && counts[0] == 0) {
            return None;
        }
        let mut from = 0;
        let mut chunks = vec![Vec::new(); stages as usize];
        for (at, count) in counts.drain(..).enumerate() {
            chunks[at % stages as usize].push(from..from + count);
            from += count;
        }
        (from == layers).then_some(Self { chunks })
    }

    /// Gives the layers of a stage, chunk by chunk.
    #[must_use]
    pub fn chunks(&self, stage: u64) -> &[std::ops::Range<u64>] {
        self.chunks.get(stage as usize).map_or(&[], Vec::as_slice)
    }

    /// Gives the layers of every chunk of every stage.
    pub(in crate::training) fn all(&self) -> impl Iterator<Item = &std::ops::Range<u64>> {
        self.chunks.iter().flatten()
    }

    /// How many layers a stage has.
    #[must_use]
    pub fn layers(&self, stage: u64) -> u64 {
        self.chunks(stage).iter().map(|chunk| chunk.end - chunk.start).sum()
    }
}
