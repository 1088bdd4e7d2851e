//! Reads a `[[job]]` that trains a language model by a layout, and such jobs of `[jobs.generate]`.
//!
//! ```toml
//! [[job]]
//! model = "llama-3.1-8b"             # or the file of a configuration, `config.json`
//! gpus = 16
//! parameters = { layout = "fsdp=16", micro_batch = 2, recompute = "selective-op", kernels = "compiled" }
//!
//! [jobs.generate.models.tuning]       # a kind of jobs that are drawn
//! model = "llama-3.1-70b"
//! gpus = 8
//! share = 3                          # it is drawn three times as often as one of share 1
//! iterations = 200
//! layout = "tp=8"
//! lora = 16
//! ```
//!
//! Keys are the options of `linkwright train`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::demand;
use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::source::Place;
use crate::diagnostic::{InputError, closest};
use crate::program::Program;
use crate::simulation::{DrawnModel, Job, Task, WrittenJob};
use crate::system::System;
use crate::training::{
    ContextExchange, Execution, ExpertImbalance, ExpertRouting, Kernels, LanguageModel, Lora,
    MOST_SAMPLES, ModelChoices, ModelLayout, ModelTask, Order, Recompute, Targets, TrainingError,
};

/// How the name of a configuration ends.
const FILE: &str = ".json";
/// These keys say how a model is trained.
const CHOICES: [&str; 22] = [
    "layout",
    "order",
    "batch",
    "micro_batch",
    "tokens",
    "precision",
    "gradients",
    "optimizer",
    "zero",
    "recompute",
    "kernels",
    "sequence_parallel",
    "context",
    "async_tensor",
    "prefetch",
    "lora",
    "lora_target",
    "fp8_weights",
    "fp8_activations",
    "imbalance",
    "capacity_factor",
    "seed",
];
/// These keys say which jobs of a kind are drawn.
const OF_KIND: [&str; 4] = ["model", "gpus", "share", "iterations"];
/// Keeps sequences, matrices and weights that are gathered ahead to sizes that there are.
const MOST: u32 = 1 << 20;

/// The model that a job is to train.
#[derive(Debug, Clone, PartialEq)]
enum Modelled {
    /// The model is public.
    Named(&'static LanguageModel),
    /// The user's file describes it.
    File(FileName),
}

/// Says how a job trains a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSource {
    model: Modelled,
    /// The job has this many GPUs.
    pub(super) ranks: u32,
    choices: ModelChoices,
    tokens: Option<u64>,
    /// The places that errors of its model and of its layout have.
    places: [Place; 2],
}

