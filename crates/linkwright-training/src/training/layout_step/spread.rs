//! Says when in a step replicas exchange the numbers that they divide: how long a rank has computed before each call.

use super::writer::Writer;
use super::{ClassTimes, GroupCall, LayoutStep, classes};
use crate::program::Operation;
use crate::training::layout::RankGroup;
use crate::units::Picoseconds;

/// One rank of a stage makes these calls, by which replicas exchange weights and gradients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageSpread {
    /// Each call has the time that is computed before it.
    pub calls: Vec<(Picoseconds, GroupCall)>,
    /// All that is computed, the update apart. Exchanges between kernels are part of it.
    pub computed: Picoseconds,
    /// The update of the weights takes this long.
    pub update: Picoseconds,
}

impl RankGroup {
    /// Whether replicas exchange what they divide in it: weights and gradients, beside computing.
    #[must_use]
    pub const fn is_of_replicas(self) -> bool {
        matches!(self, Self::Shards | Self::Replicas | Self::ExpertShards)
    }
}

impl LayoutStep {
    /// When a rank of a stage exchanges weights and gradients, with exchanges between kernels as long as `times` says.
    #[must_use]
    pub fn spread(&self, stage: u64, times: &ClassTimes) -> StageSpread {
        let none = std::collections::BTreeMap::new();
        let folded = times.calls.get(stage as usize).unwrap_or(&none);
        let program = Writer::write(self, stage, Some(folded));
        let update = self.updates[stage as usize];
        let mut found = StageSpread { update, ..StageSpread::default() };
        let mut computed = 0_u64;
        for operation in program.operations() {
            match *operation {
                Operation::Compute { duration } => computed += duration.0,
                Operation::Collective { kind, communicator, size, .. } => {
                    let group = classes::group_of(communicator);
                    if let Some(group) = group.filter(|it| it.is_of_replicas()) {
                        found.calls.push((Picoseconds(computed), GroupCall { group, kind, size }));
                    }
                }
                _ => {}
            }
        }
        found.computed = Picoseconds(computed - update.0);
        found
    }
}
