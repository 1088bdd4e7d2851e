//! Finds PCIe links that are slower than their like, and mends them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::system::{Device, DeviceKind, Link, LinkKind, Server, System};
use crate::units::Bandwidth;

/// A PCIe link that is slower than its like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MendedLink {
    /// The device below it has this name.
    pub device: String,
    /// Is in GB/s in a direction, as described.
    pub was: f64,
    /// Is in GB/s of its like.
    pub like: f64,
}

/// Writes a sentence without its end.
impl fmt::Display for MendedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, was, like } = self;
        write!(
            f,
            "The PCIe link of {device} carries {was:.1} GB/s, and that of its like {like:.1} GB/s"
        )
    }
}

/// Gives the system with each PCIe link of a GPU or an interface as fast as the fastest of its
/// like. It lists the links that differ.
///
/// GPUs are like GPUs of the same model, and interfaces like interfaces of the same port speed.
#[must_use]
pub fn mended(system: &System) -> (System, Vec<MendedLink>) {
    let (mut whole, mut found) = (system.clone(), Vec::new());
    for (at, kind) in system.kinds().iter().enumerate() {
        let (rates, links) = slow_links(kind.server());
        if !rates.is_empty() {
            whole = whole.with_kind(at, |server| server.with_link_rates(&rates));
            found.extend(links);
        }
    }
    (whole, found)
}

/// The system where the PCIe links of some GPUs and interfaces carry a part of what they do, by these names on every server.
pub(super) fn narrowed(system: &System, narrow: &[(String, f64)]) -> System {
    let mut changed = system.clone();
    for (at, kind) in system.kinds().iter().enumerate() {
        let server = kind.server();
        let links = server.links().iter().enumerate().filter(|(_, link)| link.kind.is_pcie());
        let rates: Rates = links
            .filter_map(|(at, link)| {
                let device = device_below(server, link)?;
                let (_, part) = narrow.iter().find(|(name, _)| *name == device.name)?;
                let bandwidth = Bandwidth(((link.bandwidth.0 as f64 * part) as u64).max(1));
                Some((at, (link.kind, bandwidth)))
            })
            .collect();
        if !rates.is_empty() {
            changed = changed.with_kind(at, |server| server.with_link_rates(&rates));
        }
    }
    changed
}

type Rates = BTreeMap<usize, (LinkKind, Bandwidth)>;

fn slow_links(server: &Server) -> (Rates, Vec<MendedLink>) {
    let mut fastest: BTreeMap<(DeviceKind, String), &Link> = BTreeMap::new();
    let own: Vec<(usize, &Link, &Device)> = server
        .links()
        .iter()
        .enumerate()
        .filter(|(_, link)| link.kind.is_pcie())
        .filter_map(|(at, link)| Some((at, link, device_below(server, link)?)))
        .collect();
    for (_, link, device) in &own {
        let best = fastest.entry(like(device)).or_insert(link);
        if best.total_bandwidth() < link.total_bandwidth() {
            *best = link;
        }
    }
    let (mut rates, mut found) = (Rates::new(), Vec::new());
    for (at, link, device) in own {
        let best = fastest[&like(device)];
        if link.total_bandwidth() < best.total_bandwidth() {
            rates.insert(at, (best.kind, best.bandwidth));
            found.push(MendedLink {
                device: device.name.clone(),
                was: link.total_bandwidth().as_gigabytes_per_second(),
                like: best.total_bandwidth().as_gigabytes_per_second(),
            });
        }
    }
    (rates, found)
}

/// The GPU or the interface at the end of a link, where there is just one.
fn device_below<'a>(server: &'a Server, link: &Link) -> Option<&'a Device> {
    let is_end =
        |at: &usize| matches!(server.devices()[*at].kind, DeviceKind::Gpu | DeviceKind::Nic);
    let mut ends = [link.a, link.b].into_iter().filter(is_end);
    let end = ends.next().filter(|_| ends.next().is_none())?;
    Some(&server.devices()[end])
}

fn like(device: &Device) -> (DeviceKind, String) {
    let of = match device.kind {
        DeviceKind::Gpu => device.model.clone().unwrap_or_default(),
        _ => device.speed.map(|speed| speed.0.to_string()).unwrap_or_default(),
    };
    (device.kind, of)
}
