//! Plays channels that take whole messages, one after another, without an event for each packet.
//!
//! These are the links between GPUs of one server. A message waits until every channel of a hop is
//! free. It crosses them all at once, each with its part, and begins the next hop as its first byte
//! arrives there. The model leaves out sharing: a short message behind a long one waits.

use super::packet::{ChannelStatistics, serialisation};
use super::paths::ServerChannel;
use crate::system::PacketFormat;
use crate::system::composition::System;
use crate::system::fabric::ChannelId;
use crate::units::{Bandwidth, Picoseconds};

/// One hop of a message's path: parallel channels between which it is split.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::network) struct PipeHop {
    /// Lists the channels, each with the part of the message that crosses it.
    pub(in crate::network) channels: Vec<(ServerChannel, f64)>,
    /// Sums the bandwidth of all of them.
    pub(in crate::network) rate: Bandwidth,
    /// Gives how fast packets cross all of them together, headers with their data, and their format.
    pub(in crate::network) line: (Bandwidth, PacketFormat),
    pub(in crate::network) latency: Picoseconds,
}

impl PipeHop {
    /// How long a message keeps the channels. One of a kernel's caches takes what its packets take.
    fn time(&self, size: u64, is_memory: bool) -> u64 {
        match self.line {
            (line, format) if is_memory => serialisation(format.on_the_wire(size), line),
            _ => serialisation(size, self.rate),
        }
    }
}

/// No server has been asked for yet.
const NONE: u32 = u32::MAX;

/// When the channels of each server are free again; a server's are made on its first message.
#[derive(Debug, Clone)]
pub(in crate::network) struct Pipes<'a> {
    system: &'a System,
    /// Says where the channels of a server begin in `free`.
    first: Vec<u32>,
    free: Vec<u64>,
    carried: Vec<ChannelStatistics>,
}

impl<'a> Pipes<'a> {
    pub(in crate::network) fn new(system: &'a System) -> Self {
        let first = vec![NONE; system.servers() as usize];
        Self { system, first, free: Vec::new(), carried: Vec::new() }
    }

    /// Sends within a server, behind what the channels of the hops carry already; without a hop
    /// there is nothing to cross. Returns when the last byte leaves, and when it arrives.
    pub(in crate::network) fn send(
        &mut self,
        server: u32,
        hops: &[PipeHop],
        (size, is_memory): (u64, bool),
        now: u64,
    ) -> (u64, u64) {
        let first = self.first_of(server);
        let (mut sent, mut begin, mut end) = (None, now, now);
        for hop in hops {
            let channels = || hop.channels.iter().map(|(at, part)| (first + *at as usize, part));
            let start = channels().map(|(at, _)| self.free[at]).max().unwrap_or(0).max(begin);
            // Not before the last byte has come from the hop before.
            end = start.saturating_add(hop.time(size, is_memory)).max(end);
            for (at, part) in channels() {
                self.free[at] = end;
                self.carried[at].packets += 1;
                self.carried[at].data.0 += (size as f64 * part).round() as u64;
            }
            sent.get_or_insert(end);
            begin = start.saturating_add(hop.latency.0);
            end = end.saturating_add(hop.latency.0);
        }
        (sent.unwrap_or(now), end)
    }

    fn first_of(&mut self, server: u32) -> usize {
        let first = &mut self.first[server as usize];
        if *first == NONE {
            *first = self.free.len() as u32;
            let channels = 2 * self.system.kind_of(server).server().links().len();
            self.free.resize(self.free.len() + channels, 0);
            self.carried.resize(self.free.len(), ChannelStatistics::default());
        }
        *first as usize
    }

    /// Returns the traffic of each channel that has carried something, by servers and channels.
    pub(in crate::network) fn statistics(
        &self,
    ) -> impl Iterator<Item = (ChannelId, ChannelStatistics)> {
        (0..).zip(&self.first).filter(|(_, first)| **first != NONE).flat_map(
            move |(server, first)| {
                let links = self.system.kind_of(server).server().links().len();
                let carried = &self.carried[*first as usize..*first as usize + 2 * links];
                let used = (0..).zip(carried).filter(|(_, carried)| carried.packets > 0);
                used.map(move |(at, carried)| (self.system.channel_at(server, at), *carried))
            },
        )
    }
}
