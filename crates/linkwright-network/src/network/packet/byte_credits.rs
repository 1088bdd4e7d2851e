//! Credit flow control of a PCIe link: how many bytes a sender may still put into the buffer behind
//! it, for each virtual channel.
//!
//! As [`Credits`](super::credits::Credits), but a buffer counts bytes, so that small packets fill it
//! as well as large ones do.

use std::collections::VecDeque;

use crate::network::pcie::VIRTUAL_CHANNELS;

/// Holds the credits of one virtual channel.
#[derive(Debug, Clone, Default)]
struct Account {
    /// Counts the bytes in the sender's hands.
    available: u64,
    /// Lists the credits on their way back, each with its time, the earliest first.
    returning: VecDeque<(u64, u64)>,
    /// Tells whether the sender has a packet but too few credits for it.
    awaited: bool,
}

/// Holds the credits of a link's virtual channels.
#[derive(Debug, Clone)]
pub(super) struct ByteCredits {
    buffer: u64,
    /// How long they are under way.
    latency: u64,
    accounts: [Account; VIRTUAL_CHANNELS as usize],
}

impl ByteCredits {
    pub(super) fn new(buffer: u64, latency: u64) -> Self {
        let account = || Account { available: buffer, ..Account::default() };
        Self { buffer, latency, accounts: std::array::from_fn(|_| account()) }
    }

    /// How many bytes the sender may send at a time.
    pub(super) fn available(&mut self, virtual_channel: u8, now: u64) -> u64 {
        let account = &mut self.accounts[usize::from(virtual_channel)];
        while let Some((_, bytes)) = account.returning.pop_front_if(|(time, _)| *time <= now) {
            account.available += bytes;
        }
        account.available
    }

    /// Spends some of what [`Self::available`] counted.
    pub(super) fn spend(&mut self, virtual_channel: u8, bytes: u64) {
        let account = &mut self.accounts[usize::from(virtual_channel)];
        account.available -= bytes;
        account.awaited = false;
    }

    /// Sends credits back for a packet that leaves the buffer at a time. Returns when they are
    /// there, if the sender waits for some.
    pub(super) fn give_back(
        &mut self,
        virtual_channel: u8,
        bytes: u64,
        departure: u64,
    ) -> Option<u64> {
        let account = &mut self.accounts[usize::from(virtual_channel)];
        let arrival = departure.saturating_add(self.latency);
        // Packets leave by several links: a later departure may end earlier.
        let at = account.returning.partition_point(|(time, _)| *time <= arrival);
        account.returning.insert(at, (arrival, bytes));
        account.awaited.then_some(arrival)
    }

    /// Notes that the sender waits; returns when the next credits come, or `u64::MAX` where none are
    /// under way.
    pub(super) fn wait(&mut self, virtual_channel: u8) -> u64 {
        let account = &mut self.accounts[usize::from(virtual_channel)];
        account.awaited = true;
        account.returning.front().map_or(u64::MAX, |(time, _)| *time)
    }

    /// How many bytes of a virtual channel are neither with the sender nor on their way.
    pub(super) fn held(&self, virtual_channel: u8) -> u64 {
        let account = &self.accounts[usize::from(virtual_channel)];
        let returning: u64 = account.returning.iter().map(|(_, bytes)| bytes).sum();
        self.buffer - account.available - returning
    }
}
