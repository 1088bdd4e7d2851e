//! Times the passes through each unit of a stage, with the exchanges that it waits for.

use std::sync::Arc;

use super::actions::Action;
use super::exchange_times::ExchangeTimes;
use super::units::Unit;
use super::{GroupCall, LayoutStep};

/// Holds how long a pass of one micro-batch through a unit takes, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pass {
    pub time: u64,
    /// The GPU computes in this part of it.
    pub computed: u64,
    /// Says how long its products of matrices take.
    pub products: u64,
    /// The host takes this long to launch its kernels.
    pub launched: u64,
}

/// Forward and backward passes of one micro-batch through each unit of each chunk.
pub(super) type Rows = Vec<Vec<[Pass; 2]>>;

impl LayoutStep {
    /// The passes through the units of a stage. Nothing else moves on the streams of exchanges within units, so that each
    /// begins once the computing before it ends.
    pub(super) fn rows(&self, stage: u64, times: &mut dyn ExchangeTimes) -> Rows {
        let mut known: Vec<(*const Unit, [Pass; 2])> = Vec::new();
        let chunks = self.stages[stage as usize].iter();
        let mut of = |unit: &Arc<Unit>| {
            let key = Arc::as_ptr(unit);
            let found = known.iter().find(|(other, _)| *other == key).map(|(_, row)| *row);
            found.unwrap_or_else(|| {
                let actions = [&unit.actions.forward, &unit.actions.backward];
                let mut row = actions.map(|actions| self.row(stage, actions, times));
                for (which, pass) in row.iter_mut().enumerate() {
                    pass.products = unit.actions.products[which].0.min(pass.computed);
                    pass.launched = unit.actions.launched[which].0;
                }
                known.push((key, row));
                row
            })
        };
        chunks.map(|chunk| chunk.iter().map(&mut of).collect()).collect()
    }

    fn row(&self, stage: u64, actions: &[Action], times: &mut dyn ExchangeTimes) -> Pass {
        let cost = self.cost_of_collective.0;
        let mut called = |call: &GroupCall| {
            let time = cost + times.call(stage, call).0;
            (time, times.taken(stage, call).units)
        };
        let mut all = Pass::default();
        for action in actions {
            let (time, computed) = match action {
                Action::Compute(time) => (time.0, time.0),
                Action::Call(call) => (called(call).0, 0),
                Action::Beside(call, time) => {
                    let (call, share) = called(call);
                    // Whatever is not done when the collective ends goes on at full speed.
                    let done = (call as f64 * (1.0 - share)) as u64;
                    (call + time.0.saturating_sub(done), time.0)
                }
            };
            all.time += time;
            all.computed += computed;
        }
        all
    }
}
