//! Reads what jobs printed: tables of nccl-tests and NCCL's own lines, of one job or of several in one file.
//!
//! A job begins where nccl-tests prints its first comment once more. Jobs that run at once are told apart by a launcher's
//! prefix of their comments, and NCCL's lines by the processes that the comments name.

use std::collections::HashSet;

use super::debug::{DebugReader, Heard, MOST_FACTS};
use super::debug_line::NcclLine;
use super::{REMEDY, Source};
use crate::collectives::nccl::nccl_tests::{LogReader, plain, printer_of};
use crate::diagnostic::InputError;
use crate::doctor::evidence::{DebugLog, LoggedRun};

/// How many jobs of a file are read.
const MOST_RUNS: usize = 64;

/// How many processes of a job are held.
const MOST_PROCESSES: usize = 1 << 16;

/// Holds what was read of a file's jobs.
pub(super) struct LogRuns {
    file: String,
    done: Vec<LoggedRun>,
    open: Vec<OpenRun>,
    /// NCCL's lines behind the end of a job, which are of the next.
    next: Option<DebugReader>,
    room: usize,
    /// Why a job has no table.
    refusal: Option<InputError>,
    has_debug: bool,
}

/// A job that is being read.
struct OpenRun {
    /// Is the prefix that a launcher puts before its comments; None as long as there are none.
    label: Option<String>,
    tests: LogReader,
    debug: DebugReader,
    /// Holds `host` and `process` of its ranks.
    processes: HashSet<(String, String)>,
}

impl OpenRun {
    fn new(file: &str, label: Option<String>, debug: Option<DebugReader>) -> Self {
        let debug = debug.unwrap_or_else(|| DebugReader::new(file));
        Self { label, tests: LogReader::default(), debug, processes: HashSet::new() }
    }

    /// Whether a comment that begins a job begins another one.
    fn is_over(&self) -> bool {
        self.tests.has_table() || self.tests.has_ended() || self.tests.has_failed()
    }
}

