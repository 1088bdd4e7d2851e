//! Gives the choices of NCCL, or RCCL: algorithm, protocol, channels and chunks.
//!
//! It represents the library's own cost model. The constants and rules of each release stand in a
//! table of its own ([`versions`]). The model only chooses, and its times are named the model's.
//! How long the choice takes is another matter.
//!
//! It leaves out `CollNet`, and with it NVLS between servers without trees. Symmetric kernels and copies by engines take
//! registered windows, and are left out, too. So are registered buffers, tuner plugins and several operations in one group.
//! It knows no latency that a network interface tells NCCL, nor LL128's wish for one near each GPU, nor MSCCL of RCCL.

mod dealing;
mod explain;
pub(super) mod found;
pub(super) mod graph;
mod interfaces;
pub(super) mod model;
mod numbers;
pub(super) mod rules;
mod settings;
mod shape;
#[cfg(test)]
mod tests;
mod thresholds;
mod version;
pub(super) mod versions;

use thiserror::Error;

pub(super) use self::dealing::dealing_of;
use self::explain::explained;
pub use self::explain::{ChoiceExplanation, FoundGraph, ModelCost};
use self::graph::Graph;
pub(super) use self::graph::{all_alike, rings_in};
use self::model::{Candidate, Model};
pub use self::numbers::{ElementType, ReduceOperation};
pub use self::rules::Library;
use self::rules::{Bandwidths, Rules};
pub use self::settings::Settings;
pub use self::shape::Chunking;
use self::shape::{Cut, PAIRS_LL_MOST};
use self::thresholds::Forced;
pub use self::version::{Version, VersionError};
use super::expected_algorithm::{ExpectedAlgorithm, by_pairs};
use super::generation::Generation;
use super::interfaces::Dealing;
use super::rings::RingPath;
use crate::collectives::planners::link_graph::{LinkGraphError, check_gpus};
use crate::collectives::planners::plan::nvls::TREES;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::Peers;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::{LinkKind, System, Wiring};
use crate::units::{Bytes, Picoseconds};

/// Counts the parts into which a step of a chain is cut. The source has whole steps of 512 KiB, whose hops would take 54 us
/// on eight A100s. There 20 times of broadcasts and reductions, from 1 to 256 MiB, leave 4 to 11 us for a hop.
pub(in crate::collectives) const PARTS_OF_A_STEP: u32 = 8;

/// Describes the operation that a library runs for one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Says how the data travels.
    pub algorithm: ExpectedAlgorithm,
    /// How it is flagged.
    pub protocol: Protocol,
    /// Channels that carry data: fewer than there are where little data is not worth them all.
    pub channels: u32,
    /// Counts the threads of each channel's block.
    pub threads: u32,
    /// How the data is cut.
    pub chunking: Chunking,
    /// Gives the time that the library's cost model believes. It is none for pairs, and for
    /// releases without a model.
    pub model_time: Option<Picoseconds>,
}

/// A release whose rules are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Names the library that was asked.
    pub library: Library,
    /// Names the release that was asked.
    pub version: Version,
    /// Says where its rules stand.
    pub source: &'static str,
}

/// The releases whose rules are known, of each library the oldest first.
pub fn releases() -> impl Iterator<Item = Release> {
    let release = |rules: &Rules| {
        let Rules { library, version, source, .. } = *rules;
        Release { library, version, source }
    };
    versions::all().map(release)
}

impl Choice {
    /// Gives the longest run that a step of its schedule moves: a chunk. Where switches reduce, one block stands for
    /// all channels of a tree and moves a chunk of each. A chain's step is cut in parts.
    #[must_use]
    pub fn longest_run(&self, collective: Collective) -> Bytes {
        let is_rooted =
            matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. });
        if is_rooted
            && (self.algorithm, self.protocol) == (ExpectedAlgorithm::Ring, Protocol::Simple)
        {
            return Bytes(self.chunking.chunk.0 / u64::from(PARTS_OF_A_STEP));
        }
        let blocks = match self.algorithm {
            ExpectedAlgorithm::Nvls => self.channels,
            ExpectedAlgorithm::NvlsTree => (self.channels / TREES as u32).max(1),
            _ => 1,
        };
        Bytes(self.chunking.chunk.0 * u64::from(blocks))
    }
}

