//! Turns bonded counts into NVLink wires: direct links, or switches between them.
//!
//! How many links a GPU of each generation has, its models' files say.

use super::cells::Cell;
use super::matrix::Matrix;
use super::names::Names;
use crate::diagnostic::InputError;
use crate::system::gpus::{self, GpuLinks, GpuModel, LinkReach, most_links};
use crate::system::import::paste::Token;
use crate::system::kinds::LinkKind;
use crate::units::Bandwidth;

/// The NVLinks of a machine; devices are numbered as in the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fabric {
    /// Their generation, or nothing where there is no NVLink.
    pub(super) kind: Option<LinkKind>,
    /// Gives the bandwidth of one link in one direction.
    pub(super) bandwidth: Bandwidth,
    /// Pairs of GPUs and the links between them.
    pub(super) direct: Vec<(usize, usize, u32)>,
    /// Lists, for each NVSwitch, its GPUs and the links of each.
    pub(super) switches: Vec<Vec<(usize, u32)>>,
    /// Holds one sentence for each.
    pub(super) assumptions: Vec<String>,
    /// Lists the probable faults of the links.
    pub(super) warnings: Vec<String>,
}

/// Finds the wires behind the NV# cells.
///
/// # Errors
/// A count beyond what the generation of `option` has, and counts that neither direct
/// links nor switches give.
pub(super) fn reconstruct(
    file: &str,
    matrix: &Matrix,
    option: Option<LinkKind>,
    product: Option<(&str, &GpuModel)>,
) -> Result<Fabric, InputError> {
    let mut fabric = Fabric {
        kind: None,
        bandwidth: Bandwidth(0),
        direct: Vec::new(),
        switches: Vec::new(),
        assumptions: Vec::new(),
        warnings: Vec::new(),
    };
    let sum = |gpu: usize| matrix.cells[gpu].iter().map(|c| count(*c)).sum::<u32>();
    let most_of_gpu = (0..matrix.devices.len()).map(sum).max().unwrap_or(0);
    let most_of_pair = matrix.cells.iter().flatten().map(|c| count(*c)).max().unwrap_or(0);
    if most_of_pair == 0 {
        return Ok(without_links(matrix, option, product, fabric));
    }
    let named = product.and_then(|(name, model)| Some((name, model.links?)));
    let named = named.filter(|(_, own)| option.is_none_or(|kind| kind == own.kind));
    let kind = option.or(named.map(|(_, own)| own.kind));
    let kind = kind.unwrap_or_else(|| infer(most_of_pair, most_of_gpu));
    fabric.bandwidth = named.map_or(kind.data_sheet().bandwidth, |(_, own)| own.bandwidth());
    if let Some(word) = beyond(matrix, kind) {
        let problem = format!("a GPU of {} has only {} NVLinks", kind.name(), most_links(kind));
        return Err(word.refuse(file, problem, "choose another `nvlink` or mend the cell"));
    }
    fabric.kind = Some(kind);
    match (option, named, doubt(most_of_pair, most_of_gpu)) {
        (Some(_), ..) => {}
        (None, Some((name, _)), _) => fabric.assumptions.push(format!(
            "The GPUs are named {name}, whose NVLinks are {} of {} in each direction (option \
             `nvlink`).",
            kind.name(),
            fabric.bandwidth
        )),
        (None, None, Some(doubt)) => fabric.warnings.push(format!(
            "The NVLink generation is not given. It is assumed to be {}, {} a link: a pair has at most \
             {most_of_pair} links and a GPU {most_of_gpu}, which {doubt}. Paste the \
             output of `nvidia-smi -L` before the matrix, or give the option `nvlink`.",
            kind.name(),
            fabric.bandwidth
        )),
        (None, None, None) => fabric.assumptions.push(format!(
            "The NVLink generation is not given. It is assumed to be {}: a pair has at most \
             {most_of_pair} links and a GPU {most_of_gpu} (option `nvlink`).",
            kind.name()
        )),
    }
    if let (Some((name, model)), None, None) = (product, option, named)
        && model.links.is_none()
    {
        fabric.warnings.push(format!(
            "The GPUs are named {name}, which has no NVLinks by its data sheet; {} is taken \
             from the matrix.",
            kind.name()
        ));
    }
    for group in groups(matrix) {
        if group.iter().all(|gpu| sum(*gpu) <= most_links(kind)) {
            fabric.direct.extend(pairs(matrix, &group));
        } else {
            fabric.switches.push(switch(file, matrix, &group, kind)?);
        }
    }
    if !fabric.direct.is_empty() {
        let sentence = "The NVLinks of a pair are taken to join its GPUs directly, since no \
                        GPU has more of them than its generation allows.";
        fabric.assumptions.push(sentence.to_owned());
    }
    for (index, gpus) in fabric.switches.iter().enumerate() {
        fabric.assumptions.push(format!(
            "{} GPUs show more NVLinks than a GPU of {} has, so they are assumed to meet at one \
             switch, NVSwitch{index}.",
            gpus.len(),
            kind.name()
        ));
    }
    Ok(fabric)
}

