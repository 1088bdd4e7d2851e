//! Writes the matrix that `nvidia-smi topo -m` prints.
//!
//! The matrix lists the GPUs and network interfaces, and the NVLinks between two GPUs. Where no
//! NVLink joins two devices, it says how near they are over PCIe. It names the cores and NUMA node
//! near each GPU.

use std::fmt::Write as _;

use super::host::Host;
use super::{ExportFormat, Exported};
use crate::system::error::SystemError;
use crate::system::gpus::Vendor;
use crate::system::import::nvidia_smi::{MOST_NVLINKS, is_nic_name};
use crate::system::import::paste::MOST_DEVICES;
use crate::system::locality::Affinity;
use crate::system::server::{DeviceId, Server};
use crate::system::views::gpu_graph::{BandwidthProfile, FabricPath, GpuGraph, PairLink};
use crate::system::views::proximity::between;

/// Says what each word of the matrix means.
const LEGEND: [(&str, &str); 7] = [
    ("X", "the device itself"),
    ("SYS", "over PCIe and the links between CPUs"),
    ("NODE", "over PCIe and one CPU, or several of its host bridges"),
    ("PHB", "over PCIe and one host bridge"),
    ("PXB", "over several PCIe switches, and no host bridge"),
    ("PIX", "over one PCIe switch at most"),
    ("NV#", "over # NVLinks"),
];

/// Writes the matrix.
///
/// # Errors
/// Refuses GPUs of another vendor, and more devices or NVLinks than any server's matrix has.
pub(super) fn write(machine: &Server) -> Result<Exported, SystemError> {
    let mut host = Host::new(machine, ExportFormat::NvidiaSmi)?;
    host.only(Vendor::Nvidia, ExportFormat::RocmSmi)?;
    let gpus = machine.gpus();
    let ends: Vec<DeviceId> = gpus.iter().chain(&host.nics).copied().collect();
    if ends.len() > MOST_DEVICES {
        let problem = format!("its matrix has {MOST_DEVICES} devices at most");
        return Err(host.refuse(problem, "write it as nccl-xml, or one server of it"));
    }
    let graph = GpuGraph::new(machine, BandwidthProfile::DataSheet)?;
    let near = between(machine, &ends, &ends);
    let numbers = host.numbers();
    let mut names: Vec<String> = numbers.iter().map(|number| format!("GPU{number}")).collect();
    names.extend(host.nic_names(is_nic_name));

    let titles = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"];
    let mut text = format!("\t{}\t{}\n", names.join("\t"), titles.join("\t"));
    for (row, name) in names.iter().enumerate() {
        let mut cells = vec![name.clone()];
        for column in 0..names.len() {
            let bonded = match row.max(column) < gpus.len() {
                true => nvlinks(graph.fabric_paths(row, column)),
                false => None,
            };
            if bonded.is_some_and(|links| links > MOST_NVLINKS) {
                let problem =
                    format!("{name} and {} have more than {MOST_NVLINKS} NVLinks", names[column]);
                return Err(host.refuse(problem, "write it as toml"));
            }
            cells.push(match bonded {
                _ if row == column => " X ".to_owned(),
                Some(links) => format!("NV{links}"),
                None => near[row][column].name().to_owned(),
            });
        }
        if let Some(gpu) = gpus.get(row) {
            let shown = |affinity: Option<Affinity>| {
                affinity.map_or_else(|| "N/A".to_owned(), |known| known.to_string())
            };
            // A second tab stands before the last column, as nvidia-smi prints it.
            let numa = shown(host.numa(*gpu)) + "\t";
            cells.extend([shown(host.cores(*gpu)), numa, "N/A".to_owned()]);
        }
        let _ = writeln!(text, "{}", cells.join("\t"));
    }
    text.push_str("\nLegend:\n\n");
    for (word, meaning) in LEGEND {
        let _ = writeln!(text, "  {word:<4} = {meaning}");
    }
    Ok(Exported { text, notes: host.notes })
}

/// Counts the NVLinks of a pair: its own, else those through NVSwitches.
fn nvlinks(paths: &[FabricPath]) -> Option<u32> {
    let direct = paths.iter().filter_map(|path| match path.link {
        PairLink::Direct { count, .. } => Some(count),
        _ => None,
    });
    let switched = paths.iter().find_map(|path| match path.link {
        PairLink::Switched { count, .. } => Some(count),
        _ => None,
    });
    direct.reduce(u32::saturating_add).or(switched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::views::proximity::Proximity;

    #[test]
    fn the_legend_has_every_word() {
        for proximity in Proximity::ALL {
            assert!(LEGEND.iter().any(|(word, _)| *word == proximity.name()));
        }
    }
}
