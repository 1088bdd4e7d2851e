//! Gives every device of a file its PCI address: its own, or one made up.

use std::collections::{BTreeMap, BTreeSet};

use crate::system::export::host::Host;
use crate::system::import::nccl_xml::is_bus_id;
use crate::system::server::DeviceId;

/// Gives addresses, each once.
pub(super) struct Addresses {
    /// Names the first device of each address that a host has.
    own: BTreeMap<(usize, String), DeviceId>,
    /// Numbers the hosts of CPUs, where there are several.
    hosts: BTreeMap<DeviceId, usize>,
    taken: BTreeSet<String>,
    next: u32,
    /// Lists the devices whose address is made up.
    made_up: Vec<DeviceId>,
}

impl Addresses {
    /// Starts with none given, and keeps for devices the addresses that they have.
    pub(super) fn new(host: &Host, hosts: &BTreeMap<DeviceId, usize>) -> Self {
        let mut addresses = Self {
            own: BTreeMap::new(),
            hosts: hosts.clone(),
            taken: BTreeSet::new(),
            next: 1,
            made_up: Vec::new(),
        };
        for (id, device) in host.machine.devices().iter().enumerate() {
            if let Some(address) = device.locality.pci_address.as_deref().and_then(full) {
                addresses.taken.insert(address.clone());
                let key = (addresses.host_of(host, id), address);
                addresses.own.entry(key).or_insert(id);
            }
        }
        addresses
    }

    fn host_of(&self, host: &Host, device: DeviceId) -> usize {
        host.cpu(device).and_then(|cpu| self.hosts.get(&cpu)).copied().unwrap_or_default()
    }

    /// Gives the address of a device: its own, where no earlier device has the same.
    pub(super) fn of(&mut self, host: &Host, device: DeviceId) -> String {
        let known = host.device(device).locality.pci_address.as_deref().and_then(full);
        let known = known.map(|address| (self.host_of(host, device), address));
        let own = known.filter(|known| self.own.get(known) == Some(&device));
        own.map(|(_, address)| address).unwrap_or_else(|| {
            self.made_up.push(device);
            self.free()
        })
    }

    /// Gives an address that no device has.
    pub(super) fn free(&mut self) -> String {
        loop {
            let (domain, bus) = (self.next >> 8, self.next & 0xff);
            self.next += 1;
            let address = format!("{domain:04x}:{bus:02x}:00.0");
            if self.taken.insert(address.clone()) {
                return address;
            }
        }
    }

    /// Says in a sentence which addresses are made up.
    pub(super) fn note(&self, host: &Host) -> Option<String> {
        let name = |id: &DeviceId| host.device(*id).name.as_str();
        let (first, last) = (self.made_up.first()?, self.made_up.last()?);
        let whose = match self.made_up.len() {
            1 => format!("address of {} is", name(first)),
            count => {
                format!("addresses of {count} devices ({} to {}) are", name(first), name(last))
            }
        };
        Some(format!(
            "The PCI {whose} made up, since the machine has none. NCCL finds GPUs and network \
             interfaces by them: put in the server's own before you use the file."
        ))
    }
}

/// Gives an address with its domain, in lower case. There is none where it cannot be one of the
/// file.
fn full(address: &str) -> Option<String> {
    let lower = address.to_ascii_lowercase();
    let whole = if lower.matches(':').count() == 1 { format!("0000:{lower}") } else { lower };
    is_bus_id(&whole).then_some(whole)
}
