//! Reads the texts that the programs print, line by line.
//!
//! Each line is looked at by itself. It is a title, the heading of a title that came before, a row
//! under that, or the name of a device. Lines of several ranks may be mixed. A launcher's prefixes
//! tell them apart, and the first rank that prints matrices counts.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::{self, Listed, PciPlace};
use super::titles::{self, Found, Layout, Title};
use super::{Cell, MOST_CELLS, MOST_DEVICES, MOST_VALUE, Matrix, MeasuredEnd, Measurements, Tool};
use crate::diagnostic::prefix::label;
use crate::diagnostic::{InputError, Position};
use crate::system::import::paste::{Line, Token, number, words};

/// A longer line is none of a matrix: a row of 1,024 cells has a fifth of it.
const LONGEST_LINE: usize = 1 << 16;
/// The most ranks that are told apart.
const MOST_RANKS: usize = 64;
/// The most notes that are kept.
const MOST_NOTES: usize = 20;

/// Reads a text.
pub(super) fn read(file: &str, text: &str) -> Result<Measurements, InputError> {
    let mut reader = Reader { file, ranks: BTreeMap::new(), order: Vec::new(), cells: 0 };
    let lines = text.lines().count();
    let ends = text.ends_with(['\n', '\r']);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.len() <= LONGEST_LINE) {
        let is_cut = index + 1 == lines && !ends;
        reader.take(&words(line, index + 1), is_cut)?;
    }
    reader.finish()
}

/// Holds the lines of one rank.
#[derive(Default)]
struct Rank {
    devices: BTreeMap<usize, (PciPlace, Position)>,
    hosts: BTreeSet<usize>,
    gpus: BTreeSet<usize>,
    without_access: BTreeSet<(usize, usize)>,
    /// The test of nvbandwidth that runs.
    test: Option<String>,
    open: Option<Open>,
    matrices: Vec<(Title, Matrix, usize)>,
    notes: Vec<String>,
}

/// A matrix that is being read.
struct Open {
    title: Title,
    matrix: Matrix,
    /// How many columns it has; None before its heading.
    columns: Option<usize>,
    next_row: usize,
    rows_read: usize,
}

