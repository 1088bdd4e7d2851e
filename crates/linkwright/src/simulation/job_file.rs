//! Reads job files: the jobs of a mix, one to a line, as comma-separated values.
//!
//! ```text
//! # a comment
//! job,arrival,workload,gpus,pattern,sensitive,iterations
//! first,0 s,vgg-16,3,ring,true,10000
//! second,12.5 s,gmm,1,,,
//! ```
//!
//! The header names the columns, in any order. `job`, `workload` and `gpus` must be there. The
//! others may be left out or left empty, and then come from the workload. They are then arrival at
//! zero, a ring, the workload's sensitivity and iterations. `measured` in place of `true` or
//! `false` measures the sensitivity on the machine. An arrival is a time with its unit or a bare
//! number of seconds. `compute_per_iteration` and `bytes_per_iteration` are numbers of one's own,
//! such as `6.2 ms` and `553 MB`, in place of the workload's. With `samples_per_gpu`, the workload
//! is a network that is trained layer by layer, on this number of samples of each GPU in an
//! iteration. `time_limit` is a time with its unit, by which backfilling expects the job to have
//! ended. `edges`, such as `0-1 1-2:3 2-3:1/0.5`, are a pattern of one's own. They are pairs of the
//! job's GPUs from 0, each with its share of the traffic both ways, or forth and back.
//! `servers_wanted` is the number of servers on which a job wants an even share of its GPUs each.
//! `exclusive` says whether nobody else may be on them. After each `checkpoint_iterations`
//! iterations a job saves its work, should its GPUs fail. Lines that start with `#`, and blank
//! lines, are skipped. Jobs may stand in any order; those of one arrival time queue in the file's.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::str::FromStr;

use super::error::SimulationError;
use super::generate::MOST_JOBS;
use super::job::Job;
use super::job_formats::other_format;
use crate::allocation::{Pattern, PatternShape};
use crate::diagnostic::fields::{Field, quote, split};
use crate::diagnostic::{
    Diagnose, Diagnosis, InputError, Named as _, Position, Registry, instead_of,
};
use crate::training::{MOST_SAMPLES, NamedWorkload, Network, Workload, workloads};
use crate::units::{Bytes, Picoseconds};

/// A column, whose number is its place in [`COLUMNS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Job,
    Arrival,
    Workload,
    Gpus,
    Pattern,
    Sensitive,
    Iterations,
    Compute,
    Bytes,
    Samples,
    TimeLimit,
    Edges,
    Servers,
    Exclusive,
    Checkpoint,
}

/// The names of the columns, in the order in which they are written.
const COLUMNS: [&str; 15] = [
    "job",
    "arrival",
    "workload",
    "gpus",
    "pattern",
    "sensitive",
    "iterations",
    "compute_per_iteration",
    "bytes_per_iteration",
    "samples_per_gpu",
    "time_limit",
    "edges",
    "servers_wanted",
    "exclusive",
    "checkpoint_iterations",
];
/// Says what stands for a sensitivity that is measured on the machine.
const MEASURED: &str = "measured";
/// Counts the columns that every job has. The others are a job's own numbers, and most jobs have
/// none of them.
const COMMON: usize = 7;
/// How many of them there were before a job could give a time limit.
const WITHOUT_LIMIT: usize = 10;
/// How many of them there were before a job could have edges of its own.
const WITHOUT_EDGES: usize = 11;
/// How many of them there were before a job could want servers.
const WITHOUT_SERVERS: usize = 12;
/// How many of them there were before a job could have checkpoints.
const WITHOUT_CHECKPOINTS: usize = 14;
const REQUIRED: [Column; 3] = [Column::Job, Column::Workload, Column::Gpus];

impl Column {
    fn name(self) -> &'static str {
        COLUMNS[self as usize]
    }
}

/// A line of the file, which places its errors.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn refuse(self, column: usize, problem: &str, value: &str, remedy: String) -> InputError {
        let position = Position { line: self.number, column };
        InputError::at(self.file, position, problem, value, remedy)
    }

    fn refuse_end(self, problem: &str, remedy: String) -> InputError {
        self.refuse(self.text.chars().count() + 1, problem, self.text, remedy)
    }

    fn fields(self) -> Result<Vec<Field<'a>>, InputError> {
        split(self.text).map_err(|error| {
            self.refuse(error.column, error.problem, error.value, error.remedy.to_owned())
        })
    }
}

