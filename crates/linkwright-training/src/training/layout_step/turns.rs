//! Orders the micro-batches of a pipeline's stage: one forward, one backward, by chunks where it has several. The
//! order is that of Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021.

/// A micro-batch that passes one chunk of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Turn {
    pub is_backward: bool,
    pub chunk: u64,
    pub micro_batch: u64,
}

/// How a pipeline is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pipe {
    pub stages: u64,
    pub chunks: u64,
    pub micro_batches: u64,
}

impl Pipe {
    /// Gives the turns of a stage. It begins with one forward pass for each stage behind it. With chunks it begins
    /// with twice as many, and a round of each other chunk. Then one goes forward and one backward.
    pub(super) fn turns(&self, stage: u64) -> Vec<Turn> {
        let Self { stages, chunks, micro_batches } = *self;
        let all = micro_batches * chunks;
        let behind = stages - stage - 1;
        let ahead = if chunks == 1 { behind } else { 2 * behind + (chunks - 1) * stages };
        let ahead = ahead.min(all);
        let forward = |at| self.turn(at, false);
        let backward = |at| self.turn(at, true);
        let first = (0..ahead).map(forward);
        let turns = (ahead..all).flat_map(|at| [forward(at), backward(at - ahead)]);
        first.chain(turns).chain((all - ahead..all).map(backward)).collect()
    }

    /// A round takes as many micro-batches through each chunk as there are stages; backward the last chunk is first.
    fn turn(&self, at: u64, is_backward: bool) -> Turn {
        let Self { stages, chunks, .. } = *self;
        let round = stages * chunks;
        let chunk = at % round / stages;
        let chunk = if is_backward { chunks - 1 - chunk } else { chunk };
        // One chunk takes all in a row, however many there are.
        let micro_batch = if chunks == 1 { at } else { at / round * stages + at % stages };
        let chunk = if chunks == 1 { 0 } else { chunk };
        Turn { is_backward, chunk, micro_batch }
    }

    /// The stage and the chunk that a turn's data comes from; none where it begins.
    pub(super) fn before(&self, stage: u64, turn: Turn) -> Option<(u64, Turn)> {
        let (stages, last) = (self.stages, self.chunks - 1);
        let to = |stage, chunk| Some((stage, Turn { chunk, ..turn }));
        if turn.is_backward {
            match (stage + 1 == stages, turn.chunk == last) {
                (true, true) => None,
                (true, false) => to(0, turn.chunk + 1),
                (false, _) => to(stage + 1, turn.chunk),
            }
        } else {
            match (stage, turn.chunk) {
                (0, 0) => None,
                (0, chunk) => to(stages - 1, chunk - 1),
                (stage, chunk) => to(stage - 1, chunk),
            }
        }
    }

    /// The stage and the chunk that a turn's data goes to; none where it ends.
    pub(super) fn behind(&self, stage: u64, turn: Turn) -> Option<(u64, Turn)> {
        let turned = Turn { is_backward: !turn.is_backward, ..turn };
        let (stage, next) = self.before(stage, turned)?;
        Some((stage, Turn { is_backward: turn.is_backward, ..next }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every chunk of every stage takes each micro-batch forward and backward once, and no turn waits for ever.
        #[test]
        fn turns_end(stages in 1_u64..6, chunks in 1_u64..5, rounds in 1_u64..5) {
            let chunks = if stages == 1 { 1 } else { chunks };
            let micro_batches = if chunks > 1 { rounds * stages } else { rounds };
            let pipe = Pipe { stages, chunks, micro_batches };
            let all: Vec<Vec<Turn>> = (0..stages).map(|stage| pipe.turns(stage)).collect();
            let mut done = BTreeSet::new();
            let mut next = vec![0; stages as usize];
            let mut is_moving = true;
            while is_moving {
                is_moving = false;
                for (stage, turns) in (0..).zip(&all) {
                    while let Some(turn) = turns.get(next[stage as usize]) {
                        let waits = pipe.before(stage, *turn);
                        let kept = Turn { is_backward: false, ..*turn };
                        let is_kept = !turn.is_backward || done.contains(&(stage, kept));
                        if !is_kept || waits.is_some_and(|it| !done.contains(&it)) {
                            break;
                        }
                        prop_assert!(done.insert((stage, *turn)));
                        if let Some((to, came)) = pipe.behind(stage, *turn) {
                            prop_assert_eq!(pipe.before(to, came), Some((stage, *turn)));
                        }
                        next[stage as usize] += 1;
                        is_moving = true;
                    }
                }
            }
            prop_assert_eq!(done.len() as u64, stages * 2 * chunks * micro_batches);
        }
    }
}
