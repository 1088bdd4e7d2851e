//! A scenario: which machine, which jobs, under which choices.
//!
//! ```toml
//! [machine]
//! preset = "dgx1-v100"            # or file = "machine.toml"
//! unhealthy = [3]                 # optional
//!
//! [jobs]
//! file = "jobs.csv"               # or generate = { seed = 7, count = 300, max_gpus = 5 }
//!
//! [allocation]
//! policies = ["baseline", "preserve"]    # all four where absent
//! bandwidth_model = "sound"       # or "published"
//! bandwidth_profile = "mapa"      # or "data-sheet"; by the machine where absent
//! ties = "nearest"                # or "published"
//!
//! [queue]
//! discipline = "fifo"             # or "backfill"
//! ```
//!
//! A key of several words may be written with hyphens, too. Only the shape and the names are
//! checked here; files are read by the caller.

use serde::Deserialize;
use toml::Spanned;

use super::error::SimulationError;
use super::generate::{MOST_JOBS, MixOptions};
use super::queue::QueueDiscipline;
use super::source::{Source, Tables};
use super::workload::Workload;
use crate::allocation::{BandwidthModel, POLICIES, Policy, Ties, policy};
use crate::diagnostic::{InputError, Position, closest, from_toml, toml_table};
use crate::system::{BandwidthProfile, presets};
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
    /// Where the scenario names its machine.
    pub machine_position: Position,
    /// GPUs that are out of order from the start.
    pub unhealthy: Vec<usize>,
    /// Where the scenario names each of those.
    pub unhealthy_positions: Vec<Position>,
    /// The jobs.
    pub jobs: JobSource,
    /// Where the scenario names its job file, or says what to generate.
    pub jobs_position: Position,
    /// The policies to play them under, by name, at least one.
    pub policies: Vec<String>,
    /// Which model the policies rank by.
    pub bandwidth_model: BandwidthModel,
    /// Which figures label the links; by the machine where absent.
    pub bandwidth_profile: Option<BandwidthProfile>,
    /// What decides between matches that tie in a policy's scores.
    pub ties: Ties,
    /// In which order waiting jobs start.
    pub discipline: QueueDiscipline,
}

/// The keys of each table, for the advice in errors; the structs below read them.
const TABLES: Tables = Tables {
    what: "a scenario",
    keys: &[
        ("", &["machine", "jobs", "allocation", "queue"]),
        ("machine", &["preset", "file", "unhealthy"]),
        ("jobs", &["file", "generate"]),
        ("jobs.generate", &["seed", "count", "max_gpus", "workloads", "mean_interarrival"]),
        ("allocation", &["policies", "bandwidth_model", "bandwidth_profile", "ties"]),
        ("queue", &["discipline"]),
    ],
};

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
    preset: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    #[serde(default)]
    unhealthy: Vec<Spanned<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobsTable {
    file: Option<Spanned<String>>,
    generate: Option<Spanned<GenerateTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerateTable {
    #[serde(default)]
    seed: u64,
    count: Option<Spanned<u32>>,
    #[serde(alias = "max-gpus")]
    max_gpus: Option<Spanned<u32>>,
    workloads: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(alias = "mean-interarrival")]
    mean_interarrival: Option<Picoseconds>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct AllocationTable {
    policies: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default, alias = "bandwidth-model")]
    bandwidth_model: BandwidthModel,
    #[serde(default, alias = "bandwidth-profile")]
    bandwidth_profile: Option<BandwidthProfile>,
    #[serde(default)]
    ties: Ties,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    #[serde(default)]
    discipline: QueueDiscipline,
}

