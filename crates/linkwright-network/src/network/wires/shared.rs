//! Says which links of a system lead from GPUs to a memory that they share.

use std::collections::BTreeSet;

use super::WiresError;
use crate::system::composition::System;
use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Link, Server};
use crate::units::{Bandwidth, Picoseconds};

/// Says how GPUs reach a memory that they share: each by a link to one switch, and this by links to the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWays {
    /// Names each GPU, with the bandwidth of its link to the switch, each way.
    pub gpus: Vec<(String, Bandwidth)>,
    /// Names the switch.
    pub switch: String,
    /// All links from the switch to the memory together carry this, each way.
    pub memory: Bandwidth,
    /// A message takes this from a GPU to the memory, beside its bytes.
    pub latency: Picoseconds,
}

/// Gives the ways of GPUs, by their numbers, to a memory that they share; None where one of them has none.
///
/// # Errors
/// Refuses GPUs of several servers.
///
/// # Panics
/// If a GPU does not exist, or there is none.
pub fn shared_ways(system: &System, gpus: &[u32]) -> Result<Option<SharedWays>, WiresError> {
    let server = system.gpu(gpus[0]).server;
    let name = |gpu: u32| system.device_name(system.gpu_device(gpu));
    if let Some(far) = gpus.iter().find(|gpu| system.gpu(**gpu).server != server) {
        return Err(WiresError::Servers { a: name(gpus[0]), b: name(*far) });
    }
    let template = system.kind_of(server).server();
    let device = |gpu: &u32| template.gpus()[system.gpu(*gpu).index as usize];
    let mut switches: BTreeSet<DeviceId> = BTreeSet::new();
    let (mut ways, mut latest) = (Vec::new(), Picoseconds(0));
    for gpu in gpus {
        let links = links_to(template, device(gpu), DeviceKind::MemorySwitch);
        let Some((switch, _)) = links.first() else { return Ok(None) };
        switches.insert(*switch);
        ways.push((name(*gpu), joined(&links)));
        latest = latest.max(latency(&links));
    }
    let (Some(switch), 1) = (switches.first(), switches.len()) else { return Ok(None) };
    let links = links_to(template, *switch, DeviceKind::Memory);
    Ok((!links.is_empty()).then(|| SharedWays {
        gpus: ways,
        switch: system.device_name(system.device_at(server, *switch)),
        memory: joined(&links),
        latency: Picoseconds(latest.0 + latency(&links).0),
    }))
}

/// Lists the links of a device to others of a kind, with those.
fn links_to(server: &Server, from: DeviceId, kind: DeviceKind) -> Vec<(DeviceId, &Link)> {
    let its = server.links().iter().filter(|link| link.a == from || link.b == from);
    its.map(|link| (link.other_end(from), link))
        .filter(|(to, _)| server.devices()[*to].kind == kind)
        .collect()
}

fn joined(links: &[(DeviceId, &Link)]) -> Bandwidth {
    Bandwidth(links.iter().map(|(_, link)| link.total_bandwidth().0).sum())
}

fn latency(links: &[(DeviceId, &Link)]) -> Picoseconds {
    links.iter().map(|(_, link)| link.latency).max().unwrap_or_default()
}
