//! Where the GPUs of a machine sit, for whoever starts a job on them.

use crate::system::kinds::DeviceKind;
use crate::system::locality::{Affinity, Locality};
use crate::system::server::Server;
use crate::system::views::proximity::{Proximity, nic_proximity};

/// Describes the place of one GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuPlace<'a> {
    /// Names the GPU in the machine.
    pub name: &'a str,
    /// Holds the place by the machine's source.
    pub locality: &'a Locality,
    /// Its nearest network interfaces, in the machine's order; none where there are none.
    pub nics: Vec<&'a str>,
    /// How near they are.
    pub nic_proximity: Option<Proximity>,
}

/// Returns the place of each GPU, by its id.
#[must_use]
pub fn gpu_places(machine: &Server) -> Vec<GpuPlace<'_>> {
    let devices = machine.devices();
    let nics: Vec<&str> = devices
        .iter()
        .filter(|device| device.kind == DeviceKind::Nic)
        .map(|device| device.name.as_str())
        .collect();
    let place = |(gpu, row): (&usize, Vec<Proximity>)| {
        let nearest = row.iter().copied().min();
        let near = nics.iter().zip(&row).filter(|(_, proximity)| Some(**proximity) == nearest);
        GpuPlace {
            name: &devices[*gpu].name,
            locality: &devices[*gpu].locality,
            nics: near.map(|(name, _)| *name).collect(),
            nic_proximity: nearest,
        }
    };
    machine.gpus().iter().zip(nic_proximity(machine)).map(place).collect()
}

/// Tells each GPU's place from another's, in words: its PCI address, cores, NUMA nodes and nearest
/// NICs, by its id.
pub(in crate::system) fn places(machine: &Server) -> Vec<String> {
    let words = |place: &GpuPlace<'_>| {
        let locality = place.locality;
        let mut words: Vec<String> = Vec::new();
        words.extend(locality.pci_address.iter().map(|address| format!("pci {address}")));
        words.extend(locality.cpu_affinity.iter().map(|cores| format!("cpus {cores}")));
        words.extend(locality.numa_affinity.iter().map(|nodes| format!("numa {nodes}")));
        words.extend(place.nics.iter().map(|nic| format!("nic {nic}")));
        words.join("; ")
    };
    gpu_places(machine).iter().map(words).collect()
}

/// The CPU cores near any of these GPUs, ids below the machine's count; `None` where the
/// machine does not say so of all of them.
#[must_use]
pub fn cpuset(machine: &Server, gpus: &[usize]) -> Option<Affinity> {
    union(machine, gpus, |place| place.cpu_affinity.as_ref())
}

/// Returns the NUMA nodes near any of these GPUs, likewise.
#[must_use]
pub fn numa_nodes(machine: &Server, gpus: &[usize]) -> Option<Affinity> {
    union(machine, gpus, |place| place.numa_affinity.as_ref())
}

fn union(
    machine: &Server,
    gpus: &[usize],
    of: impl Fn(&Locality) -> Option<&Affinity>,
) -> Option<Affinity> {
    let of_gpu = |gpu: &usize| of(&machine.devices()[machine.gpus()[*gpu]].locality);
    let all: Option<Vec<&Affinity>> = gpus.iter().map(of_gpu).collect();
    Affinity::union(all?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::preset;
    use crate::system::toml_format;

    #[test]
    fn interfaces_are_those_that_are_nearest() {
        let machine = preset("dgx-a100").unwrap();
        let places = gpu_places(&machine);
        assert_eq!(places.len(), 8);
        for place in &places {
            assert!(!place.nics.is_empty(), "{}", place.name);
            assert!(place.nic_proximity.is_some_and(|near| near <= Proximity::Pxb));
        }
        assert_ne!(places[0].nics, places[7].nics);
    }

    #[test]
    fn cores_join_and_are_unknown_where_one_gpu_s_are() {
        let text = "name = \"m\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
            cpu_affinity = \"0-3\"\n[[device]]\nkind = \"gpu\"\nnames = [\"C\"]\n\
            cpu_affinity = \"4-7\"\n[[device]]\nkind = \"gpu\"\nnames = [\"D\"]\n";
        let machine = toml_format::read("m.toml", text).unwrap();
        let cores = |gpus: &[usize]| cpuset(&machine, gpus).map(|cores| cores.to_string());
        assert_eq!(cores(&[0, 1]).as_deref(), Some("0-3"));
        assert_eq!(cores(&[2, 0]).as_deref(), Some("0-7"));
        assert_eq!(cores(&[0, 3]), None);
        assert_eq!(numa_nodes(&machine, &[0]), None);
        assert!(gpu_places(&machine)[0].nics.is_empty());
    }
}
