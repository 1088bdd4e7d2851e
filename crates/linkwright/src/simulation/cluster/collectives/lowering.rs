//! What a replay asks when a rank reaches a collective.

use super::choices::{Choice, CollectiveChoices};
use super::planner::Planned;
use crate::program::lowering::{Algorithm, CollectiveCall, Lowering, lower};
use crate::program::{Collective, CommunicatorId, RankProgram};

/// Collectives by plans where they have one, and by algorithms where not.
///
/// Variant 0 is that of an algorithm; variant `i` from 1 that of plan `i - 1`.
pub(in crate::simulation::cluster) struct ClusterLowering<'a> {
    pub(in crate::simulation::cluster) choices: &'a CollectiveChoices,
    pub(in crate::simulation::cluster) planned: &'a Planned,
}

impl Lowering for ClusterLowering<'_> {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        if let Some(index) = call.variant.checked_sub(1) {
            let longest = self.choices.planned_message_size;
            return self.planned.messages(index).program(call.index as usize, call.size, longest);
        }
        let algorithm = match self.choices.chosen.get(&call.kind) {
            Some(Choice::Algorithm(algorithm)) => *algorithm,
            // A single rank needs no plan.
            Some(Choice::Planned) | None => {
                Algorithm::default_for(call.kind, call.ranks, call.size)
            }
        };
        lower(call.kind, algorithm, call.ranks, call.index, call.root, call.size)
            .expect("the replay calls with places of the communicator")
    }

    fn variant(&self, job: u32, communicator: CommunicatorId, kind: Collective, root: u32) -> u32 {
        self.planned.index(job, communicator, kind, root).map_or(0, |index| index + 1)
    }
}
