//! Finds the best ring of every subset under the published regression.
//!
//! The regression is not monotone, so the heaviest ring is not always its best. For every path of
//! the dynamic programming, 256 bits keep the set of reachable (double, single) link counts. Where
//! pairs of one class differ in weight, the heaviest path with each of these counts is kept, too.
//! The best of a subset is the best over all counts that a ring of it can have. Among rings with
//! the same prediction the heaviest wins.

use super::paths::{bits, path_starts};
use super::rank::Primary;
use crate::allocation::bandwidth::published::Regression;
use crate::allocation::links::{LinkCounts, PairClass, PairTable};

/// Which (double, single) counts are reachable: bit `16 double + single`. A path of at most
/// 16 GPUs has at most 15 edges, so that both fit.
type Counts = [u64; 4];

/// Stands for a path of one GPU.
const NO_LINKS: Counts = [1, 0, 0, 0];

/// Holds the weight of the heaviest path with given counts.
#[derive(Debug, Clone)]
enum Weights {
    /// All pairs of a class (double, single, PCIe) have this weight.
    Uniform([u64; 3]),
    /// Orders the weights by path, and then by the reachable counts in the order of their bits.
    Tabulated { starts: Vec<u32>, heaviest: Vec<u64> },
}

/// Holds the best published effective bandwidth over the rings of all subsets.
#[derive(Debug, Clone)]
pub struct RingLinksTable {
    starts: Vec<u32>,
    paths: Vec<Counts>,
    weights: Weights,
    best: Vec<f64>,
    /// Aggregated bandwidth of the ring that [`Self::ring`] gives.
    aggregated: Vec<u64>,
    regression: Regression,
}

/// A ring as far as its rank goes.
#[derive(Debug, Clone, Copy)]
struct Ring {
    last: usize,
    links: LinkCounts,
    weight: u64,
}

impl RingLinksTable {
    /// Prepares the table.
    #[must_use]
    pub fn new(pairs: &PairTable, regression: Regression) -> Self {
        let starts = path_starts(pairs.count());
        let subsets = 1_usize << pairs.count();
        let mut paths = vec![[0; 4]; starts[subsets] as usize];
        for subset in 1..subsets {
            let first = subset.trailing_zeros() as usize;
            let later = subset & (subset - 1);
            for (at, last) in bits(later).enumerate() {
                let mut reachable = [0; 4];
                if later & (later - 1) == 0 {
                    reachable = shifted(NO_LINKS, pairs.class(first, last));
                }
                let rest = subset & !(1 << last);
                let known = &paths[starts[rest] as usize..starts[rest + 1] as usize];
                for (previous, path) in bits(rest & (rest - 1)).zip(known) {
                    merge(&mut reachable, shifted(*path, pairs.class(previous, last)));
                }
                paths[starts[subset] as usize + at] = reachable;
            }
        }
        let weights = match class_weights(pairs) {
            Some(weights) => Weights::Uniform(weights),
            None => heaviest_paths(pairs, &starts, &paths),
        };
        let best = vec![regression.effective_bandwidth(LinkCounts::default()); subsets];
        let aggregated = vec![0; subsets];
        let mut table = Self { starts, paths, weights, best, aggregated, regression };
        table.rank_rings(pairs);
        table
    }

    /// Fills in the best ring of every subset of two GPUs and more.
    fn rank_rings(&mut self, pairs: &PairTable) {
        let predicted = tabulate_predictions(&self.regression);
        let at = |links: LinkCounts| (links.double * 17 + links.single) * 17 + links.pcie;
        for subset in (1..self.best.len()).filter(|subset| !subset.is_power_of_two()) {
            let mut best = (f64::NEG_INFINITY, 0);
            if let Weights::Uniform(weights) = self.weights {
                let edges = subset.count_ones() as usize - 1;
                for (class, paths) in PairClass::ALL.into_iter().zip(self.closed(subset, pairs)) {
                    for (double, single) in members(paths) {
                        let path = LinkCounts { double, single, pcie: edges - double - single };
                        let links = if edges > 1 { path.plus(class) } else { path };
                        let value = predicted[at(links)];
                        if value >= best.0 {
                            best = larger(best, (value, weigh(links, weights)));
                        }
                    }
                }
            } else {
                for ring in self.rings(subset, pairs) {
                    best = larger(best, (predicted[at(ring.links)], ring.weight));
                }
            }
            (self.best[subset], self.aggregated[subset]) = best;
        }
    }

