//! Reads the words of `nvidia-smi topo -m`: header, rows, cells and affinities.

use std::collections::BTreeMap;

use super::cells::{self, Cell, MOST_NVLINKS, Reading, cell};
use super::peer_access;
use crate::diagnostic::{InputError, Position};
use crate::system::import::paste::{self, Line, Token};
use crate::system::locality::Affinity;

const WHOLE_PASTE: &str =
    "paste the whole output of `nvidia-smi topo -m`, every row to its last column";
const WHOLE_HEADER: &str = "paste the whole output of `nvidia-smi topo -m`; if it is whole, end \
    the header with CPU Affinity and each GPU's row with N/A";
const KNOWN_CELLS: &str = "the cells are X, NV#, PIX, PXB, PHB, NODE, SYS and SOC";

/// Holds a column of the matrix, and the row of the same name.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// Holds the header's word.
    pub(super) name: Token,
    /// Whether it is a GPU; everything else is a NIC.
    pub(super) is_gpu: bool,
    /// Lists the NUMA nodes near it.
    pub(super) numa: Option<Affinity>,
    /// Lists the CPU cores near it.
    pub(super) cores: Option<Affinity>,
}

/// Holds a whole matrix: square and symmetric, X on the diagonal and nowhere else.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    /// Lists the columns.
    pub(super) devices: Vec<Device>,
    /// Holds the cells by row and column.
    pub(super) cells: Vec<Vec<Cell>>,
    /// Keeps the words of the cells, for errors.
    pub(super) words: Vec<Vec<Token>>,
    /// Lists words that several cells ran into, each once, with their reading.
    pub(super) glued: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trailing {
    CpuAffinity,
    NumaAffinity,
    GpuNumaId,
}

const TRAILING: [(&[&str], Trailing); 3] = [
    (&["CPU", "Affinity"], Trailing::CpuAffinity),
    (&["NUMA", "Affinity"], Trailing::NumaAffinity),
    (&["GPU", "NUMA", "ID"], Trailing::GpuNumaId),
];

/// A column right of the devices and where its title stands.
struct Title {
    column: Trailing,
    seen_at: usize,
}

struct Reader<'a> {
    file: &'a str,
    trailing: Vec<Title>,
    matrix: Matrix,
}

/// Reads the matrix.
///
/// # Errors
/// Refuses anything but a whole and consistent matrix.
pub(super) fn read(file: &str, text: &str, lines: &[Line]) -> Result<Matrix, InputError> {
    let whole = lines;
    let lines: Vec<&Line> = peer_access::without(whole).into_iter().map(|at| &whole[at]).collect();
    let header = find_header(file, text, whole, &lines)?;
    let (devices, trailing) = read_header(file, lines[header])?;
    let matrix = Matrix { devices, cells: Vec::new(), words: Vec::new(), glued: Vec::new() };
    let mut reader = Reader { file, trailing, matrix };
    for line in lines[header + 1..].iter().filter(|line| !line.tokens.is_empty()) {
        if reader.matrix.cells.len() < reader.matrix.devices.len() {
            reader.row(line)?;
        } else {
            reader.after_matrix(line)?;
        }
    }
    if let Some(missing) = reader.matrix.devices.get(reader.matrix.cells.len()) {
        let problem = format!("the paste ends before the row of {}", missing.name.text);
        return Err(InputError::at(file, paste::end(whole), problem, "", WHOLE_PASTE));
    }
    reader.check_symmetry()?;
    Ok(reader.matrix)
}

fn find_header(
    file: &str,
    text: &str,
    whole: &[Line],
    lines: &[&Line],
) -> Result<usize, InputError> {
    let start = Position { line: 1, column: 1 };
    if text.trim().is_empty() {
        return Err(InputError::at(file, start, "the text is empty", "", WHOLE_PASTE));
    }
    let Some(index) = lines.iter().position(|line| paste::is_gpu_name(line.first())) else {
        if let Some(row) = whole.iter().find(|line| peer_access::is_row(line)) {
            let problem = "this is what `nvidia-smi topo -p2p` prints: which GPUs may reach each \
                other's memory, not what joins them";
            let remedy = "paste the output of `nvidia-smi topo -m`, which names the links";
            return Err(row.tokens[0].refuse(file, problem, remedy));
        }
        let problem = "no line starts with a GPU's name, so there is no GPU";
        return Err(InputError::at(file, start, problem, text.trim_start(), WHOLE_PASTE));
    };
    let line = lines[index];
    match line.tokens.get(1) {
        Some(second) if cell(&second.text).is_some() => {
            Err(line.tokens[0].refuse(file, "the header is missing above this row", WHOLE_PASTE))
        }
        _ => Ok(index),
    }
}

