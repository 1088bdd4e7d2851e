//! Reads the tasks of Alibaba's PAI of 2020: `pai_task_table`, with its header or without, or that table joined with
//! `pai_job_table`.
//!
//! ```text
//! job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
//! ```
//!
//! A job has a row for each of its tasks. Each of a task's `inst_num` instances asks for `plan_gpu` hundredths of a GPU
//! and takes whole ones. A job has those of all its tasks. It runs from the first launch of a task with GPUs to the last end
//! of one. The joined table has the job's own times, too: its submission is `start_time_j` (or `job_start_time`, or `start_time` beside a
//! task's `start_time_t`). Without these a job was submitted when it was launched: the task table knows no waiting.
//!
//! The columns are from the README of Alibaba's cluster-trace-gpu-v2020 (Weng et al., "MLaaS in the
//! Wild", NSDI '22).

use std::collections::BTreeMap;

use crate::diagnostic::fields::Field;
use crate::diagnostic::{InputError, Registered};
use crate::scenario::recorded::columns::is_nothing;
use crate::scenario::recorded::format::{
    AccountEntry, AccountedJob, AccountingFormat, Entries, NotPlayed, Written,
};
use crate::scenario::recorded::lines::{Line, lines};
use crate::scenario::recorded::values::{GpuCount, Moment, gpus_of};
use crate::units::Picoseconds;

/// The columns of the task table, which has no header where it is published.
const COLUMNS: [&str; 10] = [
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
];
const STATES: [&str; 4] = ["Terminated", "Running", "Failed", "Waiting"];
/// How a joined table may call the time of a job's submission.
const SUBMISSIONS: [&str; 3] = ["start_time_j", "job_start_time", "start_time_job"];

/// Takes rows of tasks, several for a job.
#[derive(Debug)]
pub struct PaiTasks;

impl Registered for PaiTasks {
    fn name(&self) -> &'static str {
        "pai-2020"
    }
}

impl AccountingFormat for PaiTasks {
    fn is_of(&self, text: &str) -> bool {
        let Some(first) = lines("", text).next() else { return false };
        first.has_columns(&["job_name", "plan_gpu"])
            || first.has_columns(&["job_name", "inst_id"])
            || is_headless(first)
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        let mut rows = lines(file, text).peekable();
        let Some(first) = rows.peek().copied() else { return Ok(Box::new(std::iter::empty())) };
        let header = if is_headless(first) {
            Header::of(first, &COLUMNS.map(str::to_owned))?
        } else {
            rows.next();
            let fields = first.fields_between_commas()?;
            let names: Vec<String> = fields.iter().map(|it| it.value.to_lowercase()).collect();
            Header::of(first, &names)?
        };
        let mut jobs: Vec<Job<'a>> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for line in rows {
            let fields = header.fields(line)?;
            let name = &fields[header.job];
            let at = *known.entry(name.value.to_string()).or_insert(jobs.len());
            if at == jobs.len() {
                jobs.push(Job::new(line, name));
            }
            jobs[at].add(&header, line, &fields)?;
        }
        Ok(Box::new(jobs.into_iter().map(Job::entry)))
    }

    fn assumed(&self) -> Option<&'static str> {
        Some(
            "Each instance of a task takes whole GPUs, from the first launch of a job's tasks to their last end. A job was \
             submitted at that launch, unless a column `start_time_j` says when",
        )
    }
}

/// Whether a line is a row of the task table.
fn is_headless(line: Line<'_>) -> bool {
    let is_number = |field: &Field<'_>| is_nothing(field) || field.value.parse::<f64>().is_ok();
    line.fields_between_commas().is_ok_and(|fields| {
        fields.len() == COLUMNS.len()
            && STATES.contains(&&*fields[3].value)
            && [2, 4, 5, 6, 7, 8].iter().all(|at| is_number(&fields[*at]))
    })
}

/// Knows where the fields of a row stand.
struct Header {
    count: usize,
    job: usize,
    instances: usize,
    status: usize,
    start: usize,
    end: usize,
    gpus: usize,
    submission: Option<usize>,
}

impl Header {
    fn of(line: Line<'_>, names: &[String]) -> Result<Self, InputError> {
        let place = |name: &str| names.iter().position(|known| known == name);
        let needed = |name: &str| {
            place(name).ok_or_else(|| {
                let problem = format!("the tasks of PAI lack the column `{name}`");
                let remedy =
                    "give `pai_task_table`, or that joined with `pai_job_table` by `job_name`";
                line.refuse_all(&problem, remedy)
            })
        };
        if let Some(name) =
            ["inst_name", "worker_name"].into_iter().find(|name| place(name).is_some())
        {
            let problem = format!("the column `{name}` is of instances, and a row is a task here");
            let remedy = "give `pai_task_table`, or that joined with `pai_job_table` by `job_name`";
            return Err(line.refuse_all(&problem, remedy));
        }
        // Beside a task's own times the plain ones are the job's.
        let own = place("start_time_t").zip(place("end_time_t"));
        let (start, end, submission) = match own {
            Some((start, end)) => (start, end, place("start_time")),
            None => (needed("start_time")?, needed("end_time")?, None),
        };
        Ok(Self {
            count: names.len(),
            job: needed("job_name")?,
            instances: needed("inst_num")?,
            status: place("status_t").map_or_else(|| needed("status"), Ok)?,
            start,
            end,
            gpus: needed("plan_gpu")?,
            submission: submission.or_else(|| SUBMISSIONS.into_iter().find_map(place)),
        })
    }

