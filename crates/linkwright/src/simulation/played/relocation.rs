//! A plan on GPUs that are joined as those that it was made for.

use std::sync::Arc;

use crate::collectives::schedule::Schedule;
use crate::system::System;
use crate::system::composition::SystemDevice;

/// A server of a job, as its class sees it.
#[derive(Debug, Clone)]
pub(super) struct ServerOfClass {
    pub(super) server: u32,
    /// Lists its devices, without the GPUs of others, in the order of the class.
    pub(super) devices: Arc<[usize]>,
}

impl ServerOfClass {
    /// Which of its devices plays the part that a device plays in another of its class.
    pub(super) fn counterpart(&self, other: &Self, device: usize) -> Option<usize> {
        let place = other.devices.iter().position(|known| *known == device)?;
        Some(self.devices[place])
    }
}

/// Returns the same schedule on other GPUs, which are joined alike. Each of their servers plays the
/// part of one server of the schedule. It returns None where the schedule names a device that none
/// of these has.
pub(super) fn relocated(
    schedule: &Schedule,
    (system, gpus): (&System, &[usize]),
    from: &[ServerOfClass],
    to: &[ServerOfClass],
) -> Option<Schedule> {
    if schedule.gpus == gpus {
        return Some(schedule.clone());
    }
    let place = |gpu: usize| schedule.gpus.iter().position(|known| *known == gpu);
    let mut moved = Schedule { gpus: gpus.to_vec(), ..schedule.clone() };
    for relay in moved.channels.iter_mut().flat_map(|channel| &mut channel.relays) {
        relay.through = gpus[place(relay.through)?];
    }
    let interface = |rank: usize, at: u8| -> Option<u8> {
        let server = system.gpu(schedule.gpus[rank] as u32).server;
        let part = from.iter().position(|part| part.server == server)?;
        let nic = system.kind_of(server).nics()[usize::from(at)];
        let counterpart = to[part].counterpart(&from[part], nic)?;
        let nics = system.kind_of(to[part].server).nics();
        u8::try_from(nics.iter().position(|nic| *nic == counterpart)?).ok()
    };
    for crossing in moved.channels.iter_mut().flat_map(|channel| &mut channel.crossings) {
        crossing.through = match crossing.through {
            Some(gpu) => Some(gpus[place(gpu)?]),
            None => None,
        };
        crossing.leaves = interface(crossing.from, crossing.leaves)?;
        crossing.arrives = interface(crossing.to, crossing.arrives)?;
    }
    let paths = moved.routes.iter_mut().flat_map(|route| &mut route.paths);
    for device in paths.flat_map(|path| &mut path.devices) {
        if let SystemDevice::OfServer(at) = system.device(*device) {
            let part = from.iter().position(|part| part.server == at.server)?;
            let counterpart = to[part].counterpart(&from[part], at.index as usize)?;
            *device = system.device_at(to[part].server, counterpart);
        }
    }
    Some(moved)
}
