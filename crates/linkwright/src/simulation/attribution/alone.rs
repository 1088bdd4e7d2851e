//! Jobs that are played one after another, each alone on the system.
//!
//! Jobs that are alike but for their names and arrivals take equally long on places that are alike, and are played once.
//! Places of one server are alike where their GPUs are joined alike ([`PlaceClasses`]).

use std::collections::BTreeMap;

use crate::allocation::Policy;
use crate::engine::Hook;
use crate::simulation::cluster::{Cluster, Fidelity};
use crate::simulation::day::{DayChoices, SharedSystem};
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::played::{PlaceClass, PlaceClasses, PlannerChoice};
use crate::simulation::queue::{JobPlace, Part};
use crate::system::System;
use crate::units::Picoseconds;

/// Plays that follow one another take no longer, as far as is known before: time ends after 213 days.
const MOST_TIME: u64 = 50 * 86_400 * 1_000_000_000_000;

/// Tells places apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// Lists GPUs in the order of ranks, by the kind of their only server or else by their server.
    Exact(bool, Vec<(usize, Vec<usize>)>),
    /// Says how GPUs are joined.
    Alike(PlaceClass),
}

/// The jobs that are to be played alone.
pub(super) struct LonePlays<'a> {
    system: &'a System,
    is_played: bool,
    is_by_packets: bool,
    copies: bool,
    is_planned: bool,
    classes: PlaceClasses,
    /// Holds the jobs that differ, by their workload, their GPUs and their iterations.
    kinds: BTreeMap<(String, u32, u64), Vec<(Job, usize)>>,
    kind_count: usize,
    known: BTreeMap<(usize, Where), usize>,
    jobs: Vec<Job>,
    places: Vec<JobPlace>,
    expected: Vec<Picoseconds>,
}

impl<'a> LonePlays<'a> {
    /// None is asked for yet.
    pub(super) fn new(system: &'a System, choices: &DayChoices) -> Self {
        Self {
            system,
            is_played: !choices.run_time.is_formula(),
            is_by_packets: choices.fidelity == Fidelity::Packet,
            copies: choices.iteration.host_copies,
            is_planned: choices.planner != PlannerChoice::Mpi,
            classes: PlaceClasses::new(choices.planner),
            kinds: BTreeMap::new(),
            kind_count: 0,
            known: BTreeMap::new(),
            jobs: Vec::new(),
            places: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// A job is to be played on these GPUs, which takes about so long; returns the number of the play.
    pub(super) fn ask(
        &mut self,
        job: &Job,
        parts: &[Part],
        expected: Picoseconds,
        is_own: bool,
    ) -> usize {
        let mut bare =
            Job { name: String::new(), arrival: Picoseconds(0), time_limit: None, ..job.clone() };
        if let Some(written) = bare.written.as_mut() {
            written.policy = None;
            if !is_own {
                written.gpus = None;
            }
        }
        let place = self.place(job, parts);
        let key = (self.kind(&bare), place);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let number = self.jobs.len();
        self.known.insert(key, number);
        self.jobs.push(Job { name: number.to_string(), ..bare });
        let of = |part: &Part| (part.server as usize, part.chosen.placement.to_vec());
        self.places.push(parts.iter().map(of).collect());
        self.expected.push(expected);
        number
    }

    /// The number of what a job is but for its name and arrival.
    fn kind(&mut self, bare: &Job) -> usize {
        let alike = (bare.workload.clone(), bare.gpus, bare.iterations);
        let alike = self.kinds.entry(alike).or_default();
        if let Some((_, kind)) = alike.iter().find(|(known, _)| known == bare) {
            return *kind;
        }
        alike.push((bare.clone(), self.kind_count));
        self.kind_count += 1;
        self.kind_count - 1
    }

    fn place(&mut self, job: &Job, parts: &[Part]) -> Where {
        let has_own_way = job.is_exchange() || !job.is_workload() || self.copies;
        let crosses = parts.len() > 1 && self.is_by_packets;
        if self.is_played && self.is_planned && !has_own_way && !crosses {
            return Where::Alike(self.classes.of(self.system, parts));
        }
        let is_one = parts.len() == 1;
        let of = |part: &Part| {
            let server = part.server as usize;
            let at = if is_one { self.system.kind_index_of(part.server) } else { server };
            (at, part.chosen.placement.to_vec())
        };
        Where::Exact(is_one, parts.iter().map(of).collect())
    }

    /// Plays all; returns the time of each.
    pub(super) fn played(
        &self,
        cluster: &Cluster,
        choices: &DayChoices,
        (shared, policy): (&SharedSystem, &dyn Policy),
        hook: Hook<'_>,
    ) -> Result<Vec<Picoseconds>, SimulationError> {
        let mut times = Vec::with_capacity(self.jobs.len());
        while times.len() < self.jobs.len() {
            let first = times.len();
            let mut sum = 0_u64;
            let more = self.expected[first..].iter().take_while(|expected| {
                let is_first = sum == 0;
                sum = sum.saturating_add(expected.0.max(1));
                is_first || sum < MOST_TIME
            });
            let until = first + more.count();
            let (jobs, places) = (&self.jobs[first..until], &self.places[first..until]);
            let records =
                shared.play(cluster, choices, (policy, Some(places)), jobs, hook)?.records;
            times.extend(records.iter().map(|it| Picoseconds(it.finish.0 - it.start.0)));
        }
        Ok(times)
    }
}
