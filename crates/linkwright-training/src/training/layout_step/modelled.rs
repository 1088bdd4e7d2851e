//! Compares the kernels of a trace with those of a step by a layout.
//!
//! Times of a kind's kernels are those of a step in which no other kernel takes any. So they hold all that a layout does to
//! kernels: recomputation, parts of sequences, frozen weights.

use super::blocks::Pieces;
use super::pieces::Piece;
use super::units::Maker;
use super::{Execution, LayoutStep, ModelTraining};
use crate::training::error::TrainingError;
use crate::training::family::LayerFamily;
use crate::training::kernel_ratios::{
    KernelRatios, MeasuredRatio, Modelled, ModelledProduct, PassTimes, matched,
};
use crate::training::layout::Order;
use crate::training::roofline::Roofline;
use crate::training::terms::FrameworkCosts;
use crate::training::trace::{KernelKind, KernelTrace};

/// Describes the run that a trace is of.
#[derive(Debug, Clone, Copy)]
pub struct TracedRun<'a> {
    /// Says which model was trained, and by which layout.
    pub training: &'a ModelTraining<'a>,
    /// Which ranks were neighbours.
    pub order: Order,
    /// How the step was run.
    pub execution: Execution,
    /// Gives the model's times of kernels on the GPU.
    pub roofline: &'a Roofline,
    /// Gives the framework's costs.
    pub costs: &'a FrameworkCosts,
}

impl TracedRun<'_> {
    /// Gives the ratios of the trace's kernels to the model's, and a row for each kind, pass and matched product.
    ///
    /// # Errors
    /// A layout that is not sound; a trace without a backward pass.
    pub fn ratios(
        &self,
        trace: &KernelTrace,
    ) -> Result<(KernelRatios, Vec<MeasuredRatio>), TrainingError> {
        let layout = &self.training.layout;
        let rank = trace.rank.unwrap_or(0) % layout.gpus().max(1);
        let stage = self.order.stage(layout, rank) as usize;
        let mut kinds = [PassTimes::default(); KernelKind::OF_LAYERS];
        for kind in KernelKind::of_layers() {
            let only = KernelRatios::NOTHING.with_kind(kind, [1.0; 2]);
            kinds[kind as usize] = self.times(only, stage)?.0;
        }
        let mut products = Vec::new();
        for product in self.products()? {
            let only = KernelRatios::NOTHING.with_product(product.name, [1.0; 2]);
            products.push(ModelledProduct { times: self.times(only, stage)?.0, ..product });
        }
        products.retain(|product| product.times != PassTimes::default());
        let update = self.times(KernelRatios::NOTHING.with_update(1.0), stage)?.1;
        matched(trace, &Modelled { kinds, products, update })
    }

    /// Gives the times of a stage in a step, with ratios: those of passes, and that of the update.
    fn times(&self, ratios: KernelRatios, stage: usize) -> Result<(PassTimes, u64), TrainingError> {
        let execution = Execution { measured: Some(ratios), ..self.execution };
        let step =
            LayoutStep::new(self.training, self.order, execution, self.roofline, self.costs)?;
        let work = step.work()[stage];
        let again = work.again.0;
        let passes = [work.forward.0, work.backward.0 - again, again];
        Ok((passes.map(|time| time.saturating_mul(step.micro_batches())), work.update.0))
    }

    /// Lists the products of all blocks and of the head, each name once, without their times.
    fn products(&self) -> Result<Vec<ModelledProduct>, TrainingError> {
        let training = self.training;
        training.asked().check(&training.layout)?;
        let (execution, roofline) = (self.execution, self.roofline);
        let maker = Maker { training, execution, roofline, expert_place: None };
        let mut products: Vec<ModelledProduct> = Vec::new();
        let mut take = |pieces: Vec<Piece>| {
            for piece in pieces {
                let Piece::Work(piece) = piece else { continue };
                let work = piece.work;
                let is_product = work.family == LayerFamily::FullyConnected && work.weights > 0;
                if is_product && products.iter().all(|it| it.name != piece.name) {
                    products.push(ModelledProduct {
                        name: piece.name,
                        rows: piece.tokens,
                        inputs: work.columns_read,
                        outputs: self.parts(piece.name, work.columns),
                        times: PassTimes::default(),
                    });
                }
            }
        };
        for (block, mlp) in (0..).zip(training.model.each_mlp()) {
            let (held, most, _) = maker.key(&mlp, block, 0);
            take(Pieces::block(training, execution, (&held, most)));
        }
        take(Pieces::head(training, execution));
        Ok(products)
    }

    /// Gives the numbers that a product writes of a token, and those of its parts. Frameworks may multiply parts one by
    /// one, or two products at once.
    fn parts(&self, name: &str, outputs: u64) -> Vec<u64> {
        let (attention, tp) = (self.training.model.attention, self.training.layout.tp.max(1));
        let parts = match name {
            "qkv" => [attention.queries(), attention.keys(), attention.values()]
                .map(|it| it / tp)
                .to_vec(),
            "up" | "gate" => vec![outputs.saturating_mul(2)],
            _ => Vec::new(),
        };
        [outputs].into_iter().chain(parts).collect()
    }
}