/// Which field of a row holds each column.
struct Header {
    places: [Option<usize>; COLUMNS.len()],
    names: Vec<&'static str>,
}

impl Header {
    fn read(line: Line<'_>) -> Result<Self, InputError> {
        let mut places = [None; COLUMNS.len()];
        let mut names = Vec::new();
        for (place, field) in line.fields()?.iter().enumerate() {
            let Some(column) = COLUMNS.iter().position(|name| *name == field.value) else {
                let remedy = format!("the columns are {}", COLUMNS.join(", "));
                return Err(line.refuse(field.column, "unknown column", &field.value, remedy));
            };
            if places[column].is_some() {
                let remedy = "name each column once".to_owned();
                let problem = "a column is named twice";
                return Err(line.refuse(field.column, problem, &field.value, remedy));
            }
            places[column] = Some(place);
            names.push(COLUMNS[column]);
        }
        for column in REQUIRED {
            if places[column as usize].is_none() {
                let remedy = format!("add the column `{}`", column.name());
                return Err(line.refuse_end("the header lacks a column", remedy));
            }
        }
        Ok(Self { places, names })
    }
}

/// Holds the fields of one job.
struct Row<'a> {
    line: Line<'a>,
    header: &'a Header,
    fields: Vec<Field<'a>>,
}

impl<'a> Row<'a> {
    fn read(line: Line<'a>, header: &'a Header) -> Result<Self, InputError> {
        let fields = line.fields()?;
        if let Some(missing) = header.names.get(fields.len()) {
            let remedy = format!("give each column of the header a field; `{missing}` has none");
            return Err(line.refuse_end("the row is too short", remedy));
        }
        if let Some(extra) = fields.get(header.names.len()) {
            let remedy = format!("the header has {} columns", header.names.len());
            return Err(line.refuse(extra.column, "the row is too long", &extra.value, remedy));
        }
        Ok(Self { line, header, fields })
    }

    fn refuse(&self, field: &Field<'_>, problem: &str, remedy: String) -> InputError {
        self.line.refuse(field.column, problem, &field.value, remedy)
    }

