//! Jobs from their admission to their end, and which of them have their GPUs.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use crate::network::GpuIndex;
use crate::program::Program;
use crate::units::Picoseconds;

use super::job::ProgramJob;
use super::occupancy::Occupancy;
use super::outcome::{JobOutcome, RankOutcome};

/// Belongs to a job from its admission to its end.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) program: Arc<Program>,
    /// Are the places of its ranks among all.
    pub(super) ranks: Range<u32>,
    pub(super) communicators: Range<u32>,
}

/// A job that was admitted.
#[derive(Debug, Clone)]
struct JobState {
    name: String,
    priority: u8,
    deadline: Option<NonZeroU32>,
    computation_scale: f64,
    first_rank: u32,
    first_communicator: u32,
    /// Tells when its ranks start; its arrival up to then.
    start: Picoseconds,
    /// How many of its ranks have not ended.
    running: u32,
    /// How many of its messages something will still be heard of.
    messages: u32,
    arrival: Picoseconds,
    held: Option<Held>,
    /// Its ranks, once all have ended.
    ranks: Vec<RankOutcome>,
}

/// All jobs that were ever admitted.
#[derive(Debug)]
pub(super) struct Jobs {
    jobs: Vec<JobState>,
    gpus: u32,
    occupancy: Occupancy,
    /// Jobs whose ranks have all ended, and which still have their GPUs.
    ended: Vec<u32>,
    /// Jobs that have ended since somebody asked.
    ends: VecDeque<u32>,
    /// How many ranks have not ended.
    unfinished: usize,
}

impl Jobs {
    /// Begins without jobs, on a number of GPUs.
    pub(super) fn new(gpus: u32) -> Self {
        let (jobs, ended, ends) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { jobs, gpus, occupancy: Occupancy::new(gpus), ended, ends, unfinished: 0 }
    }

    /// Tells on how many GPUs they run.
    pub(super) const fn gpus(&self) -> u32 {
        self.gpus
    }

    /// How many there have been: the index of the next.
    pub(super) fn count(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// One more, which arrives at a time.
    pub(super) fn add(&mut self, job: &ProgramJob, arrival: Picoseconds, held: Held) {
        let running = held.ranks.len() as u32;
        self.unfinished += held.ranks.len();
        self.occupancy.add(&job.mapping);
        self.jobs.push(JobState {
            name: job.name.clone(),
            priority: job.priority,
            deadline: job.deadline,
            computation_scale: job.computation_scale,
            first_rank: held.ranks.start,
            first_communicator: held.communicators.start,
            start: arrival,
            running,
            messages: 0,
            arrival,
            held: Some(held),
            ranks: Vec::new(),
        });
    }

    #[inline]
    pub(super) fn name(&self, job: u32) -> &str {
        &self.jobs[job as usize].name
    }

    #[inline]
    pub(super) fn priority(&self, job: u32) -> u8 {
        self.jobs[job as usize].priority
    }

    #[inline]
    pub(super) fn deadline(&self, job: u32) -> Option<NonZeroU32> {
        self.jobs[job as usize].deadline
    }

    #[inline]
    pub(super) fn computation_scale(&self, job: u32) -> f64 {
        self.jobs[job as usize].computation_scale
    }

    /// Gives the first of its ranks among all.
    #[inline]
    pub(super) fn first_rank(&self, job: u32) -> u32 {
        self.jobs[job as usize].first_rank
    }

    /// Gives the first of its communicators among all.
    #[inline]
    pub(super) fn first_communicator(&self, job: u32) -> u32 {
        self.jobs[job as usize].first_communicator
    }

    pub(super) fn arrival(&self, job: u32) -> Picoseconds {
        self.jobs[job as usize].arrival
    }

    /// Its ranks among all, while it has them.
    pub(super) fn ranks_held(&self, job: u32) -> Option<Range<u32>> {
        Some(self.jobs[job as usize].held.as_ref()?.ranks.clone())
    }

    /// A job arrives; whether it has its GPUs, so that it starts.
    pub(super) fn arrive(&mut self, job: u32) -> bool {
        self.occupancy.arrive(job)
    }

    /// A job has its GPUs; which ranks start.
    pub(super) fn start(&mut self, job: u32, now: Picoseconds) -> Range<u32> {
        let state = &mut self.jobs[job as usize];
        state.start = now;
        if state.running == 0 {
            self.ended.push(job);
        }
        state.first_rank..state.first_rank + state.running
    }

    /// A rank of a job has ended; when the job had started.
    pub(super) fn end_rank(&mut self, job: u32) -> Picoseconds {
        let state = &mut self.jobs[job as usize];
        self.unfinished -= 1;
        state.running -= 1;
        if state.running == 0 {
            self.ended.push(job);
        }
        state.start
    }

    /// Whether any job's ranks have all ended while it has its GPUs.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// A job whose ranks have all ended and which has its GPUs: the next to end.
    #[inline]
    pub(super) fn take_ended(&mut self) -> Option<u32> {
        self.ended.pop()
    }

    /// A job gives its GPUs back; which others have theirs now.
    pub(super) fn end(&mut self, job: u32, ranks: Vec<RankOutcome>) -> Vec<u32> {
        self.jobs[job as usize].ranks = ranks;
        self.ends.push_back(job);
        self.occupancy.leave(job)
    }

    /// A message of a job is under way.
    #[inline]
    pub(super) fn begin_message(&mut self, job: u32) {
        self.jobs[job as usize].messages += 1;
    }

    /// Nothing will be heard of a message of a job any more.
    #[inline]
    pub(super) fn end_message(&mut self, job: u32) {
        self.jobs[job as usize].messages -= 1;
    }

    /// Whether something will still be heard of a message of a job.
    #[inline]
    pub(super) fn has_messages(&self, job: u32) -> bool {
        self.jobs[job as usize].messages > 0
    }

    /// Takes from a job all that it held, once it has ended and nothing will be heard of its messages any more.
    #[inline]
    pub(super) fn release(&mut self, job: u32) -> Option<Held> {
        let state = &mut self.jobs[job as usize];
        if state.running > 0 || state.messages > 0 {
            return None;
        }
        state.held.take()
    }

    /// A job that has ended since this was asked last.
    pub(super) fn next_end(&mut self) -> Option<u32> {
        self.ends.pop_front()
    }

    /// Tells how a job ended, and hands its ranks over.
    pub(super) fn take_outcome(&mut self, job: u32) -> JobOutcome {
        let state = &mut self.jobs[job as usize];
        let ranks = std::mem::take(&mut state.ranks);
        let end = ranks.iter().map(|rank| rank.end).max().unwrap_or(state.start);
        let JobState { arrival, start, .. } = *state;
        JobOutcome { name: state.name.clone(), arrival, start, end, ranks }
    }

    /// How many ranks of all jobs have not ended, and how many of them have not started since
    /// their jobs wait for GPUs.
    pub(super) fn unfinished(&self) -> (usize, usize) {
        let running = |(job, ..): (u32, _, _)| self.jobs[job as usize].running;
        let unstarted: u32 = self.occupancy.waiting().map(running).sum();
        (self.unfinished, unstarted as usize)
    }

    /// The jobs that have arrived and do not have their GPUs, each with one of these, and the job
    /// that it waits for there.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, GpuIndex, u32)> {
        self.occupancy.waiting()
    }
}
