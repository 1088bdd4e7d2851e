//! Keeps the packets that wait at a switch. Each channel has one queue for each virtual channel and
//! each input port. So no packet waits behind another that waits for something else.

use std::ops::RangeInclusive;

use super::arbitration::{Candidate, Slot, WaitingQueues};
use super::packets::{NO_PACKET, Packet, PacketIndex, Packets};
use crate::network::outstanding::Outstanding;
use crate::network::transport::{MemoryClass, Message};
use crate::units::{Bytes, Picoseconds};

/// Words of marks in a bank.
const WORDS: usize = 4;

/// Holds the queues of one channel, numbered by virtual channel, then by input port.
///
/// A mark is set where a packet waits, so that neither an empty queue nor its neighbours have
/// to be looked at. A bank of more queues than marks shares each mark among as many as needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bank {
    marks: [u64; WORDS],
    /// The first of its queues; [`NOWHERE`] until a packet has waited.
    first: u32,
    /// How many queues it has.
    slots: u32,
    /// Counts the input ports.
    ports: u16,
    /// Says how many queues share a mark, as a power of two.
    shift: u8,
}

/// No queue has been made for a bank: most channels of a large network never have one.
const NOWHERE: u32 = u32::MAX;

/// The first packet of every queue of all channels where one has waited; it knows the last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Queues {
    heads: Vec<PacketIndex>,
}

impl Queues {
    /// Makes the queues of a bank.
    #[cold]
    fn make(&mut self, bank: &mut Bank) {
        bank.first = self.heads.len() as u32;
        self.heads.resize(self.heads.len() + bank.slots as usize, NO_PACKET);
    }

    /// Puts a packet at the end of a queue.
    pub(super) fn push(
        &mut self,
        bank: &mut Bank,
        slot: Slot,
        packet: PacketIndex,
        packets: &mut Packets,
    ) {
        if bank.first == NOWHERE {
            self.make(bank);
        }
        let at = (bank.first + slot) as usize;
        if self.is_empty(bank, slot) {
            self.heads[at] = packet;
            packets[packet].tail = packet;
            bank.mark(slot);
        } else {
            let head = self.heads[at];
            let tail = packets[head].tail;
            packets[tail].next = packet;
            packets[head].tail = packet;
        }
        packets[packet].next = NO_PACKET;
    }

    /// Takes the first packet of a queue that is not empty.
    pub(super) fn pop(
        &mut self,
        bank: &mut Bank,
        slot: Slot,
        packets: &mut Packets,
    ) -> PacketIndex {
        let at = (bank.first + slot) as usize;
        let packet = self.heads[at];
        let next = packets[packet].next;
        self.heads[at] = next;
        if next != NO_PACKET {
            packets[next].tail = packets[packet].tail;
        } else if bank.shift == 0 {
            bank.clear(slot);
        } else {
            let shared = slot >> bank.shift << bank.shift;
            let end = (shared + (1 << bank.shift)).min(bank.slots);
            if (shared..end).all(|other| self.head(bank, other) == NO_PACKET) {
                bank.clear(slot);
            }
        }
        packet
    }

    /// The first packet of a queue whose mark is set; [`NO_PACKET`] where it is empty.
    fn head(&self, bank: &Bank, slot: Slot) -> PacketIndex {
        self.heads[(bank.first + slot) as usize]
    }

    /// Whether no packet waits in a queue, which may not have been made.
    pub(super) fn waits_nowhere(&self, bank: &Bank, slot: Slot) -> bool {
        bank.first == NOWHERE || self.is_empty(bank, slot)
    }

    fn is_empty(&self, bank: &Bank, slot: Slot) -> bool {
        !bank.is_marked(slot) || bank.shift > 0 && self.head(bank, slot) == NO_PACKET
    }

    /// Finds the first queue with a packet, from a slot on.
    fn first_from(&self, bank: &Bank, slot: Slot) -> Option<Slot> {
        let mut slot = bank.first_marked(slot)?;
        while self.is_empty(bank, slot) {
            slot = bank.first_marked(slot + 1)?;
        }
        Some(slot)
    }

