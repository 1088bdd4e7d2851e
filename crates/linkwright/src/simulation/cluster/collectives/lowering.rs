//! Answers a replay when a rank reaches a collective.

use super::choices::{CollectiveChoices, CollectiveMethod};
use super::planner::Planned;
use crate::collectives::mpi::MpiAlgorithm;
use crate::program::kernel::KernelCall;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, CommunicatorId, RankProgram};

/// Collectives by plans where they have one, and by algorithms where not.
///
/// Variant 0 is that of an algorithm; variant `i` from 1 that of plan `i - 1`.
pub(in crate::simulation) struct ClusterLowering<'a> {
    pub(in crate::simulation) choices: &'a CollectiveChoices,
    pub(in crate::simulation) planned: &'a Planned,
}

impl ClusterLowering<'_> {
    /// The algorithm of a call that has no plan.
    fn algorithm(&self, call: &CollectiveCall) -> MpiAlgorithm {
        match self.choices.chosen.get(&call.kind) {
            Some(CollectiveMethod::Algorithm(algorithm)) => *algorithm,
            // A single rank needs no plan, and a kernel is none of these.
            Some(CollectiveMethod::Planned) | None => {
                MpiAlgorithm::default_for(call.kind, call.ranks, call.size)
            }
        }
    }
}

impl Lowering for ClusterLowering<'_> {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        let index = call.variant.checked_sub(1);
        let Some(messages) = index.and_then(|index| self.planned.messages(index)) else {
            return self.algorithm(call).lower(call);
        };
        let longest = self.choices.planned_message_size;
        messages.program(call.index as usize, call.size, longest)
    }

    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        self.planned.kernel(call.variant.checked_sub(1)?, call.size).cloned()
    }

    fn part(&self, call: &CollectiveCall, from: u32) -> (RankProgram, Option<u32>) {
        match call.variant {
            0 => self.algorithm(call).part(call, from),
            _ => (self.lower(call), None),
        }
    }

    fn variant(
        &self,
        job: u32,
        communicator: CommunicatorId,
        kind: CollectiveKind,
        root: u32,
    ) -> u32 {
        self.planned.index(job, communicator, kind, root).map_or(0, |index| index + 1)
    }
}
