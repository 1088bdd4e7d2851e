//! Reads one `[[job]]` of a scenario.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use toml::{Table, Value};

use super::demand::{self, Demand};
use super::fields::{Fields, FileName, deadline};
use super::files::{Beside, Files, bytes_of, text_of};
use super::kernel_job::KernelJob;
use super::model_job::ModelSource;
use super::source::Place;
use super::training_job::TrainingSource;
use super::tree::Node;
use super::workload_job::WorkloadSource;
use crate::diagnostic::{Chosen, InputError, Named};
use crate::program::skeletons::{Application, SkeletonError, application};
use crate::program::trace::{
    CollectiveBytes, TraceFault, TraceNote, TraceOptions, TraceReader, archive_name, reader_of,
};
use crate::program::workload::Gpu;
use crate::program::{Program, goal};
use crate::simulation::cluster::{Mapping, MappingRule, PlacedProgramError, placed_program};
use crate::system::System;
use crate::units::Picoseconds;

/// Where a job's program comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgramSource {
    /// Runs a skeleton of an application.
    Skeleton {
        /// Names the application.
        application: Chosen<dyn Application>,
        /// Counts the ranks.
        ranks: u32,
        /// Holds the application's parameters, by name.
        parameters: Table,
    },
    /// Names a file of GOAL text.
    Goal(FileName),
    /// Reads a recorded trace, such as an archive of the Open Trace Format 2.
    Trace {
        /// Reads it.
        reader: Chosen<dyn TraceReader>,
        /// Names its anchor file.
        anchor: FileName,
        /// The region of the main loop, if it is not that which TraceR's users mark.
        main_loop: Option<String>,
        /// Says how the recorded bytes of its collectives are counted.
        collective_bytes: CollectiveBytes,
    },
    /// Steps of training, on the GPUs that the job gets.
    Training(Box<TrainingSource>),
    /// Steps of training a language model by a layout.
    Model(Box<ModelSource>),
    /// A published workload, on the GPUs that the job gets.
    Workload(Box<WorkloadSource>),
    /// A kernel in the memory of the GPUs that the job gets.
    Kernel(Box<KernelJob>),
}

impl ProgramSource {
    /// A text that sources have in common which give one program.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Skeleton { application, ranks, parameters } => {
                format!("program {application:?} {ranks} {parameters}")
            }
            Self::Goal(file) => format!("goal {}", file.name),
            Self::Trace { anchor, main_loop, .. } => {
                format!("trace {} {main_loop:?}", anchor.name)
            }
            Self::Training(training) => format!("training {training:?}"),
            Self::Model(model) => format!("model {model:?}"),
            Self::Workload(workload) => format!("workload {workload:?}"),
            Self::Kernel(kernel) => format!("kernel {kernel:?}"),
        }
    }

    /// How many ranks it has, if its program follows from the GPUs that they get.
    pub(super) fn ranks_on_gpus(&self) -> Option<u32> {
        match self {
            Self::Training(_) | Self::Model(_) | Self::Workload(_) | Self::Kernel(_) => {
                self.ranks()
            }
            Self::Skeleton { application: Chosen(application), parameters, .. } => {
                self.ranks().filter(|_| application.knows_places(parameters))
            }
            Self::Goal(_) | Self::Trace { .. } => None,
        }
    }

    /// How many ranks it has, where that is known before its program is made.
    pub(super) const fn ranks(&self) -> Option<u32> {
        match self {
            Self::Skeleton { ranks, .. } => Some(*ranks),
            Self::Training(training) => Some(training.ranks),
            Self::Model(model) => Some(model.ranks),
            Self::Workload(workload) => Some(workload.ranks),
            Self::Kernel(kernel) => Some(kernel.ranks),
            Self::Goal(_) | Self::Trace { .. } => None,
        }
    }
}

/// Says how a scenario maps ranks to GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioMapping {
    /// Maps by a rule or a list.
    Given(Mapping),
    /// Maps by a mapping file.
    File(FileName),
}

