//! The blocks of `rocm-smi --showtopo`: three matrices and the NUMA lines.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::{InputError, Position};
use crate::system::import::paste::{self, Line, Token};
use crate::system::locality::Affinity;

const WHOLE_PASTE: &str = "paste the whole output of `rocm-smi --showtopo`, to its last line";
const END: &str = "End of ROCm SMI Log";
const NUMA_TITLE: &str = "Numa Nodes";

/// How a pair of GPUs is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkType {
    /// A GPU's cell with itself.
    Itself,
    /// Infinity Fabric between the GPUs.
    Xgmi,
    /// PCIe, through the host.
    Pcie,
}

/// One matrix, square and symmetric; cells by row and column, and their words for errors.
#[derive(Debug, Clone)]
pub(super) struct Block<T> {
    /// What the cells say.
    pub(super) cells: Vec<Vec<T>>,
    /// The cells as written.
    pub(super) words: Vec<Vec<Token>>,
}

/// The whole paste.
#[derive(Debug, Clone)]
pub(super) struct Topology {
    /// The GPUs, in the order of the columns.
    pub(super) gpus: Vec<String>,
    /// Weights, where the block is there.
    pub(super) weight: Option<Block<u32>>,
    /// Hops, where the block is there.
    pub(super) hops: Option<Block<u32>>,
    /// Link types.
    pub(super) link_type: Block<LinkType>,
    /// The NUMA node of each GPU, where known.
    pub(super) numa: Vec<Option<Affinity>>,
}

/// One GPU's lines of the NUMA block.
#[derive(Debug, Clone, Default)]
struct NumaLines {
    node: Option<Option<Affinity>>,
    affinity: Option<Option<Affinity>>,
}

/// What a matrix block says, in words.
struct Square {
    header: Vec<Token>,
    words: Vec<Vec<Token>>,
    /// The places of its lines, from its title to its last row.
    lines: Range<usize>,
}

/// Reads the blocks.
///
/// # Errors
/// A paste without a whole link type block, blocks of different GPUs, cells that rocm-smi
/// does not print, and a paste that was cut.
pub(super) fn read(file: &str, text: &str) -> Result<Topology, InputError> {
    let lines = paste::lines(file, text)?;
    let start = Position { line: 1, column: 1 };
    if text.trim().is_empty() {
        return Err(InputError::at(file, start, "the text is empty", "", WHOLE_PASTE));
    }
    let weight = matrix(file, &lines, "Weight between two GPUs")?;
    let hops = matrix(file, &lines, "Hops between two GPUs")?;
    let title = "Link Type between two GPUs";
    let Some(link_type) = matrix(file, &lines, title)? else {
        let problem = format!("the block `{title}` is missing");
        return Err(InputError::at(file, paste::end(&lines), problem, "", WHOLE_PASTE));
    };
    for block in [&weight, &hops].into_iter().flatten() {
        check_same_gpus(file, &link_type.header, &block.header)?;
    }
    let gpus: Vec<String> = link_type.header.iter().map(|token| token.text.clone()).collect();
    let blocks: Vec<&Square> = [&weight, &hops].into_iter().flatten().chain([&link_type]).collect();
    check_no_stray_line(file, &lines, &blocks)?;
    let numa = numa(file, &lines, &gpus)?;
    let number_block = |block: Option<Square>| block.map(|b| values(file, b, number)).transpose();
    Ok(Topology {
        weight: number_block(weight)?,
        hops: number_block(hops)?,
        link_type: values(file, link_type, link_type_of)?,
        gpus,
        numa,
    })
}

/// The words of a title line between its rules, or nothing for another line.
fn title(line: &Line) -> Option<String> {
    let is_rule = |token: &&Token| token.text.len() > 1 && token.text.bytes().all(|b| b == b'=');
    let ruled = line.tokens.first().is_some_and(|token| is_rule(&token));
    ruled.then(|| {
        let words: Vec<&str> =
            line.tokens.iter().filter(|t| !is_rule(t)).map(|t| t.text.as_str()).collect();
        words.join(" ")
    })
}