    /// The first packets of all queues of a channel, each with its virtual channel.
    pub(super) fn heads(&self, bank: &Bank) -> impl Iterator<Item = (u8, PacketIndex)> {
        self.waiting(bank).map(|(slot, head)| (bank.virtual_channel(slot), head))
    }

    /// Gives the queues of a channel in which packets wait, each with its first packet.
    pub(super) fn waiting(&self, bank: &Bank) -> impl Iterator<Item = (Slot, PacketIndex)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let slot = self.first_from(bank, from)?;
            from = slot + 1;
            Some((slot, self.head(bank, slot)))
        })
    }
}

impl Bank {
    /// Makes the queues of a channel that leaves a switch with the given number of ports.
    pub(super) fn new(ports: u16, virtual_channels: u8) -> Self {
        let slots = u32::from(ports) * u32::from(virtual_channels);
        let mut shift = 0;
        while slots.div_ceil(1 << shift) > 64 * WORDS as u32 {
            shift += 1;
        }
        Self { marks: [0; WORDS], first: NOWHERE, slots, ports, shift }
    }

    /// That of a channel whose packets do not wait: a queue is nowhere.
    pub(super) const NONE: Self =
        Self { marks: [0; WORDS], first: NOWHERE, slots: 0, ports: 0, shift: 0 };

    /// Says whether the channel has no queues, so that packets wait nowhere for it.
    pub(super) fn is_none(&self) -> bool {
        self.slots == 0
    }

    /// Gives the last input port. It is for packets from the device's own memory or, where a
    /// channel leaves an interface, for packets from the fabric.
    pub(super) fn own_port(&self) -> u16 {
        self.ports - 1
    }

    /// Gives the queue of a virtual channel and an input port.
    pub(super) fn slot(&self, virtual_channel: u8, port: u16) -> Slot {
        u32::from(virtual_channel) * u32::from(self.ports) + u32::from(port)
    }

    /// Gives the virtual channel of a queue.
    pub(super) fn virtual_channel(&self, slot: Slot) -> u8 {
        let ports = u32::from(self.ports);
        // One virtual channel is usual, and a division is slow.
        if slot < ports { 0 } else { (slot / ports) as u8 }
    }

    fn is_marked(&self, slot: Slot) -> bool {
        let mark = slot >> self.shift;
        self.marks[(mark / 64) as usize] & (1 << (mark % 64)) != 0
    }

    fn mark(&mut self, slot: Slot) {
        let mark = slot >> self.shift;
        self.marks[(mark / 64) as usize] |= 1 << (mark % 64);
    }

    fn clear(&mut self, slot: Slot) {
        let mark = slot >> self.shift;
        self.marks[(mark / 64) as usize] &= !(1 << (mark % 64));
    }

    /// The first slot from one on whose mark is set.
    fn first_marked(&self, slot: Slot) -> Option<Slot> {
        let mark = slot >> self.shift;
        let mut word = (mark / 64) as usize;
        let mut marks = self.marks.get(word)? >> (mark % 64) << (mark % 64);
        while marks == 0 {
            word += 1;
            marks = *self.marks.get(word)?;
        }
        let first = (word as u32 * 64 + marks.trailing_zeros()) << self.shift;
        Some(first.max(slot)).filter(|slot| *slot < self.slots)
    }
}

/// These virtual channels of servers carry lines of kernels, where there are any.
pub(super) const LINES: RangeInclusive<u8> =
    MemoryClass::Request.virtual_channel()..=MemoryClass::Answer.virtual_channel();

/// A channel's queues whose first packet has a credit.
pub(super) struct Sendable<'a, P> {
    pub(super) now: u64,
    pub(super) queues: &'a Queues,
    pub(super) bank: &'a Bank,
    pub(super) packets: &'a Packets,
    pub(super) outstanding: &'a Outstanding<P>,
    /// One bit for each virtual channel that has a credit.
    pub(super) credited: u32,
    /// Whether kernels have virtual channels of their own ([`LINES`]). Those of one port then take one turn, the
    /// oldest packet first, as they came.
    pub(super) has_kernels: bool,
}

