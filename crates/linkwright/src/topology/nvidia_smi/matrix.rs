//! The words of `nvidia-smi topo -m`: header, rows, cells and affinities.

use std::collections::BTreeMap;

use crate::diagnostic::{InputError, Position};
use crate::topology::host_tree::Relation;
use crate::topology::locality::Affinity;
use crate::topology::paste::{self, Line, Token};

/// The most NVLinks that a cell may bond: two generations beyond today's 18.
const MOST_NVLINKS: u32 = 36;
const WHOLE_PASTE: &str =
    "paste the whole output of `nvidia-smi topo -m`, every row to its last column";
const WHOLE_HEADER: &str = "paste the whole output of `nvidia-smi topo -m`, every row to its last \
    column; if no device is missing, end the header with CPU Affinity and each GPU's row with N/A";
const KNOWN_CELLS: &str = "the cells are X, NV#, PIX, PXB, PHB, NODE, SYS and SOC";

/// What a cell says of its two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The device itself.
    Itself,
    /// That many bonded NVLinks.
    NvLink(u32),
    /// A way over PCIe.
    Pcie(Relation),
}

/// A column of the matrix, and the row of the same name.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// The header's word.
    pub(super) name: Token,
    /// Whether it is a GPU; everything else is a NIC.
    pub(super) is_gpu: bool,
    /// The NUMA nodes near it.
    pub(super) numa: Option<Affinity>,
    /// The CPU cores near it.
    pub(super) cores: Option<Affinity>,
}

/// A whole matrix: square and symmetric, X on the diagonal and nowhere else.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    /// The columns.
    pub(super) devices: Vec<Device>,
    /// The cells by row and column.
    pub(super) cells: Vec<Vec<Cell>>,
    /// The words of the cells, for errors.
    pub(super) words: Vec<Vec<Token>>,
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

struct Reader<'a> {
    file: &'a str,
    trailing: Vec<Trailing>,
    matrix: Matrix,
}

/// Reads the matrix.
///
/// # Errors
/// Anything but a whole and consistent matrix.
pub(super) fn read(file: &str, text: &str) -> Result<Matrix, InputError> {
    let lines = paste::lines(text);
    let header = find_header(file, text, &lines)?;
    let (devices, trailing) = read_header(file, &lines[header])?;
    let matrix = Matrix { devices, cells: Vec::new(), words: Vec::new() };
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
        return Err(InputError::at(file, paste::end(&lines), problem, "", WHOLE_PASTE));
    }
    reader.check_symmetry()?;
    Ok(reader.matrix)
}

fn find_header(file: &str, text: &str, lines: &[Line]) -> Result<usize, InputError> {
    let start = Position { line: 1, column: 1 };
    if text.trim().is_empty() {
        return Err(InputError::at(file, start, "the text is empty", "", WHOLE_PASTE));
    }
    let Some(index) = lines.iter().position(|line| paste::is_gpu_name(line.first())) else {
        let problem = "no line starts with a GPU's name, so there is no GPU";
        return Err(InputError::at(file, start, problem, text.trim_start(), WHOLE_PASTE));
    };
    let line = &lines[index];
    match line.tokens.get(1) {
        Some(second) if cell(&second.text).is_some() => {
            Err(line.tokens[0].refuse(file, "the header is missing above this row", WHOLE_PASTE))
        }
        _ => Ok(index),
    }
}

