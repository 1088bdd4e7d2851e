//! A scenario of a cluster: its network, its messaging library and its jobs, in TOML.
//!
//! ```toml
//! name = "two stencils"
//! seed = 7                          # of routing and of random mappings, 0 where absent
//! mapping = "linear"                # or "random", or a mapping file, for all jobs
//!
//! [network]
//! kind = "fat-tree"                 # or file = "my-graph.toml"
//! pods = 2                          # and the other parameters of the kind
//! bandwidth_scale = "2x"            # of every link; or bandwidth = "11.9 GB/s"
//! routing = "adaptive"
//! gpus_per_node = 4
//! nic = "rr-4"
//! fidelity = "packet"               # or "flow"
//!
//! [protocol]
//! eager_limit = "64 kB"
//!
//! [collectives]
//! all_reduce = "planned"            # or an algorithm's name, such as "ring"
//!
//! [[job]]
//! name = "a"
//! program = "stencil4d"             # or goal = "file.goal", or trace = "traces.otf2"
//! ranks = 64
//! parameters = { message = "64 KiB" }
//! iterations = 10
//! gpu = true                        # or computation_scale = 0.1
//!
//! [[job]]
//! program = "kripke"
//! ranks = 32
//! start = "1 ms"
//! mapping = "random"
//! ```
//!
//! A trace's loop is the region that `main_loop` names. Every key may be absent but a job's
//! program and its ranks. A key of several words may be written
//! with hyphens, too. Only the text is read here; the files that it names are the caller's to
//! read ([`ClusterScenario::files`]) and to hand over ([`ClusterScenario::build`]).

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::collectives;
use super::entry::{self, JobEntry, ProgramSource, ScenarioMapping, mapping};
use super::fields::{Fields, FileName, SpannedTable};
use super::files::{Files, text_of};
use super::network::{self, FabricSource, NetworkSettings};
use super::placement::{Mapping, PlacementError, place};
use super::servers::{self, ServerEntry};
use super::{Cluster, ClusterJob};
use crate::diagnostic::{InputError, Position, from_toml, toml_table};
use crate::program::Program;
use crate::program::trace::TraceNote;
use crate::program::workload::{Gpu, read_mapping};
use crate::simulation::source::{Source, Tables};

/// The keys of a network's settings on their own.
const SETTINGS: Tables = Tables {
    what: "the settings",
    keys: &[
        ("", network::SETTINGS_KEYS),
        ("system", &["server"]),
        ("system.server", servers::KEYS),
        ("protocol", network::PROTOCOL_KEYS),
        ("collectives", collectives::KEYS),
    ],
};

/// The keys of a scenario.
const TABLES: Tables = Tables {
    what: "a scenario",
    keys: &[
        ("", &["name", "seed", "mapping", "system", "network", "protocol", "collectives", "job"]),
        ("system", &["server"]),
        ("system.server", servers::KEYS),
        ("network", network::KEYS),
        ("protocol", network::PROTOCOL_KEYS),
        ("collectives", collectives::KEYS),
        ("job", entry::KEYS),
    ],
};

/// A scenario of a cluster, checked as far as its own text goes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterScenario {
    /// What errors call its text.
    pub file: String,
    /// What people call it; empty where it has no name.
    pub name: String,
    /// What fixes every choice by chance.
    pub seed: u64,
    /// The network and how it is simulated.
    pub network: NetworkSettings,
    /// How jobs without a mapping of their own find their GPUs.
    pub mapping: ScenarioMapping,
    /// The jobs, at least one.
    pub jobs: Vec<JobEntry>,
}

/// What a scenario describes, ready to be played.
#[derive(Debug, Clone)]
pub struct BuiltScenario {
    /// The system.
    pub cluster: Cluster,
    /// The jobs, each with its GPUs.
    pub jobs: Vec<ClusterJob>,
    /// What was left out of programs from traces or could not be told, by the program's name.
    pub notes: Vec<(String, TraceNote)>,
}

/// The program of each job, and the notes of what was read for them.
type Programs = (Vec<Arc<Program>>, Vec<(String, TraceNote)>);

/// The tables of a scenario within its text.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    system: SystemPart,
    network: Option<Spanned<SpannedTable>>,
    protocol: Option<Spanned<SpannedTable>>,
    collectives: Option<Spanned<SpannedTable>>,
    #[serde(default)]
    job: Vec<Spanned<SpannedTable>>,
}

/// The servers of a scenario.
#[derive(Deserialize, Default)]
struct SystemPart {
    #[serde(default)]
    server: Vec<Spanned<SpannedTable>>,
}

