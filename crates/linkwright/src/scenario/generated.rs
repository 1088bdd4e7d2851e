//! A mix of jobs that is drawn: `[jobs] generate`.
//!
//! ```toml
//! [jobs]
//! generate = { count = 100, train = ["resnet-50", "vgg-16"], samples_per_gpu = 32, iterations = 200 }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::fields::Fields;
use super::mix::names;
use crate::diagnostic::{Diagnose, InputError};
use crate::simulation::{Job, MOST_JOBS, MixOptions, SimulationError};
use crate::system::System;
use crate::training::{MOST_SAMPLES, Network, Terms, Training, Workload, model_of};

/// What to draw.
pub(super) fn options(table: &Fields<'_>, seed: u64) -> Result<MixOptions, InputError> {
    let default = MixOptions::default();
    let too_many = "this is more jobs than a mix may have";
    let count = table.count("count", default.count, MOST_JOBS, too_many)?;
    let known: Vec<&str> = Workload::all().iter().map(|it| it.name.as_str()).collect();
    let workloads = names(table, "workloads", "workload", &known)?;
    let train = networks(table)?;
    let most = u32::try_from(MOST_SAMPLES).unwrap_or(u32::MAX);
    let too_many = "more samples than a step has";
    let samples_per_gpu =
        table.count("samples_per_gpu", default.samples_per_gpu, most, too_many)?;
    let any = |key, absent| table.count(key, absent, u32::MAX, "out of range");
    let iterations = table.has("iterations").then(|| any("iterations", 1)).transpose()?;
    let all = if train.is_some() { Vec::new() } else { default.workloads };
    Ok(MixOptions {
        seed: table.or("seed", seed)?,
        count,
        max_gpus: any("max_gpus", default.max_gpus)?,
        workloads: workloads.unwrap_or(all),
        train: train.unwrap_or_default(),
        samples_per_gpu,
        iterations: iterations.map(u64::from),
        mean_interarrival: table.optional("mean_interarrival")?,
    })
}

/// The networks to train; at least one where the key is there.
fn networks(table: &Fields<'_>) -> Result<Option<Vec<String>>, InputError> {
    let Some(list) = table.list::<String>("train")? else { return Ok(None) };
    if list.is_empty() {
        let remedy = "name some, such as `resnet-50`, or leave the key out";
        return Err(table.refuse("train", "no network is named", remedy));
    }
    for (name, span) in &list {
        if let Err(error) = Network::find(name) {
            let remedy = error.diagnosis().remedy.unwrap_or_default();
            return Err(table.source.refuse(span, "unknown network", remedy));
        }
    }
    Ok(Some(list.into_iter().map(|(name, _)| name).collect()))
}

/// Refuses jobs whose samples some GPU of the system has no memory for.
pub(super) fn check_fit(jobs: &[Job], system: &System) -> Result<(), SimulationError> {
    let of = |job: &Job| Some((job.workload.clone(), job.samples_per_gpu?));
    let trained: BTreeSet<(String, u32)> = jobs.iter().filter_map(of).collect();
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
    for (name, samples) in trained {
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
            fits.map_err(|error| error.advised(advice))?;
        }
    }
    Ok(())
}

/// Tells how jobs train networks, which nobody can choose; nothing where none does.
pub(super) fn trained(jobs: &[Job]) -> Vec<String> {
    let count = jobs.iter().filter(|job| job.samples_per_gpu.is_some()).count();
    let (jobs, train) = if count == 1 { ("job", "trains") } else { ("jobs", "train") };
    let note = format!(
        "{count} {jobs} {train} a network layer by layer in fp32, with momentum, data-parallel: each GPU has all weights, and \
         gradients are all-reduced. A `[[job]]` with `train` chooses otherwise by its `parameters`."
    );
    (count > 0).then_some(note).into_iter().collect()
}