    /// The column's field, unless it is absent or blank.
    fn optional(&self, column: Column) -> Option<&Field<'a>> {
        let field = self.fields.get(self.header.places[column as usize]?)?;
        (!field.value.trim().is_empty()).then_some(field)
    }

    fn required(&self, column: Column) -> Result<&Field<'a>, InputError> {
        self.optional(column).ok_or_else(|| {
            let place = self.header.places[column as usize].unwrap_or_default();
            let at = self.fields.get(place).map_or(1, |field| field.column);
            let remedy = format!("every job has its `{}`", column.name());
            self.line.refuse(at, "a field is empty", self.line.text, remedy)
        })
    }

    /// Reads a whole number from one to the type's largest.
    fn count<T>(&self, field: &Field<'_>, largest: T) -> Result<T, InputError>
    where
        T: FromStr + PartialOrd + From<u8> + Display,
    {
        field.value.parse().ok().filter(|value| *value >= T::from(1)).ok_or_else(|| {
            let remedy = format!("write a whole number from 1 to {largest}");
            self.refuse(field, "not a count", remedy)
        })
    }

    fn arrival(&self, field: &Field<'_>) -> Result<Picoseconds, InputError> {
        let bare = field.value.chars().all(|c| c.is_ascii_digit() || c == '.');
        let unit = if bare { "s" } else { "" };
        format!("{}{unit}", field.value).parse().map_err(|_| {
            let remedy = "write a time such as `12.5 s`, `300 ms`, or seconds as a bare number, \
                          below 213 days";
            self.refuse(field, "not a time", remedy.to_owned())
        })
    }

    fn workload(&self, registry: &Registry<dyn NamedWorkload>) -> Result<Workload, InputError> {
        let field = self.required(Column::Workload)?;
        let Some(samples) = self.optional(Column::Samples) else {
            return registry.get(&field.value).map(NamedWorkload::workload).map_err(|_| {
                let remedy = instead_of(&field.value, &registry.names());
                self.refuse(field, "unknown workload", remedy)
            });
        };
        let samples = self.count(samples, MOST_SAMPLES as u32)?;
        let network = Network::find(&field.value).map_err(|error| {
            self.refuse(field, "unknown network", error.diagnosis().remedy.unwrap_or_default())
        })?;
        Ok(Workload::of_network(network, samples))
    }

    fn job(&self, registry: &Registry<dyn NamedWorkload>) -> Result<Job, InputError> {
        let name = self.required(Column::Job)?;
        if name.value.chars().any(char::is_control) {
            let remedy = "name jobs without tabs and other control characters".to_owned();
            return Err(self.refuse(name, "not a job name", remedy));
        }
        let workload = self.workload(registry)?;
        let gpus = self.count(self.required(Column::Gpus)?, u32::MAX)?;
        let mut job = Job::new(name.value.clone(), &workload, gpus);
        if let Some(field) = self.optional(Column::Arrival) {
            job.arrival = self.arrival(field)?;
        }
        if let Some(field) = self.optional(Column::Pattern) {
            job.pattern = PatternShape::from_name(&field.value).map_err(|_| {
                let remedy = format!("the patterns are {}", PatternShape::names().join(", "));
                self.refuse(field, "unknown pattern", remedy)
            })?;
        }
        if let Some(field) = self.optional(Column::Edges) {
            if self.optional(Column::Pattern).is_some() {
                let remedy = "leave `pattern` empty, or `edges`".to_owned();
                return Err(self.refuse(field, "a pattern beside edges of the job's own", remedy));
            }
            let edges = Pattern::read_edges(gpus as usize, &field.value).map_err(|error| {
                let Diagnosis { problem, remedy } = error.diagnosis();
                let write = "write edges between the job's GPUs from 0, such as `0-1 1-2:3`";
                self.refuse(field, &problem, remedy.unwrap_or_else(|| write.to_owned()))
            })?;
            job = job.with_edges(edges);
        }
        if let Some(field) = self.optional(Column::Sensitive) {
            job.profiled = field.value == MEASURED;
            if !job.profiled {
                job.sensitive = field.value.parse().map_err(|_| {
                    let remedy = "write `true`, `false` or `measured`".to_owned();
                    self.refuse(field, "neither true nor false", remedy)
                })?;
            }
        }
        if let Some(field) = self.optional(Column::Iterations) {
            job.iterations = self.count(field, u64::MAX)?;
        }
        if let Some(field) = self.optional(Column::Compute) {
            job.compute_per_iteration = Some(field.value.parse().map_err(|_| {
                let remedy = "write a time with its unit, such as `6.2 ms`, below 213 days";
                self.refuse(field, "not a time", remedy.to_owned())
            })?);
        }
        if let Some(field) = self.optional(Column::Bytes) {
            job.bytes_per_iteration = Some(field.value.parse().map_err(|_| {
                let remedy = "write a size with its unit, such as `553 MB`";
                self.refuse(field, "not a size", remedy.to_owned())
            })?);
        }
        if let Some(field) = self.optional(Column::TimeLimit) {
            job.time_limit = Some(field.value.parse().map_err(|_| {
                let remedy = "write a time with its unit, such as `4 h`, below 213 days";
                self.refuse(field, "not a time", remedy.to_owned())
            })?);
        }
        if let Some(field) = self.optional(Column::Servers) {
            let wanted = self.count(field, u32::MAX)?;
            if wanted > gpus {
                let remedy = format!("write 1 to {gpus}, which is the number of its GPUs");
                return Err(self.refuse(field, "more servers than GPUs", remedy));
            }
            job.servers_wanted = Some(wanted);
        }
        if let Some(field) = self.optional(Column::Exclusive) {
            job.exclusive = field.value.parse().map_err(|_| {
                let remedy = "write `true` or `false`".to_owned();
                self.refuse(field, "neither true nor false", remedy)
            })?;
        }
        if let Some(field) = self.optional(Column::Checkpoint) {
            job.checkpoint_iterations = Some(u64::from(self.count(field, u32::MAX)?));
        }
        Ok(job)
    }
}