impl LogRuns {
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            done: Vec::new(),
            open: Vec::new(),
            next: None,
            room: MOST_FACTS,
            refusal: None,
            has_debug: false,
        }
    }

    /// Takes a line.
    pub fn line(&mut self, number: u64, text: &str, source: &mut Source<'_>) {
        let text = plain(text);
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(line) = NcclLine::of(&text) {
            self.debug_line(number, index, &text, &line, source);
            return;
        }
        if text.contains('#') || text.contains("busbw") {
            self.comment(number, &text, source);
        }
        if self.open.is_empty() {
            self.open.push(OpenRun::new(&self.file, None, None));
        }
        for run in &mut self.open {
            run.tests.line(index, &text);
        }
    }

    fn debug_line(
        &mut self,
        number: u64,
        index: usize,
        text: &str,
        line: &NcclLine<'_>,
        source: &mut Source<'_>,
    ) {
        self.has_debug = true;
        let run = self.run_of(text, line);
        let begins_next = || {
            ["Init START", "Bootstrap", "CCL version"].iter().any(|own| line.message.contains(own))
        };
        if self.next.is_none() && self.open[run].tests.has_ended() && begins_next() {
            self.next = Some(DebugReader::new(&self.file));
        }
        let run = &mut self.open[run];
        let debug = self.next.as_mut().unwrap_or(&mut run.debug);
        if let Heard::Refused(why) = debug.line(number, line, &mut self.room) {
            source.skip(number, why);
        }
        let is_of_table = |own: &&str| line.message.contains(*own);
        if line.warns || ["CCL version", "nhandled"].iter().any(is_of_table) {
            run.tests.line(index, text);
        } else {
            run.tests.debug_line(index, text);
        }
    }

    /// Finds the job of NCCL's line: the only one, the one that named its process, the one of its
    /// label, or the last.
    fn run_of(&mut self, text: &str, line: &NcclLine<'_>) -> usize {
        match self.open.len() {
            0 => self.open.push(OpenRun::new(&self.file, None, None)),
            1 => {}
            open => {
                let process = (line.host.to_owned(), line.process().to_owned());
                let prefix = &text[..text.len() - line.whole.len()];
                let label = || printer_of(&format!("{prefix}#"));
                let named = self.open.iter().position(|run| run.processes.contains(&process));
                return named
                    .or_else(|| {
                        let label = label();
                        self.open.iter().position(|run| run.label == label)
                    })
                    .unwrap_or(open - 1);
            }
        }
        0
    }

    /// Opens a job where a comment begins one.
    fn comment(&mut self, number: u64, text: &str, source: &mut Source<'_>) {
        let Some(label) = printer_of(text) else { return };
        let comment = text.split_once('#').map_or("", |(_, it)| it.trim_start_matches('#').trim());
        const BEGINNINGS: [&str; 3] =
            ["nccl-tests version", "Collective test starting:", "nThread "];
        let begins = BEGINNINGS.iter().any(|own| comment.starts_with(own));
        let is_heading = text.contains("busbw") && text.contains("time");
        let own = self.open.iter().position(|run| run.label.as_ref() == Some(&label));
        match own {
            Some(own) if begins && self.open[own].is_over() => {
                let run = self.open.remove(own);
                self.close(run, source);
                self.open(number, label, source);
            }
            Some(own) => self.process(own, comment),
            None if begins || is_heading && !self.is_numbered(&label) => {
                match self.open.iter_mut().find(|run| run.label.is_none()) {
                    Some(unnamed) => unnamed.label = Some(label),
                    None => self.open(number, label, source),
                }
            }
            None => {}
        }
    }

    /// Whether a heading is of an open job whose lines are numbered: then their labels differ in numbers alone.
    fn is_numbered(&self, label: &str) -> bool {
        let plain = |it: &str| -> String { it.chars().filter(|it| !it.is_ascii_digit()).collect() };
        let waits = |run: &OpenRun| {
            !run.tests.has_table()
                && run
                    .label
                    .as_deref()
                    .is_some_and(|own| own != label && plain(own) == plain(label))
        };
        label.contains(|it: char| it.is_ascii_digit()) && self.open.iter().any(waits)
    }

    fn open(&mut self, number: u64, label: String, source: &mut Source<'_>) {
        if self.done.len() + self.open.len() >= MOST_RUNS {
            source.skip(number, format!("a job behind the first {MOST_RUNS} is left out"));
            return;
        }
        let next = self.next.take();
        self.open.push(OpenRun::new(&self.file, Some(label), next));
    }

    /// Keeps the process of `Rank 0 Group 0 Pid 1887 on worker-1 device 0 ...`.
    fn process(&mut self, own: usize, comment: &str) {
        if !comment.starts_with("Rank ") {
            return;
        }
        let word = |name: &str| {
            let mut words = comment.split_whitespace();
            words.find(|word| *word == name)?;
            words.next()
        };
        let processes = &mut self.open[own].processes;
        if let (Some(host), Some(process)) = (word("on"), word("Pid"))
            && processes.len() < MOST_PROCESSES
        {
            processes.insert((host.to_owned(), process.to_owned()));
        }
    }

    fn close(&mut self, run: OpenRun, source: &mut Source<'_>) {
        let has_label = run.label.is_some();
        let tests = match run.tests.finish(&self.file) {
            Ok(tests) => Some(tests),
            Err(error) => {
                if has_label {
                    let text = match error.value.as_str() {
                        "" => error.problem.clone(),
                        value => format!("{}: {value}", error.problem),
                    };
                    source.note(error.position.line as u64, text);
                }
                self.refusal.get_or_insert(error);
                None
            }
        };
        let has_facts = run.debug.has_read();
        let debug = run.debug.finish();
        if debug.other_lines > 0 {
            let text = format!(
                "{} lines of {} smaller or later communicators are left out",
                debug.other_lines, debug.other_communicators
            );
            source.note(1, text);
        }
        if tests.is_some() || has_facts {
            self.done.push(LoggedRun { tests, debug });
        }
    }

    /// Gives the jobs.
    pub fn finish(mut self, source: &mut Source<'_>) -> Result<Vec<LoggedRun>, InputError> {
        for run in std::mem::take(&mut self.open) {
            self.close(run, source);
        }
        if let Some(next) = self.next.take().filter(DebugReader::has_read) {
            self.done.push(LoggedRun { tests: None, debug: next.finish() });
        }
        if !self.done.is_empty() {
            return Ok(self.done);
        }
        if self.has_debug {
            // NCCL spoke, and said nothing that is read: the file is one of its logs all the same.
            return Ok(vec![LoggedRun { tests: None, debug: DebugLog::default() }]);
        }
        let unknown = || source.error(1, "unknown format of a file", "", REMEDY);
        let known = self.refusal.filter(|error| !error.problem.starts_with("nothing that"));
        Err(known.unwrap_or_else(unknown))
    }
}