fn matrix(file: &str, lines: &[Line], name: &str) -> Result<Option<Square>, InputError> {
    let mut titles =
        (0..lines.len()).filter(|index| title(&lines[*index]).is_some_and(|t| t == name));
    let Some(at) = titles.next() else { return Ok(None) };
    if let Some(again) = titles.next() {
        let problem = "this block is there twice";
        return Err(lines[again].tokens[0].refuse(file, problem, "paste one output"));
    }
    let mut block =
        (at + 1..lines.len()).map(|i| (i, &lines[i])).filter(|(_, line)| !line.tokens.is_empty());
    let end = |problem: String, line: &Line| {
        InputError::at(file, line.end, problem, line.first(), WHOLE_PASTE)
    };
    let (mut last_at, header) =
        block.next().ok_or_else(|| end(format!("`{name}` has no rows"), &lines[at]))?;
    check_header(file, &header.tokens)?;
    let mut last = header;
    let mut words = Vec::new();
    for gpu in &header.tokens {
        let problem = || format!("`{name}` ends before the row of {}", gpu.text);
        let (row_at, row) = block.next().ok_or_else(|| end(problem(), last))?;
        (last_at, last) = (row_at, row);
        if row.first() != gpu.text {
            return Err(row.tokens[0].refuse(file, problem(), WHOLE_PASTE));
        }
        if let Some(missing) = header.tokens.get(row.tokens.len() - 1) {
            return Err(end(format!("this row ends before its cell for {}", missing.text), row));
        }
        if let Some(extra) = row.tokens.get(header.tokens.len() + 1) {
            let problem = "this row has more cells than the header has columns";
            return Err(extra.refuse(file, problem, WHOLE_PASTE));
        }
        words.push(row.tokens[1..].to_vec());
    }
    Ok(Some(Square { header: header.tokens.clone(), words, lines: at..last_at + 1 }))
}

/// Refuses lines that belong into a block and stand in none: a row without a column, and what
/// follows a title that was cut or mistyped.
fn check_no_stray_line(file: &str, lines: &[Line], blocks: &[&Square]) -> Result<(), InputError> {
    let numa = lines.iter().position(|line| title(line).is_some_and(|t| t == NUMA_TITLE));
    for (at, line) in lines.iter().enumerate() {
        if blocks.iter().any(|block| block.lines.contains(&at)) {
            continue;
        }
        let is_cell = |word: &str| number(word).is_some() || link_type_of(word).is_some();
        let second = line.tokens.get(1).map_or("", |token| &token.text);
        if paste::is_gpu_name(line.first()) && is_cell(second) {
            let problem = "this row has no column in a header, or its block has no title";
            return Err(line.tokens[0].refuse(file, problem, WHOLE_PASTE));
        }
        let after_title = numa.is_some_and(|title| at > title);
        if line.tokens.iter().any(|token| token.text == "(Topology)") && !after_title {
            let problem = format!("this line stands below no title `{NUMA_TITLE}`");
            return Err(line.tokens[0].refuse(file, problem, WHOLE_PASTE));
        }
    }
    Ok(())
}

fn check_header(file: &str, header: &[Token]) -> Result<(), InputError> {
    for (index, gpu) in header.iter().enumerate() {
        paste::has_room(file, index, gpu)?;
        if !paste::is_gpu_name(&gpu.text) {
            return Err(gpu.refuse(file, "this column is no GPU", WHOLE_PASTE));
        }
        if header[..index].iter().any(|earlier| earlier.text == gpu.text) {
            return Err(gpu.refuse(file, "two columns have this name", WHOLE_PASTE));
        }
    }
    Ok(())
}

fn check_same_gpus(file: &str, expected: &[Token], found: &[Token]) -> Result<(), InputError> {
    for (index, gpu) in found.iter().enumerate() {
        if expected.get(index).is_none_or(|other| other.text != gpu.text) {
            let problem = "this block and the link type block have different GPUs here";
            return Err(gpu.refuse(file, problem, WHOLE_PASTE));
        }
    }
    if let Some(missing) = expected.get(found.len()) {
        let problem = "another block has no column for this GPU";
        return Err(missing.refuse(file, problem, WHOLE_PASTE));
    }
    Ok(())
}

fn number(word: &str) -> Option<u32> {
    paste::number(word)
}

fn link_type_of(word: &str) -> Option<LinkType> {
    match word {
        "0" => Some(LinkType::Itself),
        "XGMI" => Some(LinkType::Xgmi),
        "PCIE" => Some(LinkType::Pcie),
        _ => None,
    }
}

