//! Turns a workload into a program of one iteration.
//!
//! The model: the images of a step come from the host, all GPUs compute, and the gradients are
//! reduced. All are reduced at the end, or in buckets while the backward pass still computes the
//! rest. PyTorch's DistributedDataParallel works in buckets (Li et al., VLDB 2020). A bucket is
//! ready when the backward pass has done its part of the gradients, and buckets are reduced one
//! after another.
//!
//! A network that is trained layer by layer computes, reduces and updates as its layers take on the slowest of its GPUs.
//!
//! Where a job's pattern stands for no all-reduce, its GPUs exchange along its edges in place of reducing ([`exchange`](super::exchange)).
//!
//! Of published workloads, the model leaves out that layers differ in gradients for each operation.
//! It leaves out how much less of its peak a faster GPU reaches at the same images. It leaves out
//! images of the next step that are copied while this one computes, and a framework's time for a
//! collective's call.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::model_steps::ModelSteps;
use super::speeds::{GpuSpeed, Speeds, Timed, at_rate};
use crate::network::RouteClass;
use crate::program::{
    CollectiveKind, CopyDirection, Operation, PendingOperation, Program, RankBuilder, RankProgram,
    WORLD,
};
use crate::simulation::cluster::Cluster;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::written::Task;
use crate::system::System;
use crate::training::workload::{Work, Workload, reference_rate};
use crate::training::{
    Bucketing, Network, Precision, Training, TrainingError, TrainingTask, Turns,
};
use crate::units::{Bytes, OperationRate, Picoseconds};

/// The least that a bucket may hold, so that an iteration has some hundred of them at most.
pub const LEAST_BUCKET: Bytes = Bytes(1_000_000);

/// Holds the parts of an iteration besides computing and reducing at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct IterationSettings {
    /// Whether the images of every step are copied from the host.
    pub host_copies: bool,
    /// Says how fast GPUs compute.
    pub gpu_speed: GpuSpeed,
    /// The numbers that nets multiply, which say what unit of a GPU does so where it computes at its own speed.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// The most bytes of gradients that are reduced at once, while others are still computed; all of them at the
    /// end where absent.
    pub bucket: Option<Bytes>,
}

/// The steps of an iteration: copying, and then computing and reducing in turns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Steps {
    /// Gives the bytes that each GPU gets from its host first.
    pub(super) copied: Bytes,
    /// Gives the computing time before each bucket is ready, and the bucket. A job that reduces
    /// nothing has one of no bytes, or none.
    pub(super) buckets: Vec<(Picoseconds, Bytes)>,
    /// Gives the computing time once all are reduced.
    pub(super) update: Picoseconds,
    /// Says whose the times are.
    pub(super) timed: Timed,
    /// Holds what its GPUs exchange in place of reducing.
    pub(super) exchange: Option<Exchange>,
}

impl IterationSettings {
    /// Whether the GPUs of a system can compute as fast as these say.
    ///
    /// # Errors
    /// A GPU whose own speed is asked for and not known.
    pub fn check(&self, system: &System) -> Result<(), SimulationError> {
        Speeds::of(system, *self).map(|_| ())
    }

    /// Returns the steps of a workload on `gpus` GPUs, as fast as the reference.
    pub(super) fn steps(&self, workload: &Workload, gpus: usize) -> Steps {
        let copied = if self.host_copies { workload.copied_per_iteration() } else { Bytes(0) };
        let compute = workload.compute_per_iteration();
        let (update, exchange) = (Picoseconds(0), None);
        let timed = Timed::of(workload);
        let of = |buckets| Steps { copied, buckets, update, timed: timed.clone(), exchange };
        if gpus < 2 {
            return of(vec![(compute, Bytes(0))]);
        }
        let all = workload.bytes_per_iteration();
        let most = self.bucket.filter(|_| workload.is_training()).unwrap_or(all).0.max(1);
        let count = all.0.div_ceil(most).max(1);
        // The backward pass is two thirds of what is computed.
        let backward = u128::from(compute.0) * 2 / 3;
        let mut computed = 0;
        let buckets = (1..=count).map(|index| {
            let reduced = (index * most).min(all.0);
            let size = Bytes(reduced - (index - 1) * most);
            let share = backward * u128::from(reduced) / u128::from(all.0.max(1));
            let until = if index == count {
                compute.0
            } else {
                (u128::from(compute.0) - backward + share) as u64
            };
            let duration = Picoseconds(until - computed);
            computed = until;
            (duration, size)
        });
        of(buckets.collect())
    }

