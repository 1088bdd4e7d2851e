//! Describes a job: which workload, on how many GPUs, from when on.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::SimulationError;
use super::played::{IterationSettings, MeasuredTimes};
use super::written::{Task, WrittenJob};
use crate::allocation::{AllocationError, Pattern, PatternShape};
use crate::training::{Network, Work, Workload};
use crate::units::{Bandwidth, Bytes, Picoseconds};
use serde::{Deserialize, Serialize};

/// Describes one job of a shared server.
///
/// Where jobs have one arrival time, they are queued in the order of their list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Gives a name of its own, not blank and without control characters.
    pub name: String,
    /// The name of a published [`Workload`]; of a [`Network`] where samples are given; of what a job that is written
    /// down runs.
    pub workload: String,
    /// How many GPUs it asks for; at least one.
    pub gpus: u32,
    /// Names its pattern of communication.
    pub pattern: PatternShape,
    /// Edges of its own, which [`PatternShape::Custom`] stands for; the edge with the largest share carries what the
    /// job's GPUs reduce in an iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Box<Pattern>>,
    /// Whether allocation should treat it as bandwidth sensitive.
    pub sensitive: bool,
    /// Whether the links that it can get say so, in place of a label:
    /// [`sensitivity::measure`](super::sensitivity::measure).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profiled: bool,
    /// When it enters the queue.
    pub arrival: Picoseconds,
    /// Counts its work, in iterations of the workload; at least one.
    pub iterations: u64,
    /// How long its GPUs compute in an iteration, where it was measured; else as the workload's do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_per_iteration: Option<Picoseconds>,
    /// How long an iteration computes on models of GPUs, where somebody measured it there: it takes the place of what
    /// follows from their peaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Arc<MeasuredTimes>>,
    /// Gives the bytes that its GPUs reduce in an iteration, where they were measured; else the
    /// workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_iteration: Option<Bytes>,
    /// Counts the samples of each GPU in an iteration, for a job that trains a network layer by
    /// layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_gpu: Option<u32>,
    /// How long it may take at most, which is what backfilling expects. Nothing ends a job that takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Picoseconds>,
    /// On how many servers it wants an even share of its GPUs each; else it takes what the choice of servers gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers_wanted: Option<u32>,
    /// Whether nobody else may be on its servers while it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// After each of this number of iterations it keeps what it has done, and goes on from there if its GPUs fail. Where nothing
    /// is said it begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_iterations: Option<u64>,
    /// Its workload, where that is none of Linkwright's own. It is not written to files.
    #[serde(skip)]
    pub registered: Option<Arc<Workload>>,
    /// Holds what it says of itself, if it is written down by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Box<WrittenJob>>,
}

impl Job {
    /// Makes a job with the workload's sensitivity and iterations, a ring, and arrival at zero.
    #[must_use]
    pub fn new(name: impl Into<String>, workload: &Workload, gpus: u32) -> Self {
        let samples = match workload.work {
            Work::Layers { network, samples_per_gpu } if workload.name == network.full_name() => {
                Some(samples_per_gpu)
            }
            _ => None,
        };
        let is_own = samples.is_some() || Workload::find(&workload.name) == Ok(workload);
        Self {
            name: name.into(),
            workload: workload.name.clone(),
            gpus,
            pattern: PatternShape::Ring,
            edges: None,
            sensitive: workload.sensitive,
            profiled: false,
            arrival: Picoseconds(0),
            iterations: workload.iterations,
            compute_per_iteration: None,
            measured: None,
            bytes_per_iteration: None,
            samples_per_gpu: samples,
            time_limit: None,
            servers_wanted: None,
            checkpoint_iterations: None,
            exclusive: false,
            registered: (!is_own).then(|| Arc::new(workload.clone())),
            written: None,
        }
    }

    /// A job of a program of its own, with a ring, one iteration, and arrival at zero. MAPA's scores take it for sensitive, as
    /// training is.
    #[must_use]
    pub const fn of_own(name: String, workload: String, gpus: u32) -> Self {
        Self {
            name,
            workload,
            gpus,
            pattern: PatternShape::Ring,
            edges: None,
            sensitive: true,
            profiled: false,
            arrival: Picoseconds(0),
            iterations: 1,
            compute_per_iteration: None,
            measured: None,
            bytes_per_iteration: None,
            samples_per_gpu: None,
            time_limit: None,
            servers_wanted: None,
            exclusive: false,
            checkpoint_iterations: None,
            registered: None,
            written: None,
        }
    }

    /// Gives what it says of itself, if it is written down by itself.
    #[must_use]
    pub fn own(&self) -> Option<&WrittenJob> {
        self.written.as_deref()
    }