struct Reader<'a> {
    file: &'a str,
    ranks: BTreeMap<String, Rank>,
    /// Lists the labels of ranks in the order of their first lines.
    order: Vec<String>,
    cells: usize,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line, is_cut: bool) -> Result<(), InputError> {
        if line.tokens.is_empty() {
            return Ok(());
        }
        let joined = line.joined();
        if let Some((at, found)) = titles::find(&joined) {
            if let Some(rank) = self.rank(&joined[..at]) {
                rank.close();
                rank.begin(found, &joined[at..], line.tokens[0].position);
            }
            return Ok(());
        }
        if let Some(listed) = devices::listed(&joined) {
            let at = joined.find("Device").unwrap_or_default();
            if let Some(rank) = self.rank(&joined[..at]) {
                rank.list(listed, line.tokens[0].position);
            }
            return Ok(());
        }
        if let Some(pair) = devices::apart(&joined) {
            let at = joined.find("Device=").unwrap_or_default();
            if let Some(rank) = self.rank(&joined[..at]) {
                rank.without_access.insert(pair);
            }
            return Ok(());
        }
        if let Some((before, test)) = joined.split_once("Running ") {
            if let Some(rank) = self.rank(before) {
                rank.test = Some(test.trim_end_matches('.').to_owned());
            }
            return Ok(());
        }
        if let Some((prefix, columns)) = heading(line) {
            return self.head(&prefix, columns, line);
        }
        self.row(line, is_cut)
    }

    /// Finds the rank of a prefix.
    fn rank(&mut self, prefix: &str) -> Option<&mut Rank> {
        let label = label(prefix)?;
        if !self.ranks.contains_key(&label) {
            if self.ranks.len() == MOST_RANKS {
                return None;
            }
            self.order.push(label.clone());
        }
        Some(self.ranks.entry(label).or_default())
    }

    fn head(&mut self, prefix: &str, columns: usize, line: &Line) -> Result<(), InputError> {
        let refused = line.tokens.last().filter(|_| columns > MOST_DEVICES);
        let file = self.file;
        let Some(open) = self.rank(prefix).and_then(|rank| rank.open.as_mut()) else {
            return Ok(());
        };
        if let Some(last) = refused {
            let problem = format!("a matrix has more than {MOST_DEVICES} columns");
            return Err(last.refuse(file, problem, "give the matrix of one server"));
        }
        if open.columns.is_none() {
            open.columns = Some(columns);
        } else if let Some(rank) = self.rank(prefix) {
            // A second table under one title has the same by the host's clock.
            rank.close();
        }
        Ok(())
    }

    fn row(&mut self, line: &Line, is_cut: bool) -> Result<(), InputError> {
        let file = self.file;
        let mut cells = self.cells;
        for (label_of_rank, rank) in &mut self.ranks {
            let Some(open) = rank.open.as_mut() else { continue };
            let Some(columns) = open.columns else { continue };
            let rows = if open.title.layout.is_square() { columns } else { MOST_DEVICES };
            let Some((prefix, row, values)) = row_of(line, columns) else { continue };
            if row < open.next_row || row >= rows || label(&prefix).as_ref() != Some(label_of_rank)
            {
                continue;
            }
            let read: Vec<Option<f64>> = values.iter().map(|token| value(&token.text)).collect();
            if 2 * read.iter().flatten().count() < columns {
                continue;
            }
            if is_cut && is_shortened(values) {
                continue;
            }
            if let Some(at) = read.iter().position(Option::is_none) {
                let problem = "this is no bandwidth";
                let remedy = "it must be a number of GB/s from 0 to 1e6, or N/A";
                return Err(values[at].refuse(file, problem, remedy));
            }
            for (column, (value, token)) in read.iter().zip(values).enumerate() {
                let Some(value) = value.filter(|value| *value > 0.0) else { continue };
                cells += 1;
                if cells > MOST_CELLS {
                    let problem = format!("the text has more than {MOST_CELLS} cells");
                    return Err(token.refuse(file, problem, "give the output of one run"));
                }
                let (from, to) = open.title.layout.ends(row, column);
                open.matrix.cells.push(Cell { from, to, value, position: token.position });
            }
            open.next_row = row + 1;
            open.rows_read += 1;
            if open.title.layout.is_square() && open.next_row == columns {
                rank.close();
            }
            break;
        }
        self.cells = cells;
        Ok(())
    }

    fn finish(self) -> Result<Measurements, InputError> {
        let Self { file, mut ranks, order, .. } = self;
        ranks.values_mut().for_each(Rank::close);
        let has = |label: &&String| ranks[*label].matrices.iter().any(|it| !it.1.cells.is_empty());
        let chosen = order.iter().find(has).cloned();
        let others = order.iter().filter(has).count().saturating_sub(1);
        let mut rank = chosen.and_then(|label| ranks.remove(&label)).unwrap_or_default();
        // A list that another rank printed, or that came without a prefix, is of the same devices where it is the only one.
        if rank.gpus.is_empty() {
            let mut listing = ranks.into_values().filter(|other| !other.gpus.is_empty());
            if let (Some(only), None) = (listing.next(), listing.next()) {
                (rank.devices, rank.hosts, rank.gpus) = (only.devices, only.hosts, only.gpus);
            }
        }
        let mut notes = rank.notes.clone();
        if others > 0 {
            let what = if others == 1 { "rank" } else { "ranks" };
            notes.push(format!("The matrices of {others} other {what} are left out."));
        }
        let tool = rank.matrices.first().map_or(Tool::P2pBandwidthLatencyTest, |it| it.0.tool);
        let columns = rank.matrices.iter().map(|it| it.2).max().unwrap_or(0);
        let number_of = rank.gpu_numbers();
        let mut matrices = Vec::new();
        for (title, mut matrix, _) in std::mem::take(&mut rank.matrices) {
            if title.layout == Layout::Agents {
                if rank.gpus.is_empty() {
                    let problem = "the text does not say which of its devices are GPUs";
                    let remedy = "give the whole output, with its lines `Device: 0, ...`";
                    let value = &matrix.title;
                    return Err(InputError::at(file, matrix.position, problem, value, remedy));
                }
                for cell in &mut matrix.cells {
                    (cell.from, cell.to) =
                        (rank.agent(cell.from, &number_of), rank.agent(cell.to, &number_of));
                }
                matrix.cells.retain(is_of_a_gpu);
            }
            matrices.push(matrix);
        }
        let is_of_agents = tool == Tool::RocmBandwidthTest;
        let gpus = if is_of_agents { rank.gpus.len() } else { columns.max(rank.gpus.len()) };
        let numbered = |number: &usize| match is_of_agents {
            true => number_of.get(number).copied(),
            false => Some(*number),
        };
        let places = rank.devices.iter();
        let places = places.filter_map(|(at, (place, _))| Some((numbered(at)?, *place)));
        Ok(Measurements {
            file: file.to_owned(),
            tool,
            gpus,
            places: places.collect(),
            without_access: rank.without_access,
            matrices,
            notes,
        })
    }
}

