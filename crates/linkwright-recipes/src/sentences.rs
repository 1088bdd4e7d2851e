//! Adds a format of accounting, which has a sentence for each job, such as `job a came at 5 and had 2 GPUs for 60 seconds`.

use linkwright::diagnostic::{InputError, Position, Registered};
use linkwright::scenario::recorded::{
    AccountEntry, AccountedJob, AccountingFormat, Entries, Moment, Written, duration, gpus_of,
};

/// Stands around the values.
const WORDS: [&str; 4] = ["job", "came at", "and had", "GPUs for"];

/// Lines of words.
#[derive(Debug)]
pub struct Sentences;

impl Registered for Sentences {
    fn name(&self) -> &'static str {
        "sentences"
    }
}

impl AccountingFormat for Sentences {
    fn is_of(&self, text: &str) -> bool {
        text.lines().next().is_some_and(|line| values(line).is_some())
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        Ok(Box::new(text.lines().zip(1..).map(move |(line, number)| entry(file, line, number))))
    }
}

/// Finds the id, the submission, the GPUs and the seconds of a line.
fn values(line: &str) -> Option<[&str; 4]> {
    let rest = line.strip_prefix(WORDS[0])?.strip_suffix("seconds")?;
    let (id, rest) = rest.split_once(WORDS[1])?;
    let (submit, rest) = rest.split_once(WORDS[2])?;
    let (gpus, seconds) = rest.split_once(WORDS[3])?;
    Some([id, submit, gpus, seconds].map(str::trim))
}

fn entry<'a>(file: &str, line: &'a str, number: usize) -> Result<AccountEntry<'a>, InputError> {
    let written = |value: &'a str| Written {
        position: Position { line: number, column: 1 },
        value: value.into(),
    };
    let refuse = || {
        let remedy = "write `job a came at 5 and had 2 GPUs for 60 seconds`";
        written(line).refuse(file, "no sentence of a job", remedy)
    };
    let [id, submit, gpus, seconds] = values(line).ok_or_else(refuse)?;
    Ok(AccountEntry::Job(Box::new(AccountedJob {
        id: Some(written(id)),
        title: None,
        submit: Moment::read(submit).ok_or_else(refuse)?,
        submitted: written(submit),
        gpus: gpus_of(gpus, 1).filter(|it| it.gpus > 0).ok_or_else(refuse)?,
        duration: duration(seconds).filter(|it| it.0 > 0).ok_or_else(refuse)?,
        lasted: written(seconds).position,
        workload: None,
        servers: None,
        exclusive: false,
        row: written(line),
    })))
}
