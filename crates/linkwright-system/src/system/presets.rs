//! Holds machines that people know by name, written in Linkwright's own format.
//!
//! Each is one file under `presets/`, with its published source. Where that says less than a
//! machine needs, assumptions fill the gap. The presets leave out storage, memory, and anything
//! that no GPU's traffic crosses.

use crate::diagnostic::{Registered, Registry};
use crate::system::error::SystemError;
use crate::system::server::Server;
use crate::system::toml_format;

/// Describes a machine known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name that [`preset`] takes.
    pub name: &'static str,
    /// Describes it in one line.
    pub description: &'static str,
    text: &'static str,
}

impl Preset {
    /// Names a machine that a text of Linkwright's own format describes.
    #[must_use]
    pub const fn new(name: &'static str, description: &'static str, text: &'static str) -> Self {
        Self { name, description, text }
    }

    /// Reads the machine.
    ///
    /// # Errors
    /// A text that is none of the format.
    pub fn server(&self) -> Result<Server, SystemError> {
        toml_format::read(&format!("{}.toml", self.name), self.text)
    }
}

impl Registered for Preset {
    fn name(&self) -> &'static str {
        self.name
    }
}

macro_rules! table {
    ($($name:literal: $description:literal,)*) => {
        &[$(Preset::new(
            $name,
            $description,
            include_str!(concat!("presets/", $name, ".toml")),
        ),)*]
    };
}

/// Lists every preset, servers by age first, then shapes from papers and small PCIe machines.
pub const PRESETS: &[Preset] = table! {
    "dgx1-p100": "NVIDIA DGX-1 with 8 P100: hybrid cube mesh of single NVLinks",
    "dgx1-v100": "NVIDIA DGX-1 with 8 V100: hybrid cube mesh of single and double NVLinks",
    "dgx2": "NVIDIA DGX-2: 16 V100 on two baseboards of 6 NVSwitches",
    "dgx-a100": "NVIDIA DGX A100: 8 A100 on 6 NVSwitches",
    "hgx-h100": "NVIDIA HGX H100 in a DGX H100: 8 H100 on 4 NVSwitches",
    "hgx-h200": "NVIDIA HGX H200 in a DGX H200: 8 H200 on 4 NVSwitches",
    "hgx-b200": "NVIDIA HGX B200 in a DGX B200: 8 B200 on 2 NVSwitches",
    "hgx-b300": "NVIDIA HGX B300 in a DGX B300: 8 B300 on 2 NVSwitches",
    "gb200-nvl72": "NVIDIA GB200 NVL72: a rack of 72 GPUs on 18 NVSwitches",
    "gb300-nvl72": "NVIDIA GB300 NVL72: a rack of 72 GPUs on 18 NVSwitches",
    "mi300x-8": "AMD Instinct MI300X Platform: 8 MI300X, each joined to each by xGMI",
    "mi325x-8": "AMD Instinct MI325X Platform: 8 MI325X, each joined to each by xGMI",
    "mi355x-8": "AMD Instinct MI355X Platform: 8 MI355X, each joined to each by xGMI",
    "4x-l40s-pcie": "4 L40S in a PCIe server of two sockets",
    "8x-l40s": "8 L40S that share one way to the host, as NCCL's rates suggest",
    "8x-rtx-4090": "8 GeForce RTX 4090 in a PCIe server of two sockets",
    "8x-rtx-pro-6000": "8 RTX PRO 6000 Blackwell in pairs on 4 ConnectX-8",
    "summit-node": "IBM AC922 as in Summit: 6 V100 with NVLinks to 2 POWER9",
    "torus2d-16": "16 V100 in a two-dimensional torus, from the MAPA paper",
    "cubemesh-16": "16 V100 in an irregular cube mesh, from the MAPA paper",
    "titan-z": "one GeForce GTX TITAN Z: 2 GPUs behind a switch on one card",
    "kepler-pair": "a Tesla K40c and a Tesla K20c on PCIe 2",
    "k80": "4 Tesla K80, each 2 GPUs behind the board's switch, in a server of two sockets",
    "pcie-tree-4": "4 GPUs in pairs on 2 PCIe switches under one host bridge",
    "pcie4-tree-4": "the same tree at PCIe 4",
    "mgpu-rdma": "4 R9 Nano on a PCIe tree as in MGPUSim, from the MGPU-TSM dissertation",
    "mgpu-tsm": "the same, and a memory that all share behind a switch: MGPU-TSM",
};

/// Lists the name of every preset, in the order of [`PRESETS`].
pub const NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = PRESETS[index].name;
        index += 1;
    }
    names
};

/// Lists every preset by name.
#[must_use]
pub fn servers() -> Registry<Preset> {
    Registry::new("server", &PRESETS.iter().collect::<Vec<_>>())
}

