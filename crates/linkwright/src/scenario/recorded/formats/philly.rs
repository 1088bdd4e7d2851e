//! Reads the job log of Microsoft's Philly: `cluster_job_log`, a list of jobs in JSON.
//!
//! ```json
//! [{"status": "Pass", "jobid": "application_1_7", "submitted_time": "2017-10-07 01:11:39", "attempts":
//!   [{"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}]
//! ```
//!
//! A job ran in attempts. It is taken to have run as long as all of them together, on as many GPUs as the one
//! that had most. A job none of whose attempts started never did; one whose last attempt has no end still ran. Times are
//! of one zone, which is not told.
//!
//! The keys are from the README of philly-traces. Its paper is Jeon et al., "Analysis of
//! Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", ATC '19.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::diagnostic::{InputError, Position, Registered};
use crate::scenario::recorded::columns::says_nothing;
use crate::scenario::recorded::format::{
    AccountEntry, AccountedJob, AccountingFormat, Entries, NotPlayed, Written,
};
use crate::scenario::recorded::values::{GpuCount, Moment};
use crate::units::Picoseconds;

/// How much of a text says whether it is one of Philly's.
const BEGINNING: usize = 4096;

/// Takes a list of jobs in JSON.
#[derive(Debug)]
pub struct Philly;

/// Words that are borrowed of the text where they have no escapes.
#[derive(Deserialize)]
struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Job<'a> {
    #[serde(borrow)]
    status: Option<Words<'a>>,
    #[serde(borrow)]
    jobid: Words<'a>,
    #[serde(borrow)]
    submitted_time: Option<Words<'a>>,
    #[serde(borrow)]
    attempts: Vec<Attempt<'a>>,
}

#[derive(Deserialize)]
struct Attempt<'a> {
    #[serde(borrow)]
    start_time: Option<Words<'a>>,
    #[serde(borrow)]
    end_time: Option<Words<'a>>,
    #[serde(default)]
    detail: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(default)]
    gpus: Vec<IgnoredAny>,
}

impl Registered for Philly {
    fn name(&self) -> &'static str {
        "philly"
    }
}

impl AccountingFormat for Philly {
    fn is_of(&self, text: &str) -> bool {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut end = text.len().min(BEGINNING);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let keys = ["\"jobid\"", "\"submitted_time\"", "\"attempts\""];
        text.starts_with('[') && keys.iter().any(|key| text[..end].contains(key))
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        let position = Position { line: 1, column: 1 };
        Ok(Box::new(Jobs { file, text, at: 0, position, is_begun: false, is_over: false }))
    }

    fn assumed(&self) -> Option<&'static str> {
        Some(
            "A job is taken to have run as long as all its attempts together, on the GPUs of the one that had most",
        )
    }
}

/// Reads one job after another, and counts lines on from the last, so that a whole text costs one count.
struct Jobs<'a> {
    file: &'a str,
    text: &'a str,
    /// How far it is read, and where that is.
    at: usize,
    position: Position,
    is_begun: bool,
    is_over: bool,
}

impl<'a> Iterator for Jobs<'a> {
    type Item = Result<AccountEntry<'a>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let found = self.read().transpose();
        self.is_over = !matches!(found, Some(Ok(_)));
        found
    }
}

impl<'a> Jobs<'a> {
    /// The place of an offset that is not before what is read.
    fn place(&self, offset: usize) -> Position {
        let within = &self.text[self.at..offset];
        let further = Position::of_offset(within, within.len());
        match further.line {
            1 => Position { column: self.position.column + further.column - 1, ..self.position },
            more => Position { line: self.position.line + more - 1, ..further },
        }
    }

    fn advance(&mut self, offset: usize) {
        self.position = self.place(offset);
        self.at = offset;
    }

    /// Passes over white space; gives what stands behind it.
    fn skip(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        self.advance(self.text.len() - rest.len());
        rest.chars().next()
    }

    /// Reads the next job; None behind the last.
    fn read(&mut self) -> Result<Option<AccountEntry<'a>>, InputError> {
        let is_first = !self.is_begun;
        let part = if is_first { '[' } else { ',' };
        match self.skip() {
            Some(found) if found == part => self.advance(self.at + 1),
            Some(']') if self.is_begun => return self.end(),
            _ => {
                let remedy = "part the jobs of the list by commas, and close it by `]`";
                return Err(self.refuse("not a list of jobs", remedy));
            }
        }
        self.is_begun = true;
        if self.skip() == Some(']') && is_first {
            return self.end();
        }
        let rest = &self.text[self.at..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Job<'a>>();
        let job = stream.next().transpose().map_err(|error| self.refuse_json(&error))?;
        let Some(job) = job else {
            return Err(self.refuse(
                "a comma without a job behind it",
                "remove it, or add \
                the job",
            ));
        };
        let entry = self.entry(&job)?;
        self.advance(self.at + stream.byte_offset());
        Ok(Some(entry))
    }

