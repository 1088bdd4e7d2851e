//! Measures how near the GPUs of an allocation are on the host. This decides between sets of GPUs
//! that tie in all scores of the published policies.
//!
//! Behind NVSwitches every set of one size ties, and so do many behind PCIe; the lowest ids
//! would then break into sockets for nothing. Of two such sets the better one is, in order:
//!
//! 1. the closer one: it has fewer pairs on different sockets, then on different NUMA nodes, then
//!    `NODE`, `PHB` and `PXB` apart;
//! 2. the one whose GPUs have nearer NICs: fewer of them whose nearest NIC is `SYS` away, then
//!    `NODE`, `PHB` and `PXB`;
//! 3. the one whose nearest NICs are shared by fewer GPUs outside it;
//! 4. the one that leaves the free GPUs closest, by the rule of 1, so that PCIe pairs and
//!    sockets stay whole for later jobs.
//!
//! It leaves out how busy the NICs are, and the traffic of other jobs over the host.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::gpu_set::GpuSet;
use crate::diagnostic::Named;
use crate::system::{Affinity, DeviceId, Proximity, Server, nic_proximity, proximity};

/// Names the rule between matches that tie in a policy's own scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Takes the lowest ids, as the published policies do.
    Published,
    /// Compares by [`Nearness`], then takes the lowest ids.
    #[default]
    Nearest,
}

impl Named for Ties {
    const WHAT: &'static str = "rule for ties";
    const NAMED: &'static [(&'static str, Self)] =
        &[("nearest", Self::Nearest), ("published", Self::Published)];
}

impl Ties {
    /// Returns the rule as the end of a policy's sentence.
    #[must_use]
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Published => "the lowest ids",
            Self::Nearest => "the GPUs nearest on the host, then the lowest ids",
        }
    }
}

/// How far apart two GPUs are, or a GPU and its nearest NIC; `PIX` counts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    Sys,
    /// Stands for different NUMA nodes, or cores, by the GPUs' own affinities, whatever the way.
    Numa,
    Node,
    Phb,
    Pxb,
}

impl Distance {
    /// Lists the farthest first.
    const ALL: [Self; 5] = [Self::Sys, Self::Numa, Self::Node, Self::Phb, Self::Pxb];

    const fn of(proximity: Proximity) -> Option<Self> {
        match proximity {
            Proximity::Sys => Some(Self::Sys),
            Proximity::Node => Some(Self::Node),
            Proximity::Phb => Some(Self::Phb),
            Proximity::Pxb => Some(Self::Pxb),
            Proximity::Pix => None,
        }
    }
}

/// Counts the pairs of a set of GPUs at each [`Distance`], as one number. Farther ones are in
/// higher bits. So it compares as the list of counts does, and sums as the counts do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Spread(u128);

impl Spread {
    /// Bits of a count: 128 GPUs have 8,128 pairs.
    const BITS: u32 = 13;

    const fn unit(distance: Distance) -> Self {
        Self(1 << (Self::BITS * (4 - distance as u32)))
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    const fn count(self, distance: Distance) -> u32 {
        (self.0 >> (Self::BITS * (4 - distance as u32)) & ((1 << Self::BITS) - 1)) as u32
    }
}

/// How near a set of GPUs is; of two, the lesser is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Nearness {
    /// Counts its pairs by their distance.
    pub spread: Spread,
    /// How many of its GPUs have their nearest NIC that far: `SYS`, `NODE`, `PHB`, `PXB`.
    pub far_nics: [u8; 4],
    /// Counts the GPUs outside it that share a nearest NIC with one of it.
    pub sharers: u8,
    /// Counts the pairs that stay free by their distance.
    pub left: Spread,
}

const NIC_DISTANCES: [Distance; 4] = [Distance::Sys, Distance::Node, Distance::Phb, Distance::Pxb];

/// Holds the part of a [`Nearness`] in which two differ first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearnessDifference {
    /// Names the part.
    pub key: &'static str,
    /// Says which things are counted.
    pub what: &'static str,
    /// Holds the counts of both.
    pub counts: (u32, u32),
}

impl Nearness {
    /// Where two part, or `None` where they are equal.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<NearnessDifference> {
        let pairs = |key, whats: [&'static str; 5], a: Spread, b: Spread| {
            let counts = Distance::ALL.map(|distance| (a.count(distance), b.count(distance)));
            first_difference(key, whats.into_iter().zip(counts))
        };
        let nics = self.far_nics.iter().zip(&other.far_nics);
        let nics = nics.map(|(a, b)| (u32::from(*a), u32::from(*b)));
        let sharers = (u32::from(self.sharers), u32::from(other.sharers));
        let shared = "other GPUs that share its NICs";
        pairs("host proximity", CHOSEN_PAIRS, self.spread, other.spread)
            .or_else(|| first_difference("near NICs", NIC_GPUS.into_iter().zip(nics)))
            .or_else(|| first_difference("shared NICs", [(shared, sharers)].into_iter()))
            .or_else(|| pairs("what stays whole", LEFT_PAIRS, self.left, other.left))
    }
}

