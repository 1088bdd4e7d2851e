//! Heavy rings through sets that are too large for the tables, with a bound from above.
//!
//! Rings are built from several GPUs by the heaviest next pair. They are improved by exchanging two
//! of their edges (2-opt) and by moving up to three neighbours elsewhere (Or-opt) until nothing
//! helps. Then they are kicked (four edges exchanged at fixed places) and improved again. The bound
//! is Held and Karp's: the heaviest 1-tree, which is a spanning tree with one more edge at one GPU.
//! Prices drive every GPU's edges towards two. Every ring is a 1-tree, and the prices cancel on it.
//! Where the two meet, the ring is proven to be the heaviest.
//!
//! The methods are those of three sources. Croes, "A Method for Solving Traveling-Salesman
//! Problems", Operations Research 6, 1958. Or, dissertation, Northwestern University, 1976. Held
//! and Karp, "The Traveling-Salesman Problem and Minimum Spanning Trees", Operations Research 18,
//! 1970.

use crate::allocation::GpuSet;
use crate::allocation::effort::Effort;
use crate::allocation::links::PairTable;

/// From how many GPUs rings are built.
const STARTS: usize = 12;

/// How many kicks in a row may fail before the ring is given.
const IDLE_KICKS: usize = 200;

/// How often the prices are corrected.
const PRICE_STEPS: usize = 150;

/// Holds a ring, and a bound that no ring through the same GPUs exceeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongRing {
    /// Lists the GPUs along the ring.
    pub ring: Vec<usize>,
    /// Sums all its edges, bytes per second.
    pub weight: u64,
    /// The most that any ring through these GPUs has.
    pub bound: u64,
}

/// A heavy ring through three GPUs and more; it settles for less where the effort ends.
#[must_use]
pub fn heavy_ring(pairs: &PairTable, gpus: GpuSet, effort: &mut Effort<'_>) -> LongRing {
    let ids: Vec<usize> = gpus.iter().collect();
    let weights = Weights::new(pairs, &ids);
    let mut bound = weights.two_heaviest_of_each();
    let mut best = Vec::new();
    let mut most = 0;
    let stride = (ids.len() / STARTS).max(1);
    for start in (0..ids.len()).step_by(stride) {
        let mut ring = weights.nearest_from(start);
        weights.improve(&mut ring, effort);
        let weight = weights.of(&ring);
        if best.is_empty() || weight > most {
            (best, most) = (ring, weight);
        }
        if most >= bound || effort.is_spent() {
            break;
        }
    }
    if most < bound {
        bound = bound.min(weights.one_tree_bound(most, effort));
    }
    let mut idle = 0;
    for kick in 0.. {
        if most >= bound || idle >= IDLE_KICKS || effort.is_spent() {
            break;
        }
        let mut ring = kicked(&best, kick);
        weights.improve(&mut ring, effort);
        let weight = weights.of(&ring);
        // An equal ring is another place to go on from.
        idle = if weight > most { 0 } else { idle + 1 };
        if weight >= most {
            (best, most) = (ring, weight);
        }
    }
    let lowest = best.iter().position(|at| *at == 0).unwrap_or(0);
    best.rotate_left(lowest);
    LongRing { ring: best.into_iter().map(|at| ids[at]).collect(), weight: most, bound }
}

