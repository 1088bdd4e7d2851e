//! A mix of jobs that is drawn: `[jobs] generate`.
//!
//! ```toml
//! [jobs]
//! generate = { count = 100, train = ["resnet-50", "vgg-16"], samples_per_gpu = 32, iterations = 200 }
//! generate.samples = { vgg-16 = 16 }    # of a network of its own
//! ```

use std::collections::BTreeMap;

use super::fields::Fields;
use super::mix::names;
use super::model_job::DrawnModels;
use crate::allocation::PatternShape;
use crate::diagnostic::{Diagnose, InputError, Named as _, instead_of};
use crate::simulation::{MOST_JOBS, MixOptions};
use crate::training::{MOST_SAMPLES, Network};

/// Reads the options of a drawn mix.
pub(super) fn options(table: &Fields<'_>, seed: u64) -> Result<MixOptions, InputError> {
    let default = MixOptions::default();
    let too_many = "this is more jobs than a mix may have";
    let count = table.count("count", default.count, MOST_JOBS, too_many)?;
    let known = table.source.registries.workloads.names();
    let workloads = names(table, "workloads", "workload", &known)?;
    let train = networks(table)?;
    let most = u32::try_from(MOST_SAMPLES).unwrap_or(u32::MAX);
    let too_many = "more samples than a step has";
    let samples_per_gpu =
        table.count("samples_per_gpu", default.samples_per_gpu, most, too_many)?;
    let any = |key, absent| table.count(key, absent, u32::MAX, "out of range");
    let samples = samples(table, train.as_deref().unwrap_or_default())?;
    let iterations = table.has("iterations").then(|| any("iterations", 1)).transpose()?;
    let models = DrawnModels::read(table)?.drawn();
    let is_other = train.is_some() || !models.is_empty();
    let all = if is_other { Vec::new() } else { default.workloads };
    Ok(MixOptions {
        seed: table.or("seed", seed)?,
        count,
        max_gpus: any("max_gpus", default.max_gpus)?,
        workloads: workloads.unwrap_or(all),
        train: train.unwrap_or_default(),
        samples_per_gpu,
        samples,
        models,
        patterns: patterns(table)?,
        iterations: iterations.map(u64::from),
        mean_interarrival: table.optional("mean_interarrival")?,
    })
}

/// The samples of each GPU by the network, of those that are trained.
fn samples(table: &Fields<'_>, train: &[String]) -> Result<BTreeMap<String, u32>, InputError> {
    let own = table.table("samples")?;
    let most = u32::try_from(MOST_SAMPLES).unwrap_or(u32::MAX);
    let mut found = BTreeMap::new();
    for name in own.keys() {
        if !train.iter().any(|known| known == name) {
            let known: Vec<&str> = train.iter().map(String::as_str).collect();
            let problem = "`train` does not name this network";
            return Err(own.refuse(name, problem, instead_of(name, &known)));
        }
        let count = own.count(name, 1, most, "more samples than a step has")?;
        found.insert(name.to_owned(), count);
    }
    Ok(found)
}

/// The patterns to draw from; none where the key is not there.
fn patterns(table: &Fields<'_>) -> Result<Vec<PatternShape>, InputError> {
    let known = PatternShape::names();
    let named = names(table, "patterns", "pattern", &known)?.unwrap_or_default();
    let shape = |name: &String| PatternShape::from_name(name).ok();
    Ok(named.iter().filter_map(shape).collect())
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
