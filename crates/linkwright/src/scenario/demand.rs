//! Says which GPUs a `[[job]]` asks for: a number by a policy, or one for each rank by a mapping.
//!
//! ```toml
//! [[job]]
//! train = "resnet-50"
//! gpus = 4                        # by a policy, when it arrives; `ranks` are mapped instead
//! pattern = "star"                # which of them talk to which; or edges = "0-1 1-2:3 2-3:1/0.5", with shares of traffic
//! policy = "preserve"             # that of `[allocation]` where absent
//! servers_wanted = 2                # on how many servers it wants an even share of its GPUs each
//! exclusive = true                  # nobody else is on its servers
//! time_limit = "7200 s"             # how long it runs at most, which backfilling goes by
//! ```

use super::fields::Fields;
use crate::allocation::{ChosenPolicy, Pattern, PatternShape};
use crate::diagnostic::{InputError, Named as _};
use crate::simulation::cluster::Fidelity;
use crate::units::Picoseconds;

/// Says what a job asks a policy for.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// Counts the GPUs.
    pub gpus: u32,
    /// Names its own policy; that of all where absent.
    pub policy: Option<ChosenPolicy>,
    /// Says which of them talk to which.
    pub pattern: PatternShape,
    /// Says the same by edges of its own.
    pub edges: Option<Pattern>,
    /// Says on how many servers it wants an even share of its GPUs each.
    pub servers_wanted: Option<u32>,
    /// Says whether nobody else may be on its servers.
    pub exclusive: bool,
}

/// Reads what a job asks for by its number; None where a mapping names its GPUs.
pub(super) fn demand(fields: &Fields<'_>) -> Result<Option<Demand>, InputError> {
    let Some(gpus) = fields.optional::<u32>("gpus")? else {
        return match ["policy", "pattern", "edges", "servers_wanted", "exclusive"]
            .into_iter()
            .find(|key| fields.has(key))
        {
            None => Ok(None),
            Some(key) => {
                let problem = format!("`{key}` of a job that is mapped");
                let remedy = format!("write `gpus` in place of `ranks`, or remove `{key}`");
                Err(fields.refuse(key, &problem, remedy))
            }
        };
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
    let (pattern, edges) = pattern(fields, gpus as usize)?;
    let servers_wanted = fields.optional::<u32>("servers_wanted")?;
    if servers_wanted.is_some_and(|wanted| wanted == 0 || wanted > gpus) {
        let remedy = format!("write 1 to {gpus}, which is the number of its GPUs");
        let problem = "no number of servers for these GPUs";
        return Err(fields.refuse("servers_wanted", problem, &remedy));
    }
    let exclusive = fields.or("exclusive", false)?;
    let policy = policy.map(ChosenPolicy);
    Ok(Some(Demand { gpus, policy, pattern, edges, servers_wanted, exclusive }))
}

/// Reads which of a job's GPUs talk to which: a ring where nothing is said.
fn pattern(
    fields: &Fields<'_>,
    gpus: usize,
) -> Result<(PatternShape, Option<Pattern>), InputError> {
    let shape = fields.named("pattern", PatternShape::from_name)?;
    let edges = fields.named("edges", |text| Pattern::read_edges(gpus, text))?;
    if shape.is_some() && edges.is_some() {
        let remedy = "remove `edges` or `pattern`";
        return Err(fields.refuse("edges", "edges beside a pattern", remedy));
    }
    Ok((shape.unwrap_or(PatternShape::Ring), edges))
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

/// Reads after how many iterations each a job keeps what it has done.
pub(super) fn checkpoint_iterations(fields: &Fields<'_>) -> Result<Option<u64>, InputError> {
    let every: Option<u32> = fields.optional("checkpoint_iterations")?;
    if every == Some(0) {
        let remedy = "write after how many iterations each it keeps what it has done, at least 1";
        return Err(fields.refuse("checkpoint_iterations", "no iterations at all", remedy));
    }
    Ok(every.map(u64::from))
}

/// Says whether jobs arrive, wait and get their GPUs, and not all of them by mappings from the
/// start.
pub(super) fn is_day(scenario: &Fields<'_>) -> Result<bool, InputError> {
    if scenario.has("jobs") || scenario.choice("fidelity")? == Some(Fidelity::Fluid) {
        return Ok(true);
    }
    Ok(scenario.tables("job")?.iter().any(|job| job.has("gpus")))
}
