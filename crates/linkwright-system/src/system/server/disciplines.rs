//! Which disciplines a link can have, by its kind and by what it joins.
//!
//! Packets of one message take one way. Where several are parallel (planes of NVSwitches, bundles of
//! two kinds), only pipes use them all, so that packets are refused there.

use super::{Device, DeviceId, Link, ServerError};
use crate::system::kinds::{DeviceKind, Discipline};

/// The disciplines that a link can have; first the one that it has where nothing is said.
pub(super) fn of_link(devices: &[Device], link: &Link) -> &'static [Discipline] {
    // An NVLink to a processor is a way to its interfaces, which pull packets.
    if joins_cpu(devices, link) { &[Discipline::Packets] } else { link.kind.disciplines() }
}

/// The same, where the one that is asked for is among them.
pub(super) fn allowed(
    devices: &[Device],
    link: &Link,
) -> Result<&'static [Discipline], ServerError> {
    let allowed = of_link(devices, link);
    match link.discipline {
        Some(given) if !allowed.contains(&given) => Err(ServerError::Discipline {
            a: devices[link.a].name.clone(),
            b: devices[link.b].name.clone(),
            kind: link.kind.name(),
            given: given.name(),
            allowed: allowed.iter().map(|it| it.name()).collect::<Vec<_>>().join("` or `"),
        }),
        _ => Ok(allowed),
    }
}

fn joins_cpu(devices: &[Device], link: &Link) -> bool {
    [link.a, link.b].iter().any(|end| devices[*end].kind == DeviceKind::Cpu)
}

/// Refuses packets on links between GPUs, and to NVSwitches, beside parallel ones.
pub(super) fn check(devices: &[Device], links: &[Link]) -> Result<(), ServerError> {
    let between_gpus = |link: &Link| link.kind.is_gpu_fabric() && !joins_cpu(devices, link);
    let is_packets = |link: &Link| {
        between_gpus(link)
            && link.discipline.unwrap_or(of_link(devices, link)[0]) == Discipline::Packets
    };
    if !links.iter().any(is_packets) {
        return Ok(());
    }
    let mut of_device: Vec<Vec<usize>> = vec![Vec::new(); devices.len()];
    for (index, link) in links.iter().enumerate().filter(|(_, link)| between_gpus(link)) {
        of_device[link.a].push(index);
        of_device[link.b].push(index);
    }
    let is_switch = |id: DeviceId| devices[id].kind == DeviceKind::NvSwitch;
    for (index, link) in links.iter().enumerate().filter(|(_, link)| is_packets(link)) {
        for end in [link.a, link.b] {
            let far = link.other_end(end);
            let parallel = |other: &usize| {
                let other_far = links[*other].other_end(end);
                *other != index && (other_far == far || is_switch(far) && is_switch(other_far))
            };
            if is_switch(end) && is_switch(far) || of_device[end].iter().any(parallel) {
                let [a, b] = [link.a, link.b].map(|id| devices[id].name.clone());
                return Err(ServerError::ParallelPackets { a, b, link: index });
            }
            if is_switch(end) && of_device[end].iter().any(|other| !is_packets(&links[*other])) {
                let switch = devices[end].name.clone();
                return Err(ServerError::MixedDisciplines { switch, link: index });
            }
        }
    }
    Ok(())
}