/// Holds a job as written.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEntry {
    /// Its name, if it has one of its own.
    pub name: Option<String>,
    /// Where its program comes from.
    pub program: ProgramSource,
    /// How often the main loop runs.
    pub iterations: NonZeroU32,
    /// Says when its ranks start.
    pub start: Picoseconds,
    /// Scales the durations of computation.
    pub computation_scale: f64,
    /// Gives the priority of its messages.
    pub priority: u8,
    /// How long each of its copies may take, in thousandths of its time on an idle bus.
    pub deadline: Option<NonZeroU32>,
    /// Holds its own mapping.
    pub mapping: Option<ScenarioMapping>,
    /// Says what it asks a policy for; None where a mapping places its ranks.
    pub demand: Option<Demand>,
    /// How long it runs at most.
    pub time_limit: Option<Picoseconds>,
    /// After how many iterations each it keeps what it has done, should its GPUs fail.
    pub checkpoint_iterations: Option<u64>,
    /// Says where errors of building it point.
    pub places: JobPlaces,
}

/// Holds the places that errors of a job point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobPlaces {
    /// Points at its name.
    pub name: Place,
    /// Points at the key that says its program.
    pub program: Place,
    /// Points at its number of ranks or of GPUs, or its program's file.
    pub ranks: Place,
    /// Points at its iterations.
    pub iterations: Place,
    /// Points at its mapping.
    pub mapping: Place,
}

/// Reads a mapping from the value of a key: a rule's name, a file's, or a list.
pub(super) fn mapping(fields: &Fields<'_>) -> Result<Option<ScenarioMapping>, InputError> {
    let Some(value) = fields.value("mapping") else { return Ok(None) };
    let mapping = match &value {
        Value::Array(_) => {
            let gpus: Option<Vec<Gpu>> = fields.optional("mapping")?;
            ScenarioMapping::Given(Mapping::Gpus(gpus.unwrap_or_default()))
        }
        Value::String(name) => match (MappingRule::from_name(name), fields.file("mapping")?) {
            (Ok(rule), _) => ScenarioMapping::Given(Mapping::Rule(rule)),
            (Err(_), Some(file)) => ScenarioMapping::File(file),
            (Err(_), None) => return Ok(None),
        },
        _ => {
            let remedy = "write a rule such as \"linear\", a file's name, or a list of GPUs";
            return Err(fields.refuse("mapping", "no mapping", remedy));
        }
    };
    Ok(Some(mapping))
}

/// Where a parameter stands.
fn parameter_span(fields: &Fields<'_>, key: &str) -> std::ops::Range<usize> {
    let tree = fields.node("parameters").and_then(Node::as_tree);
    let entry = tree.and_then(|tree| tree.get(key));
    entry.map_or_else(|| fields.span_of("parameters"), |entry| entry.node.span.clone())
}

/// The programs that were made to see whether they can be: many jobs may have the same.
pub(super) type Sound = BTreeSet<String>;

/// An application's refusal, at the value that is to blame.
fn skeleton_error(
    fields: &Fields<'_>,
    application: &dyn Application,
    ranks: u32,
    parameters: &Table,
    error: &SkeletonError,
) -> InputError {
    let place = match error {
        SkeletonError::Unknown { .. } => fields.span_of("program"),
        SkeletonError::Ranks { .. } => fields.span_of(demand::key_of_ranks(fields)),
        SkeletonError::Parameter { parameter, .. } => parameter_span(fields, parameter),
        SkeletonError::Options { .. } | SkeletonError::Message { .. } => {
            // The reader names no key; the one that is refused on its own is the one.
            let refused = parameters.iter().find(|(key, value)| {
                let alone = Table::from_iter([((*key).clone(), (*value).clone())]);
                matches!(
                    application.program(ranks, &alone),
                    Err(SkeletonError::Options { .. } | SkeletonError::Message { .. })
                )
            });
            let key = refused.map_or("", |(key, _)| key.as_str());
            parameter_span(fields, key)
        }
    };
    fields.source.refuse_as(&place, error, "see the file format in the reference")
}