    fn fields<'a>(&self, line: Line<'a>) -> Result<Vec<Field<'a>>, InputError> {
        let fields = line.fields_between_commas()?;
        if fields.len() != self.count {
            let problem = format!("the row has {} fields", fields.len());
            let remedy = format!("give it the {} of the table's columns", self.count);
            return Err(line.refuse_all(&problem, remedy));
        }
        if fields[self.job].value.is_empty() {
            return Err(line.refuse_all("a task without its job's name", "write its `job_name`"));
        }
        Ok(fields)
    }
}

/// A job, as far as its tasks were read.
struct Job<'a> {
    line: Line<'a>,
    name: Written<'a>,
    submit: Option<(Moment, Written<'a>)>,
    start: Option<(Moment, Written<'a>)>,
    end: Option<(Moment, Written<'a>)>,
    gpus: GpuCount,
    is_unfinished: bool,
}

impl<'a> Job<'a> {
    fn new(line: Line<'a>, name: &Field<'a>) -> Self {
        let name = line.written_in(name);
        let gpus = GpuCount::default();
        Self { line, name, submit: None, start: None, end: None, gpus, is_unfinished: false }
    }

    /// Adds a task, if it has GPUs.
    fn add(
        &mut self,
        header: &Header,
        line: Line<'a>,
        fields: &[Field<'a>],
    ) -> Result<(), InputError> {
        let gpus = task_gpus(header, line, fields)?;
        if gpus.gpus == 0 {
            return Ok(());
        }
        self.gpus.gpus = self.gpus.gpus.checked_add(gpus.gpus).ok_or_else(|| {
            let problem = "more GPUs than a job of any system has";
            line.refuse(&fields[header.gpus], problem, "write hundredths of a GPU")
        })?;
        self.gpus.part = self.gpus.part.or(gpus.part);
        if let Some(submission) = header.submission
            && let Some(found) = moment(line, &fields[submission])?
            && self.submit.as_ref().is_none_or(|(known, _)| found.0.picoseconds < known.picoseconds)
        {
            self.submit = Some(found);
        }
        let (start, end) =
            (moment(line, &fields[header.start])?, moment(line, &fields[header.end])?);
        let status = &*fields[header.status].value;
        let Some(start) = start.filter(|_| status != "Waiting") else { return Ok(()) };
        if let Some((over, at)) = &end
            && (over.picoseconds < start.0.picoseconds || !over.is_like(&start.0))
        {
            let remedy = "write an end that is not before the task's start, in the same way";
            return Err(at.refuse(line.file, "not a time after the task's start", remedy));
        }
        self.is_unfinished |= end.is_none() || status == "Running";
        if self.start.as_ref().is_none_or(|(known, _)| start.0.picoseconds < known.picoseconds) {
            self.start = Some(start);
        }
        if let Some(end) = end
            && self.end.as_ref().is_none_or(|(known, _)| end.0.picoseconds > known.picoseconds)
        {
            self.end = Some(end);
        }
        Ok(())
    }

    fn entry(self) -> Result<AccountEntry<'a>, InputError> {
        let left_out = |why| Ok(AccountEntry::LeftOut(why));
        if self.gpus.gpus == 0 {
            return left_out(NotPlayed::WithoutGpus);
        }
        let Some(start) = self.start else { return left_out(NotPlayed::NeverStarted) };
        let Some((end, at)) = self.end.filter(|_| !self.is_unfinished) else {
            return left_out(NotPlayed::Unfinished);
        };
        let lasted = u64::try_from(end.picoseconds - start.0.picoseconds).map_err(|_| {
            let remedy = "write an end less than 213 days after the first start of its tasks";
            at.refuse(self.line.file, "the job lasts too long", remedy)
        })?;
        if lasted == 0 {
            return left_out(NotPlayed::WithoutLength);
        }
        let (submit, submitted) = self.submit.unwrap_or(start);
        Ok(AccountEntry::Job(Box::new(AccountedJob {
            id: Some(self.name),
            title: None,
            submit,
            submitted,
            gpus: self.gpus,
            duration: Picoseconds(lasted),
            lasted: at.position,
            workload: None,
            servers: None,
            exclusive: false,
            row: self.line.written(),
        })))
    }
}

/// Counts the GPUs of all instances of a task.
fn task_gpus(
    header: &Header,
    line: Line<'_>,
    fields: &[Field<'_>],
) -> Result<GpuCount, InputError> {
    let number = |at: usize, parts, what: &str, remedy| {
        let field = &fields[at];
        let text = if is_nothing(field) { "" } else { &*field.value };
        gpus_of(text, parts)
            .filter(|_| !text.contains('='))
            .ok_or_else(|| line.refuse(field, format!("not a number of {what}"), remedy))
    };
    let of_each =
        number(header.gpus, 100, "hundredths of a GPU", "write such as 50.0, or nothing")?;
    let instances = number(header.instances, 1, "instances", "write such as 2.0, or nothing")?;
    let gpus = of_each.gpus.checked_mul(instances.gpus).ok_or_else(|| {
        let problem = "more GPUs than a job of any system has";
        line.refuse(&fields[header.gpus], problem, "write hundredths of a GPU")
    })?;
    Ok(GpuCount { gpus, part: of_each.part })
}

/// A time in seconds; None where none is said.
fn moment<'a>(
    line: Line<'a>,
    field: &Field<'a>,
) -> Result<Option<(Moment, Written<'a>)>, InputError> {
    if is_nothing(field) {
        return Ok(None);
    }
    let found = Moment::read(&field.value)
        .ok_or_else(|| line.refuse(field, "not a time", "write seconds, or nothing"))?;
    Ok(Some((found, line.written_in(field))))
}
