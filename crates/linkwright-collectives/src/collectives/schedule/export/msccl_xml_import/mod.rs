//! Reads MSCCL XML into a [`Schedule`], so that anyone's algorithm can be checked and timed.
//!
//! It represents the file as an executor runs it, in the words below. [`super::msccl_xml`] says
//! whose rules these are:
//!
//! - `nchunksperloop` cuts the call: the whole buffer, or for all-gather, reduce-scatter and
//!   all-to-all the buffer of all ranks' shards.
//! - A `nop` step's waits go to the next step of its block, too. A `nop` that no step follows has
//!   no effect and is left out.
//! - A wait for a step without `hasdep="1"` ends with the next step of that block that has it. Only
//!   those tell how far their block is.
//! - The root of a broadcast or scatter is the one rank that has chunks of input, else the one that
//!   never receives. The root of a reduce or gather is the one rank that has chunks of output, else
//!   the one that never sends.
//! - Older files, which have no `outofplace`, run in one of the two ways.
//! - Any character of the name other than letters, digits, `-`, `_` and `.` becomes `_`.
//!
//! It leaves out `minBytes` and `maxBytes`, which a schedule does not say, and attributes that no
//! executor reads. Rank i becomes GPU i. Channels use the best links.

mod attributes;
mod blocks;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use roxmltree::Node;

use self::attributes::{MscclAttributes, Source};
use self::blocks::{Limits, RawBlock, read_block, resolve};
use super::msccl_xml::{MOST_CHANNELS, MOST_OFFSET, collective_word, shards_of_a_call};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{
    Buffer, Channel, Pacing, Protocol, RankSchedule, Schedule, StepOperation, ThreadBlock,
};
use crate::diagnostic::{InputError, Named as _, Position};
use crate::xml;

/// More text than the largest published algorithm has, many times over.
const MOST_BYTES: usize = 32 << 20;
/// The longest an element may be; attributes of one element are compared with each other.
const LONGEST_ELEMENT: usize = 1024;
/// Limits the elements and the white space between them, of the whole file.
const MOST_NODES: u32 = 1_000_000;
/// The longest name that is kept.
const LONGEST_NAME: usize = 200;

/// Reads a schedule from MSCCL XML; `file` names it in errors.
///
/// # Errors
/// Refuses a text that is no XML, has a document type, is out of all proportion, or lacks a part
/// that an executor needs. Refuses values that an executor would refuse or hang on. Each error has
/// its place.
pub fn read_msccl_xml(file: &str, text: &str) -> Result<Schedule, InputError> {
    check_size(file, text)?;
    if let Some((what, remedy)) = other_format(text) {
        let problem = format!("this looks like {what}, and MSCCL XML is read");
        let at = Position::of_offset(text, text.len() - text.trim_start().len());
        return Err(InputError::at(file, at, problem, "", remedy));
    }
    let remedy = "give the whole file that MSCCL would load";
    let document = xml::parse(file, text, MOST_NODES, remedy)?;
    let remedy = "add the attribute; MSCCL needs it";
    read_algorithm(&Source { file, document: &document, remedy })
}

/// Names the format of a text of another one that algorithms have, with the remedy.
fn other_format(text: &str) -> Option<(&'static str, &'static str)> {
    let start = text.trim_start_matches(|first: char| first.is_whitespace() || first == '\u{feff}');
    if start.starts_with('<') {
        return None;
    }
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if start.starts_with('{') && has(&["\"gpus\"", "\"coll"]) {
        return Some((
            "an execution plan of MSCCL++ (JSON)",
            "give the algorithm as MSCCL XML, such as from `collective plan --as msccl-xml`; \
             `collective check` and `Schedule.from_mscclpp_json` read execution plans",
        ));
    }
    if start.starts_with(['{', '[']) {
        return Some(("JSON", "give the algorithm as MSCCL XML"));
    }
    let is_dot = ["digraph", "graph", "strict"].iter().any(|word| start.starts_with(word));
    if is_dot && text.contains('{') {
        return Some((
            "a graph of Graphviz",
            "give the algorithm as MSCCL XML; a drawing has no steps",
        ));
    }
    if has(&["import", "MSCCLProgram"]) || has(&["import", "CollectiveProgram"]) {
        return Some((
            "a program of MSCCLang",
            "run it with Python, and give the XML that it prints",
        ));
    }
    None
}

/// Refuses texts that would take long to parse.
fn check_size(file: &str, text: &str) -> Result<(), InputError> {
    let refuse = |offset: usize, problem: String| {
        let value = text.get(offset..).unwrap_or_default();
        let remedy = "give an algorithm file, at most 32 MiB, with elements of at most 1 KiB";
        Err(InputError::at(file, Position::of_offset(text, offset), problem, value, remedy))
    };
    if text.len() > MOST_BYTES {
        return refuse(0, format!("the text has {} bytes", text.len()));
    }
    let mut at = 0;
    while let Some(start) = text[at..].find('<').map(|found| at + found) {
        let comment = text[start..].starts_with("<!--");
        let end = if comment { "-->" } else { "<" };
        let length = text[start + 1..].find(end).map_or(text.len() - start, |found| found + 1);
        if !comment && length > LONGEST_ELEMENT {
            return refuse(start, format!("an element has {length} bytes"));
        }
        at = start + length;
    }
    Ok(())
}

