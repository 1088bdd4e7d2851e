//! Carries messages over fixed paths of channels: the cheapest network, for messages of caches.
//!
//! Represented: each channel carries one message after another, in the order in which they
//! come. A message takes its bytes at the channel's rate, then the latency of what stands behind it.
//! Each ordered pair of ends has one path, so that messages between two ends keep their order over
//! any number of links and switches. Homes of lines count on that.
//!
//! Ends take whatever comes: the registers of misses bound how much is under way. Left out are credits,
//! virtual channels, and errors.
//!
//! [`between`] builds it of a system's own channels.

mod gangs;
mod shared;
mod system;

pub use shared::{SharedWays, shared_ways};
pub use system::{WiredEnds, WiresError, between};

use super::packet::serialisation;
use crate::system::PacketFormat;
use crate::units::{Bandwidth, Picoseconds};

/// Says how fast a channel is, and when it is free.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Channel {
    rate: WireRate,
    /// When it is free again.
    free: u64,
    latency: u64,
    carried: Carried,
}

/// Counts what a link has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Counts messages.
    pub messages: u64,
    /// Counts their bytes, without what the link adds.
    pub bytes: u64,
    /// For how long it was busy.
    pub busy: Picoseconds,
    /// How long a message has waited for those before it, at most.
    pub longest_wait: Picoseconds,
}

/// How long a message keeps a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireRate {
    /// Takes whole flits, after encoding has added its hundredths. A flit takes a cycle.
    Flits {
        /// Counts the bytes of a flit.
        bytes: u64,
        /// Counts the hundredths that encoding adds.
        encoding: u64,
        /// Counts the picoseconds of a cycle.
        cycle: u64,
    },
    /// Takes bytes at a bandwidth, up to a whole cycle.
    Bytes {
        /// Counts the bytes of a second.
        bandwidth: u64,
        /// Counts the picoseconds of a cycle.
        cycle: u64,
    },
    /// Takes packets at a bandwidth, with what each adds to its data.
    Packets {
        /// Counts the bytes of a second.
        bandwidth: u64,
        /// Says what a packet carries and adds.
        format: PacketFormat,
    },
}

impl WireRate {
    /// Gives the picoseconds for which a message of that size keeps a channel.
    #[inline]
    #[must_use]
    pub fn time(self, bytes: u64) -> u64 {
        match self {
            Self::Flits { bytes: flit, encoding, cycle } => {
                (bytes * (100 + encoding)).div_ceil(100 * flit).max(1) * cycle
            }
            Self::Bytes { bandwidth, cycle } => {
                serialisation(bytes, Bandwidth(bandwidth)).div_ceil(cycle).max(1) * cycle
            }
            Self::Packets { bandwidth, format } => {
                serialisation(format.on_the_wire(bytes), Bandwidth(bandwidth))
            }
        }
    }
}

/// Names a link of a channel, and says which part of the messages it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    name: String,
    channel: u32,
    /// Sums the weights of the links before it.
    before: u64,
    weight: u64,
    whole: u64,
}

impl Part {
    /// Gives its part of a number. The parts of all links sum to the number.
    fn of(&self, number: u64) -> u64 {
        let until = |weight: u64| {
            (u128::from(number) * u128::from(weight) / u128::from(self.whole.max(1))) as u64
        };
        until(self.before + self.weight) - until(self.before)
    }
}

/// Holds channels, and the paths over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Wires {
    channels: Vec<Channel>,
    /// Where each path starts in `hops`, and one more.
    starts: Vec<u32>,
    hops: Vec<u32>,
    parts: Vec<Part>,
}

/// Numbers a path over channels.
pub type WirePath = u32;

/// Gives the path from one end to another, where paths are added in the order of both: first those
/// from the first end to each.
#[inline]
#[must_use]
pub fn pair_path(ends: u32, from: u32, to: u32) -> WirePath {
    from * ends + to
}

impl Default for Wires {
    fn default() -> Self {
        Self::new()
    }
}

