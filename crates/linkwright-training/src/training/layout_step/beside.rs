//! Says how much longer kernels take while collectives run beside them on the same GPU.
//!
//! A collective's blocks keep multiprocessors from products, and its data keep memory from all other kernels. Both go on
//! with the rest, in proportion. It leaves out that a product of exactly as many blocks as there are multiprocessors needs a
//! second round, and that kernels slow collectives down.

use super::exchange_times::{BesideTimes, TakenShare};
use super::rows::Pass;
use super::{ClassTimes, Exchanges, LayoutStep};
use crate::units::Bandwidth;

/// Says how much collectives take of a GPU at most.
const MOST: f64 = 0.5;

/// Holds the collectives that run, or will, by the times at which they begin and end.
#[derive(Debug, Clone, Default)]
pub(super) struct Beside {
    spans: Vec<(u64, u64, TakenShare)>,
}

impl Beside {
    /// Adds a collective that takes something.
    pub(super) fn add(&mut self, begun: u64, end: u64, taken: TakenShare) {
        if end > begun && (taken.units > 0.0 || taken.memory > 0.0) {
            self.spans.push((begun, end, taken));
        }
    }

    /// When a pass ends that begins at a time; times of later passes are no earlier.
    pub(super) fn end(&mut self, from: u64, pass: &Pass) -> u64 {
        self.spans.retain(|(_, end, _)| *end > from);
        if self.spans.is_empty() || pass.time == 0 {
            return from + pass.time;
        }
        let of_pass = |time: u64| time as f64 / pass.time as f64;
        let (products, others) = (of_pass(pass.products), of_pass(pass.computed - pass.products));
        let (mut now, mut rest) = (from, pass.time as f64);
        loop {
            let (mut taken, mut next) = (0.0, u64::MAX);
            for (begun, end, share) in &self.spans {
                if *begun > now {
                    next = next.min(*begun);
                } else if *end > now {
                    taken += products * share.units + others * share.memory;
                    next = next.min(*end);
                }
            }
            let speed = 1.0 - taken.min(MOST);
            let done = (next - now) as f64 * speed;
            if next == u64::MAX || done >= rest {
                return now + (rest / speed) as u64;
            }
            (now, rest) = (next, rest - done);
        }
    }
}

impl LayoutStep {
    /// Gives the same step, turn by turn, where kernels wait until the host has launched them.
    #[must_use]
    pub fn launched(&self) -> Self {
        Self { is_launched: true, ..self.clone() }
    }

    /// Gives times of exchanges with what collectives take of a GPU, from its blocks and what its links carry.
    #[must_use]
    pub fn beside<T>(
        &self,
        times: ClassTimes,
        exchanges: &Exchanges<T>,
        of: impl Fn(&T) -> (u32, Bandwidth),
    ) -> BesideTimes {
        let taken = exchanges.map(|exchange| {
            let (blocks, bus) = of(exchange);
            self.taken(blocks, bus)
        });
        BesideTimes { times, taken: taken.calls }
    }

    /// Says what a collective takes of a GPU that runs it in some blocks while its links carry `bus`. A block keeps a
    /// multiprocessor; whatever the links carry is read from memory, and written behind them.
    #[must_use]
    pub fn taken(&self, blocks: u32, bus: Bandwidth) -> TakenShare {
        TakenShare {
            units: f64::from(blocks) / self.gpu.units().max(1) as f64,
            memory: 2.0 * bus.0 as f64 / self.gpu.memory().0.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_go_on_with_what_collectives_leave() {
        let pass = Pass { time: 1000, computed: 1000, products: 1000, launched: 0 };
        let taken = TakenShare { units: 0.2, memory: 0.4 };
        let mut beside = Beside::default();
        assert_eq!(beside.end(0, &pass), 1000);
        beside.add(100, 600, taken);
        // 500 of the collective's time do 400 of the pass.
        assert_eq!(beside.end(0, &pass), 1100);
        // Half of the pass waits for memory.
        let mixed = Pass { products: 500, ..pass };
        assert_eq!(beside.end(0, &mixed), 1150);
        // It waits for a call in the other half, which no collective slows down.
        let waiting = Pass { computed: 500, products: 500, ..pass };
        assert_eq!(beside.end(0, &waiting), 1050);
        assert_eq!(beside.end(600, &pass), 1600);
    }
}
