//! Computes the scores that depend on which pairs a match uses, and the scores that they can still
//! become.

use std::cell::OnceCell;

use super::ceiling::most_aggregated;
use super::long_ring::heavy_ring;
use super::plan::Plan;
use super::rank::{Primary, Rank};
use super::ring::{MAX_EXACT, RingTable, in_ring_order};
use super::search::Placement;
use crate::allocation::bandwidth::published::Regression;
use crate::allocation::effort::Effort;
use crate::allocation::links::{LinkCounts, PairClass, PairTable};
use crate::allocation::{GpuSet, Pattern};

/// A score of the matches on one set of GPUs.
pub trait MatchScore {
    /// Holds partial sums over the edges placed so far.
    type Sum: Clone;
    /// Returns the sums with nothing placed.
    fn start(&self) -> Self::Sum;
    /// Adds one more edge of the pattern, by its number, with the GPU of its lower vertex and that of the other.
    fn add(&self, sum: &mut Self::Sum, edge: usize, gpus: [usize; 2]);
    /// Returns the rank of a finished match.
    fn rank(&self, sum: &Self::Sum) -> Rank;
    /// A rank that no match with the edges still to come exceeds; its work is charged.
    fn bound(&self, sum: &Self::Sum, ahead: &Ahead<'_>, effort: &mut Effort<'_>) -> Rank;

    /// The rank of a match that is whole.
    fn rank_of(&self, pattern: &Pattern, gpus: &[usize]) -> Rank {
        let mut sum = self.start();
        for (edge, (a, b)) in pattern.edges().iter().enumerate() {
            self.add(&mut sum, edge, [gpus[*a], gpus[*b]]);
        }
        self.rank(&sum)
    }

    /// A rank that no match of the pattern on these GPUs exceeds; its work is charged.
    fn most(&self, plan: &Plan<'_>, gpus: GpuSet, effort: &mut Effort<'_>) -> Rank {
        let everything = Ahead::everything(plan.pattern().edges().len(), gpus);
        self.bound(&self.start(), &everything, effort)
    }

    /// Whether [`Self::ring`] finds rings.
    fn knows_rings(&self) -> bool {
        false
    }

    /// Returns a good ring through three or more of these GPUs, and a rank that none exceeds. It
    /// finds the ring in a better way than vertex by vertex. Its work is charged.
    fn ring(
        &self,
        _plan: &Plan<'_>,
        _gpus: GpuSet,
        _effort: &mut Effort<'_>,
    ) -> Option<(Placement, Rank)> {
        None
    }
}

/// The edges that a partial placement still has to place.
#[derive(Debug, Clone, Copy)]
pub struct Ahead<'a> {
    /// How many they are.
    pub edges: usize,
    /// How many of them join two vertices that are not placed.
    pub inner: usize,
    /// GPUs that have edges to vertices not placed, and how many; by their step.
    pub open: &'a [(usize, usize)],
    /// Lists the GPU of each step so far.
    pub placed: &'a [usize],
    /// The GPUs that are left.
    pub rest: GpuSet,
}

impl Ahead<'_> {
    /// Before anything is placed.
    #[must_use]
    pub fn everything(edges: usize, gpus: GpuSet) -> Self {
        Self { edges, inner: edges, open: &[], placed: &[], rest: gpus }
    }
}

fn pairs_of(gpus: GpuSet) -> impl Iterator<Item = (usize, usize)> {
    gpus.iter().flat_map(move |b| gpus.iter().take_while(move |a| *a < b).map(move |a| (a, b)))
}

