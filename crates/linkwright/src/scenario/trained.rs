//! How the jobs of `[jobs]` that train a network layer by layer do so.
//!
//! ```toml
//! [jobs]
//! generate = { count = 100, train = ["resnet-50"], iterations = 200 }
//! precision = "fp16"              # the numbers
//! communication = "fsdp"          # how data moves
//! optimizer = "adam"
//! shared_bandwidth = "256 GB/s"   # of each GPU, where communication is "tsm"
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fields::Fields;
use super::shared_memory::shared_memory;
use crate::diagnostic::{InputError, Named};
use crate::simulation::cluster::Fidelity;
use crate::simulation::played::IterationSettings;
use crate::simulation::{Job, RunTime, SharedMemoryChoice, SimulationError, Task, WrittenJob};
use crate::system::System;
use crate::training::{
    Bucketing, Network, Optimizer, Precision, SharedMemories, Terms, Training, TrainingError,
    TrainingTask, Units, Way, model_of,
};

/// Names the keys.
const KEYS: [&str; 3] = ["precision", "communication", "optimizer"];

/// Says what is chosen for every job that trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trained {
    precision: Precision,
    way: Way,
    optimizer: Optimizer,
    /// Says how GPUs share memory where they communicate so.
    shared: SharedMemoryChoice,
}

impl Trained {
    /// Reads the keys of `[jobs]`. A value other than the one that stands for its absence says that
    /// jobs are played.
    pub(super) fn read(
        jobs: &Fields<'_>,
        wanted: Option<RunTime>,
        fidelity: Option<Fidelity>,
    ) -> Result<Self, InputError> {
        let trained = Self {
            precision: jobs.chosen("jobs.precision")?,
            way: jobs.chosen("jobs.communication")?,
            optimizer: jobs.chosen("jobs.optimizer")?,
            shared: shared_memory(jobs)?,
        };
        let is_formula = wanted.is_some_and(RunTime::is_formula);
        if let Some(key) = trained.unusual().next().filter(|_| is_formula) {
            let problem = format!("`{key}` beside a formula, which knows no layers");
            let remedy = "remove it, or write `run_time = \"played\"`";
            return Err(jobs.refuse(key, &problem, remedy));
        }
        trained.check(jobs, fidelity)?;
        Ok(trained)
    }

    /// The same with what a table of some jobs says itself.
    ///
    /// # Errors
    /// A value that names nothing, and a way that has no fluid as one.
    pub(super) fn with(
        &self,
        fields: &Fields<'_>,
        fidelity: Option<Fidelity>,
    ) -> Result<Self, InputError> {
        let trained = Self {
            precision: fields.choice("precision")?.unwrap_or(self.precision),
            way: fields.choice("communication")?.unwrap_or(self.way),
            optimizer: fields.choice("optimizer")?.unwrap_or(self.optimizer),
            shared: self.shared,
        };
        trained.check(fields, fidelity)?;
        Ok(trained)
    }

    /// Refuses a way that has no fluid as one.
    fn check(&self, fields: &Fields<'_>, fidelity: Option<Fidelity>) -> Result<(), InputError> {
        if !self.way.is_fluid() && fidelity == Some(Fidelity::Fluid) {
            let problem = "training that moves more than all-reduces, as a fluid";
            let remedy = "write `fidelity = \"flow\"` or `\"packet\"`";
            return Err(fields.refuse("communication", problem, remedy));
        }
        Ok(())
    }

    /// Says whether GPUs share memory.
    pub(super) fn shares_memory(&self) -> bool {
        self.way == Way::TrulyShared
    }

    /// Whether that is what jobs do where nobody chooses.
    pub(super) fn is_usual(&self) -> bool {
        self.unusual().next().is_none()
    }