/// The cells' values: `0` on the diagonal and nowhere else, and symmetric.
fn values<T: Copy + PartialEq>(
    file: &str,
    square: Square,
    value: impl Fn(&str) -> Option<T>,
) -> Result<Block<T>, InputError> {
    let remedy = "mend the cell or paste again";
    let mut cells: Vec<Vec<T>> = Vec::new();
    for (row, words) in square.words.iter().enumerate() {
        let mut values = Vec::new();
        for (column, word) in words.iter().enumerate() {
            let unknown = || word.refuse(file, "rocm-smi prints no such cell here", remedy);
            values.push(value(&word.text).ok_or_else(unknown)?);
            if (word.text == "0") != (row == column) {
                let problem = "a GPU's cell with itself is 0, and no other";
                return Err(word.refuse(file, problem, remedy));
            }
            if column < row && cells[column][row] != values[column] {
                let (a, b) = (&square.header[row].text, &square.header[column].text);
                let other = &square.words[column][row].text;
                let problem = format!("{a}-{b} differs from {b}-{a}, which is {other}");
                return Err(word.refuse(file, problem, remedy));
            }
        }
        cells.push(values);
    }
    Ok(Block { cells, words: square.words })
}

fn numa(file: &str, lines: &[Line], gpus: &[String]) -> Result<Vec<Option<Affinity>>, InputError> {
    let mut found: BTreeMap<usize, NumaLines> = BTreeMap::new();
    let block = lines.iter().position(|line| title(line).is_some_and(|t| t == NUMA_TITLE));
    let rest = block.map_or(&[][..], |at| &lines[at + 1..]);
    let ends = |line: &&Line| title(line).is_some();
    let ended = rest.iter().any(|line| ends(&line)) || finished(lines);
    for line in rest.iter().take_while(|line| !ends(line)).filter(|l| !l.tokens.is_empty()) {
        numa_line(file, line, gpus, &mut found)?;
    }
    let shape = found.values().next().map(|first| (first.node.is_some(), first.affinity.is_some()));
    for (index, gpu) in gpus.iter().enumerate() {
        let own = found.get(&index).map(|l| (l.node.is_some(), l.affinity.is_some()));
        let whole = own == shape && (ended || own == Some((true, true)));
        if !whole {
            let problem = format!("the paste ends or has a gap before the NUMA lines of {gpu}");
            return Err(InputError::at(file, paste::end(lines), problem, "", WHOLE_PASTE));
        }
    }
    let known =
        |lines: &NumaLines| lines.node.clone().flatten().or(lines.affinity.clone().flatten());
    Ok((0..gpus.len()).map(|index| found.get(&index).and_then(known)).collect())
}

fn finished(lines: &[Line]) -> bool {
    lines.iter().any(|line| title(line).is_some_and(|t| t == END))
}

/// Reads `GPU 0 : (Topology) Numa Node: 1`, of which newer versions write `GPU[0]`.
fn numa_line(
    file: &str,
    line: &Line,
    gpus: &[String],
    found: &mut BTreeMap<usize, NumaLines>,
) -> Result<(), InputError> {
    let first = &line.tokens[0];
    let remedy = "write such as `GPU[0] : (Topology) Numa Node: 0`, or paste again";
    let shape = || first.refuse(file, "this is no line of the NUMA block", remedy);
    let joined = line.joined();
    let (gpu, rest) = joined.split_once(':').ok_or_else(shape)?;
    let gpu: String = gpu.chars().filter(|c| !matches!(c, ' ' | '[' | ']')).collect();
    let Some(index) = gpus.iter().position(|name| *name == gpu) else {
        return Err(first.refuse(file, "this GPU has no column in the link type block", remedy));
    };
    let (what, value) = rest.rsplit_once(':').ok_or_else(shape)?;
    let lines = found.entry(index).or_default();
    let slot = match what.trim() {
        "(Topology) Numa Node" => &mut lines.node,
        "(Topology) Numa Affinity" => &mut lines.affinity,
        _ => return Err(shape()),
    };
    // The driver writes -1, or the same bits without a sign, where it does not know.
    let value = match value.trim() {
        "-1" | "4294967295" => None,
        value => Some(Affinity::one(paste::number(value).ok_or_else(|| {
            let value = line.tokens.last().unwrap_or(first);
            value.refuse(file, "this is no number of a NUMA node", remedy)
        })?)),
    };
    if slot.replace(value).is_some() {
        return Err(first.refuse(file, "this line is there twice", "write it once"));
    }
    Ok(())
}