impl Source<'_> {
    fn machine(
        self,
        table: &Spanned<MachineTable>,
    ) -> Result<(MachineSource, Position), InputError> {
        match (&table.get_ref().preset, &table.get_ref().file) {
            (Some(preset), None) => {
                let name = preset.get_ref();
                if !presets::NAMES.contains(&name.as_str()) {
                    let meant = closest(name, &presets::NAMES);
                    let advice = meant.map_or(String::new(), |it| format!("did you mean `{it}`? "));
                    let remedy = format!("{advice}the presets are {}", presets::NAMES.join(", "));
                    return Err(self.refuse(&preset.span(), "unknown preset", remedy));
                }
                Ok((MachineSource::Preset(name.clone()), self.position(&preset.span())))
            }
            (None, Some(file)) => {
                let source = MachineSource::File(file.get_ref().clone());
                Ok((source, self.position(&file.span())))
            }
            _ => {
                let remedy = "write either `preset` or `file`";
                Err(self.refuse(&table.span(), "not one source of the machine", remedy))
            }
        }
    }

    fn jobs(self, table: &Spanned<JobsTable>) -> Result<(JobSource, Position), InputError> {
        match (&table.get_ref().file, &table.get_ref().generate) {
            (Some(file), None) => {
                Ok((JobSource::File(file.get_ref().clone()), self.position(&file.span())))
            }
            (None, Some(mix)) => {
                let source = JobSource::Generate(self.mix(mix.get_ref())?);
                Ok((source, self.position(&mix.span())))
            }
            _ => {
                let remedy = "write either `file` or `generate`";
                Err(self.refuse(&table.span(), "not one source of the jobs", remedy))
            }
        }
    }

    fn mix(self, table: &GenerateTable) -> Result<MixOptions, InputError> {
        let at_least_one = |value: &Option<Spanned<u32>>, absent: u32| match value {
            Some(zero) if *zero.get_ref() == 0 => {
                Err(self.refuse(&zero.span(), "this cannot be zero", "write at least 1"))
            }
            value => Ok(value.as_ref().map_or(absent, |value| *value.get_ref())),
        };
        if let Some(count) = table.count.as_ref().filter(|count| *count.get_ref() > MOST_JOBS) {
            let problem = "this is more jobs than a mix may have";
            return Err(self.refuse(&count.span(), problem, format!("write 1 to {MOST_JOBS}")));
        }
        let default = MixOptions::default();
        let workloads = match &table.workloads {
            None => default.workloads,
            Some(names) => {
                self.names(names, "workload", |name| Workload::find(name).is_ok(), Workload::known)?
            }
        };
        Ok(MixOptions {
            seed: table.seed,
            count: at_least_one(&table.count, default.count)?,
            max_gpus: at_least_one(&table.max_gpus, default.max_gpus)?,
            workloads,
            mean_interarrival: table.mean_interarrival,
        })
    }

    fn policies(self, table: &AllocationTable) -> Result<Vec<String>, InputError> {
        let known = POLICIES.map(Policy::name);
        let Some(names) = &table.policies else {
            return Ok(known.map(str::to_owned).to_vec());
        };
        let policies =
            self.names(names, "policy", |name| policy(name).is_ok(), || known.join(", "))?;
        for (index, name) in names.get_ref().iter().enumerate() {
            if policies[..index].contains(name.get_ref()) {
                let remedy = "name each policy once";
                return Err(self.refuse(&name.span(), "policy named twice", remedy));
            }
        }
        Ok(policies)
    }

    /// The names of a list that is not empty and holds only known ones.
    fn names(
        self,
        list: &Spanned<Vec<Spanned<String>>>,
        what: &str,
        is_known: impl Fn(&str) -> bool,
        known: impl Fn() -> String,
    ) -> Result<Vec<String>, InputError> {
        if list.get_ref().is_empty() {
            let remedy = format!("name some of {}, or leave the key out for all", known());
            return Err(self.refuse(&list.span(), &format!("no {what} is named"), remedy));
        }
        let check = |name: &Spanned<String>| {
            if is_known(name.get_ref()) {
                return Ok(name.get_ref().clone());
            }
            let remedy = format!("there are {}", known());
            Err(self.refuse(&name.span(), &format!("unknown {what}"), remedy))
        };
        list.get_ref().iter().map(check).collect()
    }
}

