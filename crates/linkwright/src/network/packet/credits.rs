//! Credit flow control: how many packets a sender may still put into the buffer behind a
//! channel.
//!
//! A credit is back in the sender's hands one link latency after a packet has left the buffer.
//! Credits under way are not events of their own: they are noted with the time of their
//! arrival, and counted when the sender next looks. What a departure and a look need lies side
//! by side, since a large network is bound by how often memory is waited for.

use crate::system::fabric::{ChannelId, FabricChannel};

/// The credits of one virtual channel.
#[derive(Debug, Clone, Copy)]
struct Account {
    /// In the sender's hands.
    available: u16,
    /// On their way back.
    returning: u16,
    /// Where the first of those is in its ring.
    first: u16,
    /// Whether the sender has a packet and no credit.
    awaited: bool,
    /// When the first of those on their way is there; `u64::MAX` where there is none.
    next: u64,
    /// When the last of those on their way is there.
    last: u64,
    /// How long a credit is under way.
    latency: u64,
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
    pub(super) fn new(channels: &[FabricChannel], virtual_channels: u8, depth: u16) -> Self {
        let virtual_channels = u32::from(virtual_channels);
        let accounts = channels.len() * virtual_channels as usize;
        let mut credits = Self {
            virtual_channels,
            depth,
            accounts: Vec::with_capacity(accounts),
            arrivals: Vec::with_capacity(accounts * usize::from(depth)),
        };
        for channel in channels {
            credits.add(channel.latency.0);
        }
        credits
    }

    /// Adds the accounts of a channel of that latency, whose index is the next.
    pub(super) fn add(&mut self, latency: u64) {
        let account = Account {
            available: self.depth,
            returning: 0,
            first: 0,
            awaited: false,
            next: u64::MAX,
            last: 0,
            latency,
        };
        self.accounts.extend((0..self.virtual_channels).map(|_| account));
        self.arrivals.resize(self.accounts.len() * usize::from(self.depth), 0);
    }

    fn index(&self, channel: ChannelId, virtual_channel: u8) -> usize {
        (channel * self.virtual_channels + u32::from(virtual_channel)) as usize
    }

    /// How many credits the sender has at a time.
    pub(super) fn available(&mut self, channel: ChannelId, virtual_channel: u8, now: u64) -> u16 {
        let index = self.index(channel, virtual_channel);
        let account = &mut self.accounts[index];
        while account.next <= now {
            account.returning -= 1;
            account.available += 1;
            account.first += 1;
            if account.first == self.depth {
                account.first = 0;
            }
            account.next = if account.returning == 0 {
                u64::MAX
            } else {
                self.arrivals[index * usize::from(self.depth) + usize::from(account.first)]
            };
        }
        account.available
    }

    /// Spends one of the credits that [`Credits::available`] counted.
    pub(super) fn spend(&mut self, channel: ChannelId, virtual_channel: u8) {
        let index = self.index(channel, virtual_channel);
        let account = &mut self.accounts[index];
        account.available -= 1;
        account.awaited = false;
    }

    /// Sends a credit back for a packet that leaves the buffer at a time. Returns when it is
    /// there, if the sender waits for it.
    pub(super) fn give_back(
        &mut self,
        channel: ChannelId,
        virtual_channel: u8,
        departure: u64,
    ) -> Option<u64> {
        let index = self.index(channel, virtual_channel);
        let depth = usize::from(self.depth);
        let account = &mut self.accounts[index];
        let arrival = departure.saturating_add(account.latency);
        let ring = &mut self.arrivals[index * depth..(index + 1) * depth];
        let at = |place: u16| {
            let place = usize::from(account.first) + usize::from(place);
            if place < depth { place } else { place - depth }
        };
        let mut place = account.returning;
        if account.returning > 0 && arrival < account.last {
            // Packets leave by several channels: a later departure may end earlier.
            while place > 0 && ring[at(place - 1)] > arrival {
                ring[at(place)] = ring[at(place - 1)];
                place -= 1;
            }
        } else {
            account.last = arrival;
        }
        ring[at(place)] = arrival;
        account.returning += 1;
        account.next = account.next.min(arrival);
        account.awaited.then_some(arrival)
    }

    /// Notes whether the sender waits for a credit; returns when the next one comes, or
    /// `u64::MAX` where none is under way.
    pub(super) fn wait(&mut self, channel: ChannelId, virtual_channel: u8, awaited: bool) -> u64 {
        let index = self.index(channel, virtual_channel);
        self.accounts[index].awaited = awaited;
        self.accounts[index].next
    }

    /// How many credits of a virtual channel are neither with the sender nor on their way.
    pub(super) fn held(&self, channel: ChannelId, virtual_channel: u8) -> u16 {
        let account = &self.accounts[self.index(channel, virtual_channel)];
        self.depth - account.available - account.returning
    }
}
