//! What an iteration of a played job is made of: keys of `[jobs]`.
//!
//! ```toml
//! [jobs]
//! host_copies = true      # images come from the host in every iteration
//! gpu_speed = "own"       # or "reference", the V100 that the workloads are timed on
//! bucket = "25 MB"        # gradients are reduced in such parts while the rest is computed
//! ```

use super::fields::Fields;
use crate::diagnostic::InputError;
use crate::simulation::RunTime;
use crate::simulation::played::{GpuSpeed, IterationSettings, LEAST_BUCKET};

/// The settings of an iteration; those that differ from what stands for their absence say that jobs are played.
pub(super) fn read(
    jobs: &Fields<'_>,
    wanted: Option<RunTime>,
) -> Result<IterationSettings, InputError> {
    let settings = IterationSettings {
        host_copies: jobs.setting("jobs.host_copies")?,
        gpu_speed: jobs.chosen("jobs.gpu_speed")?,
        bucket: jobs.optional("bucket")?,
    };
    if settings.bucket.is_some_and(|bucket| bucket < LEAST_BUCKET) {
        let problem = "a bucket smaller than gradients are cut";
        return Err(jobs.refuse("bucket", problem, format!("write \"{LEAST_BUCKET}\" or more")));
    }
    let said = [
        ("host_copies", settings.host_copies),
        ("gpu_speed", settings.gpu_speed != GpuSpeed::default()),
        ("bucket", settings.bucket.is_some()),
    ];
    let said = said.into_iter().find(|(_, is_said)| *is_said);
    if let (Some((key, _)), true) = (said, wanted.is_some_and(RunTime::is_formula)) {
        let problem = format!("`{key}` beside a formula, which knows no steps of an iteration");
        let remedy = "remove it, or write `run_time = \"played\"`";
        return Err(jobs.refuse(key, &problem, remedy));
    }
    Ok(settings)
}