/// Reads a scenario from its TOML text; `file` names it in errors.
///
/// # Errors
/// Text that is not such TOML, unknown keys, presets, policies or workloads, both or neither
/// of two sources, nothing to play, each with file, line and column.
pub fn read(file: &str, text: &str) -> Result<Scenario, SimulationError> {
    let source = Source { file, text };
    let document = toml_table(file, text)?;
    source.check_keys(TABLES, document.get_ref())?;
    let parsed: File = from_toml(file, text)?;
    let (machine, machine_position) = source.machine(&parsed.machine)?;
    let (jobs, jobs_position) = source.jobs(&parsed.jobs)?;
    let unhealthy = &parsed.machine.get_ref().unhealthy;
    Ok(Scenario {
        machine,
        machine_position,
        unhealthy: unhealthy.iter().map(|gpu| *gpu.get_ref()).collect(),
        unhealthy_positions: unhealthy.iter().map(|gpu| source.position(&gpu.span())).collect(),
        jobs,
        jobs_position,
        policies: source.policies(&parsed.allocation)?,
        bandwidth_model: parsed.allocation.bandwidth_model,
        bandwidth_profile: parsed.allocation.bandwidth_profile,
        ties: parsed.allocation.ties,
        discipline: parsed.queue.discipline,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "[machine]\npreset = \"dgx1-v100\"\n[jobs]\n\
        generate = { seed = 7, count = 20, max_gpus = 4, workloads = [\"gmm\"] }\n\
        [allocation]\npolicies = [\"greedy\"]\n";

    #[test]
    fn a_scenario_reads_with_its_defaults() {
        let scenario = read("s.toml", SMALL).unwrap();
        assert_eq!(scenario.policies, ["greedy"]);
        assert_eq!(scenario.bandwidth_model, BandwidthModel::Sound);
        assert_eq!(scenario.discipline, QueueDiscipline::Fifo);
        assert_eq!((scenario.bandwidth_profile, scenario.ties), (None, Ties::Nearest));
        let JobSource::Generate(options) = scenario.jobs else { panic!("generated") };
        assert_eq!((options.seed, options.count, options.max_gpus), (7, 20, 4));
    }

    #[test]
    fn keys_may_be_written_with_hyphens() {
        let underscored = format!(
            "{}bandwidth_model = \"published\"\nbandwidth_profile = \"data-sheet\"\n",
            SMALL.replace("count = 20", "mean_interarrival = \"9 s\"")
        );
        let scenario = read("s.toml", &underscored).unwrap();
        assert_eq!(scenario.bandwidth_model, BandwidthModel::Published);
        assert_eq!(scenario.bandwidth_profile, Some(BandwidthProfile::DataSheet));
        let keys = ["bandwidth_model", "bandwidth_profile", "max_gpus", "mean_interarrival"];
        let hyphens = keys
            .iter()
            .fold(underscored.clone(), |text, key| text.replace(key, &key.replace('_', "-")));
        assert_ne!(hyphens, underscored);
        assert_eq!(read("s.toml", &hyphens).unwrap(), scenario);
        let both = underscored.replace("max_gpus = 4", "max_gpus = 4, max-gpus = 4");
        let error = read("s.toml", &both).unwrap_err().to_string();
        assert!(error.contains("duplicate field `max_gpus`"), "{error}");
    }

    #[test]
    fn every_key_that_is_listed_reads() {
        let text = "[machine]\nfile = \"m.toml\"\nunhealthy = [1]\n[jobs]\n\
            generate = { seed = 1, count = 2, max_gpus = 3, workloads = [\"gmm\"], \
            mean_interarrival = \"1 s\" }\n[allocation]\npolicies = [\"greedy\"]\n\
            bandwidth_model = \"sound\"\nbandwidth_profile = \"mapa\"\nties = \"published\"\n\
            [queue]\ndiscipline = \"fifo\"\n";
        let scenario = read("s.toml", text).unwrap();
        assert_eq!(scenario.machine_position, Position { line: 2, column: 8 });
        assert_eq!(scenario.jobs_position, Position { line: 5, column: 12 });
        assert_eq!(scenario.unhealthy, [1]);
        assert_eq!(scenario.unhealthy_positions, [Position { line: 3, column: 14 }]);
        for (_, keys) in TABLES.keys {
            assert!(keys.iter().all(|key| text.contains(key) || *key == "preset"));
        }
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, start) in [
            (SMALL.replace("greedy", "gready"), "s.toml:6:13: unknown policy"),
            (SMALL.replace("gmm", "gm"), "s.toml:4:63: unknown workload"),
            (SMALL.replace("preset", "presett"), "s.toml:2:1: unknown key: `presett`; did you me"),
            (
                SMALL.replace("v100", "v10"),
                "s.toml:2:10: unknown preset: `\"dgx1-v10\"`; did you m",
            ),
            (SMALL.replace("max_g", "max_G"), "s.toml:4:36: unknown key: `max_Gpus`; did you mean"),
            (
                SMALL.replace("[allo", "[alo"),
                "s.toml:5:2: unknown key: `alocation`; did you mean `",
            ),
            (SMALL.replace("[\"greedy\"]", "[]"), "s.toml:6:12: no policy is named: `[]`; name so"),
            (SMALL.replace("[\"gmm\"]", "[]"), "s.toml:4:62: no workload is named: `[]`; name"),
            (SMALL.replace("gpus = 4", "gpus = 0"), "s.toml:4:47: this cannot be zero: `0`; "),
            (SMALL.replace("count = 20", "count = 0"), "s.toml:4:32: this cannot be zero: `0`; "),
            (
                SMALL.replace("\n[allo", "\nx = 1\n[allo"),
                "s.toml:5:1: unknown key: `x`; the keys of",
            ),
            (SMALL.replace("preset = \"dgx1-v100\"", ""), "s.toml:1:1: not one source"),
            (
                SMALL.replace("count = 20", "count = 1000000000"),
                "s.toml:4:32: this is more jobs than a mix may have: `1000000000`; write 1 to ",
            ),
            (SMALL.replace("count = 20", "count = -2"), "s.toml:4:32: "),
            (format!("{SMALL}bandwidth_model = \"nice\"\n"), "s.toml:7:19: "),
        ] {
            let error = read("s.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