/// The ring with its second and third of four parts exchanged, cut at places that the kick's
/// number spreads evenly.
fn kicked(ring: &[usize], kick: usize) -> Vec<usize> {
    let count = ring.len();
    if count < 8 {
        let mut other = ring.to_vec();
        other.swap(kick % count, (kick + 1 + kick / count) % count);
        return other;
    }
    // The golden ratio's multiples fall evenly into the ring.
    let place = |salt: usize| {
        let mixed = ((kick * 3 + salt) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        1 + ((u128::from(mixed) * (count as u128 - 1)) >> 64) as usize
    };
    let mut cuts = [place(1), place(2), place(3)];
    cuts.sort_unstable();
    let [a, b, c] = cuts;
    [&ring[..a], &ring[b..c], &ring[a..b], &ring[c..]].concat()
}

/// Holds the weights between the GPUs of one set, by their place in it.
struct Weights {
    count: usize,
    all: Vec<i64>,
}

impl Weights {
    // A weight is at most 5 * 10^13 bytes per second, so that sums of prices fit well.
    fn new(pairs: &PairTable, ids: &[usize]) -> Self {
        let each = ids.iter().flat_map(|a| ids.iter().map(|b| pairs.weight(*a, *b) as i64));
        Self { count: ids.len(), all: each.collect() }
    }

    #[inline]
    fn between(&self, a: usize, b: usize) -> i64 {
        self.all[a * self.count + b]
    }

    fn of(&self, ring: &[usize]) -> u64 {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| self.between(*a, *b)).sum::<i64>() as u64
    }

    /// Half of every GPU's two heaviest pairs: a ring takes two of each.
    fn two_heaviest_of_each(&self) -> u64 {
        let of = |gpu: usize| {
            let mut row: Vec<i64> =
                (0..self.count).filter(|b| *b != gpu).map(|b| self.between(gpu, b)).collect();
            row.sort_unstable_by(|a, b| b.cmp(a));
            row.iter().take(2).sum::<i64>()
        };
        (0..self.count).map(of).sum::<i64>() as u64 / 2
    }

    /// From one GPU always on over the heaviest pair to one that is left.
    fn nearest_from(&self, start: usize) -> Vec<usize> {
        let mut rest: Vec<usize> = (0..self.count).filter(|at| *at != start).collect();
        let mut ring = vec![start];
        let mut at = start;
        while !rest.is_empty() {
            let by_weight =
                |(place, gpu): &(usize, &usize)| (self.between(at, **gpu), usize::MAX - place);
            let (place, _) = rest.iter().enumerate().max_by_key(by_weight).unwrap_or((0, &0));
            at = rest.remove(place);
            ring.push(at);
        }
        ring
    }

    /// Applies 2-opt and Or-opt until neither helps.
    fn improve(&self, ring: &mut [usize], effort: &mut Effort<'_>) {
        while !effort.is_spent() {
            effort.spend(1 + (self.count * self.count) as u64 / 64);
            let exchanged = self.exchange_two(ring);
            let moved = self.move_neighbours(ring);
            if !exchanged && !moved {
                break;
            }
        }
    }

    /// Takes out two edges and turns what lies between round, wherever that helps.
    fn exchange_two(&self, ring: &mut [usize]) -> bool {
        let count = ring.len();
        let mut helped = false;
        for from in 0..count - 1 {
            for to in from + 1..count {
                let (before, after) = (ring[(from + count - 1) % count], ring[(to + 1) % count]);
                if before == ring[to] {
                    continue;
                }
                let gain = self.between(before, ring[to]) + self.between(ring[from], after)
                    - self.between(before, ring[from])
                    - self.between(ring[to], after);
                if gain > 0 {
                    ring[from..=to].reverse();
                    helped = true;
                }
            }
        }
        helped
    }

    /// Moves one, two or three neighbours between two others, either way round, wherever that
    /// helps.
    fn move_neighbours(&self, ring: &mut [usize]) -> bool {
        let count = ring.len();
        let mut helped = false;
        for length in 1..=3.min(count.saturating_sub(3)) {
            for _ in 0..count {
                // The neighbours always stand first, and the ring is turned on by one.
                ring.rotate_left(1);
                let (first, last) = (ring[0], ring[length - 1]);
                let (before, after) = (ring[count - 1], ring[length]);
                let closed = self.between(before, after)
                    - self.between(before, first)
                    - self.between(last, after);
                let places = (length..count - 1).flat_map(|at| {
                    let (a, b) = (ring[at], ring[at + 1]);
                    let open = closed - self.between(a, b);
                    let along = open + self.between(a, first) + self.between(last, b);
                    let turned = open + self.between(a, last) + self.between(first, b);
                    [(along, at, false), (turned, at, true)]
                });
                let best = places.reduce(|best, other| if other.0 > best.0 { other } else { best });
                let Some((_, at, turned)) = best.filter(|(gain, ..)| *gain > 0) else { continue };
                if turned {
                    ring[..length].reverse();
                }
                ring[..=at].rotate_left(length);
                helped = true;
            }
        }
        helped
    }

    /// The least of the heaviest 1-trees under all prices that were tried, no less than the
    /// heaviest ring; `reached` is a ring's weight.
    fn one_tree_bound(&self, reached: u64, effort: &mut Effort<'_>) -> u64 {
        let mut prices = vec![0_i64; self.count];
        let (mut least, mut pace, mut failed) = (i64::MAX, 2.0, 0);
        for _ in 0..PRICE_STEPS {
            effort.spend(1 + (self.count * self.count) as u64 / 64);
            let (tree, degrees) = self.one_tree(&prices);
            let value = tree - 2 * prices.iter().sum::<i64>();
            failed = if value < least { 0 } else { failed + 1 };
            least = least.min(value);
            if failed == 8 {
                (pace, failed) = (pace / 2.0, 0);
            }
            let above: i64 = degrees.iter().map(|degree| (degree - 2).pow(2)).sum();
            if above == 0 || self.down_to_a_ring(least) <= reached || effort.is_spent() {
                break;
            }
            let step = pace * (value - reached as i64) as f64 / above as f64;
            for (price, degree) in prices.iter_mut().zip(degrees) {
                *price -= (step * (degree - 2) as f64).round() as i64;
            }
        }
        self.down_to_a_ring(least)
    }

    /// Returns the largest weight up to `most` that a ring can have. The weights of two rings
    /// differ by a multiple of the greatest common divisor of the differences between the pairs'
    /// weights.
    fn down_to_a_ring(&self, most: i64) -> u64 {
        let others = || (0..self.count).flat_map(|a| (0..a).map(move |b| (a, b)));
        let lightest = others().map(|(a, b)| self.between(a, b)).min().unwrap_or(0);
        let all_lightest = lightest * self.count as i64;
        let unit = others().fold(0, |unit, (a, b)| {
            let (mut a, mut b) = (unit, self.between(a, b) - lightest);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        });
        let above = (most - all_lightest).max(0);
        (all_lightest + if unit == 0 { 0 } else { above / unit * unit }) as u64
    }

    /// Weight of the heaviest 1-tree, prices added to both ends of every edge, and how many
    /// edges each GPU has in it.
    fn one_tree(&self, prices: &[i64]) -> (i64, Vec<i64>) {
        let priced = |a: usize, b: usize| self.between(a, b) + prices[a] + prices[b];
        let mut degrees = vec![0; self.count];
        // Prim's tree of all but the first GPU.
        let mut nearest: Vec<(i64, usize)> = (0..self.count).map(|at| (priced(1, at), 1)).collect();
        let mut rest: Vec<usize> = (2..self.count).collect();
        let mut sum = 0;
        while let Some((place, gpu)) =
            rest.iter().copied().enumerate().max_by_key(|(_, gpu)| nearest[*gpu].0)
        {
            rest.swap_remove(place);
            let (weight, parent) = nearest[gpu];
            sum += weight;
            degrees[gpu] += 1;
            degrees[parent] += 1;
            for other in &rest {
                let edge = priced(gpu, *other);
                if edge > nearest[*other].0 {
                    nearest[*other] = (edge, gpu);
                }
            }
        }
        let mut own: Vec<(i64, usize)> = (1..self.count).map(|at| (priced(0, at), at)).collect();
        own.sort_unstable_by(|a, b| b.cmp(a));
        for (weight, at) in own.into_iter().take(2) {
            sum += weight;
            degrees[at] += 1;
            degrees[0] += 1;
        }
        (sum, degrees)
    }
}
