//! Writes the blocks that `rocm-smi --showtopo` prints.
//!
//! They list the GPUs, and say which pairs xGMI joins and over how many hops. They say whether PCIe
//! pairs share a socket, and name the NUMA node of each GPU. They show no network interface.

use std::collections::VecDeque;
use std::fmt::Write as _;

use super::host::Host;
use super::{ExportFormat, Exported};
use crate::system::error::SystemError;
use crate::system::gpus::Vendor;
use crate::system::import::paste;
use crate::system::import::paste::MOST_DEVICES;
use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Server};
use crate::system::views::proximity::{Proximity, between};

/// Counts the characters of the tool's rules.
const WIDTH: usize = 80;
/// Gives the weight that the driver counts for a hop of xGMI.
const XGMI_WEIGHT: u32 = 15;
/// Gives the weights that it counts for PCIe below one socket, and across two.
const PCIE_WEIGHTS: [u32; 2] = [40, 72];

/// Says how two GPUs reach each other.
#[derive(Clone, Copy)]
struct Pair {
    weight: u32,
    hops: u32,
    word: &'static str,
}

/// Writes the blocks.
///
/// # Errors
/// Refuses GPUs of another vendor, and more than any server has.
pub(super) fn write(machine: &Server) -> Result<Exported, SystemError> {
    let mut host = Host::new(machine, ExportFormat::RocmSmi)?;
    host.only(Vendor::Amd, ExportFormat::NvidiaSmi)?;
    let gpus = machine.gpus();
    if gpus.len() > MOST_DEVICES {
        let problem = format!("its blocks have {MOST_DEVICES} GPUs at most");
        return Err(host.refuse(problem, "write it as nccl-xml, or one server of it"));
    }
    let numbers = host.numbers();
    let pairs = pairs(machine);
    let mut text = title("ROCm System Management Interface");
    type Shown = fn(&Pair) -> String;
    let blocks: [(&str, Shown); 3] = [
        ("Weight between two GPUs", |pair| pair.weight.to_string()),
        ("Hops between two GPUs", |pair| pair.hops.to_string()),
        ("Link Type between two GPUs", |pair| pair.word.to_owned()),
    ];
    for (name, shown) in blocks {
        text += &title(name);
        let cells = |row: Vec<String>| {
            let padded: Vec<String> = row.iter().map(|cell| format!("{cell:<13}")).collect();
            padded.concat().trim_end().to_owned()
        };
        let heads = numbers.iter().map(|number| format!("GPU{number}")).collect();
        let _ = writeln!(text, "       {}", cells(heads));
        for (row, number) in pairs.iter().zip(&numbers) {
            let words = row.iter().map(|pair| pair.as_ref().map_or("0".to_owned(), shown));
            let _ = writeln!(text, "{:<7}{}", format!("GPU{number}"), cells(words.collect()));
        }
        text.push('\n');
    }
    text += &title("Numa Nodes");
    for (gpu, number) in gpus.iter().zip(&numbers) {
        // The driver's word for a node that it does not know is -1.
        let one = host.numa(*gpu).and_then(|nodes| paste::number(&nodes.to_string()));
        let node = one.map_or_else(|| "-1".to_owned(), |node| node.to_string());
        for what in ["Node", "Affinity"] {
            let _ = writeln!(text, "GPU[{number}]\t\t: (Topology) Numa {what}: {node}");
        }
    }
    text += &title("End of ROCm SMI Log");
    Ok(Exported { text, notes: host.notes })
}

/// Writes a block's title between rules of equal length.
fn title(name: &str) -> String {
    format!("{:=^WIDTH$}\n", format!(" {name} "))
}

/// Finds how each pair of GPUs reaches each other. The diagonal has none.
fn pairs(machine: &Server) -> Vec<Vec<Option<Pair>>> {
    let gpus = machine.gpus();
    let near = between(machine, gpus, gpus);
    let adjacency = machine.adjacency();
    let row = |a: usize| {
        let hops = hops(machine, &adjacency, gpus[a]);
        let pair = |b: usize| match hops[gpus[b]] {
            Some(hops) => Pair { weight: XGMI_WEIGHT.saturating_mul(hops), hops, word: "XGMI" },
            None => {
                let far = near[a][b] == Proximity::Sys;
                let hops = if far { 3 } else { 2 };
                Pair { weight: PCIE_WEIGHTS[usize::from(far)], hops, word: "PCIE" }
            }
        };
        (0..gpus.len()).map(|b| (a != b).then(|| pair(b))).collect()
    };
    (0..gpus.len()).map(row).collect()
}

/// Counts the xGMI links that lead from a GPU to each device, one after another.
fn hops(machine: &Server, adjacency: &[Vec<usize>], from: DeviceId) -> Vec<Option<u32>> {
    let is_gpu = |id: DeviceId| machine.devices()[id].kind == DeviceKind::Gpu;
    let mut hops = vec![None; machine.devices().len()];
    hops[from] = Some(0);
    let mut pending = VecDeque::from([(from, 0)]);
    while let Some((at, count)) = pending.pop_front() {
        let links = adjacency[at].iter().map(|index| &machine.links()[*index]);
        for next in links.filter(|link| link.kind.is_xgmi()).map(|link| link.other_end(at)) {
            if is_gpu(next) && hops[next].is_none() {
                hops[next] = Some(count + 1);
                pending.push_back((next, count + 1));
            }
        }
    }
    hops
}
