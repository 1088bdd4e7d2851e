//! Prepares a machine for decisions.
//!
//! Everything that does not depend on which GPUs are free is computed once. All machines get link
//! labels. Those of up to 16 GPUs get for each subset the heaviest ring, the effective bandwidth
//! and the bandwidth inside. A decision is then a scan. Of 17 to 20 GPUs the heaviest rings alone
//! are tabulated, when one is first asked for.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::bandwidth::{copies::CopyPaths, published::Regression, sound::SoundModel};
use super::edge_table::EdgeTables;
use super::effort::Effort;
use super::error::AllocationError;
use super::gpu_set::{GpuSet, MAX_GPUS};
use super::links::{LinkCounts, PairTable};
use super::matching::rank::Primary;
use super::matching::ring::{MAX_EXACT, RingTable};
use super::matching::ring_links::RingLinksTable;
use super::matching::scores::links_of;
use super::matching::subsets::{MAX_TABULATED, Subsets};
use super::nearness::{HostDistances, Nearness, NearnessTable, Ties};
use super::pattern::Pattern;
use crate::diagnostic::Named;
use crate::system::{BandwidthProfile, GpuGraph, HostTree, PairLink, Server, host_tree};
use crate::units::Bandwidth;

/// Names the model that predicts the effective bandwidth of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthModel {
    /// Stands for MAPA's regression, Eq. 2.
    Published,
    /// Packing trees on the links that were really given.
    #[default]
    Sound,
}

impl Named for BandwidthModel {
    const WHAT: &'static str = "bandwidth model";
    const NAMED: &'static [(&'static str, Self)] =
        &[("sound", Self::Sound), ("published", Self::Published)];
}

/// Holds a pattern placed on GPUs, with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Lists the GPU of each pattern vertex.
    pub placement: Vec<usize>,
    /// How many links of each class the pattern uses.
    pub links: LinkCounts,
    /// Eq. 1: total bandwidth of the pairs that the pattern uses.
    pub aggregated_bandwidth: Bandwidth,
    /// Predicts the bandwidth of the pattern, GB/s. Of a collective it is the bus bandwidth. Of
    /// another pattern under the sound model it is what the edge with the largest share has. It is
    /// `None` for a pattern without edges, which has none.
    pub effective_bandwidth: Option<f64>,
    /// Sums the bandwidth between the GPUs that stay free (Eq. 3).
    pub preserved_bandwidth: Bandwidth,
}

impl Match {
    /// Returns the GPUs as a set.
    #[must_use]
    pub fn gpus(&self) -> GpuSet {
        self.placement.iter().copied().collect()
    }
}

/// Holds tables over all subsets of a machine of at most 16 GPUs.
#[derive(Debug, Clone)]
pub(super) struct Tables {
    pub subsets: Subsets,
    pub rings: RingTable,
    /// Sums the bandwidth inside each subset, bytes per second.
    pub inside: Vec<u64>,
    /// Holds the sound effective bandwidth of each subset, GB/s. It is empty under the published
    /// model.
    pub effective: Vec<f64>,
    /// Holds the best rings under the published model. It is absent under the sound one.
    pub published_rings: Option<RingLinksTable>,
    /// Holds the nearness of each subset.
    pub nearness: NearnessTable,
}

impl Tables {
    /// Preserved bandwidth where the set leaves these free GPUs.
    #[inline]
    pub fn preserved(&self, set: u16, free: GpuSet) -> Primary {
        Primary::of_bandwidth(self.inside[usize::from(free.0 as u16 & !set)])
    }

    /// Returns the effective bandwidth of a set under the sound model.
    #[inline]
    pub fn effective(&self, set: u16) -> Primary {
        Primary::of_prediction(self.effective[usize::from(set)])
    }
}

/// Holds a machine with all data that decisions need.
#[derive(Debug, Clone)]
pub struct PreparedMachine {
    name: String,
    server: Arc<Server>,
    graph: GpuGraph,
    tree: HostTree,
    model: BandwidthModel,
    regression: Regression,
    pub(super) pairs: PairTable,
    sound: SoundModel,
    pub(super) tables: Option<Tables>,
    /// Holds the heaviest rings of a machine of 17 to 20 GPUs. They are computed when first needed.
    rings: OnceLock<RingTable>,
    /// Holds what copies take; it is made when a pattern is first judged by its edges.
    copies: OnceLock<CopyPaths>,
    /// Holds the best matches of patterns that were judged by their edges.
    pub(super) edge_tables: EdgeTables,
    ties: Ties,
    pub(super) distances: HostDistances,
    /// Tells copies of this machine from others.
    origin: Arc<()>,
}

