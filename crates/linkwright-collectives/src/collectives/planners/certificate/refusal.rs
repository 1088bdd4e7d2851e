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
            Self::Other(what) => format!("the certificate is of another {what} than the plan"),
            Self::Gpus => "the certificate's GPUs are none of a job on this system".to_owned(),
            Self::Kind(kind) => {
                format!("a certificate by {kind} proves nothing of this collective")
            }
            Self::Device(id) => format!("device {id} is none that schedules may use"),
            Self::Twice(id) => format!("device {id} stands in two places"),
            Self::Improper => {
                "a side or part does not hold the GPUs that make data cross its links".to_owned()
            }
            Self::Missing(from, to) => {
                format!("the links from device {from} to {to} cross, and are not listed")
            }
            Self::Extra(from, to) => format!(
                "the links from device {from} to {to} are listed, and do not cross just once"
            ),
            Self::Bandwidth { from, to, is, listed } => format!(
                "the links from device {from} to {to} carry {is} B/s, and {listed} B/s are listed"
            ),
            Self::Weight(from, to) => {
                format!(
                    "the links from device {from} to {to} count another number of times than once"
                )
            }
            Self::Distance(from, to) => format!(
                "the distance of device {to} from device {from} is not known to be that long"
            ),
            Self::Capacity => "the capacity is not the sum of the links listed".to_owned(),
            Self::Need => "the need is not that of the collective".to_owned(),
            Self::Bound => "the bound is not the capacity over the need".to_owned(),
            Self::Optimum { bound, optimum } => {
                format!("the bound is {bound} B/s, and the optimum {optimum} B/s")
            }
            Self::Rate => "the plan's rate is above the bound".to_owned(),
        };
        Diagnosis::of(text).remedy("ask the plan for its certificate again")
    }
}
