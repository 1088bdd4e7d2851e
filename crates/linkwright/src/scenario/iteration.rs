//! Reads the settings of a played job's iteration: keys of `[jobs]`, and of a `[[job]]` that runs a
//! workload.
//!
//! ```toml
//! [jobs]
//! host_copies = true      # images come from the host in every iteration
//! gpu_speed = "own"       # or "reference", the V100 that the workloads are timed on
//! precision = "bf16"      # the numbers that nets multiply, at the peak of the unit that does so
//! bucket = "25 MB"        # gradients are reduced in such parts while the rest is computed
//! ```

use super::fields::Fields;
use super::settings::{SettingGroup, grouped};
use crate::diagnostic::InputError;
use crate::simulation::RunTime;
use crate::simulation::played::{GpuSpeed, IterationSettings, LEAST_BUCKET};

/// Reads the settings of an iteration in a table of this name.
pub(super) fn settings(fields: &Fields<'_>, table: &str) -> Result<IterationSettings, InputError> {
    let settings = IterationSettings {
        host_copies: fields.setting(&format!("{table}.host_copies"))?,
        gpu_speed: fields.chosen(&format!("{table}.gpu_speed"))?,
        precision: fields.chosen(&format!("{table}.precision"))?,
        bucket: fields.optional("bucket")?,
    };
    if settings.bucket.is_some_and(|bucket| bucket < LEAST_BUCKET) {
        let problem = "a bucket smaller than gradients are cut";
        return Err(fields.refuse("bucket", problem, format!("write \"{LEAST_BUCKET}\" or more")));
    }
    Ok(settings)
}

/// Reads those of `[jobs]`. A setting that differs from its default says that jobs are played.
pub(super) fn read(
    jobs: &Fields<'_>,
    wanted: Option<RunTime>,
) -> Result<IterationSettings, InputError> {
    let settings = settings(jobs, "jobs")?;
    let is_said = |key: &&str| match *key {
        "host_copies" => settings.host_copies,
        "gpu_speed" => settings.gpu_speed != GpuSpeed::default(),
        key => jobs.has(key),
    };
    let said = grouped("jobs", SettingGroup::Iterations).find(is_said);
    if let (Some(key), true) = (said, wanted.is_some_and(RunTime::is_formula)) {
        let problem = format!("`{key}` beside a formula, which knows no steps of an iteration");
        let remedy = "remove it, or write `run_time = \"played\"`";
        return Err(jobs.refuse(key, &problem, remedy));
    }
    Ok(settings)
}