impl Wires {
    /// Makes it without a channel.
    #[must_use]
    pub fn new() -> Self {
        Self { channels: Vec::new(), starts: vec![0], hops: Vec::new(), parts: Vec::new() }
    }

    /// Adds a channel of one link, and gives its number.
    pub fn channel(&mut self, name: String, rate: WireRate, latency: u64) -> u32 {
        self.gang(vec![(name, 1)], rate, latency)
    }

    /// Adds a channel of links side by side, each with its name and its weight, and gives its
    /// number. Messages are spread over the links by their weights.
    pub fn gang(&mut self, links: Vec<(String, u64)>, rate: WireRate, latency: u64) -> u32 {
        let channel = self.channels.len() as u32;
        self.channels.push(Channel { rate, free: 0, latency, carried: Carried::default() });
        // A link that stands alone has all, whatever its weight.
        let links = match links.as_slice() {
            [(name, _)] => vec![(name.clone(), 1)],
            _ => links,
        };
        let whole = links.iter().map(|(_, weight)| weight).sum();
        let mut before = 0;
        for (name, weight) in links {
            self.parts.push(Part { name, channel, before, weight, whole });
            before += weight;
        }
        channel
    }

    /// Sets the latency behind a channel.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn set_latency(&mut self, channel: u32, latency: u64) {
        self.channels[channel as usize].latency = latency;
    }

    /// Adds a path over channels, in order. Its number is the count of those before it.
    pub fn path(&mut self, channels: &[u32]) {
        self.hops.extend(channels);
        self.starts.push(self.hops.len() as u32);
    }

    /// Counts the paths.
    #[must_use]
    pub fn paths(&self) -> usize {
        self.starts.len() - 1
    }

    /// Gives the channels of a path, in order.
    ///
    /// # Panics
    /// If there is no such path.
    #[must_use]
    pub fn hops(&self, path: WirePath) -> &[u32] {
        let [start, end] = [path, path + 1].map(|at| self.starts[at as usize] as usize);
        &self.hops[start..end]
    }

    /// Gives the names of the links of a channel.
    pub fn links_of(&self, channel: u32) -> impl Iterator<Item = &str> {
        let is_its = move |part: &&Part| part.channel == channel;
        self.parts.iter().filter(is_its).map(|part| part.name.as_str())
    }

    /// Puts a message on the next channel of its path: when it is through, and whether that was the
    /// last.
    ///
    /// # Panics
    /// If the path has no such channel.
    #[inline]
    pub fn cross(&mut self, now: u64, path: WirePath, crossed: u8, bytes: u64) -> (u64, bool) {
        let at = self.starts[path as usize] + u32::from(crossed);
        let channel = &mut self.channels[self.hops[at as usize] as usize];
        let time = channel.rate.time(bytes);
        let start = channel.free.max(now);
        channel.free = start + time;
        channel.carried.longest_wait.0 = channel.carried.longest_wait.0.max(start - now);
        channel.carried.messages += 1;
        channel.carried.bytes += bytes;
        channel.carried.busy.0 += time;
        (channel.free + channel.latency, at + 1 == self.starts[path as usize + 1])
    }

    /// For how long each link was busy until a time, by what it was given before then.
    pub fn busy_until(&self, time: u64) -> impl Iterator<Item = u64> {
        // All behind that time follows without a gap: nothing was given later.
        let behind = move |channel: &Channel| channel.free.saturating_sub(time);
        let channels = self.parts.iter().map(|part| &self.channels[part.channel as usize]);
        channels.map(move |channel| channel.carried.busy.0 - behind(channel))
    }

    /// Gives what each link has carried, by its name.
    ///
    /// Links of one channel are busy alike. Each has its part of the messages and of their bytes.
    pub fn carried(&self) -> impl Iterator<Item = (&str, Carried)> {
        self.parts.iter().map(|part| {
            let whole = self.channels[part.channel as usize].carried;
            let [messages, bytes] = [whole.messages, whole.bytes].map(|number| part.of(number));
            (part.name.as_str(), Carried { messages, bytes, ..whole })
        })
    }
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;
