//! From a job's GPUs and a collective to a schedule.
//!
//! [`plan`] takes the links that the job was given ([`super::link_graph`]), lets the named
//! [`Algorithm`] choose trees, rings or paths, and lowers them. The rate that it reports is what
//! the schedule reaches of the links' peak in the limit of long data; [`Plan::optimum`] is
//! what no schedule of its kind could pass.

mod all_to_all;
mod auto;
mod blink;
mod equal_servers;
mod estimate;
mod fastest;
mod ground;
mod hybrid;
mod mpi;
pub(super) mod nvls;
mod optimum;
mod packing;
mod rails;
mod rate;
mod scatter;
mod shares;
mod sized;
mod three_phase;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use auto::{ASSUMED_SIZE, MOST_TRIED, Trial, Tried, plan_fastest};
pub use estimate::planning_seconds;
pub use hybrid::{assumed_peer_access_switch, plan_hybrid};
pub use sized::{Candidates, plan_for_size, plan_for_sizes, timed_plan_for_size};

use self::equal_servers::EqualServers;
use self::ground::{Ground, choose_links};
pub(super) use self::mpi::by_rule_alone;
use self::packing::Packed;
use self::sized::{fastest, plan_sized, time_of};
use super::baselines::{BaselinePlan, NcclBaseline, by_server, plan_on};
use super::collective::Collective;
use super::link_graph::{LinkClass, LinkGraphError, check_gpus, fabric_of};
use super::lowering::{RootedTree, schedule_of_paths, schedule_of_trees};
use super::mpi as rules;
use super::schedule::{ChannelTransport, ChosenRoute, Protocol, Schedule};
use super::source::TooManyRanks;
use super::time::TimeError;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::graph::arborescences::Preference;
use crate::system::{NoReducingSwitch, System, Wiring};
use crate::units::Bandwidth;

/// The most GPUs on several servers through which the trees of an all-reduce are packed at
/// once; beyond, they are packed on each server and exchanged between them.
pub const MOST_PACKED_AT_ONCE: usize = 64;

/// The most GPUs that trees are packed through: what is known of each arc for each tree takes
/// 8 bytes, or a gigabyte in all.
pub const MOST_PACKED: usize = 512;

/// How a schedule is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// Spanning trees packed at the optimum, exactly.
    Packing,
    /// Blink's own: candidates by multiplicative weights, then an integer programme.
    Blink,
    /// One star for each GPU, with an equal part of the data (Blink on NVSwitch machines).
    OneHop,
    /// Across servers: reduced on each, exchanged between them, sent out on each (Blink).
    ThreePhase,
    /// What NCCL does: 2.3 and 2.4, of Blink's time, or the search of 2.18.
    Nccl(NcclBaseline),
    /// Reductions and copies inside the switch (NCCL's NVLS).
    Nvls,
    /// A rule of MPI's, which knows nothing of the links.
    Mpi(rules::MpiAlgorithm),
}

impl Algorithm {
    /// Those that look at the links, and NCCL's.
    pub const PLANNERS: [Self; 8] = [
        Self::Packing,
        Self::Blink,
        Self::OneHop,
        Self::ThreePhase,
        Self::Nccl(NcclBaseline::Classic),
        Self::Nccl(NcclBaseline::Ring),
        Self::Nccl(NcclBaseline::Tree),
        Self::Nvls,
    ];

