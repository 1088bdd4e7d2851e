//! Plays kernels in the memory of GPUs as jobs of a runtime: one clock, one network.
//!
//! Each kernel keeps its own queue of events. An event of the runtime stands for the first of them
//! ([`RuntimeEvent::Kernel`]), so that no kernel is ahead of the clock or behind it.

use std::fmt;

use crate::engine::{Scheduler, Within};
use crate::network::{Message, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::units::Picoseconds;

use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::frames::OperationRef;
use super::gpu_kernel::{GpuKernelMessage, GpuKernelRun, PreparedGpuKernel};
use super::observer::Observer;
use super::plan::STARTED;
use super::state::Runtime;
use super::token::{KERNEL, token};

/// A kernel that some ranks of its job have come to.
struct Running<'a> {
    /// The calls of the ranks that have come.
    entered: Vec<OperationRef>,
    /// It runs from when all have.
    run: Option<Box<dyn GpuKernelRun + 'a>>,
    since: u64,
    /// The earliest event that is scheduled for it; `u64::MAX` where none is.
    wake: u64,
}

/// Holds the kernels of all jobs, by these.
#[derive(Default)]
pub(super) struct GpuKernels<'a> {
    prepared: Vec<Option<&'a dyn PreparedGpuKernel>>,
    running: Vec<Option<Running<'a>>>,
    /// Holds what one of them sends, while it is taken over.
    sends: Vec<GpuKernelMessage>,
}

impl fmt::Debug for GpuKernels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running.iter().flatten().count();
        f.debug_struct("GpuKernels").field("running", &running).finish_non_exhaustive()
    }
}

impl<'a> GpuKernels<'a> {
    /// Begins with those of jobs; none runs.
    pub(super) fn new(prepared: Vec<Option<&'a dyn PreparedGpuKernel>>) -> Self {
        let running = prepared.iter().map(|_| None).collect();
        Self { prepared, running, sends: Vec::new() }
    }

    /// A rank comes to the kernel of its job; how many have.
    fn enter(&mut self, job: u32, at: OperationRef) -> usize {
        let Some(place) = self.running.get_mut(job as usize) else { return 0 };
        let rest = || Running { entered: Vec::new(), run: None, since: 0, wake: u64::MAX };
        let entered = &mut place.get_or_insert_with(rest).entered;
        entered.push(at);
        entered.len()
    }

    /// The kernel of a job that runs.
    fn running(&mut self, job: u32) -> Option<&mut Running<'a>> {
        self.running.get_mut(job as usize)?.as_mut()
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// A rank comes to its job's kernel, which begins with the last of them.
    pub(super) fn enter_kernel(
        &mut self,
        at: OperationRef,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let rank = self.shared.frames.rank_of(at);
        let id = self.shared.ranks.id(rank);
        self.shared.frames.propagate(at, STARTED);
        let entered = self.kernels.enter(id.job, at);
        let ranks = self.shared.jobs.ranks_held(id.job).map_or(0, |ranks| ranks.len());
        let prepared = self.kernels.prepared.get(id.job as usize).copied().flatten();
        let Some(prepared) = prepared else {
            let (call, _) = self.shared.frames.origin(at);
            let job = self.shared.jobs.name(id.job).to_owned();
            let problem = "runs a kernel, and a day of jobs that arrive plays none".to_owned();
            let operation = call.operation;
            return Err(RuntimeError::Operation { job, rank: id.rank, operation, problem });
        };
        if entered < ranks {
            return Ok(());
        }
        let run = prepared.begin().map_err(|told| self.kernel_error(id.job, told))?;
        let now = self.shared.now;
        if let Some(running) = self.kernels.running(id.job) {
            (running.run, running.since) = (Some(run), now);
        }
        self.play_kernel(id.job, scheduler)
    }

    /// A time has come at which a kernel does something, unless it has been there already.
    pub(super) fn wake_kernel(
        &mut self,
        job: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let now = self.shared.now;
        match self.kernels.running(job) {
            Some(running) if running.wake == now => running.wake = u64::MAX,
            _ => return Ok(()),
        }
        self.play_kernel(job, scheduler)
    }

    /// A message of a kernel has arrived.
    pub(super) fn kernel_message(
        &mut self,
        what: u64,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (job, what) = ((what >> 32) as u32, what as u32);
        let now = self.shared.now;
        if let Some(Running { run: Some(run), since, .. }) = self.kernels.running(job) {
            run.arrive(what, Picoseconds(now - *since));
        }
        self.play_kernel(job, scheduler)
    }

    /// A kernel catches up with the clock: the network takes what it sends, and its end is the ranks'.
    fn play_kernel(
        &mut self,
        job: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let now = self.shared.now;
        let mut sends = std::mem::take(&mut self.kernels.sends);
        let Some(running) = self.kernels.running(job) else { return Ok(()) };
        let Running { run: Some(run), since, wake, .. } = running else { return Ok(()) };
        let advanced = run.advance(Picoseconds(now - *since), &mut sends);
        let next = run.next().map(|next| since.saturating_add(next.0));
        let is_over = run.is_over();
        if let Some(next) = next.filter(|next| next < wake) {
            *wake = next;
            scheduler.schedule(Picoseconds(next), RuntimeEvent::Kernel(job));
        }
        advanced.map_err(|told| self.kernel_error(job, told))?;
        let first_rank = self.shared.jobs.first_rank(job);
        let priority = self.shared.jobs.priority(job);
        for GpuKernelMessage { ends, rank, class, size, what } in sends.drain(..) {
            if let Some(rank) = rank {
                self.shared.ranks.count_messages(first_rank + rank, 1, size.0);
            }
            let memory = Some(class);
            let class = TrafficClass { priority, memory, ..TrafficClass::default() };
            let token = token(KERNEL, u64::from(job) << 32 | u64::from(what));
            let message = Message { class, ..Message::new(ends[0], ends[1], size, token) };
            let mut within = Within::<_, RuntimeEvent<T::Event>>::new(scheduler);
            self.shared.transport.send(message, &mut within);
        }
        self.kernels.sends = sends;
        if is_over {
            self.end_kernel(job);
        }
        Ok(())
    }

    /// A kernel has ended, and so has every rank's part in it.
    fn end_kernel(&mut self, job: u32) {
        let Some(place) = self.kernels.running.get_mut(job as usize) else { return };
        let Some(Running { entered, since, .. }) = place.take() else { return };
        let now = self.shared.now;
        for at in entered {
            let rank = self.shared.frames.rank_of(at);
            self.shared.ranks.count_computation(rank, now - since);
            let id = self.shared.ranks.id(rank);
            self.shared.observer.computed(id, Picoseconds(since), Picoseconds(now));
            self.shared.complete(at, 0);
        }
    }

    /// Returns an error if a running kernel waits for data that never comes.
    pub(super) fn kernels_at_rest(&self) -> Result<(), RuntimeError> {
        for (job, running) in (0..).zip(&self.kernels.running) {
            if let Some(Running { run: Some(run), .. }) = running {
                run.at_rest().map_err(|told| self.kernel_error(job, told))?;
            }
        }
        Ok(())
    }

    fn kernel_error(&self, job: u32, told: crate::diagnostic::Diagnosis) -> RuntimeError {
        RuntimeError::Kernel { job: self.shared.jobs.name(job).to_owned(), told }
    }
}