/// The GPUs of a matrix without NVLinks: as the option says, all of each one's to one switch.
fn without_links(
    matrix: &Matrix,
    option: Option<LinkKind>,
    product: Option<(&str, &GpuModel)>,
    mut fabric: Fabric,
) -> Fabric {
    let gpus: Vec<usize> =
        (0..matrix.devices.len()).filter(|device| matrix.devices[*device].is_gpu).collect();
    let own = product.map(|(name, model)| (name, of_board(model)));
    let may_have = own.is_none_or(|(_, links)| links.is_some());
    let Some(kind) = option.filter(|_| gpus.len() > 1 && may_have) else { return fabric };
    let known = own.and_then(|(_, links)| links).filter(|links| links.kind == kind);
    let links = known.map_or_else(|| most_links(kind), |links| links.count);
    fabric.kind = Some(kind);
    fabric.bandwidth = known.map_or(kind.data_sheet().bandwidth, |links| links.bandwidth());
    fabric.switches.push(gpus.into_iter().map(|gpu| (gpu, links)).collect());
    fabric.assumptions.push(format!(
        "The matrix shows no NVLink; each GPU is taken to have all of its {links} {} links to \
         NVSwitch0, which stands for all switches (option `nvlink`).",
        kind.name()
    ));
    fabric
}

/// The links of a model that is sold only on a board which joins them.
fn of_board(model: &GpuModel) -> Option<GpuLinks> {
    model.links.filter(|links| links.kind.is_nvlink() && links.wiring == LinkReach::Board)
}

/// Warns of GPUs that are sold only on a board of NVLinks, where the matrix shows none.
pub(super) fn missing(matrix: &Matrix, names: &Names, fabric: &Fabric) -> Option<String> {
    let stated = |gpu: usize| fabric.switches.iter().flatten().any(|(known, _)| *known == gpu);
    let shows = |gpu: usize| matrix.cells[gpu].iter().any(|cell| count(*cell) > 0);
    let of = |gpu: usize| {
        let name = &matrix.devices[gpu].name.text;
        let product = names.of(name)?;
        Some((name.as_str(), product, of_board(gpus::by_text(product)?)?))
    };
    let gpus = (0..matrix.devices.len()).filter(|gpu| matrix.devices[*gpu].is_gpu);
    if gpus.clone().count() < 2 {
        return None;
    }
    let without: Vec<_> = gpus.filter(|gpu| !shows(*gpu) && !stated(*gpu)).filter_map(of).collect();
    let (_, product, links) = *without.first()?;
    let all: Vec<&str> = without.iter().map(|(name, ..)| *name).collect();
    let (count, kind) = (links.count, links.kind);
    let whose =
        if fabric.kind.is_some() { format!(" of {}", all.join(", ")) } else { String::new() };
    let remedy = match kind {
        _ if fabric.kind.is_some() => {
            "Look at `nvidia-smi nvlink --status`, and paste again once they are up.".to_owned()
        }
        LinkKind::Nvlink1 | LinkKind::Nvlink2 => {
            "Where they are up, take a preset, such as `dgx1-v100`.".to_owned()
        }
        _ => format!(
            "Where they are up, give the option `nvlink`, such as `{}`, to add NVSwitches.",
            kind.name()
        ),
    };
    Some(format!(
        "{product} has {count} NVLinks, and the matrix shows none{whose}: it is taken to have PCIe \
         alone. The fabric manager may not run, MIG may be on, or a virtual machine may hide \
         them. {remedy}"
    ))
}

