//! Iterations that begin as the last did, beside the same neighbours: they take as long, and are not played.
//!
//! Jobs that share a link, or share one with a job that does, are a group. So are jobs of one
//! server's PCIe bus, where an arbiter ranks the commands of all. Take a time when all ranks of a
//! group compute and nothing of it is on a link. Then its future follows from three things, until a
//! job of the group ends or another joins it. The first is how long each rank still computes. The
//! second is which of those that are done at one time is first. The third is the events that its
//! programs wait for. If the group was in the same state before, the course since then repeats. It
//! repeats as often as there are iterations, and as fits before the next job arrives or any that
//! runs can end.
//!
//! The model leaves out groups that are never in one state twice, such as two jobs of different
//! iterations on one link. They are played.

use std::collections::{BTreeMap, BTreeSet};

use crate::network::pcie::PcieArbitration;
use crate::network::{PcieSettings, ResourceId, Routes, Transport};
use crate::program::lowering::Lowering;
use crate::runtime::{Rest, Runtime};
use crate::system::kinds::LinkKind;
use crate::units::Picoseconds;

/// How many of the last states of a group are remembered.
const REMEMBERED: usize = 4;

/// Holds the known facts of a job that runs.
#[derive(Debug)]
struct Tracked {
    links: Vec<ResourceId>,
    /// Gives the computing time of its slowest rank in an iteration, so that none is shorter.
    least: Picoseconds,
    /// It runs until then, unless its group changes.
    runs_until: Picoseconds,
    /// States of the group whose first job this is, the last behind.
    seen: Vec<State>,
}

/// Holds the jobs of a group, all of whose ranks compute.
#[derive(Debug, Clone)]
struct State {
    time: Picoseconds,
    jobs: Vec<Rest>,
    /// Their ranks in the order in which they will have computed.
    order: Vec<u32>,
}

impl State {
    fn new(time: Picoseconds, jobs: Vec<Rest>) -> Self {
        let works: Vec<(u64, u64)> = jobs.iter().flat_map(Rest::works).collect();
        let mut order: Vec<u32> = (0..works.len() as u32).collect();
        order.sort_unstable_by_key(|rank| works[*rank as usize]);
        Self { time, jobs, order }
    }

    fn is_like(&self, earlier: &Self) -> bool {
        self.order == earlier.order
            && self.jobs.iter().zip(&earlier.jobs).all(|(now, then)| now.is_like(then))
    }
}

/// Counts iterations that are not played.
pub(super) struct Passed {
    /// Counts those of each job.
    pub(super) iterations: Vec<(u32, u64)>,
    /// Is the time in which they pass.
    pub(super) span: (Picoseconds, Picoseconds),
}

/// The jobs that run, by their indices in the runtime, and who shares links with whom.
#[derive(Debug)]
pub(super) struct Repeats {
    running: BTreeMap<u32, Tracked>,
    /// Lists the jobs that use each link, and the bus of each server where one job's commands
    /// matter to all of it.
    users: Vec<Vec<u32>>,
    /// The place of a link's bus among the users, where that is so.
    bus: Vec<Option<usize>>,
    /// The arrivals and changes of the system that have not come, the next behind.
    arrivals: Vec<Picoseconds>,
}

impl Repeats {
    /// Nothing runs on these links, under this bus, and jobs arrive or the system changes at these times.
    pub(super) fn new(
        links: &Routes<'_>,
        bus: Option<&PcieSettings>,
        arrivals: impl Iterator<Item = Picoseconds>,
    ) -> Self {
        let mut arrivals: Vec<Picoseconds> = arrivals.collect();
        arrivals.sort_unstable_by_key(|time| std::cmp::Reverse(*time));
        let count = links.capacities().len();
        let is_ranked = bus.is_some_and(|bus| bus.arbitration != PcieArbitration::RoundRobin);
        let bus_of = |link| {
            let (wire, sender) = links.wire(link);
            let server = links.wiring().devices()[sender].server?;
            wire.kind.is_some_and(LinkKind::is_host_bus).then_some(count + server)
        };
        let bus: Vec<Option<usize>> =
            if is_ranked { (0..count).map(bus_of).collect() } else { vec![None; count] };
        let places = bus.iter().flatten().max().map_or(count, |last| last + 1);
        Self { running: BTreeMap::new(), users: vec![Vec::new(); places], bus, arrivals }
    }

    /// A job starts that uses these links, and computes so long in an iteration at least.
    pub(super) fn start<T: Transport, L: Lowering>(
        &mut self,
        (job, mut links, least): (u32, BTreeSet<ResourceId>, Picoseconds),
        runtime: &Runtime<'_, T, L>,
        now: Picoseconds,
    ) {
        let buses: Vec<usize> = links.iter().filter_map(|link| self.bus[*link]).collect();
        links.extend(buses);
        for link in &links {
            self.users[*link].push(job);
        }
        let links = links.into_iter().collect();
        self.running.insert(job, Tracked { links, least, runs_until: now, seen: Vec::new() });
        self.change(job, runtime, now);
    }

