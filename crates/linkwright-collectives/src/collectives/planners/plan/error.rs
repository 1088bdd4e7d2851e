//! Says why there is no plan.

use std::borrow::Cow;

use thiserror::Error;

use super::MOST_PACKED;
use crate::collectives::planners::link_graph::LinkGraphError;
use crate::collectives::schedule::source::TooManyRanks;
use crate::collectives::schedule::time::TimeError;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::NoReducingSwitch;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlanError {
    /// The GPUs do not fit the machine or each other.
    #[error(transparent)]
    Links(#[from] LinkGraphError),
    /// The root is no rank.
    UnknownRoot {
        /// Is the root.
        root: usize,
        /// Names the largest rank.
        last: usize,
    },
    /// The algorithm does not do this collective.
    Unsupported {
        /// Names the algorithm.
        algorithm: &'static str,
        /// Names the collective.
        collective: &'static str,
        /// Algorithms that do.
        remedy: Cow<'static, str>,
    },
    /// Refuses three phases among GPUs of one server.
    OneServer,
    /// The GPUs are not on servers as an algorithm takes them.
    OtherServers {
        /// This algorithm was asked for.
        algorithm: &'static str,
        /// It takes these servers.
        wanted: &'static str,
    },
    /// More GPUs than trees are packed through.
    TooMany(usize),
    /// No switch reduces for these GPUs.
    NoReducingSwitch(#[from] NoReducingSwitch),
    /// PCIe alone is wanted, which has no switch that reduces.
    InSwitchOverHost,
    /// NVLink alone is wanted, and this NCCL would use PCIe.
    NoRing {
        /// Names the algorithm.
        algorithm: &'static str,
    },
    /// NVLink alone is wanted, and the algorithm would use PCIe between some of the GPUs.
    NotDirect {
        /// Names the algorithm.
        algorithm: &'static str,
    },
    /// A helper that cannot be one.
    Helper {
        /// Is the GPU.
        gpu: usize,
        /// Says why, in words that follow it.
        why: &'static str,
    },
    /// Refuses bandwidths with too small a common unit: exact weights leave 128 bits.
    TooFine,
    /// Tells of a linear programme without an answer.
    Unsolved,
    /// Refuses a hybrid of unknown size.
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
                Diagnosis::of(format!("the root is rank {root}, but the job has ranks 0 to {last}"))
            }
            Self::Unsupported { algorithm, collective, remedy } => {
                Diagnosis::of(format!("{algorithm} cannot plan {collective}"))
                    .remedy(format!("use one of: {remedy}"))
            }
            Self::Helper { gpu, why } => {
                Diagnosis::of(format!("GPU {gpu} cannot help, since it {why}"))
                    .remedy("name GPUs outside the job on its servers")
            }
            Self::OneServer => {
                Diagnosis::of("three-phase needs GPUs on several servers, but these are on one")
                    .remedy("use packing")
            }
            Self::OtherServers { algorithm, wanted } => {
                Diagnosis::of(format!("{algorithm} works only on GPUs of {wanted}"))
                    .remedy("use packing or nccl-ring")
            }
            Self::TooMany(gpus) => Diagnosis::of(format!(
                "packing takes at most {MOST_PACKED} GPUs, but the job has {gpus}"
            ))
            .remedy("use nccl-ring"),
            Self::NoReducingSwitch(error) => {
                Diagnosis::of(format!("nvls needs a switch that reduces: {error}"))
                    .remedy("use packing or nccl-ring")
            }
            Self::InSwitchOverHost => {
                Diagnosis::of("nvls needs NVSwitches, but only PCIe is allowed")
                    .remedy("allow all links, or use packing")
            }
            Self::NoRing { algorithm } => {
                Diagnosis::of(format!("{algorithm} finds no ring over NVLink through these GPUs"))
                    .remedy("allow all links, or use packing")
            }
            Self::NotDirect { algorithm } => Diagnosis::of(format!(
                "{algorithm} needs an NVLink between every two GPUs, but some of these have none"
            ))
            .remedy("allow all links, or use packing"),
            Self::TooFine => {
                Diagnosis::of("the links' bandwidths have no common divisor that fits in 128 bits")
                    .remedy("round them to whole megabytes per second")
            }
            Self::Unsolved => Diagnosis::of(
                "the linear programme of this all-to-all has no numerical solution; bandwidths \
                 may differ too much",
            )
            .remedy("use one-hop"),
            Self::NoSize => {
                Diagnosis::of("a plan over NVLink and PCIe depends on the size of the data")
                    .remedy("give the size of the data")
            }
            Self::TooManyRanks(error) => error.diagnosis(),
            Self::Route(error) => error.diagnosis(),
        }
    }
}
