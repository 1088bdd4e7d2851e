//! Reads the ways of connections, rings and trees.

use super::words::{count, number};
use super::{DebugReader, Heard, One};
use crate::collectives::nccl::nccl_tests::Unmodelled;
use crate::doctor::evidence::{Connection, DirectRefusal, LoggedTransport};

/// How many channels' rings are kept, and how many refusals.
const MOST_RINGS: usize = 256;
const MOST_REFUSALS: usize = 1 << 12;

const NO_JOB: &str = "a rank or an interface that no job has";

impl DebugReader {
    /// Reads `Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA`.
    pub(super) fn connection(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let Some((ends, way)) = message.split_once(" via ") else { return Heard::Nothing };
        let Some((_, ends)) = ends.split_once(": ") else { return Heard::Nothing };
        if !self.is_own(one) {
            return Heard::Other;
        }
        let Some(transport) = transport(way) else { return Heard::Refused(NO_JOB) };
        if transport == LoggedTransport::CollNet {
            self.keep(one, |log| &mut log.unmodelled, Unmodelled::CollNet, |line| line);
        }
        let sends = !ends.contains("[receive]");
        let (from, to) = ends.split_once("->").unwrap_or((ends, ends));
        let rank = number(if sends { from } else { to }.trim_start()).map(|(rank, _)| rank);
        let Some(rank) = rank.filter(|rank| self.log.ranks.is_none_or(|ranks| *rank < ranks))
        else {
            return Heard::Refused(NO_JOB);
        };
        let connection = Connection { rank, sends, transport };
        if let Some((channels, _)) = self.log.connections.get_mut(&connection) {
            *channels = channels.saturating_add(1);
            return Heard::Fact;
        }
        self.keep(one, |log| &mut log.connections, connection, |line| (1, line))
    }

    /// Reads `Channel 00/02 : 0 1 2 3`.
    pub(super) fn ring(&mut self, one: &mut One<'_, '_>) -> Heard {
        let found = one.line.message.strip_prefix("Channel ").and_then(|it| it.split_once(" :"));
        let Some((channel, ranks)) = found.filter(|(_, ranks)| !ranks.contains("->")) else {
            return Heard::Nothing;
        };
        if !self.is_own(one) {
            return Heard::Other;
        }
        let channel = channel.split('/').next().and_then(count);
        let ranks: Option<Vec<u32>> = ranks.split_whitespace().map(count).collect();
        let (Some(channel), Some(ranks)) = (channel, ranks) else {
            return Heard::Refused("a ring of ranks that no job has");
        };
        if self.log.rings.len() >= MOST_RINGS {
            self.log.skipped += 1;
            return Heard::Fact;
        }
        self.keep(one, |log| &mut log.rings, channel, |line| (ranks, line))
    }

    /// Reads `Trees [0] 1/-1/-1->0->-1 [1] ...`.
    pub(super) fn trees(&mut self, one: &mut One<'_, '_>) -> Heard {
        if !one.line.message.starts_with("Trees [") {
            return Heard::Nothing;
        }
        if !self.is_own(one) {
            return Heard::Other;
        }
        let line = self.proof(one);
        self.log.trees.get_or_insert(line);
        Heard::Fact
    }

    /// Recognises `Connected all rings`, and keeps nothing of it.
    pub(super) fn connected(&mut self, one: &mut One<'_, '_>) -> Heard {
        if one.line.message.starts_with("Connected ") { Heard::Fact } else { Heard::Nothing }
    }

    /// Reads what does not reach what: `P2P is disabled between ...`, `Could not enable P2P between dev ...` and
    /// `peer query failed between dev ...`.
    pub(super) fn refusal(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        const OWN: [&str; 3] = [
            "P2P is disabled between",
            "Could not enable P2P between",
            "peer query failed between",
        ];
        let Some(ends) = OWN.iter().find_map(|own| message.strip_prefix(own)) else {
            return Heard::Nothing;
        };
        let (from, to) = ends.split_once(" and ").unwrap_or((ends, ""));
        let is_device = from.trim_start().starts_with("dev ");
        let end = |text: &str| {
            let word = text.split_whitespace().next_back().unwrap_or_default();
            format!("{} {word}", if is_device { "dev" } else { "GPU" })
        };
        let to = to.trim_start_matches("dev ").split(['.', ' ']).next().unwrap_or_default();
        self.refuse(one, false, (end(from), end(to)))
    }

    pub(super) fn refuse(
        &mut self,
        one: &mut One<'_, '_>,
        of_interface: bool,
        between: (String, String),
    ) -> Heard {
        let is_known = self.log.refusals.iter().any(|it| it.between == between);
        if is_known {
            return Heard::Fact;
        }
        if self.log.refusals.len() < MOST_REFUSALS && one.take() {
            let line = self.proof(one);
            self.log.refusals.push(DirectRefusal { of_interface, between, line });
        } else {
            self.log.skipped += 1;
        }
        Heard::Fact
    }
}

/// The way that stands behind `via`.
fn transport(way: &str) -> Option<LoggedTransport> {
    let way = way.split(" comm ").next().unwrap_or_default().trim_end();
    if way.starts_with("P2P/indirect") {
        return Some(LoggedTransport::Indirect);
    }
    match way.split('/').next()?.trim_end() {
        "P2P" => Some(LoggedTransport::Peer),
        "SHM" => Some(LoggedTransport::SharedMemory),
        "COLLNET" => Some(LoggedTransport::CollNet),
        "NET" => {
            let rest = way.strip_prefix("NET/")?;
            // A plug-in's name may have blanks, and slashes.
            let at = rest
                .match_indices('/')
                .map(|(at, _)| at)
                .find(|at| rest[at + 1..].starts_with(|it: char| it.is_ascii_digit()))?;
            let (interface, behind) = number(&rest[at + 1..])?;
            let through = behind.strip_prefix('(').and_then(number).map(|(rank, _)| rank);
            let network = rest[..at].chars().take(64).collect();
            let gpudirect = behind.contains("/GDRDMA");
            Some(LoggedTransport::Network { network, interface, through, gpudirect })
        }
        _ => None,
    }
}
