//! The best ring of every subset under the published regression.
//!
//! The regression is not monotone, so the heaviest ring is not always its best. For every
//! path of the dynamic programming the set of reachable (double, single) link counts is
//! kept as 256 bits; the best of a subset is the best over all counts that a ring of it can
//! have.

use super::paths::{bits, path_starts};
use crate::allocation::bandwidth::published;
use crate::allocation::links::{LinkClass, LinkCounts, PairTable};

/// Which (double, single) counts are reachable: bit `16 double + single`. A path of at most
/// 16 GPUs has at most 15 edges, so that both fit.
type Counts = [u64; 4];

/// Best published effective bandwidth over the rings of all subsets.
#[derive(Debug, Clone)]
pub struct RingLinksTable {
    starts: Vec<u32>,
    paths: Vec<Counts>,
    best: Vec<f64>,
    /// Aggregated bandwidth of the ring that [`Self::ring`] gives.
    aggregated: Vec<u64>,
}

impl RingLinksTable {
    /// Prepares the table.
    #[must_use]
    pub fn new(pairs: &PairTable) -> Self {
        let starts = path_starts(pairs.count());
        let subsets = 1_usize << pairs.count();
        let mut table = Self {
            paths: vec![[0; 4]; starts[subsets] as usize],
            starts,
            best: vec![published::effective_bandwidth(LinkCounts::default()); subsets],
            aggregated: vec![0; subsets],
        };
        let predicted = tabulate_predictions();
        let uniform = class_weights(pairs);
        for subset in 1..subsets {
            let first = subset.trailing_zeros() as usize;
            let later = subset & (subset - 1);
            // What paths reach, by the class of the edge that closes them to a ring.
            let mut open = [[0; 4]; 3];
            for (at, last) in bits(later).enumerate() {
                let before = subset & !(1 << last);
                let others = later & !(1 << last);
                let mut reachable = [0; 4];
                if others == 0 {
                    reachable = shifted([1, 0, 0, 0], pairs.class(first, last));
                }
                for (previous, path) in bits(others).zip(table.paths_of(before)) {
                    merge(&mut reachable, shifted(*path, pairs.class(previous, last)));
                }
                let start = table.starts[subset] as usize;
                table.paths[start + at] = reachable;
                merge(&mut open[pairs.class(last, first) as usize], reachable);
            }
            if later != 0 {
                let edges = later.count_ones() as usize;
                let mut best = (f64::NEG_INFINITY, LinkCounts::default());
                for (class, paths) in LinkClass::ALL.into_iter().zip(open) {
                    for (double, single) in members(paths) {
                        let path = LinkCounts { double, single, pcie: edges - double - single };
                        let links = if edges > 1 { path.plus(class) } else { path };
                        let value = predicted[(links.double * 17 + links.single) * 17 + links.pcie];
                        if (value, links) > best {
                            best = (value, links);
                        }
                    }
                }
                table.best[subset] = best.0;
                table.aggregated[subset] = match uniform {
                    Some(weights) => weigh(best.1, weights),
                    None => ring_weight(&table.ring(subset as u16, pairs), pairs),
                };
            }
        }
        table
    }

    /// What the paths of a subset reach, by their last GPU.
    fn paths_of(&self, subset: usize) -> &[Counts] {
        &self.paths[self.starts[subset] as usize..self.starts[subset + 1] as usize]
    }

    /// The best prediction over the subset's rings, GB/s.
    #[must_use]
    #[inline]
    pub fn effective_bandwidth(&self, subset: u16) -> f64 {
        self.best[usize::from(subset)]
    }

    /// Aggregated bandwidth of the ring with that prediction, bytes per second.
    #[must_use]
    #[inline]
    pub fn aggregated(&self, subset: u16) -> u64 {
        self.aggregated[usize::from(subset)]
    }