fn read_header(file: &str, line: &Line) -> Result<(Vec<Device>, Vec<Title>), InputError> {
    let mut devices: Vec<Device> = Vec::new();
    let mut trailing: Vec<Title> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rest = line.tokens.as_slice();
    while let Some(token) = rest.first() {
        let starts = |title: &[&str]| {
            rest.len() >= title.len() && rest.iter().zip(title).all(|(a, b)| a.text == *b)
        };
        if let Some((title, column)) = TRAILING.iter().find(|(title, _)| starts(title)) {
            if trailing.iter().any(|title| title.column == *column) {
                return Err(token.refuse(file, "this column is listed twice", "list it once"));
            }
            trailing.push(Title { column: *column, seen_at: token.seen_at });
            rest = &rest[title.len()..];
            continue;
        }
        let name = token.text.as_str();
        if !trailing.is_empty() {
            let problem = "a column that is not known follows the affinities";
            let remedy = "only CPU Affinity, NUMA Affinity and GPU NUMA ID follow the devices";
            return Err(token.refuse(file, problem, remedy));
        }
        if seen.insert(name, devices.len()).is_some() {
            return Err(token.refuse(file, "two columns have this name", "name each once"));
        }
        if is_reserved(name) || cell(name).is_some() {
            let problem = "no device of a header can have this name";
            return Err(token.refuse(file, problem, "give the NIC another name, such as NIC0"));
        }
        paste::has_room(file, devices.len(), token)?;
        let is_gpu = paste::is_gpu_name(name);
        devices.push(Device { name: token.clone(), is_gpu, numa: None, cores: None });
        rest = &rest[1..];
    }
    // Every version of nvidia-smi titles the affinities, right of all devices. So a header without
    // them was cut, and nobody can say how many devices went with them.
    if trailing.is_empty() {
        let problem = "the header ends before its CPU Affinity, so devices may be cut off";
        let last = line.tokens.last().map_or("", |token| token.text.as_str());
        return Err(InputError::at(file, line.end, problem, last, WHOLE_HEADER));
    }
    Ok((devices, trailing))
}

/// Whether a network interface of that name can have a column.
pub(in crate::system) fn is_nic_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let titles = TRAILING.iter().flat_map(|(words, _)| words.iter());
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(plain)
        && !paste::is_gpu_name(name)
        && !is_reserved(name)
        && cell(name).is_none()
        && !titles.clone().any(|word| *word == name)
}

/// Tells whether the importer gives such names to devices of its own.
fn is_reserved(name: &str) -> bool {
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(|n| paste::number(n).is_some());
    ["CPU", "HostBridge", "PCIeSwitch", "NVSwitch"].into_iter().any(numbered)
}

