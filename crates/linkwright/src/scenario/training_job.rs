//! A `[[job]]` that trains a network: its program follows from the GPUs that it gets.
//!
//! ```toml
//! [[job]]
//! train = "resnet-50"                # or a file of one's own
//! ranks = 8
//! parameters = { batch = 256, communication = "all-reduce", precision = "tf32" }
//! # or communication = "tsm", shared_memory = "tsm-wt-c-rc", shared_bandwidth = "256 GB/s"
//! ```

use std::sync::Arc;

use super::demand;
use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::shared_memory::{SHARED_KEYS, shared_memory};
use super::source::Place;
use crate::diagnostic::{InputError, closest};
use crate::program::Program;
use crate::simulation::SharedMemoryChoice;
use crate::system::System;
use crate::training::{
    Bucketing, FrameworkCosts, MOST_MICRO_BATCHES, MOST_SAMPLES, MemoryTerms, Network, Optimizer,
    Precision, SampleSize, Terms, TrainingError, TrainingTask, Way,
};
use crate::units::Bytes;

/// How the name of a network's file ends.
const FILE: &str = ".toml";
/// Lists the keys that `parameters` may hold.
const PARAMETERS: [&str; 13] = [
    "batch",
    "communication",
    "precision",
    "gradients",
    "optimizer",
    "framework",
    "overlap",
    "bucket",
    "micro_batch",
    "size",
    "tokens",
    SHARED_KEYS[0],
    SHARED_KEYS[1],
];
/// Samples of a step where nobody says, for each GPU.
const BATCH_OF_GPU: u64 = 32;

/// Names the network that a job trains.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trained {
    /// A network that Linkwright has.
    Named(&'static Network),
    /// Reads a network of one's own.
    File(FileName),
}

/// Says how a job trains a network.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingSource {
    pub(super) network: Trained,
    /// Counts the GPUs of the job.
    pub(super) ranks: u32,
    batch: u64,
    way: Way,
    precision: Precision,
    gradients: Precision,
    optimizer: Optimizer,
    costs: FrameworkCosts,
    memory: MemoryTerms,
    overlaps: bool,
    micro_batches: u32,
    size: SampleSize,
    /// Says how GPUs share memory where they communicate so.
    shared: Option<SharedMemoryChoice>,
    /// Says where errors of its network, and of its way on the GPUs, point.
    places: [Place; 2],
}

