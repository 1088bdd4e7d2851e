//! Credit flow control: how many packets a sender may still put into the buffer behind a
//! channel.
//!
//! A credit is back in the sender's hands one link latency after a packet has left the buffer.
//! Credits under way are not events of their own: they are noted with the time of their arrival,
//! and counted when the sender next looks. The fields that a departure and a look need lie side by
//! side. A large network is bound by how often memory is waited for.

use std::collections::VecDeque;

use crate::system::fabric::ChannelId;

/// Holds the credits of one virtual channel.
#[derive(Debug, Clone, Default)]
struct Account {
    /// How many packets the buffer holds.
    depth: u16,
    /// Counts the packets' credits in the sender's hands.
    available: u16,
    /// Whether the sender has a packet and no credit.
    awaited: bool,
    /// When the first of those on their way is there; `u64::MAX` where there is none.
    next: u64,
    /// How long a credit is under way.
    latency: u64,
    /// When each of those on their way is there, the earliest first.
    returning: VecDeque<u64>,
}

/// Holds the credits of every virtual channel of every channel.
#[derive(Debug, Clone)]
pub(super) struct Credits {
    virtual_channels: u32,
    accounts: Vec<Account>,
}

impl Credits {
    /// Makes the credits of no channel.
    pub(super) fn new(virtual_channels: u8) -> Self {
        Self { virtual_channels: u32::from(virtual_channels), accounts: Vec::new() }
    }

    /// Adds the accounts of a channel, whose index is the next. It has a latency, and the buffer behind it holds
    /// a number of packets in each virtual channel.
    pub(super) fn add(&mut self, latency: u64, depth_of: impl Fn(u8) -> u16) {
        let account = |depth: u16| Account {
            depth,
            available: depth,
            next: u64::MAX,
            latency,
            ..Account::default()
        };
        let channels = 0..self.virtual_channels as u8;
        self.accounts.extend(channels.map(|channel| account(depth_of(channel))));
    }

    fn index(&self, channel: ChannelId, virtual_channel: u8) -> usize {
        (channel * self.virtual_channels + u32::from(virtual_channel)) as usize
    }

    /// How many credits the sender has at a time.
    pub(super) fn available(&mut self, channel: ChannelId, virtual_channel: u8, now: u64) -> u16 {
        let index = self.index(channel, virtual_channel);
        let account = &mut self.accounts[index];
        while account.next <= now {
            account.returning.pop_front();
            account.available += 1;
            account.next = account.returning.front().copied().unwrap_or(u64::MAX);
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
        let account = &mut self.accounts[index];
        let arrival = departure.saturating_add(account.latency);
        if account.returning.back().is_none_or(|last| *last <= arrival) {
            account.returning.push_back(arrival);
        } else {
            // Packets leave by several channels: a later departure may end earlier.
            let at = account.returning.partition_point(|time| *time <= arrival);
            account.returning.insert(at, arrival);
        }
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
        account.depth - account.available - account.returning.len() as u16
    }
}