/// Settings that a machine cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ChoiceError {
    /// The GPUs do not fit the system.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// An algorithm or a protocol that does not run there.
    Unavailable {
        /// Names the thing that was wanted.
        what: String,
        /// Says why it is impossible.
        why: String,
        /// Says how it would work.
        remedy: String,
    },
    /// A bandwidth that is none.
    Bandwidth(String),
    /// The network would have to reduce.
    CollNet,
}

impl Diagnose for ChoiceError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Links(error) => error.diagnosis(),
            Self::Unavailable { what, why, remedy } => {
                Diagnosis::of(format!("{what} is not available here: {why}")).remedy(remedy)
            }
            Self::Bandwidth(name) => {
                Diagnosis::of(format!("a measured bandwidth cannot be {name} GB/s"))
                    .remedy("give a number above 0, or leave it out")
            }
            Self::CollNet => {
                let known = ExpectedAlgorithm::ALL.map(ExpectedAlgorithm::name).join(", ");
                Diagnosis::of("CollNet (reduction in the network) is not modelled".to_owned())
                    .remedy(format!("use {known}"))
            }
        }
    }
}

/// Returns the library's choice for a size, nearest to its real run, on GPUs by their ids.
///
/// # Errors
/// Fails as [`choices`] does.
pub fn choose(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
    settings: &Settings,
) -> Result<Choice, ChoiceError> {
    Ok(choices(system, gpus, collective, size, settings)?[0])
}

/// All that there is to choose from, that which the library runs first, then by the model's time.
///
/// # Errors
/// [`ChoiceError`] where the GPUs do not fit the system, or it cannot have the settings.
pub fn choices(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
    settings: &Settings,
) -> Result<Vec<Choice>, ChoiceError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    Ok(chooser.all(size.0))
}

/// Returns the library and the release whose rules choose on these GPUs, `NCCL 2.30`, and the notes
/// on it for a person.
///
/// # Errors
/// Fails as [`check_gpus`] does.
pub fn release_on(
    system: &System,
    gpus: &[usize],
    settings: &Settings,
) -> Result<(String, Option<String>), LinkGraphError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let (rules, note) = rules_on(wiring, settings);
    let notes: Vec<String> =
        note.into_iter().chain(memory_note(rules, wiring, gpus, settings)).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok((format!("{} {}", rules.library.name(), rules.version), note))
}

/// Asks the library's search and its cost model about these GPUs, by their ids.
///
/// # Errors
/// The GPUs do not fit the system.
pub fn explain(
    system: &System,
    gpus: &[usize],
    settings: &Settings,
) -> Result<ChoiceExplanation, ChoiceError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let (rules, _) = rules_on(wiring, settings);
    let graph = Graph::new(rules, wiring, gpus, settings);
    Ok(explained(rules, &graph))
}

/// Holds a release on a job's GPUs, for one collective. It is made once for many sizes.
#[derive(Debug)]
pub(in crate::collectives) struct Chooser {
    pub(in crate::collectives::nccl::baselines) rules: &'static Rules,
    pub(in crate::collectives::nccl::baselines) settings: Settings,
    collective: Collective,
    pub(in crate::collectives::nccl::baselines) believed: Graph,
    candidates: Vec<Candidate>,
    /// Tells a person that a version stands in for another.
    pub(in crate::collectives) notes: Vec<String>,
}