fn count(cell: Cell) -> u32 {
    if let Cell::NvLink(count) = cell { count } else { 0 }
}

/// Returns the oldest generation that can do it with direct links. Another is taken where the
/// counts are those of a switched machine. These are 6 each in DGX-2, 12 each in DGX A100, and 18
/// each in DGX H100.
fn infer(most_of_pair: u32, most_of_gpu: u32) -> LinkKind {
    match (most_of_pair, most_of_gpu) {
        (_, ..=6) => LinkKind::Nvlink2,
        (_, ..=12) => LinkKind::Nvlink3,
        (_, ..=18) => LinkKind::Nvlink4,
        (..=6, _) => LinkKind::Nvlink2,
        (..=12, _) => LinkKind::Nvlink3,
        (..=18, _) => LinkKind::Nvlink4,
        _ => LinkKind::Nvlink5,
    }
}

/// Names other machines that the counts fit, at another bandwidth a link.
fn doubt(most_of_pair: u32, most_of_gpu: u32) -> Option<&'static str> {
    match (most_of_pair, most_of_gpu) {
        (_, ..=4) => Some(
            "fit P100 (20 GB/s a link), V100 and A30 (25) and RTX A6000, A40 and RTX 3090 (14) alike",
        ),
        (13..=18, _) => Some("fit H100 and H200 (25 GB/s a link) and B200 (50) alike"),
        _ => None,
    }
}

/// A cell with more links than a GPU has. A Blackwell cell may bond two dies' links.
fn beyond(matrix: &Matrix, kind: LinkKind) -> Option<&Token> {
    let most = most_links(kind) * if kind == LinkKind::Nvlink5 { 2 } else { 1 };
    let cells = matrix.cells.iter().flatten().zip(matrix.words.iter().flatten());
    cells.filter(|(cell, _)| count(**cell) > most).map(|(_, word)| word).next()
}

/// Puts the GPUs into groups that NVLinks join.
fn groups(matrix: &Matrix) -> Vec<Vec<usize>> {
    let mut seen = vec![false; matrix.devices.len()];
    let mut groups = Vec::new();
    for first in 0..seen.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut group = vec![first];
        let mut next = 0;
        while let Some(from) = group.get(next).copied() {
            next += 1;
            for (to, cell) in matrix.cells[from].iter().enumerate() {
                if count(*cell) > 0 && !seen[to] {
                    seen[to] = true;
                    group.push(to);
                }
            }
        }
        group.sort_unstable();
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

fn pairs(matrix: &Matrix, group: &[usize]) -> Vec<(usize, usize, u32)> {
    let all = group.iter().flat_map(|a| group.iter().map(move |b| (*a, *b)));
    let bonded = all.filter(|(a, b)| a < b).map(|(a, b)| (a, b, count(matrix.cells[a][b])));
    bonded.filter(|(_, _, links)| *links > 0).collect()
}

/// One switch for a group: a pair then shows the smaller of its two GPUs' links.
fn switch(
    file: &str,
    matrix: &Matrix,
    group: &[usize],
    kind: LinkKind,
) -> Result<Vec<(usize, u32)>, InputError> {
    let links = |gpu: usize| matrix.cells[gpu].iter().map(|c| count(*c)).max().unwrap_or(0);
    for a in group {
        for b in group {
            let expected = links(*a).min(links(*b));
            if a < b && count(matrix.cells[*a][*b]) != expected {
                let problem = format!(
                    "these NVLinks are too many for direct {} links, and a switch would give \
                     {} and {} NV{expected}",
                    kind.name(),
                    matrix.devices[*a].name.text,
                    matrix.devices[*b].name.text
                );
                let remedy = "choose another `nvlink` or mend the cell";
                return Err(matrix.words[*a][*b].refuse(file, problem, remedy));
            }
        }
    }
    Ok(group.iter().map(|gpu| (*gpu, links(*gpu))).collect())
}