    /// Returns the counts that the paths of a subset reach, by the class of the edge that closes
    /// them to a ring.
    fn closed(&self, subset: usize, pairs: &PairTable) -> [Counts; 3] {
        let first = subset.trailing_zeros() as usize;
        let mut closed = [[0; 4]; 3];
        for (last, path) in bits(subset & (subset - 1)).zip(self.paths_of(subset)) {
            merge(&mut closed[pairs.class(last, first) as usize], *path);
        }
        closed
    }

    /// Returns the counts that the paths of a subset reach, by their last GPU.
    fn paths_of(&self, subset: usize) -> &[Counts] {
        &self.paths[self.starts[subset] as usize..self.starts[subset + 1] as usize]
    }

    /// Returns the best prediction over the subset's rings.
    #[must_use]
    #[inline]
    pub fn primary(&self, subset: u16) -> Primary {
        Primary::of_prediction(self.best[usize::from(subset)])
    }

    /// Returns the aggregated bandwidth of the ring with that prediction, bytes per second.
    #[must_use]
    #[inline]
    pub fn aggregated(&self, subset: u16) -> u64 {
        self.aggregated[usize::from(subset)]
    }

    /// Returns the heaviest ring with that prediction, from its lowest GPU on. Among several it
    /// takes one with the most doubles, then with the most singles. It finds the ring from its last
    /// GPU back, lowest ids first.
    #[must_use]
    pub fn ring(&self, subset: u16, pairs: &PairTable) -> Vec<usize> {
        let mut rest = usize::from(subset);
        let Some(first) = bits(rest).next() else { return Vec::new() };
        let rank = (self.best[rest], self.aggregated[rest]);
        let chosen = self
            .rings(rest, pairs)
            .filter(|ring| (self.regression.effective_bandwidth(ring.links), ring.weight) == rank)
            .max_by_key(|ring| (ring.links, usize::MAX - ring.last));
        let Some(Ring { mut last, mut links, mut weight }) = chosen else {
            return vec![first];
        };
        if rest.count_ones() > 2 {
            links = minus(links, pairs.class(last, first)).unwrap_or_default();
            weight -= pairs.weight(last, first);
        }
        let mut ring = vec![last];
        while rest.count_ones() > 2 {
            let step = before(&self.starts, rest, last).find_map(|(previous, path)| {
                let links = minus(links, pairs.class(previous, last))?;
                let bit = bit_of(links);
                let fits = contains(self.paths[path], bit)
                    && self.heaviest(path, bit, links) + pairs.weight(previous, last) == weight;
                fits.then_some((previous, links))
            });
            let Some((previous, left)) = step else { break };
            weight -= pairs.weight(previous, last);
            ring.push(previous);
            rest &= !(1 << last);
            (last, links) = (previous, left);
        }
        ring.push(first);
        ring.reverse();
        ring
    }

    /// Weight of the heaviest path with counts that it can have, by its index.
    fn heaviest(&self, path: usize, bit: usize, links: LinkCounts) -> u64 {
        match &self.weights {
            Weights::Uniform(weights) => weigh(links, *weights),
            Weights::Tabulated { starts, heaviest } => {
                heaviest[starts[path] as usize + members_below(self.paths[path], bit)]
            }
        }
    }

    /// Lists the heaviest ring of the subset with each last GPU and link counts of its path.
    fn rings<'a>(&'a self, subset: usize, pairs: &'a PairTable) -> impl Iterator<Item = Ring> + 'a {
        let first = subset.trailing_zeros() as usize;
        let later = subset & subset.wrapping_sub(1);
        let edges = subset.count_ones() as usize - 1;
        let start = self.starts[subset] as usize;
        bits(later).zip(start..).flat_map(move |(last, path)| {
            members(self.paths[path]).map(move |(double, single)| {
                let links = LinkCounts { double, single, pcie: edges - double - single };
                let weight = self.heaviest(path, bit_of(links), links);
                if edges == 1 {
                    return Ring { last, links, weight };
                }
                let links = links.plus(pairs.class(last, first));
                Ring { last, links, weight: weight + pairs.weight(last, first) }
            })
        })
    }
}

/// Lists the paths of a subset without its last GPU: the GPU before it, and the path's index.
fn before(starts: &[u32], subset: usize, last: usize) -> impl Iterator<Item = (usize, usize)> {
    let rest = subset & !(1 << last);
    bits(rest & (rest - 1)).zip(starts[rest] as usize..)
}