    /// Builds the program of a workload on these GPUs of a system, in the order of its ranks.
    ///
    /// # Errors
    /// A bucket below [`LEAST_BUCKET`]; a GPU's own speed that is not known.
    pub fn program(
        self,
        system: &System,
        workload: &Workload,
        gpus: &[usize],
    ) -> Result<Arc<Program>, SimulationError> {
        let mut programs = Programs::new(system, self)?;
        let steps = programs.steps(workload, system, gpus)?;
        Ok(programs.of(system, &workload.name, &steps, gpus))
    }

    /// Gives the steps of training a network layer by layer on these GPUs of a system.
    fn steps_of_layers(
        &self,
        (network, samples_per_gpu): (&Network, u32),
        system: &System,
        gpus: &[usize],
    ) -> Result<Steps, TrainingError> {
        let batch = u64::from(samples_per_gpu) * gpus.len() as u64;
        let mut training = Training::usual(network, batch);
        if let Some(bucket) = self.bucket {
            training.costs.bucket = Bucketing::Bytes(bucket);
        }
        let Turns { copied, buckets, update } = training.turns_on(system, &in_system(gpus))?;
        let copied = if self.host_copies { copied } else { Bytes(0) };
        let buckets = if gpus.len() < 2 {
            let computed = buckets.iter().map(|(computed, _)| computed.0).sum();
            vec![(Picoseconds(computed), Bytes(0))]
        } else {
            buckets
        };
        Ok(Steps { copied, buckets, update, timed: Timed::OnGpus, exchange: None })
    }
}

/// Gives the ids of GPUs as a system has them.
fn in_system(gpus: &[usize]) -> Vec<u32> {
    gpus.iter().map(|gpu| *gpu as u32).collect()
}

impl Steps {
    /// Gives those of a task that trains by all-reduces, on these GPUs of a system.
    pub(super) fn of_task(
        task: &TrainingTask,
        system: &System,
        gpus: &[usize],
    ) -> Result<Self, TrainingError> {
        let gpus = in_system(gpus);
        let training = task.training();
        training.fitting(system, &gpus, task.memory)?;
        let Turns { copied, mut buckets, update } = training.turns_on(system, &gpus)?;
        if gpus.len() < 2 || !task.overlaps {
            let computed = Picoseconds(buckets.iter().map(|(computed, _)| computed.0).sum());
            for (index, (before, _)) in buckets.iter_mut().enumerate() {
                *before = if index == 0 { computed } else { Picoseconds(0) };
            }
        }
        if gpus.len() < 2 {
            buckets.truncate(1);
        }
        Ok(Self { copied, buckets, update, timed: Timed::OnGpus, exchange: None })
    }

    /// Lists what is computed, part by part.
    fn parts(&self) -> impl Iterator<Item = Picoseconds> + '_ {
        self.buckets.iter().map(|(computed, _)| *computed).chain([self.update])
    }

    /// Gives all that is computed.
    fn computed(&self) -> Picoseconds {
        Picoseconds(self.parts().map(|computed| computed.0).sum())
    }

    /// Multiplies all that is computed.
    fn scaled(mut self, scale: f64) -> Self {
        if scale != 1.0 {
            let of =
                |duration: Picoseconds| Picoseconds((duration.0 as f64 * scale).round() as u64);
            self.buckets.iter_mut().for_each(|(computed, _)| *computed = of(*computed));
            self.update = of(self.update);
        }
        self
    }
}

/// Writes the work of a workload's ranks on GPUs of these speeds, iteration by iteration.
pub(super) fn program_of(name: &str, steps: &Steps, rates: &[OperationRate]) -> Program {
    let gpus = rates.len() as u32;
    let mut known: BTreeMap<OperationRate, RankProgram> = BTreeMap::new();
    let mut of = |(rank, rate): (u32, &OperationRate)| match &steps.exchange {
        Some(_) => rank_of(steps, *rate, (rank, gpus)),
        None => known.entry(*rate).or_insert_with(|| rank_of(steps, *rate, (0, gpus))).clone(),
    };
    Program {
        name: name.to_owned(),
        communicators: vec![(0..gpus).collect()],
        regions: Vec::new(),
        ranks: (0..).zip(rates).map(&mut of).collect(),
    }
}

/// The stream on which buckets are reduced one after another.
const REDUCING: u32 = 1;

