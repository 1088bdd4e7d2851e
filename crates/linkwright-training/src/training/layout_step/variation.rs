//! Lets kernels take other times on each GPU and in each step, from a seed.
//!
//! A GPU's kernels take `1 + gpu x a + step x b` times as long as on an average one. Both `a` and `b` are normal, `a` of the GPU
//! and `b` of the GPU in this step. Ranks that meet in every block go on together, as slow as the slowest. Replicas meet once
//! gradients are reduced. So a step takes as long as the slowest replica, whose stages are as slow as their slowest
//! ranks.
//!
//! It leaves out GPUs that are broken or throttled, which people take out of a job, and other times of exchanges.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};

use super::exchange_times::ExchangeTimes;
use super::units::{Chunk, Unit};
use super::{LayoutStep, StageWork};
use crate::engine::Random;
use crate::training::layout::RankGroup;
use crate::units::Picoseconds;

/// No kernel takes less than this part of its time on an average GPU.
const LEAST: f64 = 0.5;
const TWO: NonZeroU64 = NonZeroU64::new(2).unwrap();
/// Ranks of these groups meet in every block.
const IN_BLOCKS: [RankGroup; 4] =
    [RankGroup::Tensor, RankGroup::Context, RankGroup::Experts, RankGroup::ExpertParts];

/// Says by which part of their mean the times of kernels deviate (standard deviations).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variation {
    /// Those of different GPUs do by this.
    pub gpu: f64,
    /// Those of one GPU in different steps do by this.
    pub step: f64,
}

impl Variation {
    /// Has published figures.
    ///
    /// Between GPUs: Sinha et al., Not All GPUs Are Created Equal, SC 2022, found that times vary by 8 % on average on five
    /// clusters. That is the distance between a box plot's whiskers by the median (`plot_script/plot_aggregated.py` of their artifact). It
    /// is four times the distance between quartiles, which is 1.35 deviations of a normal distribution. Between steps:
    /// repeated kernels of one GPU in the same artifact (`out/pagerank_*.csv`) deviate by 0.1 %.
    pub const PUBLISHED: Self = Self { gpu: 0.08 / (4.0 * 1.349), step: 0.001 };
}

/// Says whether a chance comes true that is the exponential of minus `most`, a number up to one. The method is von Neumann's
/// (Various techniques used in connection with random digits, 1951).
fn decays(random: &mut Random, most: f64) -> bool {
    let (mut last, mut is_even) = (most, true);
    loop {
        let next = random.uniform();
        if next >= last {
            return is_even;
        }
        (last, is_even) = (next, !is_even);
    }
}

/// Gives a number of the standard normal distribution. It needs no logarithm, whose last digit differs between machines
/// (Karney, Sampling Exactly from the Normal Distribution, ACM TOMS 42, 2016).
fn normal(random: &mut Random) -> f64 {
    loop {
        let mut whole = 0_u32;
        while decays(random, 0.5) {
            whole += 1;
        }
        if !(0..whole * whole.saturating_sub(1)).all(|_| decays(random, 0.5)) {
            continue;
        }
        let (part, rest) = (f64::from(whole), random.uniform());
        let each = rest * (2.0 * part + rest) / (2.0 * part + 2.0);
        if (0..=whole).all(|_| decays(random, each)) {
            let is_below = random.below(TWO) == 0;
            return if is_below { -part - rest } else { part + rest };
        }
    }
}

/// Gives a step whose ranks take other times from each seed.
#[derive(Debug)]
pub struct VariedStep<'a> {
    step: &'a LayoutStep,
    variation: Variation,
    /// Each replica has its stages, and each of these its ranks.
    replicas: Vec<Vec<Vec<u64>>>,
    /// A micro-batch computes for so long in each stage, and waits for exchanges for so long.
    passes: Vec<[f64; 2]>,
}

impl LayoutStep {
    /// How many times as long the kernels of each rank take by a seed, in the order of the ranks. An odd seed mirrors the even one
    /// before it, so that the mean of both is one.
    #[must_use]
    pub fn factors(&self, seed: u64, variation: Variation) -> Vec<f64> {
        let [mut gpus, mut steps] = [0, 1].map(|stream| Random::stream(seed / 2, stream));
        let sign = if seed.is_multiple_of(2) { 1.0 } else { -1.0 };
        let factor = |_| {
            let gpu = variation.gpu * normal(&mut gpus);
            (1.0 + sign * (gpu + variation.step * normal(&mut steps))).max(LEAST)
        };
        (0..self.layout.gpus()).map(factor).collect()
    }

