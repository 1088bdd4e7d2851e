//! Finds places on an idle system on which a job may be the fastest.
//!
//! Within a server it takes the match with the most effective bandwidth and that with the most aggregated bandwidth, of each
//! kind of server. A job that no server has room for takes the fewest servers, at the fewest switches. It takes whole ones, or
//! equal parts of them.
//!
//! It leaves out other matches, and servers that stand apart.

use std::collections::BTreeMap;

use crate::allocation::cluster::leaves;
use crate::allocation::{Effort, GpuSet, Objective, PatternShape};
use crate::engine::{Hook, Progress};
use crate::simulation::day::SharedSystem;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::queue::JobPlace;
use crate::system::System;
use crate::units::Picoseconds;

/// Names a request by its pattern and its GPUs, and by its job where the edges are its own.
type Asked = (PatternShape, u32, Option<usize>);

/// The places that were found.
pub(super) struct BestPlaces<'a> {
    system: &'a System,
    shared: &'a SharedSystem,
    /// Holds the GPUs of each server that are in order.
    healthy: Vec<GpuSet>,
    known: BTreeMap<Asked, Vec<JobPlace>>,
}

impl<'a> BestPlaces<'a> {
    /// None is known yet.
    pub(super) fn new(system: &'a System, shared: &'a SharedSystem) -> Self {
        let healthy = (0..system.servers()).map(|server| shared.healthy(system, server)).collect();
        Self { system, shared, healthy, known: BTreeMap::new() }
    }

    /// Gives those for a job.
    pub(super) fn of(
        &mut self,
        jobs: &[Job],
        job: usize,
        hook: Hook<'_>,
    ) -> Result<&[JobPlace], SimulationError> {
        let of = &jobs[job];
        let key = (of.pattern, of.gpus, of.edges.is_some().then_some(job));
        if !self.known.contains_key(&key) {
            let found = self.find(of, hook)?;
            self.known.insert(key, found);
        }
        Ok(&self.known[&key])
    }

    fn find(&self, job: &Job, hook: Hook<'_>) -> Result<Vec<JobPlace>, SimulationError> {
        let size = job.gpus as usize;
        let mut found: Vec<JobPlace> = Vec::new();
        for kind in 0..self.system.kinds().len() {
            let of_kind = |server: &usize| self.system.kind_index_of(*server as u32) == kind;
            let servers = (0..self.healthy.len()).filter(of_kind);
            let roomiest = servers.rev().max_by_key(|server| self.healthy[*server].len());
            let Some(server) = roomiest.filter(|it| self.healthy[*it].len() >= size) else {
                continue;
            };
            for objective in [Objective::Effective, Objective::Aggregated] {
                let gpus = self.best(job, (server, size), objective, hook)?;
                found.extend(gpus.map(|gpus| vec![(server, gpus)]));
            }
        }
        if found.is_empty() {
            for parts in self.across(size) {
                let mut place = JobPlace::new();
                for (server, count) in parts {
                    let gpus = self.best(job, (server, count), Objective::Effective, hook)?;
                    place.extend(gpus.map(|gpus| (server, gpus)));
                }
                found.push(place);
            }
        }
        found.dedup();
        Ok(found)
    }

    /// Finds the best match on GPUs of a server.
    fn best(
        &self,
        job: &Job,
        (server, size): (usize, usize),
        objective: Objective,
        hook: Hook<'_>,
    ) -> Result<Option<Vec<usize>>, SimulationError> {
        let machine = self.shared.machine(self.system, server as u32);
        let pattern = job.pattern_on(size)?;
        let now = Progress { done: 0, total: 0, time: Picoseconds(0), events: 0 };
        let mut go_on = || hook(now);
        let mut effort = Effort::interruptible(&mut go_on);
        let found = machine.best(&pattern, self.healthy[server], objective, &mut effort);
        if effort.is_stopped() {
            return Err(SimulationError::Interrupted { done: 0, total: 0 });
        }
        Ok(found.map(|selection| selection.chosen.placement.to_vec()))
    }

    /// Counts the GPUs of servers that are filled one after another, and of servers with equal parts.
    fn across(&self, size: usize) -> Vec<Vec<(usize, usize)>> {
        let room = |server: usize| self.healthy[server].len();
        let leaves = leaves(self.system);
        let switch = |server: usize| leaves[server];
        let mut order: Vec<usize> = (0..self.healthy.len()).filter(|it| room(*it) > 0).collect();
        order.sort_by_key(|server| (switch(*server), *server));
        let window = |first: usize| {
            let mut sum = 0;
            let until = order[first..].iter().position(|server| {
                sum += room(*server);
                sum >= size
            })?;
            let servers = &order[first..=first + until];
            let mut switches: Vec<_> = servers.iter().map(|server| switch(*server)).collect();
            switches.dedup();
            Some(((servers.len(), switches.len(), first), servers))
        };
        let nearest = (0..order.len()).filter_map(window).min_by_key(|(rank, _)| *rank);
        let Some((_, servers)) = nearest else { return Vec::new() };
        let mut left = size;
        let filled = servers.iter().map(|server| {
            let taken = room(*server).min(left);
            left -= taken;
            (*server, taken)
        });
        let mut found = vec![filled.collect::<Vec<_>>()];
        let part = size / servers.len();
        let is_even = size.is_multiple_of(servers.len())
            && servers.iter().all(|server| room(*server) >= part);
        if is_even {
            found.push(servers.iter().map(|server| (*server, part)).collect());
        }
        found.iter_mut().for_each(|parts| parts.sort_unstable());
        found.dedup();
        found
    }
}
