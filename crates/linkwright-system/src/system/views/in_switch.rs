//! Which switches reduce and multicast for some GPUs (NVLink SHARP).
//!
//! The model has a GPU address memory that is bound together on all of a group's GPUs. The switches
//! read all of it and reduce, or write to all of it. That takes NVSwitches that can
//! ([`LinkKind::reached_in_switch`]). Every GPU of the group needs links to them. The model leaves
//! out how many groups and how much bound memory a switch holds.

use thiserror::Error;

use super::wiring::{WiredId, Wiring};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::system::kinds::{DeviceKind, LinkKind};

/// Why no switch reduces for some GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum NoReducingSwitch {
    /// The reduction has one GPU's data only.
    Alone,
    /// The GPUs are on several servers.
    Servers {
        /// Names one GPU.
        first: usize,
        /// Names one on another server.
        second: usize,
    },
    /// The GPU has no link to a switch.
    NoSwitch(usize),
    /// Switches that only forward.
    Forwards {
        /// Names the GPU.
        gpu: usize,
        /// Names the kind of its links.
        kind: &'static str,
    },
    /// The GPUs have different switches.
    Apart {
        /// Names one GPU.
        first: usize,
        /// Names one with other switches.
        second: usize,
    },
}

impl Diagnose for NoReducingSwitch {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Alone => Diagnosis::of("a switch cannot reduce for one GPU alone"),
            Self::Servers { first, second } => Diagnosis::of(format!(
                "GPUs {first} and {second} are on different servers, but a switch reduces only \
                 within one server"
            )),
            Self::NoSwitch(gpu) => {
                Diagnosis::of(format!("no NVSwitch joins GPU {gpu} to the others"))
            }
            Self::Forwards { gpu, kind } => {
                Diagnosis::of(format!("the switches behind GPU {gpu}'s {kind} only forward data"))
                    .remedy("use GPUs with nvlink4 (Hopper) or later")
            }
            Self::Apart { first, second } => Diagnosis::of(format!(
                "GPUs {first} and {second} do not share all of their NVSwitches"
            )),
        }
    }
}

/// Describes one GPU's links to one of the switches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwitchWire {
    /// Gives the index in [`Wiring::wires`].
    pub wire: usize,
    /// Names the switch.
    pub switch: WiredId,
    /// Gives the links' kind.
    pub kind: LinkKind,
}

/// Gives the links of each of these GPUs to the switches that reduce and multicast for all of them.
/// The GPUs are named by their ids in the system.
///
/// # Errors
/// [`NoReducingSwitch`] where none does.
pub fn reducing_switches(
    wiring: &Wiring,
    gpus: &[usize],
) -> Result<Vec<Vec<SwitchWire>>, NoReducingSwitch> {
    let [first, others @ ..] = gpus else { return Err(NoReducingSwitch::Alone) };
    let first = *first;
    if others.is_empty() {
        return Err(NoReducingSwitch::Alone);
    }
    let home = wiring.server_of(first);
    if let Some(second) = others.iter().copied().find(|gpu| wiring.server_of(*gpu) != home) {
        return Err(NoReducingSwitch::Servers { first, second });
    }
    let found: Vec<Vec<SwitchWire>> =
        gpus.iter().map(|gpu| switch_wires(wiring, *gpu)).collect::<Result<_, _>>()?;
    let switches = |wires: &[SwitchWire]| {
        let mut switches: Vec<WiredId> = wires.iter().map(|wire| wire.switch).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    };
    let shared = switches(&found[0]);
    let other = gpus.iter().zip(&found).find(|(_, wires)| switches(wires) != shared);
    match other {
        Some((second, _)) => Err(NoReducingSwitch::Apart { first, second: *second }),
        None => Ok(found),
    }
}