impl TrainingSource {
    /// The job in a table that has `train`.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, InputError> {
        let name: String = fields.or("train", String::new())?;
        let network = match fields.file("train")? {
            Some(file) if name.ends_with(FILE) => Trained::File(file),
            _ => {
                let found = fields.named("train", Network::find)?;
                Trained::Named(found.ok_or_else(|| {
                    fields.refuse("train", "no network", "name one, or a file that ends in .toml")
                })?)
            }
        };
        let Some(ranks) = demand::ranks(fields)? else {
            let remedy = "write on how many GPUs it is trained, such as `ranks = 8`";
            return Err(fields.refuse("train", "a network without `ranks`", remedy));
        };
        let of = fields.table("parameters")?;
        if let Some(key) = of.keys().find(|key| !PARAMETERS.contains(key)) {
            let near = closest(key, &PARAMETERS);
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            let remedy = format!("{near}a job that trains takes {}", PARAMETERS.join(", "));
            return Err(of.refuse(key, "unknown parameter", remedy));
        }
        let framework = of.named("framework", |name| {
            Ok::<_, TrainingError>((Terms::own().framework(name)?, Terms::own().memory(name)?))
        })?;
        let (mut costs, memory) = framework.unwrap_or_else(|| Terms::own().of_default_framework());
        if let Some(bucket) = of.optional::<Bytes>("bucket")? {
            costs.bucket = Bucketing::of_bytes(bucket);
        }
        let batch: u64 = of.or("batch", BATCH_OF_GPU * u64::from(ranks))?;
        if batch > MOST_SAMPLES {
            let remedy = format!("write {MOST_SAMPLES} or fewer");
            return Err(of.refuse("batch", "more samples than a step has", remedy));
        }
        let usual = ranks.saturating_mul(4).clamp(1, MOST_MICRO_BATCHES);
        let micro_batches = match of.optional::<u64>("micro_batch")? {
            None => usual,
            Some(samples) if samples > 0 && batch.is_multiple_of(samples) => {
                u32::try_from(batch / samples).unwrap_or(u32::MAX)
            }
            Some(samples) => {
                let problem =
                    format!("micro-batches of {samples} do not divide a batch of {batch}");
                return Err(of.refuse("micro_batch", &problem, "take one that does"));
            }
        };
        if micro_batches > MOST_MICRO_BATCHES {
            let remedy = format!("take larger ones: at most {MOST_MICRO_BATCHES} of them");
            return Err(of.refuse("micro_batch", "too many parts of a batch", &remedy));
        }
        let precision: Precision = of.choice("precision")?.unwrap_or_default();
        let way = of.choice("communication")?.unwrap_or(Way::AllReduce);
        let shares = way == Way::TrulyShared;
        if let Some(key) = SHARED_KEYS.iter().find(|key| of.has(key) && !shares) {
            let problem = format!("`{key}` without memory that all GPUs share");
            return Err(of.refuse(
                key,
                &problem,
                "remove it, or write `communication = \
                \"tsm\"`",
            ));
        }
        let shared = shares.then(|| shared_memory(&of)).transpose()?;
        let places = [fields.place("train"), fields.place("parameters")];
        Ok(Self {
            network,
            ranks,
            batch,
            way,
            precision,
            gradients: of.choice("gradients")?.unwrap_or(precision),
            optimizer: of.choice("optimizer")?.unwrap_or_default(),
            costs,
            memory,
            overlaps: of.or("overlap", true)?,
            micro_batches,
            size: SampleSize {
                points: of.optional("size")?,
                channels: None,
                tokens: of.optional("tokens")?,
            },
            shared,
            places,
        })
    }

    /// The file that it needs.
    pub(super) fn file(&self) -> Option<&FileName> {
        match &self.network {
            Trained::File(file) => Some(file),
            Trained::Named(_) => None,
        }
    }

    /// How its data moves.
    pub(super) const fn way(&self) -> Way {
        self.way
    }

    /// The numbers that are multiplied.
    pub(super) const fn precision(&self) -> Precision {
        self.precision
    }

    /// Names the job where it has no other name.
    pub(super) fn natural_name(&self) -> &str {
        match &self.network {
            Trained::Named(network) => &network.name,
            Trained::File(file) => file.stem(FILE),
        }
    }

    /// Gives what is trained on GPUs of a system, and how.
    pub(super) fn task(
        &self,
        scenario: &str,
        files: &Files,
        system: &System,
    ) -> Result<TrainingTask, InputError> {
        let network = match &self.network {
            Trained::Named(network) => (*network).clone(),
            Trained::File(file) => Network::read(&file.name, text_of(scenario, file, files)?)?,
        };
        let network = network.resized(self.size).map_err(|error| self.refuse(scenario, &error))?;
        let links = self.shared.map(|shared| shared.links_of(system)).transpose();
        let shared = links.map_err(|error| self.refuse(scenario, &error.into()))?;
        Ok(TrainingTask {
            network,
            batch: self.batch,
            precision: self.precision,
            gradients: self.gradients,
            optimizer: self.optimizer,
            costs: self.costs,
            memory: self.memory,
            way: self.way,
            overlaps: self.overlaps,
            micro_batches: self.micro_batches,
            copies_samples: true,
            shared: shared.unwrap_or_default(),
        })
    }

    /// Builds the program on the GPUs of its ranks.
    pub(super) fn program(
        &self,
        scenario: &str,
        files: &Files,
        (system, gpus): (&System, &[u32]),
    ) -> Result<Arc<Program>, InputError> {
        let program = self.task(scenario, files, system)?.program(system, gpus);
        program.map(Arc::new).map_err(|error| self.refuse(scenario, &error))
    }

    /// An error of training, at what is to blame.
    pub(super) fn refuse(&self, scenario: &str, error: &TrainingError) -> InputError {
        let [of_network, of_way] = self.places;
        let place = match error {
            TrainingError::Gpu(_) | TrainingError::NoModel { .. } => of_network,
            _ => of_way,
        };
        place.refuse_as(scenario, error, "", "see the file format in the reference")
    }
}