fn skeleton(
    fields: &Fields<'_>,
    sound: &mut Sound,
) -> Result<(ProgramSource, Option<f64>), InputError> {
    let known = &fields.source.registries.applications;
    let Some(application) = fields.named("program", |name| application(name, known))? else {
        let names = known.names().join(", ");
        let remedy =
            format!("write `program` with one of {names}, `workload`, or `goal` with a file");
        return Err(fields.source.refuse(&fields.span, "a job without a program", remedy));
    };
    let Some(ranks) = demand::ranks(fields)? else {
        let remedy = "write how many ranks it has, such as `ranks = 64`";
        return Err(fields.refuse("program", "a program without `ranks`", remedy));
    };
    let parameters = fields.or("parameters", Table::new())?;
    let is_whole = !application.knows_places(&parameters);
    if is_whole && sound.insert(format!("{} {ranks} {parameters}", application.name())) {
        application
            .program(ranks, &parameters)
            .map_err(|error| skeleton_error(fields, application, ranks, &parameters, &error))?;
    }
    let speedup = Some(application.gpu_speedup());
    Ok((ProgramSource::Skeleton { application: Chosen(application), ranks, parameters }, speedup))
}

/// The program's source, and how much faster GPUs compute it if that is known.
fn program(
    fields: &Fields<'_>,
    sound: &mut Sound,
    collective_bytes: CollectiveBytes,
) -> Result<(ProgramSource, Option<f64>), InputError> {
    if let Some(kernel) = KernelJob::read(fields)? {
        return Ok((ProgramSource::Kernel(Box::new(kernel)), None));
    }
    if let Some(workload) = WorkloadSource::read(fields)? {
        return Ok((ProgramSource::Workload(Box::new(workload)), None));
    }
    if fields.has("train") {
        let others = ["program", "goal", "trace", "main_loop", "gpu", "model"];
        if let Some(other) = others.iter().find(|other| fields.has(other)) {
            let problem = format!("`{other}` beside a network that is trained");
            let remedy = format!("remove `{other}` or `train`");
            return Err(fields.refuse(other, &problem, remedy));
        }
        return Ok((ProgramSource::Training(Box::new(TrainingSource::read(fields)?)), None));
    }
    if fields.has("model") {
        let others = ["program", "goal", "trace", "main_loop", "gpu"];
        if let Some(other) = others.iter().find(|other| fields.has(other)) {
            let problem = format!("`{other}` beside a model that is trained");
            let remedy = format!("remove `{other}` or `model`");
            return Err(fields.refuse(other, &problem, remedy));
        }
        return Ok((ProgramSource::Model(Box::new(ModelSource::read(fields)?)), None));
    }
    let (goal, trace) = (fields.file("goal")?, fields.file("trace")?);
    let key = if trace.is_some() { "trace" } else { "goal" };
    let others: &[&str] = match (&goal, &trace) {
        (None, None) if fields.has("main_loop") => {
            let remedy = "a trace's region is named so; write `trace`, or remove `main_loop`";
            return Err(fields.refuse("main_loop", "a main loop without a trace", remedy));
        }
        (None, None) => return skeleton(fields, sound),
        (_, Some(_)) => &["program", "ranks", "parameters", "goal"],
        (Some(_), None) => &["program", "ranks", "parameters", "main_loop"],
    };
    if let Some(other) = others.iter().find(|other| fields.has(other)) {
        let problem = format!("`{other}` beside a file that holds the program");
        let remedy = format!("remove `{other}` or `{key}`");
        return Err(fields.refuse(other, &problem, remedy));
    }
    let source = match (goal, trace) {
        (_, Some(anchor)) => {
            let main_loop = fields.optional("main_loop")?;
            let reader = Chosen(reader_of(&anchor.name, &fields.source.registries.traces));
            ProgramSource::Trace { reader, anchor, main_loop, collective_bytes }
        }
        (Some(file), None) => ProgramSource::Goal(file),
        (None, None) => return skeleton(fields, sound),
    };
    Ok((source, None))
}

