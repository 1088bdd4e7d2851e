//! The best that a job could have had on the idle system.

use std::collections::BTreeMap;

use super::{Queue, pattern_key};
use crate::allocation::{Effort, GpuSet, Objective, PreparedMachine};
use crate::engine::Scheduler;
use crate::simulation::error::SimulationError;
use crate::units::Bandwidth;

impl Queue<'_> {
    /// Gives the most aggregated bandwidth that a job's pattern can have on the idle system. It is in one server, or
    /// else in as few as it fits in.
    pub(super) fn ideal<E>(
        &mut self,
        job: usize,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Bandwidth, SimulationError> {
        let mut whole = 0;
        for size in best_parts(self.jobs[job].gpus as usize, self.rules.rooms()) {
            whole += self.ideal_of_part((job, size), scheduler)?.0;
        }
        Ok(Bandwidth(whole))
    }

    /// Gives the most that a pattern of some of a job's GPUs can have on any of the servers, idle.
    fn ideal_of_part<E>(
        &mut self,
        (job, size): (usize, usize),
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<Bandwidth, SimulationError> {
        let key = pattern_key(self.jobs, job, size);
        if let Some(known) = self.ideal.get(&key) {
            return Ok(*known);
        }
        let machines: BTreeMap<&str, &PreparedMachine> =
            self.servers.iter().map(|(machine, _)| (machine.name(), *machine)).collect();
        let done = self.done();
        let mut go_on = || scheduler.ask(done);
        let mut effort = Effort::interruptible(&mut go_on);
        let mut most = Bandwidth(0);
        for machine in machines.into_values().filter(|machine| machine.gpu_count() >= size) {
            let idle = GpuSet::first(machine.gpu_count());
            let best = machine.best(&self.patterns[&key], idle, Objective::Aggregated, &mut effort);
            if effort.is_stopped() {
                return Err(self.interrupted());
            }
            most = best.map_or(most, |best| most.max(best.chosen.aggregated_bandwidth));
        }
        self.ideal.insert(key, most);
        Ok(most)
    }
}

/// Counts the GPUs that a job has of each server where it has as few servers as can be.
///
/// `rooms` has the GPUs of each server, the most first.
pub(super) fn best_parts(gpus: usize, rooms: &[usize]) -> Vec<usize> {
    let mut left = gpus;
    let part = |room: &usize| {
        let taken = left.min(*room);
        left -= taken;
        taken
    };
    rooms.iter().map(part).take_while(|taken| *taken > 0).collect()
}
