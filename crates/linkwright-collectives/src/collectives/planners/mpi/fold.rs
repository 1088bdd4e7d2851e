//! Does recursive doubling and halving for any number of ranks.
//!
//! Where the number of ranks is no power of two, the surplus is folded in first. In each of the
//! first pairs of ranks, the even one hands its vector to the odd one. It gets the result back in
//! the end. The source is Thakur, Rabenseifner, Gropp, "Optimization of collective communication
//! operations in MPICH", 2005. The others count anew, and so do the runs of blocks that they stand
//! for.

use std::ops::Range;

use super::Source;
use crate::collectives::schedule::Slice;
use crate::collectives::schedule::source::Group;
use crate::program::CollectiveKind;

/// Who takes part in the middle.
#[derive(Debug, Clone, Copy)]
struct Fold {
    /// How many ranks do: the largest power of two.
    power: u32,
    /// How many pairs are folded.
    pairs: u32,
}

impl Fold {
    fn new(ranks: u32) -> Self {
        let power = 1 << ranks.ilog2();
        Self { power, pairs: ranks - power }
    }

    /// The number in the middle, or `None` for a rank that is folded into the next.
    fn number(self, index: u32) -> Option<u32> {
        match index {
            folded if folded < 2 * self.pairs => (folded % 2 == 1).then_some(folded / 2),
            other => Some(other - self.pairs),
        }
    }

    fn index(self, number: u32) -> u32 {
        if number < self.pairs { 2 * number + 1 } else { number + self.pairs }
    }

    /// Returns the blocks that this many numbers from one on stand for.
    fn blocks(self, number: u32, count: u32) -> Range<u32> {
        let start = |number: u32| number + number.min(self.pairs);
        start(number)..start(number + count)
    }

    /// Returns a rank's half of a run of twice this many numbers, and its partner's.
    fn halves(self, me: u32, half: u32) -> (Range<u32>, Range<u32>) {
        let start = me / half * half;
        (self.blocks(start, half), self.blocks(start ^ half, half))
    }
}

/// Names the work of a group.
enum Stage {
    Fold,
    Double(u32),
    Halve(u32),
    Unfold,
}

impl Source {
    /// How many phases the middle has.
    fn folded_levels(&self) -> u32 {
        self.ranks.ilog2()
    }

    /// How many groups there are: one to fold, one to unfold, and those between.
    pub(super) fn fold_groups(&self, middles: u32) -> u32 {
        2 + middles * self.folded_levels()
    }

    /// Returns the place where a rank works. It is the whole vector, and a reduce-scatter puts out
    /// a shard of it.
    fn work(&self, offset: u32) -> Slice {
        match self.kind {
            CollectiveKind::ReduceScatter => Slice::scratch(offset),
            _ => Slice::output(offset),
        }
    }

    /// Returns the whole vector in blocks, or in one.
    fn blocks_of_vector(&self) -> Range<u32> {
        0..if self.kind == CollectiveKind::ReduceScatter { self.ranks } else { self.blocks }
    }

    /// Does an all-reduce by exchanges of whole vectors.
    pub(super) fn all_reduce_doubling(&self, me: u32, number: u32, group: &mut Group) {
        let levels = self.folded_levels();
        let stage = match number {
            0 => Stage::Fold,
            _ if number <= levels => Stage::Double(number - 1),
            _ => Stage::Unfold,
        };
        let fold = Fold::new(self.ranks);
        let whole = self.blocks_of_vector();
        match (stage, fold.number(me)) {
            (Stage::Double(phase), Some(own)) => {
                let peer = fold.index(own ^ (1 << phase));
                let at = self.work(0);
                group.reduce(peer, (at, at), whole.end, whole.clone());
                group.send(peer, at, whole.end, whole);
            }
            (Stage::Fold, _) => self.fold(fold, me, group),
            (Stage::Unfold, _) => self.unfold(fold, me, |_| whole.clone(), group),
            _ => {}
        }
    }

    /// All-reduce by halving, then doubling: each rank sends twice its vector, nearly.
    pub(super) fn all_reduce_halving(&self, me: u32, number: u32, group: &mut Group) {
        let levels = self.folded_levels();
        let stage = match number {
            0 => Stage::Fold,
            _ if number <= levels => Stage::Halve(number - 1),
            _ if number <= 2 * levels => Stage::Double(number - levels - 1),
            _ => Stage::Unfold,
        };
        let fold = Fold::new(self.ranks);
        match (stage, fold.number(me)) {
            (Stage::Halve(phase), Some(own)) => self.halve(fold, own, phase, group),
            (Stage::Double(phase), Some(own)) => {
                let half = 1 << phase;
                let (mine, other) = fold.halves(own, half);
                let peer = fold.index(own ^ half);
                let (to, count) = (self.work(other.start), other.end - other.start);
                group.receive(peer, to, count, other);
                group.send(peer, self.work(mine.start), mine.end - mine.start, mine);
            }
            (Stage::Fold, _) => self.fold(fold, me, group),
            (Stage::Unfold, _) => self.unfold(fold, me, |_| self.blocks_of_vector(), group),
            _ => {}
        }
    }

    /// Does a reduce-scatter by halving.
    pub(super) fn reduce_scatter_halving(&self, me: u32, number: u32, group: &mut Group) {
        let fold = Fold::new(self.ranks);
        match (number, fold.number(me)) {
            (0, _) => self.fold(fold, me, group),
            (phase, Some(own)) if phase <= self.folded_levels() => {
                self.halve(fold, own, phase - 1, group);
            }
            (phase, own) if phase > self.folded_levels() => {
                if own.is_some() {
                    group.copy(self.work(me), Slice::output(0), 1);
                }
                self.unfold(fold, me, |folded| folded..folded + 1, group);
            }
            _ => {}
        }
    }

    /// Hands over the vectors of folded ranks.
    fn fold(&self, fold: Fold, me: u32, group: &mut Group) {
        let whole = self.blocks_of_vector();
        if fold.number(me).is_none() {
            group.send(me + 1, Slice::input(0), whole.end, whole);
            return;
        }
        let at = self.work(0);
        group.copy(Slice::input(0), at, whole.end);
        if me < 2 * fold.pairs {
            group.reduce(me - 1, (at, at), whole.end, whole);
        }
    }

    /// Hands the results back to the folded ranks.
    fn unfold(&self, fold: Fold, me: u32, result: impl Fn(u32) -> Range<u32>, group: &mut Group) {
        if me >= 2 * fold.pairs {
            return;
        }
        if fold.number(me).is_none() {
            let run = result(me);
            group.receive(me + 1, Slice::output(0), run.end - run.start, run);
        } else {
            let run = result(me - 1);
            group.send(me - 1, self.work(run.start), run.end - run.start, run);
        }
    }

    /// Cuts the run that a rank sums in halves, down to its own blocks.
    fn halve(&self, fold: Fold, own: u32, phase: u32, group: &mut Group) {
        let half = fold.power >> (phase + 1);
        let (kept, given) = fold.halves(own, half);
        let peer = fold.index(own ^ half);
        let at = self.work(kept.start);
        group.reduce(peer, (at, at), kept.end - kept.start, kept);
        group.send(peer, self.work(given.start), given.end - given.start, given);
    }
}