/// Returns the machine of that name.
///
/// # Errors
/// [`SystemError::UnknownPreset`], which lists the names that exist.
pub fn preset(name: &str) -> Result<Server, SystemError> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    let preset = found.ok_or_else(|| SystemError::UnknownPreset {
        name: name.to_owned(),
        known: NAMES.join(", "),
    })?;
    preset.server()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{DeviceId, DeviceKind, LinkKind};

    fn all() -> impl Iterator<Item = Server> {
        NAMES.into_iter().map(|name| preset(name).unwrap())
    }

    /// Counts the GPU fabric links that end at a device.
    fn fabric_links(machine: &Server, device: DeviceId) -> u32 {
        let ends_here = machine.adjacency()[device].clone();
        let links = ends_here.into_iter().map(|index| &machine.links()[index]);
        links.filter(|link| link.kind.is_gpu_fabric()).map(|link| link.count).sum()
    }

    #[test]
    fn each_reads_under_its_own_name_and_survives_writing() {
        for (machine, name) in all().zip(NAMES) {
            assert_eq!(machine.name(), name);
            assert!(!machine.source().is_empty(), "{name}");
            let again = toml_format::read("again", &toml_format::write(&machine)).unwrap();
            assert_eq!(again, machine);
        }
    }

    #[test]
    fn gpus_are_counted_and_numbered() {
        let others = [("dgx2", 16), ("gb200-nvl72", 72), ("gb300-nvl72", 72), ("4x-l40s-pcie", 4)];
        let others = others.into_iter().chain([("summit-node", 6), ("torus2d-16", 16)]);
        let others = others.chain([("cubemesh-16", 16), ("titan-z", 2), ("kepler-pair", 2)]);
        let others = others.chain([("pcie-tree-4", 4), ("pcie4-tree-4", 4)]);
        let others: Vec<_> = others.chain([("mgpu-rdma", 4), ("mgpu-tsm", 4)]).collect();
        for machine in all() {
            let other = others.iter().find(|(name, _)| *name == machine.name());
            let count = other.map_or(8, |(_, count)| *count);
            assert_eq!(machine.gpus().len(), count, "{}", machine.name());
            for (index, gpu) in machine.gpus().iter().enumerate() {
                assert_eq!(machine.devices()[*gpu].name, format!("GPU{index}"));
            }
        }
    }

    #[test]
    fn no_device_has_more_nvlinks_than_its_generation() {
        for machine in all() {
            for link in machine.links().iter().filter(|link| link.kind.is_gpu_fabric()) {
                let (for_gpu, for_switch) = match link.kind {
                    LinkKind::Nvlink1 => (4, 0),
                    LinkKind::Nvlink2 => (6, 18),
                    LinkKind::Nvlink3 => (12, 36),
                    LinkKind::Nvlink4 => (18, 64),
                    LinkKind::Nvlink5 => (18, 72),
                    LinkKind::XgmiMi300 | LinkKind::XgmiMi350 => (7, 0),
                    other => panic!("{} in {}", other.name(), machine.name()),
                };
                for end in [link.a, link.b] {
                    let device = &machine.devices()[end];
                    let limit = match (machine.name(), device.name.as_str(), device.kind) {
                        ("cubemesh-16", "GPU9" | "GPU15", _) => 7,
                        (_, _, DeviceKind::NvSwitch) => for_switch,
                        _ => for_gpu,
                    };
                    let links = fabric_links(&machine, end);
                    assert!(links <= limit, "{} of {}: {links}", device.name, machine.name());
                }
            }
        }
    }

    #[test]
    fn real_machines_use_every_nvlink_of_their_gpus() {
        let used = [4, 6, 6, 12, 18, 18, 18, 18, 18, 18, 7, 7, 7, 0, 0, 0, 0, 6];
        for (machine, links) in all().zip(used) {
            for gpu in machine.gpus() {
                assert_eq!(fabric_links(&machine, *gpu), links, "{}", machine.name());
            }
        }
    }

    #[test]
    fn every_device_reaches_every_other() {
        for machine in all() {
            let adjacency = machine.adjacency();
            let mut reached = vec![false; machine.devices().len()];
            let mut pending = vec![0];
            while let Some(device) = pending.pop() {
                if std::mem::replace(&mut reached[device], true) {
                    continue;
                }
                let links = adjacency[device].iter().map(|index| &machine.links()[*index]);
                pending.extend(links.map(|link| link.other_end(device)));
            }
            assert!(reached.into_iter().all(|reached| reached), "{}", machine.name());
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = preset("dgx9").unwrap_err().to_string();
        assert!(error.contains("`dgx9`") && error.contains("dgx1-p100, dgx1-v100"), "{error}");
    }
}