    /// Gives what it runs, if that is no workload under the choices of all.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.own().map(|written| &written.task)
    }

    /// Whether it runs a workload, under the choices of all or under its own.
    #[must_use]
    pub fn is_workload(&self) -> bool {
        matches!(self.task(), None | Some(Task::Workload(_)))
    }

    /// Whether the formula estimates how long it runs.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        self.is_workload() || self.samples_per_gpu.is_some()
    }

    /// Says whether it repeats iterations that are computing and all-reduces. Such a job has a fluid.
    #[must_use]
    pub fn is_fluid(&self) -> bool {
        match self.task() {
            None | Some(Task::Workload(_) | Task::Model(_)) => true,
            Some(Task::Training(task)) => task.way.is_fluid(),
            Some(Task::Program(_)) => false,
        }
    }

    /// How its iterations are made, where all others' are made so.
    #[must_use]
    pub fn iteration(&self, of_all: IterationSettings) -> IterationSettings {
        match self.task() {
            Some(Task::Workload(own)) => *own,
            Some(Task::Training(_) | Task::Model(_) | Task::Program(_)) | None => of_all,
        }
    }

    /// Returns its workload, with the job's own numbers in place of the published ones.
    ///
    /// An iteration of one's own numbers is no step of training: nothing is copied from the host, and all is
    /// reduced at the end.
    ///
    /// # Errors
    /// A workload that the table does not hold, or a network that there is not.
    pub fn work(&self) -> Result<Cow<'_, Workload>, SimulationError> {
        let published = match (&self.registered, self.samples_per_gpu) {
            (Some(registered), _) => Cow::Borrowed(&**registered),
            (None, Some(samples)) => {
                Cow::Owned(Workload::of_network(Network::find(&self.workload)?, samples))
            }
            (None, None) => Cow::Borrowed(Workload::find(&self.workload)?),
        };
        if self.compute_per_iteration.is_none() && self.bytes_per_iteration.is_none() {
            return Ok(published);
        }
        let compute = self.compute_per_iteration.unwrap_or(published.compute_per_iteration());
        let bytes = self.bytes_per_iteration.unwrap_or(published.bytes_per_iteration());
        let work = Work::Fixed { compute_per_iteration: compute, bytes_per_iteration: bytes };
        Ok(Cow::Owned(Workload { work, ..published.into_owned() }))
    }

    /// Gives the job edges of its own.
    #[must_use]
    pub fn with_edges(self, edges: Pattern) -> Self {
        let pattern = edges.shape();
        let edges = (pattern == PatternShape::Custom).then(|| Box::new(edges));
        Self { pattern, edges, ..self }
    }

    /// Gives its pattern on some of its GPUs: of edges of its own, those between the first of them.
    ///
    /// # Errors
    /// More GPUs than a pattern has.
    pub fn pattern_on(&self, size: usize) -> Result<Pattern, AllocationError> {
        match &self.edges {
            Some(edges) => edges.on(size),
            None => Pattern::new(self.pattern, size),
        }
    }

    /// Whether its pattern stands for an all-reduce. Else each edge carries its share of what the job's GPUs reduce, both
    /// ways.
    #[must_use]
    pub fn is_collective(&self) -> bool {
        self.edges.is_none() && self.pattern.on(self.gpus as usize).is_collective()
    }

    /// Whether its GPUs, when it is played, exchange along the edges of its pattern in place of reducing. Training and programs
    /// say themselves how they communicate.
    #[must_use]
    pub fn is_exchange(&self) -> bool {
        let says_itself = !matches!(self.task(), None | Some(Task::Workload(_)));
        !says_itself && self.gpus > 1 && !self.is_collective()
    }

    /// How long the job runs on GPUs of this effective bandwidth, which is that of its pattern; see
    /// [`Workload::run_time`] and [`Workload::run_time_by_edges`].
    ///
    /// # Errors
    /// A workload that the table does not hold; a run of more than 213 days.
    pub fn run_time(&self, effective_bandwidth: Bandwidth) -> Result<Picoseconds, SimulationError> {
        self.run_time_of(effective_bandwidth, self.is_collective())
    }

    /// Answers as [`Self::run_time`], by all-reduces whatever its pattern, at their bus bandwidth.
    ///
    /// # Errors
    /// Fails as [`Self::run_time`] does.
    pub fn run_time_of_all_reduces(
        &self,
        effective_bandwidth: Bandwidth,
    ) -> Result<Picoseconds, SimulationError> {
        self.run_time_of(effective_bandwidth, true)
    }

    fn run_time_of(
        &self,
        effective_bandwidth: Bandwidth,
        is_collective: bool,
    ) -> Result<Picoseconds, SimulationError> {
        let (work, iterations) = (self.work()?, self.iterations);
        let run_time = match is_collective {
            true => work.run_time(self.gpus, iterations, effective_bandwidth),
            false => work.run_time_by_edges(iterations, effective_bandwidth),
        };
        run_time.ok_or_else(|| SimulationError::RunTooLong {
            job: self.name.clone(),
            bandwidth: effective_bandwidth,
            iterations: self.iterations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_numbers_stand_in_for_the_workload_s() {
        let vgg = Workload::find("vgg-16").unwrap();
        let published = Job::new("published", vgg, 2);
        assert_eq!(published.work().as_deref(), Ok(vgg));
        let compute = Picoseconds(2_000_000_000);
        let own = Job { compute_per_iteration: Some(compute), ..published.clone() };
        assert_eq!(own.work().unwrap().bytes_per_iteration(), vgg.bytes_per_iteration());
        let silent = Job { bytes_per_iteration: Some(Bytes(0)), iterations: 5, ..own };
        // Nothing to send: as fast on any links.
        for bandwidth in [1, 50] {
            let bandwidth = Bandwidth::gigabytes_per_second(bandwidth);
            assert_eq!(silent.run_time(bandwidth), Ok(Picoseconds(5 * compute.0)));
        }
    }

    #[test]
    fn a_run_without_an_end_names_its_job() {
        let mut job = Job::new("endless", Workload::find("gmm").unwrap(), 2);
        let error = job.run_time(Bandwidth(0)).unwrap_err().to_string();
        assert!(error.contains("`endless`") && error.contains("0 B/s"), "{error}");
        job.iterations = u64::MAX;
        let error = job.run_time(Bandwidth::gigabytes_per_second(50)).unwrap_err().to_string();
        assert!(error.contains("18446744073709551615 iterations"), "{error}");
    }
}
