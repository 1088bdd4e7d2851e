//! Jobs as a cluster recorded them: when each was submitted, its GPUs, and how long it ran.
//!
//! ```text
//! JobID|Submit|Start|Elapsed|AllocTRES|State
//! 4711|2024-03-01T08:15:30|2024-03-01T08:20:00|1-02:00:00|cpu=32,gres/gpu=4,node=1|COMPLETED
//! 4711.batch|2024-03-01T08:20:00|2024-03-01T08:20:00|1-02:00:00|cpu=32,node=1|COMPLETED
//! ```
//!
//! That is what Slurm's `sacct --parsable2` prints, of which any columns may be asked for, in any
//! order; or comma-separated values:
//!
//! ```text
//! submit,gpus,duration
//! 2024-03-01 08:15:30,4,1-02:00:00
//! ```
//!
//! Columns are known by their names, whatever their case, or by those that a scenario's
//! `[jobs.columns]` gives; all others are passed over. Left out, and counted, are the steps of a job,
//! jobs that never started or have not ended, jobs without GPUs, jobs of no length, and jobs of more GPUs than the system
//! lets one have; also jobs outside of the part that is [played](Cut). A job that had parts of GPUs is played on whole
//! ones, and counted ([`PartOfGpu`]). What a job waited is not read: when it starts is what a
//! simulation is to say.
//!
//! What such a job does nobody recorded: `work` says what is assumed of it.

mod columns;
mod cut;
#[cfg(test)]
mod tests;
mod values;
mod work;

use std::collections::BTreeMap;

pub use columns::Columns;
use columns::{Header, Role, other_separator};
pub use cut::Cut;
pub(super) use cut::{MOST_DAYS, Start};
pub use values::PartOfGpu;
pub(super) use work::{Limits, Machine, Recorded};

use crate::diagnostic::fields::{Field, split};
use crate::diagnostic::{Diagnosis, InputError, Position};
use crate::simulation::{MOST_JOBS, other_format};
use crate::units::Picoseconds;

/// A job that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedJob {
    /// Its id, or its number in the file where that gives none.
    pub name: String,
    /// When it was submitted, after the first that is not left out.
    pub submit: Picoseconds,
    /// How many GPUs it had.
    pub gpus: u32,
    /// Tells what part of each it had, where it had no whole ones.
    pub part: Option<PartOfGpu>,
    /// How long it ran.
    pub duration: Picoseconds,
    /// What it ran, where a column says so.
    pub workload: Option<String>,
    /// Where the file says how long it ran.
    pub place: Position,
}

/// How many rows are no jobs to play, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Steps of jobs.
    pub steps: usize,
    /// Jobs that were cancelled before they started, or still wait.
    pub never_started: usize,
    /// Jobs that still ran.
    pub unfinished: usize,
    /// Jobs that had no GPU.
    pub without_gpus: usize,
    /// Jobs that ended as they started.
    pub without_length: usize,
    /// Jobs of more GPUs than the system lets one have.
    pub too_wide: usize,
    /// Jobs outside of the part that is played.
    pub outside: usize,
}

impl LeftOut {
    /// How many of what, in words; empty where nothing was left out.
    #[must_use]
    pub fn told(&self) -> String {
        let counts = [
            (self.steps, "step of a job", "steps of jobs"),
            (self.never_started, "job that never started", "jobs that never started"),
            (self.unfinished, "job that had not ended", "jobs that had not ended"),
            (self.without_gpus, "job without GPUs", "jobs without GPUs"),
            (self.without_length, "job of no length", "jobs of no length"),
            (
                self.too_wide,
                "job of more GPUs than one can get",
                "jobs of more GPUs than one can get",
            ),
            (self.outside, "job outside of the part", "jobs outside of the part"),
        ];
        let told = counts.iter().filter(|(count, ..)| *count > 0);
        let told = told.map(|(count, one, several)| {
            format!("{count} {}", if *count == 1 { one } else { several })
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// The jobs of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// In the order of the file.
    pub jobs: Vec<RecordedJob>,
    /// What else it has.
    pub left_out: LeftOut,
}

/// A line of a file, which places its errors.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn position(self, column: usize) -> Position {
        Position { line: self.number, column }
    }

    fn refuse(
        self,
        field: &Field<'_>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        InputError::at(self.file, self.position(field.column), problem, &field.value, remedy)
    }

    fn refuse_all(self, problem: &str, remedy: impl Into<String>) -> InputError {
        InputError::at(self.file, self.position(1), problem, self.text, remedy)
    }

    /// Its fields: of `sacct` between bars, without quotes; else between commas.
    fn fields(self) -> Result<Vec<Field<'a>>, InputError> {
        if !self.text.contains(BAR) {
            return split(self.text).map_err(|error| {
                let (at, value) = (self.position(error.column), error.value);
                InputError::at(self.file, at, error.problem, value, error.remedy)
            });
        }
        let mut column = 1;
        let each = self.text.split(BAR).map(|part| {
            let blank = part.chars().take_while(|it| it.is_whitespace()).count();
            let field = Field { value: part.trim().into(), column: column + blank };
            column += part.chars().count() + 1;
            field
        });
        Ok(each.collect())
    }
}

