//! Later jobs that start before a first one that does not fit.

use super::named::Wanted;
use super::{Choice, Queue, UNKNOWN};
use crate::engine::Scheduler;
use crate::simulation::error::SimulationError;
use crate::units::Picoseconds;

/// Says what is kept for a first job that does not fit.
enum Reserved {
    /// As many GPUs as it needs of these servers.
    Servers(Vec<usize>),
    /// Keeps these GPUs.
    Gpus(Vec<Wanted>),
}

impl Reserved {
    /// How many of these GPUs another job would take.
    fn taken_by(&self, choice: &Choice) -> usize {
        match self {
            Self::Servers(servers) => choice.gpus_in(servers),
            Self::Gpus(wanted) => {
                let of = |(server, gpus): &Wanted| {
                    let there = choice.parts.iter().filter(|(of, _)| of == server);
                    let taken = there.flat_map(|(_, selection)| &selection.chosen.placement);
                    taken.filter(|gpu| gpus.contains(gpu)).count()
                };
                wanted.iter().map(of).sum()
            }
        }
    }
}

impl Queue<'_> {
    /// Starts jobs behind a first one that does not fit, where that does not delay it. They
    /// are expected to end before it can start, or leave enough GPUs for it when it does.
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
            // A job that nobody knows the end of might delay the first for ever.
            let Some(finish) = self.expected_end(job, &choice, scheduler.now())? else {
                index += 1;
                continue;
            };
            let in_the_way = if finish > reservation { reserved.taken_by(&choice) } else { 0 };
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

    /// Says when and where the job can start if nothing else does, and how many GPUs are spare
    /// there then. It gives the servers that are ready first, as many as the job wants. A job that may have
    /// GPUs of any only needs as many, and it gives all servers. It gives the GPUs themselves that a job names.
    fn reservation(&self, job: usize) -> (Picoseconds, Reserved, usize) {
        if let Some(wanted) = self.named.get(job) {
            return (self.all_free(wanted), Reserved::Gpus(wanted.to_vec()), 0);
        }
        let (needed, all) = (self.jobs[job].gpus as usize, 0..self.servers.len());
        let ask = self.ask(job);
        let wanted = self.rules.wanted_servers(ask);
        if wanted.is_none() && self.rules.may_split(ask) {
            let all: Vec<usize> = all.collect();
            let (time, spare) = self.reservation_on(&all, needed);
            return (time, Reserved::Servers(all), spare);
        }
        let servers = wanted.unwrap_or(1);
        let is_exclusive = self.rules.is_exclusive(ask);
        let on = all.map(|server| {
            if is_exclusive {
                return (self.all_free_on(server), server, 0);
            }
            let (time, spare) = self.reservation_on(&[server], needed.div_ceil(servers));
            (time, server, spare)
        });
        let mut on: Vec<(Picoseconds, usize, usize)> = on.collect();
        on.sort_unstable_by_key(|(time, server, _)| (*time, *server));
        let first = on.get(..servers).unwrap_or_default();
        let time = first.last().map_or(UNKNOWN, |(time, ..)| *time);
        let spare = if let [(.., spare)] = first { *spare } else { 0 };
        (time, Reserved::Servers(first.iter().map(|(_, server, _)| *server).collect()), spare)
    }

    /// When a server's last holder will have given its GPUs back.
    fn all_free_on(&self, server: usize) -> Picoseconds {
        let (machine, state) = &self.servers[server];
        let all: Vec<usize> =
            (0..machine.gpu_count()).filter(|gpu| !state.unhealthy().contains(*gpu)).collect();
        self.all_free(&[(server, all)])
    }

    /// When those who hold these GPUs will have given them back.
    fn all_free(&self, wanted: &[Wanted]) -> Picoseconds {
        let holders = wanted.iter().flat_map(|(server, gpus)| {
            let held = self.servers[*server].1.held().iter();
            held.filter(|(_, held)| held.iter().any(|gpu| gpus.contains(gpu)))
        });
        let ends = holders
            .filter_map(|(key, _)| Some(self.records[key.parse::<usize>().ok()?].as_ref()?.finish));
        ends.max().unwrap_or(Picoseconds(0))
    }

    fn reservation_on(&self, servers: &[usize], needed: usize) -> (Picoseconds, usize) {
        let states = || servers.iter().map(|server| &self.servers[*server].1);
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

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::allocation::{BandwidthModel, PreparedMachine, policy};
    use crate::engine::{Engine, Model};
    use crate::simulation::job::Job;
    use crate::simulation::queue::{Ends, QueueDiscipline, Sharing};
    use crate::system::{BandwidthProfile, presets};
    use crate::training::Workload;

    /// Keeps a queue whose jobs all arrive at once, and the jobs that started then.
    struct Once<'a> {
        queue: Queue<'a>,
        started: Vec<usize>,
    }

    impl Model for Once<'_> {
        type Event = usize;
        type Error = SimulationError;
        const SETTLES: bool = true;

        fn handle(
            &mut self,
            job: usize,
            _: &mut impl Scheduler<usize>,
        ) -> Result<(), SimulationError> {
            self.queue.arrive(job);
            Ok(())
        }

        fn settle(
            &mut self,
            scheduler: &mut impl Scheduler<usize>,
        ) -> Result<Option<Picoseconds>, SimulationError> {
            self.started.extend(self.queue.start_jobs(scheduler)?);
            Ok(None)
        }

        fn done(&self) -> (u64, u64) {
            self.queue.done()
        }
    }

    /// Gives the jobs that start at once, on a server of eight GPUs.
    fn started(jobs: &[Job]) -> Vec<usize> {
        let server = presets::preset("dgx1-v100").unwrap();
        let profile = BandwidthProfile::default_of(&server);
        let machine = PreparedMachine::new(&server, profile, BandwidthModel::Sound).unwrap();
        let sharing = Sharing {
            discipline: QueueDiscipline::Backfill,
            ..Sharing::new(std::slice::from_ref(&machine), policy("greedy").unwrap())
        };
        let queue = Queue::new(vec![&machine], jobs, sharing, Ends::Played).unwrap();
        let mut once = Once { queue, started: Vec::new() };
        let mut hook = |_| ControlFlow::Continue(());
        let mut engine = Engine::new(&mut hook);
        (0..jobs.len()).for_each(|job| engine.schedule(Picoseconds(0), job));
        engine.run(&mut once).unwrap();
        once.started
    }

    #[test]
    fn a_job_of_unknown_duration_waits_unless_it_gives_a_time_limit() {
        let gmm = Workload::find("gmm").unwrap();
        let job = |name: &str, gpus| Job::new(name, gmm, gpus);
        // Of the first, half the server is free; the second needs all of it, and leaves nothing spare.
        let (first, second) = (job("first", 4), job("second", 8));
        let short = Job { iterations: 1, ..job("short", 2) };
        // Beyond 213 days no formula tells how long it takes.
        let unknown = Job { iterations: u64::MAX, ..job("unknown", 2) };
        let hour = Some(Picoseconds(3_600_000_000_000_000));
        let limited = |limit| Job { time_limit: limit, ..unknown.clone() };
        let day = |third: &Job| started(&[first.clone(), second.clone(), third.clone()]);
        assert_eq!(day(&short), [0, 2]);
        assert_eq!(day(&unknown), [0]);
        assert_eq!(day(&limited(Some(Picoseconds(1)))), [0, 2]);
        assert_eq!(day(&limited(hour)), [0]);
        // Where GPUs are spare when the first of the queue starts, too.
        let narrow = Job { gpus: 5, name: "narrow".to_owned(), ..second.clone() };
        let spare = |third: &Job| started(&[first.clone(), narrow.clone(), third.clone()]);
        assert_eq!(spare(&unknown), [0]);
        assert_eq!(spare(&limited(hour)), [0, 2]);
        // At the head of the queue it starts as any other.
        assert_eq!(started(&[unknown]), [0]);
    }
}