    /// A ring with that prediction, from its lowest GPU on: of several, one with the most
    /// doubles, then singles, found from its last GPU back, lowest ids first.
    #[must_use]
    pub fn ring(&self, subset: u16, pairs: &PairTable) -> Vec<usize> {
        let mut rest = usize::from(subset);
        let Some(first) = bits(rest).next() else { return Vec::new() };
        let best = self.best[rest];
        let chosen = self
            .rings(rest, pairs)
            .filter(|(_, links)| published::effective_bandwidth(*links) == best)
            .max_by_key(|(last, links)| (*links, usize::MAX - last));
        let Some((mut last, mut links)) = chosen else {
            return vec![first];
        };
        if rest.count_ones() > 2 {
            links = minus(links, pairs.class(last, first)).unwrap_or_default();
        }
        let mut ring = vec![last];
        rest &= !(1 << last);
        while rest.count_ones() > 1 {
            let mut paths = bits(rest & (rest - 1)).zip(self.paths_of(rest));
            let step = paths.find_map(|(previous, reachable)| {
                let before = minus(links, pairs.class(previous, last))?;
                contains(*reachable, before).then_some((previous, before))
            });
            let Some((previous, before)) = step else { break };
            ring.push(previous);
            rest &= !(1 << previous);
            (last, links) = (previous, before);
        }
        ring.push(first);
        ring.reverse();
        ring
    }

    /// Every (last GPU, link counts) that a ring of the subset can have.
    fn rings<'a>(
        &'a self,
        subset: usize,
        pairs: &'a PairTable,
    ) -> impl Iterator<Item = (usize, LinkCounts)> + 'a {
        let first = subset.trailing_zeros() as usize;
        let later = subset & subset.wrapping_sub(1);
        let edges = subset.count_ones() as usize - 1;
        bits(later).zip(self.paths_of(subset)).flat_map(move |(last, path)| {
            members(*path).map(move |(double, single)| {
                let links = LinkCounts { double, single, pcie: edges - double - single };
                let closing = if edges > 1 { Some(pairs.class(last, first)) } else { None };
                (last, closing.map_or(links, |class| links.plus(class)))
            })
        })
    }
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

fn ring_weight(ring: &[usize], pairs: &PairTable) -> u64 {
    let path: u64 = ring.windows(2).map(|edge| pairs.weight(edge[0], edge[1])).sum();
    match ring {
        [first, _, .., last] => path + pairs.weight(*last, *first),
        _ => path,
    }
}

/// Eq. 2 for all counts up to 16 of each class.
fn tabulate_predictions() -> Vec<f64> {
    let counts = (0..17).flat_map(|x| (0..17).flat_map(move |y| (0..17).map(move |z| (x, y, z))));
    counts
        .map(|(double, single, pcie)| {
            published::effective_bandwidth(LinkCounts { double, single, pcie })
        })
        .collect()
}

#[inline]
fn shifted(counts: Counts, class: LinkClass) -> Counts {
    let [a, b, c, d] = counts;
    let by = |shift: u32| {
        let carry = 64 - shift;
        [a << shift, b << shift | a >> carry, c << shift | b >> carry, d << shift | c >> carry]
    };
    match class {
        LinkClass::Double => by(16),
        LinkClass::Single => by(1),
        LinkClass::Pcie => counts,
    }
}

#[inline]
fn merge(into: &mut Counts, other: Counts) {
    for (word, bits) in into.iter_mut().zip(other) {
        *word |= bits;
    }
}

fn contains(counts: Counts, links: LinkCounts) -> bool {
    let bit = links.double * 16 + links.single;
    bit < 256 && counts[bit / 64] >> (bit % 64) & 1 == 1
}

fn members(counts: Counts) -> impl Iterator<Item = (usize, usize)> {
    (0..4).flat_map(move |word| {
        bits(counts[word] as usize).map(move |bit| ((word * 64 + bit) / 16, bit % 16))
    })
}

fn minus(mut links: LinkCounts, class: LinkClass) -> Option<LinkCounts> {
    let count = match class {
        LinkClass::Double => &mut links.double,
        LinkClass::Single => &mut links.single,
        LinkClass::Pcie => &mut links.pcie,
    };
    *count = count.checked_sub(1)?;
    Some(links)
}