/// What `sacct --parsable2` puts between fields.
const BAR: char = '|';

/// The lines that say something.
fn lines<'a>(file: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> + Clone {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .zip(1..)
        .map(move |(text, number)| Line { file, number, text })
        .filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'))
}

/// Whether a text's header is of recorded jobs: `sacct`'s, or with a column of how long a job ran, or
/// one whose columns are parted as no file's may be. Else it is a list of jobs that says what each runs.
#[must_use]
pub fn is_record(text: &str, columns: &Columns) -> bool {
    let Some(header) = lines("", text).next() else { return false };
    header.text.contains(BAR)
        || columns.are_given()
        || other_separator(header.text).is_some()
        || header.fields().is_ok_and(|fields| {
            fields.iter().any(|field| matches!(Role::of(&field.value), Some(Role::Duration(_))))
        })
}

/// Whether a text's header has a column of what each job ran.
pub(super) fn tells_workloads(text: &str) -> bool {
    let fields = lines("", text).next().and_then(|header| header.fields().ok());
    fields.is_some_and(|fields| {
        fields.iter().any(|field| Role::of(&field.value) == Some(Role::Workload))
    })
}

/// Reads recorded jobs, or a part of them; those of more GPUs than `most` are left out. `file` names the text in errors.
///
/// # Errors
/// A header without what is needed, rows of another length, fields that are no value of their column,
/// times of which some have a zone and some none, jobs of the part that were submitted 213 days after
/// another, two of one name, no job at all or more than [`MOST_JOBS`]: each with line and column.
pub fn read(
    file: &str,
    text: &str,
    columns: &Columns,
    cut: Cut,
    most: usize,
) -> Result<Record, InputError> {
    let mut lines = lines(file, text);
    let Some(first) = lines.next() else {
        let line = Line { file, number: 1, text: "" };
        let remedy = "begin with a header such as `submit,gpus,duration`, or give what `sacct \
                      --parsable2` prints";
        return Err(line.refuse_all("the file has no header", remedy));
    };
    if let Some(Diagnosis { problem, remedy }) = other_format(text) {
        return Err(first.refuse_all(&problem, remedy.unwrap_or_default()));
    }
    let header = Header::read(first, columns)?;
    let window = cut.window(&header, lines.clone())?;
    let mut left_out = LeftOut::default();
    let mut jobs: Vec<RecordedJob> = Vec::new();
    let mut moments = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines {
        let row = header.row(line)?;
        let Some(found) = row.job(&mut left_out)? else { continue };
        if !window.holds(&row, &found)? {
            left_out.outside += 1;
            continue;
        }
        if found.gpus.gpus as usize > most {
            left_out.too_wide += 1;
            continue;
        }
        if jobs.len() == MOST_JOBS as usize {
            let remedy = format!("keep {MOST_JOBS} of them");
            return Err(line.refuse_all("the file has more jobs than may be played", remedy));
        }
        let name = found.name.unwrap_or_else(|| format!("job-{:03}", jobs.len() + 1));
        if let Some(known) = names.insert(name.clone(), line.number) {
            let remedy = format!(
                "line {known} has this id already; run `sacct` without `--duplicates`, or give \
                 each job its own"
            );
            return Err(line.refuse(row.name_field(), "two jobs have one id", remedy));
        }
        if let Some((_, other)) = moments.first()
            && !found.submit.is_like(other)
        {
            let problem = "times of which some have a zone and some none, or are seconds";
            let remedy = "write all in one way, such as 2024-03-01T08:15:30";
            return Err(row.refuse_submit(problem, remedy));
        }
        moments.push((line, found.submit));
        jobs.push(RecordedJob {
            name,
            submit: Picoseconds(0),
            gpus: found.gpus.gpus,
            part: found.gpus.part,
            duration: found.duration,
            workload: found.workload,
            place: found.place,
        });
    }
    let Some(earliest) = moments.iter().map(|(_, moment)| moment.picoseconds).min() else {
        let told = left_out.told();
        let why = if told.is_empty() {
            "add a row for each job below the header".to_owned()
        } else if left_out.outside > 0 {
            format!("all rows were left out: {told}; give another `jobs.from` or `jobs.days`")
        } else if left_out.too_wide > 0 {
            format!(
                "all rows were left out: {told}; name a larger system, on which jobs can have more than {most}"
            )
        } else {
            format!(
                "all rows were left out: {told}; Slurm counts GPUs where `AccountingStorageTRES` \
                 names `gres/gpu`"
            )
        };
        return Err(first.refuse_all("the file has no job to play", why));
    };
    for (job, (line, moment)) in jobs.iter_mut().zip(&moments) {
        let after = u64::try_from(moment.picoseconds - earliest).map_err(|_| {
            let problem = "this is more than 213 days after the first job";
            line.refuse_all(problem, window.remedy())
        })?;
        job.submit = Picoseconds(after);
    }
    Ok(Record { jobs, left_out })
}
