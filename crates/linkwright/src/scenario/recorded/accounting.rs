//! From a text of any format to the jobs that are played.

use std::collections::BTreeMap;

use super::columns::{Columns, Role};
use super::cut::{Cut, Window};
use super::format::{AccountEntry, AccountedJob, AccountingFormat, Entries};
use super::formats::{Table, entries_of};
use super::lines::{BAR, Line, lines};
use super::{LeftOut, Record, RecordedJob};
use crate::diagnostic::{InputError, instead_of};
use crate::scenario::Registries;
use crate::simulation::MOST_JOBS;
use crate::units::Picoseconds;

/// Reads texts of recorded jobs: it knows their formats, and the names of columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Accounting {
    /// The formats that a text may have, and the workloads that it may name.
    pub registries: Registries,
    /// It names a table's columns, where these have names of their own; such a text is a table.
    pub columns: Columns,
}

impl Accounting {
    /// The format that a text looks like: of several the one that was registered last.
    fn format_of(&self, text: &str) -> Option<&'static dyn AccountingFormat> {
        self.registries.accounting.iter().filter(|format| format.is_of(text)).last()
    }

    /// Whether a text looks like recorded jobs. Else it is a list of jobs that says what each runs.
    #[must_use]
    pub fn is_record(&self, text: &str) -> bool {
        self.columns.are_given() || self.format_of(text).is_some()
    }

    fn entries<'a>(
        &self,
        file: &'a str,
        text: &'a str,
    ) -> Result<(Entries<'a>, Option<&'static str>), InputError> {
        if self.columns.are_given() {
            return Ok((entries_of(file, text, &self.columns)?, None));
        }
        let format = self.format_of(text).unwrap_or(&Table);
        Ok((format.entries(file, text)?, format.assumed()))
    }

    /// Reads recorded jobs, or a part of them; those of more GPUs than `most` are left out. `file` names the text in errors.
    ///
    /// # Errors
    /// Each has line and column. The text's format refuses a header that lacks something, or a value that is none of its
    /// column. Refused are also times in several ways, jobs of the part that were submitted 213 days after another, and
    /// two of one name. So are a text without jobs, and one of more than [`MOST_JOBS`].
    pub fn read(
        &self,
        file: &str,
        text: &str,
        cut: Cut,
        most: usize,
    ) -> Result<Record, InputError> {
        let (entries, assumed) = self.entries(file, text)?;
        let mut left_out = LeftOut::default();
        let mut accounted = Vec::new();
        for entry in entries {
            match entry? {
                AccountEntry::Job(job) => accounted.push(*job),
                AccountEntry::LeftOut(why) => left_out.count(why),
            }
        }
        let window = cut.window(&accounted);
        let mut part = Part::default();
        for job in &accounted {
            if !window.holds(file, job)? {
                left_out.outside += 1;
            } else if job.gpus.gpus as usize > most {
                left_out.too_wide += 1;
            } else {
                self.add(&mut part, file, job)?;
            }
        }
        let jobs = part.jobs(file, &window)?;
        if jobs.is_empty() {
            return Err(nothing_to_play(file, text, left_out, most));
        }
        Ok(Record { jobs, left_out, assumed })
    }

    fn add<'a>(
        &self,
        part: &mut Part<'a>,
        file: &str,
        job: &'a AccountedJob<'a>,
    ) -> Result<(), InputError> {
        if part.jobs.len() == MOST_JOBS as usize {
            let remedy = format!("keep {MOST_JOBS} of them");
            return Err(job.row.refuse(file, "the file has more jobs than may be played", remedy));
        }
        if let Some(id) = job.id.as_ref().filter(|id| id.value.chars().any(char::is_control)) {
            let remedy = "name jobs without tabs and other control characters";
            return Err(id.refuse(file, "not a job's id", remedy));
        }
        let workload = job.workload.as_ref().map(|named| {
            let known = &self.registries.workloads;
            let remedy = || instead_of(&named.value, &known.names());
            let found = known.get(&named.value).map(|found| found.name().to_owned());
            found.map_err(|_| named.refuse(file, "unknown workload", remedy()))
        });
        let numbered = || format!("job-{:03}", part.jobs.len() + 1);
        let name = job.id.as_ref().map_or_else(numbered, |id| id.value.to_string());
        if let Some(known) = part.names.insert(name.clone(), job.row.position.line) {
            let remedy = format!(
                "line {known} has this id already; run `sacct` without `--duplicates`, or give \
                 each job its own"
            );
            let id = job.id.as_ref().unwrap_or(&job.row);
            return Err(id.refuse(file, "two jobs have one id", remedy));
        }
        if let Some(first) = part.accounted.first()
            && !job.submit.is_like(&first.submit)
        {
            let problem = "the file writes times in different ways: with a zone, without one, or \
                as seconds";
            let remedy = "write all in one way, such as 2024-03-01T08:15:30";
            return Err(job.submitted.refuse(file, problem, remedy));
        }
        part.accounted.push(job);
        part.jobs.push(RecordedJob {
            name,
            title: job.title.as_ref().map(|title| title.value.to_string()),
            submit: Picoseconds(0),
            gpus: job.gpus.gpus,
            part: job.gpus.part,
            duration: job.duration,
            workload: workload.transpose()?,
            servers: job.servers,
            exclusive: job.exclusive,
            place: job.lasted,
        });
        Ok(())
    }
}

/// The jobs of a part, as far as they are read.
#[derive(Default)]
struct Part<'a> {
    jobs: Vec<RecordedJob>,
    /// Holds what the text tells of each.
    accounted: Vec<&'a AccountedJob<'a>>,
    /// Holds the line of each name.
    names: BTreeMap<String, usize>,
}

impl Part<'_> {
    /// Gives the jobs, whose times count from the first submission.
    fn jobs(self, file: &str, window: &Window) -> Result<Vec<RecordedJob>, InputError> {
        let Self { mut jobs, accounted, .. } = self;
        let earliest = accounted.iter().map(|job| job.submit.picoseconds).min().unwrap_or(0);
        for (job, accounted) in jobs.iter_mut().zip(accounted) {
            let after = u64::try_from(accounted.submit.picoseconds - earliest).map_err(|_| {
                let problem = "this is more than 213 days after the first job";
                accounted.row.refuse(file, problem, window.remedy())
            })?;
            job.submit = Picoseconds(after);
        }
        Ok(jobs)
    }
}

/// An error of a text all of whose jobs were left out.
fn nothing_to_play(file: &str, text: &str, left_out: LeftOut, most: usize) -> InputError {
    let first = lines(file, text).next().unwrap_or(Line { file, number: 1, text: "" });
    let told = left_out.told();
    let all = format!("all rows were left out: {told}");
    let why = if told.is_empty() {
        "add a row for each job below the header".to_owned()
    } else if left_out.outside > 0 {
        format!("{all}; give another `jobs.from` or `jobs.days`")
    } else if left_out.too_wide > 0 {
        format!("{all}; name a larger system, on which jobs can have more than {most}")
    } else if first.text.contains(BAR) {
        format!("{all}; Slurm counts GPUs where `AccountingStorageTRES` names `gres/gpu`")
    } else {
        format!("{all}; give jobs that had GPUs and ended")
    };
    first.refuse_all("the file has no job to play", why)
}

/// Whether a text's header has a column of what each job ran.
pub(in crate::scenario) fn tells_workloads(text: &str) -> bool {
    let fields = lines("", text).next().and_then(|header| header.fields().ok());
    fields.is_some_and(|fields| {
        fields.iter().any(|field| Role::of(&field.value) == Some(Role::Workload))
    })
}