const CHOSEN_PAIRS: [&str; 5] = [
    "pairs on different sockets (SYS)",
    "pairs on different NUMA nodes",
    "pairs on different host bridges (NODE)",
    "pairs across a host bridge (PHB)",
    "pairs across several PCIe switches (PXB)",
];
const NIC_GPUS: [&str; 4] = [
    "GPUs whose nearest NIC is SYS away",
    "GPUs whose nearest NIC is NODE away",
    "GPUs whose nearest NIC is PHB away",
    "GPUs whose nearest NIC is PXB away",
];
const LEFT_PAIRS: [&str; 5] = [
    "free pairs left on different sockets (SYS)",
    "free pairs left on different NUMA nodes",
    "free pairs left on different host bridges (NODE)",
    "free pairs left across a host bridge (PHB)",
    "free pairs left across several PCIe switches (PXB)",
];

fn first_difference(
    key: &'static str,
    counted: impl Iterator<Item = (&'static str, (u32, u32))>,
) -> Option<NearnessDifference> {
    let mut counted = counted.filter(|(_, (a, b))| a != b);
    counted.next().map(|(what, counts)| NearnessDifference { key, what, counts })
}

/// Holds the distances of a machine's GPUs and NICs.
#[derive(Debug, Clone)]
pub struct HostDistances {
    /// How close each GPU is to each other.
    matrix: Vec<Vec<Option<Proximity>>>,
    /// For each distance that some pair has, the GPUs that far from each GPU.
    apart: Vec<(Distance, Vec<GpuSet>)>,
    /// Gives, for each GPU, the distance to its nearest NIC as an index of [`Nearness::far_nics`].
    far_nic: Vec<Option<usize>>,
    /// Lists the GPUs with which each GPU shares a nearest NIC, itself included.
    sharers: Vec<GpuSet>,
}

impl HostDistances {
    /// Measures a machine of at most [`super::MAX_GPUS`] GPUs.
    #[must_use]
    pub fn new(machine: &Server) -> Self {
        let matrix = proximity(machine);
        let gpus = machine.gpus();
        let all = 0..gpus.len();
        let distance = |a: usize, b: usize| Distance::of(matrix[a][b]?);
        let is_at = |wanted: Distance, a: usize, b: usize| match wanted {
            Distance::Numa => affinity_differs(machine, gpus[a], gpus[b]),
            _ => distance(a, b) == Some(wanted),
        };
        let at = |wanted: Distance| -> Vec<GpuSet> {
            let row = |a| all.clone().filter(|b| is_at(wanted, a, *b)).collect();
            all.clone().map(row).collect()
        };
        let apart = Distance::ALL.map(|wanted| (wanted, at(wanted)));
        let apart = apart.into_iter().filter(|(_, sets)| sets.iter().any(|set| !set.is_empty()));
        let nics = nic_proximity(machine);
        let nearest: Vec<Option<Proximity>> =
            nics.iter().map(|row| row.iter().copied().min()).collect();
        let is_nearest = |gpu: usize, nic: usize| Some(nics[gpu][nic]) == nearest[gpu];
        let sharing = |a: usize| {
            let shared =
                |b: &usize| (0..nics[a].len()).any(|nic| is_nearest(a, nic) && is_nearest(*b, nic));
            all.clone().filter(shared).collect()
        };
        let index = |near: &Option<Proximity>| {
            let distance = Distance::of((*near)?)?;
            NIC_DISTANCES.iter().position(|known| *known == distance)
        };
        let apart = apart.collect();
        Self {
            matrix,
            apart,
            far_nic: nearest.iter().map(index).collect(),
            sharers: all.clone().map(sharing).collect(),
        }
    }

    /// How close two different GPUs are.
    #[must_use]
    pub fn proximity(&self, a: usize, b: usize) -> Proximity {
        self.matrix[a][b].unwrap_or(Proximity::Pix)
    }

    /// Counts the pairs of a set by their distance.
    #[must_use]
    pub fn spread(&self, gpus: GpuSet) -> Spread {
        let mut spread = Spread::default();
        for (distance, apart) in &self.apart {
            let mut twice = 0;
            for gpu in gpus.iter() {
                twice += apart[gpu].intersection(gpus).len();
            }
            spread = spread.plus(Spread(Spread::unit(*distance).0 * (twice / 2) as u128));
        }
        spread
    }

    /// Returns the spread that one more GPU would add to a set.
    #[must_use]
    pub fn added(&self, gpus: GpuSet, gpu: usize) -> Spread {
        let far = |(distance, apart): &(Distance, Vec<GpuSet>)| {
            Spread(Spread::unit(*distance).0 * apart[gpu].intersection(gpus).len() as u128)
        };
        self.apart.iter().map(far).fold(Spread::default(), Spread::plus)
    }

    /// Returns the nearness of some of the free GPUs.
    #[must_use]
    pub fn nearness(&self, gpus: GpuSet, free: GpuSet) -> Nearness {
        Nearness { left: self.spread(free.without(gpus)), ..self.of_chosen(gpus) }
    }

    /// Returns the nearness of GPUs with nothing of what they leave.
    fn of_chosen(&self, gpus: GpuSet) -> Nearness {
        let mut far_nics = [0; 4];
        for index in gpus.iter().filter_map(|gpu| self.far_nic[gpu]) {
            far_nics[index] += 1;
        }
        let sharers = gpus.iter().fold(GpuSet::EMPTY, |all, gpu| all.union(self.sharers[gpu]));
        Nearness {
            spread: self.spread(gpus),
            far_nics,
            sharers: sharers.without(gpus).len() as u8,
            left: Spread::default(),
        }
    }

    /// Computes the nearness of every subset of a machine of at most 16 GPUs.
    #[must_use]
    pub fn tabulate(&self) -> NearnessTable {
        let count = self.far_nic.len();
        let mut spreads = vec![Spread::default(); 1 << count];
        let mut nics = vec![0_u64; 1 << count];
        let mut sharers = vec![0_u16; 1 << count];
        for subset in 1..spreads.len() {
            let (lowest, rest) = (subset.trailing_zeros() as usize, subset & (subset - 1));
            let added = self.added(GpuSet(rest as u128), lowest);
            spreads[subset] = spreads[rest].plus(added);
            let far = self.far_nic[lowest].map_or(0, |index| 1 << (8 * (4 - index)));
            sharers[subset] = sharers[rest] | self.sharers[lowest].0 as u16;
            nics[subset] = nics[rest] + far;
        }
        for (subset, nics) in nics.iter_mut().enumerate() {
            *nics += u64::from((sharers[subset] & !(subset as u16)).count_ones());
        }
        let chosen = spreads.iter().zip(&nics);
        // Five counts of 13 bits above five of 8.
        NearnessTable(chosen.map(|(spread, nics)| spread.0 << 40 | u128::from(*nics)).collect())
    }
}

/// Holds some free GPUs' pairs by distance, to tell at once how near sets of these GPUs are.
pub struct FreeDistances<'a> {
    distances: &'a HostDistances,
    /// Counts all pairs.
    all: Spread,
    /// Counts the pairs of each GPU.
    of_gpu: Vec<Spread>,
}

