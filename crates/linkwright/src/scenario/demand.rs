//! Says which GPUs a `[[job]]` asks for: a number by a policy, or one for each rank by a mapping.
//!
//! ```toml
//! [[job]]
//! train = "resnet-50"
//! gpus = 4                        # by a policy, when it arrives; `ranks` are mapped instead
//! policy = "preserve"             # that of `[allocation]` where absent
//! time_limit = "7200 s"             # how long it runs at most, which backfilling goes by
//! ```

use super::fields::Fields;
use crate::allocation::ChosenPolicy;
use crate::diagnostic::InputError;
use crate::simulation::cluster::Fidelity;
use crate::units::Picoseconds;

/// Says what a job asks a policy for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Counts the GPUs.
    pub gpus: u32,
    /// Names its own policy; that of all where absent.
    pub policy: Option<ChosenPolicy>,
}

/// Reads what a job asks for by its number; None where a mapping names its GPUs.
pub(super) fn demand(fields: &Fields<'_>) -> Result<Option<Demand>, InputError> {
    let Some(gpus) = fields.optional::<u32>("gpus")? else {
        if fields.has("policy") {
            let remedy = "write `gpus` in place of `ranks`, or remove `policy`";
            return Err(fields.refuse("policy", "a policy of a job that is mapped", remedy));
        }
        return Ok(None);
    };
    if gpus == 0 {
        return Err(fields.refuse("gpus", "this cannot be zero", "write at least 1"));
    }
    if let Some(other) = ["ranks", "mapping"].into_iter().find(|key| fields.has(key)) {
        let problem = format!("`{other}` beside `gpus`, which a policy chooses");
        let remedy = format!("remove `{other}`, or `gpus`; a rank runs on each GPU");
        return Err(fields.refuse(other, &problem, remedy));
    }
    let known = &fields.source.registries.policies;
    let policy = fields.named("policy", |name| known.get(name))?;
    Ok(Some(Demand { gpus, policy: policy.map(ChosenPolicy) }))
}

/// How many ranks a job says it has, and the key that says so.
pub(super) fn ranks(fields: &Fields<'_>) -> Result<Option<u32>, InputError> {
    fields.optional(key_of_ranks(fields))
}

/// The key that says how many ranks a job has.
pub(super) fn key_of_ranks(fields: &Fields<'_>) -> &'static str {
    if fields.has("gpus") { "gpus" } else { "ranks" }
}

/// How long a job runs at most.
pub(super) fn time_limit(fields: &Fields<'_>) -> Result<Option<Picoseconds>, InputError> {
    let limit: Option<Picoseconds> = fields.optional("time_limit")?;
    if limit == Some(Picoseconds(0)) {
        let remedy = "write how long it runs at most, such as \"7200 s\"";
        return Err(fields.refuse("time_limit", "no time at all", remedy));
    }
    Ok(limit)
}

/// Says whether jobs arrive, wait and get their GPUs, and not all of them by mappings from the
/// start.
pub(super) fn is_day(scenario: &Fields<'_>) -> Result<bool, InputError> {
    if scenario.has("jobs") || scenario.choice("fidelity")? == Some(Fidelity::Fluid) {
        return Ok(true);
    }
    Ok(scenario.tables("job")?.iter().any(|job| job.has("gpus")))
}
