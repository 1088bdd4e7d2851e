//! Which recomputation a layout needs: of each chain the first that fits.

use super::spaces::Space;
use super::{FoundLayouts, LayoutSearch};
use crate::training::layout::Stages;
use crate::training::memory::{Kernels, ModelTraining, Module, Recompute};
use crate::training::model::Mlp;
use crate::units::Bytes;

/// Recomputations in a row: each does again all that the one before does, and keeps no more.
pub(super) type Chain = Vec<Recompute>;

impl<'a> LayoutSearch<'a> {
    /// The chains of a layout. All begin with nothing. A given one is alone.
    pub(super) fn chains(&self, space: &Space<'a>) -> Vec<Chain> {
        if let Some(given) = &self.recompute {
            return vec![vec![given.clone()]];
        }
        let blocks = longest_chunk(&space.stages);
        let by_blocks = (1..blocks).map(|count| Recompute::Full(Some(count)));
        let by_blocks = std::iter::once(Recompute::None).chain(by_blocks);
        let by_blocks = by_blocks.chain([Recompute::Full(None)]).collect();
        let within = match self.training.kernels {
            Kernels::Fused => self.modules(),
            Kernels::Eager | Kernels::Compiled => vec![Recompute::SelectiveOperations],
        };
        vec![std::iter::once(Recompute::None).chain(within).collect(), by_blocks]
    }

    /// Megatron's modules that a model has, those that are quickly computed again first.
    fn modules(&self) -> Chain {
        let mut named = vec![Module::LayerNorm];
        if self.training.model.experts().is_some() {
            named.push(Module::MoeActivation);
        }
        let mut found = vec![Recompute::Modules(named.clone())];
        if self.training.model.attention.latent.is_some() {
            named.push(Module::LatentUp);
            found.push(Recompute::Modules(named.clone()));
        }
        let of_blocks = self.training.model.blocks.iter();
        if of_blocks.clone().any(|blocks| matches!(blocks.mlp, Mlp::Dense { .. })) {
            named.push(Module::Mlp);
        }
        if self.training.model.experts().is_some() {
            named.push(Module::Moe);
        }
        found.push(Recompute::Modules(named));
        found
    }

    /// The first of a chain that fits, with what it needs. Memory falls along a chain, so that halves are enough.
    pub(super) fn first_that_fits(
        &self,
        (training, stages): (&ModelTraining<'a>, &Stages),
        chain: &Chain,
        found: &mut FoundLayouts,
    ) -> Option<(ModelTraining<'a>, Bytes)> {
        let of = |recompute: &Recompute| ModelTraining {
            recompute: recompute.clone(),
            ..training.clone()
        };
        let mut fitting = None;
        let ask = |at: usize, found: &mut FoundLayouts| {
            let own = of(chain.get(at)?);
            let (reserved, fits) = self.needs(&own, stages, found)?;
            fits.then_some((own, reserved))
        };
        if let Some(first) = ask(0, found) {
            return Some(first);
        }
        // The first place fits not, and the last is to fit.
        let (mut low, mut high) = (0, chain.len() - 1);
        if high > 0 {
            fitting = ask(high, found);
        }
        while fitting.is_some() && high - low > 1 {
            let middle = low.midpoint(high);
            match ask(middle, found) {
                Some(own) => (fitting, high) = (Some(own), middle),
                None => low = middle,
            }
        }
        fitting
    }
}

/// How many blocks the longest chunk has.
fn longest_chunk(stages: &Stages) -> u64 {
    let each = stages.all().map(|chunk| chunk.end - chunk.start);
    each.max().unwrap_or(1).max(1)
}
