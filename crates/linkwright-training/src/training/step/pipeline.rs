//! Every GPU has some of the blocks, and parts of a batch follow one another through them: one
//! forward, one backward. The schedule is 1F1B with a flush at the end of the batch (Narayanan et
//! al., PipeDream, SOSP 2019).

use std::ops::Range;

use super::Step;
use super::parts::Unit;
use super::writing::{Region, Writing};
use crate::program::{PendingOperation, Program, Rank};
use crate::training::error::TrainingError;
use crate::units::Picoseconds;

/// Which blocks each stage of a pipeline has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineStages(pub Vec<Range<usize>>);

impl PipelineStages {
    /// Divides times into `stages` runs, none empty, so that the longest is as short as can be. Of
    /// equal divisions it takes the one with the earliest cuts. It returns `None` where there are
    /// fewer times than stages.
    #[must_use]
    pub fn of(times: &[u64], stages: usize) -> Option<Self> {
        if stages == 0 || times.len() < stages {
            return None;
        }
        // Stages that hold no more than `most`, with enough blocks left for the others.
        let cut = |most: u64| {
            let mut cuts = Vec::with_capacity(stages);
            let mut from = 0;
            for left in (0..stages).rev() {
                let (mut to, mut held) = (from + 1, times[from]);
                while to + left < times.len() && held + times[to] <= most {
                    held += times[to];
                    to += 1;
                }
                if held > most {
                    return None;
                }
                cuts.push(from..to);
                from = to;
            }
            (from == times.len()).then_some(cuts)
        };
        let (mut least, mut enough) = (0, times.iter().sum());
        while least < enough {
            let middle = least + (enough - least) / 2;
            match cut(middle) {
                Some(_) => enough = middle,
                None => least = middle + 1,
            }
        }
        cut(enough).map(Self)
    }
}

/// The program; the times of the layers are those of one part of the batch.
pub(super) fn program(step: &Step<'_>) -> Result<Program, TrainingError> {
    let stages = step.ranks.len();
    let units = step.ranks[0].units();
    let times: Vec<u64> = units.iter().map(|unit| unit.forward.0 + unit.backward.0).collect();
    let cuts = PipelineStages::of(&times, stages)
        .ok_or(TrainingError::TooManyStages { stages, blocks: units.len() })?;
    let mut all = Writing::new(stages);
    let own: Vec<Vec<Unit>> = cuts
        .0
        .iter()
        .zip(step.ranks)
        .map(|(cut, rank)| rank.units()[cut.clone()].to_vec())
        .collect();
    for rank in 0..stages as Rank {
        all.begin(step, rank);
    }
    let mut pipe = Pipe { step, own: &own, come: vec![[Vec::new(), Vec::new()]; stages] };
    // A stage's next turn is written once what it waits for is.
    let mut turns: Vec<_> =
        (0..stages).map(|stage| pipe.turns(stage).into_iter().peekable()).collect();
    let mut is_moving = true;
    while is_moving {
        is_moving = false;
        for (stage, turns) in turns.iter_mut().enumerate() {
            while let Some(turn) = turns.next_if(|turn| pipe.is_ready(stage, *turn)) {
                pipe.write(&mut all, stage, turn);
                is_moving = true;
            }
        }
    }
    let all_weights: u64 = units.iter().map(|unit| unit.weights.0).sum();
    for (rank, own) in (0..).zip(&own) {
        let weights: u64 = own.iter().map(|unit| unit.weights.0).sum();
        let whole = u128::from(step.ranks[rank as usize].update().0);
        let update = whole * u128::from(weights) / u128::from(all_weights.max(1));
        all.within((rank, Region::Update), |all| {
            all.compute(rank, Picoseconds(update as u64), &[])
        });
    }
    Ok(all.finish(step.name))
}

/// Names a part of the batch, forward or backward.
#[derive(Debug, Clone, Copy)]
struct Turn {
    is_backward: bool,
    part: usize,
}

struct Pipe<'a> {
    step: &'a Step<'a>,
    own: &'a [Vec<Unit>],
    /// Of each stage, what has come to it of each part: activations and gradients.
    come: Vec<[Vec<PendingOperation>; 2]>,
}

impl Pipe<'_> {
    /// Lists the turns of a stage in its order. It first goes forward once for each stage behind
    /// it, then takes one of each in turns.
    fn turns(&self, stage: usize) -> Vec<Turn> {
        let parts = self.step.micro_batches.max(1) as usize;
        let ahead = (self.own.len() - stage - 1).min(parts);
        let forward = |part| Turn { is_backward: false, part };
        let backward = |part| Turn { is_backward: true, part };
        let first = (0..ahead).map(forward);
        let turns = (ahead..parts).flat_map(|part| [forward(part), backward(part - ahead)]);
        first.chain(turns).chain((parts - ahead..parts).map(backward)).collect()
    }

    /// Whether what a turn waits for is written.
    fn is_ready(&self, stage: usize, turn: Turn) -> bool {
        let is_source = if turn.is_backward { stage + 1 == self.own.len() } else { stage == 0 };
        is_source || self.come[stage][usize::from(turn.is_backward)].len() > turn.part
    }

    fn write(&mut self, all: &mut Writing, stage: usize, turn: Turn) {
        let rank = stage as Rank;
        let Turn { is_backward, part } = turn;
        let come = self.come[stage][usize::from(is_backward)].get(part).copied();
        let (region, next) = if is_backward {
            (Region::Backward, stage.checked_sub(1))
        } else {
            (Region::Forward, Some(stage + 1).filter(|next| *next < self.own.len()))
        };
        let time = |unit: &Unit| if is_backward { unit.backward.0 } else { unit.forward.0 };
        let duration = Picoseconds(self.own[stage].iter().map(time).sum());
        all.wait(rank, come.as_slice());
        let done = all.within((rank, region), |all| all.compute(rank, duration, &[]));
        if let Some(next) = next {
            // A gradient is as large as what it is the gradient of.
            let written = if is_backward { next } else { stage };
            let size = self.own[written].last().map_or_else(Default::default, |unit| unit.output);
            let (_, come) = all.access((rank, next as Rank), size, &[done]);
            self.come[next][usize::from(is_backward)].push(come);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finds the shortest longest run, by trying every cut.
    fn brute_force(times: &[u64], stages: usize) -> u64 {
        if stages == 1 {
            return times.iter().sum();
        }
        let first = 1..=times.len() + 1 - stages;
        let cut =
            |at: usize| times[..at].iter().sum::<u64>().max(brute_force(&times[at..], stages - 1));
        first.map(cut).min().unwrap()
    }

    proptest! {
        #[test]
        fn the_longest_stage_is_as_short_as_any_cut_makes_it(
            times in proptest::collection::vec(0_u64..50, 1..9), stages in 1_usize..9,
        ) {
            let cuts = PipelineStages::of(&times, stages);
            prop_assert_eq!(cuts.is_some(), stages <= times.len());
            if let Some(PipelineStages(cuts)) = cuts {
                let longest = cuts.iter().map(|cut| times[cut.clone()].iter().sum::<u64>()).max();
                prop_assert_eq!(longest, Some(brute_force(&times, stages)));
                prop_assert!(cuts.iter().all(|cut| !cut.is_empty()));
                prop_assert!(cuts.windows(2).all(|pair| pair[0].end == pair[1].start));
                prop_assert_eq!((cuts[0].start, cuts[stages - 1].end), (0, times.len()));
            }
        }
    }
}