impl SystemPart {
    /// Each server's fields.
    fn fields(self, source: Source<'_>) -> Result<Vec<Fields<'_>>, InputError> {
        let each = self.server.into_iter();
        each.map(|table| Fields::new(source, table.span(), table.into_inner())).collect()
    }
}

fn parts(source: Source<'_>, tables: Tables) -> Result<(Fields<'_>, Parts), InputError> {
    let Source { file, text } = source;
    let document = toml_table(file, text)?;
    source.check_keys(tables, document.get_ref())?;
    let parts: Parts = from_toml(file, text)?;
    let mut top: SpannedTable = from_toml(file, text)?;
    for table in ["system", "network", "protocol", "collectives", "job"] {
        top.remove(table);
    }
    Ok((Fields::new(source, START, top)?, parts))
}

/// What an error points at that concerns the whole text.
const START: Range<usize> = 0..0;

fn table(
    source: Source<'_>,
    table: Option<Spanned<SpannedTable>>,
) -> Result<Option<Fields<'_>>, InputError> {
    let fields = table.map(|table| Fields::new(source, table.span(), table.into_inner()));
    fields.transpose()
}

/// Whether a scenario's text is of a cluster, which has a `[network]` and `[[job]]`s, and not of
/// a shared server, which has a `[machine]` and `[jobs]`; a text that is no TOML is of neither.
#[must_use]
pub fn is_cluster_scenario(text: &str) -> bool {
    let Ok(document) = toml_table("", text) else { return false };
    let has = |key: &&str| document.get_ref().keys().any(|it| it.get_ref() == key);
    ["job", "network", "protocol", "collectives", "system"].iter().any(has)
        && !["machine", "jobs"].iter().any(has)
}

/// Reads the settings of a network from a TOML text whose top level is a scenario's `[network]`,
/// with `seed` and `[protocol]` beside; `file` names the text in errors.
///
/// # Errors
/// Text that is no such TOML, unknown keys, values out of range, each with line and column.
pub fn read_network(file: &str, text: &str) -> Result<NetworkSettings, InputError> {
    let source = Source { file, text };
    let (fields, parts) = parts(source, SETTINGS)?;
    let protocol = table(source, parts.protocol)?;
    let collectives = table(source, parts.collectives)?;
    let seed = fields.or("seed", 0)?;
    let listed = parts.system.fields(source)?;
    NetworkSettings::read(&fields, protocol.as_ref(), collectives.as_ref(), &listed, seed)
}

/// Reads a scenario from its TOML text; `file` names it in errors.
///
/// # Errors
/// Text that is no such TOML, unknown keys, applications, routings and policies, values out of
/// range, two jobs of one name, no job at all: each with line and column.
pub fn read_scenario(file: &str, text: &str) -> Result<ClusterScenario, InputError> {
    let source = Source { file, text };
    let (top, parts) = parts(source, TABLES)?;
    let network = match table(source, parts.network)? {
        Some(network) => network,
        None => Fields::new(source, START, SpannedTable::new())?,
    };
    let protocol = table(source, parts.protocol)?;
    let collectives = table(source, parts.collectives)?;
    let seed = top.or("seed", 0)?;
    let listed = parts.system.fields(source)?;
    let network =
        NetworkSettings::read(&network, protocol.as_ref(), collectives.as_ref(), &listed, seed)?;
    if let FabricSource::Specification(specification) = &network.fabric
        && network.servers.is_empty()
        && let Ok(fabric) = specification.build()
    {
        let gpus = fabric.nodes().saturating_mul(network.node.gpus);
        check_room(source, &parts.job, gpus)?;
    }
    if parts.job.is_empty() {
        let remedy = "write a `[[job]]` with `program` and `ranks`";
        return Err(source.refuse(&(text.len()..text.len()), "a scenario without jobs", remedy));
    }
    let mapping = match mapping(&top)? {
        Some(ScenarioMapping::Given(Mapping::Gpus(_))) => {
            let remedy = "write \"linear\", \"random\" or a file's name; lists are for single jobs";
            return Err(top.refuse("mapping", "a list of GPUs for all jobs", remedy));
        }
        Some(mapping) => mapping,
        None => ScenarioMapping::Given(Mapping::Linear),
    };
    let jobs = parts.job.into_iter().map(|table| JobEntry::read(source, table));
    let jobs: Vec<JobEntry> = jobs.collect::<Result<_, _>>()?;
    let refuse = |position: Position, problem: &str, value: &str, remedy: &str| {
        Err(InputError::at(file, position, problem, value, remedy))
    };
    for (index, job) in jobs.iter().enumerate() {
        if let Some(name) = &job.name
            && jobs[..index].iter().any(|other| other.name.as_ref() == Some(name))
        {
            let remedy = "give each job a name of its own, or leave it out";
            return refuse(job.places.name, "a second job of this name", name, remedy);
        }
        if matches!(mapping, ScenarioMapping::File(_)) && job.mapping.is_some() {
            let remedy = "the scenario's mapping file places all jobs; remove one of the two";
            return refuse(job.places.mapping, "a mapping beside that of all jobs", "", remedy);
        }
    }
    let name = top.or("name", String::new())?;
    Ok(ClusterScenario { file: file.to_owned(), name, seed, network, mapping, jobs })
}

