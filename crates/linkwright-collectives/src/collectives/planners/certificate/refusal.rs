//! Says why a certificate proves nothing.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::DeviceId;

/// Why a certificate does not prove a claim. Devices have the numbers of the system.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum Refusal {
    /// It is of another collective, of other GPUs or of other links than the claim.
    Other(&'static str),
    /// GPUs that the system does not have, one named twice, or fewer than two.
    Gpus,
    /// Says that its kind proves nothing of this collective.
    Kind(&'static str),
    /// A device that is not there, or that schedules may not use.
    Device(DeviceId),
    /// A device that stands in two places.
    Twice(DeviceId),
    /// A side or a part that holds no GPU, or all of them, or not the root.
    Improper,
    /// A link that crosses and is not listed.
    Missing(DeviceId, DeviceId),
    /// A listed link that does not cross, or is not there, or is listed twice.
    Extra(DeviceId, DeviceId),
    /// Refuses a listed link with another bandwidth than the system's.
    Bandwidth {
        /// Where it leads from.
        from: DeviceId,
        /// Where it leads to.
        to: DeviceId,
        /// Is the link's bandwidth, B/s.
        is: u64,
        /// Is the listed bandwidth, B/s.
        listed: u64,
    },
    /// A link that counts more or less than once.
    Weight(DeviceId, DeviceId),
    /// A distance that is longer than the lengths allow, or missing.
    Distance(DeviceId, DeviceId),
    /// A sum that is not that of the links.
    Capacity,
    /// A need that is not the collective's.
    Need,
    /// A bound that is not the capacity over the need.
    Bound,
    /// A bound that is not the optimum.
    Optimum {
        /// Is the bound, B/s.
        bound: u64,
        /// Is the optimum, B/s.
        optimum: u64,
    },
    /// Refuses a rate above the bound.
    Rate,
}

impl Diagnose for Refusal {
    fn diagnosis(&self) -> Diagnosis {
        let text = match self {
            Self::Other(what) => format!(
                "the certificate was made for another {what} than the \
                plan's"
            ),
            Self::Gpus => "the certificate's GPUs do not make a job on this system".to_owned(),
            Self::Kind(kind) => {
                format!("a certificate by {kind} does not prove this collective")
            }
            Self::Device(id) => format!("schedules cannot use device {id}"),
            Self::Twice(id) => format!("the certificate lists device {id} twice"),
            Self::Improper => {
                "a side or part holds no GPUs whose data must cross its links".to_owned()
            }
            Self::Missing(from, to) => {
                format!(
                    "the certificate does not list the links from device {from} to {to}, \
                    which cross"
                )
            }
            Self::Extra(from, to) => format!(
                "the certificate lists the links from device {from} to {to}, which do not cross \
                 exactly once"
            ),
            Self::Bandwidth { from, to, is, listed } => format!(
                "the links from device {from} to {to} carry {is} B/s, but the certificate lists \
                 {listed} B/s"
            ),
            Self::Weight(from, to) => {
                format!("the links from device {from} to {to} do not count exactly once")
            }
            Self::Distance(from, to) => format!(
                "the certificate does not prove the distance from device {from} to device {to}"
            ),
            Self::Capacity => "the capacity is not the sum of the listed links".to_owned(),
            Self::Need => "the need is not what the collective needs".to_owned(),
            Self::Bound => "the bound is not the capacity divided by the need".to_owned(),
            Self::Optimum { bound, optimum } => {
                format!("the bound is {bound} B/s, but the optimum is {optimum} B/s")
            }
            Self::Rate => "the plan's rate is above the bound".to_owned(),
        };
        Diagnosis::of(text).remedy("ask the plan for its certificate again")
    }
}
