//! Gives a sound model of the bandwidth that an allocation's links allow.
//!
//! It answers the question that MAPA's regression was fitted to. Which bus bandwidth (as nccl-tests
//! defines it) does an all-reduce reach on these GPUs? The answer comes from a plan that could be
//! run. So it is defined for every size and machine, and a better or an added link never lowers it:
//!
//! 1. Split the GPUs into q groups. Within a group, spanning trees are packed on the direct
//!    links (NVLink, xGMI): reduce up, broadcast down, at the group's strength.
//! 2. Between groups, one GPU of each exchanges over the shared fabric (NVSwitches or the host).
//!    Each group can send and receive at rate `c`, the rate of the slowest way between any two of
//!    the GPUs. A ring of q groups runs at c q / (2 (q - 1)).
//! 3. The phases overlap, so the rate is the least of them; the best split counts. Bus
//!    bandwidth is that rate times 2 (k - 1) / k for k GPUs.
//!
//! With all GPUs in one group this is Blink's tree packing. With every GPU alone it is the plain
//! ring over NVSwitches or PCIe. In practice each way reaches a fraction of its peak. That fraction
//! comes from the paper's own anchor points ([`Anchors`]), two GPUs on one link. Eq. 2 gives 39.08
//! GB/s of 50 on a double NVLink, and 21.61 of 25 on a single one. It gives 10.08 on 16 lanes of
//! PCIe Gen 3 (15.75 by the data sheet). A direct link counts even where the host's way is wider,
//! and bundles of several kinds add up. The model leaves out latency, so it holds for large
//! messages. It also leaves out other tenants on shared wires, and the merging of NVLink with PCIe
//! traffic.

use std::sync::OnceLock;

use super::published::Anchors;
use crate::allocation::GpuSet;
use crate::graph::partition::tightest_partition;
use crate::graph::strength::{MAX_VERTICES, strength_of_subsets};
use crate::system::{FabricPath, GpuGraph, LinkKind, PairLink};

/// Fractions of the peak that NCCL reaches, from the paper's anchor points.
#[derive(Debug, Clone, Copy)]
struct Efficiency {
    single: f64,
    bonded: f64,
    host: f64,
}

impl Efficiency {
    fn of_the_paper() -> Self {
        let anchors = Anchors::of_the_paper();
        let peak = |kind: LinkKind| kind.data_sheet().bandwidth.as_gigabytes_per_second();
        Self {
            single: anchors.single / peak(LinkKind::Nvlink2),
            bonded: anchors.double / (2.0 * peak(LinkKind::Nvlink2)),
            host: anchors.pcie / peak(LinkKind::Pcie3),
        }
    }

    /// Returns the bandwidth that is reached of a way's peak, GB/s. A lone link reaches a larger
    /// fraction than several do together, so the widest of several is a lower bound. Without that
    /// bound, a narrow link beside a wide one would lower the rate.
    fn reached(&self, path: &FabricPath) -> f64 {
        let together = self.bonded * path.bandwidth.as_gigabytes_per_second();
        together.max(self.single * path.widest_link.as_gigabytes_per_second())
    }
}

/// Gives the effective bandwidths of one machine.
#[derive(Debug, Clone)]
pub struct SoundModel {
    count: usize,
    /// Reachable capacity of direct links per pair, B/s; zero where there is none.
    direct: Vec<u64>,
    has_direct: bool,
    /// Holds the reachable rate of the shared fabric per pair, GB/s.
    fabric: Vec<f64>,
    /// Whether the machine is small enough for a table of all subsets.
    tabulated: bool,
    /// Holds the strength per subset, B/s. It is computed when first needed.
    strength: OnceLock<Vec<f64>>,
}

/// Holds the limits of a set of GPUs beside its packing, GB/s.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Gives the rate of the slowest way over the shared fabric between any two.
    fabric: f64,
    /// The weakest direct link between any two that have one; infinite where none do.
    weakest: f64,
}

impl Limits {
    const NONE: Self = Self { fabric: f64::INFINITY, weakest: f64::INFINITY };

    fn and(self, other: Self) -> Self {
        Self { fabric: self.fabric.min(other.fabric), weakest: self.weakest.min(other.weakest) }
    }
}

impl SoundModel {
    /// Prepares the model for a machine.
    #[must_use]
    pub fn new(graph: &GpuGraph) -> Self {
        let count = graph.len();
        let efficiency = Efficiency::of_the_paper();
        let mut direct = vec![0; count * count];
        let mut fabric = vec![0.0; count * count];
        for at in 0..count * count {
            let Some(pair) = graph.pair(at / count, at % count) else { continue };
            fabric[at] = efficiency.host * pair.host.as_gigabytes_per_second();
            for path in graph.fabric_paths(at / count, at % count) {
                let reached = efficiency.reached(path);
                match path.link {
                    // Whole megabytes per second keep the packing's arithmetic exact and short.
                    PairLink::Direct { .. } => {
                        direct[at] += (reached * 1e3).round() as u64 * 1_000_000;
                    }
                    PairLink::Switched { .. } => fabric[at] = fabric[at].max(reached),
                    PairLink::Host { .. } => {}
                }
            }
        }
        let tabulated = count <= MAX_VERTICES;
        let has_direct = direct.iter().any(|capacity| *capacity > 0);
        Self { count, direct, has_direct, fabric, tabulated, strength: OnceLock::new() }
    }