/// Holds the attributes of the `algo` element.
struct Algorithm {
    name: String,
    word: String,
    protocol: Protocol,
    chunks_in_loop: u32,
    ranks: usize,
    channels: usize,
    in_place: bool,
    out_of_place: bool,
}

/// Holds the attributes of a `gpu` element.
struct RawRank<'a> {
    node: Node<'a, 'a>,
    input_chunks: u32,
    output_chunks: u32,
    scratch_chunks: u32,
    blocks: Vec<RawBlock<'a>>,
}

fn read_algorithm(source: &Source) -> Result<Schedule, InputError> {
    let root = source.document.root_element();
    if root.tag_name().name() != "algo" {
        let problem = format!("the root element is <{}>", root.tag_name().name());
        return Err(source.refuse(root, problem, "give a file whose root element is <algo>"));
    }
    let algorithm = read_head(source, root)?;
    let ranks = read_ranks(source, root, &algorithm)?;
    let collective = find_collective(source, root, &algorithm, &ranks)?;
    let shards = shards_of_a_call(collective, algorithm.ranks) as u32;
    if !algorithm.chunks_in_loop.is_multiple_of(shards) {
        let attribute = source.required(root, "nchunksperloop")?;
        let problem = format!("the {shards} ranks' shards do not divide these chunks equally");
        let remedy = "give a multiple of `ngpus`";
        return Err(source.refuse_value(&attribute, problem, remedy));
    }
    if collective == Collective::AllToAll && algorithm.in_place {
        let attribute = source.required(root, "inplace")?;
        let remedy = "write inplace=\"0\" and outofplace=\"1\"";
        return Err(source.refuse_value(&attribute, "all-to-all has no in-place form", remedy));
    }
    let mut schedule = Schedule {
        name: algorithm.name,
        collective,
        protocol: algorithm.protocol,
        pacing: Pacing::InTurns,
        gpus: (0..algorithm.ranks).collect(),
        chunks: algorithm.chunks_in_loop / shards,
        in_place: algorithm.in_place,
        out_of_place: algorithm.out_of_place,
        channels: vec![Channel::default(); algorithm.channels],
        routes: Vec::new(),
        programs: ranks
            .iter()
            .map(|rank| RankSchedule { scratch_chunks: rank.scratch_chunks, blocks: Vec::new() })
            .collect(),
    };
    for (rank, raw) in ranks.iter().enumerate() {
        let blocks: Vec<ThreadBlock> = resolve(source, &schedule, rank, &raw.blocks)?;
        schedule.programs[rank].blocks = blocks;
    }
    Ok(schedule)
}

fn read_head(source: &Source, root: Node) -> Result<Algorithm, InputError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = source.required(root, "name")?.value();
    let name: String =
        name.chars().take(LONGEST_NAME).map(|c| if plain(c) { c } else { '_' }).collect();
    let proto = source.required(root, "proto")?;
    let protocol = Protocol::from_name(proto.value()).map_err(|_| {
        source.refuse_value(&proto, "MSCCL has no such protocol", "write Simple, LL or LL128")
    })?;
    let chunks_in_loop =
        source.number_between(root, "nchunksperloop", 1, MOST_OFFSET as i64 + 1)?;
    let channels = source.number_between(root, "nchannels", 1, MOST_CHANNELS as i64)?;
    let ranks = source.number_between(root, "ngpus", 1, MOST_OFFSET as i64)?;
    let in_place = source.flag(root, "inplace")?;
    let out_of_place =
        if root.has_attribute("outofplace") { source.flag(root, "outofplace")? } else { !in_place };
    if !in_place && !out_of_place {
        let problem = "the algorithm runs neither in place nor out of place";
        return Err(source.refuse(root, problem, "set inplace or outofplace to 1"));
    }
    for name in ["minBytes", "maxBytes"] {
        if root.has_attribute(name) {
            source.number_between(root, name, 0, i64::MAX)?;
        }
    }
    Ok(Algorithm {
        name: if name.is_empty() { "msccl".to_owned() } else { name },
        word: source.required(root, "coll")?.value().to_owned(),
        protocol,
        chunks_in_loop: chunks_in_loop as u32,
        ranks: ranks as usize,
        channels: channels as usize,
        in_place,
        out_of_place,
    })
}

