//! Says whether a layout fits, and finds changes that do; each was tried.

use super::{Bytes, Kernels, ModelTraining, Recompute, StageMemory, sum};
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;
use crate::training::layout::ModelLayout;

impl ModelTraining<'_> {
    /// The memory of each GPU, where it has to fit beside the driver's context.
    ///
    /// # Errors
    /// As [`ModelTraining::memory`]; a stage that needs more than a GPU has, with its largest part and
    /// with changes that fit.
    pub fn fitting(
        &self,
        capacity: Bytes,
        context: Bytes,
    ) -> Result<Vec<StageMemory>, TrainingError> {
        let memory = self.memory()?;
        let worst = memory.iter().max_by_key(|stage| stage.reserved());
        let Some(worst) = worst.filter(|it| sum([it.reserved(), context]) > capacity) else {
            return Ok(memory);
        };
        let gibibytes = |size: Bytes| format!("{:.2} GiB", size.0 as f64 / (1_u64 << 30) as f64);
        let (what, size) = worst.largest();
        let stage =
            if self.layout.pp > 1 { format!(" of stage {}", worst.stage) } else { String::new() };
        let problem = format!(
            "each GPU{stage} needs {} with {} of the driver's, and has {}; the largest part is {what}, {}",
            gibibytes(sum([worst.reserved(), context])),
            gibibytes(context),
            gibibytes(capacity),
            gibibytes(size)
        );
        let found = self.changes(capacity, context);
        let remedy = if found.is_empty() {
            "no layout of these GPUs with micro-batches of one and full recomputation fits; take more GPUs".to_owned()
        } else {
            format!("what fits: {}", found.join(", or "))
        };
        Err(TrainingError::TooLarge(Diagnosis::of(problem).remedy(remedy)))
    }

    fn fits(&self, capacity: Bytes, context: Bytes) -> bool {
        self.memory().is_ok_and(|memory| {
            memory.iter().all(|stage| sum([stage.reserved(), context]) <= capacity)
        })
    }

    /// Finds single changes that fit; else a layout with the least micro-batch and full recomputation.
    fn changes(&self, capacity: Bytes, context: Bytes) -> Vec<String> {
        let fits = |changed: &Self| changed.fits(capacity, context);
        let mut found = Vec::new();
        let again = [Recompute::SelectiveOperations, Recompute::Full(None)];
        for recompute in again.into_iter().filter(|it| *it != self.recompute) {
            let changed = Self { recompute, ..self.clone() };
            if fits(&changed) {
                found.push(format!("recompute {}", changed.recompute.name()));
                break;
            }
        }
        let fewer = (1..self.micro_batch).rev().filter(|it| self.micro_batch.is_multiple_of(*it));
        let mut fewer = fewer.map(|micro_batch| Self { micro_batch, ..self.clone() });
        if let Some(changed) = fewer.find(fits) {
            found.push(format!("micro-batches of {}", changed.micro_batch));
        }
        let more = (self.zero + 1..=3).map(|zero| Self { zero, ..self.clone() });
        if self.layout.shards() > 1
            && let Some(changed) = more.into_iter().find(fits)
        {
            found.push(format!("zero {}", changed.zero));
        }
        let is_narrow = self.precision.narrow().is_some() && self.kernels == Kernels::Fused;
        for (what, changed) in [
            ("weights", Self { narrow_weights: true, ..self.clone() }),
            ("activations", Self { narrow_activations: true, ..self.clone() }),
        ] {
            if is_narrow && fits(&changed) {
                found.push(format!("fp8 {what}"));
            }
        }
        if let Some(changed) = self.layouts().into_iter().find(fits) {
            found.push(format!("layout {}", changed.told(self)));
        }
        if found.is_empty() {
            let least = Self { micro_batch: 1, recompute: Recompute::Full(None), ..self.clone() };
            let both = std::iter::once(least.clone()).chain(least.layouts());
            if let Some(changed) = both.into_iter().find(fits) {
                let layout = changed.told(self);
                found.push(format!(
                    "layout {layout}, micro-batches of 1 and recompute full together"
                ));
            }
        }
        found
    }

    fn told(&self, before: &Self) -> String {
        let zero = if self.zero == before.zero {
            String::new()
        } else {
            format!(" with zero {}", self.zero)
        };
        format!("{}{zero}", self.layout)
    }

    /// Lists layouts of as many GPUs: shards in the place of replicas, then parts of layers, then stages.
    fn layouts(&self) -> Vec<Self> {
        let own = self.layout;
        let replicas = own.replicas();
        let mut found = Vec::new();
        let mut add = |layout: ModelLayout, zero: u8| {
            if layout != own || zero != self.zero {
                found.push(Self { layout, zero, ..self.clone() });
            }
        };
        add(ModelLayout { dp: 1, fsdp: replicas, ..own }, if replicas > 1 { 3 } else { self.zero });
        let halvings = |count: u64| (1..=count.trailing_zeros()).map(|it| 1_u64 << it);
        for parts in halvings(own.dp) {
            add(ModelLayout { dp: own.dp / parts, tp: own.tp * parts, ..own }, self.zero);
            add(ModelLayout { dp: own.dp / parts, pp: own.pp * parts, ..own }, self.zero);
        }
        for parts in halvings(own.fsdp) {
            add(ModelLayout { fsdp: own.fsdp / parts, tp: own.tp * parts, ..own }, self.zero);
        }
        for parts in halvings(replicas) {
            let (tensor, rest) = (parts, replicas / parts);
            for stages in halvings(rest) {
                let layout = ModelLayout {
                    dp: rest / stages,
                    fsdp: 1,
                    tp: own.tp * tensor,
                    pp: own.pp * stages,
                    ..own
                };
                add(layout, self.zero.min(1));
            }
        }
        found
    }
}