/// Refuses more ranks than GPUs before the jobs are read, which makes the program of each.
fn check_room(
    source: Source<'_>,
    jobs: &[Spanned<SpannedTable>],
    gpus: u32,
) -> Result<(), InputError> {
    let sizes = jobs.iter().filter_map(|job| {
        let ranks = job.get_ref().get("ranks")?;
        Some((ranks.span(), u64::try_from(ranks.get_ref().as_integer()?).ok()?))
    });
    let mut ranks = 0_u64;
    let mut first = None;
    for (span, size) in sizes {
        ranks = ranks.saturating_add(size);
        if ranks > u64::from(gpus) {
            first.get_or_insert(span);
        }
    }
    match first {
        Some(span) => Err(unplaced(
            source.file,
            source.position(&span),
            &PlacementError::TooManyRanks { ranks, gpus },
        )),
        None => Ok(()),
    }
}

/// The error of jobs that cannot be placed.
fn unplaced(file: &str, position: Position, error: &PlacementError) -> InputError {
    let message = error.to_string();
    let (problem, remedy) = message.split_once("; ").unwrap_or((&message, "map it otherwise"));
    InputError::at(file, position, problem, "", remedy)
}

impl ClusterScenario {
    /// The files that it names, in the order of its tables. An archive's anchor stands for all
    /// of its files: `dir/traces.otf2` for `dir/traces.def`, `dir/traces/0.evt` and so on.
    #[must_use]
    pub fn files(&self) -> Vec<&FileName> {
        let fabric = match &self.network.fabric {
            FabricSource::File(file) => Some(file),
            FabricSource::Specification(_) => None,
        };
        let mapping = match &self.mapping {
            ScenarioMapping::File(file) => Some(file),
            ScenarioMapping::Given(_) => None,
        };
        let servers = self.network.servers.iter().filter_map(ServerEntry::file);
        let network = servers.chain(fabric).chain(&self.network.routing_table);
        network.chain(mapping).chain(self.jobs.iter().flat_map(JobEntry::files)).collect()
    }

    /// The cluster and its jobs, each with its GPUs, from the files that it names, and what the
    /// reading of traces had to leave out.
    ///
    /// # Errors
    /// A file that is not given or that its reader refuses, iterations of a program without a
    /// loop, jobs that do not fit on the cluster: each with file, line and column.
    pub fn build(&self, files: &Files) -> Result<BuiltScenario, InputError> {
        let cluster = self.network.build(&self.file, files)?;
        let names = self.names();
        self.check_room(cluster.gpus())?;
        let (programs, notes) = self.programs(files)?;
        let mappings = self.mappings(&programs, cluster.gpus(), files)?;
        let wanted: Vec<(&str, u32, &Mapping)> = names
            .iter()
            .zip(&programs)
            .zip(&mappings)
            .map(|((name, program), mapping)| (name.as_str(), program.ranks.len() as u32, mapping))
            .collect();
        let placed = place(&wanted, cluster.gpus(), self.seed)
            .map_err(|error| self.unplaced(&error, &sizes_of(&programs)))?;
        let parts = names.into_iter().zip(programs).zip(placed);
        let jobs = self.jobs.iter().zip(parts).map(|(entry, ((name, program), gpus))| ClusterJob {
            name,
            program,
            iterations: entry.iterations,
            start: entry.start,
            computation_scale: entry.computation_scale,
            priority: entry.priority,
            mapping: Some(Mapping::Gpus(gpus)),
        });
        Ok(BuiltScenario { cluster, jobs: jobs.collect(), notes })
    }