/// The heaviest path to each subset's GPUs, by the counts that it can have.
fn heaviest_paths(pairs: &PairTable, starts: &[u32], paths: &[Counts]) -> Weights {
    let mut weight_starts = Vec::with_capacity(paths.len() + 1);
    let mut entries = 0;
    for path in paths {
        weight_starts.push(entries);
        entries += path.iter().map(|word| word.count_ones()).sum::<u32>();
    }
    let mut heaviest: Vec<u64> = Vec::with_capacity(entries as usize);
    let mut most = [0_u64; 256];
    for subset in 1..starts.len() - 1 {
        let first = subset.trailing_zeros() as usize;
        let later = subset & (subset - 1);
        for (at, last) in bits(later).enumerate() {
            if later & (later - 1) == 0 {
                most[shift_of(pairs.class(first, last))] = pairs.weight(first, last);
            }
            for (previous, path) in before(starts, subset, last) {
                let (shift, edge) =
                    (shift_of(pairs.class(previous, last)), pairs.weight(previous, last));
                let known = &heaviest[weight_starts[path] as usize..];
                for (bit, weight) in member_bits(paths[path]).zip(known) {
                    let entry = &mut most[bit + shift];
                    *entry = (*entry).max(*weight + edge);
                }
            }
            for bit in member_bits(paths[starts[subset] as usize + at]) {
                heaviest.push(std::mem::take(&mut most[bit]));
            }
        }
    }
    Weights::Tabulated { starts: weight_starts, heaviest }
}

/// Returns the better of two (prediction, weight).
fn larger(a: (f64, u64), b: (f64, u64)) -> (f64, u64) {
    if b > a { b } else { a }
}

/// The weight of each class (double, single, PCIe) where all its pairs have the same one.
fn class_weights(pairs: &PairTable) -> Option<[u64; 3]> {
    let mut weights = [None; 3];
    for (a, b) in (0..pairs.count()).flat_map(|b| (0..b).map(move |a| (a, b))) {
        let weight = pairs.weight(a, b);
        if *weights[pairs.class(a, b) as usize].get_or_insert(weight) != weight {
            return None;
        }
    }
    Some(weights.map(Option::unwrap_or_default))
}

fn weigh(links: LinkCounts, weights: [u64; 3]) -> u64 {
    let counts = [links.double, links.single, links.pcie];
    counts.into_iter().zip(weights).map(|(count, weight)| count as u64 * weight).sum()
}

/// Eq. 2 for all counts up to 16 of each class.
fn tabulate_predictions(regression: &Regression) -> Vec<f64> {
    let counts = (0..17).flat_map(|x| (0..17).flat_map(move |y| (0..17).map(move |z| (x, y, z))));
    counts
        .map(|(double, single, pcie)| {
            regression.effective_bandwidth(LinkCounts { double, single, pcie })
        })
        .collect()
}

/// Returns the shift that one more link adds to the bit of the counts.
const fn shift_of(class: PairClass) -> usize {
    match class {
        PairClass::Double => 16,
        PairClass::Single => 1,
        PairClass::Pcie => 0,
    }
}

#[inline]
fn shifted(counts: Counts, class: PairClass) -> Counts {
    let [a, b, c, d] = counts;
    match shift_of(class) {
        0 => counts,
        by => {
            let carry = 64 - by;
            [a << by, b << by | a >> carry, c << by | b >> carry, d << by | c >> carry]
        }
    }
}

#[inline]
fn merge(into: &mut Counts, other: Counts) {
    for (word, bits) in into.iter_mut().zip(other) {
        *word |= bits;
    }
}

const fn bit_of(links: LinkCounts) -> usize {
    links.double * 16 + links.single
}

fn contains(counts: Counts, bit: usize) -> bool {
    bit < 256 && counts[bit / 64] >> (bit % 64) & 1 == 1
}

/// How many counts have a lower bit.
fn members_below(counts: Counts, bit: usize) -> usize {
    let whole: u32 = counts[..bit / 64].iter().map(|word| word.count_ones()).sum();
    (whole + (counts[bit / 64] & ((1 << (bit % 64)) - 1)).count_ones()) as usize
}

#[inline]
fn member_bits(counts: Counts) -> impl Iterator<Item = usize> {
    (0..4).flat_map(move |word| bits(counts[word] as usize).map(move |bit| word * 64 + bit))
}

fn members(counts: Counts) -> impl Iterator<Item = (usize, usize)> {
    member_bits(counts).map(|bit| (bit / 16, bit % 16))
}

fn minus(mut links: LinkCounts, class: PairClass) -> Option<LinkCounts> {
    let count = match class {
        PairClass::Double => &mut links.double,
        PairClass::Single => &mut links.single,
        PairClass::Pcie => &mut links.pcie,
    };
    *count = count.checked_sub(1)?;
    Some(links)
}
