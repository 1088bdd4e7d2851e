//! Values as sets of contributions.

use std::collections::BTreeMap;

use super::super::fault::{ScheduleFault, StepPlace};
use crate::collectives::schedule::placement::Placement;

/// Words of all sets of ranks together that the checker keeps, 64 ranks each.
const SET_WORDS: usize = 1 << 24;

/// Stands for a chunk of the input, reduced over some ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    /// Gives the index in [`RankSets`].
    pub(super) ranks: usize,
    /// Gives the chunk of each of these ranks' inputs.
    pub(super) chunk: usize,
}

impl Value {
    /// Returns the value that many chunks further in the same run.
    pub(super) const fn skip(self, chunks: usize) -> Self {
        Self { chunk: self.chunk + chunks, ..self }
    }
}

/// Holds consecutive chunks of the same set of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Counts the chunks.
    pub(super) length: usize,
    /// Gives the value of the first of them.
    pub(super) value: Value,
}

/// Appends a run, as part of the last where it continues that.
pub(super) fn push(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.value.skip(last.length) == run.value => last.length += run.length,
        _ => runs.push(run),
    }
}

/// Where two values are combined, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Combination {
    pub(super) place: StepPlace,
    pub(super) placement: Placement,
    /// Whether no rank's contribution may be in both.
    pub(super) once: bool,
}

/// Returns the reduction of two values of the same length.
pub(super) fn combine(
    sets: &mut RankSets,
    Combination { place, placement, once }: Combination,
    first: &[Run],
    second: &[Run],
) -> Result<Vec<Run>, ScheduleFault> {
    let mut combined = Vec::new();
    let (mut left, mut right) = (first.iter().copied(), second.iter().copied());
    let (mut a, mut b) = (left.next(), right.next());
    while let (Some(x), Some(y)) = (a, b) {
        let length = x.length.min(y.length);
        let (ours, theirs) = (x.value.chunk, y.value.chunk);
        if ours != theirs {
            let (first, second) = (ours, theirs);
            return Err(ScheduleFault::MixedChunks { place, first, second, placement });
        }
        if let Some(rank) = sets.shared(x.value.ranks, y.value.ranks).filter(|_| once) {
            return Err(ScheduleFault::CountedTwice { place, rank, chunk: ours, placement });
        }
        let ranks = sets.union(x.value.ranks, y.value.ranks)?;
        push(&mut combined, Run { length, value: Value { ranks, chunk: ours } });
        let rest = |run: Run| Run { length: run.length - length, value: run.value.skip(length) };
        a = if x.length > length { Some(rest(x)) } else { left.next() };
        b = if y.length > length { Some(rest(y)) } else { right.next() };
    }
    Ok(combined)
}

/// Holds every set of ranks that occurs, once.
#[derive(Debug, Clone)]
pub(super) struct RankSets {
    ranks: usize,
    sets: Vec<Vec<u64>>,
    known: BTreeMap<Vec<u64>, usize>,
    unions: BTreeMap<(usize, usize), usize>,
}

impl RankSets {
    pub(super) const fn new(ranks: usize) -> Self {
        Self { ranks, sets: Vec::new(), known: BTreeMap::new(), unions: BTreeMap::new() }
    }

    /// Returns the set of one rank.
    pub(super) fn single(&mut self, rank: usize) -> Result<usize, ScheduleFault> {
        let mut words = vec![0; self.ranks.div_ceil(64)];
        words[rank / 64] |= 1 << (rank % 64);
        self.intern(words)
    }

    /// Returns the set of the first `count` ranks.
    pub(super) fn first(&mut self, count: usize) -> Result<usize, ScheduleFault> {
        let mut words = vec![0; self.ranks.div_ceil(64)];
        for rank in 0..count {
            words[rank / 64] |= 1 << (rank % 64);
        }
        self.intern(words)
    }

    /// The first rank that is in both sets.
    fn shared(&self, first: usize, second: usize) -> Option<usize> {
        let pairs = self.sets[first].iter().zip(&self.sets[second]).enumerate();
        let mut common = pairs.map(|(word, (a, b))| (word, a & b));
        let (word, bits) = common.find(|(_, bits)| *bits != 0)?;
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    fn union(&mut self, first: usize, second: usize) -> Result<usize, ScheduleFault> {
        let key = (first.min(second), first.max(second));
        if let Some(set) = self.unions.get(&key) {
            return Ok(*set);
        }
        let words = self.sets[first].iter().zip(&self.sets[second]).map(|(a, b)| a | b).collect();
        let set = self.intern(words)?;
        self.unions.insert(key, set);
        Ok(set)
    }

    fn intern(&mut self, words: Vec<u64>) -> Result<usize, ScheduleFault> {
        if let Some(set) = self.known.get(&words) {
            return Ok(*set);
        }
        let found = (self.sets.len() + 1) * words.len();
        if found > SET_WORDS {
            let what = "words of sets of ranks to follow";
            return Err(ScheduleFault::TooLarge { what, found, limit: SET_WORDS });
        }
        self.sets.push(words.clone());
        self.known.insert(words, self.sets.len() - 1);
        Ok(self.sets.len() - 1)
    }

    /// Describes a value in words.
    pub(super) fn describe(&self, value: Value) -> String {
        const SHOWN: usize = 8;
        let words = &self.sets[value.ranks];
        let inside = |rank: &usize| words[rank / 64] >> (rank % 64) & 1 == 1;
        let members: Vec<_> = (0..self.ranks).filter(inside).map(|rank| rank.to_string()).collect();
        let chunk = value.chunk;
        match members.len() {
            1 => format!("rank {}'s chunk {chunk}", members[0]),
            count if count == self.ranks => format!("the reduction of all ranks' chunk {chunk}"),
            count if count > SHOWN => {
                let some = members[..SHOWN].join(", ");
                format!("the reduction of chunk {chunk} of {count} ranks ({some}, ...)")
            }
            _ => format!("the reduction of chunk {chunk} of ranks {}", members.join(", ")),
        }
    }
}