impl<P> Sendable<'_, P> {
    fn head(&self, slot: Slot) -> &Packet {
        &self.packets[self.queues.head(self.bank, slot)]
    }

    fn has_credit(&self, virtual_channel: u8) -> bool {
        self.credited & (1 << virtual_channel) != 0
    }

    /// Whether another class of a kernel has an older packet from the same port that may go.
    fn is_behind_another(&self, slot: Slot, virtual_channel: u8) -> bool {
        if !self.has_kernels || !LINES.contains(&virtual_channel) {
            return false;
        }
        let port = slot - self.bank.slot(virtual_channel, 0);
        let own = self.head(slot).created;
        LINES.filter(|other| *other != virtual_channel && self.has_credit(*other)).any(|other| {
            let there = self.bank.slot(other, 0) + port;
            let since = || self.head(there).created;
            !self.queues.is_empty(self.bank, there) && (since(), other) < (own, virtual_channel)
        })
    }
}

impl<P> WaitingQueues for Sendable<'_, P> {
    fn now(&self) -> Picoseconds {
        Picoseconds(self.now)
    }

    fn first_from(&self, slot: Slot) -> Option<Slot> {
        let mut slot = self.queues.first_from(self.bank, slot)?;
        loop {
            let virtual_channel = self.bank.virtual_channel(slot);
            let from = if !self.has_credit(virtual_channel) {
                self.bank.slot(virtual_channel + 1, 0)
            } else if self.is_behind_another(slot, virtual_channel) {
                slot + 1
            } else {
                return Some(slot);
            };
            slot = self.queues.first_from(self.bank, from)?;
        }
    }

    fn candidate(&self, slot: Slot) -> Candidate {
        let Packet { created, priority, size, route, .. } = *self.head(slot);
        Candidate { slot, created, priority, size: Bytes(u64::from(size)), hops: route.hops }
    }

    fn message(&self, slot: Slot) -> Message {
        self.outstanding[self.head(slot).message].message
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::network::routing::PacketRoute;

    fn packet() -> Packet {
        Packet {
            message: 0,
            next: NO_PACKET,
            tail: NO_PACKET,
            channel: 0,
            size: 1,
            to: 0,
            created: 0,
            complete: 0,
            route: PacketRoute::new(0, 1),
            port: 0,
            priority: 0,
            request: false,
        }
    }

    proptest! {
        /// As many first-in-first-out queues, from a few to more than there are marks.
        #[test]
        fn a_bank_is_many_queues(
            ports in 1_u16..300,
            virtual_channels in 1_u8..5,
            steps in prop::collection::vec((any::<u32>(), any::<bool>(), any::<u32>()), 0..300),
        ) {
            let mut queues = Queues::default();
            let mut before = Bank::new(7, 1);
            let mut packets = Packets::new();
            let waiting = packets.add(packet());
            queues.push(&mut before, 3, waiting, &mut packets);
            let mut bank = Bank::new(ports, virtual_channels);
            let slots = u32::from(ports) * u32::from(virtual_channels);
            let mut expected = vec![VecDeque::new(); slots as usize];
            for (slot, push, from) in steps {
                let slot = slot % slots;
                if push {
                    let added = packets.add(packet());
                    queues.push(&mut bank, slot, added, &mut packets);
                    expected[slot as usize].push_back(added);
                } else if let Some(first) = expected[slot as usize].pop_front() {
                    prop_assert_eq!(queues.pop(&mut bank, slot, &mut packets), first);
                    packets.remove(first);
                }
                let from = from % (slots + 1);
                let first = (from..slots).find(|slot| !expected[*slot as usize].is_empty());
                prop_assert_eq!(queues.first_from(&bank, from), first);
            }
        }
    }
}