    /// All of them: the planners, then MPI's rules.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rules = rules::MpiAlgorithm::ALL.into_iter().map(Self::Mpi);
        Self::PLANNERS.into_iter().chain(rules).collect()
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packing => "packing",
            Self::Blink => "blink",
            Self::OneHop => "one-hop",
            Self::ThreePhase => "three-phase",
            Self::Nccl(baseline) => baseline.name(),
            Self::Nvls => "nvls",
            Self::Mpi(rule) => mpi::name(rule),
        }
    }

    /// What it does, and for a baseline which library it stands for, in a few words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Packing => "spanning trees packed at the optimum, exactly",
            Self::Blink => "Blink: multiplicative weights, then an integer programme for few trees",
            Self::ThreePhase => {
                "Blink across servers: reduced on each, exchanged, sent out on each"
            }
            Self::OneHop => "a star from every GPU, with an equal part of the data each",
            Self::Nccl(NcclBaseline::Classic) => {
                "NCCL 2.3 and 2.4, of Blink's time: rings over NVLink if one exists, else PCIe"
            }
            Self::Nccl(NcclBaseline::Ring) => {
                "the search of NCCL 2.18.5: rings, relayed through a GPU where they must be"
            }
            Self::Nccl(NcclBaseline::Tree) => {
                "the search of NCCL 2.18.5: a chain in a server, double trees between them"
            }
            Self::Nvls => "NCCL's NVLS: each GPU's part reduced and copied by the switch",
            Self::Mpi(rule) => mpi::description(rule),
        }
    }

    /// The protocols that who runs it has: Blink copies with CUDA's own transfers, NCCL got
    /// LL128 in 2.5, and what we plan runs on NCCL-like executors.
    #[must_use]
    pub const fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Blink | Self::ThreePhase | Self::Nvls | Self::Mpi(_) => &[Protocol::Simple],
            Self::Nccl(NcclBaseline::Classic) => &[Protocol::LL, Protocol::Simple],
            Self::Packing | Self::OneHop | Self::Nccl(_) => &Protocol::ALL,
        }
    }

    /// The algorithm of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// Which links a plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Links {
    /// NVLink where it joins all GPUs, else PCIe. Across servers, where NVLink joins the GPUs of
    /// each, NVLink and the network; else all links.
    #[default]
    Auto,
    /// NVLink only.
    Fabric,
    /// PCIe only.
    Host,
    /// As [`Links::Auto`], and between servers PCIe beside NVLink: a hybrid of all links.
    Every,
}

/// A schedule and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What to do.
    pub schedule: Schedule,
    /// Who found it.
    pub algorithm: Algorithm,
    /// The links that carry it.
    pub links: LinkClass,
    /// The trees behind it, in the order of their chunks; empty for rings and paths.
    pub trees: Vec<RootedTree>,
    /// What the schedule reaches of the links' peak: size over time in the limit of long data.
    pub rate: Bandwidth,
    /// The most that any schedule of this kind could, where that is known.
    pub optimum: Option<Bandwidth>,
    /// What a person should know: links that could not be used, weights that were rounded.
    pub notes: Vec<String>,
}