impl PreparedMachine {
    /// Prepares a machine.
    ///
    /// # Errors
    /// Refuses a machine with more than [`MAX_GPUS`] GPUs, or with two GPUs that nothing joins.
    pub fn new(
        machine: &Server,
        profile: BandwidthProfile,
        model: BandwidthModel,
    ) -> Result<Self, AllocationError> {
        Self::with_regression(machine, profile, model, Regression::PUBLISHED)
    }

    /// Prepares a machine for which Eq. 2 has these coefficients; they count under the published model alone.
    ///
    /// # Errors
    /// Fails as [`Self::new`] does.
    pub fn with_regression(
        machine: &Server,
        profile: BandwidthProfile,
        model: BandwidthModel,
        regression: Regression,
    ) -> Result<Self, AllocationError> {
        let count = machine.gpus().len();
        if count > MAX_GPUS {
            return Err(AllocationError::TooManyGpus { gpus: count });
        }
        let graph = GpuGraph::new(machine, profile)?;
        let tree = host_tree(machine);
        let pairs = PairTable::new(&graph);
        let sound = SoundModel::new(&graph);
        let distances = HostDistances::new(machine);
        let tables = (count <= MAX_TABULATED).then(|| {
            let published = model == BandwidthModel::Published;
            Tables {
                subsets: Subsets::new(count),
                rings: RingTable::new(&pairs, &mut Effort::new()),
                inside: inside_of_subsets(&pairs),
                effective: if published { Vec::new() } else { sound.tabulate() },
                published_rings: published.then(|| RingLinksTable::new(&pairs, regression)),
                nearness: distances.tabulate(),
            }
        });
        Ok(Self {
            name: machine.name().to_owned(),
            server: Arc::new(machine.clone()),
            graph,
            tree,
            model,
            regression,
            pairs,
            sound,
            tables,
            rings: OnceLock::new(),
            copies: OnceLock::new(),
            edge_tables: EdgeTables::default(),
            ties: Ties::default(),
            distances,
            origin: Arc::default(),
        })
    }

