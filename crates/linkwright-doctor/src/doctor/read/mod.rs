//! Reads the files of a diagnosis, of any length, in bounded memory.
//!
//! [`read_file`] tells a file's format by its content and puts what it says into an [`Evidence`].

mod debug;
mod debug_line;
mod format;
mod inspector;
mod lines;
mod log;
mod whole;

use std::io::BufRead;

use crate::diagnostic::{InputError, Position};
use crate::doctor::evidence::{Evidence, Format, Inspected, ReadFile};

pub use debug::DebugReader;
use format::{Told, tell};
use lines::{Ended, Lines};
use log::LogRuns;

/// Lines before the first that tells the format are kept up to this number of bytes.
const MOST_OF_HEAD: usize = 1 << 18;

/// How many notes of one file are kept.
const MOST_NOTES: usize = 32;

/// Says what a person may give.
const REMEDY: &str = "give output of nccl-tests, NCCL_DEBUG=INFO, NCCL's topology or graphs, nvidia-smi topo -m, \
                      NCCL Inspector's files, or matrices of p2pBandwidthLatencyTest, nvbandwidth or rocm-bandwidth-test";

/// Says what is known of the file that is read.
pub(crate) struct Source<'a> {
    name: &'a str,
    skipped: u64,
    notes: Vec<(u64, String)>,
    /// Notes beyond those that are kept.
    more_notes: u64,
}

impl Source<'_> {
    /// Notes something of a line.
    pub(crate) fn note(&mut self, line: u64, text: impl Into<String>) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push((line, text.into()));
        } else {
            self.more_notes += 1;
        }
    }

    /// Counts a line of the format that cannot be read, and says why.
    pub(crate) fn skip(&mut self, line: u64, why: impl Into<String>) {
        self.skipped += 1;
        self.note(line, why);
    }

    /// Makes an error of this file.
    pub(crate) fn error(&self, line: u64, problem: &str, value: &str, remedy: &str) -> InputError {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        InputError::at(self.name, Position { line, column: 1 }, problem, value, remedy)
    }
}

/// Reads a file; `name` names it in errors and in proofs.
///
/// # Errors
/// A file that cannot be read, is of no known format, or whose format's reader refuses it.
pub fn read_file(name: &str, from: impl BufRead, into: &mut Evidence) -> Result<(), InputError> {
    let mut source = Source { name, skipped: 0, notes: Vec::new(), more_notes: 0 };
    let mut lines = Lines::new(from);
    let mut head: Vec<(u64, String)> = Vec::new();
    let mut head_bytes = 0;
    let mut told = None;
    let mut first = None;
    while let Some(line) = lines.next(&source)? {
        let (number, text) = (line.number, line.text);
        if first.is_none() && !text.trim().is_empty() {
            first = Some((number, text.to_owned()));
        }
        told = tell(text);
        head_bytes += text.len() + 1;
        head.push((number, text.to_owned()));
        if told.is_some() || head_bytes > MOST_OF_HEAD {
            break;
        }
    }
    let ended = told.is_none() && head_bytes <= MOST_OF_HEAD;
    let format = match told {
        None if ended => {
            let text: Vec<&str> = head.iter().map(|(_, line)| line.as_str()).collect();
            let text = text.join("\n");
            if !whole::looks_like_machine(&text) {
                let (line, text) = first.unwrap_or((1, String::new()));
                let problem =
                    if text.is_empty() { "the file is empty" } else { "unknown format of a file" };
                return Err(source.error(line, problem, &text, REMEDY));
            }
            whole::read(Told::Machine, &text, &mut source, into)?
        }
        None | Some(Told::Log) => {
            read_log(&mut source, &mut lines, head, into)?;
            Format::Log
        }
        Some(Told::Inspector) => {
            read_inspector(&mut source, &mut lines, head, into, inspector::json_line)?;
            Format::Inspector
        }
        Some(Told::Prometheus) => {
            read_inspector(&mut source, &mut lines, head, into, inspector::metrics_line)?;
            Format::InspectorPrometheus
        }
        Some(whole) => {
            let text = whole::text(whole, &source, &mut lines, &head)?;
            whole::read(whole, &text, &mut source, into)?
        }
    };
    let Ended { count, bytes, cut } = lines.ended();
    if let Some((line, count)) = cut {
        source.note(line, format!("{count} long lines are cut after {} bytes", lines::LONGEST));
    }
    if source.more_notes > 0 {
        source.notes.push((count, format!("{} notes more are left out", source.more_notes)));
    }
    source.notes.sort();
    let Source { skipped, notes, .. } = source;
    let name = name.to_owned();
    into.files.push(ReadFile { name, format, lines: count, bytes, skipped, notes });
    Ok(())
}

fn read_log(
    source: &mut Source<'_>,
    lines: &mut Lines<impl BufRead>,
    head: Vec<(u64, String)>,
    into: &mut Evidence,
) -> Result<(), InputError> {
    let mut runs = LogRuns::new(source.name);
    for (number, text) in head {
        runs.line(number, &text, source);
    }
    while let Some(line) = lines.next(source)? {
        runs.line(line.number, line.text, source);
    }
    into.runs.extend(runs.finish(source)?);
    Ok(())
}

fn read_inspector(
    source: &mut Source<'_>,
    lines: &mut Lines<impl BufRead>,
    head: Vec<(u64, String)>,
    into: &mut Evidence,
    line_of: impl Fn(u64, &str, &mut Source<'_>, &mut Inspected),
) -> Result<(), InputError> {
    let (left_out, one_of) = (into.inspected.left_out(), into.inspected.one_of());
    for (number, text) in head {
        line_of(number, &text, source, &mut into.inspected);
    }
    while let Some(line) = lines.next(source)? {
        line_of(line.number, line.text, source, &mut into.inspected);
    }
    let left_out = into.inspected.left_out() - left_out;
    if left_out > 0 {
        source.skipped += left_out;
        source.note(1, format!("{left_out} lines are left out: too many collectives or sizes"));
    }
    if into.inspected.one_of() > one_of {
        let kept = into.inspected.one_of();
        source.note(1, format!("one operation of {kept} is kept: the same of all ranks"));
    }
    into.inspector = into.inspected.runs();
    Ok(())
}

#[cfg(test)]
mod tests;