/// Reads the jobs of a file, in its order; `file` names it in errors.
///
/// # Errors
/// Refuses a header with unknown, repeated or missing columns, and rows of another length than the
/// header. It refuses fields that are no value of their column, and a job's name given twice. It
/// refuses more than [`MOST_JOBS`] rows, and a file of nothing but a header. Each error has file,
/// line and column.
pub fn read(file: &str, text: &str) -> Result<Vec<Job>, SimulationError> {
    read_for(file, text, Most::default())
}

/// The most that a job may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Healthy GPUs: of one server, or of all where a job may have several.
    pub gpus: usize,
    /// Names another choice that would let it have more, in words that end the remedy.
    pub larger: &'static str,
    /// Iterations; of jobs that are played [`MOST_PLAYED_ITERATIONS`](super::played::MOST_PLAYED_ITERATIONS).
    pub iterations: u64,
}

impl Default for Most {
    /// Allows anything.
    fn default() -> Self {
        Self { gpus: usize::MAX, larger: "", iterations: u64::MAX }
    }
}

/// Reads the jobs of a file, and refuses a job that asks for more than `most`; see [`read`].
///
/// # Errors
/// Returns the errors of [`read`]. Refuses a job that asks for more GPUs than `most`, which
/// could never start, or for more iterations.
pub fn read_for(file: &str, text: &str, most: Most) -> Result<Vec<Job>, SimulationError> {
    read_with(&workloads(), file, text, most)
}

/// As [`read_for`], of workloads that a registry has.
///
/// # Errors
/// Fails as [`read_for`] does.
pub fn read_with(
    registry: &Registry<dyn NamedWorkload>,
    file: &str,
    text: &str,
    most: Most,
) -> Result<Vec<Job>, SimulationError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .zip(1..)
        .filter(|(text, _)| !text.trim().is_empty() && !text.starts_with('#'))
        .map(|(text, number)| Line { file, number, text });
    let Some(header_line) = lines.next() else {
        let line = Line { file, number: 1, text: "" };
        let remedy = format!("begin with a header such as `{}`", COLUMNS[..COMMON].join(","));
        return Err(line.refuse_end("the file has no header", remedy).into());
    };
    if let Some(Diagnosis { problem, remedy }) = other_format(text) {
        return Err(header_line
            .refuse(1, &problem, header_line.text, remedy.unwrap_or_default())
            .into());
    }
    let header = Header::read(header_line)?;
    let mut first_uses: BTreeMap<String, usize> = BTreeMap::new();
    let mut jobs = Vec::new();
    for line in lines {
        let row = Row::read(line, &header)?;
        let job = row.job(registry)?;
        if job.iterations > most.iterations {
            let remedy =
                format!("write 1 to {}, or let `run_time` follow the formula", most.iterations);
            let field = row.required(Column::Iterations)?;
            let problem = "the job has more iterations than are played one by one";
            return Err(row.refuse(field, problem, remedy).into());
        }
        if job.gpus as usize > most.gpus {
            let remedy =
                format!("ask for at most {}, or choose a larger machine{}", most.gpus, most.larger);
            let field = row.required(Column::Gpus)?;
            let problem = "the job asks for more GPUs than are healthy, so it can never start";
            return Err(row.refuse(field, problem, remedy).into());
        }
        if jobs.len() == MOST_JOBS as usize {
            let problem = "the file has more jobs than may be played";
            let remedy = format!("keep {MOST_JOBS} of them");
            return Err(line.refuse(1, problem, line.text, remedy).into());
        }
        if let Some(first) = first_uses.insert(job.name.clone(), line.number) {
            let remedy = format!("line {first} uses this name already; give each job its own");
            let field = row.required(Column::Job)?;
            return Err(row.refuse(field, "two jobs have one name", remedy).into());
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        let remedy = "add a row for each job below the header".to_owned();
        return Err(header_line.refuse_end("the file has no jobs", remedy).into());
    }
    Ok(jobs)
}

