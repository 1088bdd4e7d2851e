//! Later jobs that start before a first one that does not fit.

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
            let size = self.jobs[job].gpus as usize;
            let Some(choice) = self.choose(job, scheduler)? else {
                index += 1;
                continue;
            };
            let finish = self.finish_time(job, &choice, scheduler.now())?;
            let in_the_way = choice.server == reserved && finish > reservation;
            if in_the_way && size > spare {
                index += 1;
                continue;
            }
            if in_the_way {
                spare -= size;
            }
            self.waiting.remove(index);
            self.start(job, choice, scheduler)?;
            started.push(job);
        }
        Ok(())
    }

    /// When and in which server the job can start if nothing else does, and how many GPUs are spare
    /// there then. Of several servers the first that is ready.
    fn reservation(&self, job: usize) -> (Picoseconds, usize, usize) {
        let on = (0..self.servers.len()).map(|server| {
            let (time, spare) = self.reservation_on(server, self.jobs[job].gpus as usize);
            (time, server, spare)
        });
        on.min_by_key(|(time, server, _)| (*time, *server)).unwrap_or((Picoseconds(u64::MAX), 0, 0))
    }

    fn reservation_on(&self, server: usize, needed: usize) -> (Picoseconds, usize) {
        let (_, state) = &self.servers[server];
        let mut free = state.free().len();
        let mut running: Vec<(Picoseconds, usize)> = state
            .held()
            .iter()
            .filter_map(|(key, gpus)| {
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
