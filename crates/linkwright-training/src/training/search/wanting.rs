//! Says the smallest need where no layout fits, and how many GPUs are enough.

use super::spaces::Space;
use super::{FoundLayouts, LayoutSearch, is_possible};
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;
use crate::training::layout::{MOST_RANKS, ModelLayout};
use crate::training::memory::{ModelTraining, Recompute};
use crate::units::Bytes;

/// How often the count of GPUs is doubled while none fits.
const DOUBLINGS: u32 = 6;
/// How many counts between two doublings are tried.
const BETWEEN: u64 = 16;

/// Says what more is needed, having tried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanting {
    /// The least number of GPUs tried with which a layout fits, and that layout.
    pub enough: Option<(u64, ModelLayout)>,
}

impl<'a> LayoutSearch<'a> {
    /// Finds all that fit, or says why nothing does.
    ///
    /// # Errors
    /// No layout that is sound, or none that fits. It says the smallest need, and how many GPUs are enough, of those
    /// that come in servers of `by`.
    pub fn fitting(&self, by: u64) -> Result<FoundLayouts, TrainingError> {
        is_possible(self)?;
        let found = self.candidates();
        if !found.candidates.is_empty() {
            return Ok(found);
        }
        let gpus = self.gpus;
        let Some(smallest) = &found.smallest else {
            let problem = format!(
                "no layout of {gpus} GPUs is sound for {} with a batch of {}",
                self.training.model.name, self.training.batch
            );
            let remedy = "take a batch that more numbers of replicas divide, or other GPUs";
            return Err(TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy)));
        };
        let gibibytes = |size: Bytes| format!("{:.2} GiB", size.0 as f64 / (1_u64 << 30) as f64);
        let problem = format!(
            "none of {} sound layouts of {} on {gpus} GPUs fits; the least, {} with micro-batches of {}, zero {} and recompute {}, needs {} of each GPU, which has {}",
            found.sound,
            self.training.model.name,
            smallest.layout,
            smallest.micro_batch,
            smallest.zero,
            smallest.recompute.name(),
            gibibytes(Bytes(smallest.reserved.0.saturating_add(self.context.0))),
            gibibytes(self.capacity.unwrap_or_default()),
        );
        let remedy = match self.wanting(by).enough {
            Some((gpus, layout)) => format!("{gpus} GPUs are enough, as {layout}"),
            None => format!("up to {} GPUs were tried, too; take larger ones", gpus << DOUBLINGS),
        };
        Err(TrainingError::TooLarge(Diagnosis::of(problem).remedy(remedy)))
    }

    /// Tries more GPUs: twice as many until some layout fits, and then the counts between.
    #[must_use]
    pub fn wanting(&self, by: u64) -> Wanting {
        let fits = |gpus: u64| self.fits_on(gpus).map(|layout| (gpus, layout));
        let doubled = (1..=DOUBLINGS).map(|power| self.gpus << power);
        let enough = doubled.take_while(|gpus| *gpus <= MOST_RANKS).find_map(fits);
        let Some((most, _)) = enough else { return Wanting { enough } };
        let by = by.max((most / 2).div_ceil(BETWEEN)).next_multiple_of(by.max(1));
        let between = (1..).map(|times| most / 2 + times * by).take_while(|gpus| *gpus < most);
        Wanting { enough: between.into_iter().find_map(fits).or(enough) }
    }

    /// Gives a layout of some GPUs that fits with the least micro-batches, all computed again and all divided.
    fn fits_on(&self, gpus: u64) -> Option<ModelLayout> {
        // A batch has a sample for each GPU at least, as more GPUs are asked for than the step has now.
        let batch = self.training.batch.max(gpus).next_multiple_of(gpus);
        let training = ModelTraining { batch, ..self.training.clone() };
        let larger = Self { gpus, training, ..self.clone() };
        let least = Self {
            micro_batch: Some(self.micro_batch.unwrap_or(1)),
            recompute: Some(self.recompute.clone().unwrap_or(Recompute::Full(None))),
            ..larger
        };
        let mut found = FoundLayouts::default();
        for Space { stages, trainings } in least.spaces() {
            for training in trainings {
                let recompute = least.recompute.clone().unwrap_or_default();
                let own = ModelTraining { recompute, ..training };
                if least.needs(&own, &stages, &mut found).is_some_and(|(_, fits)| fits) {
                    return Some(own.layout);
                }
            }
        }
        None
    }
}