/// Writes the program of a rank among a number of GPUs; all that reduce have the same.
fn rank_of(steps: &Steps, rate: OperationRate, (own, gpus): (u32, u32)) -> RankProgram {
    let mut rank = RankBuilder::default();
    rank.begin_body();
    if steps.copied.0 > 0 {
        let (direction, size) = (CopyDirection::HostToDevice, steps.copied);
        rank.run(Operation::Copy { direction, size, route: RouteClass::Any });
    }
    let (kind, root, communicator) = (CollectiveKind::AllReduce, 0, WORLD);
    let reduce = |rank: &mut RankBuilder, size, ready: &[PendingOperation]| match &steps.exchange {
        Some(exchange) => exchange.run(rank, own, size, ready),
        None => rank.run_after(Operation::Collective { kind, root, communicator, size }, ready),
    };
    let compute = |duration| Operation::Compute { duration: at_rate(duration, rate) };
    match &steps.buckets[..] {
        [(duration, size)] => {
            rank.run(compute(*duration));
            if gpus > 1 {
                reduce(&mut rank, *size, &[]);
            }
        }
        // All is computed at once, and nothing reduced.
        [] => {}
        buckets => {
            let mut last = None;
            for (duration, size) in buckets {
                let ready = rank.run(compute(*duration));
                let computing = rank.on_stream(REDUCING);
                last = Some(reduce(&mut rank, *size, &[ready]));
                rank.on_stream(computing);
            }
            rank.wait(last.as_slice());
        }
    }
    if steps.update.0 > 0 {
        rank.run(compute(steps.update));
    }
    rank.end_body();
    rank.finish()
}

/// The programs of workloads under the settings of all jobs, and under those that jobs have of their own.
#[derive(Debug)]
pub(super) struct ProgramsBySettings {
    of_all: IterationSettings,
    made: BTreeMap<IterationSettings, Programs>,
    models: ModelSteps,
}

impl ProgramsBySettings {
    /// None is made yet.
    pub(super) fn new(
        cluster: &Cluster,
        of_all: IterationSettings,
        jobs: &[Job],
    ) -> Result<Self, SimulationError> {
        let system = &*cluster.system;
        let mut made = BTreeMap::from([(of_all, Programs::new(system, of_all)?)]);
        for job in jobs {
            if let Entry::Vacant(entry) = made.entry(job.iteration(of_all)) {
                let programs = Programs::new(system, *entry.key())?;
                entry.insert(programs);
            }
        }
        Ok(Self { of_all, made, models: ModelSteps::new(cluster) })
    }

    /// Whether images are copied for any workload.
    pub(super) fn copies(&self) -> bool {
        self.made.keys().any(|settings| settings.host_copies)
    }

    /// The steps of a job that is a fluid on these GPUs of the system, at the speed that it says of itself.
    pub(super) fn steps(
        &mut self,
        job: &Job,
        system: &System,
        gpus: &[usize],
    ) -> Result<Steps, SimulationError> {
        let steps = match job.task() {
            Some(Task::Training(task)) => Steps::of_task(task, system, gpus)?,
            Some(Task::Model(task)) => {
                let steps = self.models.of(task, gpus);
                steps.map_err(|fault| fault.of_job(&job.name, &job.workload))?
            }
            Some(Task::Workload(_) | Task::Program(_)) | None => {
                let steps = self.of(job).steps(&*job.work()?, system, gpus)?;
                let timed = steps.timed.clone().measured(job, steps.computed());
                Steps { exchange: Exchange::of(job, system, gpus)?, timed, ..steps }
            }
        };
        Ok(steps.scaled(job.own().map_or(1.0, |written| written.computation_scale)))
    }

    /// Those by which a job's are made.
    pub(super) fn of(&mut self, job: &Job) -> &mut Programs {
        self.made.get_mut(&job.iteration(self.of_all)).expect("all jobs' were made at the start")
    }
}

/// Holds a workload's name, its steps, and the speeds of the ranks that run it.
type Known = (String, Steps, Vec<OperationRate>);

/// Holds the programs of workloads, each made once.
#[derive(Debug)]
pub(super) struct Programs {
    settings: IterationSettings,
    speeds: Speeds,
    known: BTreeMap<Known, Arc<Program>>,
}

impl Programs {
    pub(super) fn new(
        system: &System,
        settings: IterationSettings,
    ) -> Result<Self, SimulationError> {
        if let Some(bucket) = settings.bucket.filter(|bucket| *bucket < LEAST_BUCKET) {
            return Err(SimulationError::SmallBucket { bucket });
        }
        let speeds = Speeds::of(system, settings)?;
        Ok(Self { settings, speeds, known: BTreeMap::new() })
    }

    /// The speeds by which times of steps are to be read, of these GPUs of the system.
    fn rates(&self, system: &System, steps: &Steps, gpus: &[usize]) -> Vec<OperationRate> {
        self.speeds.of_gpus(system, gpus, &steps.timed)
    }