impl Plan {
    /// Whether PCIe carries a part of a plan over NVLink: of a hybrid, or where two GPUs that
    /// exchange data have no NVLink between them. `system` is what it was planned for.
    ///
    /// # Errors
    /// As the timing, where a connection has no route.
    pub fn has_host_beside_fabric(&self, system: &System) -> Result<bool, TimeError> {
        let wiring = || Wiring::of_gpus(system, &self.schedule.gpus);
        Ok(self.links == LinkClass::Fabric && rate::loads_host(&self.schedule, &wiring())?)
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlanError {
    /// The GPUs do not fit the machine or each other.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// The root is no rank.
    UnknownRoot {
        /// The root.
        root: usize,
        /// The largest rank.
        last: usize,
    },
    /// The algorithm does not do this collective.
    Unsupported {
        /// The algorithm.
        algorithm: &'static str,
        /// The collective.
        collective: &'static str,
        /// Algorithms that do.
        remedy: &'static str,
    },
    /// Three phases among GPUs of one server.
    OneServer,
    /// More GPUs than trees are packed through.
    TooMany(usize),
    /// No switch reduces for these GPUs.
    NoReducingSwitch(#[from] NoReducingSwitch),
    /// PCIe alone is wanted, which has no switch that reduces.
    InSwitchOverHost,
    /// NVLink alone is wanted, and this NCCL would use PCIe.
    NoRing {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// NVLink alone is wanted, and the algorithm would use PCIe between some of the GPUs.
    NotDirect {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Bandwidths with so little in common that exact weights leave 128 bits.
    TooFine,
    /// A linear programme without an answer.
    Unsolved,
    /// A hybrid of unknown size.
    NoSize,
    /// More GPUs than a rule is written down for.
    #[error(transparent)]
    TooManyRanks(#[from] TooManyRanks),
    /// The schedule cannot be routed.
    #[error(transparent)]
    Route(#[from] TimeError),
}

impl Diagnose for PlanError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Links(error) => error.diagnosis(),
            Self::UnknownRoot { root, last } => {
                Diagnosis::of(format!("the root is rank {root}, and the job has ranks 0 to {last}"))
            }
            Self::Unsupported { algorithm, collective, remedy } => {
                Diagnosis::of(format!("{algorithm} does not do {collective}"))
                    .remedy(format!("use one of: {remedy}"))
            }
            Self::OneServer => {
                Diagnosis::of("three-phase is for GPUs on several servers, and these are on one")
                    .remedy("use packing")
            }
            Self::TooMany(gpus) => Diagnosis::of(format!(
                "trees are packed through {MOST_PACKED} GPUs at most, and these are {gpus}"
            ))
            .remedy("use nccl-ring, which plans them in seconds"),
            Self::NoReducingSwitch(error) => {
                Diagnosis::of(format!("nvls reduces in the switch: {error}"))
                    .remedy("use packing or nccl-ring")
            }
            Self::InSwitchOverHost => {
                Diagnosis::of("nvls goes through NVSwitches, and only PCIe is wanted")
                    .remedy("let it choose the links, or use packing")
            }
            Self::NoRing { algorithm } => {
                Diagnosis::of(format!("{algorithm} finds no ring over NVLink through these GPUs"))
                    .remedy("let it choose the links, or use packing")
            }
            Self::NotDirect { algorithm } => Diagnosis::of(format!(
                "{algorithm} needs an NVLink between any two GPUs, and some of these have none"
            ))
            .remedy("let it choose the links, or use packing"),
            Self::TooFine => {
                Diagnosis::of("the links' bandwidths have no common measure that fits 128 bits")
                    .remedy("round them to whole megabytes per second")
            }
            Self::Unsolved => Diagnosis::of(
                "the linear programme of the all-to-all was not solved, which bandwidths of \
                     very different sizes can cause",
            )
            .remedy("use one-hop"),
            Self::NoSize => {
                Diagnosis::of("how much of the data goes over PCIe depends on its size")
                    .remedy("give the size")
            }
            Self::TooManyRanks(error) => error.diagnosis(),
            Self::Route(error) => error.diagnosis(),
        }
    }
}

/// Plans a collective on these GPUs, by their ids in the system; rank `i` is `gpus[i]`.
///
/// # Errors
/// [`PlanError`] where the GPUs, their links or the collective do not allow it.
pub fn plan(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
) -> Result<Plan, PlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    plan_preferring(wiring, gpus, collective, algorithm, links, Preference::FewTrees)
}

/// On GPUs that have been checked. Cuts tell the optimum of a fabric that passes on all that its ports
/// send; of another none is known.
fn plan_preferring(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    preference: Preference,
) -> Result<Plan, PlanError> {
    let mut plan = plan_of_hosts(wiring, gpus, collective, algorithm, links, preference)?;
    if plan.links == LinkClass::Network && wiring.fabric_paths().is_some() && plan.optimum.is_some()
    {
        plan.optimum = None;
        let told = "links between the fabric's switches may hold up what servers send, so that \
                    which rate would be the best is not known";
        plan.notes.push(told.to_owned());
    }
    Ok(plan)
}

/// As the hosts see the fabric: many GPUs on servers that are all alike by one of these, as
/// long as that is known to be the best or nothing else is planned; else as [`plan_whole`].
fn plan_of_hosts(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    preference: Preference,
) -> Result<Plan, PlanError> {
    let whole = || plan_whole(wiring, gpus, collective, algorithm, links, preference);
    let is_large = gpus.len() > MOST_PACKED_AT_ONCE && links == Links::Auto;
    if !is_large || algorithm != Algorithm::Packing {
        return whole();
    }
    check_root(gpus, collective)?;
    let equal = EqualServers::of(wiring, gpus);
    let planned = equal.map(|servers| servers.plan(wiring, gpus, collective, preference));
    let Some(plan) = planned.transpose()?.flatten() else { return whole() };
    let is_alone = collective != Collective::AllReduce && gpus.len() > MOST_PACKED;
    if plan.optimum.is_some() || is_alone {
        return Ok(plan);
    }
    let other = whole()?;
    Ok(if plan.rate > other.rate { plan } else { other })
}

/// As [`plan_along_trees`], and where a scatter or gather reaches more by other paths, by these.
fn plan_whole(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    preference: Preference,
) -> Result<Plan, PlanError> {
    let is_large = gpus.len() > MOST_PACKED_AT_ONCE && matches!(links, Links::Auto | Links::Every);
    let is_packed = (algorithm, collective) == (Algorithm::Packing, Collective::AllReduce);
    if is_large && is_packed && by_server(wiring, gpus).len() > 1 {
        return packed_by_server(wiring, gpus, links);
    }
    let found = plan_along_trees(wiring, gpus, collective, algorithm, links, preference)?;
    let (Collective::Scatter { root } | Collective::Gather { root }) = collective else {
        return Ok(found);
    };
    let is_best = found.optimum.is_none_or(|optimum| found.rate >= optimum);
    if algorithm != Algorithm::Packing || is_best {
        return Ok(found);
    }
    let Ground { class, graph, .. } = choose_links(wiring, gpus, links, &mut Vec::new())?;
    if graph.has_switches() || class != found.links {
        return Ok(found);
    }
    let (paths, chunks) = scatter::paths(&graph, collective, root);
    let transport =
        if class == LinkClass::Host { ChannelTransport::Host } else { ChannelTransport::Best };
    let name = &found.schedule.name;
    let schedule = schedule_of_paths(name, collective, gpus, &paths, chunks, transport);
    let rate = rate::steady_rate(&schedule, wiring)?;
    if rate <= found.rate {
        return Ok(found);
    }
    // Pairs of servers have their parts of the interfaces rounded down.
    let optimum = found.optimum.map(|optimum| optimum.max(rate));
    Ok(Plan { schedule, rate, optimum, trees: Vec::new(), ..found })
}

/// Trees packed on each server, whose roots exchange what they have: what three phases do.
fn packed_by_server(wiring: &Wiring, gpus: &[usize], links: Links) -> Result<Plan, PlanError> {
    let mut plan = three_phase::plan(wiring, gpus, Collective::AllReduce, links)?;
    plan.algorithm = Algorithm::Packing;
    plan.schedule.name = format!("{}-all-reduce", plan.algorithm.name());
    let most = MOST_PACKED_AT_ONCE;
    let extent = if gpus.len() > most {
        format!(", since no more than {most} GPUs on several servers are packed at once")
    } else {
        String::new()
    };
    plan.notes.push(format!("trees are packed on each server and exchanged between them{extent}"));
    Ok(plan)
}

/// A plan whose trees are listed, unless the algorithm has none.
fn plan_along_trees(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    algorithm: Algorithm,
    links: Links,
    preference: Preference,
) -> Result<Plan, PlanError> {
    check_root(gpus, collective)?;
    let by_rule = matches!(collective, Collective::Barrier | Collective::Scan);
    if by_rule && !matches!(algorithm, Algorithm::Mpi(_)) {
        return Err(by_rule_alone(algorithm.name(), collective));
    }
    let mut notes = Vec::new();
    let Ground { class, graph, is_whole } = choose_links(wiring, gpus, links, &mut notes)?;
    let transport =
        if class == LinkClass::Host { ChannelTransport::Host } else { ChannelTransport::Best };
    let name = format!("{}-{}", algorithm.name(), collective.name());
    let (mut reach, mut chosen) = (None, Vec::new());
    let (trees, optimum) = match algorithm {
        Algorithm::Packing if collective == Collective::AllToAll => {
            let (paths, chunks, optimum) = all_to_all::paths(&graph, class)?;
            let schedule = schedule_of_paths(&name, collective, gpus, &paths, chunks, transport);
            let rate = rate::steady_rate(&schedule, wiring)?;
            let known = optimum.map_or_else(
                || all_to_all::is_full(&graph, rate).then_some(rate),
                |optimum| Some(all_to_all::exact(optimum, rate)),
            );
            let (trees, links) = (Vec::new(), class);
            return Ok(Plan { schedule, algorithm, links, trees, rate, optimum: known, notes });
        }
        Algorithm::Packing if gpus.len() > MOST_PACKED => {
            return Err(PlanError::TooMany(gpus.len()));
        }
        Algorithm::Packing => {
            let Packed { trees, most, routes } =
                packing::pack(&graph, collective, transport, preference)?;
            reach = Some(Bandwidth(most.round() as u64));
            if class == LinkClass::Network && is_whole {
                chosen = routes;
            }
            // Between switches, trees with as much from every root need not be the best.
            let proven = collective != Collective::AllReduce || !graph.has_switches();
            let full = |most: &f64| {
                let servers = || packing::fills_servers(&graph, wiring, *most);
                packing::is_full(&graph, *most) || class == LinkClass::Network && servers()
            };
            (trees, Some(most).filter(|most| proven || full(most)))
        }
        Algorithm::Blink => blink::pack(wiring, gpus, (class, &graph), collective, &mut notes)?,
        Algorithm::OneHop => (packing::stars(gpus.len(), collective, transport)?, None),
        Algorithm::ThreePhase => return three_phase::plan(wiring, gpus, collective, links),
        Algorithm::Nvls => return nvls::plan(wiring, gpus, collective, links),
        Algorithm::Mpi(rule) => {
            let over = (class, transport);
            let mut plan = mpi::plan(wiring, gpus, collective, rule, over, notes)?;
            note_host(&mut plan, wiring, links)?;
            return Ok(plan);
        }
        Algorithm::Nccl(baseline) => {
            let planned = plan_on(wiring, gpus, collective, baseline, links)?;
            let BaselinePlan { schedule, links, trees, notes } = planned;
            let rate = rate::steady_rate(&schedule, wiring)?;
            return Ok(Plan { schedule, algorithm, links, trees, rate, optimum: None, notes });
        }
    };
    let lower = |trees: &[RootedTree], routes: Vec<ChosenRoute>| -> Result<_, PlanError> {
        let schedule = Schedule { routes, ..schedule_of_trees(&name, collective, gpus, trees) };
        let rate = rate::steady_rate(&schedule, wiring)?;
        Ok((schedule, rate))
    };
    let (mut schedule, mut rate) = lower(&trees, chosen)?;
    let mut trees = trees;
    let is_packing = algorithm == Algorithm::Packing;
    let is_open = optimum.is_none() && collective == Collective::AllReduce;
    if is_packing && is_open && class == LinkClass::Network {
        // Servers of different sizes may do better with one root than with as much from each.
        for server in by_server(wiring, gpus) {
            let packed = packing::to_root_and_back(&graph, server[0], transport, preference)?;
            let (other, reached) = lower(&packed.trees, packed.routes)?;
            if reached > rate {
                (trees, schedule, rate) = (packed.trees, other, reached);
            }
        }
    }
    let mut plan = Plan { schedule, algorithm, links: class, trees, rate, optimum: None, notes };
    note_host(&mut plan, wiring, links)?;
    // Pairs of servers have their parts of the interfaces rounded down.
    let least = if class == LinkClass::Network && !is_whole { rate.0 } else { 0 };
    let optimum = optimum.map(|most| Bandwidth((most.round() as u64).max(least)));
    if let Some(reach) = reach.filter(|most| class == LinkClass::Network && rate < *most) {
        let trees_only =
            matches!(collective, Collective::Gather { .. } | Collective::Scatter { .. });
        plan.notes.push(format!(
            "the schedule reaches {:.2} GB/s of the {:.2} GB/s that the links allow: shares are \
             whole chunks{}",
            rate.as_gigabytes_per_second(),
            reach.as_gigabytes_per_second(),
            if trees_only { " and go along packed trees" } else { "" }
        ));
    }
    Ok(Plan { optimum, ..plan })
}

fn check_root(gpus: &[usize], collective: Collective) -> Result<(), PlanError> {
    let unknown = collective.root().filter(|root| *root >= gpus.len());
    unknown.map_or(Ok(()), |root| Err(PlanError::UnknownRoot { root, last: gpus.len() - 1 }))
}

/// Says that some of the data of a plan over NVLink goes over PCIe, or refuses it where only NVLink
/// is wanted.
fn note_host(plan: &mut Plan, wiring: &Wiring, links: Links) -> Result<(), PlanError> {
    if plan.links != LinkClass::Fabric || !rate::loads_host(&plan.schedule, wiring)? {
        return Ok(());
    }
    if links == Links::Fabric {
        return Err(PlanError::NotDirect { algorithm: plan.algorithm.name() });
    }
    let fabric = fabric_of(wiring).unwrap_or("NVLink");
    plan.notes.push(format!(
        "no {fabric} joins some of the GPUs that exchange data; theirs goes over PCIe"
    ));
    Ok(())
}

/// The rate of the best all-reduce on these GPUs, and the links that it takes.
///
/// It is the optimum of [`Algorithm::Packing`] in bytes of the data's size per second, found
/// by cuts alone, so that many sets of GPUs can be told apart in little time.
///
/// # Errors
/// As [`fn@plan`], where the GPUs or their links do not allow a plan.
pub fn packing_rate(
    system: &System,
    gpus: &[usize],
    links: Links,
) -> Result<(LinkClass, Bandwidth), PlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let Ground { class, graph, .. } = choose_links(wiring, gpus, links, &mut Vec::new())?;
    let rate = packing::all_reduce_rate(&graph)?;
    Ok((class, Bandwidth(rate.round() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_support::alone;

    #[test]
    fn one_hop_between_gpus_without_nvlink_says_that_it_takes_pcie() {
        let machine = alone("dgx1-v100");
        let plan = |gpus: &[usize], links| {
            plan(&machine, gpus, Collective::AllReduce, Algorithm::OneHop, links)
        };
        let apart = plan(&[1, 4, 5, 6], Links::Auto).unwrap();
        assert!(apart.has_host_beside_fabric(&machine).unwrap());
        assert!(apart.notes.iter().any(|note| note.contains("over PCIe")), "{:?}", apart.notes);
        let refused = plan(&[1, 4, 5, 6], Links::Fabric).unwrap_err();
        assert_eq!(refused, PlanError::NotDirect { algorithm: "one-hop" });
        let joined = plan(&[0, 1, 2, 3], Links::Fabric).unwrap();
        assert!(!joined.has_host_beside_fabric(&machine).unwrap());
        assert_eq!(joined.notes, Vec::<String>::new());
    }

    #[test]
    fn messages_have_no_gaps() {
        assert!(!PlanError::Unsolved.to_string().contains("  "), "{}", PlanError::Unsolved);
    }

    #[test]
    fn the_rate_alone_is_that_of_the_plan() {
        for (name, sets) in [
            ("dgx1-v100", [&[1, 4, 5, 6][..], &[1, 4, 6], &[0, 1, 2, 3, 4, 5, 6, 7]]),
            ("dgx2", [&[0, 1], &[0, 3, 9, 15], &[1, 2, 3, 4, 5]]),
            ("summit-node", [&[0, 1, 2], &[0, 5], &[0, 1, 3, 4]]),
        ] {
            let machine = alone(name);
            for gpus in sets {
                let whole = Collective::AllReduce;
                let plan = plan(&machine, gpus, whole, Algorithm::Packing, Links::Auto).unwrap();
                let found = packing_rate(&machine, gpus, Links::Auto).unwrap();
                assert_eq!(found, (plan.links, plan.optimum.unwrap()), "{name} {gpus:?}");
            }
        }
    }
}
