//! Holds the pairwise weights and link classes that the scores and searches read.
//!
//! Hot loops want flat arrays of integers; this is the [`GpuGraph`] in that form.

use super::gpu_set::GpuSet;
use crate::system::{GpuGraph, GpuPair, PairLink};
use serde::{Deserialize, Serialize};

/// How many links of each class a match uses: the (x, y, z) of MAPA's Eq. 2.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct LinkCounts {
    /// Pairs joined by two or more NVLinks (or xGMI links), or through NVSwitches.
    pub double: usize,
    /// Pairs joined by one.
    pub single: usize,
    /// Pairs that only the host joins.
    pub pcie: usize,
}

impl LinkCounts {
    /// All links.
    #[must_use]
    pub const fn total(self) -> usize {
        self.double + self.single + self.pcie
    }

    /// Returns the counts with one more link of that class.
    #[must_use]
    pub const fn plus(mut self, class: PairClass) -> Self {
        match class {
            PairClass::Double => self.double += 1,
            PairClass::Single => self.single += 1,
            PairClass::Pcie => self.pcie += 1,
        }
        self
    }
}

/// Names the class of a pair in MAPA's Eq. 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairClass {
    /// Stands for two or more NVLinks, or for NVSwitches.
    Double,
    /// Stands for one NVLink.
    Single,
    /// Stands for the way over the host.
    Pcie,
}

/// Gives the part of its links' bandwidth below which a measured pair counts as a lesser class. It
/// counts as the class that carries as much. The same part tells sound pairs from others.
const SOUND: f64 = crate::system::import::measured::FAR_BELOW;

impl PairClass {
    /// Lists every class, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Double, Self::Single, Self::Pcie];

    /// Gives the class of a pair by its links. Where these were measured far below what they have,
    /// it counts how many sound ones would carry as much.
    fn of(pair: &GpuPair) -> Self {
        let (count, by_links) = match pair.link {
            PairLink::Direct { count, kind: _ } if count == 1 => (count, Self::Single),
            PairLink::Direct { count, .. } | PairLink::Switched { count, .. } => {
                (count, Self::Double)
            }
            PairLink::Host { .. } => return Self::Pcie,
        };
        let share = pair.data_sheet.0 as f64 / pair.nominal.0.max(1) as f64;
        match share * f64::from(count) {
            _ if share >= SOUND => by_links,
            links if links >= 2.0 * SOUND => Self::Double,
            links if links >= SOUND => Self::Single,
            _ => Self::Pcie,
        }
    }
}

/// Holds the weight and class of every pair of GPUs, row by row.
#[derive(Debug, Clone)]
pub struct PairTable {
    count: usize,
    weights: Vec<u64>,
    classes: Vec<PairClass>,
}

impl PairTable {
    /// The table of a graph; weights are bytes per second.
    #[must_use]
    pub fn new(graph: &GpuGraph) -> Self {
        let count = graph.len();
        let pairs = (0..count * count).map(|at| graph.pair(at / count, at % count));
        Self {
            count,
            weights: pairs.clone().map(|pair| pair.map_or(0, |p| p.bandwidth.0)).collect(),
            classes: pairs.map(|pair| pair.map_or(PairClass::Pcie, PairClass::of)).collect(),
        }
    }

    /// Returns the table of the given GPUs, numbered by their place in the set.
    #[must_use]
    pub fn restricted(&self, gpus: GpuSet) -> Self {
        let at = |a: usize| gpus.iter().map(move |b| a * self.count + b);
        let places: Vec<usize> = gpus.iter().flat_map(at).collect();
        Self {
            count: gpus.len(),
            weights: places.iter().map(|at| self.weights[*at]).collect(),
            classes: places.iter().map(|at| self.classes[*at]).collect(),
        }
    }

    /// How many GPUs there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the weight of a pair in bytes per second. It is zero for a GPU with itself.
    #[must_use]
    #[inline]
    pub fn weight(&self, a: usize, b: usize) -> u64 {
        self.weights[a * self.count + b]
    }

    /// Weights of one GPU's pairs, by the other GPU.
    #[must_use]
    #[inline]
    pub fn weights_of(&self, gpu: usize) -> &[u64] {
        &self.weights[gpu * self.count..(gpu + 1) * self.count]
    }

    /// Sums the weights of all pairs of these GPUs.
    #[must_use]
    pub fn inside(&self, gpus: GpuSet) -> u64 {
        let mut sum = 0;
        for b in gpus.iter() {
            let weights = self.weights_of(b);
            for a in gpus.intersection(GpuSet::first(b)).iter() {
                sum += weights[a];
            }
        }
        sum
    }

