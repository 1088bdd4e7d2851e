//! Recursive doubling and halving for any number of ranks.
//!
//! Where ranks are no power of two, the surplus is folded in first: of the first pairs of
//! ranks, the even one hands its vector to the odd one and gets its result back in the end
//! (Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
//! MPICH", 2005). The others count anew, and so do the runs of blocks that they stand for.

use super::plan::{Content, Plan};

struct Fold {
    /// How many ranks take part in the middle: the largest power of two.
    power: u32,
    /// How many pairs are folded.
    pairs: u32,
}

impl Fold {
    fn new(ranks: u32) -> Self {
        let power = 1 << ranks.ilog2();
        Self { power, pairs: ranks - power }
    }

    /// How many phases the middle has.
    fn levels(&self) -> u32 {
        self.power.trailing_zeros()
    }

    /// The number in the middle, or `None` for a rank that is folded into the next.
    fn number(&self, index: u32) -> Option<u32> {
        match index {
            folded if folded < 2 * self.pairs => (folded % 2 == 1).then_some(folded / 2),
            other => Some(other - self.pairs),
        }
    }

    fn index(&self, number: u32) -> u32 {
        if number < self.pairs { 2 * number + 1 } else { number + self.pairs }
    }

    /// The blocks that this many numbers from one on stand for.
    fn blocks(&self, number: u32, count: u32) -> Content {
        let start = |number: u32| number + number.min(self.pairs);
        let first = start(number);
        Content::Blocks { first, count: start(number + count) - first }
    }

    /// Hands over the vectors of folded ranks.
    fn fold(&self, plan: &mut Plan, me: u32) {
        if me < 2 * self.pairs {
            match me % 2 {
                0 => plan.send(0, me + 1, Content::Vector),
                _ => plan.receive(0, me - 1, Content::Vector),
            }
        }
        plan.end_stage(1);
    }

    /// Hands the results back to the folded ranks.
    fn unfold(&self, plan: &mut Plan, me: u32, result: impl Fn(u32) -> Content) {
        if me < 2 * self.pairs {
            match me % 2 {
                0 => plan.receive(0, me + 1, result(me)),
                _ => plan.send(0, me - 1, result(me - 1)),
            }
        }
        plan.end_stage(1);
    }

    /// Halves the run that a rank sums, down to its own blocks.
    fn halve(&self, plan: &mut Plan, me: u32) {
        if let Some(me) = self.number(me) {
            for phase in 0..self.levels() {
                let half = self.power >> (phase + 1);
                let (kept, given) = self.halves(me, half);
                plan.exchange(phase, (self.index(me ^ half), given), (self.index(me ^ half), kept));
            }
        }
        plan.end_stage(self.levels());
    }

    /// Doubles the run of finished sums that a rank has, up to all.
    fn double(&self, plan: &mut Plan, me: u32) {
        if let Some(me) = self.number(me) {
            for phase in 0..self.levels() {
                let half = 1 << phase;
                let (own, other) = self.halves(me, half);
                plan.exchange(phase, (self.index(me ^ half), own), (self.index(me ^ half), other));
            }
        }
        plan.end_stage(self.levels());
    }

    /// A rank's half of a run of twice this many numbers, and its partner's.
    fn halves(&self, me: u32, half: u32) -> (Content, Content) {
        let start = me / half * half;
        (self.blocks(start, half), self.blocks(start ^ half, half))
    }
}

/// All-reduce by exchanges of whole vectors.
pub fn all_reduce_doubling(plan: &mut Plan, ranks: u32, me: u32) {
    let fold = Fold::new(ranks);
    fold.fold(plan, me);
    if let Some(number) = fold.number(me) {
        for phase in 0..fold.levels() {
            let peer = fold.index(number ^ (1 << phase));
            plan.exchange(phase, (peer, Content::Vector), (peer, Content::Vector));
        }
    }
    plan.end_stage(fold.levels());
    fold.unfold(plan, me, |_| Content::Vector);
}

/// All-reduce by halving, then doubling: each rank sends twice its vector, nearly.
pub fn all_reduce_halving(plan: &mut Plan, ranks: u32, me: u32) {
    let fold = Fold::new(ranks);
    fold.fold(plan, me);
    fold.halve(plan, me);
    fold.double(plan, me);
    fold.unfold(plan, me, |_| Content::Vector);
}

/// Reduce-scatter by halving.
pub fn reduce_scatter(plan: &mut Plan, ranks: u32, me: u32) {
    let fold = Fold::new(ranks);
    fold.fold(plan, me);
    fold.halve(plan, me);
    fold.unfold(plan, me, |folded| Content::Blocks { first: folded, count: 1 });
}
