//! Reads the blocks of `rocm-smi --showtopo`: three matrices and the NUMA lines.

use std::collections::BTreeMap;

use super::machine::{LinkType, Topology};
use crate::diagnostic::{InputError, Position};
use crate::system::import::paste::{self, Line, Token};
use crate::system::import::squares::{Dialect, Square};
use crate::system::locality::Affinity;

const WHOLE_PASTE: &str = "paste the whole output of `rocm-smi --showtopo`, to its last line";
const END: &str = "End of ROCm SMI Log";
const NUMA_TITLE: &str = "Numa Nodes";
const WEIGHT: &str = "Weight between two GPUs";
const HOPS: &str = "Hops between two GPUs";
const LINK_TYPE: &str = "Link Type between two GPUs";

const DIALECT: Dialect = Dialect {
    tool: "rocm-smi",
    whole_paste: WHOLE_PASTE,
    title: |line| title(line).filter(|title| [WEIGHT, HOPS, LINK_TYPE].contains(&title.as_str())),
    is_gpu: paste::is_gpu_name,
    is_cell: |word| paste::number(word).is_some() || link_type_of(word).is_some(),
};

/// Holds one GPU's lines of the NUMA block.
#[derive(Debug, Clone, Default)]
struct NumaLines {
    node: Option<Option<Affinity>>,
    affinity: Option<Option<Affinity>>,
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
    let squares = DIALECT.squares(file, &lines)?;
    let of = |name: &str| squares.iter().find(|(title, _)| title == name).map(|(_, it)| it);
    let Some(link_type) = of(LINK_TYPE) else {
        let problem = format!("the block `{LINK_TYPE}` is missing");
        return Err(InputError::at(file, paste::end(&lines), problem, "", WHOLE_PASTE));
    };
    check_no_stray_line(file, &lines)?;
    let gpus: Vec<String> = link_type.header.iter().map(|token| token.text.clone()).collect();
    let numa = numa(file, &lines, &gpus)?;
    let numbers = |square: Option<&Square>| {
        square.map(|square| DIALECT.values(file, square, "0", paste::number)).transpose()
    };
    Ok(Topology {
        weight: numbers(of(WEIGHT))?,
        hops: numbers(of(HOPS))?,
        link_type: DIALECT.values(file, link_type, "0", link_type_of)?,
        addresses: gpus.iter().map(|gpu| super::pci_address(text, gpu)).collect(),
        links: vec![vec![None; gpus.len()]; gpus.len()],
        gpus,
        numa,
    })
}

/// Returns the words of a title line between its rules, or nothing for another line.
fn title(line: &Line) -> Option<String> {
    let is_rule = |token: &&Token| token.text.len() > 1 && token.text.bytes().all(|b| b == b'=');
    let ruled = line.tokens.first().is_some_and(|token| is_rule(&token));
    ruled.then(|| {
        let words: Vec<&str> =
            line.tokens.iter().filter(|t| !is_rule(t)).map(|t| t.text.as_str()).collect();
        words.join(" ")
    })
}

/// Refuses lines that belong into the NUMA block and stand below no title.
fn check_no_stray_line(file: &str, lines: &[Line]) -> Result<(), InputError> {
    let numa = lines.iter().position(|line| title(line).is_some_and(|t| t == NUMA_TITLE));
    let before = &lines[..numa.unwrap_or(lines.len())];
    let of_numa = |line: &&Line| line.tokens.iter().any(|token| token.text == "(Topology)");
    match before.iter().find(of_numa) {
        Some(line) => {
            let problem = format!("this line stands below no title `{NUMA_TITLE}`");
            Err(line.tokens[0].refuse(file, problem, WHOLE_PASTE))
        }
        None => Ok(()),
    }
}

fn link_type_of(word: &str) -> Option<LinkType> {
    match word {
        "0" => Some(LinkType::Itself),
        "XGMI" => Some(LinkType::Xgmi),
        "PCIE" => Some(LinkType::Pcie),
        _ => None,
    }
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

/// Reads `GPU 0 : (Topology) Numa Node: 1`; newer versions write `GPU[0]` in it.
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
