//! Lets jobs come while the clock runs, and takes back their GPUs and ranks at their end.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::engine::Scheduler;
use crate::network::{GpuIndex, GpuSite, Transport};
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::call::RankId;
use super::copies::{check_gpus, needs_gpu};
use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::job::ProgramJob;
use super::jobs::Held;
use super::messages::classes_of;
use super::observer::Observer;
use super::outcome::JobOutcome;
use super::ranks::NewRank;
use super::shared::Shared;
use super::state::Runtime;
use super::validate::validate;

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// Takes a job in while the clock runs; returns its index. It arrives at its start, or now where
    /// that has passed, and runs as soon as it has all its GPUs.
    ///
    /// # Errors
    /// As [`Runtime::new`]; then nothing has changed.
    pub fn admit(
        &mut self,
        job: &ProgramJob,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<u32, RuntimeError> {
        validate(job, self.shared.jobs.gpus())?;
        check_gpus(self.shared.transport, job)?;
        let index = self.shared.add(job, job.start.max(scheduler.now()));
        scheduler.schedule(self.shared.jobs.arrival(index), RuntimeEvent::Arrive(index));
        Ok(index)
    }

    /// A job whose ranks have all ended since this was asked last, in the order of their ends.
    pub fn next_end(&mut self) -> Option<u32> {
        self.shared.jobs.next_end()
    }

    /// Takes the outcome of a job that has ended, and hands over its ranks.
    ///
    /// # Panics
    /// Where there is no such job.
    pub fn take_outcome(&mut self, job: u32) -> JobOutcome {
        self.shared.jobs.take_outcome(job)
    }
}

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// Gives a checked job its ranks, its communicators and its plans; returns its index.
    pub(super) fn add(&mut self, job: &ProgramJob, arrival: Picoseconds) -> u32 {
        let index = self.jobs.count();
        let count = job.mapping.len() as u32;
        let ranks = self.ranks.take(count);
        let communicators = self.communicators.add(index, &job.program.communicators);
        let plans = self.frames.plans_of(&job.program);
        for (rank, gpu) in (0..).zip(&job.mapping) {
            self.add_rank(
                RankId { job: index, rank },
                ranks.start + rank,
                *gpu,
                plans[rank as usize],
                job,
            );
        }
        let program = Arc::clone(&job.program);
        self.jobs.add(job, arrival, Held { program, ranks, communicators });
        index
    }

    fn add_rank(&mut self, id: RankId, place: u32, gpu: GpuIndex, plan: u32, job: &ProgramJob) {
        let operations = self.frames.operations(plan);
        let classes = classes_of(operations);
        let needs_gpu = operations.iter().any(needs_gpu);
        let frame = self.frames.add_rank(place, plan, job.iterations.get());
        let device = self.transport.gpu_device(gpu);
        if needs_gpu {
            let site = self.transport.gpu_site(gpu);
            let at_once = |count: NonZeroU32| GpuSite {
                copy_engines: count.get(),
                copy_directions: 2,
                ..site
            };
            self.copies.add_gpu(place, job.copies_at_once.map_or(site, at_once));
        }
        self.ranks.add(place, NewRank { id, device, classes, frame });
        self.lanes.add(place);
    }

    /// Ends a job whose ranks have all ended: its GPUs are free, and its outcome is known.
    pub(super) fn end_job(
        &mut self,
        job: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let ranks = self.jobs.ranks_held(job).unwrap_or(0..0);
        let outcomes = ranks.map(|rank| self.ranks.outcome(rank).clone()).collect();
        for next in self.jobs.end(job, outcomes) {
            scheduler.schedule(scheduler.now(), RuntimeEvent::Start(next));
        }
        self.give_back(job);
    }

    /// Gives a job's ranks, frames, communicators and plans to the next, once it has ended and
    /// nothing will be heard of its messages any more.
    pub(super) fn give_back(&mut self, job: u32) {
        let released = self.jobs.release(job);
        let Some(Held { program, ranks, communicators }) = released else { return };
        for rank in ranks.clone() {
            self.frames.release(self.ranks.frame(rank));
        }
        self.ranks.give_back(ranks);
        self.communicators.give_back(communicators);
        self.frames.release_program(&program);
    }
}