fn computation_scale(fields: &Fields<'_>, speedup: Option<f64>) -> Result<f64, InputError> {
    let scale: Option<f64> = match fields.value("computation_scale") {
        // A whole number is a factor too.
        Some(Value::Integer(whole)) => Some(whole as f64),
        _ => fields.optional("computation_scale")?,
    };
    let on_gpus = fields.or("gpu", false)?;
    match (scale, on_gpus, speedup) {
        (Some(_), true, _) => {
            let remedy = "both scale the computation; write one of them";
            Err(fields.refuse("gpu", "a scale and `gpu`", remedy))
        }
        (Some(scale), false, _) if scale.is_finite() && scale >= 0.0 => Ok(scale),
        (Some(_), false, _) => {
            let remedy = "write a number from 0, such as 0.5 for a processor twice as fast";
            Err(fields.refuse("computation_scale", "no scale of computation", remedy))
        }
        (None, true, Some(speedup)) => Ok(1.0 / speedup),
        (None, true, None) => {
            let remedy = "write `computation_scale`, such as 0.1 for ten times as fast";
            Err(fields.refuse("gpu", "nobody knows how fast GPUs compute this program", remedy))
        }
        (None, false, _) => Ok(1.0),
    }
}

impl JobEntry {
    /// The job in a table, of a scenario that says what traces count as bytes of collectives.
    pub(super) fn read(
        fields: &Fields<'_>,
        sound: &mut Sound,
        collective_bytes: CollectiveBytes,
    ) -> Result<Self, InputError> {
        let (program, speedup) = program(fields, sound, collective_bytes)?;
        let iterations: u32 = fields.or("iterations", 1)?;
        let Some(iterations) = NonZeroU32::new(iterations) else {
            return Err(fields.refuse("iterations", "this cannot be zero", "write at least 1"));
        };
        Ok(Self {
            name: fields.optional("name")?,
            iterations,
            start: fields.or("start", Picoseconds(0))?,
            computation_scale: computation_scale(fields, speedup)?,
            priority: fields.or("priority", 0)?,
            deadline: deadline(fields)?,
            mapping: mapping(fields)?,
            demand: demand::demand(fields)?,
            time_limit: demand::time_limit(fields)?,
            checkpoint_iterations: demand::checkpoint_iterations(fields)?,
            places: JobPlaces {
                name: fields.place("name"),
                program: fields.place(
                    ["program", "goal", "trace", "train", "model", "kernel"]
                        .into_iter()
                        .find(|key| fields.has(key))
                        .unwrap_or("workload"),
                ),
                ranks: fields.place(
                    match ["goal", "trace"].into_iter().find(|key| fields.has(key)) {
                        Some(file) if !fields.has("gpus") => file,
                        _ => demand::key_of_ranks(fields),
                    },
                ),
                iterations: fields.place("iterations"),
                mapping: fields.place("mapping"),
            },
            program,
        })
    }