    /// Returns the effective bus bandwidth of an all-reduce on these GPUs, GB/s. It is zero for
    /// fewer than two.
    #[must_use]
    pub fn effective_bandwidth(&self, gpus: GpuSet) -> f64 {
        let members: Vec<usize> = gpus.iter().collect();
        let limits = members.iter().enumerate().fold(Limits::NONE, |limits, (index, a)| {
            limits.and(self.limits_between(*a, members[..index].iter().copied()))
        });
        self.bus_bandwidth(gpus, limits)
    }

    /// Estimates the work for `size` GPUs, in units of 0.2 µs. On direct links this is the work of
    /// the packing's maximum flows, measured on meshes and tori of 16 to 128 GPUs.
    #[must_use]
    pub fn steps(&self, size: usize) -> u64 {
        let size = size as u64;
        if self.has_direct { 8 + size.pow(3) / 24 } else { 1 + size * size / 64 }
    }

    /// Returns the same for every subset of a machine of at most [`MAX_VERTICES`] GPUs, by its
    /// bits.
    #[must_use]
    pub fn tabulate(&self) -> Vec<f64> {
        let mut limits = vec![Limits::NONE; 1 << self.count];
        for subset in 1..limits.len() {
            let lowest = subset.trailing_zeros() as usize;
            let rest = subset & (subset - 1);
            let others = GpuSet(rest as u128).iter();
            limits[subset] = limits[rest].and(self.limits_between(lowest, others));
        }
        let sets = (0..limits.len()).map(|subset| GpuSet(subset as u128));
        sets.zip(limits).map(|(set, limits)| self.bus_bandwidth(set, limits)).collect()
    }

    fn limits_between(&self, gpu: usize, others: impl Iterator<Item = usize>) -> Limits {
        others.map(|other| gpu * self.count + other).fold(Limits::NONE, |limits, at| {
            let direct = self.direct[at];
            let weakest = if direct > 0 { direct as f64 / 1e9 } else { f64::INFINITY };
            limits.and(Limits { fabric: self.fabric[at], weakest })
        })
    }

    fn bus_bandwidth(&self, gpus: GpuSet, limits: Limits) -> f64 {
        let size = gpus.len();
        if size < 2 {
            return 0.0;
        }
        self.rate(gpus, limits) * 2.0 * (size - 1) as f64 / size as f64
    }

    /// Returns the all-reduce rate (algorithm bandwidth) of two or more GPUs, GB/s.
    fn rate(&self, gpus: GpuSet, limits: Limits) -> f64 {
        let exchange = |groups: usize| match groups {
            1 => f64::INFINITY,
            _ => limits.fabric * groups as f64 / (2.0 * (groups - 1) as f64),
        };
        let alone = exchange(gpus.len());
        if limits.weakest == f64::INFINITY {
            return alone;
        }
        let connected = self.tabulated && self.strength(gpus) > 0.0;
        let groups = if connected { vec![gpus] } else { self.components(gpus) };
        let within = groups.iter().map(|group| self.strength(*group)).fold(f64::INFINITY, f64::min);
        let best = alone.max(within.min(exchange(groups.len())));
        if limits.weakest >= limits.fabric {
            // Any direct link beats the fabric, so the fewest groups are the best split.
            return best;
        }
        self.best_split(groups, &exchange, best)
    }

    /// Returns the best split where some direct link is slower than the fabric. While the exchange
    /// is not the limit, it splits the weakest group along its tightest partition. This visits all
    /// groupings that can be optimal. The sets of at least a given strength are the same for every
    /// plan (the graph's principal partition).
    fn best_split(
        &self,
        mut groups: Vec<GpuSet>,
        exchange: &dyn Fn(usize) -> f64,
        mut best: f64,
    ) -> f64 {
        loop {
            let strengths = groups.iter().map(|group| self.strength(*group));
            let weakest = strengths.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((index, strength)) = weakest.filter(|(_, strength)| strength.is_finite())
            else {
                return best;
            };
            best = best.max(strength.min(exchange(groups.len())));
            if exchange(groups.len()) <= strength {
                return best;
            }
            let split = groups.swap_remove(index);
            groups.extend(self.tightest(split).1);
        }
    }

    fn components(&self, gpus: GpuSet) -> Vec<GpuSet> {
        let mut rest = gpus;
        let mut components = Vec::new();
        while let Some(start) = rest.iter().next() {
            let mut reached = GpuSet::EMPTY.with(start);
            let mut frontier = vec![start];
            while let Some(at) = frontier.pop() {
                let row = &self.direct[at * self.count..(at + 1) * self.count];
                for next in rest.without(reached).iter().filter(|next| row[*next] > 0) {
                    reached = reached.with(next);
                    frontier.push(next);
                }
            }
            rest = rest.without(reached);
            components.push(reached);
        }
        components
    }

    /// Returns the packing rate within a group, GB/s. It is infinite for one GPU.
    fn strength(&self, group: GpuSet) -> f64 {
        if !self.tabulated {
            return self.tightest(group).0;
        }
        let table = self.strength.get_or_init(|| strength_of_subsets(self.count, &self.direct));
        table[group.0 as usize] / 1e9
    }

    /// The packing rate within a group, GB/s, and the partition that limits it.
    fn tightest(&self, group: GpuSet) -> (f64, Vec<GpuSet>) {
        let members: Vec<usize> = group.iter().collect();
        let capacity: Vec<u64> = members
            .iter()
            .flat_map(|a| members.iter().map(move |b| self.direct[a * self.count + b]))
            .collect();
        let (strength, parts) = tightest_partition(members.len(), &capacity);
        let named = |part: &Vec<usize>| part.iter().map(|at| members[*at]).collect();
        (strength / 1e9, parts.iter().map(named).collect())
    }
}

mod bounds;
#[cfg(test)]
mod tests;
