//! What joins caches and memory: links with a rate and a latency, and paths over them.
//!
//! What it represents: each link carries one message after another, in the order in which they
//! come; a message takes its bytes at the link's rate, then the latency of what stands behind it.
//! Endpoints take whatever comes: the registers of misses bound what is under way. What it leaves
//! out: credits, virtual channels, and errors.
//!
//! Two fabrics are built of it. PCIe switches join GPUs and the host ([`pcie`]). A switch, or another
//! wiring, joins second-level caches and unified controllers of truly shared memory ([`shared`]).

mod wiring;

pub use wiring::{shared, shared_path};

use crate::system::gpus::Hierarchy;
use crate::units::{Bandwidth, Picoseconds};

/// A link, one way.
#[derive(Debug, Clone, Copy)]
struct Link {
    rate: Rate,
    /// When it is free again.
    free: u64,
    latency: u64,
    carried: Carried,
}

/// What a link has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Messages.
    pub messages: u64,
    /// Bytes of them, without what the link adds.
    pub bytes: u64,
    /// For how long it was busy.
    pub busy: Picoseconds,
    /// How long a message has waited for those before it, at most.
    pub longest_wait: Picoseconds,
}

/// How long a message keeps a link.
#[derive(Debug, Clone, Copy)]
enum Rate {
    /// Whole flits, each of so many bytes, of which encoding adds hundredths; a flit takes a cycle.
    Flits { bytes: u64, encoding: u64, cycle: u64 },
    /// Bytes at a bandwidth, up to a whole cycle.
    Bytes { bandwidth: u64, cycle: u64 },
}

impl Rate {
    #[inline]
    fn time(self, bytes: u64) -> u64 {
        match self {
            Self::Flits { bytes: flit, encoding, cycle } => {
                (bytes * (100 + encoding)).div_ceil(100 * flit).max(1) * cycle
            }
            Self::Bytes { bandwidth, cycle } => {
                let exact = (u128::from(bytes) * u128::from(Picoseconds::SECOND.0))
                    .div_ceil(u128::from(bandwidth)) as u64;
                exact.div_ceil(cycle).max(1) * cycle
            }
        }
    }
}

/// Links and the paths over them.
#[derive(Debug)]
pub struct MemoryLinks {
    links: Vec<Link>,
    names: Vec<String>,
    /// Where each path starts in `channels`, and one more.
    starts: Vec<u32>,
    channels: Vec<u32>,
}

/// A path over links, by its number.
pub type LinkPath = u32;

impl MemoryLinks {
    fn new() -> Self {
        Self { links: Vec::new(), names: Vec::new(), starts: vec![0], channels: Vec::new() }
    }

    fn link(&mut self, name: String, rate: Rate, latency: u64) -> u32 {
        self.links.push(Link { rate, free: 0, latency, carried: Carried::default() });
        self.names.push(name);
        (self.links.len() - 1) as u32
    }

    fn path(&mut self, channels: &[u32]) {
        self.channels.extend(channels);
        self.starts.push(self.channels.len() as u32);
    }

    /// Puts a message on the next link of its path: when it is through, and whether that was the
    /// last.
    #[inline]
    pub fn cross(&mut self, now: u64, path: LinkPath, crossed: u8, bytes: u64) -> (u64, bool) {
        let at = self.starts[path as usize] + u32::from(crossed);
        let link = &mut self.links[self.channels[at as usize] as usize];
        let time = link.rate.time(bytes);
        let start = link.free.max(now);
        link.free = start + time;
        link.carried.longest_wait.0 = link.carried.longest_wait.0.max(start - now);
        link.carried.messages += 1;
        link.carried.bytes += bytes;
        link.carried.busy.0 += time;
        (link.free + link.latency, at + 1 == self.starts[path as usize + 1])
    }

    /// For how long each link was busy until a time, by what it was given before then.
    pub fn busy_until(&self, time: u64) -> impl Iterator<Item = u64> {
        // What is behind that time follows without a gap: nothing was given later.
        let behind = move |link: &Link| link.free.saturating_sub(time);
        self.links.iter().map(move |link| link.carried.busy.0 - behind(link))
    }