    /// The keys of what is not.
    fn unusual(&self) -> impl Iterator<Item = &'static str> {
        let is_usual = [
            self.precision == Precision::default(),
            self.way == Way::AllReduce,
            self.optimizer == Optimizer::default(),
        ];
        KEYS.into_iter().zip(is_usual).filter(|(_, is_usual)| !is_usual).map(|(key, _)| key)
    }

    /// Gives each job that trains what was chosen, as far as that is not what they do anyway.
    pub(super) fn apply(
        &self,
        jobs: &mut [Job],
        system: &System,
        iteration: IterationSettings,
    ) -> Result<(), SimulationError> {
        if self.is_usual() {
            return Ok(());
        }
        let shared = match self.way {
            Way::TrulyShared => self.shared.links_of(system).map_err(TrainingError::from)?,
            _ => SharedMemories::new(),
        };
        let mut known: BTreeMap<(String, u32, u32), Arc<TrainingTask>> = BTreeMap::new();
        for job in jobs {
            let Some(samples) = job.samples_per_gpu else { continue };
            let key = (job.workload.clone(), samples, job.gpus);
            let task = match known.get(&key) {
                Some(task) => Arc::clone(task),
                None => {
                    let network = Network::find(&job.workload)?.clone();
                    let task = self.task(network, (samples, job.gpus), iteration);
                    let task = Arc::new(TrainingTask { shared: shared.clone(), ..task });
                    known.insert(key, Arc::clone(&task));
                    task
                }
            };
            job.written = Some(Box::new(WrittenJob::new(Task::Training(task))));
        }
        Ok(())
    }

    fn task(
        &self,
        network: Network,
        (samples, gpus): (u32, u32),
        iteration: IterationSettings,
    ) -> TrainingTask {
        let usual = TrainingTask::usual(network, u64::from(samples) * u64::from(gpus));
        let mut costs = usual.costs;
        if let Some(bucket) = iteration.bucket {
            costs.bucket = Bucketing::Bytes(bucket);
        }
        TrainingTask {
            precision: self.precision,
            gradients: self.precision,
            optimizer: self.optimizer,
            // One GPU has nobody to share anything with, but reaches shared memory as others do.
            way: if gpus > 1 || self.shares_memory() { self.way } else { Way::AllReduce },
            micro_batches: gpus,
            copies_samples: iteration.host_copies,
            costs,
            ..usual
        }
    }

    /// Tells how jobs train networks, which they do not say one by one.
    pub(super) fn notes(&self, jobs: &[Job]) -> Vec<String> {
        let count = jobs.iter().filter(|job| job.samples_per_gpu.is_some()).count();
        if count == 0 {
            return Vec::new();
        }
        let (jobs, train) = if count == 1 { ("job", "trains") } else { ("jobs", "train") };
        let (precision, optimizer) = (self.precision.name(), self.optimizer.name());
        let how = match self.way {
            Way::AllReduce => {
                "data-parallel: each GPU has all weights, and gradients are all-reduced".to_owned()
            }
            way => format!("by `{}`", way.name()),
        };
        vec![format!(
            "{count} {jobs} {train} a network layer by layer in {precision}, with {optimizer}, {how}. A `[[job]]` with \
             `train` chooses otherwise by its `parameters`."
        )]
    }
}

/// Tells what is assumed of the system's GPUs for the jobs that train.
pub(super) fn assumed(jobs: &[Job], system: &System) -> BTreeSet<String> {
    let precision = |job: &Job| match job.task() {
        Some(Task::Training(task)) => Some(task.precision),
        Some(Task::Workload(_) | Task::Model(_) | Task::Program(_)) => None,
        None => job.samples_per_gpu.map(|_| Precision::default()),
    };
    let used: BTreeSet<Precision> = jobs.iter().filter_map(precision).collect();
    // A GPU of no known model was refused before.
    let of = |precision| Units::assumed(system, 0..system.gpus(), precision).unwrap_or_default();
    used.into_iter().flat_map(of).collect()
}

/// Refuses jobs whose samples do not fit the memory of some GPU of the system.
pub(super) fn check_fit(jobs: &[Job], system: &System) -> Result<(), SimulationError> {
    check_tasks(jobs, system)?;
    let usual = jobs.iter().filter(|job| job.task().is_none());
    let mut trained: BTreeMap<(String, u32), &str> = BTreeMap::new();
    for job in usual {
        if let Some(samples) = job.samples_per_gpu {
            trained.entry((job.workload.clone(), samples)).or_insert(&job.name);
        }
    }
    if trained.is_empty() {
        return Ok(());
    }
    let mut kinds = BTreeSet::new();
    let mut models = BTreeMap::new();
    for server in (0..system.servers()).filter(|it| kinds.insert(system.kind_index_of(*it))) {
        for index in 0..system.kind_of(server).server().gpus().len() as u32 {
            let gpu = system.gpu_at(server, index);
            models.entry(&*model_of(system, gpu)?.name).or_insert(gpu);
        }
    }
    let (_, memory) = Terms::own().of_default_framework();
    for ((name, samples), job) in trained {
        let training = Training::usual(Network::find(&name)?, samples.into());
        for gpu in models.values() {
            // A job of a mix has nothing else to choose.
            let advice = || {
                let most = training.most_at_once(system, &[*gpu], memory).ok().flatten();
                vec![most.map_or_else(
                    || format!("`{name}` out of the mix"),
                    |most| format!("{most} samples for each GPU or fewer"),
                )]
            };
            let fits = training.footprints_that_fit(system, &[*gpu], memory);
            let error = fits.map_err(|error| error.advised(advice));
            error.map_err(|error| of_job(job, &name, error))?;
        }
    }
    Ok(())
}

/// Names the job and its network in what it was refused for.
fn of_job(job: &str, network: &str, error: TrainingError) -> SimulationError {
    SimulationError::TrainingOf {
        job: job.to_owned(),
        network: network.to_owned(),
        error: Box::new(error),
    }
}

/// Refuses training that the system's first GPUs cannot do as was chosen.
fn check_tasks(jobs: &[Job], system: &System) -> Result<(), SimulationError> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        if let Some(Task::Training(task)) = job.task()
            && seen.insert(Arc::as_ptr(task))
        {
            let gpus: Vec<u32> = (0..job.gpus.min(system.gpus())).collect();
            let training = task.training();
            let fits = training.fitting(system, &gpus, task.memory).map(drop);
            let turns = fits.and_then(|()| training.turns_on(system, &gpus).map(drop));
            turns.map_err(|error| of_job(&job.name, &job.workload, error))?;
        }
    }
    Ok(())
}
