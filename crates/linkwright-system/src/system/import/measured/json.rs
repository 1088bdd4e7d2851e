//! Reads the JSON of nvbandwidth.
//!
//! Its numbers are texts, and absent ones `N/A`. A test of both directions appends three matrices
//! to one. The last has the totals that its description names (`json_output.cpp` of v0.8, lines 55
//! to 91).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::devices;
use super::text::value;
use super::titles::{self, Found};
use super::{Cell, MOST_CELLS, MOST_DEVICES, Matrix, Measurements, Tool};
use crate::diagnostic::{InputError, Position};

/// The longest JSON that is read; that of 72 GPUs has less than a hundredth of it.
const LONGEST: usize = 64 << 20;

#[derive(Deserialize)]
struct Root<'a> {
    #[serde(borrow)]
    nvbandwidth: Output<'a>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, default, rename = "GPU Device list")]
    devices: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, default)]
    testcases: Option<Vec<Case<'a>>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    bandwidth_description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    bandwidth_matrix: Option<Vec<Vec<&'a RawValue>>>,
}

/// Where the JSON of nvbandwidth begins in a text; None where it holds none.
pub(super) fn start(text: &str) -> Option<usize> {
    let key = text.find("\"nvbandwidth\"")?;
    text[..key].rfind('{')
}

/// Reads the JSON that begins at `start`.
pub(super) fn read(file: &str, text: &str, start: usize) -> Result<Measurements, InputError> {
    let refuse = |offset: usize, problem: &str, remedy: &str| {
        let line = &text[offset.min(text.len())..];
        let position = Position::of_offset(text, offset);
        InputError::at(file, position, problem, line.lines().next().unwrap_or_default(), remedy)
    };
    if text.len() > LONGEST {
        return Err(refuse(start, "the text has more than 64 MiB", "give the output of one run"));
    }
    let (own, prefix) = unlabelled(text, start);
    let json = own.as_ref();
    // The place in the text of a place in the JSON: the same line, behind its prefix.
    let first_line = text[..start].matches('\n').count();
    let place = |offset: usize| {
        let Position { line, column } = Position::of_offset(json, offset);
        let before =
            if line == 1 { text[..start].len() - last_line(&text[..start]) } else { prefix };
        Position { line: first_line + line, column: column + before }
    };
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<Root>();
    let root = match values.next() {
        Some(Ok(root)) => root.nvbandwidth,
        Some(Err(error)) => {
            let (line, column) = (first_line + error.line().max(1), error.column().max(1));
            let what =
                if error.is_eof() { "the JSON is cut" } else { "this is no JSON of nvbandwidth" };
            let remedy = "give the whole output of `nvbandwidth --json`";
            let at = text.lines().nth(line - 1).unwrap_or_default().trim();
            return Err(InputError::at(file, Position { line, column }, what, at, remedy));
        }
        None => return Err(refuse(start, "there is no JSON here", "give nvbandwidth's output")),
    };
    let offset_of = |value: &RawValue| value.get().as_ptr() as usize - json.as_ptr() as usize;
    let places = root.devices.unwrap_or_default();
    let places: BTreeMap<usize, _> = places
        .iter()
        .filter_map(|line| devices::of_json(line))
        .filter_map(|it| Some((it.number, it.place?)))
        .collect();
    let mut found = Measurements {
        file: file.to_owned(),
        tool: Tool::Nvbandwidth,
        gpus: places.keys().next_back().map_or(0, |last| last + 1),
        places,
        without_access: BTreeSet::new(),
        matrices: Vec::new(),
        notes: Vec::new(),
    };
    let mut cells = 0;
    for case in root.testcases.unwrap_or_default() {
        let (Some(title), Some(rows)) = (case.bandwidth_description, case.bandwidth_matrix) else {
            continue;
        };
        let position = place(offset_of(title));
        let Ok(title) = serde_json::from_str::<String>(title.get()) else { continue };
        let Some((0, Found::Known(known))) = titles::find(&title) else { continue };
        if !titles::is_of_pairs(&case.name) {
            continue;
        }
        let columns = rows.first().map_or(0, Vec::len);
        if columns > MOST_DEVICES || rows.iter().any(|row| row.len() != columns) {
            let problem = "the rows of a matrix differ, or have more than 1024 columns";
            let remedy = "give the output as nvbandwidth wrote it";
            return Err(InputError::at(file, position, problem, &title, remedy));
        }
        let own = if known.layout.is_square() { columns } else { rows.len() };
        let mut matrix = Matrix { title, position, what: known.what, cells: Vec::new() };
        for (row, values) in rows[rows.len().saturating_sub(own)..].iter().enumerate() {
            for (column, raw) in values.iter().enumerate() {
                let position = place(offset_of(raw));
                let Some(value) = value(raw.get().trim_matches('"')) else {
                    let problem = "this is no bandwidth";
                    let remedy = "it must be a number of GB/s from 0 to 1e6, or N/A";
                    return Err(InputError::at(file, position, problem, raw.get(), remedy));
                };
                cells += 1;
                if cells > MOST_CELLS {
                    let problem = format!("the text has more than {MOST_CELLS} cells");
                    let remedy = "give the output of one run";
                    return Err(InputError::at(file, position, problem, raw.get(), remedy));
                }
                if value > 0.0 {
                    let (from, to) = known.layout.ends(row, column);
                    matrix.cells.push(Cell { from, to, value, position });
                }
            }
        }
        found.gpus = found.gpus.max(columns);
        found.matrices.push(matrix);
    }
    Ok(found)
}

/// The JSON without what a launcher put before its lines, and how many characters that was.
fn unlabelled(text: &str, start: usize) -> (Cow<'_, str>, usize) {
    let prefix = &text[last_line(&text[..start])..start];
    let json = &text[start..];
    if prefix.trim().is_empty() {
        return (Cow::Borrowed(json), 0);
    }
    let lines = json.lines().enumerate();
    let stripped = lines.map(|(at, line)| match at {
        0 => line,
        _ => line
            .strip_prefix(prefix)
            .or_else(|| line.strip_prefix(prefix.trim_end()))
            .unwrap_or(line),
    });
    (Cow::Owned(stripped.collect::<Vec<_>>().join("\n")), prefix.chars().count())
}

/// Where the last line of a text begins.
fn last_line(text: &str) -> usize {
    text.rfind('\n').map_or(0, |at| at + 1)
}
