//! The pairwise weights and link classes that the scores and searches read.
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

    /// The counts with one link more of that class.
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

/// The class of a pair in MAPA's Eq. 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairClass {
    /// Two or more NVLinks, or NVSwitches.
    Double,
    /// One NVLink.
    Single,
    /// The host.
    Pcie,
}

/// A pair that was measured to carry less than this part of what its links have counts as the lesser class
/// that carries as much: the part of their like that tells sound pairs from others.
const SOUND: f64 = crate::system::import::measured::FAR_BELOW;

impl PairClass {
    /// Every class, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Double, Self::Single, Self::Pcie];

    /// The class of a pair: by its links, or where these were measured far below what they have, by how many sound
    /// ones would carry as much.
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

/// Weight and class of every pair of GPUs, row by row.
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

    /// The table of some of the GPUs, by their place among these.
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

    /// Weight of a pair in bytes per second; zero for a GPU with itself.
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

    /// Class of a pair.
    #[must_use]
    #[inline]
    pub fn class(&self, a: usize, b: usize) -> PairClass {
        self.classes[a * self.count + b]
    }
}
