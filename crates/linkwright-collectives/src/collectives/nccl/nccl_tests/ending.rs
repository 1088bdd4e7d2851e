//! Tells whether a run of nccl-tests ended well, was cut short, or has no row.

use std::collections::BTreeMap;

use super::log::{LogNote, NcclTestsLog};
use super::read::Reader;
use crate::diagnostic::{InputError, Position, shown};
use crate::units::Bytes;

/// Each size follows from the one before by this step.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Factor(u64),
    Bytes(u64),
}

impl Reader {
    /// The largest size of the run where its table ends before that.
    fn missing(&self) -> Option<u64> {
        let (most, step) = self.most.filter(|_| !self.ended)?;
        let last = self.log.rows.last()?.size.0;
        let next = match step {
            Step::Factor(factor) => last.saturating_mul(factor),
            Step::Bytes(bytes) => last.saturating_add(bytes),
        };
        (next <= most).then_some(most)
    }

    /// Notes something of the whole log, however many notes its lines have.
    fn say(&mut self, line: usize, text: impl Into<String>) {
        self.log.notes.push(LogNote { line, text: text.into() });
    }

    pub(super) fn finish(mut self, file: &str) -> Result<NcclTestsLog, InputError> {
        if self.log.rows.is_empty() {
            return Err(self.refusal(file));
        }
        self.find_failure();
        if let Some(line) = self.other_table {
            let text = "another rank prints a table of its own, which is left out; nccl-tests built \
                        with MPI=1 makes one job of all ranks";
            self.say(line, text);
        }
        if let Some(line) = self.more_rows {
            let text = format!("only the first {} rows are read", self.log.rows.len());
            self.say(line, text);
        }
        if let [first, ..] = self.empty[..] {
            let rows =
                if self.empty.len() == 1 { "row of size 0 is" } else { "rows of size 0 are" };
            let text = format!(
                "{} {rows} left out: less than one element a rank moves nothing",
                self.empty.len()
            );
            self.say(first, text);
        }
        for (warning, (line, count)) in std::mem::take(&mut self.warnings) {
            let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
            self.say(line, format!("NCCL warned{times}: {}", shown(&warning)));
        }
        let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
        for (host, _) in &self.ranks {
            *hosts.entry(host).or_default() += 1;
        }
        self.log.of_hosts = hosts.into_values().collect();
        self.log.processes = self.processes();
        self.log.file = file.to_owned();
        self.log.notes.sort_by_key(|note| note.line);
        Ok(self.log)
    }

    /// A run failed that says so or whose table is cut short; a warning is no failure.
    fn find_failure(&mut self) {
        let failure = self.failure.take().map(|(line, text)| (line, shown(&text)));
        let cut = || {
            let end = match (self.missing(), self.broken && !self.ended) {
                (Some(most), _) => {
                    format!("the table is cut short: it was to go on to {}", Bytes(most))
                }
                (None, true) => "the table is cut short within a row".to_owned(),
                (None, false) => return None,
            };
            Some((self.last, end))
        };
        if let Some((line, text)) = failure.or_else(cut) {
            self.say(line, format!("the run failed here: {text}"));
            self.log.failed = Some(LogNote { line, text });
        } else if !self.ended && self.most.is_none() {
            let text =
                "the log ends without its average: it may be cut off, and later sizes missing";
            self.say(self.last, text);
        }
    }

    /// Why a log has no rows.
    fn refusal(self, file: &str) -> InputError {
        let refuse = |line, problem: &str, value: &str, remedy: &str| {
            InputError::at(file, Position { line, column: 1 }, problem, value, remedy)
        };
        let remedy = "give the output of all_reduce_perf or another of nccl-tests";
        let mut warnings: Vec<_> =
            self.warnings.iter().map(|(text, (line, _))| (*line, text)).collect();
        warnings.sort_unstable();
        let warned = warnings.first().map(|(line, text)| (*line, (*text).clone()));
        match (self.failure.or(warned), self.heading, self.empty.first()) {
            (_, _, Some(line)) => refuse(
                *line,
                "every row is of size 0: less than one element a rank moves nothing",
                "",
                "measure larger sizes, such as from 1 KiB to 1 GiB",
            ),
            (Some((line, text)), _, _) => refuse(
                line,
                "the run failed before its first size",
                &text,
                "mend it and run it again",
            ),
            (None, Some(_), _) => refuse(self.last.max(1), "the table has no row", "", remedy),
            (None, None, _) => refuse(1, "nothing that nccl-tests prints", "", remedy),
        }
    }
}

/// Whether a line is one that nccl-tests prints where it gives up, or names an error of NCCL that nothing
/// handles. A warning of NCCL itself may be harmless.
pub(super) fn tells_failure(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let unhandled = lower.find("unhandled").is_some_and(|at| lower[at..].contains("error"));
    let said = ["test", "nccl", "rccl", "cuda", "hip", "mpi"].iter().any(|what| {
        lower.match_indices(" failure").take(4).any(|(at, _)| lower[..at].ends_with(what))
    });
    unhandled || said && !text.contains("NCCL WARN") && !text.contains("NCCL INFO")
}

/// The largest size that a run goes up to, and its steps: `maxBytes 1024 step: 2(factor)`.
pub(super) fn most_of(words: &[&str]) -> Option<(u64, Step)> {
    let after =
        |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1));
    let most = after("maxBytes")?.parse().ok()?;
    let (count, unit) = after("step:")?.split_once('(')?;
    let count: u64 = count.parse().ok()?;
    let step = if unit.starts_with("factor") { Step::Factor(count) } else { Step::Bytes(count) };
    Some((most, step))
}
