//! Sums up a step of training: where its time goes, in the mean over its GPUs.
//!
//! A GPU computes, moves data, or does both at once. Of the data's time only what no kernel hides makes the step longer.
//! The times are those that a run keeps of its first job. Their sums are of seconds, rank by rank.

use super::sum;
use crate::runtime::ProgramJob;
use crate::simulation::cluster::{ClusterOutcome, Watch, tables};
use crate::training::FRAMEWORK_REGION;
use crate::units::Picoseconds;

/// A span lasts from the first second to the second one.
type Span = (f64, f64);

/// Splits a step's time into seconds, in the mean over its GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepParts {
    /// The framework works on the host before the step.
    pub framework: f64,
    /// It computes: kernels of layers and of updates run.
    pub computing: f64,
    /// Data moves to the GPU or from it, beside what it computes or not.
    pub communication: f64,
    /// It moves while no computation hides it.
    pub exposed: f64,
    /// The GPU does none of these.
    pub idle: f64,
}

impl StepParts {
    /// Sums up a run of one step that kept all of its spans. Each rank stands for as many GPUs of the step.
    ///
    /// # Panics
    /// If fewer ranks are given than the job has.
    #[must_use]
    pub fn of(
        jobs: &[ProgramJob],
        outcome: &ClusterOutcome,
        watch: &Watch,
        stands_for: &[u64],
    ) -> Self {
        let makespan = tables::makespan(outcome).as_seconds();
        let frameworks = frameworks(jobs, outcome, watch, stands_for.len());
        let computing = computing(watch, stands_for.len());
        let moving = moving(watch, stands_for.len());
        let mut sums = [0.0; 5];
        for (rank, weight) in stands_for.iter().enumerate() {
            let host = union(&frameworks[rank]);
            let kernels = less(&union(&computing[rank]), &host);
            let data = union(&moving[rank]);
            let hidden = [host.clone(), kernels.clone()].concat();
            let exposed = length(&less(&data, &hidden));
            let (framework, kernels) = (length(&host), length(&kernels));
            let idle = makespan - framework - kernels - exposed;
            let parts = [framework, kernels, length(&data), exposed, idle];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += *weight as f64 * part);
        }
        let gpus = stands_for.iter().sum::<u64>().max(1) as f64;
        let [framework, computing, communication, exposed, idle] =
            sums.map(|sum| f64::max(0.0, sum) / gpus);
        Self { framework, computing, communication, exposed, idle }
    }
}

/// Counts the seconds that a step's collectives take, in the mean over its GPUs. Copies of samples and messages between
/// two GPUs are no collectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectiveParts {
    /// A collective runs.
    pub running: f64,
    /// It runs while no computation hides it.
    pub exposed: f64,
}

impl CollectiveParts {
    /// Sums up a run of one step that kept all of its spans, on as many ranks.
    ///
    /// # Panics
    /// If the job has more.
    #[must_use]
    pub fn of(watch: &Watch, ranks: usize) -> Self {
        let (computing, kernels) = (computing(watch, ranks), kernels(watch, ranks));
        // Sums run over ranks in the order in which their first collectives end, as published figures had them.
        let mut order: Vec<usize> = Vec::new();
        let mut is_known = vec![false; ranks];
        let kept = watch.kernels.iter().filter(|it| it.kernel.rank.job == 0);
        for rank in kept.map(|it| it.kernel.rank.rank as usize) {
            if !std::mem::replace(&mut is_known[rank], true) {
                order.push(rank);
            }
        }
        let mean = |of: &dyn Fn(usize) -> f64| {
            sum(order.iter().map(|rank| of(*rank))) / ranks.max(1) as f64
        };
        Self {
            running: mean(&|rank| length(&union(&kernels[rank]))),
            exposed: mean(&|rank| length(&less(&union(&kernels[rank]), &computing[rank]))),
        }
    }
}

/// Sorts spans by their ranks.
fn by_rank(
    ranks: usize,
    spans: impl Iterator<Item = (u32, Picoseconds, Picoseconds)>,
) -> Vec<Vec<Span>> {
    let mut found = vec![Vec::new(); ranks];
    for (rank, start, end) in spans {
        found[rank as usize].push((start.as_seconds(), end.as_seconds()));
    }
    found
}

