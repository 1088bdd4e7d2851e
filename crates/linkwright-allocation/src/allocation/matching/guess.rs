//! Finds a good placement quickly, which the search then has to beat.
//!
//! Placements are built vertex by vertex, starting from several GPUs. Each vertex goes on the GPU
//! that ranks best beside its neighbours. Three moves then improve a placement until none helps.
//! They exchange two GPUs, turn a run of vertices round, or move up to three vertices along. The
//! result is kicked and improved again. The first placement that the search finds is no worse. So a
//! search that ends by itself finds the same one with and without the guess.

use super::plan::Plan;
use super::rank::Rank;
use super::scores::MatchScore;
use super::search::Placement;
use crate::allocation::GpuSet;
use crate::allocation::effort::Effort;

/// From how many GPUs placements are built.
const STARTS: usize = 6;

/// How many kicks in a row may fail.
const IDLE_KICKS: usize = 30;

/// Limits the turning and moving of runs to patterns of at most this many vertices.
const MAX_RUNS: usize = 32;

/// A placement of the pattern on exactly these GPUs. It ends early where the rank reaches
/// `most` or no more effort is left than the reserve.
#[must_use]
pub fn guess<S: MatchScore>(
    plan: &Plan<'_>,
    gpus: GpuSet,
    score: &S,
    (most, reserve): (Rank, u64),
    effort: &mut Effort<'_>,
) -> Placement {
    let guesser = Guesser { plan, score, most, reserve };
    let ids: Vec<usize> = gpus.iter().collect();
    let mut best = guesser.improved(ids.clone(), effort);
    for start in ids.iter().step_by((ids.len() / STARTS).max(1)) {
        if guesser.ends(best.rank, effort) {
            return best;
        }
        let other = guesser.improved(guesser.grown(gpus, *start), effort);
        if other.rank > best.rank {
            best = other;
        }
    }
    let mut idle = 0;
    for kick in 0.. {
        if idle >= IDLE_KICKS || guesser.ends(best.rank, effort) {
            break;
        }
        let mut kicked = best.gpus.clone();
        for turn in 0..3 {
            // The golden ratio's multiples fall evenly into the placement.
            let place = |salt: usize| {
                let mixed =
                    ((kick * 6 + turn * 2 + salt) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((u128::from(mixed) * kicked.len() as u128) >> 64) as usize
            };
            let (a, b) = (place(1), place(2));
            kicked.swap(a, b);
        }
        let other = guesser.improved(kicked, effort);
        idle = if other.rank > best.rank { 0 } else { idle + 1 };
        if other.rank >= best.rank {
            best = other;
        }
    }
    best
}

struct Guesser<'a, S: MatchScore> {
    plan: &'a Plan<'a>,
    score: &'a S,
    most: Rank,
    reserve: u64,
}

impl<S: MatchScore> Guesser<'_, S> {
    fn ends(&self, rank: Rank, effort: &Effort<'_>) -> bool {
        rank >= self.most || effort.left() <= self.reserve
    }

    fn rank(&self, gpus: &[usize]) -> Rank {
        self.score.rank_of(self.plan.pattern(), gpus)
    }

    /// The first vertex on that GPU, every next where it ranks best beside those placed.
    fn grown(&self, gpus: GpuSet, start: usize) -> Vec<usize> {
        let mut rest = gpus;
        let mut placed: Vec<usize> = Vec::with_capacity(gpus.len());
        let mut of_vertex = vec![0; gpus.len()];
        for step in self.plan.steps() {
            let rank = |gpu: &usize| {
                let mut sum = self.score.start();
                for (before, edge, is_upper) in &step.neighbours {
                    let other = placed[*before];
                    let ends = if *is_upper { [other, *gpu] } else { [*gpu, other] };
                    self.score.add(&mut sum, *edge, ends);
                }
                self.score.rank(&sum)
            };
            let first = if placed.is_empty() { Some(start) } else { None };
            let Some(gpu) = first.or_else(|| rest.iter().max_by_key(rank)) else { break };
            rest = rest.without(GpuSet::EMPTY.with(gpu));
            placed.push(gpu);
            of_vertex[step.vertex] = gpu;
        }
        of_vertex
    }

    fn improved(&self, mut gpus: Vec<usize>, effort: &mut Effort<'_>) -> Placement {
        let mut rank = self.rank(&gpus);
        let price = 1 + self.plan.pattern().edges().len() as u64 / 64;
        let count = gpus.len();
        let runs = if count <= MAX_RUNS { 3 } else { 0 };
        let mut helped = true;
        while helped && !self.ends(rank, effort) {
            helped = false;
            let mut tried = 0;
            let mut attempt = |gpus: &mut Vec<usize>, change: Change, tried: &mut u64| {
                *tried += 1;
                change.apply(gpus);
                let other = self.rank(gpus);
                if other > rank {
                    (rank, helped) = (other, true);
                } else {
                    change.undo(gpus);
                }
            };
            for from in 0..count {
                for to in from + 1..count {
                    attempt(&mut gpus, Change::Swap(from, to), &mut tried);
                    if runs > 0 && to - from > 2 {
                        attempt(&mut gpus, Change::Turn(from, to), &mut tried);
                    }
                    for length in 1..=runs.min(to - from) {
                        attempt(&mut gpus, Change::Forth(from, to, length), &mut tried);
                        attempt(&mut gpus, Change::Back(from, to, length), &mut tried);
                    }
                }
            }
            effort.spend(tried * price / 4);
        }
        Placement { gpus, rank }
    }
}

/// Describes a change of the GPUs between two places, both included.
#[derive(Clone, Copy)]
enum Change {
    /// The two are exchanged.
    Swap(usize, usize),
    /// All between them are turned round.
    Turn(usize, usize),
    /// Moves the first N behind the others.
    Forth(usize, usize, usize),
    /// Moves the last N before the others.
    Back(usize, usize, usize),
}

impl Change {
    fn apply(self, gpus: &mut [usize]) {
        match self {
            Self::Swap(from, to) => gpus.swap(from, to),
            Self::Turn(from, to) => gpus[from..=to].reverse(),
            Self::Forth(from, to, length) => gpus[from..=to].rotate_left(length),
            Self::Back(from, to, length) => gpus[from..=to].rotate_right(length),
        }
    }

    fn undo(self, gpus: &mut [usize]) {
        match self {
            Self::Swap(..) | Self::Turn(..) => self.apply(gpus),
            Self::Forth(from, to, length) => Self::Back(from, to, length).apply(gpus),
            Self::Back(from, to, length) => Self::Forth(from, to, length).apply(gpus),
        }
    }
}
