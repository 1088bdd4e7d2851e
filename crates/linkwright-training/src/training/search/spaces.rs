//! Lists every sound layout of some GPUs, with sizes of micro-batches and divisions of state.

use super::LayoutSearch;
use crate::training::layout::{AskedLayout, MOST_FEWER, ModelLayout, Stages, divisors};
use crate::training::memory::ModelTraining;

/// Trainings whose replicas divide more or less, and whose stages are the same.
pub(super) struct Space<'a> {
    pub stages: Stages,
    pub trainings: Vec<ModelTraining<'a>>,
}

impl<'a> LayoutSearch<'a> {
    /// Lists the sound layouts, each with every micro-batch and with all that replicas may divide.
    pub(super) fn spaces(&self) -> Vec<Space<'a>> {
        let mut found = Vec::new();
        for pp in divisors(self.gpus) {
            let chunks = self.chunks(pp);
            for tp in divisors(self.gpus / pp) {
                if !self.training.model.attention.heads.is_multiple_of(tp) {
                    continue;
                }
                for cp in divisors(self.gpus / pp / tp) {
                    let replicas = self.gpus / pp / tp / cp;
                    if !self.training.batch.is_multiple_of(replicas) {
                        continue;
                    }
                    let experts = self.experts(replicas * tp * cp, tp);
                    for vp in &chunks {
                        for (ep, etp) in &experts {
                            let one = ModelLayout {
                                dp: replicas,
                                fsdp: 1,
                                tp,
                                pp,
                                vp: *vp,
                                cp,
                                ep: *ep,
                                etp: *etp,
                            };
                            self.divided(&one, &mut found);
                        }
                    }
                }
            }
        }
        found
    }

    /// Gives the counts of chunks that may divide the layers of some stages.
    fn chunks(&self, stages: u64) -> Vec<u64> {
        let layers = self.training.model.layers();
        if stages == 1 {
            return vec![1];
        }
        // Some places may hold no layer; whether they may is asked later.
        let is_even = |chunks: &u64| {
            (layers..=layers + MOST_FEWER).any(|places| places.is_multiple_of(stages * chunks))
        };
        let most = (layers + MOST_FEWER) / stages;
        std::iter::once(1).chain((2..=most).filter(is_even)).collect()
    }

    /// Gives the ways to divide the experts over the GPUs of a stage: parts of them, and parts of each.
    fn experts(&self, of_stage: u64, tp: u64) -> Vec<(u64, Option<u64>)> {
        let Some(experts) = self.training.model.experts() else { return vec![(1, None)] };
        let mut found = Vec::new();
        for ep in divisors(experts.count) {
            // As frameworks have it: each expert is divided as layers are, or whole.
            for etp in [None, Some(1)] {
                let parts = etp.unwrap_or(tp);
                if (etp.is_none() || tp > 1) && of_stage.is_multiple_of(ep * parts) {
                    found.push((ep, etp));
                }
            }
        }
        found
    }

    /// Adds a layout of replicas with each micro-batch, and with its replicas as shards.
    fn divided(&self, one: &ModelLayout, found: &mut Vec<Space<'a>>) {
        let each = self.training.batch / one.replicas();
        let sizes = self.micro_batch.map_or_else(|| divisors(each), |size| vec![size]);
        for micro_batch in sizes {
            let asked = AskedLayout {
                model: self.training.model,
                gpus: self.gpus,
                batch: self.training.batch,
                micro_batch,
                sequence_parallel: self.divides_tokens(one),
            };
            let Ok(stages) = asked.sound(one) else { continue };
            let mut trainings = Vec::new();
            for fsdp in divisors(one.replicas()) {
                let layout = ModelLayout { dp: one.replicas() / fsdp, fsdp, ..*one };
                let zeros = self.zero.map_or_else(|| zeros(&layout), |zero| vec![zero]);
                let each = zeros.into_iter().map(|zero| self.plain(layout, micro_batch, zero));
                trainings.extend(each);
            }
            found.push(Space { stages, trainings });
        }
    }
}

/// Says how much replicas may divide: of `dp` nothing or the optimizer's state, of `fsdp` gradients or weights, too. There
/// is nothing to divide where there is one copy only.
fn zeros(layout: &ModelLayout) -> Vec<u8> {
    match (layout.fsdp > 1, layout.shards() > 1) {
        (true, _) => vec![2, 3],
        (false, true) => vec![0, 1],
        (false, false) => vec![0],
    }
}