fn frameworks(
    jobs: &[ProgramJob],
    outcome: &ClusterOutcome,
    watch: &Watch,
    ranks: usize,
) -> Vec<Vec<Span>> {
    let is_framework = |region: u32| jobs[0].program.regions[region as usize] == FRAMEWORK_REGION;
    let stays = watch.stays.kept().iter().filter(|it| it.rank.job == 0 && is_framework(it.region));
    let end = |rank: u32| outcome.jobs.jobs[0].ranks[rank as usize].end;
    let span = stays.map(|it| (it.rank.rank, it.start, it.end.unwrap_or(end(it.rank.rank))));
    by_rank(ranks, span)
}

fn computing(watch: &Watch, ranks: usize) -> Vec<Vec<Span>> {
    let kept = watch.computation.iter().filter(|it| it.rank.job == 0);
    by_rank(ranks, kept.map(|it| (it.rank.rank, it.start, it.end)))
}

fn kernels(watch: &Watch, ranks: usize) -> Vec<Vec<Span>> {
    let kept = watch.kernels.iter().filter(|it| it.kernel.rank.job == 0);
    by_rank(ranks, kept.map(|it| (it.kernel.rank.rank, it.kernel.start, it.end)))
}

/// Lists when data moves: in collectives, copies and messages, at both their ends.
fn moving(watch: &Watch, ranks: usize) -> Vec<Vec<Span>> {
    let mut found = kernels(watch, ranks);
    let copies = watch.copies.iter().filter(|it| it.copy.rank.job == 0);
    let copies = copies.map(|it| (it.copy.rank.rank, it.copy.start, it.end));
    // A message without data tells another rank that something is done.
    let kept = watch.messages.iter();
    let messages = kept.filter(|it| it.message.source.job == 0 && it.message.size.0 > 0);
    let messages = messages.flat_map(|it| {
        let ends = [it.message.source.rank, it.message.destination.rank];
        ends.map(|rank| (rank, it.message.sent, it.delivered))
    });
    for (of_rank, more) in found.iter_mut().zip(by_rank(ranks, copies.chain(messages))) {
        of_rank.extend(more);
    }
    found
}

/// Gives the same times as spans that do not meet, in their order.
fn union(spans: &[Span]) -> Vec<Span> {
    let mut sorted = spans.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut joined: Vec<Span> = Vec::new();
    for (start, end) in sorted {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = f64::max(last.1, end),
            _ if end > start => joined.push((start, end)),
            _ => {}
        }
    }
    joined
}

/// Gives what of spans that do not meet is in none of the others.
fn less(spans: &[Span], taken: &[Span]) -> Vec<Span> {
    let others = union(taken);
    let mut left = Vec::new();
    let mut at = 0;
    for (start, end) in spans.iter().copied() {
        at += others[at..].iter().take_while(|other| other.1 <= start).count();
        let mut begin = start;
        for other in others[at..].iter().take_while(|other| other.0 < end) {
            if other.0 > begin {
                left.push((begin, other.0));
            }
            begin = f64::max(begin, other.1);
        }
        if begin < end {
            left.push((begin, end));
        }
    }
    left
}

fn length(spans: &[Span]) -> f64 {
    sum(spans.iter().map(|(start, end)| end - start))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::engine::Random;

    /// Draws spans within twenty seconds; some are empty, and some meet.
    fn drawn(random: &mut Random) -> Vec<Span> {
        let mut below = |bound| random.below(NonZeroU64::new(bound).unwrap());
        let mut span = || {
            let start = below(16);
            (start as f64, (start + below(4)) as f64)
        };
        [(); 5].map(|()| span()).to_vec()
    }

    #[test]
    fn spans_cover_the_seconds_that_one_of_them_covers() {
        let mut random = Random::new(1);
        let holds = |spans: &[Span], at: f64| spans.iter().any(|it| it.0 <= at && at < it.1);
        for _ in 0..2000 {
            let (ours, others) = (drawn(&mut random), drawn(&mut random));
            let joined = union(&ours);
            let left = less(&joined, &others);
            let seconds = || (0..20).map(f64::from);
            for at in seconds() {
                assert_eq!(holds(&joined, at), holds(&ours, at));
                assert_eq!(holds(&left, at), holds(&ours, at) && !holds(&others, at));
            }
            let covered = seconds().filter(|at| holds(&ours, *at)).count();
            assert_eq!(length(&joined), covered as f64);
            for spans in [&joined, &left] {
                assert!(spans.iter().all(|it| it.0 < it.1));
                assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            }
        }
    }
}