    /// Returns the class of a pair.
    #[must_use]
    #[inline]
    pub fn class(&self, a: usize, b: usize) -> PairClass {
        self.classes[a * self.count + b]
    }
}

/// Holds some free GPUs' pairs, to tell at once what a set of these GPUs leaves of them.
pub struct FreePairs<'a> {
    pairs: &'a PairTable,
    /// Sums the weights of all pairs.
    all: u64,
    /// Sums the weights of each GPU's pairs; a GPU that is not free has zero.
    of_gpu: Vec<u64>,
}

impl<'a> FreePairs<'a> {
    /// Sums the weights between free GPUs.
    #[must_use]
    pub fn new(pairs: &'a PairTable, free: GpuSet) -> Self {
        let mut of_gpu = vec![0; pairs.count];
        for gpu in free.iter() {
            let weights = pairs.weights_of(gpu);
            of_gpu[gpu] = free.iter().map(|other| weights[other]).sum();
        }
        Self { pairs, all: pairs.inside(free), of_gpu }
    }

    /// Sums the weights of the pairs that stay free without this set of free GPUs. This is
    /// [`PairTable::inside`] of the others, in steps of the set's size alone. The set's own pairs are
    /// in two of the sums that are taken off, and are added once.
    #[must_use]
    pub fn without(&self, set: GpuSet) -> u64 {
        self.all + self.pairs.inside(set) - set.iter().map(|gpu| self.of_gpu[gpu]).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::policies::{Greedy, Preserve, TopologyAware};
    use crate::allocation::{
        BandwidthModel, Effort, Pattern, PatternShape, Policy, PreparedMachine, Request,
    };
    use crate::system::import::measured::{read, with_measured};
    use crate::system::presets::preset;
    use crate::system::test_support::PairRates;
    use crate::system::{BandwidthProfile, Server};

    /// Gives a DGX-1V where the pair of these GPUs reaches a part of what it should.
    fn measured(slow: Option<(usize, usize, f64)>) -> Server {
        let server = preset("dgx1-v100").unwrap();
        let sound = PairRates::of(&server);
        let rates = match slow {
            Some((a, b, part)) => sound.slowed(a, b, part),
            None => sound,
        };
        let found = read("pairs.txt", &rates.p2p_bandwidth_latency_test()).unwrap();
        with_measured(&server, &found).unwrap().server
    }

    fn chosen(server: &Server, policy: &dyn Policy, model: BandwidthModel) -> Vec<usize> {
        let machine = PreparedMachine::new(server, BandwidthProfile::Mapa, model).unwrap();
        let pattern = Pattern::new(PatternShape::Ring, 2).unwrap();
        let request = Request { pattern: &pattern, sensitive: true };
        let free = GpuSet::first(8);
        let found = policy.choose(&machine, &request, free, &mut Effort::new()).unwrap();
        found.chosen.gpus().iter().collect()
    }

    #[test]
    fn a_slow_double_link_is_passed_over() {
        let sound = preset("dgx1-v100").unwrap();
        for model in [BandwidthModel::Sound, BandwidthModel::Published] {
            let policies: [&dyn Policy; 2] = [&Greedy, &Preserve];
            for policy in policies {
                let first = chosen(&sound, policy, model);
                // Measurements of a sound machine change nothing.
                assert_eq!(chosen(&measured(None), policy, model), first);
                let slow = measured(Some((first[0], first[1], 0.5)));
                let other = chosen(&slow, policy, model);
                assert_ne!(other, first, "{}", policy.name());
                let table = |server: &Server| {
                    let graph = GpuGraph::new(server, BandwidthProfile::Mapa).unwrap();
                    PairTable::new(&graph)
                };
                assert_eq!(table(&slow).class(other[0], other[1]), PairClass::Double);
                assert_eq!(table(&slow).class(first[0], first[1]), PairClass::Single);
            }
        }
        // It looks at no bandwidth.
        let tree = |server: &Server| chosen(server, &TopologyAware, BandwidthModel::Sound);
        assert_eq!(tree(&measured(Some((0, 1, 0.5)))), tree(&sound));
    }

    #[test]
    fn a_slow_link_counts_as_the_links_that_carry_as_much() {
        let class = |a, b, part| {
            let graph = GpuGraph::new(&measured(Some((a, b, part))), BandwidthProfile::Mapa);
            PairTable::new(&graph.unwrap()).class(a, b)
        };
        assert_eq!(class(0, 3, 0.9), PairClass::Double);
        assert_eq!(class(0, 3, 0.5), PairClass::Single);
        assert_eq!(class(0, 3, 0.2), PairClass::Pcie);
        assert_eq!(class(0, 1, 0.9), PairClass::Single);
        assert_eq!(class(0, 1, 0.4), PairClass::Pcie);
    }
}