    /// The files that it needs.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        let program = match &self.program {
            ProgramSource::Goal(file) | ProgramSource::Trace { anchor: file, .. } => Some(file),
            ProgramSource::Training(training) => training.file(),
            ProgramSource::Model(model) => model.file(),
            ProgramSource::Skeleton { .. }
            | ProgramSource::Workload(_)
            | ProgramSource::Kernel(_) => None,
        };
        let kernel = match &self.program {
            ProgramSource::Kernel(kernel) => Some(kernel.files()),
            _ => None,
        };
        let mapping = match &self.mapping {
            Some(ScenarioMapping::File(file)) => Some(file),
            _ => None,
        };
        program.into_iter().chain(kernel.into_iter().flatten()).chain(mapping)
    }

    /// The name that it has if nobody else has it.
    pub(super) fn natural_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.source_name())
    }

    /// Gives the name of its program where it comes from.
    pub(super) fn source_name(&self) -> &str {
        match &self.program {
            ProgramSource::Skeleton { application: Chosen(application), .. } => application.name(),
            ProgramSource::Training(training) => training.natural_name(),
            ProgramSource::Model(model) => model.natural_name(),
            ProgramSource::Workload(workload) => &workload.workload.name,
            ProgramSource::Kernel(kernel) => kernel.natural_name(),
            ProgramSource::Goal(file) => file.stem(".goal"),
            ProgramSource::Trace { anchor, .. } => archive_name(&anchor.name),
        }
    }

    /// Builds its program on the GPUs of a system that it got, with the files of the scenario. It
    /// also returns the parts that reading its trace had to leave out. `scenario` names the
    /// scenario in errors. Only training and workloads heed the GPUs.
    pub(super) fn build(
        &self,
        scenario: &str,
        files: &Files,
        on: (&System, &[u32]),
    ) -> Result<(Arc<Program>, Vec<TraceNote>), InputError> {
        let mut notes = Vec::new();
        let program = match &self.program {
            ProgramSource::Training(training) => {
                return Ok((training.program(scenario, files, on)?, notes));
            }
            ProgramSource::Model(model) => {
                return Ok((model.program(scenario, files, on)?, notes));
            }
            ProgramSource::Workload(workload) => {
                return Ok((workload.program(scenario, on)?, notes));
            }
            ProgramSource::Kernel(kernel) => {
                let kernel = kernel.kernel(scenario, files, on)?;
                return Ok((Arc::new(kernel.program(on.1.len() as u32)), notes));
            }
            ProgramSource::Skeleton { application: Chosen(application), ranks, parameters } => {
                let made = if application.knows_places(parameters) {
                    placed_program(*application, parameters, on)
                } else {
                    let made = application.program(*ranks, parameters);
                    made.map_err(PlacedProgramError::Skeleton)
                };
                made.map_err(|error| match error {
                    PlacedProgramError::NoNetwork => {
                        let name = application.name();
                        self.places.program.refuse_as(scenario, &error, name, "")
                    }
                    PlacedProgramError::Skeleton(error) => {
                        self.places.ranks.refuse_as(scenario, &error, "", "")
                    }
                })?
            }
            ProgramSource::Goal(file) => {
                let text = text_of(scenario, file, files)?;
                goal::read(&file.name, text, &goal::Options::default())?
            }
            ProgramSource::Trace { reader, anchor, main_loop, collective_bytes } => {
                bytes_of(scenario, anchor, files)?;
                let (beside, name) = Beside::of(anchor, files);
                let of_program = archive_name(&anchor.name).to_owned();
                let (main_loop, collective_bytes) = (main_loop.clone(), *collective_bytes);
                let options = TraceOptions { name: of_program, main_loop, collective_bytes };
                let read = reader.0.program(name, &beside, &options);
                let read = read.map_err(|fault| match fault {
                    TraceFault::File(mut error) => {
                        // The archive knows its files from its own folder on.
                        error.file.insert_str(0, beside.folder());
                        error
                    }
                    TraceFault::Program(told) => {
                        let remedy = "record the trace anew";
                        self.places.ranks.refuse_as(scenario, told, &anchor.name, remedy)
                    }
                })?;
                notes = read.notes;
                read.program
            }
        };
        self.check_loop(scenario, &program)?;
        Ok((Arc::new(program), notes))
    }

    /// Refuses iterations of a program without a loop.
    pub(super) fn check_loop(&self, scenario: &str, program: &Program) -> Result<(), InputError> {
        let looped = program.ranks.iter().all(|rank| rank.body().is_some());
        if self.iterations.get() > 1 && !looped {
            let problem = "the program marks no main loop that could run so often";
            let remedy = "remove `iterations`, or take a program with a loop";
            let value = self.iterations.to_string();
            return Err(self.places.iterations.refuse(scenario, problem, &value, remedy));
        }
        Ok(())
    }
}
