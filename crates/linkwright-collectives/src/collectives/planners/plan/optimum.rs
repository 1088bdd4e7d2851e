//! Says which schedules a plan's optimum is the optimum of.

use super::{Plan, nvls};
use crate::collectives::planners::link_graph::{LinkClass, fabric_of};
use crate::collectives::schedule::collective::Collective;
use crate::system::{DeviceKind, SwitchWire, System, Wiring, reducing_switches};
use crate::units::Bandwidth;

impl Plan {
    /// Returns the most that schedules of this kind reach where switches reduce and copy beside
    /// them, in bytes of size per second. It is None where no switch does this for all of the GPUs,
    /// or where it is not known. `system` is the one that it was planned for.
    #[must_use]
    pub fn optimum_in_switch(&self, system: &System) -> Option<Bandwidth> {
        let gpus = &self.schedule.gpus;
        in_switch_rate(&Wiring::of_gpus(system, gpus), gpus, self.schedule.collective)
    }

    /// Names the schedules that cannot pass [`Plan::optimum`], in words that follow "the optimum
    /// of". It is None where no optimum is known. `system` is the one that it was planned for.
    #[must_use]
    pub fn optimum_of(&self, system: &System) -> Option<String> {
        self.optimum?;
        let wiring = &Wiring::of_gpus(system, &self.schedule.gpus);
        let collective = self.schedule.collective;
        let shape = match collective {
            Collective::Gather { .. } | Collective::Scatter { .. } | Collective::AllToAll => {
                "paths"
            }
            _ => "trees",
        };
        let fabric = fabric_of(wiring);
        let links = match (self.links, fabric) {
            (LinkClass::Fabric, fabric) => fabric.unwrap_or("NVLink").to_owned(),
            (LinkClass::Host, _) => "PCIe".to_owned(),
            (LinkClass::Network, Some(fabric)) => format!("{fabric} and the network"),
            (LinkClass::Network, None) => "PCIe and the network".to_owned(),
        };
        let has_switches =
            wiring.devices().iter().any(|device| device.kind == DeviceKind::NvSwitch);
        let switches_could = self.links != LinkClass::Host && has_switches && collective.reduces();
        let in_switch = if self.algorithm == nvls::NAME {
            ", with in-switch reduction"
        } else if switches_could {
            ", without in-switch reduction"
        } else {
            ""
        };
        Some(format!("{shape} over {links}{in_switch}"))
    }
}

/// Returns the most that a collective reaches with reductions and copies in the switch, in bytes of
/// size per second. The GPUs' links all lead to the same switches.
///
/// An operation of the switch addresses the memory of k ranks, the one that asks included. A
/// reduction makes one value of k and takes k links to the switch and one from it. A message does
/// so for two values, and takes one of each. So k - 1 values less need k + 1 transfers in the
/// switch and 2 (k - 1) as messages. The cost is least when all n are reduced at once, where that
/// is less at all. A copy is the same the other way round. An all-reduce has to make one value of
/// n, and n of one. Links of B in each direction are 2 n B in all. On these, it cannot pass n B /
/// min(n + 1, 2 (n - 1)).
///
/// Another collective that reduces or copies is bound by the data that a GPU alone must send or
/// take, which trees reach without the switch. It is None where GPUs have links of different
/// widths, or to each other.
pub(super) fn in_switch_rate(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
) -> Option<Bandwidth> {
    let switches = reducing_switches(wiring, gpus).ok()?;
    let width = |wires: &Vec<SwitchWire>| -> u64 {
        wires.iter().map(|wire| wiring.wires()[wire.wire].bandwidth.0).sum()
    };
    let link = width(&switches[0]);
    let is_alike = |(gpu, wires): (&usize, &Vec<SwitchWire>)| {
        let links = wiring.adjacency()[wiring.gpu(*gpu)].iter();
        let to_gpus = links.filter(|at| wiring.wires()[**at].is_gpu_fabric()).count();
        width(wires) == link && to_gpus == wires.len()
    };
    if !gpus.iter().zip(&switches).all(is_alike) {
        return None;
    }
    let ranks = gpus.len() as f64;
    let part = match collective {
        Collective::AllReduce => ranks / (ranks + 1.0).min(2.0 * (ranks - 1.0)),
        Collective::AllGather | Collective::ReduceScatter => ranks / (ranks - 1.0),
        Collective::Broadcast { .. } | Collective::Reduce { .. } => 1.0,
        _ => return None,
    };
    Some(Bandwidth((link as f64 * part).round() as u64))
}