impl Chooser {
    /// # Errors
    /// [`ChoiceError`] where the machine cannot have the settings.
    pub(in crate::collectives) fn new(
        wiring: &Wiring,
        gpus: &[usize],
        collective: Collective,
        settings: &Settings,
    ) -> Result<Self, ChoiceError> {
        for bandwidth in [settings.link_bandwidth, settings.network_bandwidth].into_iter().flatten()
        {
            if !(bandwidth.is_finite() && bandwidth > 0.0) {
                return Err(ChoiceError::Bandwidth(bandwidth.to_string()));
            }
        }
        let (rules, note) = rules_on(wiring, settings);
        let of_it = Settings { nvls: settings.in_switches(collective), ..*settings };
        let mut believed = Graph::new(rules, wiring, gpus, &of_it);
        if let Some(most) = settings.most_channels {
            believed.built = believed.built.min(most.max(1));
        }
        let model = Model { rules, graph: &believed };
        let candidates = if by_pairs(collective) {
            [Protocol::LL, Protocol::Simple].map(|it| model.pairs(it)).to_vec()
        } else {
            model.candidates(collective)
        };
        let wanted = |it: &Candidate| {
            settings.algorithm.is_none_or(|wanted| wanted == it.algorithm)
                && settings.protocol.is_none_or(|wanted| wanted == it.protocol)
        };
        let left: Vec<Candidate> = candidates.iter().copied().filter(wanted).collect();
        if left.is_empty() {
            let machine = Machine { wiring, rules, graph: &believed, settings };
            return Err(machine.unavailable(collective, &candidates));
        }
        let notes = note.into_iter().chain(memory_note(rules, wiring, gpus, settings)).collect();
        Ok(Self { rules, settings: *settings, collective, believed, candidates: left, notes })
    }

    /// Returns the library and its release, as people write it.
    pub(in crate::collectives) fn release(&self) -> String {
        format!("{} {}", self.rules.library.name(), self.rules.version)
    }

    /// Whether one process launches its kernels on all of its GPUs as one, as NCCL did up to 2.8.
    pub(in crate::collectives) fn launches_as_group(&self) -> bool {
        let version = self.settings.version.unwrap_or(self.rules.version);
        self.rules.library == Library::Nccl && version < Version::new(2, 9, 0)
    }

    /// Counts the GPUs of a server that have a part where its switches reduce.
    pub(in crate::collectives::nccl::baselines) fn heads(&self) -> usize {
        self.believed.heads() as usize
    }

    /// Gives its choice for a size, and the next by its model.
    pub(in crate::collectives::nccl::baselines) fn first_two(
        &self,
        size: u64,
    ) -> (Choice, Option<Choice>) {
        let all = self.all(size);
        (all[0], all.get(1).copied())
    }

    /// Returns the library's choice for a size.
    pub(in crate::collectives) fn choose(&self, size: u64) -> Choice {
        self.all(size)[0]
    }

    /// All that there is to choose from, that which the library runs first.
    pub(in crate::collectives::nccl::baselines) fn all(&self, size: u64) -> Vec<Choice> {
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        let time = |at: &usize| self.candidates[*at].time(size);
        order.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let forced = self.forced(size);
        let is_it = |candidate: &Candidate| {
            forced.filter(|it| {
                (it.algorithm, it.protocol) == (candidate.algorithm, candidate.protocol)
            })
        };
        order.sort_by_key(|at| is_it(&self.candidates[*at]).is_none());
        let choice = |at: usize| {
            let candidate = &self.candidates[at];
            self.shaped(candidate, size, is_it(candidate).and_then(|it| it.blocks))
        };
        order.into_iter().map(choice).collect()
    }

    /// Returns the choice that needs no model: pairs by their messages, NCCL 2.4 by its thresholds,
    /// RCCL between servers by its ranges.
    fn forced(&self, size: u64) -> Option<Forced> {
        let (collective, graph) = (self.collective, &self.believed);
        if by_pairs(collective) {
            let small = size.div_ceil(graph.ranks as u64) <= PAIRS_LL_MOST;
            let protocol = if small { Protocol::LL } else { Protocol::Simple };
            return Some(Forced { algorithm: ExpectedAlgorithm::Pairs, protocol, blocks: None });
        }
        if let Some(thresholds) = &self.rules.thresholds {
            return Some(thresholds::choose(thresholds, graph, collective, size));
        }
        let Bandwidths::Shares(shares) = &self.rules.bandwidths else { return None };
        let ranks = graph.ranks as u64;
        let (most, each) = match collective {
            Collective::ReduceScatter => (shares.ll_between[0], size / ranks),
            Collective::AllGather => (shares.ll_between[1], size / ranks),
            Collective::AllReduce => (shares.ll_between[2], size),
            _ => return None,
        };
        let best = self.candidates.iter().min_by(|a, b| a.time(size).total_cmp(&b.time(size)))?;
        let protocol = if each <= most { Protocol::LL } else { Protocol::Simple };
        let algorithm = best.algorithm;
        (graph.servers > 1).then_some(Forced { algorithm, protocol, blocks: None })
    }

