//! Blocks as a GPU has them: with the tokens that its experts get.

use super::ModelTraining;
use crate::training::model::{Experts, Mlp};

/// Holds a block on one GPU of an expert group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::training) struct Held {
    pub mlp: Mlp,
    /// Counts tokens that the GPU's experts get of a micro-batch; zero without experts.
    pub sent: u64,
}

impl ModelTraining<'_> {
    /// Gives the blocks as each GPU of an expert group has them; one for all where these are alike.
    pub(super) fn held(&self, each: &[Mlp]) -> Vec<Vec<Held>> {
        if self.routing.is_even() || self.model.experts().is_none() {
            return vec![each.iter().map(|mlp| self.even(mlp)).collect()];
        }
        let mut places = vec![Vec::with_capacity(each.len()); self.layout.ep as usize];
        for (block, mlp) in each.iter().enumerate() {
            let sent = mlp.experts().map(|experts| self.sent(&experts, block as u64));
            for (gpu, place) in places.iter_mut().enumerate() {
                let sent = sent.as_ref().map_or(0, |sent| sent[gpu]);
                place.push(Held { mlp: *mlp, sent });
            }
        }
        places
    }

    /// Gives a block where all experts get as many tokens.
    pub(super) fn even(&self, mlp: &Mlp) -> Held {
        let sent = mlp.experts().map_or(0, |experts| self.expert_tokens(&experts));
        Held { mlp: *mlp, sent }
    }

    /// Gives a block as the GPU has it whose experts get the most tokens of it.
    pub(in crate::training) fn busiest(&self, mlp: &Mlp, block: u64) -> Held {
        match mlp.experts() {
            Some(experts) if !self.routing.is_even() => {
                let most = self.sent(&experts, block).into_iter().max();
                Held { mlp: *mlp, sent: most.unwrap_or(0) }
            }
            _ => self.even(mlp),
        }
    }

    /// Gives a block as one GPU of an expert group has it.
    pub(in crate::training) fn at_place(&self, mlp: &Mlp, block: u64, gpu: u64) -> Held {
        match mlp.experts() {
            Some(experts) if !self.routing.is_even() => {
                let sent = self.sent(&experts, block)[gpu as usize];
                Held { mlp: *mlp, sent }
            }
            _ => self.even(mlp),
        }
    }

    /// Counts the tokens that each GPU of an expert group gets of a block.
    fn sent(&self, experts: &Experts, block: u64) -> Vec<u64> {
        let ep = self.layout.ep;
        let group = ep.saturating_mul(self.layout.expert_parts());
        let tokens = self.tokens().saturating_mul(group).div_ceil(self.layout.tp);
        self.routing.by_gpu((experts.count, ep), experts.top, tokens, block)
    }
}
