//! Bounds a step: it never takes less.

use super::LayoutSearch;
use super::peaks::{LeastExchanges, LinkPeaks};
use crate::training::error::TrainingError;
use crate::training::layout::Order;
use crate::training::layout_step::{Execution, LayoutStep};
use crate::training::memory::ModelTraining;
use crate::training::roofline::Roofline;
use crate::training::terms::FrameworkCosts;
use crate::units::Picoseconds;

/// The GPUs and links that a step is bounded on.
#[derive(Debug, Clone)]
pub struct SearchedMachine {
    /// Times kernels on each model of GPU.
    pub rooflines: Vec<Roofline>,
    /// Holds the costs of the framework.
    pub costs: FrameworkCosts,
    /// Holds the peaks of links.
    pub peaks: LinkPeaks,
    /// Which ranks are neighbours.
    pub order: Order,
    /// How a step is run.
    pub execution: Execution,
}

impl SearchedMachine {
    /// The step on the model of GPU that takes longest, as all wait for it.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub fn step(&self, training: &ModelTraining<'_>) -> Result<Option<LayoutStep>, TrainingError> {
        let how = (self.order, self.execution);
        LayoutStep::slowest_of(training, how, &self.rooflines, &self.costs)
    }
}

impl LayoutSearch<'_> {
    /// Gives the bound of a step by a training.
    pub(super) fn least(&self, training: &ModelTraining<'_>) -> Picoseconds {
        let machine = &self.machine;
        let Ok(Some(step)) = machine.step(training) else { return Picoseconds(0) };
        let mut times = LeastExchanges::new(&machine.peaks, training.layout, machine.order);
        step.floor(&mut times)
    }
}
