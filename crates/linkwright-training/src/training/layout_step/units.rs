//! The blocks and the ends of the model on a stage, each with what it does and the numbers that it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::actions::{Actions, Again};
use super::blocks::Pieces;
use super::{Execution, ModelTraining};
use crate::training::error::TrainingError;
use crate::training::memory::Numbers;
use crate::training::model::Mlp;
use crate::training::roofline::Roofline;

/// A block, the embedding or the head on one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Unit {
    pub actions: Actions,
    /// What replicas may divide: all weights, and those that are trained.
    pub weights: Numbers,
    pub trained: Numbers,
}

/// The units of a chunk of layers, in the order of the forward pass.
pub(super) type Chunk = Vec<Arc<Unit>>;

/// The units of every chunk of every stage.
///
/// # Errors
/// A layout that is not sound.
pub(super) fn stages(
    training: &ModelTraining<'_>,
    execution: Execution,
    roofline: &Roofline,
) -> Result<Vec<Vec<Chunk>>, TrainingError> {
    let stages = training.asked().check(&training.layout)?;
    let each: Vec<Mlp> = training.model.each_mlp().collect();
    let mut kinds: Vec<Mlp> = training.model.blocks.iter().map(|blocks| blocks.mlp).collect();
    kinds.dedup();
    let mut known: BTreeMap<(usize, u64), Arc<Unit>> = BTreeMap::new();
    let all = training.layout.pp * training.layout.vp;
    let mut found = Vec::new();
    for stage in 0..training.layout.pp {
        let mut chunks = Vec::new();
        for (at, blocks) in (0..).zip(stages.chunks(stage)) {
            let place = at * training.layout.pp + stage;
            let mut units = Vec::new();
            if place == 0 {
                units.push(Arc::new(embedding(training, execution, roofline)));
            }
            for (place, mlp) in (0..).zip(&each[blocks.start as usize..blocks.end as usize]) {
                let kind = kinds.iter().position(|kind| kind == mlp).unwrap_or(0);
                // Places behind those that are computed again are alike.
                let place = training.recompute.place(place);
                let unit = known.entry((kind, place)).or_insert_with(|| {
                    Arc::new(block(training, execution, roofline, (mlp, place)))
                });
                units.push(Arc::clone(unit));
            }
            if place + 1 == all {
                units.push(Arc::new(head(training, execution, roofline)));
            }
            chunks.push(units);
        }
        found.push(chunks);
    }
    Ok(found)
}

fn block(
    training: &ModelTraining<'_>,
    execution: Execution,
    roofline: &Roofline,
    (mlp, place): (&Mlp, u64),
) -> Unit {
    let attention = training.model.attention;
    let keys = if attention.rotary && attention.latent.is_none() {
        attention.keys() as f64
            / (attention.queries() + attention.keys() + attention.values()) as f64
    } else {
        0.0
    };
    let is_gated = matches!(mlp, Mlp::Dense { gated: true, .. } | Mlp::Experts(_));
    let again = Again { recompute: &training.recompute, place: Some(place), keys, is_gated };
    let actions = Actions::of(&Pieces::block(training, execution, mlp), roofline, &again);
    let weights = training.block(mlp);
    let trained = match training.lora {
        Some(lora) => {
            let plain = lora.parameters(training.model, mlp, training.layout.tp);
            Numbers { plain, experts: 0 }
        }
        None => weights,
    };
    Unit { actions, weights, trained }
}

/// Nothing of an end is computed again.
fn kept<'a>(training: &'a ModelTraining<'_>) -> Again<'a> {
    Again { recompute: &training.recompute, place: None, keys: 0.0, is_gated: false }
}

fn end(training: &ModelTraining<'_>, actions: Actions, plain: u64) -> Unit {
    let weights = Numbers { plain, experts: 0 };
    let trained = if training.lora.is_some() { Numbers::default() } else { weights };
    Unit { actions, weights, trained }
}

fn embedding(training: &ModelTraining<'_>, execution: Execution, roofline: &Roofline) -> Unit {
    let pieces = Pieces::embedding(training, execution);
    let model = training.model;
    let numbers = training.matrix_of_ends().div_ceil(training.layout.tp);
    let numbers = numbers + model.positions * model.hidden;
    end(training, Actions::of(&pieces, &roofline.wide(), &kept(training)), numbers)
}

fn head(training: &ModelTraining<'_>, execution: Execution, roofline: &Roofline) -> Unit {
    let pieces = Pieces::head(training, execution);
    let model = training.model;
    // A head that is tied to an embedding of another stage has a copy of it.
    let has_own = !model.tied || training.layout.pp > 1;
    let matrix = if has_own { training.matrix_of_ends() } else { 0 };
    let numbers = matrix.div_ceil(training.layout.tp) + model.norm.parameters(model.hidden);
    end(training, Actions::of(&pieces, &roofline.wide(), &kept(training)), numbers)
}
