//! Holds what topology files say of the make of a device, where the machine knows no more than its
//! name.

use crate::system::adapters::{self, MEGABIT};
use crate::system::export::host::Host;
use crate::system::gpus::Vendor;
use crate::system::kinds::LinkKind;
use crate::system::server::{Device, DeviceId};

/// Describes a processor as NCCL tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Processor {
    /// Names its architecture.
    pub(super) arch: &'static str,
    /// Gives its vendor by CPUID, its family and its model. Only x86 has these.
    pub(super) cpuid: Option<(&'static str, u16, u16)>,
}

const fn x86(vendor: &'static str, family: u16, model: u16) -> Processor {
    Processor { arch: "x86_64", cpuid: Some((vendor, family, model)) }
}

const fn other(arch: &'static str) -> Processor {
    Processor { arch, cpuid: None }
}

/// Lists families and models by product, as the processors' CPUID tells them.
const PROCESSORS: [(&str, Processor); 9] = [
    ("Xeon E5-2698 v4", x86("GenuineIntel", 6, 79)),
    ("Xeon Platinum 8168", x86("GenuineIntel", 6, 85)),
    ("Xeon Platinum 8480C", x86("GenuineIntel", 6, 143)),
    ("Xeon Gold 6430", x86("GenuineIntel", 6, 143)),
    ("Xeon (Sapphire Rapids)", x86("GenuineIntel", 6, 143)),
    ("Xeon Platinum 8570", x86("GenuineIntel", 6, 207)),
    ("EPYC 7742", x86("AuthenticAMD", 23, 49)),
    ("POWER9", other("ppc64")),
    ("Grace", other("arm64")),
];

/// Finds the processor of a CPU: by its product, else the first of those with its link between
/// sockets.
pub(super) fn processor(host: &Host, cpu: DeviceId) -> Option<Processor> {
    let named = host.device(cpu).model.as_deref();
    let known = PROCESSORS.iter().find(|(name, _)| Some(*name) == named);
    let by_link = || {
        let links = host.machine.links().iter().filter(|link| link.a == cpu || link.b == cpu);
        links.map(|link| link.kind).find_map(|kind| match kind {
            LinkKind::Qpi => Some(x86("GenuineIntel", 6, 79)),
            LinkKind::Upi => Some(x86("GenuineIntel", 6, 85)),
            LinkKind::InfinityFabric => Some(x86("AuthenticAMD", 23, 49)),
            LinkKind::Xbus => Some(other("ppc64")),
            LinkKind::NvlinkC2c => Some(other("arm64")),
            _ => None,
        })
    };
    known.map(|(_, processor)| *processor).or_else(by_link)
}

/// Names Mellanox by its PCI vendor id.
const MELLANOX: &str = "15b3";
/// Lists the PCI device ids of network interfaces by the first word of their product. The PCI ID
/// Repository has them.
const ADAPTERS: [(&str, &str); 4] = [
    ("ConnectX-4", "1013"),
    ("ConnectX-5", "1017"),
    ("ConnectX-6", "101b"),
    ("ConnectX-7", "1021"),
];
/// Gives a device's PCI vendor and device id: its own, else those of its product.
pub(super) fn pci_id(device: &Device) -> Option<(String, String)> {
    let own = &device.identity;
    if let (Some(vendor), Some(id)) = (&own.vendor_id, &own.device_id) {
        return Some((vendor.clone(), id.clone()));
    }
    if let Some(model) = device.gpu_model() {
        let id = model.pci_ids.first()?;
        return Some((format!("{:04x}", id.vendor), format!("{:04x}", id.device)));
    }
    let first = device.model.as_deref()?.split(' ').next();
    let known = ADAPTERS.iter().find(|(name, _)| Some(*name) == first);
    known.map(|(_, id)| (MELLANOX.to_owned(), (*id).to_owned()))
}

/// Gives the speed of a network interface's port in Mb/s, to the nearest, where it is known.
pub(super) fn port_speed(nic: &Device) -> Option<u64> {
    adapters::port_speed(nic).map(|speed| (speed.0 + MEGABIT / 2) / MEGABIT)
}

/// Holds what a `gpu` element says of the chip: NVIDIA's compute capability, or AMD's processor.
pub(super) enum Chip<'m> {
    /// Holds `sm`, which is 90 for compute capability 9.0. There is none where neither its model
    /// nor its links tell it.
    Nvidia(Option<u32>),
    /// Holds `gcn`, such as `gfx942`, and its number of compute units, which RCCL reads as `sm`.
    Amd(Option<(&'m str, u32)>),
}

/// Finds the chip of a GPU.
pub(super) fn chip<'m>(host: &Host<'m>, gpu: DeviceId) -> Chip<'m> {
    let model = host.device(gpu).gpu_model();
    if host.vendor(gpu) == Some(Vendor::Amd) {
        let processor = model.and_then(|model| Some((model.processors.first()?.as_str(), model)));
        return Chip::Amd(processor.map(|(processor, model)| {
            (processor, model.caches().map_or(0, |caches| caches.units))
        }));
    }
    let processor = model.and_then(|model| model.processors.first()?.strip_prefix("sm_"));
    let links = host.machine.links().iter().filter(|link| link.a == gpu || link.b == gpu);
    let by_link = || links.map(|link| link.kind).find_map(first_with);
    Chip::Nvidia(processor.and_then(|digits| digits.parse().ok()).or_else(by_link))
}

/// Gives the first compute capability with a generation of NVLink.
fn first_with(kind: LinkKind) -> Option<u32> {
    match kind {
        LinkKind::Nvlink1 => Some(60),
        LinkKind::Nvlink2 => Some(70),
        LinkKind::Nvlink3 => Some(80),
        LinkKind::Nvlink4 => Some(90),
        LinkKind::Nvlink5 => Some(100),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::kinds::DeviceKind;

    #[test]
    fn a_product_tells_its_ids_and_its_speed_in_megabits() {
        let nic = |model| Device::new("mlx5_0", DeviceKind::Nic, Some(model));
        let id = |model| pci_id(&nic(model)).map(|(_, id)| id);
        assert_eq!(id("ConnectX-7 NDR").as_deref(), Some("1021"));
        assert_eq!(id("a card"), None);
        assert_eq!(port_speed(&nic("ConnectX-4 EDR")), Some(100_000));
        assert_eq!(port_speed(&nic("a card")), None);
    }
}
