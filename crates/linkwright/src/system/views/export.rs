//! A machine for other programs: JSON to compute with and Graphviz to look at.

use serde::Serialize;

use crate::system::kinds::{Discipline, LinkKind};
use crate::system::server::{Device, Link, Server};
pub use crate::system::views::dot::to_dot;

/// The JSON form of a machine. Its keys name their units, because JSON has no types to.
#[derive(Serialize)]
struct JsonMachine<'a> {
    name: &'a str,
    source: &'a str,
    warnings: &'a [String],
    assumptions: &'a [String],
    devices: Vec<JsonDevice>,
    links: Vec<JsonLink<'a>>,
}

#[derive(Serialize)]
struct JsonDevice {
    #[serde(flatten)]
    device: Device,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
}

#[derive(Serialize)]
struct JsonLink<'a> {
    between: [&'a str; 2],
    kind: LinkKind,
    count: u32,
    bandwidth_bytes_per_second: u64,
    latency_picoseconds: u64,
    discipline: Discipline,
}

/// The machine as JSON: its devices, and its links by the names of the devices they join.
///
/// `bandwidth_bytes_per_second` is that of one link of the `count` in a bundle, in one
/// direction; `latency_picoseconds` is one-way. A GPU's `memory_bytes` are those of its model, and
/// so is its `vendor_id` where the machine does not say it; what is not known is left out.
///
/// # Panics
/// Never: a machine holds nothing that JSON cannot.
#[must_use]
pub fn to_json(machine: &Server) -> String {
    let link = |link: &'_ Link| JsonLink {
        between: [link.a, link.b].map(|end| machine.devices()[end].name.as_str()),
        kind: link.kind,
        count: link.count,
        bandwidth_bytes_per_second: link.bandwidth.0,
        latency_picoseconds: link.latency.0,
        discipline: machine.discipline(link),
    };
    let device = |device: &'_ Device| {
        let mut shown = device.clone();
        shown.identity.vendor_id = device.vendor_id().map(str::to_owned);
        JsonDevice { device: shown, memory_bytes: device.memory().map(|size| size.0) }
    };
    let whole = JsonMachine {
        name: machine.name(),
        source: machine.source(),
        warnings: machine.warnings(),
        assumptions: machine.assumptions(),
        devices: machine.devices().iter().map(device).collect(),
        links: machine.links().iter().map(link).collect(),
    };
    serde_json::to_string_pretty(&whole).expect("strings, integers and lists are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::{NAMES, preset};

    #[test]
    fn json_names_devices_and_counts_bytes() {
        let machine = preset("dgx1-v100").unwrap();
        let json: serde_json::Value = serde_json::from_str(&to_json(&machine)).unwrap();
        assert_eq!(json["name"], "dgx1-v100");
        let gpu = serde_json::json!({
            "name": "GPU0",
            "kind": "gpu",
            "model": "V100-SXM2-16GB",
            "vendor_id": "10de",
            "memory_bytes": 16_u64 << 30,
        });
        assert_eq!(json["devices"][0], gpu);
        let link = serde_json::json!({
            "between": ["GPU0", "GPU3"],
            "kind": "nvlink2",
            "count": 2,
            "bandwidth_bytes_per_second": 25_000_000_000_u64,
            "latency_picoseconds": 500_000,
            "discipline": "pipe",
        });
        assert_eq!(json["links"][0], link);
    }

    #[test]
    fn json_holds_everything_of_every_preset() {
        for name in NAMES {
            let machine = preset(name).unwrap();
            let json: serde_json::Value = serde_json::from_str(&to_json(&machine)).unwrap();
            let length = |key: &str| json[key].as_array().unwrap().len();
            assert_eq!(length("devices"), machine.devices().len());
            assert_eq!(length("links"), machine.links().len());
            assert_eq!(length("assumptions"), machine.assumptions().len());
        }
    }
}