    /// Starts a job where nobody knows what it does: nothing passes unplayed while it runs.
    pub(super) fn start_unknown<T: Transport, L: Lowering>(
        &mut self,
        job: u32,
        runtime: &Runtime<'_, T, L>,
        now: Picoseconds,
    ) {
        let all = (0..self.bus.len()).collect();
        self.start((job, all, Picoseconds(0)), runtime, now);
    }

    /// A job has ended.
    pub(super) fn end<T: Transport, L: Lowering>(
        &mut self,
        job: u32,
        runtime: &Runtime<'_, T, L>,
        now: Picoseconds,
    ) {
        self.change(job, runtime, now);
        for link in self.running.remove(&job).map_or(Vec::new(), |ended| ended.links) {
            self.users[link].retain(|user| *user != job);
        }
    }

    /// Forgets the known states of a job's group.
    pub(super) fn change<T: Transport, L: Lowering>(
        &mut self,
        job: u32,
        runtime: &Runtime<'_, T, L>,
        now: Picoseconds,
    ) {
        for job in self.group(job) {
            let tracked = self.running.get_mut(&job).expect("it runs");
            tracked.seen.clear();
            let to_begin = u64::from(runtime.iterations_to_begin(job));
            let least = tracked.least.0.saturating_mul(to_begin);
            tracked.runs_until = Picoseconds(now.0.saturating_add(least));
        }
    }

    /// The jobs that share links with a job, or with one that does, itself among them.
    fn group(&self, job: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([job]);
        let mut open = vec![job];
        while let Some(job) = open.pop() {
            for link in &self.running[&job].links {
                open.extend(self.users[*link].iter().filter(|user| found.insert(**user)));
            }
        }
        found
    }

    /// Is called when nothing of a job is under way but computing. Where its group has been like
    /// that before, it goes on like that as long as nothing else can happen.
    pub(super) fn rested<T: Transport, L: Lowering>(
        &mut self,
        job: u32,
        runtime: &mut Runtime<'_, T, L>,
        now: Picoseconds,
    ) -> Option<Passed> {
        if !self.running.contains_key(&job) {
            return None;
        }
        let group = self.group(job);
        let state = |runtime: &Runtime<'_, T, L>, time| -> Option<State> {
            let jobs: Option<Vec<Rest>> =
                group.iter().map(|job| runtime.rest(*job, time)).collect();
            Some(State::new(time, jobs?))
        };
        let first = *group.first().expect("a job is of its group");
        let seen = &mut self.running.get_mut(&first).expect("it runs").seen;
        if seen.last().is_some_and(|last| last.time >= now) {
            // Another of its ranks has said so, or its iterations pass.
            return None;
        }
        let current = state(runtime, now)?;
        let before = seen.iter().rev().find(|earlier| current.is_like(earlier)).cloned();
        let Some(before) = before else {
            if seen.len() == REMEMBERED {
                seen.remove(0);
            }
            seen.push(current);
            return None;
        };
        seen.clear();
        let span = now.0 - before.time.0;
        // The course repeats as often as each job of the group has iterations that no rank has
        // begun, but one. The end of the last is not alike.
        let mut times = u64::MAX;
        for (job, (rest, then)) in group.iter().zip(current.jobs.iter().zip(&before.jobs)) {
            let of_span = u64::from(rest.iterations_since(then)).max(1);
            let to_begin = u64::from(runtime.iterations_to_begin(*job));
            times = times.min(to_begin.saturating_sub(1) / of_span);
            let until = now.0.saturating_add((to_begin / of_span).saturating_mul(span));
            self.running.get_mut(job).expect("it runs").runs_until = Picoseconds(until);
        }
        let until = self.nothing_until().0.min(u64::MAX - span);
        times = times.min(until.saturating_sub(now.0) / span);
        let passed = Picoseconds(span * times);
        let mut iterations = Vec::with_capacity(group.len());
        for (job, (rest, then)) in group.iter().zip(current.jobs.iter().zip(&before.jobs)) {
            runtime.pass(*job, (then, rest), times as u32, passed);
            iterations.push((*job, u64::from(rest.iterations_since(then)) * times));
        }
        let later = state(runtime, Picoseconds(now.0 + passed.0));
        let seen = &mut self.running.get_mut(&first).expect("it runs").seen;
        seen.extend(later);
        Some(Passed { iterations, span: (now, Picoseconds(now.0 + passed.0)) })
    }

    /// No job comes or goes before.
    fn nothing_until(&self) -> Picoseconds {
        let ends = self.running.values().map(|tracked| tracked.runs_until);
        ends.chain(self.arrivals.last().copied()).min().unwrap_or(Picoseconds(u64::MAX))
    }

    /// A job arrives, or the system changes.
    pub(super) fn arrive(&mut self) {
        self.arrivals.pop();
    }
}
