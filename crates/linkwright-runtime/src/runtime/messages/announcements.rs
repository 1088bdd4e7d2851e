//! Large receives that are announced to their sender before it asks.
//!
//! Receives can be announced ([`Rendezvous::Receiver`](super::Rendezvous::Receiver)). Then a
//! receiver without wildcards takes the messages of one sender, tag and context in the order of
//! their sending. The network cannot change this. So message and receive are paired when the later
//! of them is called. This costs nothing, as both ends count alike: the `n`th of one is for the
//! `n`th of the other. An announcement then only has to travel.

use crate::runtime::slab::{NONE, Slab};

/// The announcement of a receive, until its message is found and the network is done with it.
#[derive(Debug, Clone, Copy)]
struct Announcement {
    /// The large message that waits for it.
    envelope: u32,
    /// Whether its sender has it.
    arrived: bool,
    /// Whether the receive has its message, large or small.
    matched: bool,
    /// Counts the occurrences that the network still owes for it.
    owed: u8,
}

/// The announcements of receives, and which messages wait for them.
#[derive(Debug)]
pub(super) struct Announcements(Slab<Announcement>);

impl Announcements {
    pub(super) const fn new() -> Self {
        Self(Slab::new())
    }

    /// One that is about to go to the network.
    pub(super) fn add(&mut self) -> u32 {
        self.0.insert(Announcement { envelope: NONE, arrived: false, matched: false, owed: 2 })
    }

    /// One that does not go after all.
    pub(super) fn withdraw(&mut self, index: u32) {
        self.0.release(index);
    }

    /// Its receive has a message, which waits for it if it is large; whether that goes now.
    pub(super) fn pair(&mut self, index: u32, envelope: u32, is_large: bool) -> bool {
        let announcement = &mut self.0[index];
        announcement.matched = true;
        let goes = is_large && announcement.arrived;
        if is_large && !goes {
            announcement.envelope = envelope;
        }
        self.release(index);
        goes
    }

    /// Its last byte has left.
    pub(super) fn sent(&mut self, index: u32) {
        self.0[index].owed -= 1;
        self.release(index);
    }

    /// It is at its sender: the message that waited for it, or [`NONE`].
    pub(super) fn arrived(&mut self, index: u32) -> u32 {
        let announcement = &mut self.0[index];
        announcement.arrived = true;
        announcement.owed -= 1;
        let envelope = announcement.envelope;
        self.release(index);
        envelope
    }

    fn release(&mut self, index: u32) {
        let announcement = &self.0[index];
        if announcement.matched && announcement.owed == 0 {
            self.0.release(index);
        }
    }

    /// All that are known.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.0.kept().count()
    }

    /// How many were known at once at most.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}
