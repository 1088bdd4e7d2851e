//! Whether a model, a batch and GPUs can have a layout.

use super::{ModelLayout, Stages};
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;
use crate::training::model::{LanguageModel, Mlp};

/// Says what a layout is asked for.
#[derive(Debug, Clone, Copy)]
pub struct AskedLayout<'a> {
    /// Says what is trained, on sequences of its length.
    pub model: &'a LanguageModel,
    /// Counts the GPUs that train.
    pub gpus: u64,
    /// Samples of a step, over all GPUs.
    pub batch: u64,
    /// Samples that a replica computes at once.
    pub micro_batch: u64,
    /// Whether what tensor parallelism leaves whole is divided by tokens.
    pub sequence_parallel: bool,
}

impl AskedLayout<'_> {
    /// Checks whether the model and its GPUs can have a layout, and gives its stages.
    ///
    /// # Errors
    /// Says why they cannot, with the nearest layout that is sound.
    pub fn check(&self, layout: &ModelLayout) -> Result<Stages, TrainingError> {
        self.sound(layout).map_err(|reason| {
            let problem = format!("the layout {layout}: {reason}");
            let remedy = match self.nearest(layout) {
                Some(nearest) => format!("the nearest that is sound is {nearest}"),
                None => {
                    "no layout of these GPUs is sound with this batch; change either".to_owned()
                }
            };
            TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
        })
    }

    /// Counts the micro-batches that a replica computes in a step.
    #[must_use]
    pub fn micro_batches(&self, layout: &ModelLayout) -> u64 {
        (self.batch / (layout.replicas() * self.micro_batch).max(1)).max(1)
    }

    /// The stages of a sound layout, or why it is not sound.
    pub(in crate::training) fn sound(&self, layout: &ModelLayout) -> Result<Stages, String> {
        let ModelLayout { tp, pp, vp, cp, ep, .. } = *layout;
        let LanguageModel { attention, tokens, .. } = self.model;
        let divides = |part: &str, parts: u64, what: &str, count: u64| {
            if count.is_multiple_of(parts) {
                Ok(())
            } else {
                Err(format!("{part}={parts} does not divide the {count} {what}"))
            }
        };
        if layout.gpus() != self.gpus {
            return Err(format!("it has {} GPUs, and {} train", layout.gpus(), self.gpus));
        }
        divides("tp", tp, "heads", attention.heads)?;
        let groups = attention.key_value_heads;
        if attention.latent.is_none() && !groups.is_multiple_of(tp) && !tp.is_multiple_of(groups) {
            return Err(format!("tp={tp} and the {groups} heads of keys and values do not divide"));
        }
        for mlp in self.model.blocks.iter().map(|blocks| blocks.mlp) {
            match mlp {
                Mlp::Dense { inner, .. } => {
                    divides("tp", tp, "numbers within a perceptron", inner)?
                }
                Mlp::Experts(it) => {
                    let parts = layout.expert_parts();
                    divides("etp", parts, "numbers within an expert", it.inner)?;
                    divides("ep", ep, "experts", it.count)?;
                }
            }
        }
        if cp > 1 {
            // The first and the last part of a sequence go together, so that all have equal work.
            divides("cp", 2 * cp, "tokens, twice", *tokens)?;
        }
        if self.sequence_parallel && tp > 1 {
            divides("tp", tp, "tokens of a part of a sequence", tokens / cp)?;
        }
        if ep > 1 || layout.etp.is_some() {
            if self.model.experts().is_none() {
                return Err("ep and etp divide experts, and the model has none".to_owned());
            }
            let (both, stage) = (ep * layout.expert_parts(), layout.of_stage());
            if !stage.is_multiple_of(both) {
                let parts = layout.expert_parts();
                return Err(format!(
                    "ep={ep} times etp={parts} does not divide a stage's {stage} GPUs"
                ));
            }
        }
        let each = layout.replicas().saturating_mul(self.micro_batch);
        if self.batch == 0 || !self.batch.is_multiple_of(each) {
            let replicas = layout.replicas();
            return Err(format!(
                "{replicas} replicas with micro-batches of {} do not divide a batch of {}",
                self.micro_batch, self.batch
            ));
        }
        if vp > 1 {
            if pp == 1 {
                return Err("chunks of stages (vp) need a pipeline (pp)".to_owned());
            }
            divides(
                "pp",
                pp,
                "micro-batches that go through the chunks",
                self.micro_batches(layout),
            )?;
        }
        let layers = self.model.layers();
        Stages::of(layers, layout).ok_or_else(|| {
            format!("pp={pp} and vp={vp} do not divide {layers} layers, with or without embedding and loss")
        })
    }
}