fn read_header(file: &str, line: &Line) -> Result<(Vec<Device>, Vec<Trailing>), InputError> {
    let mut devices: Vec<Device> = Vec::new();
    let mut trailing: Vec<Trailing> = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rest = line.tokens.as_slice();
    while let Some(token) = rest.first() {
        let starts = |title: &[&str]| {
            rest.len() >= title.len() && rest.iter().zip(title).all(|(a, b)| a.text == *b)
        };
        if let Some((title, column)) = TRAILING.iter().find(|(title, _)| starts(title)) {
            if trailing.contains(column) {
                return Err(token.refuse(file, "this column is listed twice", "list it once"));
            }
            trailing.push(*column);
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
        let is_gpu = paste::is_gpu_name(name);
        devices.push(Device { name: token.clone(), is_gpu, numa: None, cores: None });
        rest = &rest[1..];
    }
    // Every version of nvidia-smi titles the affinities, right of all devices: a header
    // without them was cut, and nobody can say how many devices went with them.
    if trailing.is_empty() {
        let problem = "the header ends before its CPU Affinity, so devices may be cut off";
        let last = line.tokens.last().map_or("", |token| token.text.as_str());
        return Err(InputError::at(file, line.end, problem, last, WHOLE_HEADER));
    }
    Ok((devices, trailing))
}

/// Whether the importer itself names devices so.
fn is_reserved(name: &str) -> bool {
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(|n| paste::number(n).is_some());
    ["CPU", "HostBridge", "PCIeSwitch", "NVSwitch"].into_iter().any(numbered)
}

fn cell(word: &str) -> Option<Cell> {
    Some(match word {
        "X" => Cell::Itself,
        "PIX" => Cell::Pcie(Relation::Switch),
        "PXB" => Cell::Pcie(Relation::Switches),
        "PHB" => Cell::Pcie(Relation::HostBridge),
        "NODE" => Cell::Pcie(Relation::Socket),
        "SYS" | "SOC" => Cell::Pcie(Relation::System),
        _ => Cell::NvLink(paste::number(word.strip_prefix("NV")?)?),
    })
}

impl Reader<'_> {
    fn row(&mut self, line: &Line) -> Result<(), InputError> {
        let row = self.matrix.cells.len();
        let width = self.matrix.devices.len();
        self.check_row_name(row, &line.tokens[0])?;
        let rest = &line.tokens[1..];
        let mut cells = Vec::new();
        for (column, word) in rest.iter().take(width).enumerate() {
            cells.push(self.check_cell(row, column, word)?);
        }
        if let Some(missing) = self.matrix.devices.get(cells.len()) {
            let problem = format!("this row ends before its cell for {}", missing.name.text);
            return Err(InputError::at(self.file, line.end, problem, line.first(), WHOLE_PASTE));
        }
        self.affinities(row, &rest[width..], line.end)?;
        self.matrix.cells.push(cells);
        self.matrix.words.push(rest[..width].to_vec());
        Ok(())
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
            Cell::NvLink(count) if count > MOST_NVLINKS => "no GPU has so many NVLinks",
            Cell::NvLink(_) if !a.is_gpu || !b.is_gpu => "NVLink joins a NIC",
            Cell::NvLink(_) | Cell::Pcie(_) => return Ok(cell),
        };
        Err(word.refuse(self.file, problem, format!("{KNOWN_CELLS}; mend it or paste again")))
    }

    fn affinities(&mut self, row: usize, words: &[Token], end: Position) -> Result<(), InputError> {
        let device = &mut self.matrix.devices[row];
        if let Some(extra) = words.get(self.trailing.len()) {
            let problem = "this row has more cells than the header has columns";
            return Err(extra.refuse(self.file, problem, WHOLE_PASTE));
        }
        // A NIC has no affinity. Where the system reports none for the GPUs (WSL, some
        // virtual machines), both affinities are blank and only the NUMA id says N/A.
        let blank = matches!(words, [only] if only.text == "N/A")
            && self.trailing.last() == Some(&Trailing::GpuNumaId);
        if (words.is_empty() && !device.is_gpu) || (blank && self.trailing.len() > 1) {
            return Ok(());
        }
        if words.len() < self.trailing.len() {
            let problem = "this row ends before its affinities";
            return Err(InputError::at(self.file, end, problem, &device.name.text, WHOLE_PASTE));
        }
        for (column, word) in self.trailing.iter().zip(words) {
            let affinity = match Affinity::parse(&word.text) {
                None if word.text == "N/A" => None,
                None => {
                    let problem = "this is no affinity";
                    let remedy = "write ascending numbers and ranges such as 0-11,24-35, or N/A";
                    return Err(word.refuse(self.file, problem, remedy));
                }
                known => known,
            };
            match column {
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
        let Matrix { devices, cells, words } = &self.matrix;
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
