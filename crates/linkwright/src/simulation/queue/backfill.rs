//! Later jobs that start before a first one that does not fit.

use std::ops::Range;

use super::Queue;
use crate::engine::Scheduler;
use crate::simulation::error::SimulationError;
use crate::units::Picoseconds;

impl Queue<'_> {
    /// Starts jobs behind a first one that does not fit, where that does not delay it: they
    /// end before it can start, or leave enough GPUs for it when it does.
    pub(super) fn backfill<E>(
        &mut self,
        started: &mut Vec<usize>,
        scheduler: &mut impl Scheduler<E>,
    ) -> Result<(), SimulationError> {
        let Some(first) = self.waiting.front().copied() else { return Ok(()) };
        let (reservation, reserved, mut spare) = self.reservation(first);
        let mut index = 1;
        while let Some(job) = self.waiting.get(index).copied() {
            let Some(choice) = self.choose(job, scheduler)? else {
                index += 1;
                continue;
            };
            let finish = self.finish_time(job, &choice, scheduler.now())?;
            let in_the_way = if finish > reservation { choice.gpus_in(&reserved) } else { 0 };
            if in_the_way > spare {
                index += 1;
                continue;
            }
            spare -= in_the_way;
            self.waiting.remove(index);
            self.start(job, choice, scheduler)?;
            started.push(job);
        }
        Ok(())
    }

    /// When and in which servers the job can start if nothing else does, and how many GPUs are spare
    /// there then. Of several servers the first that is ready; all of them for a job that may have GPUs of
    /// several, which only needs as many.
    fn reservation(&self, job: usize) -> (Picoseconds, Range<usize>, usize) {
        let (needed, all) = (self.jobs[job].gpus as usize, 0..self.servers.len());
        if self.may_split(job) {
            let (time, spare) = self.reservation_on(all.clone(), needed);
            return (time, all, spare);
        }
        let on = all.map(|server| {
            let (time, spare) = self.reservation_on(server..server + 1, needed);
            (time, server..server + 1, spare)
        });
        let first = on.min_by_key(|(time, servers, _)| (*time, servers.start));
        first.unwrap_or((Picoseconds(u64::MAX), 0..0, 0))
    }

    fn reservation_on(&self, servers: Range<usize>, needed: usize) -> (Picoseconds, usize) {
        let states = || self.servers[servers.clone()].iter().map(|(_, state)| state);
        let mut free = states().map(|state| state.free().len()).sum::<usize>();
        let mut running: Vec<(Picoseconds, usize)> = states()
            .flat_map(|state| state.held().iter().map(move |held| (state, held)))
            .filter_map(|(state, (key, gpus))| {
                let record = self.records[key.parse::<usize>().ok()?].as_ref()?;
                let healthy = gpus.iter().filter(|gpu| !state.unhealthy().contains(**gpu));
                Some((record.finish, healthy.count()))
            })
            .collect();
        running.sort_unstable();
        // All jobs that end at one moment give their GPUs back before anything starts then.
        for ending in running.chunk_by(|a, b| a.0 == b.0) {
            free += ending.iter().map(|(_, gpus)| gpus).sum::<usize>();
            if free >= needed {
                return (ending[0].0, free - needed);
            }
        }
        (Picoseconds(u64::MAX), 0)
    }
}