impl<'a> FreeDistances<'a> {
    /// Counts the pairs of free GPUs.
    #[must_use]
    pub fn new(distances: &'a HostDistances, free: GpuSet) -> Self {
        let of_gpu = (0..distances.far_nic.len()).map(|gpu| distances.added(free, gpu));
        Self { distances, all: distances.spread(free), of_gpu: of_gpu.collect() }
    }

    /// Returns [`HostDistances::nearness`] of a set of the free GPUs, in steps of its size alone. The
    /// set's own pairs are in two of the counts that are taken off, and are added once.
    #[must_use]
    pub fn nearness(&self, gpus: GpuSet) -> Nearness {
        let chosen = self.distances.of_chosen(gpus);
        let taken = gpus.iter().map(|gpu| self.of_gpu[gpu].0).sum::<u128>();
        Nearness { left: Spread(self.all.0 + chosen.spread.0 - taken), ..chosen }
    }
}

/// Says whether two GPUs name different NUMA nodes, or else different cores.
fn affinity_differs(machine: &Server, a: DeviceId, b: DeviceId) -> bool {
    let place = |id: DeviceId| &machine.devices()[id].locality;
    let (a, b) = (place(a), place(b));
    let differ = |a: &Option<Affinity>, b: &Option<Affinity>| Some(a.as_ref()? != b.as_ref()?);
    differ(&a.numa_affinity, &b.numa_affinity)
        .or_else(|| differ(&a.cpu_affinity, &b.cpu_affinity))
        .unwrap_or(false)
}

/// Holds the [`Nearness`] of every subset of a small machine, packed so that two compare at once.
#[derive(Debug, Clone)]
pub struct NearnessTable(Vec<u128>);