    /// Gives the same step with kernels that take as many times as long as each stage's factor says.
    #[must_use]
    pub fn slowed(&self, factors: &[f64]) -> Self {
        let of_stage = |(chunks, times): (&Vec<Chunk>, &f64)| {
            let mut known: BTreeMap<*const Unit, Arc<Unit>> = BTreeMap::new();
            let mut slowed = |unit: &Arc<Unit>| {
                let make = || {
                    let actions = unit.actions.slowed(*times);
                    Arc::new(Unit { actions, ..Unit::clone(unit) })
                };
                Arc::clone(known.entry(Arc::as_ptr(unit)).or_insert_with(make))
            };
            chunks.iter().map(|chunk| chunk.iter().map(&mut slowed).collect()).collect()
        };
        let update =
            |(time, times): (&Picoseconds, &f64)| Picoseconds((time.0 as f64 * times) as u64);
        Self {
            stages: self.stages.iter().zip(factors).map(of_stage).collect(),
            updates: self.updates.iter().zip(factors).map(update).collect(),
            programs: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Prepares the step for many seeds, where exchanges take what `times` says.
    #[must_use]
    pub fn varied(&self, variation: Variation, times: &mut dyn ExchangeTimes) -> VariedStep<'_> {
        let pass = |(stage, work): (u64, StageWork)| {
            let rows = self.rows(stage, times);
            let whole: u64 = rows.iter().flatten().flatten().map(|pass| pass.time).sum();
            let computed = work.forward.0 + work.backward.0;
            [computed as f64, whole.saturating_sub(computed) as f64]
        };
        let passes = (0..).zip(self.work()).map(pass).collect();
        VariedStep { step: self, variation, replicas: self.pipelines(), passes }
    }

    /// The ranks of each stage of each replica. Ranks that meet in every block are of one.
    fn pipelines(&self) -> Vec<Vec<Vec<u64>>> {
        let first: Vec<u64> = self.peers(0, 0).into_iter().map(|(rank, _)| rank).collect();
        let mut own: BTreeMap<u64, u64> = first.iter().map(|rank| (*rank, *rank)).collect();
        let has_experts = self.layout.ep > 1;
        let is_of_experts =
            |group: &RankGroup| matches!(group, RankGroup::Experts | RankGroup::ExpertParts);
        for group in IN_BLOCKS.iter().filter(|group| has_experts || !is_of_experts(group)) {
            for ranks in self.groups(0, *group) {
                let joined: BTreeSet<u64> = ranks.iter().map(|rank| own[rank]).collect();
                let Some(least) = joined.first().copied().filter(|_| joined.len() > 1) else {
                    continue;
                };
                for place in own.values_mut().filter(|place| joined.contains(place)) {
                    *place = least;
                }
            }
        }
        let mut replicas: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (rank, replica) in own {
            replicas.entry(replica).or_default().push(rank);
        }
        let at = |ranks: &Vec<u64>, stage: u64| {
            ranks.iter().map(|rank| self.order.at_stage(&self.layout, *rank, stage)).collect()
        };
        let staged = |ranks: Vec<u64>| (0..self.layout.pp).map(|stage| at(&ranks, stage)).collect();
        replicas.into_values().map(staged).collect()
    }
}

impl VariedStep<'_> {
    /// How long the step takes by a seed.
    pub fn time(&self, seed: u64, times: &mut dyn ExchangeTimes) -> Picoseconds {
        self.step.slowed(&self.slowest(seed)).by_turns(times)
    }

    /// Gives the factors of the stages of the replica that is the last, by an estimate. A micro-batch goes through all stages, and
    /// the others through the slowest.
    fn slowest(&self, seed: u64) -> Vec<f64> {
        let factors = self.step.factors(seed, self.variation);
        let micro_batches = self.step.micro_batches;
        let mut last: Option<(f64, Vec<f64>)> = None;
        for stages in &self.replicas {
            let of_stage =
                |ranks: &Vec<u64>| ranks.iter().map(|it| factors[*it as usize]).fold(0.0, f64::max);
            let own: Vec<f64> = stages.iter().map(of_stage).collect();
            let passes = self.passes.iter().zip(&own);
            let each = passes.map(|([computed, waited], times)| computed * times + waited);
            let (mut once, mut most) = (0.0, 0.0_f64);
            for time in each {
                once += time;
                most = most.max(time);
            }
            let whole = once + micro_batches.saturating_sub(1) as f64 * most;
            if last.as_ref().is_none_or(|(other, _)| whole > *other) {
                last = Some((whole, own));
            }
        }
        last.map(|(_, own)| own).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_normal_distribution() {
        let mut random = Random::new(5);
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut random)).collect();
        let mean = |of: &dyn Fn(f64) -> f64| {
            draws.iter().map(|it| of(*it)).sum::<f64>() / draws.len() as f64
        };
        assert!(mean(&|it| it).abs() < 0.01);
        assert!((mean(&|it| it * it) - 1.0).abs() < 0.015);
        assert!((mean(&|it| it.powi(4)) - 3.0).abs() < 0.1);
        for (bound, share) in [(1.0, 0.8413), (2.0, 0.97725), (-1.0, 0.1587)] {
            let below = mean(&|it| f64::from(it < bound));
            assert!((below - share).abs() < 0.004, "{below} below {bound}");
        }
    }
}