impl Rank {
    fn begin(&mut self, found: Found, title: &str, position: Position) {
        let Found::Known(known) = found else { return };
        if self.test.as_deref().is_some_and(|test| !titles::is_of_pairs(test)) {
            return;
        }
        let (title, cells) = (title.to_owned(), Vec::new());
        let matrix = Matrix { title, position, what: known.what, cells };
        let (columns, next_row, rows_read) = (None, 0, 0);
        self.open = Some(Open { title: known, matrix, columns, next_row, rows_read });
    }

    /// Ends the matrix that is being read.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let columns = open.columns.unwrap_or(0);
        let rows = if open.title.layout.is_square() { columns } else { 1 };
        if (columns == 0 || open.rows_read < rows) && self.notes.len() < MOST_NOTES {
            let Position { line, .. } = open.matrix.position;
            let read = open.rows_read;
            let of = if columns == 0 { String::new() } else { format!(" of {rows}") };
            self.notes
                .push(format!("The matrix of line {line} is cut: {read}{of} rows were read."));
        }
        self.matrices.push((open.title, open.matrix, columns));
    }

    fn list(&mut self, listed: Listed, position: Position) {
        let Listed { number, place, is_gpu } = listed;
        if is_gpu { &mut self.gpus } else { &mut self.hosts }.insert(number);
        if let Some(place) = place {
            self.devices.entry(number).or_insert((place, position));
        }
    }

    /// The number among the GPUs of each agent that is one.
    fn gpu_numbers(&self) -> BTreeMap<usize, usize> {
        self.gpus.iter().enumerate().map(|(at, agent)| (*agent, at)).collect()
    }

    fn agent(&self, end: MeasuredEnd, number_of: &BTreeMap<usize, usize>) -> MeasuredEnd {
        let MeasuredEnd::Gpu(agent) = end else { return end };
        match number_of.get(&agent) {
            Some(number) => MeasuredEnd::Gpu(*number),
            None => MeasuredEnd::Host(self.hosts.iter().take_while(|host| **host < agent).count()),
        }
    }
}

fn is_of_a_gpu(cell: &Cell) -> bool {
    matches!((cell.from, cell.to), (MeasuredEnd::Gpu(_), _) | (_, MeasuredEnd::Gpu(_)))
}

/// Counts the columns of a heading, which ends in `0 1 2` and so on. It gives what stands before
/// them, too.
fn heading(line: &Line) -> Option<(String, usize)> {
    let last = number(&line.tokens.last()?.text)? as usize;
    let first = line.tokens.len().checked_sub(last + 1)?;
    let numbers = line.tokens[first..].iter().map(|token| number(&token.text));
    if !numbers.enumerate().all(|(at, number)| number == Some(at as u32)) {
        return None;
    }
    let corner = |token: &Token| matches!(token.text.as_str(), "D\\D" | "D/D" | "GPU" | "CPU");
    let before = match line.tokens[..first].split_last() {
        Some((last, before)) if corner(last) => before,
        _ => &line.tokens[..first],
    };
    Some((joined(before), last + 1))
}

/// Gives the number and the values of a row of `columns` columns. It gives what stands before them,
/// too.
fn row_of(line: &Line, columns: usize) -> Option<(String, usize, &[Token])> {
    let first = line.tokens.len().checked_sub(columns).filter(|first| *first > 0)?;
    let (before, values) = line.tokens.split_at(first);
    let (index, before) = before.split_last()?;
    // A launcher's label may touch the number, as in `[1,0]<stdout>:0`.
    let digits =
        index.text.len() - index.text.trim_end_matches(|it: char| it.is_ascii_digit()).len();
    let (glued, index) = index.text.split_at(index.text.len() - digits);
    if glued.ends_with(['.', '-']) {
        return None;
    }
    let row = number(index)? as usize;
    Some((joined(before) + glued, row, values))
}

fn joined(tokens: &[Token]) -> String {
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    words.join(" ")
}

/// A cell's number; zero of one that holds none, None of what is no cell.
pub(super) fn value(word: &str) -> Option<f64> {
    if word == "N/A" {
        return Some(0.0);
    }
    let is_plain = word.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'.' | b'e' | b'+'));
    word.parse().ok().filter(|value| is_plain && (0.0..=MOST_VALUE).contains(value))
}

/// Whether the last of some numbers has fewer decimals than the one before, as where a text was cut within it.
fn is_shortened(values: &[Token]) -> bool {
    let decimals = |token: &Token| token.text.split_once('.').map_or(0, |(_, part)| part.len());
    match values {
        [.., before, last] if last.text != "N/A" && before.text != "N/A" => {
            decimals(last) < decimals(before)
        }
        _ => false,
    }
}