    /// The same machine with this rule for matches that tie in a policy's scores.
    #[must_use]
    pub fn with_ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self.edge_tables = EdgeTables::default();
        self.origin = Arc::default();
        self
    }

    /// Tells whether one is a copy of the other, so that both decide alike.
    #[must_use]
    pub fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.origin, &other.origin)
    }

    /// Says what decides between matches that tie in a policy's scores.
    #[must_use]
    pub const fn ties(&self) -> Ties {
        self.ties
    }

    /// How near some of the free GPUs are on the host.
    #[must_use]
    pub fn nearness(&self, gpus: GpuSet, free: GpuSet) -> Nearness {
        self.distances.nearness(gpus, free)
    }

    /// Compares two sets of free GPUs that tie in a policy's scores: the lesser wins.
    pub(super) fn compare_ties(&self, a: GpuSet, b: GpuSet, free: GpuSet) -> Ordering {
        match (self.ties, &self.tables) {
            (Ties::Published, _) => Ordering::Equal,
            (_, Some(tables)) => tables.nearness.compare(a.0 as u16, b.0 as u16, free),
            _ => self.nearness(a, free).cmp(&self.nearness(b, free)),
        }
    }

    /// The heaviest rings of all subsets, on machines that are small enough; `None` also
    /// where the effort is stopped.
    pub(super) fn rings(&self, effort: &mut Effort<'_>) -> Option<&RingTable> {
        if let Some(tables) = &self.tables {
            return Some(&tables.rings);
        }
        if self.gpu_count() > MAX_EXACT {
            return None;
        }
        if self.rings.get().is_none() {
            let made = RingTable::new(&self.pairs, effort);
            if effort.is_stopped() {
                return None;
            }
            return Some(self.rings.get_or_init(|| made));
        }
        self.rings.get()
    }

    /// Gives what copies between the GPUs take of the machine's channels.
    pub(super) fn copies(&self) -> &CopyPaths {
        self.copies.get_or_init(|| CopyPaths::new(&self.server))
    }

    /// The bandwidth of a pattern on these GPUs, one for each of its vertices, under the sound model, GB/s. A
    /// collective's is that of an all-reduce on the set; any other pattern's that of its edges.
    #[must_use]
    pub fn pattern_bandwidth(&self, pattern: &Pattern, placement: &[usize]) -> f64 {
        if pattern.is_collective() {
            self.sound_bandwidth(placement.iter().copied().collect())
        } else {
            self.copies().bandwidth(pattern, placement)
        }
    }

    /// Returns the machine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the GPUs are joined.
    #[must_use]
    pub const fn graph(&self) -> &GpuGraph {
        &self.graph
    }

    /// Returns the GPUs' places in the PCIe and NUMA tree.
    #[must_use]
    pub const fn tree(&self) -> &HostTree {
        &self.tree
    }

    /// Returns the model that predicts effective bandwidth.
    #[must_use]
    pub const fn model(&self) -> BandwidthModel {
        self.model
    }

    /// Gives the coefficients of Eq. 2 that the published model predicts with.
    #[must_use]
    pub const fn regression(&self) -> &Regression {
        &self.regression
    }

    /// How many GPUs there are.
    #[must_use]
    pub fn gpu_count(&self) -> usize {
        self.graph.len()
    }

    /// Total bandwidth between the GPUs of a set (Eq. 3 for the set that stays free).
    #[must_use]
    pub fn bandwidth_inside(&self, gpus: GpuSet) -> Bandwidth {
        if let Some(tables) = &self.tables {
            return Bandwidth(tables.inside[gpus.0 as usize]);
        }
        Bandwidth(self.pairs.inside(gpus))
    }

    /// Returns the effective bandwidth of a set of GPUs under the sound model, GB/s.
    #[must_use]
    pub fn sound_bandwidth(&self, gpus: GpuSet) -> f64 {
        match self.tables.as_ref().and_then(|tables| tables.effective.get(gpus.0 as usize)) {
            Some(value) => *value,
            None => self.sound.effective_bandwidth(gpus),
        }
    }

    /// A bandwidth that [`Self::sound_bandwidth`] does not exceed, quickly, GB/s.
    pub(super) fn sound_bandwidth_at_most(&self, gpus: GpuSet) -> f64 {
        self.sound.at_most(gpus)
    }

    /// Returns a bandwidth under the sound model that no set of `size` of these GPUs exceeds, GB/s.
    pub(super) fn most_sound_bandwidth(&self, gpus: GpuSet, size: usize) -> f64 {
        self.sound.most_bandwidth(gpus, size)
    }

    /// Returns the steps of [`super::Effort`] that [`Self::sound_bandwidth`] takes for `size` GPUs.
    pub(super) fn sound_steps(&self, size: usize) -> u64 {
        match self.tables.as_ref() {
            Some(tables) if !tables.effective.is_empty() => 0,
            _ => self.sound.steps(size),
        }
    }

    /// Gives the links that the pattern uses on these GPUs by the machine's own names, and how many
    /// pairs of each, the widest first. Names are such as `NV18` for NVLinks and `XGMI1` for xGMI.
    /// A way through the host is named after what it crosses, such as `PIX`.
    #[must_use]
    pub fn link_names(&self, pattern: &Pattern, placement: &[usize]) -> Vec<(String, usize)> {
        let mut counted: BTreeMap<(Reverse<Bandwidth>, String), usize> = BTreeMap::new();
        for (a, b) in pattern.edges() {
            let (a, b) = (placement[*a], placement[*b]);
            let Some(pair) = self.graph.pair(a, b) else { continue };
            let name = match pair.link {
                PairLink::Host { .. } => self.distances.proximity(a, b).name().to_owned(),
                link => link.label(),
            };
            *counted.entry((Reverse(pair.bandwidth), name)).or_default() += 1;
        }
        let mut names: Vec<(String, usize)> = Vec::new();
        for ((_, name), count) in counted {
            match names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => names.push((name, count)),
            }
        }
        names
    }

    /// Scores a placement that is given, with these GPUs free before it.
    #[must_use]
    pub fn score(&self, pattern: &Pattern, placement: Vec<usize>, free: GpuSet) -> Match {
        let links = links_of(pattern.edges(), &placement, &self.pairs);
        let weight = |(a, b): &(usize, usize)| self.pairs.weight(placement[*a], placement[*b]);
        let aggregated = pattern.edges().iter().map(weight).sum();
        let gpus: GpuSet = placement.iter().copied().collect();
        let effective = match self.model {
            BandwidthModel::Published => self.regression.effective_bandwidth(links),
            BandwidthModel::Sound => self.pattern_bandwidth(pattern, &placement),
        };
        Match {
            links,
            aggregated_bandwidth: Bandwidth(aggregated),
            effective_bandwidth: (!pattern.edges().is_empty()).then_some(effective),
            preserved_bandwidth: self.bandwidth_inside(free.without(gpus)),
            placement,
        }
    }
}

fn inside_of_subsets(pairs: &PairTable) -> Vec<u64> {
    let mut sums = vec![0; 1 << pairs.count()];
    for subset in 1..sums.len() {
        let lowest = subset.trailing_zeros() as usize;
        let rest = subset & (subset - 1);
        let members = (lowest + 1..pairs.count()).filter(|other| rest >> other & 1 == 1);
        let to_rest: u64 = members.map(|other| pairs.weight(lowest, other)).sum();
        sums[subset] = sums[rest] + to_rest;
    }
    sums
}
