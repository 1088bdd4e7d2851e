//! Reads NCCL's print of the topology, the graphs that its search found, and the choices that it
//! made.

use super::words::{amount, count};
use super::{DebugReader, Heard, One};
use crate::collectives::nccl::nccl_tests::Unmodelled;
use crate::doctor::evidence::{LoggedChoice, SearchedGraph, TopologyLine};

/// How many devices, graphs and channels of a graph are kept.
const MOST_DEVICES: usize = 1 << 10;
const MOST_GRAPHS: usize = 16;
const MOST_PATHS: usize = 64;

/// NCCL's numbers of algorithms and of protocols, which it prints up to 2.23 (`src/include/nccl_common.h` 55 and 65;
/// 2.18, `src/include/devcomm.h` 19 and 28).
const ALGORITHMS: [&str; 7] =
    ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"];
const PROTOCOLS: [&str; 3] = ["LL", "LL128", "SIMPLE"];

impl DebugReader {
    /// Reads the lines from `=== System : maxBw 24.0 totalBw 48.0 ===` to the next of `====`.
    pub(super) fn topology_line(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        if message.starts_with("=== System :") {
            self.topology_is_open |= self.topology_of.is_none();
            self.topology_of.get_or_insert(one.key);
            return Heard::Fact;
        }
        if !self.topology_is_open || self.topology_of != Some(one.key) {
            return Heard::Nothing;
        }
        if message.starts_with("====") {
            self.topology_is_open = false;
            return Heard::Fact;
        }
        let device = message.trim_start();
        let depth = (message.len() - device.len()) as u32;
        let link = device.strip_prefix("+ ").map(|rest| {
            let (link, rest) = rest.split_once('[')?;
            let (bandwidth, device) = rest.split_once("] - ")?;
            Some((link, amount(bandwidth)?, device))
        });
        let (link, bandwidth, device) = match link {
            Some(Some(found)) => found,
            Some(None) => return Heard::Refused("a link of the topology that cannot be"),
            None if device.starts_with("CPU/") => ("", 0.0, device),
            None => return Heard::Nothing,
        };
        if self.log.topology.len() < MOST_DEVICES && one.take() {
            let [link, device] = [link, device].map(|it| it.trim_end().to_owned());
            let line = self.proof(one);
            self.log.topology.push(TopologyLine { link, bandwidth, device, depth, line });
        } else {
            self.log.skipped += 1;
        }
        Heard::Fact
    }

    /// Reads `Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1`.
    pub(super) fn graph(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        if !message.starts_with("Pattern ") {
            return Heard::Nothing;
        }
        if !self.is_own(one) {
            return Heard::Other;
        }
        let part = |name: &str| {
            message.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '))
        };
        let both = |name| part(name)?.split_once('/');
        let of_bandwidth = || both("bw").or_else(|| both("speed"));
        let found = || {
            let (inside, between) = of_bandwidth()?;
            let (path_inside, path_between) = both("type")?;
            let pattern = part("Pattern").and_then(count)?;
            let channels = part("nChannels").and_then(count)?;
            Some((pattern, channels, amount(inside)?, amount(between)?, path_inside, path_between))
        };
        let Some((pattern, channels, inside, between, path_inside, path_between)) = found() else {
            return Heard::Refused("a graph that no search finds");
        };
        let of = *self.graphs_of.get_or_insert(one.key);
        self.graph_is_open = of == one.key && self.log.graphs.len() < MOST_GRAPHS;
        if self.graph_is_open {
            let [path_inside, path_between] =
                [path_inside, path_between].map(|it| it.chars().take(8).collect());
            let (paths, line) = (Vec::new(), self.proof(one));
            self.log.graphs.push(SearchedGraph {
                pattern,
                channels,
                inside,
                between,
                path_inside,
                path_between,
                paths,
                line,
            });
        }
        Heard::Fact
    }

    /// Reads ` 0 : NET/0 GPU/0 GPU/1 NET/0` behind a graph.
    pub(super) fn graph_path(&mut self, one: &mut One<'_, '_>) -> Heard {
        if !self.graph_is_open || self.graphs_of != Some(one.key) {
            return Heard::Nothing;
        }
        let path = one.line.message.split_once(" :");
        let path = path.filter(|(channel, _)| count(channel.trim()).is_some());
        let Some((_, path)) = path else {
            self.graph_is_open = one.line.message.starts_with("Pattern ");
            return Heard::Nothing;
        };
        if let Some(graph) = self.log.graphs.last_mut().filter(|it| it.paths.len() < MOST_PATHS) {
            graph.paths.push(path.split_whitespace().map(str::to_owned).collect());
        }
        Heard::Fact
    }

    /// Reads `AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}`, and numbers in place of names.
    pub(super) fn choice(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let Some((what, chosen)) = message.split_once(" Bytes -> Algo ") else {
            return Heard::Nothing;
        };
        let (collective, bytes) = what.split_once(": ").unwrap_or(("", what));
        let mut words = chosen.split_whitespace();
        let (algorithm, protocol) = (words.next().unwrap_or_default(), words.nth(1));
        let (Ok(bytes), Some(protocol)) = (bytes.trim().parse::<u64>(), protocol) else {
            return Heard::Refused("a choice without its size or protocol");
        };
        let named = |word: &str, names: &[&str]| match word.parse::<usize>() {
            Ok(number) => names.get(number).map(|name| (*name).to_owned()),
            Err(_) => Some(word.chars().take(32).collect()),
        };
        let (Some(algorithm), Some(protocol)) =
            (named(algorithm, &ALGORITHMS), named(protocol, &PROTOCOLS))
        else {
            return Heard::Refused("an algorithm or a protocol that NCCL lacks");
        };
        if let Some(unmodelled) = Unmodelled::named(&algorithm) {
            self.keep(one, |log| &mut log.unmodelled, unmodelled, |line| line);
        }
        let channels = chosen.split_once("={").and_then(|(_, range)| {
            let (low, high) = range.split_once('}')?.0.split_once("..")?;
            (count(high)? + 1).checked_sub(count(low)?)
        });
        let name = (collective.chars().take(32).collect(), bytes);
        let choices = |line| LoggedChoice { algorithm, protocol, channels, line };
        self.keep(one, |log| &mut log.choices, name, choices)
    }
}
