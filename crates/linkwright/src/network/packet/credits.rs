//! Credit flow control: how many packets a sender may still put into the buffer behind a
//! channel.
//!
//! A credit is back in the sender's hands one link latency after a packet has left the buffer.
//! Credits under way are not events of their own: they are noted with the time of their
//! arrival, and counted when the sender next looks.

use crate::topology::interconnect::ChannelId;

/// The credits of one virtual channel.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// In the sender's hands.
    available: u16,
    /// On their way back.
    returning: u16,
    /// Where the first of those is in its ring.
    first: u16,
}

/// The credits of every virtual channel of every channel.
#[derive(Debug, Clone)]
pub(super) struct Credits {
    virtual_channels: u32,
    depth: u16,
    accounts: Vec<Account>,
    /// For each account a ring of as many times as its buffer holds packets, earliest first.
    arrivals: Vec<u64>,
}

impl Credits {
    pub(super) fn new(channels: usize, virtual_channels: u8, depth: u16) -> Self {
        let count = channels * usize::from(virtual_channels);
        let account = Account { available: depth, ..Account::default() };
        Self {
            virtual_channels: u32::from(virtual_channels),
            depth,
            accounts: vec![account; count],
            arrivals: vec![0; count * usize::from(depth)],
        }
    }

    fn index(&self, channel: ChannelId, virtual_channel: u8) -> usize {
        (channel * self.virtual_channels + u32::from(virtual_channel)) as usize
    }

    /// How many credits the sender has at a time.
    pub(super) fn available(&mut self, channel: ChannelId, virtual_channel: u8, now: u64) -> u16 {
        let index = self.index(channel, virtual_channel);
        let account = &mut self.accounts[index];
        let ring = &self.arrivals[index * usize::from(self.depth)..];
        while account.returning > 0 && ring[usize::from(account.first)] <= now {
            account.first = (account.first + 1) % self.depth;
            account.returning -= 1;
            account.available += 1;
        }
        account.available
    }

    /// Spends one of the credits that [`Credits::available`] counted.
    pub(super) fn spend(&mut self, channel: ChannelId, virtual_channel: u8) {
        let index = self.index(channel, virtual_channel);
        self.accounts[index].available -= 1;
    }

    /// Sends a credit back, to be there at a time.
    pub(super) fn give_back(&mut self, channel: ChannelId, virtual_channel: u8, arrival: u64) {
        let index = self.index(channel, virtual_channel);
        let account = &mut self.accounts[index];
        let depth = usize::from(self.depth);
        let ring = &mut self.arrivals[index * depth..(index + 1) * depth];
        // Packets leave by several channels: a later departure may end earlier.
        let at = |place: u16| (usize::from(account.first) + usize::from(place)) % depth;
        let mut place = account.returning;
        while place > 0 && ring[at(place - 1)] > arrival {
            ring[at(place)] = ring[at(place - 1)];
            place -= 1;
        }
        ring[at(place)] = arrival;
        account.returning += 1;
    }

    /// When the next credit comes back; `None` where none is under way.
    pub(super) fn next_arrival(&self, channel: ChannelId, virtual_channel: u8) -> Option<u64> {
        let index = self.index(channel, virtual_channel);
        let account = &self.accounts[index];
        (account.returning > 0)
            .then(|| self.arrivals[index * usize::from(self.depth) + usize::from(account.first)])
    }

    /// How many packets hold a place in the buffer behind a channel, or are on the way to it.
    pub(super) fn spent(&mut self, channel: ChannelId, now: u64) -> u32 {
        (0..self.virtual_channels as u8)
            .map(|virtual_channel| {
                u32::from(self.depth - self.available(channel, virtual_channel, now))
            })
            .sum()
    }

    /// How many credits of a virtual channel are neither with the sender nor on their way.
    pub(super) fn held(&self, channel: ChannelId, virtual_channel: u8) -> u16 {
        let account = &self.accounts[self.index(channel, virtual_channel)];
        self.depth - account.available - account.returning
    }
}