    fn shaped(&self, candidate: &Candidate, size: u64, blocks: Option<(u32, u32)>) -> Choice {
        let Candidate { algorithm, protocol, .. } = *candidate;
        let cut = Cut {
            rules: self.rules,
            graph: &self.believed,
            collective: self.collective,
            algorithm,
            protocol,
            size,
        };
        let (channels, threads) = blocks.unwrap_or_else(|| cut.blocks());
        let modelled = algorithm != ExpectedAlgorithm::Pairs && self.rules.thresholds.is_none();
        let time = || Picoseconds::from_seconds(candidate.time(size) * 1e-6);
        Choice {
            algorithm,
            protocol,
            channels,
            threads,
            chunking: cut.chunking(channels, threads),
            model_time: modelled.then(time),
        }
    }
}

/// Says that GPUs of a job's first server copy through the host's memory, where some do, and why.
fn memory_note(
    rules: &Rules,
    wiring: &Wiring,
    gpus: &[usize],
    settings: &Settings,
) -> Option<String> {
    let is_own = |gpu: &&usize| wiring.server_of(**gpu) == wiring.server_of(gpus[0]);
    let own: Vec<usize> = gpus.iter().filter(is_own).copied().collect();
    if !settings.p2p || rings_in(rules, wiring, &own, settings).path != RingPath::Host {
        return None;
    }
    let mut peers = Peers::new(wiring, gpus);
    let mut ends = own.iter().flat_map(|from| own.iter().map(move |to| (*from, *to)));
    let (from, to) = ends.find(|(from, to)| peers.copy_through_memory(*from, *to))?;
    let library = rules.library.name();
    let [from, to] = [from, to].map(|gpu| wiring.gpu(gpu));
    if wiring.has_peer_access(from, to) {
        return Some(format!(
            "{library} copies through the host's memory between GPUs that a host bridge parts"
        ));
    }
    let model = wiring.described(from).and_then(|it| it.model.as_deref()).unwrap_or("this GPU");
    Some(format!(
        "{model} has no peer access over PCIe, so that {library} copies through the host's memory"
    ))
}

/// Which library runs on these GPUs, in which release; with a note where it stands in.
pub(super) fn rules_on(wiring: &Wiring, settings: &Settings) -> (&'static Rules, Option<String>) {
    let amd = wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi));
    let library = if amd { Library::Rccl } else { Library::Nccl };
    let (rules, note) = match settings.version {
        Some(version) => versions::of(library, version),
        None => (versions::newest(library), None),
    };
    let is_several = wiring.devices().iter().filter_map(|device| device.server).max() > Some(0);
    let between = (amd && is_several && note.is_none()).then(|| {
        format!(
            "between servers RCCL is taken to choose as {} {}, the newest release that is known",
            library.name(),
            rules.version
        )
    });
    (rules, note.or(between))
}

/// Says how the newest release of the library that runs on these links deals channels.
pub(in crate::collectives) fn newest_dealing(wiring: &Wiring) -> Dealing {
    let settings = Settings::default();
    dealing_of(rules_on(wiring, &settings).0, &settings)
}

/// Describes a machine in an error.
struct Machine<'a> {
    wiring: &'a Wiring,
    rules: &'a Rules,
    graph: &'a Graph,
    settings: &'a Settings,
}

