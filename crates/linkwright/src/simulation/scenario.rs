//! A scenario: which machine, which jobs, under which choices.
//!
//! ```toml
//! [machine]
//! preset = "dgx1-v100"            # or file = "machine.toml"
//! unhealthy = [3]                 # optional
//!
//! [jobs]
//! file = "jobs.csv"               # or generate = { seed = 7, count = 300, max-gpus = 5 }
//!
//! [allocation]
//! policies = ["baseline", "preserve"]    # all four where absent
//! bandwidth-model = "sound"       # or "published"
//! bandwidth-profile = "mapa"      # or "data-sheet"
//!
//! [queue]
//! discipline = "fifo"             # or "backfill"
//! ```
//!
//! Only the shape and the names are checked here; files are read by the caller.

use serde::Deserialize;
use toml::Spanned;

use super::error::SimulationError;
use super::generate::MixOptions;
use super::server::QueueDiscipline;
use super::workload::Workload;
use crate::allocation::{BandwidthModel, POLICIES, Policy, policy};
use crate::diagnostic::{InputError, Position};
use crate::topology::BandwidthProfile;
use crate::units::Picoseconds;

/// Where the machine comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineSource {
    /// A preset, by name.
    Preset(String),
    /// A file that an importer reads, relative to the scenario.
    File(String),
}

/// Where the jobs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobSource {
    /// A CSV file, relative to the scenario.
    File(String),
    /// A generated mix.
    Generate(MixOptions),
}

/// A scenario, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// The machine.
    pub machine: MachineSource,
    /// GPUs that are out of order from the start.
    pub unhealthy: Vec<usize>,
    /// The jobs.
    pub jobs: JobSource,
    /// The policies to play them under, by name, at least one.
    pub policies: Vec<String>,
    /// Which model the policies rank by.
    pub bandwidth_model: BandwidthModel,
    /// Which figures label the links.
    pub bandwidth_profile: BandwidthProfile,
    /// In which order waiting jobs start.
    pub discipline: QueueDiscipline,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    machine: Spanned<MachineTable>,
    jobs: Spanned<JobsTable>,
    #[serde(default)]
    allocation: AllocationTable,
    #[serde(default)]
    queue: QueueTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineTable {
    preset: Option<String>,
    file: Option<String>,
    #[serde(default)]
    unhealthy: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobsTable {
    file: Option<String>,
    generate: Option<GenerateTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GenerateTable {
    #[serde(default)]
    seed: u64,
    count: Option<u32>,
    max_gpus: Option<u32>,
    workloads: Option<Vec<Spanned<String>>>,
    mean_interarrival: Option<Picoseconds>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct AllocationTable {
    policies: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    bandwidth_model: BandwidthModel,
    #[serde(default)]
    bandwidth_profile: BandwidthProfile,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    #[serde(default)]
    discipline: QueueDiscipline,
}

/// Reads a scenario from its TOML text; `file` names it in errors.
///
/// # Errors
/// Text that is not such TOML, unknown keys, policies or workloads, both or neither of two
/// sources, each with file, line and column.
pub fn read(file: &str, text: &str) -> Result<Scenario, SimulationError> {
    let parsed: File =
        toml::from_str(text).map_err(|error| InputError::from_toml(file, text, &error))?;
    let refuse = |span: std::ops::Range<usize>, problem: &str, remedy: String| {
        let value = text.get(span.clone()).unwrap_or_default();
        InputError::at(file, Position::of_offset(text, span.start), problem, value, remedy)
    };
    let span = parsed.machine.span();
    let machine = parsed.machine.into_inner();
    let source = match (machine.preset, machine.file) {
        (Some(preset), None) => MachineSource::Preset(preset),
        (None, Some(file)) => MachineSource::File(file),
        _ => {
            let remedy = "write either `preset` or `file`".to_owned();
            return Err(refuse(span, "not one source of the machine", remedy).into());
        }
    };
    let span = parsed.jobs.span();
    let jobs = match parsed.jobs.into_inner() {
        JobsTable { file: Some(file), generate: None } => JobSource::File(file),
        JobsTable { file: None, generate: Some(table) } => {
            for name in table.workloads.iter().flatten() {
                if Workload::find(name.get_ref()).is_err() {
                    let remedy = format!("the workloads are {}", Workload::known());
                    return Err(refuse(name.span(), "unknown workload", remedy).into());
                }
            }
            let default = MixOptions::default();
            let names =
                |list: Vec<Spanned<String>>| list.into_iter().map(Spanned::into_inner).collect();
            JobSource::Generate(MixOptions {
                seed: table.seed,
                count: table.count.unwrap_or(default.count),
                max_gpus: table.max_gpus.unwrap_or(default.max_gpus),
                workloads: table.workloads.map_or(default.workloads, names),
                mean_interarrival: table.mean_interarrival,
            })
        }
        _ => {
            let remedy = "write either `file` or `generate`".to_owned();
            return Err(refuse(span, "not one source of the jobs", remedy).into());
        }
    };
    let mut policies = Vec::new();
    for name in parsed.allocation.policies.iter().flatten() {
        let known = POLICIES.map(Policy::name).join(", ");
        if policy(name.get_ref()).is_err() {
            let remedy = format!("the policies are {known}");
            return Err(refuse(name.span(), "unknown policy", remedy).into());
        }
        if policies.contains(name.get_ref()) {
            let remedy = "name each policy once".to_owned();
            return Err(refuse(name.span(), "policy named twice", remedy).into());
        }
        policies.push(name.get_ref().clone());
    }
    if policies.is_empty() {
        policies = POLICIES.map(|policy| policy.name().to_owned()).to_vec();
    }
    Ok(Scenario {
        machine: source,
        unhealthy: machine.unhealthy,
        jobs,
        policies,
        bandwidth_model: parsed.allocation.bandwidth_model,
        bandwidth_profile: parsed.allocation.bandwidth_profile,
        discipline: parsed.queue.discipline,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "[machine]\npreset = \"dgx1-v100\"\n[jobs]\n\
        generate = { seed = 7, count = 20, max-gpus = 4, workloads = [\"gmm\"] }\n\
        [allocation]\npolicies = [\"greedy\"]\n";

    #[test]
    fn a_scenario_reads_with_its_defaults() {
        let scenario = read("s.toml", SMALL).unwrap();
        assert_eq!(scenario.policies, ["greedy"]);
        assert_eq!(scenario.bandwidth_model, BandwidthModel::Sound);
        assert_eq!(scenario.discipline, QueueDiscipline::Fifo);
        let JobSource::Generate(options) = scenario.jobs else { panic!("generated") };
        assert_eq!((options.seed, options.count, options.max_gpus), (7, 20, 4));
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, start) in [
            (SMALL.replace("greedy", "gready"), "s.toml:6:13: unknown policy"),
            (SMALL.replace("gmm", "gm"), "s.toml:4:63: unknown workload"),
            (SMALL.replace("preset", "presett"), "s.toml:2:1: "),
            (SMALL.replace("preset = \"dgx1-v100\"", ""), "s.toml:1:1: not one source"),
            (SMALL.replace("count = 20", "count = -2"), "s.toml:4:32: "),
            (format!("{SMALL}bandwidth-model = \"nice\"\n"), "s.toml:7:19: "),
        ] {
            let error = read("s.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