/// Writes an exact time in seconds, the one unit of a file's arrivals, so that they compare at a
/// glance.
fn seconds(time: Picoseconds) -> String {
    let (whole, rest) = (time.0 / Picoseconds::SECOND.0, time.0 % Picoseconds::SECOND.0);
    let decimals = format!(".{rest:012}");
    format!("{whole}{} s", decimals.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes jobs with all their columns, so that [`read`] gives back equal jobs.
#[must_use]
pub fn write(jobs: &[Job]) -> String {
    let is_own = |job: &Job| {
        let is_measured = job.compute_per_iteration.is_some() || job.bytes_per_iteration.is_some();
        is_measured || job.samples_per_gpu.is_some()
    };
    let has_checkpoints = jobs.iter().any(|job| job.checkpoint_iterations.is_some());
    let has_servers =
        has_checkpoints || jobs.iter().any(|job| job.servers_wanted.is_some() || job.exclusive);
    let has_edges = has_servers || jobs.iter().any(|job| job.edges.is_some());
    let has_limits = has_edges || jobs.iter().any(|job| job.time_limit.is_some());
    let has_own = has_limits || jobs.iter().any(is_own);
    let columns = match (has_own, has_limits, has_edges, has_servers) {
        (false, ..) => COMMON,
        (true, false, ..) => WITHOUT_LIMIT,
        (true, true, false, _) => WITHOUT_EDGES,
        (true, true, true, false) => WITHOUT_SERVERS,
        (true, true, true, true) if !has_checkpoints => WITHOUT_CHECKPOINTS,
        (true, true, true, true) => COLUMNS.len(),
    };
    let mut text = COLUMNS[..columns].join(",");
    text.push('\n');
    for job in jobs {
        let Job { gpus, sensitive, iterations, .. } = job;
        let arrival = seconds(job.arrival);
        let (name, workload) = (quote(&job.name), quote(&job.workload));
        let pattern = if job.edges.is_some() { "" } else { job.pattern.name() };
        let sensitive = if job.profiled { MEASURED.to_owned() } else { sensitive.to_string() };
        let _ =
            write!(text, "{name},{arrival},{workload},{gpus},{pattern},{sensitive},{iterations}");
        if has_own {
            let compute = job.compute_per_iteration.map(seconds).unwrap_or_default();
            let bytes = job.bytes_per_iteration.map(|Bytes(bytes)| format!("{bytes} B"));
            let samples = job.samples_per_gpu.map(|samples| samples.to_string());
            let (bytes, samples) = (bytes.unwrap_or_default(), samples.unwrap_or_default());
            let _ = write!(text, ",{compute},{bytes},{samples}");
        }
        if has_limits {
            let limit = job.time_limit.map(seconds).unwrap_or_default();
            let _ = write!(text, ",{limit}");
        }
        if has_edges {
            let edges = job.edges.as_ref().map(|edges| edges.edges_text()).unwrap_or_default();
            let _ = write!(text, ",{edges}");
        }
        if has_servers {
            let servers = job.servers_wanted.map(|wanted| wanted.to_string()).unwrap_or_default();
            let _ = write!(text, ",{servers},{}", job.exclusive);
        }
        if has_checkpoints {
            let every = job.checkpoint_iterations.map(|every| every.to_string());
            let _ = write!(text, ",{}", every.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "job,arrival,workload,gpus,pattern,sensitive,iterations\n";

    fn refusal(text: &str) -> String {
        read("jobs.csv", text).unwrap_err().to_string()
    }

    #[test]
    fn defaults_come_from_the_workload() {
        let text = "\u{feff}# a mix\r\n\r\ngpus, workload ,job\r\n2,vgg-16,\"a, b\"\r\n1,gmm,c";
        let (vgg, gmm) = (Workload::find("vgg-16").unwrap(), Workload::find("gmm").unwrap());
        assert_eq!(read("", text), Ok(vec![Job::new("a, b", vgg, 2), Job::new("c", gmm, 1)]));
        let empty = format!("{HEADER}a,,vgg-16,2,,,\n");
        assert_eq!(read("", &empty), Ok(vec![Job::new("a", vgg, 2)]));
    }

    #[test]
    fn a_job_too_large_for_the_server_is_named_with_its_place() {
        let text = format!("{HEADER}a,,gmm,8,,,\nb,, vgg-16, 9,,,\n");
        let for_gpus = |gpus| read_for("jobs.csv", &text, Most { gpus, ..Most::default() });
        assert_eq!(for_gpus(9).map(|jobs| jobs.len()), Ok(2));
        let error = for_gpus(8).unwrap_err().to_string();
        assert!(error.starts_with("jobs.csv:3:13: the job asks for more GPUs than"), "{error}");
        assert!(error.ends_with(": `9`; ask for at most 8, or choose a larger machine"), "{error}");
    }

    #[test]
    fn a_job_of_more_iterations_than_are_played_is_named_with_its_place() {
        let text = format!("{HEADER}a,,gmm,1,,,4294967295\nb,,gmm,1,,, 4294967296\n");
        assert_eq!(read("jobs.csv", &text).map(|jobs| jobs.len()), Ok(2));
        let most = Most { iterations: 4_294_967_295, ..Most::default() };
        let error = read_for("jobs.csv", &text, most).unwrap_err().to_string();
        assert_eq!(
            error,
            "jobs.csv:3:13: the job has more iterations than are played one by one: \
             `4294967296`; write 1 to 4294967295, or let `run_time` follow the formula"
        );
    }

    #[test]
    fn samples_say_that_a_network_is_trained() {
        let header = "job,workload,gpus,samples_per_gpu\n";
        let jobs = read("", &format!("{header}a,resnet50,2,16\nb,resnet-50,2,\n")).unwrap();
        let trains = jobs.iter().map(|job| (&*job.workload, job.samples_per_gpu));
        assert_eq!(
            trains.collect::<Vec<_>>(),
            [("resnet-50:paper", Some(16)), ("resnet-50", None)]
        );
        let works = jobs.iter().map(|job| job.work().unwrap().compute_per_iteration());
        assert_eq!(works.collect::<std::collections::BTreeSet<_>>().len(), 2);
        let error = refusal(&format!("{header}a,resnet5,2,16\n"));
        assert!(error.starts_with("jobs.csv:2:3: unknown network: `resnet5`; did you"), "{error}");
        let error = refusal(&format!("{header}a,lenet,2,0\n"));
        assert!(error.starts_with("jobs.csv:2:11: not a count: `0`; write a whole"), "{error}");
    }

    #[test]
    fn own_numbers_have_units() {
        let header = "job,workload,gpus,compute_per_iteration,bytes_per_iteration\n";
        let jobs = read("", &format!("{header}a,vgg-16,2,6.2 ms,\nb,gmm,2,,0 B\n")).unwrap();
        let own = |job: &Job| (job.compute_per_iteration, job.bytes_per_iteration);
        assert_eq!(own(&jobs[0]), (Some(Picoseconds(6_200_000_000)), None));
        assert_eq!(own(&jobs[1]), (None, Some(Bytes(0))));
        let error = refusal(&format!("{header}a,vgg-16,2,6.2,\n"));
        assert!(error.starts_with("jobs.csv:2:12: not a time: `6.2`; write a time wi"), "{error}");
        let error = refusal(&format!("{header}a,vgg-16,2,,much\n"));
        assert!(error.starts_with("jobs.csv:2:13: not a size: `much`; write a size"), "{error}");
    }

    #[test]
    fn arrivals_have_a_unit_or_are_seconds() {
        for (text, time) in [("12.5", 12_500_000_000_000), ("0 s", 0), ("300ms", 300_000_000_000)] {
            let jobs = read("", &format!("{HEADER}a,{text},gmm,1,,,")).unwrap();
            assert_eq!(jobs[0].arrival, Picoseconds(time), "{text}");
        }
    }

    #[test]
    fn errors_name_line_column_value_and_remedy() {
        let row = |row: &str| format!("# first\n{HEADER}\"é\",0 s,gmm,1,,,\n{row}\n");
        let cases = [
            (String::new(), "1:1: the file has no header; begin with a header such as `job,"),
            ("job,gpu".into(), "1:5: unknown column: `gpu`; the columns are job, arrival,"),
            ("job,gpus,job".into(), "1:10: a column is named twice: `job`; name each"),
            ("job,gpus".into(), "1:9: the header lacks a column: `job,gpus`; add the column `wor"),
            (row("a,0 s,gmm,1,,"), "4:14: the row is too short: `a,0 s,gmm,1,,`; give each"),
            (row("a,0 s,gmm,1,,,,x"), "4:16: the row is too long: `x`; the header has 7"),
            (row("a,0 s,gmm,,,,"), "4:11: a field is empty: `a,0 s,gmm,,,,`; every job has its `g"),
            (
                row("é, 0 s,\"vgg\",1,,,"),
                "4:8: unknown workload: `vgg`; use one of alexnet, vgg-16",
            ),
            (row("\"a,\"\"b\", 0 s ,gmm,0,,,"), "4:19: not a count: `0`; write a whole number"),
            (row("a,5 m,gmm,1,,,"), "4:3: not a time: `5 m`; write a time such as `12.5 s`"),
            (row("a,200000000000.000000000000000,gmm,1,,,"), "4:3: not a time: `2000"),
            (row("a,,gmm,1,mesh,,"), "4:10: unknown pattern: `mesh`; the patterns are ring, ch"),
            (row("a,,gmm,1,,yes,"), "4:11: neither true nor false: `yes`; write `true`, `f"),
            (row("a,,gmm,1,,,-1"), "4:12: not a count: `-1`; write a whole number from 1 to 18"),
            (row("a,,\"gmm,1,,,"), "4:4: the quote is not closed on its line: `\"gmm,1,,,`; quote"),
            (row("a\tb,,gmm,1,,,"), "4:1: not a job name: `a\\tb`; name jobs without tabs"),
            (format!("# none\n{HEADER}\n"), "2:55: the file has no jobs: `job,arrival,workload,gp"),
            (row(" é,,gmm,1,,,"), "4:2: two jobs have one name: `é`; line 3 uses this name"),
        ];
        for (text, expected) in cases {
            let error = refusal(&text);
            assert!(error.starts_with(&format!("jobs.csv:{expected}")), "{error}\n{expected}");
        }
    }

    fn any_job() -> impl Strategy<Value = Job> {
        let settings = (1_u32.., 0..PatternShape::ALL.len(), any::<bool>(), any::<u64>(), 1_u64..);
        let own = any::<(Option<u64>, Option<u64>, Option<u64>)>();
        let samples = prop::option::of(1..=MOST_SAMPLES as u32);
        (0..Workload::all().len(), settings, own, samples).prop_map(
            |(workload, settings, own, samples)| {
                let (gpus, pattern, sensitive, arrival, iterations) = settings;
                let network =
                    |samples| Workload::of_network(Network::find("lenet").unwrap(), samples);
                let workload = samples.map_or_else(|| Workload::all()[workload].clone(), network);
                let mut job = Job::new("", &workload, gpus);
                job.pattern = PatternShape::ALL[pattern];
                job.compute_per_iteration = own.0.map(Picoseconds);
                job.bytes_per_iteration = own.1.map(Bytes);
                job.time_limit = own.2.map(Picoseconds);
                // A job that is measured has the workload's label until then.
                let (profiled, label) = (iterations % 3 == 0, job.sensitive);
                let sensitive = if profiled { label } else { sensitive };
                let arrival = Picoseconds(arrival);
                Job { sensitive, profiled, arrival, iterations, ..job }
            },
        )
    }

    fn any_jobs() -> impl Strategy<Value = Vec<Job>> {
        let name = "[a-z#\",; é]{0,5}[a-z\"]";
        prop::collection::btree_map(name, any_job(), 1..8)
            .prop_map(|jobs| jobs.into_iter().map(|(name, job)| Job { name, ..job }).collect())
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(jobs in any_jobs()) {
            prop_assert_eq!(read("", &write(&jobs)), Ok(jobs));
        }

        /// A cut file is refused or holds the jobs before the cut; only the last, where the
        /// cut went through its last field, may differ.
        #[test]
        fn a_cut_file_invents_nothing(jobs in any_jobs(), cut: prop::sample::Index) {
            let text = write(&jobs);
            let mut cut = cut.index(text.len() + 1);
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            if let Ok(mut read) = read("", &text[..cut]) {
                if cut < text.len() && !text[cut..].starts_with('\n') && !text[..cut].ends_with('\n') {
                    read.pop();
                }
                prop_assert!(jobs.starts_with(&read));
            }
        }

        #[test]
        fn any_text_reads_or_is_refused(text in "\\PC*", row in "[a-z0-9,.\"# \n\t]{0,40}") {
            let _ = read("", &text);
            let _ = read("", &format!("{HEADER}{text}"));
            let _ = read("", &format!("{HEADER}a,1,gmm,1,,,\n{row}"));
        }
    }
}
