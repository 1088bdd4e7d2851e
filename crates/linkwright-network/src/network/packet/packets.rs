//! The packets under way, in a store that uses its places again.

use std::ops::{Index, IndexMut};

use crate::network::routing::PacketRoute;
use crate::network::transport::MessageIndex;
use crate::system::fabric::{ChannelId, SwitchId};

/// Gives the place of a packet in the store.
pub(super) type PacketIndex = u32;

/// Stands for no packet.
pub(super) const NO_PACKET: PacketIndex = PacketIndex::MAX;

/// No switch: the packet is on its last channel.
pub(super) const TO_NODE: SwitchId = SwitchId::MAX;

/// No switch: the packet is on its way to a device of a server, from which its path leads on.
pub(super) const INSIDE: SwitchId = SwitchId::MAX - 1;

/// No channel: the packet waits in its source's own memory and fills no buffer.
pub(super) const AT_SOURCE: ChannelId = ChannelId::MAX - 1;

/// Holds one packet, in a cache line of its own.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Packet {
    /// Gives the index of its message.
    pub(super) message: MessageIndex,
    /// Gives the packet behind it in its queue, or in the list of free places.
    pub(super) next: PacketIndex,
    /// The last packet of the queue that this one is the first of.
    pub(super) tail: PacketIndex,
    /// The channel that it crosses or crossed last, whose buffer it fills; none in a free place.
    pub(super) channel: ChannelId,
    /// How many bytes it carries.
    pub(super) size: u32,
    /// The switch to which that channel leads; [`TO_NODE`] where it leads to its end, [`INSIDE`]
    /// where it leads to another device of a server.
    pub(super) to: SwitchId,
    /// When it was made, in picoseconds.
    pub(super) created: u64,
    /// When its last byte may leave the switch at the earliest, in picoseconds.
    pub(super) complete: u64,
    /// Where it goes.
    pub(super) route: PacketRoute,
    /// The port by which it enters that switch.
    pub(super) port: u16,
    /// Holds its message's priority.
    pub(super) priority: u8,
    /// Says whether it asks for its bytes and carries none of them.
    pub(super) request: bool,
}

/// Holds all packets under way.
#[derive(Debug, Clone)]
pub(super) struct Packets {
    places: Vec<Packet>,
    free: PacketIndex,
}

impl Packets {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: NO_PACKET }
    }

    pub(super) fn add(&mut self, packet: Packet) -> PacketIndex {
        if self.free == NO_PACKET {
            self.places.push(packet);
            return self.places.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.places[index as usize].next;
        self.places[index as usize] = packet;
        index
    }

    /// The packets that are under way.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.places.iter().filter(|packet| packet.channel != ChannelId::MAX)
    }

    pub(super) fn remove(&mut self, index: PacketIndex) {
        self.places[index as usize].next = self.free;
        self.places[index as usize].channel = ChannelId::MAX;
        self.free = index;
    }
}

impl Index<PacketIndex> for Packets {
    type Output = Packet;

    fn index(&self, index: PacketIndex) -> &Packet {
        &self.places[index as usize]
    }
}

impl IndexMut<PacketIndex> for Packets {
    fn index_mut(&mut self, index: PacketIndex) -> &mut Packet {
        &mut self.places[index as usize]
    }
}