    /// What each link has carried, by its name.
    pub fn carried(&self) -> impl Iterator<Item = (&str, Carried)> {
        self.names.iter().map(String::as_str).zip(self.links.iter().map(|link| link.carried))
    }
}

/// PCIe between GPUs and to the host: two GPUs on a switch, the switches on one root.
///
/// Ends are the GPUs and, after the last, the host; the path between two is
/// [`pcie_path`].
#[must_use]
pub fn pcie(hierarchy: &Hierarchy, gpus: u32) -> MemoryLinks {
    let flits = &hierarchy.pcie;
    let cycle = hierarchy.cycle.0;
    let encoding = u64::from(flits.encoding);
    let rate = Rate::Flits { bytes: flits.flit.0, encoding, cycle };
    let mut links = MemoryLinks::new();
    let hop = u64::from(flits.switch) * cycle;
    let mut both = |from: &str, to: &str| {
        // Behind a link towards a GPU or the host there is no switch.
        let up = links.link(format!("{from} to {to}"), rate, hop);
        [up, links.link(format!("{to} to {from}"), rate, 0)]
    };
    let ends: Vec<_> =
        (0..gpus).map(|gpu| both(&format!("GPU{gpu}"), &format!("switch{}", gpu / 2))).collect();
    let switches: Vec<_> =
        (0..gpus.div_ceil(2)).map(|switch| both(&format!("switch{switch}"), "root")).collect();
    let host = both("host", "root");
    // Down from the root there is a switch too.
    for [_, down] in &switches {
        links.links[*down as usize].latency = hop;
    }
    let switch = |gpu: u32| switches[gpu as usize / 2];
    for from in 0..=gpus {
        for to in 0..=gpus {
            let path = match (from == gpus, to == gpus) {
                (true, true) => vec![],
                (true, false) => vec![host[0], switch(to)[1], ends[to as usize][1]],
                (false, true) => vec![ends[from as usize][0], switch(from)[0], host[1]],
                (false, false) if from == to => vec![],
                (false, false) if from / 2 == to / 2 => {
                    vec![ends[from as usize][0], ends[to as usize][1]]
                }
                (false, false) => vec![
                    ends[from as usize][0],
                    switch(from)[0],
                    switch(to)[1],
                    ends[to as usize][1],
                ],
            };
            links.path(&path);
        }
    }
    links
}

/// The path from one end of PCIe to another.
#[inline]
#[must_use]
pub fn pcie_path(gpus: u32, from: u32, to: u32) -> LinkPath {
    from * (gpus + 1) + to
}

/// Gives the bandwidth of the link of one bank, from that of all banks of a GPU.
fn of_bank(hierarchy: &Hierarchy, bandwidth: Bandwidth) -> u64 {
    (bandwidth.0 / u64::from(hierarchy.second.banks)).max(1)
}

/// Gives the picoseconds that a message keeps the link of a bank to the switch of [`shared`], or from it.
#[must_use]
pub fn shared_time(hierarchy: &Hierarchy, bandwidth: Bandwidth, bytes: u64) -> u64 {
    let (bandwidth, cycle) = (of_bank(hierarchy, bandwidth), hierarchy.cycle.0);
    Rate::Bytes { bandwidth, cycle }.time(bytes)
}

#[cfg(test)]
mod contract;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::gpus;

    fn r9_nano() -> &'static Hierarchy {
        gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
    }

    #[test]
    fn a_message_waits_for_those_before_it() {
        let mut links = pcie(r9_nano(), 4);
        // 68 bytes and a quarter make 85: three flits.
        let path = pcie_path(4, 0, 1);
        assert_eq!(links.cross(0, path, 0, 68), (143_000, false));
        assert_eq!(links.cross(0, path, 0, 12), (144_000, false));
        assert_eq!(links.cross(143_000, path, 1, 68), (146_000, true));
    }

    #[test]
    fn far_gpus_are_three_switches_away() {
        let mut links = pcie(r9_nano(), 4);
        let path = pcie_path(4, 0, 3);
        let mut at = (0, false);
        for crossed in 0..4 {
            assert!(!at.1);
            at = links.cross(at.0, path, crossed, 12);
        }
        assert_eq!(at, (3 * 140_000 + 4_000, true));
    }
}
