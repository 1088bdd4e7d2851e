//! Reads NCCL's file of rings and trees.

use std::str::FromStr;

use roxmltree::Node;

use super::{ChannelGraph, GraphChannel, GraphFile, GraphGpu, MOST_CHANNELS, PATHS, SWITCHES};
use crate::diagnostic::{InputError, Position};
use crate::xml::{self, Source};

/// More text than 65,536 elements take, which is all that NCCL holds (`NCCL_GRAPH_XML_MAX_NODES`).
const MOST_BYTES: usize = 16 << 20;
/// A file has at most as many elements and pieces of white space between them.
const MOST_NODES: u32 = 4 * 65_536;
/// Shapes are counted up to this (`CollNet`'s).
const MOST_ID: u32 = 4;
/// Forms are counted from the first to the second.
const PATTERNS: (u32, u32) = (1, 6);

/// Reads the file; `file` names it in errors.
///
/// # Errors
/// A text that is no such file, or that NCCL refuses or misreads, with line and column.
pub fn read(file: &str, text: &str) -> Result<GraphFile, InputError> {
    let start = text.len() - text.trim_start().len();
    let refuse = |problem: String, remedy: &str| {
        let value = text.get(start..).unwrap_or_default();
        InputError::at(file, Position::of_offset(text, start), problem, value, remedy)
    };
    if text.len() > MOST_BYTES {
        let problem = format!("the text has {} bytes", text.len());
        return Err(refuse(problem, "give a graph file, at most 16 MiB"));
    }
    if text[start..].starts_with("<?") {
        let problem = "NCCL's reader knows no XML declaration".to_owned();
        return Err(refuse(problem, "take the line out; the file begins with <graphs"));
    }
    let remedy = "give the whole file that NCCL wrote (NCCL_GRAPH_DUMP_FILE) or takes";
    let document = xml::parse(file, text, MOST_NODES, remedy)?;
    let remedy = "add the attribute; NCCL needs it";
    let source = Source { file, document: &document, remedy };
    let root = document.root_element();
    if root.tag_name().name() != "graphs" {
        let problem = "the file does not begin with <graphs";
        return Err(source.refuse(root, problem, "give NCCL's graphs, not its topology"));
    }
    whole(&source, root, "version", (1, 1))?;
    let graphs = children(root, "graph").map(|node| read_graph(&source, node));
    Ok(GraphFile { graphs: graphs.collect::<Result<_, _>>()? })
}

fn read_graph(source: &Source<'_>, node: Node<'_, '_>) -> Result<ChannelGraph, InputError> {
    let id = whole(source, node, "id", (0, MOST_ID))?;
    let found = children(node, "channel").map(|channel| read_channel(source, channel));
    let channels = found.collect::<Result<Vec<_>, _>>()?;
    let count = whole(source, node, "nchannels", (0, MOST_CHANNELS as u32))? as usize;
    if count != channels.len() {
        let attribute = source.required(node, "nchannels")?;
        let problem = format!("the graph has {} channels, and says", channels.len());
        return Err(source.refuse_value(&attribute, problem, "write as many as there are"));
    }
    for (channel, element) in channels.iter().zip(children(node, "channel")) {
        let first = &channels[0];
        if channel.nets.is_some() != first.nets.is_some() {
            let problem = "one channel has interfaces, and another has none";
            return Err(source.refuse(element, problem, "give all of them two, or none"));
        }
        if channel.gpus.len() != first.gpus.len() {
            let (one, other) = (channel.gpus.len(), first.gpus.len());
            let problem = format!("the channel has {one} GPUs, and the first has {other}");
            return Err(source.refuse(element, problem, "give every channel each GPU once"));
        }
        if id == SWITCHES && channel.gpus.len() > 1 {
            let problem = "a channel of reduction in switches names one GPU";
            return Err(source.refuse(element, problem, "take the others out"));
        }
    }
    Ok(ChannelGraph {
        id,
        pattern: whole(source, node, "pattern", PATTERNS)?,
        cross_nic: whole(source, node, "crossnic", (0, 1))?,
        speed_intra: real(source, node, "speedintra")?,
        speed_inter: real(source, node, "speedinter")?,
        latency_inter: match node.attribute("latencyinter") {
            Some(_) => real(source, node, "latencyinter")?,
            None => 0.0,
        },
        type_intra: path(source, node, "typeintra")?,
        type_inter: path(source, node, "typeinter")?,
        same_channels: whole(source, node, "samechannels", (0, 1))? == 1,
        channels,
    })
}

