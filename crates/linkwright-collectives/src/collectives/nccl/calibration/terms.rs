//! The terms that a machine may have of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::collectives::nccl::baselines::expect::Prepared;
use crate::collectives::nccl::baselines::{ExpectedAlgorithm, Timed};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    CollectiveTerms, Processes, TimeError, link_bytes, outline_bytes, resources,
};
use crate::system::{
    Calibration, LaunchProcesses, LinkKind, MeasuredLaunch, PeakShare, Wire, Wiring,
    reducing_switches,
};
use crate::units::Picoseconds;

/// Names one of the terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// Stands for the share of the peak that long transfers reach on links of a kind.
    Reached(LinkKind),
    /// Stands for the share of it that reductions in switches reach.
    InSwitch(LinkKind),
    /// Stands for the launch of a rank's own process, or of the first GPU of a process.
    LaunchAlone,
    /// Stands for the launch of each further GPU of a process.
    LaunchEach,
    /// Stands for the launch of all GPUs of a process, up to NCCL 2.8.
    LaunchGroup,
}

impl Term {
    /// Its name, as the machine's file has it below `calibration`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Reached(kind) => format!("reached.{}", kind.name()),
            Self::InSwitch(kind) => format!("in_switch.{}", kind.name()),
            Self::LaunchAlone => "launch.alone".to_owned(),
            Self::LaunchEach => "launch.each".to_owned(),
            Self::LaunchGroup => "launch.group".to_owned(),
        }
    }

    /// Whether its values are seconds; else they are parts of a peak.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::LaunchAlone | Self::LaunchEach | Self::LaunchGroup)
    }

    /// The shares that it is one of, with its kind of links; None of a launch.
    pub(super) fn share_of(
        self,
        calibration: &mut Calibration,
    ) -> Option<(&mut BTreeMap<LinkKind, PeakShare>, LinkKind)> {
        match self {
            Self::Reached(kind) => Some((&mut calibration.reached, kind)),
            Self::InSwitch(kind) => Some((&mut calibration.in_switch, kind)),
            Self::LaunchAlone | Self::LaunchEach | Self::LaunchGroup => None,
        }
    }
}

/// A term, as it was and as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedTerm {
    /// Names the term.
    pub term: Term,
    /// Gives a part of the peak, or seconds.
    pub before: f64,
    /// The same after; None where the log does not tell it, and it stays.
    pub after: Option<f64>,
    /// How uncertain that is, as a part of it, where each time is off by [`super::NOISE`].
    pub uncertainty: Option<f64>,
    /// Why the log does not tell it.
    pub reason: String,
}

/// A term that may be fitted: a share of a kind of links, or all of a launch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) term: Term,
    /// Gives its value, as a part of a peak or in seconds. Of a launch it is the value of all GPUs.
    pub(super) value: f64,
    /// Gives the value that a file says.
    shown: f64,
}

impl Candidate {
    pub(super) fn share(&self, value: f64) -> PeakShare {
        PeakShare::of(value.clamp(1e-6, 1.0)).expect("a share lies above 0 and is at most 1")
    }

    pub(super) fn untold(&self, reason: String) -> FittedTerm {
        let (term, before) = (self.term, self.shown);
        FittedTerm { term, before, after: None, uncertainty: None, reason }
    }
}

/// The terms on which a run's times may depend.
pub(super) struct Candidates {
    pub(super) all: Vec<Candidate>,
    /// How ranks are processes, as the launch counts them.
    pub(super) processes: Processes,
    /// Seconds that the launch of a lone rank takes as the machine was.
    pub(super) alone: f64,
    /// The links of the run's GPUs, as the machine was.
    wiring: Wiring,
    has_root: bool,
}

