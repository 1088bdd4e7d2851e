//! The host channels of servers as a PCIe bus: commands, their packets, and who goes first.
//!
//! See [`pcie`](crate::network::pcie) for what it models.

use std::collections::VecDeque;

use super::super::arbitration::Slot;
use super::super::byte_credits::ByteCredits;
use super::super::packets::{AT_SOURCE, Packet, TO_NODE};
use crate::network::opened::{Insides, Opened};
use crate::network::pcie::arbiter::Head;
use crate::network::pcie::{Command, OfServer, PcieSettings, Roots, Schedule, VIRTUAL_CHANNELS};
use crate::network::transport::MessageIndex;
use crate::system::composition::System;
use crate::system::fabric::ChannelId;
use crate::units::Bandwidth;

/// A channel that is none of the bus.
const NONE: u32 = u32::MAX;

/// Holds the state of a host channel at work.
#[derive(Debug, Clone)]
pub(super) struct BusLine {
    /// Holds the bandwidth that it carries, headers included.
    pub(super) rate: Bandwidth,
    pub(super) credits: ByteCredits,
    /// Since when each of its queues has had the first packet that it has.
    pub(super) since: Vec<u64>,
    /// Counts, for each virtual channel, the bytes that copy engines have put into the queue of
    /// their memory. The next field lists the engines that wait until some have left.
    pub(super) injected: [u64; VIRTUAL_CHANNELS as usize],
    pub(super) waiting: [VecDeque<u32>; VIRTUAL_CHANNELS as usize],
}

/// A command, and how far a read is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnderWay {
    pub(super) command: Command,
    /// Bytes that were asked for and not sent back.
    pub(super) asked: u64,
    /// Bytes that were asked for and have not arrived.
    pub(super) outstanding: u64,
}

/// Holds the bus of all servers.
#[derive(Debug, Clone)]
pub(super) struct Bus {
    pub(super) settings: PcieSettings,
    pub(super) roots: Roots,
    pub(super) schedule: Schedule,
    /// Gives the number of the first channel of servers.
    pub(super) first: ChannelId,
    /// Gives the line of each of these channels.
    pub(super) line_of: Vec<u32>,
    pub(super) lines: Vec<BusLine>,
    /// Holds the commands by the index of their messages.
    pub(super) commands: Vec<UnderWay>,
    pub(super) heads: Vec<Head>,
}

impl Bus {
    pub(super) fn new(settings: PcieSettings, inside: &Insides<'_>) -> Self {
        Self {
            settings,
            roots: inside.roots(),
            schedule: Schedule::new(&settings),
            first: inside.system.fabric_channels() as ChannelId,
            line_of: Vec::new(),
            lines: Vec::new(),
            commands: Vec::new(),
            heads: Vec::new(),
        }
    }

    /// Takes in a server's channel that has been made and has queues for `ports` ports. Says
    /// whether it is one of the bus.
    pub(super) fn open(&mut self, system: &System, opened: &Opened, ports: u16) -> bool {
        let links = system.kind_of(opened.at.server).server().links();
        let link = links.get(opened.at.index as usize / 2);
        let of_bus = link.filter(|link| link.kind.is_host_bus());
        self.line_of.push(of_bus.map_or(NONE, |_| self.lines.len() as u32));
        if let Some(link) = of_bus {
            self.lines.push(BusLine {
                rate: self.settings.line_rate(link),
                credits: ByteCredits::new(self.settings.buffer.0, opened.latency.0),
                since: vec![0; usize::from(ports) * usize::from(VIRTUAL_CHANNELS)],
                injected: [0; VIRTUAL_CHANNELS as usize],
                waiting: std::array::from_fn(|_| VecDeque::new()),
            });
        }
        of_bus.is_some()
    }

    /// The line of a channel; None of one that is none of the bus.
    pub(super) fn line(&self, channel: ChannelId) -> Option<usize> {
        let at = channel.checked_sub(self.first)?;
        let line = *self.line_of.get(at as usize)?;
        (line != NONE).then_some(line as usize)
    }

    /// Gives the bytes that a packet takes of a link. A request for data carries none.
    pub(super) fn wire(&self, size: u32, request: bool) -> u64 {
        self.settings.wire(if request { 0 } else { u64::from(size) })
    }

    /// Returns the notes on a message; nothing for one that crosses no bus.
    pub(super) fn command(&self, message: MessageIndex) -> Command {
        self.commands.get(message as usize).map(|it| it.command).unwrap_or_default()
    }

    /// Returns the class of a message's data in a server.
    pub(super) fn class(&self, message: MessageIndex, server: u32) -> OfServer {
        let [source, destination] = self.commands[message as usize].command.ends;
        if source.server == server { source } else { destination }
    }

    /// A packet is put into a queue of a channel, which was empty.
    pub(super) fn begins_to_wait(&mut self, channel: ChannelId, slot: Slot, now: u64) {
        if let Some(line) = self.line(channel) {
            self.lines[line].since[slot as usize] = now;
        }
    }

    /// A packet goes over a channel of the bus.
    pub(super) fn spend(&mut self, line: usize, virtual_channel: u8, size: u32, request: bool) {
        let wire = self.wire(size, request);
        self.lines[line].credits.spend(virtual_channel, wire);
    }

    /// A packet leaves the buffer behind a channel of the bus at a time; when its credits are back,
    /// if they are waited for.
    pub(super) fn give_back(
        &mut self,
        line: usize,
        packet: &Packet,
        virtual_channel: u8,
        sent: u64,
    ) -> Option<u64> {
        let wire = self.wire(packet.size, packet.request);
        self.lines[line].credits.give_back(virtual_channel, wire, sent)
    }

    /// How many bytes of a buffer are held.
    pub(super) fn held(&self, channel: ChannelId, virtual_channel: u8) -> Option<u64> {
        Some(self.lines[self.line(channel)?].credits.held(virtual_channel))
    }

    /// Says whether credits match packets, as they must between any two events. Credits are held
    /// for the bytes that are in a buffer or on their way to it, and for nothing else.
    pub(super) fn credits_match<'p>(&self, packets: impl Iterator<Item = &'p Packet>) -> bool {
        let mut bytes = vec![[0; VIRTUAL_CHANNELS as usize]; self.lines.len()];
        for packet in packets.filter(|packet| packet.channel != AT_SOURCE) {
            if let Some(line) = self.line(packet.channel).filter(|_| packet.to != TO_NODE) {
                let of = &mut bytes[line][usize::from(packet.route.virtual_channel)];
                *of += self.wire(packet.size, packet.request);
            }
        }
        let held = |line: &BusLine| std::array::from_fn(|at| line.credits.held(at as u8));
        self.lines.iter().map(held).eq(bytes)
    }
}
