//! Writes machines in their own format.

use std::fmt::Write as _;

use super::calibration;
use crate::system::packet_format::LinkFlits;
use crate::system::server::{Device, DeviceId, Link, Server};

/// Writes a machine in the format that [`read`](super::read) reads; reading it back gives an equal machine.
#[must_use]
pub fn write(machine: &Server) -> String {
    let mut text = String::new();
    let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let name = |id: DeviceId| quote(&machine.devices()[id].name);
    let _ = writeln!(text, "name = {}", quote(machine.name()));
    let _ = writeln!(text, "source = {}", quote(machine.source()));
    let remarks = [("warnings", machine.warnings()), ("assumptions", machine.assumptions())];
    for (key, remarks) in remarks.into_iter().filter(|(_, remarks)| !remarks.is_empty()) {
        let all: Vec<String> = remarks.iter().map(|remark| quote(remark)).collect();
        let _ = writeln!(text, "{key} = [\n  {},\n]", all.join(",\n  "));
    }
    if let Some(calibration) = machine.calibration() {
        calibration::write(&mut text, calibration);
    }
    // All that one group says of each of its devices.
    let shared = |device: &Device| {
        let mut shared = Device { name: String::new(), ..device.clone() };
        let address = shared.locality.pci_address.take();
        (shared, address.is_some())
    };
    let alike = |a: &DeviceId, b: &DeviceId| {
        shared(&machine.devices()[*a]) == shared(&machine.devices()[*b])
    };
    let ids: Vec<DeviceId> = (0..machine.devices().len()).collect();
    for group in ids.chunk_by(alike) {
        let first = &machine.devices()[group[0]];
        let Device { kind, model, identity, locality, host_memory, speed, .. } = first;
        let _ = writeln!(text, "\n[[device]]\nkind = \"{}\"", kind.name());
        let mut key = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(text, "{name} = {value}");
            }
        };
        let list = |all: Vec<String>| format!("[{}]", all.join(", "));
        let quoted = |text: &Option<String>| text.as_deref().map(quote);
        key("model", quoted(model));
        key("names", Some(list(group.iter().map(|id| name(*id)).collect())));
        key("vendor_id", quoted(&identity.vendor_id));
        key("device_id", quoted(&identity.device_id));
        key("subsystem_id", identity.subsystem_id.map(|id| format!("\"{id}\"")));
        key("cpu_affinity", locality.cpu_affinity.as_ref().map(|cores| format!("\"{cores}\"")));
        key("numa_affinity", locality.numa_affinity.as_ref().map(|nodes| format!("\"{nodes}\"")));
        let of = |id: &DeviceId| quoted(&machine.devices()[*id].locality.pci_address);
        let addresses: Vec<String> = group.iter().filter_map(of).collect();
        key("pci_addresses", Some(list(addresses)).filter(|_| locality.pci_address.is_some()));
        key("memory", host_memory.map(|size| format!("\"{size}\"")));
        let bandwidth = first.host_memory_bandwidth;
        key("memory_bandwidth", bandwidth.map(|rate| format!("\"{rate}\"")));
        key("speed", speed.map(|speed| format!("\"{speed}\"")));
    }
    let values = |link: &Link| {
        let carried = (link.bandwidth, link.latency, link.discipline, link.flits, link.measured);
        (link.kind, link.count, carried)
    };
    for group in machine.links().chunk_by(|a, b| values(a) == values(b)) {
        let (kind, count, (bandwidth, latency, discipline, flits, measured)) = values(&group[0]);
        let _ = writeln!(text, "\n[[link]]\nkind = \"{}\"\ncount = {count}", kind.name());
        let _ = writeln!(text, "bandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"");
        if let Some(discipline) = discipline {
            let _ = writeln!(text, "discipline = \"{}\"", discipline.name());
        }
        if let Some(LinkFlits { bytes, encoding, cycle, switch }) = flits {
            let of = format!("bytes = \"{bytes}\", encoding = {encoding}, cycle = \"{cycle}\"");
            let _ = writeln!(text, "flits = {{ {of}, switch = \"{switch}\" }}");
        }
        if let Some(measured) = measured {
            let _ = writeln!(text, "measured = \"{measured}\"");
        }
        let pairs: Vec<String> =
            group.iter().map(|link| format!("[{}, {}]", name(link.a), name(link.b))).collect();
        let _ = writeln!(text, "between = [\n  {},\n]", pairs.join(",\n  "));
    }
    text
}