    /// Refuses what stands behind the list.
    fn end(&mut self) -> Result<Option<AccountEntry<'a>>, InputError> {
        self.advance(self.at + 1);
        match self.skip() {
            None => Ok(None),
            Some(_) => Err(self.refuse("text behind the list of jobs", "remove it")),
        }
    }

    fn refuse(&self, problem: &str, remedy: &str) -> InputError {
        InputError::at(self.file, self.position, problem, self.line_at(self.at), remedy)
    }

    fn line_at(&self, offset: usize) -> &'a str {
        self.text[offset..].lines().next().unwrap_or_default()
    }

    /// An error of the reader of JSON, which counts lines, and bytes in them, from the job's start.
    fn refuse_json(&self, error: &serde_json::Error) -> InputError {
        let rest = &self.text[self.at..];
        let ends = rest.match_indices('\n').map(|(at, _)| at + 1);
        let mut starts = std::iter::once(0).chain(ends);
        let start = starts.nth(error.line().saturating_sub(1)).unwrap_or(0);
        let mut offset = (start + error.column().saturating_sub(1)).min(rest.len());
        while !rest.is_char_boundary(offset) {
            offset -= 1;
        }
        let message = error.to_string();
        let problem = message.split(" at line ").next().unwrap_or_default();
        let (offset, remedy) = (
            self.at + offset,
            "write each job as Philly's `cluster_job_log` has it, \
                                with `jobid`, `submitted_time` and `attempts`",
        );
        let value = self.line_at(offset);
        InputError::at(self.file, self.place(offset), problem, value, remedy)
    }

    /// Words of the job that is read; those with escapes stand in its place.
    fn written(&self, value: &Words<'a>) -> Written<'a> {
        let offset = match &value.0 {
            Cow::Borrowed(words) => {
                (words.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)
            }
            Cow::Owned(_) => None,
        };
        let position = offset.map_or(self.position, |offset| self.place(offset));
        Written { position, value: value.0.clone() }
    }

    fn moment(&self, value: &Words<'a>) -> Result<Moment, InputError> {
        Moment::read(&value.0).ok_or_else(|| {
            let remedy = "write one such as \"2017-10-07 01:12:09\"; an attempt's may be null";
            self.written(value).refuse(self.file, "not a time", remedy)
        })
    }

    /// How long an attempt lasted; None where a time is missing.
    fn lasted(&self, attempt: &Attempt<'a>) -> Result<Option<i128>, InputError> {
        let (Some(start), Some(end)) = (said(&attempt.start_time), said(&attempt.end_time)) else {
            return Ok(None);
        };
        let (from, to) = (self.moment(start)?, self.moment(end)?);
        if to.picoseconds < from.picoseconds || !to.is_like(&from) {
            let remedy = "write an end that is not before the attempt's start, in the same way";
            let problem = "not a time after the attempt's start";
            return Err(self.written(end).refuse(self.file, problem, remedy));
        }
        Ok(Some(to.picoseconds - from.picoseconds))
    }

    fn entry(&self, job: &Job<'a>) -> Result<AccountEntry<'a>, InputError> {
        let left_out = |why| Ok(AccountEntry::LeftOut(why));
        let Some(last) = job.attempts.last() else { return left_out(NotPlayed::NeverStarted) };
        if job.attempts.iter().all(|attempt| said(&attempt.start_time).is_none()) {
            return left_out(NotPlayed::NeverStarted);
        }
        let Some(end) = said(&last.end_time) else { return left_out(NotPlayed::Unfinished) };
        let mut lasted = 0;
        for attempt in &job.attempts {
            lasted += self.lasted(attempt)?.unwrap_or(0);
        }
        let gpus = job
            .attempts
            .iter()
            .map(|attempt| attempt.detail.iter().map(|server| server.gpus.len()).sum::<usize>());
        let gpus = u32::try_from(gpus.max().unwrap_or(0)).unwrap_or(u32::MAX);
        if lasted == 0 {
            return left_out(match job.status.as_ref().map(|it| &*it.0) {
                Some("Killed") => NotPlayed::NeverStarted,
                _ => NotPlayed::WithoutLength,
            });
        }
        if gpus == 0 {
            return left_out(NotPlayed::WithoutGpus);
        }
        let Some(submitted) = &job.submitted_time else {
            return Err(
                self.refuse("a job without `submitted_time`", "write when it was submitted")
            );
        };
        let at = self.written(end);
        let duration = u64::try_from(lasted).map_err(|_| {
            let remedy = "write attempts that last less than 213 days together";
            at.refuse(self.file, "the job's attempts last too long", remedy)
        })?;
        Ok(AccountEntry::Job(Box::new(AccountedJob {
            id: Some(self.written(&job.jobid)),
            title: None,
            submit: self.moment(submitted)?,
            submitted: self.written(submitted),
            gpus: GpuCount { gpus, part: None },
            duration: Picoseconds(duration),
            lasted: at.position,
            workload: None,
            servers: None,
            exclusive: false,
            row: self.written(&job.jobid),
        })))
    }
}

/// A time, where one is said.
fn said<'b, 'a>(time: &'b Option<Words<'a>>) -> Option<&'b Words<'a>> {
    time.as_ref().filter(|time| !says_nothing(&time.0))
}
