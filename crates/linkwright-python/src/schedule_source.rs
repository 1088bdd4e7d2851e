//! Says where the schedule of Python's class comes from.

use linkwright::collectives;
use linkwright::collectives::export::{MscclppPlan, TakenSizes};
use linkwright::collectives::plan::Plan;

/// Says where a schedule comes from.
#[derive(serde::Serialize, serde::Deserialize)]
pub enum Source {
    /// A planner made it, and knows more.
    Planned(Plan),
    /// It was read from a file.
    Read(collectives::Schedule),
    /// It was read from a plan of MSCCL++.
    Loaded(MscclppPlan),
}

impl Source {
    /// Gives the schedule itself.
    pub const fn schedule(&self) -> &collectives::Schedule {
        match self {
            Self::Planned(plan) => &plan.schedule,
            Self::Read(schedule) => schedule,
            Self::Loaded(plan) => &plan.schedule,
        }
    }

    /// Gives what the planner knows; None of a file.
    pub const fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Planned(plan) => Some(plan),
            Self::Read(_) | Self::Loaded(_) => None,
        }
    }

    /// Gives the messages at which MSCCL++'s executor takes it; None of anything but its plans.
    pub const fn sizes(&self) -> Option<&TakenSizes> {
        match self {
            Self::Loaded(plan) => Some(&plan.sizes),
            Self::Planned(_) | Self::Read(_) => None,
        }
    }
}
