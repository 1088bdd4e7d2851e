//! Matches the kernels of a trace with those of a model, kind by kind, and products by their shapes.
//!
//! A product of `rows` vectors of `inputs` numbers with a matrix gives `outputs` numbers each. Its backward pass multiplies
//! `rows x outputs` by `outputs x inputs`, and `inputs x rows` by `rows x outputs` or the other way around. Products of one
//! layer that have shapes in common, such as the gradients of a perceptron's matrices, have one ratio.

use super::{KernelRatios, MeasuredRatio};
use crate::diagnostic::{Diagnosis, Named};
use crate::training::error::TrainingError;
use crate::training::trace::{KernelKind, KernelTrace};
use crate::units::Picoseconds;

/// Says that kernels which stand for none of the model's take an hour of a step at most.
const MOST_REST: Picoseconds = Picoseconds(3600 * Picoseconds::SECOND.0);

/// Holds the model's times of a step in picoseconds: forward, backward, and of kernels that the backward pass computes again.
pub(in crate::training) type PassTimes = [u64; 3];

/// Describes a product of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::training) struct ModelledProduct {
    pub name: &'static str,
    pub rows: u64,
    pub inputs: u64,
    /// Numbers that it gives, or its parts, where a framework may multiply these one by one.
    pub outputs: Vec<u64>,
    pub times: PassTimes,
}

impl ModelledProduct {
    fn is(&self, [rows, columns, terms]: [u64; 3], is_backward: bool) -> bool {
        let Self { rows: own, inputs, ref outputs, .. } = *self;
        let is_forward = rows == own && terms == inputs && outputs.contains(&columns);
        if !is_backward {
            return is_forward;
        }
        let of_inputs = rows == own && columns == inputs && outputs.contains(&terms);
        let of_weights = terms == own
            && ((rows == inputs && outputs.contains(&columns))
                || (columns == inputs && outputs.contains(&rows)));
        of_inputs || of_weights || (is_forward && self.times[2] > 0)
    }
}

/// The model's times of a step, by what a trace tells apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::training) struct Modelled {
    pub kinds: [PassTimes; KernelKind::OF_LAYERS],
    pub products: Vec<ModelledProduct>,
    pub update: u64,
}

/// Gives the ratios of a trace's kernels to a model's, and a row for each that was measured.
///
/// # Errors
/// Refuses a trace without a backward pass.
pub(in crate::training) fn matched(
    trace: &KernelTrace,
    modelled: &Modelled,
) -> Result<(KernelRatios, Vec<MeasuredRatio>), TrainingError> {
    if trace.kernels.iter().all(|it| !it.is_backward) {
        let problem = "no kernel of the trace is known to belong to a backward pass";
        let remedy = "profile steps of training, with the host's activity and without CUDA graphs";
        return Err(TrainingError::Trace(Diagnosis::of(problem).remedy(remedy)));
    }
    let steps = trace.steps.max(1);
    let each = |time: Picoseconds| time.0 / steps;
    let mut ratios = KernelRatios::SAME;
    let mut rows = Vec::new();
    let of_no_layer = |it: KernelKind| matches!(it, KernelKind::Copy | KernelKind::Other);
    let mut rest = [false, true].map(|pass| each(trace.time_of(of_no_layer, pass))).to_vec();
    for kind in KernelKind::of_layers() {
        let own = |it: KernelKind| it.of_layer() == Some(kind);
        let measured = [false, true].map(|pass| each(trace.time_of(own, pass)));
        let times = modelled.kinds[kind as usize];
        if times.iter().sum::<u64>() == 0 {
            rest.extend(measured);
            continue;
        }
        let name = kind.name();
        let found = split(measured, times);
        ratios = ratios.with_kind(kind, found);
        row(&mut rows, name, measured, times);
        if kind == KernelKind::Product {
            ratios = Products { trace, modelled, steps }.refine(ratios, measured, &mut rows);
        }
    }
    let update = each(trace.time_of(|it| it == KernelKind::Optimizer, false));
    if modelled.update > 0 {
        ratios = ratios.with_update(update as f64 / modelled.update as f64);
        row(&mut rows, "update", [update, 0], [modelled.update, 0, 0]);
    } else {
        rest.push(update);
    }
    let rest = rest.into_iter().fold(0, u64::saturating_add);
    ratios.rest = Picoseconds(rest.min(MOST_REST.0));
    Ok((ratios, rows))
}

fn row(rows: &mut Vec<MeasuredRatio>, name: &'static str, measured: [u64; 2], modelled: PassTimes) {
    let passes = [modelled[0], modelled[1].saturating_add(modelled[2])];
    for (at, pass) in ["forward", "backward"].into_iter().enumerate() {
        if measured[at] > 0 || passes[at] > 0 {
            let pass = if name == "update" { "update" } else { pass };
            let [measured, modelled] = [measured[at], passes[at]].map(Picoseconds);
            rows.push(MeasuredRatio { name, pass, measured, modelled });
        }
    }
}