impl ModelSource {
    /// The job in a table that has `model`.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, InputError> {
        let Some(ranks) = demand::ranks(fields)? else {
            let remedy = "write on how many GPUs it is trained, such as `gpus = 8`";
            return Err(fields.refuse("model", "a model without `gpus`", remedy));
        };
        let parameters = fields.table("parameters")?;
        known_keys(&parameters, &CHOICES)?;
        Self::of(fields, &parameters, ranks)
    }

    fn of(fields: &Fields<'_>, chosen: &Fields<'_>, ranks: u32) -> Result<Self, InputError> {
        let name: String = fields.or("model", String::new())?;
        let model = match fields.file("model")? {
            Some(file) if name.ends_with(FILE) => Modelled::File(file),
            _ => {
                let found = fields.named("model", LanguageModel::find)?;
                Modelled::Named(found.ok_or_else(|| {
                    let remedy = "name one, or a configuration that ends in .json";
                    fields.source.refuse(&fields.span, "no `model` is named", remedy)
                })?)
            }
        };
        let tokens = chosen.has("tokens").then(|| count(chosen, "tokens")).transpose()?;
        let layout = if chosen.has("layout") { "layout" } else { "parameters" };
        let places = [fields.place("model"), chosen.place(layout)];
        Ok(Self { model, ranks, choices: choices(chosen, ranks)?, tokens, places })
    }

    /// The file that it needs.
    pub(super) fn file(&self) -> Option<&FileName> {
        match &self.model {
            Modelled::File(file) => Some(file),
            Modelled::Named(_) => None,
        }
    }

    /// Names the job where it has no other name.
    pub(super) fn natural_name(&self) -> &str {
        match &self.model {
            Modelled::Named(model) => &model.name,
            Modelled::File(file) => file.stem(FILE),
        }
    }

    /// Gives what is trained on GPUs of a system, and how; the first of its GPUs have the memory for it.
    pub(super) fn task(
        &self,
        scenario: &str,
        files: &Files,
        system: &System,
    ) -> Result<Arc<ModelTask>, InputError> {
        let gpus: Vec<u32> = (0..self.ranks.min(system.gpus())).collect();
        self.on(scenario, files, (system, &gpus)).map(Arc::new)
    }

    fn on(
        &self,
        scenario: &str,
        files: &Files,
        (system, gpus): (&System, &[u32]),
    ) -> Result<ModelTask, InputError> {
        let model = match &self.model {
            Modelled::Named(model) => (*model).clone(),
            Modelled::File(file) => {
                LanguageModel::read(&file.name, text_of(scenario, file, files)?)?
            }
        };
        let model = self.tokens.map_or_else(|| model.clone(), |tokens| model.with_tokens(tokens));
        let task = ModelTask { model, choices: self.choices.clone() };
        let fits = task.training().check().and_then(|_| task.fitting(system, gpus));
        fits.map_err(|error| self.refuse(scenario, &error))?;
        Ok(task)
    }

    /// The program on the GPUs of its ranks: every rank with all that it exchanges.
    pub(super) fn program(
        &self,
        scenario: &str,
        files: &Files,
        (system, gpus): (&System, &[u32]),
    ) -> Result<Arc<Program>, InputError> {
        let task = self.on(scenario, files, (system, gpus))?;
        let step = task.step(system, gpus).map_err(|error| self.refuse(scenario, &error))?;
        Ok(Arc::new(step.by_rank()))
    }

    /// An error of training, at what is to blame.
    fn refuse(&self, scenario: &str, error: &TrainingError) -> InputError {
        let [of_model, of_layout] = self.places;
        let place = match error {
            TrainingError::Gpu(_) | TrainingError::NoModel { .. } => of_model,
            _ => of_layout,
        };
        place.refuse_as(scenario, error, "", "see the file format in the reference")
    }
}

/// The kinds of jobs that are drawn, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DrawnModels(BTreeMap<String, (ModelSource, DrawnModel)>);

impl DrawnModels {
    /// Reads `[jobs.generate.models]`.
    pub(super) fn read(generate: &Fields<'_>) -> Result<Self, InputError> {
        let all = generate.table("models")?;
        let mut found = BTreeMap::new();
        for name in all.keys() {
            let own = all.table(name)?;
            let keys: Vec<&str> = OF_KIND.iter().chain(&CHOICES).copied().collect();
            known_keys(&own, &keys)?;
            let gpus = own.count("gpus", 8, u32::MAX, "out of range")?;
            let source = ModelSource::of(&own, &own, gpus)?;
            let drawn = DrawnModel {
                name: name.to_owned(),
                gpus,
                share: own.count("share", 1, MOST, "out of range")?,
                iterations: own.count("iterations", 100, u32::MAX, "out of range")?.into(),
            };
            found.insert(name.to_owned(), (source, drawn));
        }
        Ok(Self(found))
    }

    /// Gives the kinds to draw from.
    pub(super) fn drawn(&self) -> Vec<DrawnModel> {
        self.0.values().map(|(_, drawn)| drawn.clone()).collect()
    }