    /// Returns the least of them.
    pub(super) fn slowest(&self, system: &System, steps: &Steps, gpus: &[usize]) -> OperationRate {
        self.rates(system, steps, gpus).into_iter().min().unwrap_or_else(reference_rate)
    }

    /// Returns the computing time of the slowest of these GPUs in an iteration.
    pub(super) fn least(&self, system: &System, steps: &Steps, gpus: &[usize]) -> Picoseconds {
        let slowest = self.slowest(system, steps, gpus);
        Picoseconds(steps.parts().map(|computed| at_rate(computed, slowest).0).sum())
    }

    /// Returns the steps of a workload on these GPUs of the system.
    pub(super) fn steps(
        &self,
        workload: &Workload,
        system: &System,
        gpus: &[usize],
    ) -> Result<Steps, TrainingError> {
        let Work::Layers { network, samples_per_gpu } = workload.work else {
            return Ok(self.settings.steps(workload, gpus.len()));
        };
        self.settings.steps_of_layers((network, samples_per_gpu), system, gpus)
    }

    /// Returns the program of a workload's steps on these GPUs of the system, in the order of its
    /// ranks.
    pub(super) fn of(
        &mut self,
        system: &System,
        name: &str,
        steps: &Steps,
        gpus: &[usize],
    ) -> Arc<Program> {
        let rates = self.rates(system, steps, gpus);
        let known = self.known.entry((name.to_owned(), steps.clone(), rates));
        let program = known
            .or_insert_with_key(|(name, steps, rates)| Arc::new(program_of(name, steps, rates)));
        Arc::clone(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vgg() -> &'static Workload {
        Workload::find("vgg-16").unwrap()
    }

    fn program(settings: IterationSettings, rates: &[OperationRate]) -> Program {
        program_of("vgg-16", &settings.steps(vgg(), rates.len()), rates)
    }

    #[test]
    fn an_iteration_computes_and_reduces_the_gradients() {
        let vgg = vgg();
        let program = program(IterationSettings::default(), &[reference_rate(); 3]);
        assert_eq!(program.ranks.len(), 3);
        for rank in &program.ranks {
            assert_eq!(rank.body(), Some((0, 2)));
            let [Operation::Compute { duration }, Operation::Collective { kind, size, .. }] =
                *rank.operations()
            else {
                panic!("{:?}", rank.operations());
            };
            assert_eq!(duration, vgg.compute_per_iteration());
            assert_eq!((kind, size), (CollectiveKind::AllReduce, vgg.bytes_per_iteration()));
        }
        let alone = self::program(IterationSettings::default(), &[reference_rate()]);
        assert_eq!(alone.ranks[0].operations().len(), 1);
    }

    #[test]
    fn images_are_copied_and_gpus_compute_at_their_own_speed() {
        let settings = IterationSettings { host_copies: true, ..IterationSettings::default() };
        let twice = OperationRate(2 * reference_rate().0);
        let program = program(settings, &[reference_rate(), twice]);
        let first = |rank: usize| program.ranks[rank].operations()[..2].to_vec();
        // Two images of 224 x 224 points of three colours.
        let size = Bytes(2 * 224 * 224 * 3 * 4);
        let (direction, route) = (CopyDirection::HostToDevice, RouteClass::Any);
        let whole = vgg().compute_per_iteration();
        for (rank, duration) in [(0, whole), (1, Picoseconds(whole.0 / 2))] {
            let copy = Operation::Copy { direction, size, route };
            assert_eq!(first(rank), [copy, Operation::Compute { duration }]);
        }
    }

    proptest! {
        /// However gradients are cut, all is computed and all is reduced, the forward pass first.
        #[test]
        fn buckets_hold_all_of_an_iteration(index in 0_usize..9, bucket in LEAST_BUCKET.0..1 << 30, gpus in 1_usize..9) {
            let workload = &Workload::all()[index];
            let bucket = Some(Bytes(bucket));
            let settings = IterationSettings { bucket, ..IterationSettings::default() };
            let steps = settings.steps(workload, gpus);
            let computed: u64 = steps.buckets.iter().map(|(duration, _)| duration.0).sum();
            let reduced: u64 = steps.buckets.iter().map(|(_, size)| size.0).sum();
            prop_assert_eq!(computed, workload.compute_per_iteration().0);
            let bytes = if gpus > 1 { workload.bytes_per_iteration().0 } else { 0 };
            prop_assert_eq!(reduced, bytes);
            prop_assert!(steps.buckets[0].0.0 >= computed / 3);
            prop_assert!(workload.is_training() || steps.buckets.len() == 1);
        }
    }
}
