//! Reads logs in the Standard Workload Format (SWF), version 2.2.
//!
//! ```text
//! ; MaxProcs: 64
//! 1 0 5 3600 4 -1 -1 4 3600 -1 1 7 3 -1 1 -1 -1 -1
//! ```
//!
//! A line has 18 numbers; one that does not apply is -1. The reader takes the job's number (1), its submission (2)
//! and run time (4) in seconds, its processors (5, else 8), and its state (11).
//! The format knows no GPUs: each processor is taken for one. Partial executions (states 2, 3 and 4) repeat what the
//! job's own line says; they are steps. A cancelled job (state 5) that did not run never started.
//!
//! The source is D. Feitelson, "The Standard Workload Format", Parallel Workloads Archive.

use std::borrow::Cow;

use crate::diagnostic::fields::Field;
use crate::diagnostic::{InputError, Registered};
use crate::scenario::recorded::format::{
    AccountEntry, AccountedJob, AccountingFormat, Entries, NotPlayed,
};
use crate::scenario::recorded::lines::{Line, lines};
use crate::scenario::recorded::values::{Moment, duration, gpus_of};

/// How many numbers a line has.
const NUMBERS: usize = 18;

// Where they stand, from zero.
const JOB: usize = 0;
const SUBMIT: usize = 1;
const RUN_TIME: usize = 3;
const ALLOCATED: usize = 4;
const REQUESTED: usize = 7;
const STATUS: usize = 10;

/// Lines of numbers.
#[derive(Debug)]
pub struct Swf;

impl Registered for Swf {
    fn name(&self) -> &'static str {
        "swf"
    }
}

impl AccountingFormat for Swf {
    fn is_of(&self, text: &str) -> bool {
        let Some(first) = lines("", text).next() else { return false };
        let words = || first.text.split_whitespace();
        first.text.starts_with(';')
            || words().count() == NUMBERS && words().all(|it| it.parse::<f64>().is_ok())
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        let rows = lines(file, text).filter(|line| !line.text.trim_start().starts_with(';'));
        Ok(Box::new(rows.map(entry)))
    }

    fn assumed(&self) -> Option<&'static str> {
        Some("The format knows no GPUs, so that each processor is taken for one")
    }
}

/// Splits a line into words that know their columns.
fn words<'a>(line: Line<'a>) -> Vec<Field<'a>> {
    let mut found = Vec::with_capacity(NUMBERS);
    let (mut rest, mut column) = (line.text, 1);
    loop {
        let word = rest.trim_start();
        column += rest[..rest.len() - word.len()].chars().count();
        if word.is_empty() || found.len() > NUMBERS {
            return found;
        }
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        found.push(Field { value: Cow::Borrowed(&word[..end]), column });
        column += word[..end].chars().count();
        rest = &word[end..];
    }
}

fn entry(line: Line<'_>) -> Result<AccountEntry<'_>, InputError> {
    let fields = words(line);
    if fields.len() != NUMBERS {
        let problem = "a line of SWF has 18 numbers, this has another count";
        return Err(line.refuse_all(problem, "write -1 for each that does not apply"));
    }
    if let Some(field) = fields.iter().find(|field| field.value.parse::<f64>().is_err()) {
        let remedy = "write a number, -1 where none applies, or `;` before a comment";
        return Err(line.refuse(field, "not a number", remedy));
    }
    let is_said = |at: usize| !fields[at].value.starts_with('-');
    let status = &*fields[STATUS].value;
    if matches!(status, "2" | "3" | "4") {
        return Ok(AccountEntry::LeftOut(NotPlayed::Step));
    }
    let is_cancelled = status == "5";
    if !is_said(RUN_TIME) {
        let why = if is_cancelled { NotPlayed::NeverStarted } else { NotPlayed::Unfinished };
        return Ok(AccountEntry::LeftOut(why));
    }
    let lasted = duration(&fields[RUN_TIME].value).ok_or_else(|| {
        let remedy = "write seconds, below 213 days";
        line.refuse(&fields[RUN_TIME], "not a duration", remedy)
    })?;
    if lasted.0 == 0 {
        let why = if is_cancelled { NotPlayed::NeverStarted } else { NotPlayed::WithoutLength };
        return Ok(AccountEntry::LeftOut(why));
    }
    let processors = if is_said(ALLOCATED) { ALLOCATED } else { REQUESTED };
    if !is_said(processors) {
        return Ok(AccountEntry::LeftOut(NotPlayed::WithoutGpus));
    }
    let gpus = gpus_of(&fields[processors].value, 1).filter(|gpus| gpus.part.is_none());
    let gpus = gpus.ok_or_else(|| {
        line.refuse(&fields[processors], "not a number of processors", "write a whole number")
    })?;
    if gpus.gpus == 0 {
        return Ok(AccountEntry::LeftOut(NotPlayed::WithoutGpus));
    }
    let submit = Moment::read(&fields[SUBMIT].value).ok_or_else(|| {
        let remedy = "write when the job was submitted, in seconds after the log's start";
        line.refuse(&fields[SUBMIT], "not a time", remedy)
    })?;
    Ok(AccountEntry::Job(Box::new(AccountedJob {
        id: Some(line.written_in(&fields[JOB])),
        title: None,
        submit,
        submitted: line.written_in(&fields[SUBMIT]),
        gpus,
        duration: lasted,
        lasted: line.position(fields[RUN_TIME].column),
        workload: None,
        servers: None,
        exclusive: false,
        row: line.written(),
    })))
}
