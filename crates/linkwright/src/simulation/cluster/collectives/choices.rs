//! Which collective takes which algorithm.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::collectives::Collective as Planning;
use crate::collectives::baselines::Version;
use crate::collectives::mpi::MpiAlgorithm;
use crate::collectives::plan::Planner;
use crate::diagnostic::{Chosen, Diagnose, Diagnosis, Named, instead_of};
use crate::program::CollectiveKind;
use crate::runtime::ProtocolKind;
use crate::simulation::offers::PlannedBy;
use crate::simulation::played::PlannerChoice;
use crate::units::Bytes;

/// Names [`CollectiveMethod::Planned`] in a scenario.
const PLANNED: &str = "planned";

/// How one kind of collective becomes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CollectiveMethod {
    /// By an algorithm that knows nothing of the machine.
    Algorithm(MpiAlgorithm),
    /// It goes by the planner's schedule for the GPUs of the communicator.
    Planned,
}

/// A name that no algorithm of a collective has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct CollectiveMethodError {
    /// Names the collective.
    pub kind: CollectiveKind,
    /// Gives the name asked for.
    pub name: String,
}

impl Diagnose for CollectiveMethodError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { kind, name } = self;
        Diagnosis::of(format!("{} has no algorithm `{name}`", kind.name()))
            .remedy(instead_of(name, &CollectiveMethod::names(*kind)))
    }
}

/// Returns the planning for a collective of a program. It is none where the planners are rules
/// alone, which know nothing of the machine.
pub(super) fn planning(kind: CollectiveKind, root: usize) -> Option<Planning> {
    let by_rule = matches!(kind, CollectiveKind::Barrier | CollectiveKind::Scan);
    (!by_rule).then(|| Planning::of_program(kind, root))
}

impl CollectiveMethod {
    /// The names of what a collective takes.
    #[must_use]
    pub fn names(kind: CollectiveKind) -> Vec<&'static str> {
        let planned = planning(kind, 0).map(|_| PLANNED);
        MpiAlgorithm::of(kind).iter().map(|algorithm| algorithm.name()).chain(planned).collect()
    }

    /// Returns the choice of that name: `planned`, or an algorithm of the collective.
    ///
    /// # Errors
    /// A name that the collective does not take.
    pub fn named(kind: CollectiveKind, name: &str) -> Result<Self, CollectiveMethodError> {
        if name == PLANNED && planning(kind, 0).is_some() {
            return Ok(Self::Planned);
        }
        let refuse = |_| CollectiveMethodError { kind, name: name.to_owned() };
        MpiAlgorithm::named(kind, name).map(Self::Algorithm).map_err(refuse)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Algorithm(algorithm) => algorithm.name(),
            Self::Planned => PLANNED,
        }
    }
}

/// Says how a collective of a program is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CollectiveProtocol {
    /// It is messages of its ranks' library.
    #[default]
    Mpi,
    /// It is a kernel of each rank's GPU, beside the library, as NCCL's are. A collective without a
    /// kernel in NCCL is messages.
    Nccl,
}

impl Named for CollectiveProtocol {
    const WHAT: &'static str = "protocol of collectives";
    const NAMED: &'static [(&'static str, Self)] = &[("mpi", Self::Mpi), ("nccl", Self::Nccl)];
}

/// How each kind of collective becomes messages, or a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveChoices {
    /// Says how those that go by plans are played.
    pub protocol: CollectiveProtocol,
    /// Is offered calls of collectives first.
    pub own_protocol: Option<Chosen<dyn ProtocolKind>>,
    /// Holds the chosen methods; any other collective goes by the planner.
    pub chosen: BTreeMap<CollectiveKind, CollectiveMethod>,
    /// Plans every collective that can be planned and was not chosen. Where nobody says, programs
    /// take [`MpiAlgorithm::default_for`] a collective's size. Kernels then take NCCL's own choice
    /// for it.
    pub planner: Option<PlannerChoice>,
    /// The release of NCCL that chooses kernels where nothing else plans them; the newest that is known
    /// where there is none.
    pub release: Option<Version>,
    /// Limits the size of one message of a planned collective.
    pub planned_message_size: Bytes,
}

/// Reads the file of defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    planned_message_size: Bytes,
}

impl Default for CollectiveChoices {
    fn default() -> Self {
        let read: Defaults = toml::from_str(include_str!("defaults.toml"))
            .expect("the defaults are valid, as the tests check");
        let Defaults { planned_message_size } = read;
        Self {
            protocol: CollectiveProtocol::default(),
            own_protocol: None,
            chosen: BTreeMap::new(),
            planner: None,
            release: None,
            planned_message_size,
        }
    }
}

impl CollectiveChoices {
    /// Whether a collective goes by plans.
    #[must_use]
    pub fn is_planned(&self, kind: CollectiveKind) -> bool {
        match self.chosen.get(&kind) {
            Some(choice) => *choice == CollectiveMethod::Planned,
            None => {
                let plans = self.only_planner().is_some() || self.are_kernels();
                plans && planning(kind, 0).is_some()
            }
        }
    }

    /// Whether collectives that go by plans are kernels.
    #[must_use]
    pub fn are_kernels(&self) -> bool {
        self.protocol == CollectiveProtocol::Nccl
    }

    /// Gives the only planner of messages; None where the best of several plans them.
    #[must_use]
    pub const fn only_planner(&self) -> Option<&'static dyn Planner> {
        match self.planner {
            Some(PlannerChoice::Plan(PlannedBy::Planner(planner))) => Some(planner),
            Some(_) | None => None,
        }
    }

    /// Says what plans kernels.
    #[must_use]
    pub const fn kernels_by(&self) -> PlannedBy {
        match self.planner {
            Some(PlannerChoice::Plan(by)) => by,
            Some(PlannerChoice::Mpi) | None => PlannedBy::Library(self.release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_choice() {
        for kind in CollectiveKind::ALL {
            for name in CollectiveMethod::names(kind) {
                assert_eq!(CollectiveMethod::named(kind, name).unwrap().name(), name);
            }
        }
    }

    #[test]
    fn what_moves_no_data_is_not_planned() {
        let refused = |kind| CollectiveMethod::named(kind, PLANNED).unwrap_err().to_string();
        assert_eq!(
            refused(CollectiveKind::Barrier),
            "barrier has no algorithm `planned`; use one of dissemination, binary-tree"
        );
        assert_eq!(
            CollectiveMethod::named(CollectiveKind::AllReduce, "plan").unwrap_err().to_string(),
            "all-reduce has no algorithm `plan`; did you mean `planned`? use one of binary-tree, \
             binomial-tree, recursive-doubling, recursive-halving, ring, planned"
        );
        assert!(refused(CollectiveKind::Scan).contains("recursive-doubling, linear"));
    }
}