impl NearnessTable {
    /// Compares two subsets of the free GPUs; the lesser is the nearer one.
    #[must_use]
    #[inline]
    pub fn compare(&self, a: u16, b: u16, free: GpuSet) -> Ordering {
        let chosen = |set: u16| self.0[usize::from(set)];
        let left = |set: u16| self.0[usize::from(free.0 as u16 & !set)] >> 40;
        chosen(a).cmp(&chosen(b)).then_with(|| left(a).cmp(&left(b)))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::allocation::links::{FreePairs, PairTable};
    use crate::engine::Random;
    use crate::system::presets::{NAMES, preset};
    use crate::system::{BandwidthProfile, GpuGraph, toml_format};

    fn of(preset_name: &str, gpus: &[usize], free: &[usize]) -> Nearness {
        let distances = HostDistances::new(&preset(preset_name).unwrap());
        distances.nearness(gpus.iter().copied().collect(), free.iter().copied().collect())
    }

    #[test]
    fn each_part_decides_where_those_before_it_tie() {
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        let key = |a: &[usize], b: &[usize], free: &[usize]| {
            let (a, b) = (of("dgx1-v100", a, free), of("dgx1-v100", b, free));
            assert!(a < b);
            a.difference(&b).unwrap().key
        };
        assert_eq!(key(&[0, 1], &[0, 4], &all), "host proximity");
        assert_eq!(key(&[0, 1], &[0, 2], &all), "host proximity", "PIX before NODE");
        assert_eq!(key(&[1], &[2], &all[1..]), "what stays whole", "2 and 3 are a pair");
        assert_eq!(of("dgx1-v100", &[2], &all), of("dgx1-v100", &[5], &all));
        // A and B share a NIC, which is on their switch; C's is behind the bridge.
        let text = "name = \"m\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\", \"C\"]\n\
            [[device]]\nkind = \"host-bridge\"\nnames = [\"H\"]\n\
            [[device]]\nkind = \"pcie-switch\"\nnames = [\"S\"]\n\
            [[device]]\nkind = \"nic\"\nnames = [\"N\"]\n\
            [[link]]\nkind = \"pcie4\"\nbetween = [[\"A\", \"S\"], [\"B\", \"S\"], [\"N\", \"S\"], \
            [\"S\", \"H\"], [\"C\", \"H\"]]\n";
        let distances = HostDistances::new(&toml_format::read("m.toml", text).unwrap());
        let free = GpuSet::first(3);
        let of = |gpus: &[usize]| distances.nearness(gpus.iter().copied().collect(), free);
        assert_eq!((of(&[0]).far_nics, of(&[2]).far_nics), ([0; 4], [0, 0, 1, 0]));
        assert_eq!(of(&[0]).difference(&of(&[2])).unwrap().key, "near NICs");
        assert_eq!((of(&[0]).sharers, of(&[0, 1]).sharers), (2, 1), "C's nearest is N, too");
    }

    #[test]
    fn gpus_of_different_numa_nodes_are_apart_whatever_the_way() {
        let text = "name = \"m\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
            numa_affinity = \"0\"\n[[device]]\nkind = \"gpu\"\nnames = [\"C\"]\n\
            numa_affinity = \"1\"\n[[device]]\nkind = \"cpu\"\nnames = [\"P\"]\n\
            [[link]]\nkind = \"pcie4\"\nbetween = [[\"A\", \"P\"], [\"B\", \"P\"], [\"C\", \"P\"]]\n";
        let distances = HostDistances::new(&toml_format::read("m.toml", text).unwrap());
        let of =
            |gpus: &[usize]| distances.nearness(gpus.iter().copied().collect(), GpuSet::first(3));
        let found = of(&[0, 1]).difference(&of(&[0, 2])).unwrap();
        assert_eq!((found.what, found.counts), ("pairs on different NUMA nodes", (0, 1)));
    }

    #[test]
    fn what_sets_leave_is_what_is_counted_anew() {
        for name in NAMES {
            let server = preset(name).unwrap();
            let (distances, count) = (HostDistances::new(&server), server.gpus().len());
            let graph = GpuGraph::new(&server, BandwidthProfile::Mapa).unwrap();
            let (pairs, mut random) = (PairTable::new(&graph), Random::new(1));
            for _ in 0..32 {
                let mut word = || u128::from(random.below(NonZeroU64::MAX));
                let mut drawn = || GpuSet(word() << 64 | word());
                let free = drawn().intersection(GpuSet::first(count));
                let set = drawn().intersection(free);
                let nearness = FreeDistances::new(&distances, free).nearness(set);
                assert_eq!(nearness, distances.nearness(set, free), "{name}: {set} of {free}");
                let left = FreePairs::new(&pairs, free).without(set);
                assert_eq!(left, pairs.inside(free.without(set)), "{name}: {set} of {free}");
            }
        }
    }

    #[test]
    fn the_largest_counts_fit() {
        let all = Distance::ALL.map(|distance| Spread(Spread::unit(distance).0 * 8_128));
        let sum = all.into_iter().fold(Spread::default(), Spread::plus);
        assert!(Distance::ALL.iter().all(|distance| sum.count(*distance) == 8_128));
        assert!(sum.0 < 1 << 65);
    }
}