/// Reads every `gpu`, by its id.
fn read_ranks<'a>(
    source: &Source<'a>,
    root: Node<'a, 'a>,
    algorithm: &Algorithm,
) -> Result<Vec<RawRank<'a>>, InputError> {
    let nodes = source.children(root, "gpu")?;
    if nodes.len() != algorithm.ranks {
        let problem = format!("the file has {} <gpu> elements", nodes.len());
        let attribute = source.required(root, "ngpus")?;
        return Err(source.refuse_value(&attribute, problem, "give one <gpu> for each rank"));
    }
    let mut ranks: Vec<Option<RawRank>> = nodes.iter().map(|_| None).collect();
    for node in nodes {
        let id = source.index(node, "id", algorithm.ranks)?;
        if ranks[id].is_some() {
            let attribute = source.required(node, "id")?;
            let problem = "another <gpu> has this id, too";
            return Err(source.refuse_value(&attribute, problem, "give each rank its own id"));
        }
        let chunks = |name| source.number_between(node, name, 0, MOST_OFFSET as i64 + 1);
        let limits = Limits { rank: id, ranks: algorithm.ranks, channels: algorithm.channels };
        ranks[id] = Some(RawRank {
            node,
            input_chunks: chunks("i_chunks")? as u32,
            output_chunks: chunks("o_chunks")? as u32,
            scratch_chunks: chunks("s_chunks")? as u32,
            blocks: read_blocks(source, node, &limits)?,
        });
    }
    Ok(ranks.into_iter().flatten().collect())
}

/// Reads every `tb` of a `gpu`, by its id.
fn read_blocks<'a>(
    source: &Source<'a>,
    gpu: Node<'a, 'a>,
    limits: &Limits,
) -> Result<Vec<RawBlock<'a>>, InputError> {
    let nodes = source.children(gpu, "tb")?;
    let mut blocks: Vec<Option<RawBlock>> = nodes.iter().map(|_| None).collect();
    for node in &nodes {
        let id = source.index(*node, "id", nodes.len())?;
        if blocks[id].is_some() {
            let attribute = source.required(*node, "id")?;
            let problem = "another <tb> of the rank has this id, too";
            return Err(source.refuse_value(&attribute, problem, "number them from 0"));
        }
        blocks[id] = Some(read_block(source, *node, limits)?);
    }
    let blocks: Vec<RawBlock> = blocks.into_iter().flatten().collect();
    let mut ends = BTreeSet::new();
    for block in &blocks {
        let peers = [(block.send, true, "send"), (block.receive, false, "recv")];
        for (peer, sends, name) in peers {
            let Some(peer) = peer else { continue };
            if !ends.insert((block.channel, sends, peer)) {
                let attribute = source.required(block.node, name)?;
                let problem = "another <tb> of the rank has this peer on this channel, too";
                let remedy = "give one of them another `chan`";
                return Err(source.refuse_value(&attribute, problem, remedy));
            }
        }
    }
    Ok(blocks)
}

/// The collective, and its root where it has one.
fn find_collective(
    source: &Source,
    root: Node,
    algorithm: &Algorithm,
    ranks: &[RawRank],
) -> Result<Collective, InputError> {
    let known = Collective::NAMES.iter().filter_map(|name| Collective::named(name, 0));
    let word = if algorithm.word == "reduce_scatter" { "reducescatter" } else { &algorithm.word };
    let found = known.clone().find(|known| collective_word(*known) == Some(word));
    let Some(collective) = found else {
        let attribute = source.required(root, "coll")?;
        let words: Vec<&str> = known.filter_map(collective_word).collect();
        let problem = if word == "custom" {
            "a custom collective does not say what its ranks must end with"
        } else {
            "no collective has this name"
        };
        let remedy = format!("write one of {}", words.join(", "));
        return Err(source.refuse_value(&attribute, problem, &remedy));
    };
    if collective.root().is_none() {
        return Ok(collective);
    }
    let spreads = matches!(collective, Collective::Broadcast { .. } | Collective::Scatter { .. });
    let chunks = |rank: &RawRank| if spreads { rank.input_chunks } else { rank.output_chunks };
    let touches = |operation: StepOperation| {
        if spreads { operation.receives() } else { operation.sends() }
    };
    let only = |fits: &dyn Fn(&RawRank) -> bool| {
        let mut fitting = (0..ranks.len()).filter(|rank| fits(&ranks[*rank]));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    let found = only(&|rank| chunks(rank) > 0)
        .or_else(|| only(&|rank| !rank.blocks.iter().any(|block| block.operations().any(touches))));
    let found = found.ok_or_else(|| {
        let node = ranks.first().map_or(root, |rank| rank.node);
        let (attribute, verb) =
            if spreads { ("i_chunks", "receives") } else { ("o_chunks", "sends") };
        let problem = format!(
            "several ranks may be the root: not one alone has {attribute}, and not one alone \
             never {verb}"
        );
        let remedy = format!("set {attribute} to 0 on all ranks but the root");
        source.refuse(node, problem, &remedy)
    })?;
    Ok(Collective::named(collective.name(), found).unwrap_or(collective))
}

/// Returns the buffer of a letter in the file.
fn buffer_of(letter: &str) -> Option<Buffer> {
    match letter {
        "i" => Some(Buffer::Input),
        "o" => Some(Buffer::Output),
        "s" => Some(Buffer::Scratch),
        _ => None,
    }
}