impl Reader<'_> {
    fn row(&mut self, line: &Line) -> Result<(), InputError> {
        let row = self.matrix.cells.len();
        let width = self.matrix.devices.len();
        self.check_row_name(row, &line.tokens[0])?;
        let reading = self.reading(row, width, &line.tokens[1..])?;
        let mut cells = Vec::new();
        for (column, word) in reading.cells.iter().enumerate() {
            cells.push(self.check_cell(row, column, word)?);
        }
        if let Some(missing) = self.matrix.devices.get(cells.len()) {
            let problem = format!("this row ends before its cell for {}", missing.name.text);
            return Err(InputError::at(self.file, line.end, problem, line.first(), WHOLE_PASTE));
        }
        let words = self.placed(row, &reading, line.end)?;
        self.affinities(row, &words)?;
        self.matrix.cells.push(cells);
        self.matrix.words.push(reading.cells);
        Ok(())
    }

    /// The only reading of a row; where there is none, the row as it stands, to be refused.
    fn reading(
        &mut self,
        row: usize,
        width: usize,
        words: &[Token],
    ) -> Result<Reading, InputError> {
        let mut found = cells::readings(words, row, width, self.trailing.len());
        let cell_like = |word: &Token| cell(&word.text).is_some();
        let strange = words.iter().take(width).find(|word| !cell_like(word)).or(words.last());
        if let (true, Some(strange)) = (found.len() > 1, strange) {
            let problem = "cells ran into each other, and this row can be read in several ways";
            let remedy = "put a space between the cells, or paste again";
            return Err(strange.refuse(self.file, problem, remedy));
        }
        let Some(reading) = found.pop() else {
            let (cells, rest) = words.split_at(width.min(words.len()));
            return Ok(Reading { cells: cells.to_vec(), rest: rest.to_vec(), runs_on: 0 });
        };
        let parts = reading.cells.iter().chain(&reading.rest);
        for word in words {
            let inside = |part: &&Token| {
                let from = part.position.column.checked_sub(word.position.column);
                from.is_some_and(|from| from < word.text.len())
            };
            let parts: Vec<&str> =
                { parts.clone() }.filter(inside).map(|part| part.text.as_str()).collect();
            let sentence = format!("`{}` as {}", word.text, parts.join(" "));
            if parts.len() > 1 && !self.matrix.glued.contains(&sentence) {
                self.matrix.glued.push(sentence);
            }
        }
        Ok(reading)
    }

    fn check_row_name(&self, row: usize, name: &Token) -> Result<(), InputError> {
        let devices = &self.matrix.devices;
        let expected = &devices[row].name.text;
        if name.text == *expected {
            return Ok(());
        }
        let remedy = format!("the row of {expected} comes here; {WHOLE_PASTE}");
        let problem = match devices.iter().position(|device| device.name.text == name.text) {
            Some(earlier) if earlier < row => "this row is there twice".to_owned(),
            Some(_) => "a row is missing or out of order before this one".to_owned(),
            None => format!("a row is missing: {expected} has a column, and this is no column"),
        };
        Err(name.refuse(self.file, problem, remedy))
    }

    fn check_cell(&self, row: usize, column: usize, word: &Token) -> Result<Cell, InputError> {
        let devices = &self.matrix.devices;
        let (a, b) = (&devices[row], &devices[column]);
        let Some(cell) = cell(&word.text) else {
            let problem = format!(
                "the cell of {} and {} is none that nvidia-smi prints, or the row is short",
                a.name.text, b.name.text
            );
            return Err(word.refuse(self.file, problem, KNOWN_CELLS));
        };
        let problem = match cell {
            Cell::Itself if row != column => "X stands off the diagonal",
            Cell::Itself => return Ok(cell),
            _ if row == column => "a device's cell with itself is not X",
            Cell::NvLink(0) => "NVLinks are bonded, but none of them",
            Cell::NvLink(count) if count > MOST_NVLINKS => "the GPU has too many NVLinks",
            Cell::NvLink(_) if !a.is_gpu || !b.is_gpu => "NVLink joins a NIC",
            Cell::NvLink(_) | Cell::Pcie(_) => return Ok(cell),
        };
        Err(word.refuse(self.file, problem, format!("{KNOWN_CELLS}; mend it or paste again")))
    }

    /// The word in each column right of the cells; nothing where the cell is blank.
    fn placed(
        &self,
        row: usize,
        reading: &Reading,
        end: Position,
    ) -> Result<Vec<Option<Token>>, InputError> {
        let (device, words) = (&self.matrix.devices[row], &reading.rest);
        let titles = &self.trailing;
        if let Some(extra) = words.get(titles.len()) {
            let problem = "this row has more cells than the header has columns";
            return Err(extra.refuse(self.file, problem, WHOLE_PASTE));
        }
        // A NIC has no affinity. Where the system reports none for the GPUs (WSL, some
        // virtual machines), both affinities are blank and only the NUMA id says N/A.
        let last_is_id = titles.last().is_some_and(|title| title.column == Trailing::GpuNumaId);
        let blank = matches!(words.as_slice(), [only] if only.text == "N/A") && last_is_id;
        if (words.is_empty() && !device.is_gpu) || (blank && titles.len() > 1) {
            return Ok(vec![None; titles.len()]);
        }
        let columns = by_tabs(reading, titles).or_else(|| self.by_sight(reading));
        let whole = words.len() == titles.len();
        let columns = match columns {
            Some(columns) => columns,
            None if whole && !starts_blank(reading) => (0..titles.len()).collect(),
            None if words.len() < 2 || titles.len() < 3 => {
                let problem = "this row ends before its affinities";
                let name = &device.name.text;
                return Err(InputError::at(self.file, end, problem, name, WHOLE_PASTE));
            }
            None => {
                let problem = "an affinity of this row is blank, and nothing says which";
                let remedy = "write N/A into the blank cell, or paste again with its tabs";
                return Err(words[0].refuse(self.file, problem, remedy));
            }
        };
        let mut placed = vec![None; titles.len()];
        for (column, word) in columns.into_iter().zip(words) {
            placed[column] = Some(word.clone());
        }
        Ok(placed)
    }

    /// Finds the columns of all words but those of the first title. That title is blank where no
    /// word stands below it in a row that is aligned with its header.
    fn by_sight(&self, reading: &Reading) -> Option<Vec<usize>> {
        let (words, titles) = (&reading.rest, &self.trailing);
        let names = self.matrix.devices.iter().map(|device| device.name.seen_at);
        let mut cells =
            reading.cells.iter().zip(names).filter(|(cell, _)| cell.text != "X").peekable();
        let aligned = cells.peek().is_some() && cells.all(|(cell, name)| cell.seen_at == name);
        let right = words.first()?.seen_at > titles.first()?.seen_at;
        let spaced = words.iter().all(|word| word.tabs == 0);
        (aligned && spaced && right && words.len() + 1 == titles.len())
            .then(|| (1..titles.len()).collect())
    }

    fn affinities(&mut self, row: usize, words: &[Option<Token>]) -> Result<(), InputError> {
        let device = &mut self.matrix.devices[row];
        for (title, word) in self.trailing.iter().zip(words) {
            let Some(word) = word else { continue };
            let affinity = match Affinity::parse(&word.text) {
                None if word.text == "N/A" => None,
                None => {
                    let problem = "this is no affinity";
                    let remedy = "write ascending numbers and ranges such as 0-11,24-35, or N/A";
                    return Err(word.refuse(self.file, problem, remedy));
                }
                known => known,
            };
            match title.column {
                Trailing::CpuAffinity => device.cores = affinity,
                Trailing::NumaAffinity => device.numa = affinity,
                Trailing::GpuNumaId => {}
            }
        }
        Ok(())
    }

    /// Legends and prompts may follow the matrix, further rows may not.
    fn after_matrix(&self, line: &Line) -> Result<(), InputError> {
        let first = &line.tokens[0];
        let known = self.matrix.devices.iter().any(|device| device.name.text == first.text);
        if known {
            let problem = "a row follows the last one of the header";
            return Err(first.refuse(self.file, problem, "paste one matrix, each row once"));
        }
        let has_cell = line.tokens.get(1).is_some_and(|second| cell(&second.text).is_some());
        if has_cell || paste::is_gpu_name(&first.text) {
            let problem = "this row has no column in the header";
            return Err(first.refuse(self.file, problem, WHOLE_PASTE));
        }
        Ok(())
    }

    fn check_symmetry(&self) -> Result<(), InputError> {
        let Matrix { devices, cells, words, .. } = &self.matrix;
        for (row, word) in words.iter().enumerate() {
            for column in 0..row {
                if cells[row][column] != cells[column][row] {
                    let (a, b) = (&devices[row].name.text, &devices[column].name.text);
                    let other = &words[column][row].text;
                    let problem = format!("{a}-{b} differs from {b}-{a}, which is {other}");
                    let remedy = "mend the wrong one of the two or paste again";
                    return Err(word[column].refuse(self.file, problem, remedy));
                }
            }
        }
        Ok(())
    }
}

/// How many tabs stand between the last cell and each word after it, where the tabs are those
/// that nvidia-smi prints: one after each cell.
fn tabs_after(reading: &Reading) -> Option<Vec<usize>> {
    let last = reading.cells.last()?;
    let printed = reading.cells.windows(2).all(|pair| pair[1].tabs - pair[0].tabs < 2);
    let tabs = reading.rest.iter().map(|word| word.tabs - last.tabs + reading.runs_on);
    (printed && last.tabs > 0).then(|| tabs.collect())
}

fn starts_blank(reading: &Reading) -> bool {
    tabs_after(reading).is_some_and(|tabs| tabs.first().is_some_and(|tabs| *tabs > 1))
}

/// The column of each word by the tabs before it; a second tab stands before the last column.
fn by_tabs(reading: &Reading, titles: &[Title]) -> Option<Vec<usize>> {
    let last = titles.len().checked_sub(1)?;
    let columns: Vec<usize> =
        tabs_after(reading)?.iter().map(|tabs| tabs.checked_sub(1)).collect::<Option<_>>()?;
    let columns: Vec<usize> = columns.into_iter().map(|column| column.min(last)).collect();
    (columns.is_sorted_by(|a, b| a < b) && columns.last() == Some(&last)).then_some(columns)
}
