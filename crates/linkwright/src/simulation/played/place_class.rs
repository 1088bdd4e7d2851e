//! Tells apart the places of jobs that follow their plans.

use super::allocations::{AllocationClass, AllocationPlans};
use super::plans::PlannerChoice;
use crate::simulation::offers::PlannedBy;
use crate::simulation::queue::Part;
use crate::system::System;

/// Names how the GPUs of a place are joined, as far as plans look.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::simulation) struct PlaceClass(AllocationClass);

/// The classes of places that have been met.
pub(in crate::simulation) struct PlaceClasses(AllocationPlans);

impl PlaceClasses {
    /// None has been met.
    pub(in crate::simulation) fn new(planner: PlannerChoice) -> Self {
        Self(AllocationPlans::new(match planner {
            PlannerChoice::Plan(by) => by,
            PlannerChoice::Mpi => PlannedBy::Library(None),
        }))
    }

    /// That of a job's parts: on places of one class a job that reduces by plans takes equally long.
    pub(in crate::simulation) fn of(&mut self, system: &System, parts: &[Part]) -> PlaceClass {
        PlaceClass(self.0.ranks(system, parts).class())
    }
}