impl Candidates {
    /// # Errors
    /// Fails where no links join the GPUs.
    pub(super) fn of(
        prepared: &Prepared<'_>,
        gpus: &[usize],
        collective: Collective,
    ) -> Result<Self, TimeError> {
        let wiring = &prepared.wiring;
        let routes = resources(wiring);
        let mut used: BTreeSet<LinkKind> = BTreeSet::new();
        for timed in &prepared.schedules {
            let loads = match timed {
                Timed::Outline(outline) => outline_bytes(outline, &routes)?,
                played => link_bytes(played.schedule(), &routes)?,
            };
            let loaded = loads.iter().enumerate().filter(|(_, load)| **load > 0.0);
            used.extend(loaded.filter_map(|(resource, _)| routes.wire(resource).0.kind));
        }
        let mut switched: BTreeSet<LinkKind> = BTreeSet::new();
        if prepared.choices.iter().any(|it| it.algorithm == ExpectedAlgorithm::Nvls) {
            let wires = reducing_switches(wiring, gpus)?;
            switched.extend(wires.iter().flatten().map(|wire| wire.kind));
        }
        let wire = |kind: LinkKind| wiring.wires().iter().find(|wire| wire.kind == Some(kind));
        let share = |kind: LinkKind, of: fn(&Wire) -> Option<f64>| wire(kind).and_then(of);
        let mut all = Vec::new();
        let of_links = used.iter().map(|kind| (Term::Reached(*kind), *kind));
        for (term, kind) in of_links.chain(switched.iter().map(|it| (Term::InSwitch(*it), *it))) {
            let found = match term {
                Term::InSwitch(_) => share(kind, Wire::in_switch_share),
                _ => share(kind, |wire| Some(wire.reached_share())),
            };
            all.extend(found.map(|value| Candidate { term, value, shown: value }));
        }
        let (processes, has_root) = (prepared.processes, collective.root().is_some());
        let terms = CollectiveTerms::shipped();
        let launch = |processes: Processes| terms.launch_of(processes, gpus, wiring).as_seconds();
        let processes = if has_root { Processes::Each } else { processes };
        let (alone, value) = (launch(Processes::Each), launch(processes));
        let further = gpus.len().saturating_sub(1).max(1) as f64;
        let (term, shown) = match processes {
            Processes::Each => (Term::LaunchAlone, value),
            Processes::Shared => (Term::LaunchEach, (value - alone).max(0.0) / further),
            Processes::Group => (Term::LaunchGroup, value),
        };
        all.push(Candidate { term, value, shown });
        Ok(Self { all, processes, alone, wiring: wiring.clone(), has_root })
    }

    /// How the run's ranks were processes, where its launch depends on that.
    pub(super) fn launch_processes(&self) -> Option<LaunchProcesses> {
        match self.processes {
            _ if self.has_root => None,
            Processes::Each => Some(LaunchProcesses::Each),
            Processes::Shared | Processes::Group => Some(LaunchProcesses::One),
        }
    }

    /// Returns the links with other values of some shares, by their places among the terms.
    pub(super) fn wiring(&self, values: &[(usize, f64)]) -> Wiring {
        self.wiring.clone().measured(|wire| {
            for (at, value) in values {
                let candidate = &self.all[*at];
                match candidate.term {
                    Term::Reached(kind) if wire.kind == Some(kind) => {
                        wire.reached = Some(candidate.share(*value));
                    }
                    Term::InSwitch(kind) if wire.kind == Some(kind) => {
                        wire.in_switch = Some(candidate.share(*value));
                    }
                    _ => {}
                }
            }
        })
    }
}

/// Sets the time that a launch of all GPUs took, and gives each term that it sets with its seconds
/// before and after. Where this launch is shorter than a lone rank's was, it makes the lone rank's
/// shorter, too.
pub(super) fn launch_terms(
    launch: &mut MeasuredLaunch,
    (processes, gpus, before): (Processes, usize, f64),
    value: f64,
    alone: f64,
) -> impl Iterator<Item = (Term, f64, f64)> {
    let time = |seconds: f64| Some(Picoseconds::from_seconds(seconds.min(1.0)));
    let further = gpus.saturating_sub(1).max(1) as f64;
    let set = match processes {
        Processes::Each => {
            launch.alone = time(value);
            [Some((Term::LaunchAlone, before, value)), None]
        }
        Processes::Group => {
            launch.group = time(value);
            [Some((Term::LaunchGroup, before, value)), None]
        }
        Processes::Shared => {
            let each = (value - alone).max(0.0) / further;
            launch.each = time(each);
            let first = (value < alone).then_some((Term::LaunchAlone, alone, value));
            if first.is_some() {
                launch.alone = time(value);
            }
            [Some((Term::LaunchEach, (before - alone).max(0.0) / further, each)), first]
        }
    };
    set.into_iter().flatten()
}
