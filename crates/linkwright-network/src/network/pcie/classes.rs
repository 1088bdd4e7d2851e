//! Sorts packets on a host channel into traffic classes. It tells them apart by their GPU, and
//! requests from responses.

use crate::system::composition::{ServerPlace, System};
use crate::system::server::DeviceId;

/// How many virtual channels a link has.
pub const VIRTUAL_CHANNELS: u8 = 8;

/// How many types of packets there are.
const TYPES: u32 = 2;

/// Says whether a packet is a request or a response. Its value is the `ID_T` of its traffic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) enum PacketType {
    /// A write, or what asks for a read.
    Request = 0,
    /// Carries data that was read.
    Response = 1,
}

/// Returns the traffic class of a GPU's packets, by its index below its root, for responses or
/// requests.
#[must_use]
pub const fn traffic_class(gpu: u32, response: bool) -> u32 {
    TYPES * gpu + response as u32
}

/// Returns the virtual channel of a traffic class: the eighth wraps.
#[must_use]
pub const fn virtual_channel(traffic_class: u32) -> u8 {
    (traffic_class % VIRTUAL_CHANNELS as u32) as u8
}

/// Holds a GPU's root in its server, and its index below that.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    root: u32,
    index: u32,
}

/// The roots of all servers: each CPU is one, with the GPUs that it is nearest to.
#[derive(Debug, Clone)]
pub(in crate::network) struct Roots {
    /// For each kind of server, of each device that is a GPU.
    of_kind: Vec<Vec<Option<Below>>>,
    /// The most that a kind has.
    most: u32,
}

impl Roots {
    /// The roots of a system's servers, where a function names each GPU's nearest CPU.
    pub(in crate::network) fn new(
        system: &System,
        host: impl Fn(usize, DeviceId) -> Option<DeviceId>,
    ) -> Self {
        let mut most = 1;
        let of_kind = (0..).zip(system.kinds()).map(|(number, kind)| {
            let server = kind.server();
            let mut hosts: Vec<Option<DeviceId>> = Vec::new();
            let mut users: Vec<u32> = Vec::new();
            let mut below = vec![None; server.devices().len()];
            for gpu in server.gpus() {
                let own = host(number, *gpu);
                let root = hosts.iter().position(|it| *it == own).unwrap_or_else(|| {
                    hosts.push(own);
                    users.push(0);
                    hosts.len() - 1
                });
                below[*gpu] = Some(Below { root: root as u32, index: users[root] });
                users[root] += 1;
            }
            most = most.max(hosts.len() as u32);
            below
        });
        let of_kind = of_kind.collect();
        Self { of_kind, most }
    }

    /// The root of a GPU, among all, and the virtual channel of its packets of a type; of what is
    /// no GPU, those of none.
    pub(in crate::network) fn class(
        &self,
        system: &System,
        at: ServerPlace,
        packets: PacketType,
    ) -> Option<(u32, u8)> {
        let of_kind = &self.of_kind[system.kind_index_of(at.server)];
        let below = of_kind[at.index as usize]?;
        let class = traffic_class(below.index, packets == PacketType::Response);
        Some((at.server * self.most + below.root, virtual_channel(class)))
    }

    /// Returns the first root of a server.
    pub(in crate::network) fn first(&self, server: u32) -> u32 {
        server * self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_class_wraps() {
        let classes = [(0, false), (0, true), (3, true), (4, false), (7, true)];
        let channels = classes.map(|(gpu, response)| virtual_channel(traffic_class(gpu, response)));
        assert_eq!(channels, [0, 1, 7, 0, 7]);
    }
}
