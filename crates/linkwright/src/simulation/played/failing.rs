//! Which jobs hear of a change, and how far they have come when parts fail.

use std::collections::{BTreeMap, BTreeSet};

use crate::simulation::failures::{Endured, State, States, Stretch};
use crate::simulation::job::Job;
use crate::simulation::queue::JobRecord;
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::Picoseconds;

/// Says how a change reaches a job that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It loses its GPUs.
    Lost,
    /// It is planned anew for what is left.
    Replanned,
}

/// A try of a job: from when it got its GPUs, or was planned anew.
#[derive(Debug, Clone, Copy)]
struct Try {
    since: Picoseconds,
    /// Is the state of the system that it was planned for.
    state: usize,
}

/// Keeps what failures do to jobs.
pub(super) struct Failing<'a> {
    states: &'a States,
    /// Numbers the state that holds.
    state: usize,
    tries: BTreeMap<usize, Try>,
    pub(super) endured: Vec<Endured>,
}

impl<'a> Failing<'a> {
    /// Nothing has failed.
    pub(super) fn new(states: &'a States, jobs: usize) -> Self {
        let endured = vec![Endured::default(); jobs];
        Self { states, state: 0, tries: BTreeMap::new(), endured }
    }

    /// Gives the state that holds, and its number.
    pub(super) fn now(&self) -> (usize, &'a State) {
        (self.state, &self.states.each[self.state])
    }

    /// Another state holds; returns the one before and it.
    pub(super) fn change(&mut self, state: usize) -> [&'a State; 2] {
        let before = std::mem::replace(&mut self.state, state);
        [before, state].map(|state| &self.states.each[state])
    }

    /// Counts the iterations that a job has yet to do.
    pub(super) fn left(&self, index: usize, job: &Job) -> u64 {
        job.iterations - self.endured[index].iterations()
    }

    /// A job begins, or goes on after it was planned anew.
    pub(super) fn start(&mut self, job: usize, now: Picoseconds) {
        self.tries.insert(job, Try { since: now, state: self.state });
    }

    /// Says what a job that runs hears of a change. `uses` tells whether it uses any of some resources.
    pub(super) fn heard(
        &self,
        job: usize,
        record: &JobRecord,
        ([were, are], system): ([&State; 2], &System),
        uses: impl Fn(&BTreeSet<ChannelId>) -> bool,
    ) -> Option<Heard> {
        let gpus = record
            .parts
            .iter()
            .flat_map(|part| part.chosen.placement.iter().map(|gpu| (part.server as usize, *gpu)));
        let servers: Vec<u32> = record.servers().collect();
        let is_cut_off = |server: &u32| are.cut_off.contains(&(*server as usize));
        let is_apart = servers.len() > 1 && servers.iter().any(is_cut_off);
        if is_apart || gpus.into_iter().any(|gpu| are.gpus.contains(&gpu)) {
            return Some(Heard::Lost);
        }
        let is_near = |channel: &&ChannelId| match system.server_channel(**channel) {
            Some(at) => servers.contains(&at.server),
            None => servers.len() > 1,
        };
        let lost: BTreeSet<ChannelId> =
            are.channels.difference(&were.channels).filter(is_near).copied().collect();
        let planned_for = &self.states.each[self.tries[&job].state];
        let is_back = planned_for.channels.difference(&are.channels).any(|it| is_near(&it));
        (is_back || !lost.is_empty() && uses(&lost)).then_some(Heard::Replanned)
    }

    /// A job goes on elsewhere, or by another plan, after this number of iterations of its try.
    pub(super) fn cut(
        &mut self,
        (index, job): (usize, &Job),
        heard: Heard,
        done: u64,
        now: Picoseconds,
    ) {
        self.add(index, done, now);
        if heard == Heard::Lost {
            self.restart((index, job));
        }
    }

    /// A job begins anew, or from its last checkpoint.
    pub(super) fn restart(&mut self, (index, job): (usize, &Job)) {
        let endured = &mut self.endured[index];
        let all = endured.iterations();
        endured.restarts += 1;
        endured.keep(job.checkpoint_iterations.map_or(0, |every| all - all % every.max(1)));
    }

    /// A job that got its first GPUs at a time has come to its end.
    pub(super) fn end(
        &mut self,
        (index, job): (usize, &Job),
        first: Picoseconds,
        now: Picoseconds,
    ) {
        self.add(index, self.left(index, job), now);
        let endured = &mut self.endured[index];
        let useful: u64 = endured.stretches.iter().map(|it| it.time.0).sum();
        endured.lost = Picoseconds((now.0 - first.0).saturating_sub(useful));
    }

    fn add(&mut self, index: usize, iterations: u64, now: Picoseconds) {
        let Try { since, state } = self.tries[&index];
        let time = Picoseconds(now.0 - since.0);
        self.endured[index].stretches.push(Stretch { state, iterations, time });
    }
}