/// Divides measured times of both passes by modelled ones, so that their sum stays the measured one.
fn split([forward, backward]: [u64; 2], times: PassTimes) -> [f64; 2] {
    let [ahead, back, again] = times.map(|time| time as f64);
    let (forward, backward) = (forward as f64, backward as f64);
    let both = (forward + backward) / (ahead + back + again).max(1.0);
    if ahead == 0.0 || back == 0.0 {
        return [both; 2];
    }
    let first = forward / ahead;
    // The backward pass also has the kernels that are computed again, at the pace of the forward pass.
    let left = backward - first * again;
    let second = if left > 0.0 { left / back } else { backward / (back + again) };
    [first, second]
}

/// Finds the ratios of products by their shapes.
struct Products<'a> {
    trace: &'a KernelTrace,
    modelled: &'a Modelled,
    steps: u64,
}

impl Products<'_> {
    fn refine(
        &self,
        mut ratios: KernelRatios,
        measured: [u64; 2],
        rows: &mut Vec<MeasuredRatio>,
    ) -> KernelRatios {
        let own = &self.modelled.products;
        let whole = self.modelled.kinds[KernelKind::Product as usize];
        let forward = self.pass(false);
        let ahead = self.ratios(&forward, measured[0], whole[0], |product| product.times[0] as f64);
        let backward = self.pass(true);
        let taken = |product: &ModelledProduct| {
            let first = own.iter().position(|it| it == product).map_or(1.0, |at| ahead[at]);
            product.times[1] as f64 + first * product.times[2] as f64
        };
        let again: f64 =
            own.iter().zip(&ahead).map(|(it, ratio)| it.times[2] as f64 * (ratio - 1.0)).sum();
        let passed = (whole[1] as f64 + whole[2] as f64 + again).max(0.0) as u64;
        let back = self.ratios(&backward, measured[1], passed, taken);
        for (at, product) in own.iter().enumerate() {
            ratios = ratios.with_product(product.name, [ahead[at], back[at]]);
            let groups = [&forward, &backward].map(|pass| pass.groups[at]);
            let passes = product.times.map(|time| time as f64);
            let times = [ahead[at] * passes[0], back[at] * passes[1] + ahead[at] * passes[2]];
            if groups.iter().any(Option::is_some) {
                row(rows, product.name, times.map(|time| time as u64), product.times);
            }
        }
        ratios
    }

    /// Joins the products that a pass's shapes could be.
    fn pass(&self, is_backward: bool) -> Pass {
        let own = &self.modelled.products;
        let mut pass = Pass { groups: vec![None; own.len()], measured: vec![0; own.len()] };
        let traced = self.trace.products.iter().filter(|it| it.is_backward == is_backward);
        for traced in traced {
            let is_own = |at: &usize| own[*at].is(traced.shape, is_backward);
            let found: Vec<usize> = (0..own.len()).filter(is_own).collect();
            let Some(first) = found.first().copied() else { continue };
            let joined: Vec<usize> = found.iter().filter_map(|at| pass.groups[*at]).collect();
            for at in 0..own.len() {
                let is_joined = pass.groups[at].is_some_and(|group| joined.contains(&group));
                if is_joined || found.contains(&at) {
                    pass.groups[at] = Some(first);
                }
            }
            pass.share(traced.time.0 / self.steps, &found, |at| {
                let [ahead, back, again] = own[at].times;
                if is_backward { back + again } else { ahead }
            });
        }
        pass
    }

    /// Gives each product its ratio in a pass. Those of no shape in the trace share the rest of the measured time.
    fn ratios(
        &self,
        pass: &Pass,
        measured: u64,
        whole: u64,
        time: impl Fn(&ModelledProduct) -> f64,
    ) -> Vec<f64> {
        let own = &self.modelled.products;
        let times: Vec<f64> = own.iter().map(time).collect();
        let sums = |group: usize| {
            let of_group = (0..own.len()).filter(|at| pass.groups[*at] == Some(group));
            of_group.fold((0.0, 0.0), |(taken, modelled), at| {
                (taken + pass.measured[at] as f64, modelled + times[at])
            })
        };
        let known = (0..own.len()).filter(|at| pass.groups[*at].is_some());
        let (found, matched) = known.fold((0.0, 0.0), |(found, matched), at| {
            (found + pass.measured[at] as f64, matched + times[at])
        });
        let (left, unmatched) = (measured as f64 - found, whole as f64 - matched);
        let has_others = unmatched > whole as f64 * 1e-6;
        let others = if has_others { left.max(0.0) / unmatched } else { 1.0 };
        // Where all products have shapes in the trace, what is left is of theirs.
        let more = if has_others || found == 0.0 { 1.0 } else { measured as f64 / found };
        let ratio = |at: usize| match pass.groups[at].map(sums) {
            Some((taken, modelled)) if modelled > 0.0 => more * taken / modelled,
            _ => others,
        };
        (0..own.len()).map(ratio).collect()
    }
}

/// The products of a pass that the trace has shapes of.
struct Pass {
    /// Products of one group have shapes in common.
    groups: Vec<Option<usize>>,
    /// Gives each product its part of the time of its shapes.
    measured: Vec<u64>,
}

impl Pass {
    fn share(&mut self, time: u64, found: &[usize], weight: impl Fn(usize) -> u64) {
        let all: u64 = found.iter().map(|at| weight(*at)).sum();
        for at in found {
            let part =
                if all == 0 { 1.0 / found.len() as f64 } else { weight(*at) as f64 / all as f64 };
            self.measured[*at] += (time as f64 * part) as u64;
        }
    }
}
