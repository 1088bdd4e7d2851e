//! The blocks and the ends of the model on a stage, each with what it does and the numbers that it has.

use std::sync::Arc;

use super::actions::{Actions, Again};
use super::blocks::Pieces;
use super::kernel_times::KernelTimes;
use super::pieces::Piece;
use super::{Execution, ModelTraining};
use crate::training::error::TrainingError;
use crate::training::memory::{Held, Numbers};
use crate::training::model::Mlp;
use crate::training::roofline::Roofline;

/// A block, the embedding or the head, as it is on one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Unit {
    pub actions: Actions,
    /// Replicas may divide all weights, and those that are trained.
    pub weights: Numbers,
    pub trained: Numbers,
}

/// A chunk of layers holds its units in the order of the forward pass.
pub(super) type Chunk = Vec<Arc<Unit>>;

/// Makes the units of a stage.
#[derive(Clone, Copy)]
pub(super) struct Maker<'a> {
    pub training: &'a ModelTraining<'a>,
    pub execution: Execution,
    pub roofline: &'a Roofline,
    /// The GPU's place in its expert group; without one it is the GPU whose experts get the most tokens of each
    /// block.
    pub expert_place: Option<u64>,
}

/// A block's unit follows from its tokens on this GPU and on the busiest, and its place in its chunk.
pub(super) type Key = (Held, u64, u64);

impl Maker<'_> {
    /// Makes the units of every chunk of every stage.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub(super) fn stages(&self) -> Result<Vec<Vec<Chunk>>, TrainingError> {
        let training = self.training;
        let stages = training.asked().check(&training.layout)?;
        let each: Vec<Mlp> = training.model.each_mlp().collect();
        let mut known: Vec<(Key, Arc<Unit>)> = Vec::new();
        let all = training.layout.pp * training.layout.vp;
        let of_stage = |stage| {
            let chunks = (0..).zip(stages.chunks(stage)).map(|(at, blocks)| {
                let place = at * training.layout.pp + stage;
                let mut units = Chunk::new();
                if place == 0 {
                    units.push(Arc::new(self.embedding()));
                }
                for (place, block) in (0..).zip(blocks.clone()) {
                    let key = self.key(&each[block as usize], block, place);
                    let found = known.iter().find(|(other, _)| *other == key);
                    let unit = if let Some((_, unit)) = found {
                        Arc::clone(unit)
                    } else {
                        let unit = Arc::new(self.block(&key));
                        known.push((key, Arc::clone(&unit)));
                        unit
                    };
                    units.push(unit);
                }
                if place + 1 == all {
                    units.push(Arc::new(self.head()));
                }
                units
            });
            chunks.collect()
        };
        Ok((0..training.layout.pp).map(of_stage).collect())
    }

    fn times<'a>(&'a self, roofline: &'a Roofline) -> KernelTimes<'a> {
        let measured = self.execution.measured.as_ref();
        KernelTimes::new(roofline, self.training.kernels, measured)
    }

    pub(super) fn key(&self, mlp: &Mlp, block: u64, place: u64) -> Key {
        let busiest = self.training.busiest(mlp, block);
        let own = self.expert_place.map(|gpu| self.training.at_place(mlp, block, gpu));
        // Places behind those that are computed again are alike.
        (own.unwrap_or(busiest), busiest.sent, self.training.recompute.place(place))
    }

    fn block(&self, (held, most, place): &Key) -> Unit {
        let (training, mlp) = (self.training, &held.mlp);
        let attention = training.model.attention;
        let joined = attention.queries() + attention.keys() + attention.values();
        let is_apart = attention.rotary && attention.latent.is_none();
        let keys = if is_apart { attention.keys() as f64 / joined as f64 } else { 0.0 };
        let is_gated = matches!(mlp, Mlp::Dense { gated: true, .. } | Mlp::Experts(_));
        let recompute = &training.recompute;
        let again = Again { recompute, place: Some(*place), keys, is_gated };
        let pieces = Pieces::block(training, self.execution, (held, *most));
        let actions = Actions::of(&pieces, self.times(self.roofline), &again);
        let weights = training.block(mlp);
        let trained = match training.lora {
            Some(lora) => {
                let plain = lora.parameters(training.model, mlp, training.layout.tp);
                Numbers { plain, ..Numbers::default() }
            }
            None => weights,
        };
        Unit { actions, weights, trained }
    }

    fn embedding(&self) -> Unit {
        let model = self.training.model;
        let matrix = self.training.matrix_of_ends().div_ceil(self.training.layout.tp);
        let pieces = Pieces::embedding(self.training, self.execution);
        self.end(&pieces, matrix + model.positions * model.hidden)
    }

    fn head(&self) -> Unit {
        let model = self.training.model;
        // A head that is tied to an embedding of another stage has a copy of it.
        let has_own = !model.tied || self.training.layout.pp > 1;
        let matrix = if has_own { self.training.matrix_of_ends() } else { 0 };
        let numbers = matrix.div_ceil(self.training.layout.tp);
        let pieces = Pieces::head(self.training, self.execution);
        self.end(&pieces, numbers + model.norm.parameters(model.hidden))
    }

    /// Nothing of an end is computed again, and its products stay in wide numbers.
    fn end(&self, pieces: &[Piece], plain: u64) -> Unit {
        let recompute = &self.training.recompute;
        let kept = Again { recompute, place: None, keys: 0.0, is_gated: false };
        let actions = Actions::of(pieces, self.times(&self.roofline.wide()), &kept);
        let weights = Numbers { plain, ..Numbers::default() };
        let is_frozen = self.training.lora.is_some();
        let trained = if is_frozen { Numbers::default() } else { weights };
        Unit { actions, weights, trained }
    }
}
