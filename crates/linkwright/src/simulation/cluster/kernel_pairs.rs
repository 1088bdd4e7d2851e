//! Keeps the order of a kernel's messages between two ends.
//!
//! Homes of lines count on messages between two ends keeping the order in which they left. A probe that
//! overtakes an answer would find no copy. Classes have virtual channels of their own, where one may overtake another. So a
//! message that comes before its time waits at its end, and fills no place of the network meanwhile. Those before it
//! are under way in channels that wait for none of its class, and always come.

use std::collections::VecDeque;

/// Messages under way, by the pairs of their ends.
#[derive(Debug, Clone)]
pub(super) struct KernelPairs {
    ends: u32,
    pairs: Vec<Pair>,
    /// Tells the pair of each message under way, and its place there.
    of: Vec<(u32, u64)>,
    /// Those that have come in their order, and that nobody has asked for.
    ready: VecDeque<u32>,
}

/// Holds messages from one end to another, in the order in which they left.
#[derive(Debug, Clone, Default)]
struct Pair {
    /// Counts those before the first.
    first: u64,
    /// Each with whether it has come.
    under_way: VecDeque<(u32, bool)>,
}

impl KernelPairs {
    /// Begins with nothing under way between its ends.
    pub(super) fn new(ends: u32) -> Self {
        let pairs = vec![Pair::default(); (ends * ends) as usize];
        Self { ends, pairs, of: Vec::new(), ready: VecDeque::new() }
    }

    /// A message leaves one end for another.
    pub(super) fn leave(&mut self, (from, to): (u32, u32), what: u32) {
        let pair = from * self.ends + to;
        let of = &mut self.pairs[pair as usize];
        let place = of.first + of.under_way.len() as u64;
        of.under_way.push_back((what, false));
        if self.of.len() <= what as usize {
            self.of.resize(what as usize + 1, (0, 0));
        }
        self.of[what as usize] = (pair, place);
    }

    /// A message has come.
    pub(super) fn arrive(&mut self, what: u32) {
        let (pair, place) = self.of[what as usize];
        let of = &mut self.pairs[pair as usize];
        of.under_way[(place - of.first) as usize].1 = true;
        while let Some((what, true)) = of.under_way.front().copied() {
            of.under_way.pop_front();
            of.first += 1;
            self.ready.push_back(what);
        }
    }

    /// Gives the next message behind which all before it have come.
    pub(super) fn next_in_order(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Gives messages turns by chance, and asks each pair for the order in which they left.
        #[test]
        fn each_pair_keeps_its_order(pairs in proptest::collection::vec((0_u32..3, 0_u32..3), 1..60), turns in proptest::collection::vec(0_usize..60, 60)) {
            let mut held = KernelPairs::new(3);
            let mut under_way: Vec<u32> = Vec::new();
            for (what, pair) in (0..).zip(&pairs) {
                held.leave(*pair, what);
                under_way.push(what);
            }
            let mut heard = Vec::new();
            for turn in turns.iter().cycle() {
                if under_way.is_empty() {
                    break;
                }
                held.arrive(under_way.remove(turn % under_way.len()));
                heard.extend(std::iter::from_fn(|| held.next_in_order()));
            }
            prop_assert_eq!(heard.len(), pairs.len());
            for pair in &pairs {
                let of: Vec<u32> = heard.iter().copied().filter(|what| pairs[*what as usize] == *pair).collect();
                prop_assert!(of.is_sorted());
            }
        }
    }
}
