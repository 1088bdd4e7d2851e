//! Times the passes through each unit of a stage, with the exchanges that it waits for.

use std::sync::Arc;

use super::actions::Action;
use super::exchange_times::ExchangeTimes;
use super::units::Unit;
use super::{GroupCall, LayoutStep};

/// Forward and backward passes of one micro-batch through each unit of each chunk, in picoseconds.
pub(super) type Rows = Vec<Vec<[u64; 2]>>;

impl LayoutStep {
    /// The passes through the units of a stage. Nothing else moves on the streams of exchanges within units, so that each
    /// begins once the computing before it ends.
    pub(super) fn rows(&self, stage: u64, times: &mut dyn ExchangeTimes) -> Rows {
        let mut known: Vec<(*const Unit, [u64; 2])> = Vec::new();
        let chunks = self.stages[stage as usize].iter();
        let mut of = |unit: &Arc<Unit>| {
            let key = Arc::as_ptr(unit);
            let found = known.iter().find(|(other, _)| *other == key).map(|(_, row)| *row);
            found.unwrap_or_else(|| {
                let actions = [&unit.actions.forward, &unit.actions.backward];
                let row = actions.map(|actions| self.row(stage, actions, times));
                known.push((key, row));
                row
            })
        };
        chunks.map(|chunk| chunk.iter().map(&mut of).collect()).collect()
    }

    fn row(&self, stage: u64, actions: &[Action], times: &mut dyn ExchangeTimes) -> u64 {
        let cost = self.cost_of_collective.0;
        let mut called = |call: &GroupCall| cost + times.call(stage, call).0;
        let mut all = 0_u64;
        for action in actions {
            all += match action {
                Action::Compute(time) => time.0,
                Action::Call(call) => called(call),
                Action::Beside(call, time) => called(call).max(time.0),
            };
        }
        all
    }
}
