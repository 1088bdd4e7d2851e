//! Every GPU has a part of each layer, and all compute the same samples (Shoeybi et al., Megatron-LM, 2019).
//!
//! Between a layer cut by columns and the next cut by rows nothing is exchanged. The outputs of the
//! layer cut by rows are summed over all GPUs. In the backward pass, the gradients of the inputs of
//! the layer cut by columns are summed. The times of the layers are the times of the parts already.

use super::Step;
use super::parts::LayerStep;
use super::writing::{Region, Writing};
use crate::program::{CollectiveKind, Program, Rank};
use crate::training::layer::Split;
use crate::units::{Bytes, Picoseconds};

/// Writes the program.
pub(super) fn program(step: &Step<'_>) -> Program {
    Writing::each(step, |all, rank| write(all, step, rank))
}

fn write(all: &mut Writing, step: &Step<'_>, rank: Rank) {
    let own = &*step.ranks[rank as usize];
    let is_alone = step.ranks.len() < 2;
    let pass = |all: &mut Writing, stretches: Vec<(Picoseconds, Bytes)>| {
        for (duration, summed) in stretches {
            let done = all.compute(rank, duration, &[]);
            if summed.0 > 0 && !is_alone {
                let call = (CollectiveKind::AllReduce, summed);
                let summed = all.collective(rank, call, step.costs.collective, &[done]);
                all.wait(rank, &[summed]);
            }
        }
    };
    all.begin(step, rank);
    all.within((rank, Region::Forward), |all| pass(all, forward(&own.layers)));
    all.within((rank, Region::Backward), |all| pass(all, backward(&own.layers)));
    all.within((rank, Region::Update), |all| all.compute(rank, own.update(), &[]));
}

/// Returns the computing time between two sums, and the size of the outputs that are summed then.
fn forward(layers: &[LayerStep]) -> Vec<(Picoseconds, Bytes)> {
    let mut stretches = vec![(Picoseconds(0), Bytes(0))];
    for layer in layers {
        add(&mut stretches, layer.time.forward);
        if layer.split == Some(Split::Rows) {
            end(&mut stretches, layer.output);
        }
    }
    stretches
}

/// Returns the same backwards. The sum there is as large as the output of the layers by rows that
/// follow.
fn backward(layers: &[LayerStep]) -> Vec<(Picoseconds, Bytes)> {
    let mut stretches = vec![(Picoseconds(0), Bytes(0))];
    let mut summed = None;
    for layer in layers.iter().rev() {
        match layer.split {
            Some(Split::Rows) => summed = Some(layer.output),
            Some(Split::Columns) => {}
            None => {
                if let Some(size) = summed.take() {
                    end(&mut stretches, size);
                }
            }
        }
        add(&mut stretches, layer.time.backward);
    }
    if let Some(size) = summed {
        end(&mut stretches, size);
    }
    stretches
}

fn add(stretches: &mut [(Picoseconds, Bytes)], time: Picoseconds) {
    if let Some((duration, _)) = stretches.last_mut() {
        duration.0 += time.0;
    }
}

fn end(stretches: &mut Vec<(Picoseconds, Bytes)>, size: Bytes) {
    if let Some((_, summed)) = stretches.last_mut() {
        *summed = size;
    }
    stretches.push((Picoseconds(0), Bytes(0)));
}