    /// Refuses more ranks than GPUs before any program is made.
    fn check_room(&self, gpus: u32) -> Result<(), InputError> {
        let known = |job: &JobEntry| match job.program {
            ProgramSource::Skeleton { ranks, .. } => ranks,
            ProgramSource::Goal(_) | ProgramSource::Trace { .. } => 0,
        };
        let sizes: Vec<u32> = self.jobs.iter().map(known).collect();
        let ranks = sizes.iter().copied().map(u64::from).sum();
        if ranks <= u64::from(gpus) {
            return Ok(());
        }
        Err(self.unplaced(&PlacementError::TooManyRanks { ranks, gpus }, &sizes))
    }

    /// A name for each job: its own, or its program's with a number if that is taken.
    fn names(&self) -> Vec<String> {
        let mut taken: BTreeSet<String> =
            self.jobs.iter().filter_map(|job| job.name.clone()).collect();
        let mut names = Vec::with_capacity(self.jobs.len());
        for job in &self.jobs {
            let natural = job.natural_name();
            let mut name = natural.to_owned();
            if job.name.is_none() {
                let mut number = 1_u32;
                while !taken.insert(name.clone()) {
                    number += 1;
                    name = format!("{natural}-{number}");
                }
            }
            names.push(name);
        }
        names
    }

    /// The program of each job; equal ones are made once and shared. Beside them the notes of
    /// each trace that was read.
    fn programs(&self, files: &Files) -> Result<Programs, InputError> {
        let mut made: Vec<(&ProgramSource, Arc<Program>)> = Vec::new();
        let mut notes = Vec::new();
        for job in &self.jobs {
            let known = made.iter().find(|(source, _)| is_same(source, &job.program));
            let program = match known {
                Some((_, program)) => Arc::clone(program),
                None => {
                    let (program, of_trace) = job.build(&self.file, files)?;
                    let of_program = |note| (program.name.clone(), note);
                    notes.extend(of_trace.into_iter().map(of_program));
                    program
                }
            };
            made.push((&job.program, program));
        }
        Ok((made.into_iter().map(|(_, program)| program).collect(), notes))
    }

    fn mappings(
        &self,
        programs: &[Arc<Program>],
        gpus: u32,
        files: &Files,
    ) -> Result<Vec<Mapping>, InputError> {
        let sizes = sizes_of(programs);
        let read = |file: &FileName, sizes: &[u32]| {
            read_mapping(&file.name, text_of(&self.file, file, files)?, sizes, gpus)
        };
        let of_all: Vec<Mapping> = match &self.mapping {
            ScenarioMapping::Given(mapping) => vec![mapping.clone(); self.jobs.len()],
            ScenarioMapping::File(file) => {
                read(file, &sizes)?.into_iter().map(Mapping::Gpus).collect()
            }
        };
        let jobs = self.jobs.iter().zip(of_all).zip(sizes);
        jobs.map(|((job, of_all), size)| match &job.mapping {
            None => Ok(of_all),
            Some(ScenarioMapping::Given(mapping)) => Ok(mapping.clone()),
            Some(ScenarioMapping::File(file)) => {
                let gpus: Vec<Vec<Gpu>> = read(file, &[size])?;
                Ok(Mapping::Gpus(gpus.concat()))
            }
        })
        .collect()
    }

    /// Why jobs have no place, at the one that is to blame.
    fn unplaced(&self, error: &PlacementError, sizes: &[u32]) -> InputError {
        let position = match error {
            PlacementError::TooManyRanks { gpus, .. } => {
                let mut ranks = 0;
                let first = sizes.iter().position(|size| {
                    ranks += u64::from(*size);
                    ranks > u64::from(*gpus)
                });
                self.jobs[first.unwrap_or(0)].places.ranks
            }
            PlacementError::Length { job, .. }
            | PlacementError::UnknownGpu { job, .. }
            | PlacementError::SharedGpu { job, .. } => self.jobs[*job].places.mapping,
        };
        unplaced(&self.file, position, error)
    }
}

/// The ranks of each program.
fn sizes_of(programs: &[Arc<Program>]) -> Vec<u32> {
    programs.iter().map(|program| program.ranks.len() as u32).collect()
}

/// Whether two sources give one program.
fn is_same(a: &ProgramSource, b: &ProgramSource) -> bool {
    match (a, b) {
        // The places where a scenario names a file do not matter.
        (ProgramSource::Goal(a), ProgramSource::Goal(b)) => a.name == b.name,
        (
            ProgramSource::Trace { anchor: a, main_loop: of_a },
            ProgramSource::Trace { anchor: b, main_loop: of_b },
        ) => a.name == b.name && of_a == of_b,
        _ => a == b,
    }
}
