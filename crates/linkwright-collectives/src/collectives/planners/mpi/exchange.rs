//! Exchanges over growing distances, and all-to-all.

use super::{ONE, Source};
use crate::collectives::schedule::Slice;
use crate::collectives::schedule::source::Group;

/// How many messages each way an all-to-all in blocks keeps under way: TraceR's
/// `TRACER_BLOCK_SIZE`, and MPICH's throttle of the same number.
pub(super) const BLOCK: u32 = 32;

/// The parts of an all-to-all whose way from source to destination, as a number of ranks, has a bit.
pub(super) fn ways(ranks: u32, bit: u32) -> u32 {
    let (ranks, half) = (u64::from(ranks), 1_u64 << bit);
    let rest = (ranks % (2 * half)).saturating_sub(half);
    (ranks / (2 * half) * half + rest) as u32
}

impl Source {
    fn after(&self, me: u32, by: u32) -> u32 {
        ((u64::from(me) + u64::from(by)) % u64::from(self.ranks)) as u32
    }

    fn before(&self, me: u32, by: u32) -> u32 {
        self.after(me, self.ranks - by)
    }

    /// No rank leaves before it has heard, over others, from all.
    pub(super) fn dissemination(&self, me: u32, bit: u32, group: &mut Group) {
        let (own, distance) = (Slice::output(0), 1 << bit);
        if bit == 0 {
            group.copy(Slice::input(0), own, 1);
        }
        group.reduce(self.before(me, distance), (own, own), 1, 0..0);
        group.send(self.after(me, distance), own, 1, 0..0);
    }

    /// Each rank's run of blocks doubles, from its own one on; it holds them in that order.
    pub(super) fn all_gather_bruck(&self, me: u32, bit: u32, group: &mut Group) {
        let (ranks, distance) = (self.ranks, 1 << bit);
        if bit == 0 {
            group.copy(Slice::input(0), Slice::scratch(0), 1);
        }
        let count = distance.min(ranks - distance);
        let run = |first: u32| first..first + count;
        let (to, from) = (self.before(me, distance), self.after(me, distance));
        group.receive(from, Slice::scratch(distance), count, run(from));
        group.send(to, Slice::scratch(0), count, run(me));
        if bit + 1 == self.levels() {
            group.copy(Slice::scratch(0), Slice::output(me), ranks - me);
            group.copy(Slice::scratch(ranks - me), Slice::output(0), me);
        }
    }

    /// The most parts that one message of [`Source::all_to_all_bruck`] carries.
    fn most_ways(&self) -> u32 {
        (0..self.levels()).map(|bit| ways(self.ranks, bit)).max().unwrap_or(0)
    }

    /// Returns the scratch of [`Source::all_to_all_bruck`]: a part for each way, a message out and
    /// one in.
    pub(super) fn bruck_scratch(&self) -> u32 {
        self.ranks + 2 * self.most_ways()
    }

    /// Each part travels the powers of two that its way is made of. A rank holds one part for each
    /// way, and packs those that go on.
    pub(super) fn all_to_all_bruck(&self, me: u32, bit: u32, group: &mut Group) {
        let (ranks, distance) = (self.ranks, 1 << bit);
        let count = ways(ranks, bit);
        let (out, back) = (ranks, ranks + self.most_ways());
        if bit == 0 {
            group.copy(Slice::input(me), Slice::scratch(0), ranks - me);
            group.copy(Slice::input(0), Slice::scratch(ranks - me), me);
        }
        // The runs of ways with the bit: where each starts, how many, and how many came before.
        let mut packed = 0;
        let runs: Vec<(u32, u32, u32)> = if group.with_copies() {
            let starts = (distance..ranks).step_by(2 * distance as usize);
            let run = |start: u32| {
                let length = distance.min(ranks - start);
                packed += length;
                (start, length, packed - length)
            };
            starts.map(run).collect()
        } else {
            Vec::new()
        };
        for (start, length, at) in &runs {
            group.copy(Slice::scratch(*start), Slice::scratch(out + at), *length);
        }
        let (to, from) = (self.after(me, distance), self.before(me, distance));
        group.receive(from, Slice::scratch(back), count, 0..count);
        group.send(to, Slice::scratch(out), count, 0..count);
        for (start, length, at) in &runs {
            group.copy(Slice::scratch(back + at), Slice::scratch(*start), *length);
        }
        if bit + 1 == self.levels() && group.with_copies() {
            for way in 0..ranks {
                group.copy(Slice::scratch(way), Slice::output(self.before(me, way)), 1);
            }
        }
    }

    /// Writes one partner after another. Where the number of ranks is a power of two, partners are
    /// found by exclusive or, so that pairs exchange. Otherwise step N sends to the rank N ahead
    /// and receives from the rank N behind.
    pub(super) fn all_to_all_pairwise(&self, me: u32, number: u32, group: &mut Group) {
        let step = number + 1;
        let (to, from) = if self.ranks.is_power_of_two() {
            (me ^ step, me ^ step)
        } else {
            (self.after(me, step), self.before(me, step))
        };
        if number == 0 {
            group.copy(Slice::input(me), Slice::output(me), 1);
        }
        group.receive(from, Slice::output(from), 1, me..me + 1);
        group.send(to, Slice::input(to), 1, to..to + 1);
    }

    /// Up to 32 partners at once, the nearest first, so that no rank is everyone's first target.
    pub(super) fn all_to_all_blocked(&self, me: u32, number: u32, group: &mut Group) {
        let first = number * BLOCK + 1;
        let steps = first..(first + BLOCK).min(self.ranks);
        if number == 0 {
            group.copy(Slice::input(me), Slice::output(me), 1);
        }
        for from in steps.clone().map(|step| self.before(me, step)) {
            group.receive(from, Slice::output(from), 1, me..me + 1);
        }
        for to in steps.map(|step| self.after(me, step)) {
            group.send(to, Slice::input(to), 1, to..to + 1);
        }
    }

    /// Each rank's sum reaches back twice as far in every phase (Hillis and Steele, "Data parallel
    /// algorithms", CACM 1986).
    pub(super) fn scan_doubling(&self, me: u32, bit: u32, group: &mut Group) {
        let (sum, distance) = (Slice::output(0), 1 << bit);
        if bit == 0 {
            group.copy(Slice::input(0), sum, 1);
        }
        if let Some(from) = me.checked_sub(distance) {
            group.reduce(from, (sum, sum), 1, ONE);
        }
        if let Some(to) = me.checked_add(distance).filter(|peer| *peer < self.ranks) {
            group.send(to, sum, 1, ONE);
        }
    }
}