fn read_channel(source: &Source<'_>, node: Node<'_, '_>) -> Result<GraphChannel, InputError> {
    let mut gpus: Vec<GraphGpu> = Vec::new();
    for gpu in children(node, "gpu") {
        let rank = match gpu.attribute("rank") {
            Some(_) => Some(whole(source, gpu, "rank", (0, i32::MAX as u32))?),
            None => None,
        };
        let read = GraphGpu { device: device(source, gpu)?, rank };
        if gpus.contains(&read) {
            let problem = "the channel has this GPU twice";
            return Err(source.refuse(gpu, problem, "give every channel each GPU once"));
        }
        gpus.push(read);
    }
    if gpus.is_empty() {
        return Err(source.refuse(node, "the channel has no GPU", "name its GPUs in their order"));
    }
    let nets = children(node, "net").map(|net| device(source, net));
    let nets: Vec<u64> = nets.collect::<Result<_, _>>()?;
    let nets = match nets[..] {
        [] => None,
        [enters, leaves] => Some([enters, leaves]),
        _ => {
            let problem = format!("the channel has {} interfaces", nets.len());
            let remedy = "name that by which data enters and that by which it leaves, or none";
            return Err(source.refuse(node, problem, remedy));
        }
    };
    Ok(GraphChannel { nets, gpus })
}

/// The elements of a name inside of another; NCCL passes others over.
fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// A whole number between two bounds, as C reads it: `0x` before a hexadecimal one.
fn whole(
    source: &Source<'_>,
    node: Node<'_, '_>,
    name: &str,
    (least, most): (u32, u32),
) -> Result<u32, InputError> {
    let attribute = source.required(node, name)?;
    let value = attribute.value().trim();
    let digits = value.strip_prefix("0x");
    let number =
        digits.map_or_else(|| value.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let problem = format!("`{name}` is no number that NCCL takes here");
        let remedy = if least == most {
            format!("write {least}")
        } else {
            format!("write a whole number from {least} to {most}")
        };
        source.refuse_value(&attribute, problem, &remedy)
    })
}

fn real(source: &Source<'_>, node: Node<'_, '_>, name: &str) -> Result<f32, InputError> {
    let attribute = source.required(node, name)?;
    let number = f32::from_str(attribute.value().trim()).ok();
    number.filter(|number| number.is_finite() && !number.is_sign_negative()).ok_or_else(|| {
        let problem = format!("`{name}` is no number of zero or more");
        source.refuse_value(&attribute, problem, "write such as 20 or 0.24")
    })
}

fn path(source: &Source<'_>, node: Node<'_, '_>, name: &str) -> Result<&'static str, InputError> {
    let attribute = source.required(node, name)?;
    PATHS.into_iter().find(|path| *path == attribute.value()).ok_or_else(|| {
        let problem = format!("`{name}` is no path that NCCL reads");
        source.refuse_value(&attribute, problem, &format!("write one of {}", PATHS.join(", ")))
    })
}

/// Reads the hexadecimal number of a GPU or an interface.
fn device(source: &Source<'_>, node: Node<'_, '_>) -> Result<u64, InputError> {
    let attribute = source.required(node, "dev")?;
    let value = attribute.value().trim();
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| plain).ok_or_else(|| {
        let problem = "`dev` is no hexadecimal number";
        source.refuse_value(&attribute, problem, "write such as 0 or 0x1f")
    })
}