fn switch_wires(wiring: &Wiring, gpu: usize) -> Result<Vec<SwitchWire>, NoReducingSwitch> {
    let own = wiring.gpu(gpu);
    let links = wiring.adjacency()[own].iter().filter_map(|at| {
        let wire = &wiring.wires()[*at];
        let switch = wire.other_end(own);
        let kind = wire.kind.filter(|kind| kind.is_gpu_fabric())?;
        let is_switch = wiring.devices()[switch].kind == DeviceKind::NvSwitch;
        is_switch.then_some(SwitchWire { wire: *at, switch, kind })
    });
    let links: Vec<SwitchWire> = links.collect();
    if links.is_empty() {
        return Err(NoReducingSwitch::NoSwitch(gpu));
    }
    match links.iter().find(|link| link.kind.reached_in_switch().is_none()) {
        Some(link) => Err(NoReducingSwitch::Forwards { gpu, kind: link.kind.name() }),
        None => Ok(links),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::NAMES;
    use crate::system::test_support::{alone, on_one_switch};

    fn found(name: &str, gpus: &[usize]) -> Result<usize, String> {
        let system = alone(name);
        let wiring = Wiring::of_gpus(&system, gpus);
        let wires = reducing_switches(&wiring, gpus).map_err(|error| error.to_string())?;
        assert!(wires.iter().all(|of_gpu| of_gpu.len() == wires[0].len()));
        Ok(wires[0].len())
    }

    #[test]
    fn servers_from_hopper_on_reduce_in_their_switches() {
        assert_eq!(found("hgx-h100", &[0, 1, 2, 3, 4, 5, 6, 7]), Ok(4));
        assert_eq!(found("hgx-h100", &[6, 1]), Ok(4));
        assert_eq!(found("hgx-b200", &[0, 5, 7]), Ok(2));
        assert_eq!(found("gb200-nvl72", &(0..72).collect::<Vec<_>>()), Ok(18));
        let able = |name: &&&str| found(name, &[0, 1]).is_ok();
        let able: Vec<&str> = NAMES.iter().filter(able).copied().collect();
        let named = ["hgx-h100", "hgx-h200", "hgx-b200", "hgx-b300", "gb200-nvl72", "gb300-nvl72"];
        assert_eq!(able, named);
    }

    #[test]
    fn others_say_why_not() {
        let said = |name: &str, gpus: &[usize]| found(name, gpus).unwrap_err();
        assert!(
            said("dgx-a100", &[0, 3])
                .contains("the switches behind GPU 0's nvlink3 only forward data")
        );
        assert!(said("dgx2", &[4, 9]).contains("nvlink4 (Hopper) or later"));
        assert!(said("dgx1-v100", &[2, 3]).contains("no NVSwitch joins GPU 2"));
        assert!(said("hgx-h100", &[5]).contains("alone"));
        let system = on_one_switch("hgx-h100", 2, 400);
        let refused = reducing_switches(&Wiring::of_gpus(&system, &[7, 8]), &[7, 8]).unwrap_err();
        assert_eq!(refused, NoReducingSwitch::Servers { first: 7, second: 8 });
    }

    #[test]
    fn gpus_on_switches_of_their_own_share_none() {
        use crate::system::{ServerBuilder, System};
        let mut builder = ServerBuilder::new("halves", "the test");
        let cpu = builder.device("CPU0", DeviceKind::Cpu, None).unwrap();
        for half in 0..2 {
            let name = format!("NVSW{half}");
            let switch = builder.device(&name, DeviceKind::NvSwitch, None).unwrap();
            for gpu in 2 * half..2 * half + 2 {
                let gpu = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
                builder.data_sheet_link(gpu, switch, LinkKind::Nvlink4, 18).unwrap();
                builder.data_sheet_link(gpu, cpu, LinkKind::Pcie5, 1).unwrap();
            }
        }
        let system = System::of_server(std::sync::Arc::new(builder.build().unwrap()));
        let wiring = Wiring::of_system(&system);
        let found = |gpus: &[usize]| reducing_switches(&wiring, gpus);
        assert_eq!(found(&[0, 1]).unwrap().len(), 2);
        assert_eq!(found(&[1, 3]), Err(NoReducingSwitch::Apart { first: 1, second: 3 }));
    }
}