/// Sums of the `n` heaviest, by `n`.
fn sums_of_heaviest(mut weights: Vec<u64>) -> Vec<u64> {
    weights.sort_unstable_by(|a, b| b.cmp(a));
    let sums = weights.iter().scan(0, |sum, weight| {
        *sum += weight;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

/// A primary score that is the same for all matches on the set, then aggregated bandwidth
/// (Eq. 1).
pub struct Aggregated<'a> {
    pairs: &'a PairTable,
    primary: Primary,
    gpus: GpuSet,
    /// Sums the set's `n` heaviest pairs, by `n`; most sets are ruled out before it is asked for.
    heaviest: OnceCell<Vec<u64>>,
}

impl<'a> Aggregated<'a> {
    /// The score on the pairs of these GPUs; its work is charged.
    #[must_use]
    pub fn new(
        pairs: &'a PairTable,
        gpus: GpuSet,
        primary: Primary,
        effort: &mut Effort<'_>,
    ) -> Self {
        effort.spend(1 + (gpus.len() * gpus.len()) as u64 / 64);
        Self { pairs, primary, gpus, heaviest: OnceCell::new() }
    }

    fn heaviest(&self) -> &[u64] {
        self.heaviest.get_or_init(|| {
            let weights = pairs_of(self.gpus).map(|(a, b)| self.pairs.weight(a, b));
            sums_of_heaviest(weights.collect())
        })
    }

    /// Returns the most bandwidth that a match with this sum can still come to.
    pub fn still(&self, sum: u64, ahead: &Ahead<'_>, effort: &mut Effort<'_>) -> u64 {
        effort.spend((ahead.open.len() * ahead.rest.len()) as u64 / 64);
        let from = |(step, edges): &(usize, usize)| {
            let gpu = ahead.placed[*step];
            let weights = ahead.rest.iter().map(|other| self.pairs.weight(gpu, other));
            if *edges <= 2 {
                let (first, second) = weights.fold((0, 0), |(first, second), weight| {
                    (weight.max(first), second.max(weight.min(first)))
                });
                return if *edges == 1 { first } else { first + second };
            }
            let mut weights: Vec<u64> = weights.collect();
            weights.sort_unstable_by(|a, b| b.cmp(a));
            weights.iter().take(*edges).sum()
        };
        let open: u64 = ahead.open.iter().map(from).sum();
        sum + open + self.heaviest()[ahead.inner]
    }
}

impl MatchScore for Aggregated<'_> {
    type Sum = u64;

    fn start(&self) -> u64 {
        0
    }

    fn add(&self, sum: &mut u64, _: usize, [a, b]: [usize; 2]) {
        *sum += self.pairs.weight(a, b);
    }

    fn rank(&self, sum: &u64) -> Rank {
        Rank { primary: self.primary, aggregated: *sum }
    }

    fn bound(&self, sum: &u64, ahead: &Ahead<'_>, effort: &mut Effort<'_>) -> Rank {
        self.rank(&self.still(*sum, ahead, effort))
    }

    fn most(&self, plan: &Plan<'_>, gpus: GpuSet, effort: &mut Effort<'_>) -> Rank {
        effort.spend(1 + (gpus.len() * gpus.len()) as u64 / 64);
        self.rank(&most_aggregated(plan, self.pairs, gpus))
    }

    fn knows_rings(&self) -> bool {
        true
    }

    /// By the table of all subsets where that takes at most half of what is left.
    fn ring(
        &self,
        plan: &Plan<'_>,
        gpus: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<(Placement, Rank)> {
        let size = gpus.len();
        let pattern = plan.pattern();
        let found = |ring: &[usize], weight, bound| {
            let gpus = in_ring_order(pattern, ring);
            Some((Placement { gpus, rank: self.rank(&weight) }, self.rank(&bound)))
        };
        let steps = if size <= MAX_EXACT { (size * size) << size >> 9 } else { usize::MAX };
        if steps as u64 <= effort.left() / 2 {
            let (own, all) = (self.pairs.restricted(gpus), (1 << size) - 1);
            let table = RingTable::new(&own, effort);
            effort.spend(1 + steps as u64);
            let ids: Vec<usize> = gpus.iter().collect();
            let ring: Vec<usize> = table.ring(all, &own).into_iter().map(|at| ids[at]).collect();
            return found(&ring, table.weight(all), table.weight(all));
        }
        let long = heavy_ring(self.pairs, gpus, effort);
        found(&long.ring, long.weight, long.bound)
    }
}

/// Ranks by published effective bandwidth (Eq. 2), then by aggregated bandwidth.
pub struct Published<'a> {
    pairs: &'a PairTable,
    regression: &'a Regression,
    /// Sums the set's `n` heaviest pairs of each class, by `n`.
    heaviest: [Vec<u64>; 3],
    /// Bounds of the aggregated bandwidth, where the counts of links do not give it.
    aggregated: Option<Aggregated<'a>>,
}

impl<'a> Published<'a> {
    /// The score on the pairs of these GPUs; its work is charged.
    #[must_use]
    pub fn new(
        pairs: &'a PairTable,
        regression: &'a Regression,
        gpus: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Self {
        effort.spend(1 + (gpus.len() * gpus.len()) as u64 / 64);
        let mut weights = PairClass::ALL.map(|_| Vec::new());
        for (a, b) in pairs_of(gpus) {
            weights[pairs.class(a, b) as usize].push(pairs.weight(a, b));
        }
        let is_uniform = |class: &Vec<u64>| class.windows(2).all(|pair| pair[0] == pair[1]);
        let uniform = weights.iter().all(is_uniform);
        let aggregated = (!uniform).then(|| Aggregated::new(pairs, gpus, Primary::NONE, effort));
        Self { pairs, regression, heaviest: weights.map(sums_of_heaviest), aggregated }
    }

    fn available(&self, class: PairClass) -> usize {
        self.heaviest[class as usize].len() - 1
    }
}

impl MatchScore for Published<'_> {
    type Sum = (LinkCounts, u64);

    fn start(&self) -> Self::Sum {
        (LinkCounts::default(), 0)
    }

    fn add(&self, (links, weight): &mut Self::Sum, _: usize, [a, b]: [usize; 2]) {
        *links = links.plus(self.pairs.class(a, b));
        *weight += self.pairs.weight(a, b);
    }

    fn rank(&self, (links, aggregated): &Self::Sum) -> Rank {
        let primary = Primary::of_prediction(self.regression.effective_bandwidth(*links));
        Rank { primary, aggregated: *aggregated }
    }

    fn bound(&self, sum: &Self::Sum, ahead: &Ahead<'_>, effort: &mut Effort<'_>) -> Rank {
        let (links, weight) = *sum;
        let limit = match &self.aggregated {
            Some(aggregated) => aggregated.still(weight, ahead, effort),
            None => u64::MAX,
        };
        let [doubles, singles, pcies] = &self.heaviest;
        let mut most = Rank::default();
        let mut tried = 0;
        let free = |class, used: usize| (self.available(class) - used).min(ahead.edges);
        let free_singles = free(PairClass::Single, links.single);
        let free_pcies = free(PairClass::Pcie, links.pcie);
        for (double, of_doubles) in
            doubles.iter().enumerate().take(free(PairClass::Double, links.double) + 1)
        {
            let rest = ahead.edges - double;
            for (single, of_singles) in singles.iter().enumerate().take(free_singles.min(rest) + 1)
            {
                let pcie = rest - single;
                if pcie > free_pcies {
                    continue;
                }
                tried += 1;
                let all = LinkCounts {
                    double: links.double + double,
                    single: links.single + single,
                    pcie: links.pcie + pcie,
                };
                let heaviest = weight + of_doubles + of_singles + pcies[pcie];
                most = most.max(self.rank(&(all, heaviest.min(limit))));
            }
        }
        effort.spend(tried / 8);
        most
    }
}

/// How many links of each class a finished match uses.
#[must_use]
pub fn links_of(edges: &[(usize, usize)], gpus: &[usize], pairs: &PairTable) -> LinkCounts {
    let class = |(a, b): &(usize, usize)| -> PairClass { pairs.class(gpus[*a], gpus[*b]) };
    edges.iter().map(class).fold(LinkCounts::default(), LinkCounts::plus)
}
