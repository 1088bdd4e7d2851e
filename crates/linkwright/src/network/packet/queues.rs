//! The packets that wait at a switch: for each channel one queue for each virtual channel and
//! each input port, so that none waits behind another that waits for something else.

use super::arbitration::{Candidate, Candidates, Slot};
use super::packets::{NO_PACKET, PacketIndex, Packets};

/// A queue of packets, linked through the packets themselves.
#[derive(Debug, Clone, Copy)]
struct Queue {
    head: PacketIndex,
    tail: PacketIndex,
}

const EMPTY: Queue = Queue { head: NO_PACKET, tail: NO_PACKET };

/// The queues of one channel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bank {
    /// The first of its queues, which are numbered by virtual channel, then by input port.
    first: u32,
    /// Its first word of marks.
    word: u32,
    /// How many queues it has.
    slots: u32,
    /// How many input ports.
    ports: u32,
}

/// All queues of all channels, each with a mark that says whether a packet waits in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    marks: Vec<u64>,
}

impl Queues {
    /// Adds the queues of a channel that leaves a switch of so many ports.
    pub(super) fn add(&mut self, ports: u32, virtual_channels: u8) -> Bank {
        let slots = ports * u32::from(virtual_channels);
        let (first, word) = (self.queues.len() as u32, self.marks.len() as u32);
        self.queues.resize(self.queues.len() + slots as usize, EMPTY);
        self.marks.resize(self.marks.len() + slots.div_ceil(64) as usize, 0);
        Bank { first, word, slots, ports }
    }

    /// Puts a packet at the end of a queue.
    pub(super) fn push(
        &mut self,
        bank: Bank,
        slot: Slot,
        packet: PacketIndex,
        packets: &mut Packets,
    ) {
        packets[packet].next = NO_PACKET;
        let queue = &mut self.queues[(bank.first + slot) as usize];
        if queue.head == NO_PACKET {
            *queue = Queue { head: packet, tail: packet };
            self.marks[(bank.word + slot / 64) as usize] |= 1 << (slot % 64);
        } else {
            packets[queue.tail].next = packet;
            queue.tail = packet;
        }
    }

    /// Takes the first packet of a queue that is not empty.
    pub(super) fn pop(&mut self, bank: Bank, slot: Slot, packets: &Packets) -> PacketIndex {
        let queue = &mut self.queues[(bank.first + slot) as usize];
        let packet = queue.head;
        queue.head = packets[packet].next;
        if queue.head == NO_PACKET {
            self.marks[(bank.word + slot / 64) as usize] &= !(1 << (slot % 64));
        }
        packet
    }

    /// The first packet of a queue; [`NO_PACKET`] where it is empty.
    pub(super) fn head(&self, bank: Bank, slot: Slot) -> PacketIndex {
        self.queues[(bank.first + slot) as usize].head
    }

    /// The first queue with a packet, from a slot on.
    pub(super) fn first_from(&self, bank: Bank, slot: Slot) -> Option<Slot> {
        if slot >= bank.slots {
            return None;
        }
        let mut word = slot / 64;
        let mut marks = self.marks[(bank.word + word) as usize] >> (slot % 64) << (slot % 64);
        loop {
            if marks != 0 {
                return Some(word * 64 + marks.trailing_zeros());
            }
            word += 1;
            if word * 64 >= bank.slots {
                return None;
            }
            marks = self.marks[(bank.word + word) as usize];
        }
    }
}

impl Bank {
    /// The queue of a virtual channel and an input port.
    pub(super) fn slot(self, virtual_channel: u8, port: u32) -> Slot {
        u32::from(virtual_channel) * self.ports + port
    }

    /// The virtual channel of a queue.
    pub(super) fn virtual_channel(self, slot: Slot) -> u8 {
        (slot / self.ports) as u8
    }
}

/// A channel's queues whose first packet has a credit.
pub(super) struct Sendable<'a> {
    pub(super) queues: &'a Queues,
    pub(super) bank: Bank,
    pub(super) packets: &'a Packets,
    /// One bit for each virtual channel that has a credit.
    pub(super) credited: u32,
}

impl Candidates for Sendable<'_> {
    fn first_from(&self, slot: Slot) -> Option<Slot> {
        let mut slot = self.queues.first_from(self.bank, slot)?;
        loop {
            let virtual_channel = self.bank.virtual_channel(slot);
            if self.credited & (1 << virtual_channel) != 0 {
                return Some(slot);
            }
            slot = self.queues.first_from(self.bank, self.bank.slot(virtual_channel + 1, 0))?;
        }
    }

    fn candidate(&self, slot: Slot) -> Candidate {
        let packet = &self.packets[self.queues.head(self.bank, slot)];
        Candidate { slot, created: packet.created, priority: packet.priority }
    }
}
