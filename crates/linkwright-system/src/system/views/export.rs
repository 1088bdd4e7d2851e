//! Writes a system for other programs: JSON to compute with and Graphviz to look at.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::system::adapters::port_speed;
use crate::system::calibration::{LaunchProcesses, MeasuredLaunch, PeakShare, Residual};
use crate::system::composition::System;
use crate::system::kinds::{Discipline, LinkKind};
use crate::system::server::{Device, Link, Server};
pub use crate::system::views::dot::to_dot;
use crate::system::views::parts::{assumed, parts, said, sources};

/// The JSON form of a system. Its keys name their units, because JSON has no types to.
#[derive(Serialize)]
struct JsonMachine<'a> {
    name: &'a str,
    source: String,
    warnings: Vec<String>,
    assumptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calibrations: Vec<JsonCalibration<'a>>,
    devices: Vec<JsonDevice>,
    links: Vec<JsonLink<'a>>,
}

/// Holds the measured values of a kind of server.
#[derive(Serialize)]
struct JsonCalibration<'a> {
    server: &'a str,
    source: &'a str,
    reached: BTreeMap<&'static str, f64>,
    in_switch: BTreeMap<&'static str, f64>,
    launch_picoseconds: BTreeMap<&'static str, u64>,
    processes: Option<&'static str>,
    residuals: Vec<JsonResidual>,
}

#[derive(Serialize)]
struct JsonResidual {
    from_bytes: u64,
    rows: u32,
    median: f64,
    ninetieth: f64,
}

impl<'a> JsonCalibration<'a> {
    fn of(server: &'a Server) -> Option<Self> {
        let found = server.calibration()?;
        let shares = |kinds: &BTreeMap<LinkKind, PeakShare>| {
            kinds.iter().map(|(kind, share)| (kind.name(), share.value())).collect()
        };
        let MeasuredLaunch { alone, each, group, .. } = found.launch;
        let launch = [("alone", alone), ("each", each), ("group", group)];
        let launch = launch.into_iter().filter_map(|(name, time)| Some((name, time?.0)));
        let residual = |it: &Residual| JsonResidual {
            from_bytes: it.from.0,
            rows: it.rows,
            median: it.median.value(),
            ninetieth: it.ninetieth.value(),
        };
        Some(Self {
            server: server.name(),
            source: &found.source,
            reached: shares(&found.reached),
            in_switch: shares(&found.in_switch),
            launch_picoseconds: launch.collect(),
            processes: found.launch.processes.map(LaunchProcesses::name),
            residuals: found.residuals.iter().map(residual).collect(),
        })
    }
}

#[derive(Serialize)]
struct JsonDevice {
    #[serde(flatten)]
    device: Device,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_bytes_per_second: Option<u64>,
}

#[derive(Serialize)]
struct JsonLink<'a> {
    between: [&'a str; 2],
    kind: LinkKind,
    count: u32,
    bandwidth_bytes_per_second: u64,
    latency_picoseconds: u64,
    discipline: Option<Discipline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_bytes_per_second: Option<u64>,
}

/// The system as JSON: its devices, and its links by the names of the devices they join.
///
/// `bandwidth_bytes_per_second` is for one link of the `count` in a bundle, in one direction.
/// `latency_picoseconds` is one-way. `measured_bytes_per_second` is for the whole bundle, where it
/// was measured. A GPU's `memory_bytes` come from its model. Its `vendor_id` comes from its model
/// where the machine does not say it. The port of a network interface gets `speed_bytes_per_second`
/// in the same way. Unknown values are left out.
///
/// # Panics
/// Never: a system holds nothing that JSON cannot.
#[must_use]
pub fn to_json(system: &System) -> String {
    let (devices, links) = parts(system);
    let link = |link: &'_ Link| JsonLink {
        between: [link.a, link.b].map(|end| devices[end].name.as_str()),
        kind: link.kind,
        count: link.count,
        bandwidth_bytes_per_second: link.bandwidth.0,
        latency_picoseconds: link.latency.0,
        discipline: link.discipline,
        measured_bytes_per_second: link.measured.map(|rate| rate.0),
    };
    let device = |device: &'_ Device| {
        let mut shown = device.clone();
        shown.identity.vendor_id = device.vendor_id().map(str::to_owned);
        JsonDevice {
            device: shown,
            memory_bytes: device.memory().map(|size| size.0),
            speed_bytes_per_second: port_speed(device).map(|speed| speed.0),
        }
    };
    let calibrations = system.kinds().iter().filter_map(|kind| JsonCalibration::of(kind.server()));
    let whole = JsonMachine {
        calibrations: calibrations.collect(),
        name: system.name(),
        source: sources(system),
        warnings: said(system, Server::warnings),
        assumptions: assumed(system),
        devices: devices.iter().map(device).collect(),
        links: links.iter().map(link).collect(),
    };
    serde_json::to_string_pretty(&whole).expect("strings, integers and lists are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::{NAMES, preset};

    #[test]
    fn json_names_devices_and_counts_bytes() {
        let machine = System::of_server(preset("dgx1-v100").unwrap().into());
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
            let machine = std::sync::Arc::new(preset(name).unwrap());
            let system = System::of_server(std::sync::Arc::clone(&machine));
            let json: serde_json::Value = serde_json::from_str(&to_json(&system)).unwrap();
            let length = |key: &str| json[key].as_array().unwrap().len();
            assert_eq!(length("devices"), machine.devices().len());
            assert_eq!(length("links"), machine.links().len());
            assert_eq!(length("assumptions"), machine.assumptions().len());
        }
    }
}