impl Machine<'_> {
    /// Why nothing is left of the candidates.
    fn unavailable(&self, collective: Collective, candidates: &[Candidate]) -> ChoiceError {
        let Settings { algorithm, protocol, .. } = *self.settings;
        let has = |it: &&Candidate| algorithm.is_none_or(|wanted| wanted == it.algorithm);
        let of_it: Vec<&Candidate> = candidates.iter().filter(has).collect();
        let release = format!("{} {}", self.rules.library.name(), self.rules.version);
        match (algorithm, protocol) {
            (Some(algorithm), _) if of_it.is_empty() => ChoiceError::Unavailable {
                what: format!("the algorithm {}", algorithm.name()),
                why: self.why_not(algorithm, collective, &release),
                remedy: format!("use one of {}", names(candidates, |it| it.algorithm.name())),
            },
            (algorithm, protocol) => ChoiceError::Unavailable {
                what: format!(
                    "the protocol {}{}",
                    protocol.map_or("", Protocol::name),
                    algorithm.map_or_else(String::new, |it| format!(" of {}", it.name())),
                ),
                why: self.why_no_protocol(protocol, algorithm, &release),
                remedy: format!(
                    "use one of {}",
                    names(&of_it.into_iter().copied().collect::<Vec<_>>(), |it| it.protocol.name())
                ),
            },
        }
    }

    fn why_not(&self, wanted: ExpectedAlgorithm, collective: Collective, release: &str) -> String {
        match wanted {
            it if it.is_in_switch() => self.why_not_in_switch(it, collective, release),
            ExpectedAlgorithm::Pat if self.rules.pat.is_none() => {
                format!("{release} has no parallel trees, which came with NCCL 2.23")
            }
            ExpectedAlgorithm::Pat if !self.graph.is_one_each() => {
                "parallel trees take servers of one GPU each".to_owned()
            }
            _ => format!("{release} does no {} so", collective.name()),
        }
    }

    fn why_not_in_switch(
        &self,
        wanted: ExpectedAlgorithm,
        collective: Collective,
        release: &str,
    ) -> String {
        let (machine, graph) = (self.wiring.name(), self.graph);
        let is_tree = wanted == ExpectedAlgorithm::NvlsTree;
        let most = self.rules.search.heads as usize;
        let Some(nvls) = self.rules.nvls else {
            return format!("{release} does not reduce in NVSwitches");
        };
        if !self.settings.nvls {
            return "NVLS is switched off".to_owned();
        }
        if !self.settings.in_switches(collective) {
            let (numbers, operation) = self.settings.reduced();
            let (numbers, operation) = (numbers.name(), operation.name());
            return format!("switches do not reduce {numbers} by {operation}");
        }
        if graph.nvls.is_none() {
            if graph.switched && graph.generation < Generation::Hopper {
                return format!(
                    "only NVSwitches from the H100's on reduce, and `{machine}` has older GPUs"
                );
            }
            let least = match nvls.least {
                2 => "two",
                _ => "three",
            };
            return format!(
                "NVLS takes {least} or more GPUs of one server behind NVSwitches, and these of `{machine}` are not"
            );
        }
        match (is_tree, graph.servers) {
            (true, 1) => format!(
                "trees join the switches of several servers, and these GPUs of `{machine}` are in one"
            ),
            (false, 2..) => {
                "between servers NVLS takes CollNet, by which the network reduces, and which is \
                             not modelled"
                    .to_owned()
            }
            (false, _) if collective != Collective::AllReduce && graph.ranks > most => {
                format!("{release} gathers and scatters so on {most} GPUs of a server or fewer")
            }
            _ => format!("{release} does no {} so", collective.name()),
        }
    }

    fn why_no_protocol(
        &self,
        protocol: Option<Protocol>,
        algorithm: Option<ExpectedAlgorithm>,
        release: &str,
    ) -> String {
        if algorithm.is_some_and(ExpectedAlgorithm::is_in_switch) {
            return "switches reduce with Simple alone".to_owned();
        }
        if algorithm == Some(ExpectedAlgorithm::Pat) {
            return "parallel trees go by Simple alone".to_owned();
        }
        if algorithm == Some(ExpectedAlgorithm::Pairs) {
            return "sends and receives between pairs go by LL or Simple".to_owned();
        }
        match protocol {
            Some(Protocol::LL128) if !self.graph.over_fabric => {
                "LL128 takes NVLink between all neighbours, and these GPUs talk over the host"
                    .to_owned()
            }
            Some(Protocol::LL128) if self.graph.generation < Generation::Volta => {
                "LL128 takes GPUs from the V100 on".to_owned()
            }
            _ => format!("{release} does not have it on these GPUs"),
        }
    }
}

/// Names, once each and in order.
fn names(candidates: &[Candidate], name: fn(&Candidate) -> &'static str) -> String {
    let mut found: Vec<&str> = Vec::new();
    for candidate in candidates {
        if !found.contains(&name(candidate)) {
            found.push(name(candidate));
        }
    }
    found.join(", ")
}