    /// Lists the files that they need.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        self.0.values().filter_map(|(source, _)| source.file())
    }

    /// Gives each job that was drawn what it runs.
    pub(super) fn apply(
        &self,
        jobs: &mut [Job],
        scenario: &str,
        (system, files): (&System, &Files),
    ) -> Result<(), InputError> {
        let mut known: BTreeMap<&str, Arc<ModelTask>> = BTreeMap::new();
        for job in jobs {
            let Some((name, (source, _))) = self.0.get_key_value(&job.workload) else { continue };
            let task = match known.get(name.as_str()) {
                Some(task) => Arc::clone(task),
                None => {
                    let task = source.task(scenario, files, system)?;
                    known.insert(name, Arc::clone(&task));
                    task
                }
            };
            job.written = Some(Box::new(WrittenJob::new(Task::Model(task))));
        }
        Ok(())
    }
}

/// Refuses keys that say nothing of a model.
fn known_keys(of: &Fields<'_>, known: &[&str]) -> Result<(), InputError> {
    let Some(key) = of.keys().find(|key| !known.contains(key)) else { return Ok(()) };
    let near = closest(key, known).map_or(String::new(), |it| format!("did you mean `{it}`? "));
    let remedy = format!("{near}a job that trains a model takes {}", known.join(", "));
    Err(of.refuse(key, "unknown parameter", remedy))
}

fn count(of: &Fields<'_>, key: &str) -> Result<u64, InputError> {
    Ok(of.count(key, 1, MOST, "out of range")?.into())
}

/// Says how a model is trained, with what stands for keys that are left out.
fn choices(of: &Fields<'_>, ranks: u32) -> Result<ModelChoices, InputError> {
    let layout = of.named("layout", ModelLayout::read)?;
    let layout = layout.unwrap_or(ModelLayout { dp: ranks.into(), ..ModelLayout::default() });
    let usual = ModelChoices::usual(layout);
    let samples = |key| {
        let most = MOST_SAMPLES as u32;
        let read = || of.count(key, 1, most, "more samples than a step has").map(u64::from);
        of.has(key).then(read).transpose()
    };
    let (batch, micro_batch) =
        ModelChoices::batches(&layout, samples("batch")?, samples("micro_batch")?);
    let zero = of.or("zero", usual.zero)?;
    if zero > 3 {
        return Err(of.refuse("zero", "no stage of ZeRO", "write a whole number from 0 to 3"));
    }
    let targets = of.named("lora_target", Targets::read)?;
    let rank = of.has("lora").then(|| count(of, "lora")).transpose()?;
    let targets = match targets {
        Some(targets) => targets,
        None => Targets::read("attention").map_err(|it| of.refuse_as("lora", &it, ""))?,
    };
    let imbalance = of.named("imbalance", ExpertImbalance::read)?.unwrap_or_default();
    let routing = ExpertRouting { imbalance, seed: of.or("seed", 0)?, capacity: None };
    let routing = match of.optional::<f64>("capacity_factor")? {
        None => routing,
        Some(factor) => {
            let with = routing.with_capacity(factor);
            with.map_err(|it| of.refuse_as("capacity_factor", &it, "write another"))?
        }
    };
    let prefetch: u32 = of.or("prefetch", 1)?;
    Ok(ModelChoices {
        order: of.named("order", Order::read)?.unwrap_or_default(),
        batch,
        micro_batch,
        precision: of.choice("precision")?.unwrap_or(usual.precision),
        gradients: of.choice("gradients")?.unwrap_or(usual.gradients),
        optimizer: of.choice("optimizer")?.unwrap_or(usual.optimizer),
        zero,
        recompute: of.named("recompute", Recompute::read)?.unwrap_or_default(),
        kernels: of.choice("kernels")?.unwrap_or(Kernels::usual(zero)),
        sequence_parallel: of.or("sequence_parallel", false)?,
        lora: rank.map(|rank| Lora { rank, targets }),
        narrow_weights: of.or("fp8_weights", false)?,
        narrow_activations: of.or("fp8_activations", false)?,
        routing,
        execution: Execution {
            context: of.choice::<ContextExchange>("context")?.unwrap_or_default(),
            async_tensor: of.or("async_tensor", false)?,
            prefetch: prefetch.min(MOST) as usize,
            bucket: None,
            measured: None,
        },
        ..usual
    })
}
