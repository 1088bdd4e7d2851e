//! Reads which communicators there are, and where their ranks run.

use super::words::{after, count};
use super::{DebugReader, Heard, One};
use crate::doctor::evidence::{ChannelCounts, RankPlace};

/// How many communicators are told apart.
const MOST_COMMUNICATORS: usize = 1 << 12;

/// How many threads that set up communicators are held at once.
const MOST_THREADS: usize = 1 << 16;

impl DebugReader {
    /// Reads `comm 0x... rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 1b000 commId 0x... - Init START`, and its end.
    pub(super) fn communicator(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        let starts = message.ends_with("Init START");
        if !starts && !message.contains("Init COMPLETE") {
            return Heard::Nothing;
        }
        let number = |name| after(message, name).and_then(count);
        let of_rank = message.split_once("comm ").map_or(message, |(_, rest)| rest);
        let Some(rank) = after(of_rank, "rank").and_then(count) else {
            return Heard::Refused("a rank that is no number, or a number that no job has");
        };
        let Some(ranks) = number("nranks").filter(|ranks| rank < *ranks) else {
            return Heard::Refused("a number of ranks that no job has");
        };
        let is_own = self.is_largest(ranks, &name(message, ranks));
        if starts {
            if self.threads.len() < MOST_THREADS {
                self.threads.insert(one.key, is_own);
            }
            return if is_own { Heard::Fact } else { Heard::Other };
        }
        self.threads.remove(&one.key);
        if !is_own {
            return Heard::Other;
        }
        self.own_lines += 1;
        let host = one.line.host.to_owned();
        let device = number("nvmlDev").or_else(|| number("cudaDev")).unwrap_or_default();
        let bus = after(message, "busId").unwrap_or_default().to_owned();
        self.keep(one, |log| &mut log.places, rank, |line| RankPlace { host, device, bus, line })
    }

    /// Tells whether a communicator is the largest so far, and the first of its size. Facts of a
    /// smaller one are forgotten.
    fn is_largest(&mut self, ranks: u32, name: &str) -> bool {
        let is_known = self.communicators.contains(name);
        if !is_known && self.communicators.len() < MOST_COMMUNICATORS {
            self.communicators.insert(name.to_owned());
        }
        let log = &mut self.log;
        if let Some(largest) = log.ranks {
            log.other_communicators += u64::from(!is_known);
            if ranks == largest && log.communicator.as_deref() == Some(name) {
                return true;
            }
            if ranks <= largest {
                return false;
            }
            log.other_lines += self.own_lines;
            log.forget_communicator();
            self.own_lines = 0;
            (self.graphs_of, self.graph_is_open) = (None, false);
            self.threads.values_mut().for_each(|own| *own = false);
        }
        log.ranks = Some(ranks);
        log.communicator = Some(name.to_owned());
        true
    }

    /// Whether a line may be of the largest communicator: its thread sets up no other.
    pub(super) fn is_own(&mut self, one: &One<'_, '_>) -> bool {
        let is_own = self.threads.get(&one.key).copied().unwrap_or(true);
        self.own_lines += u64::from(is_own);
        is_own
    }

    /// Reads `16 coll channels, 16 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer`.
    pub(super) fn channels(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        if !message.contains(" coll channels") {
            return Heard::Nothing;
        }
        if !self.is_own(one) {
            return Heard::Other;
        }
        let of = |kind: &str| {
            let part = message.split(',').find(|part| part.trim().ends_with(kind))?;
            part.split_whitespace().next().and_then(count)
        };
        let (Some(collective), Some(pairs)) = (of(" coll channels"), of(" p2p channels")) else {
            return Heard::Refused("a number of channels that no job has");
        };
        let nvls = of(" nvls channels").unwrap_or_default();
        let line = self.proof(one);
        self.log.channels.get_or_insert(ChannelCounts { collective, nvls, pairs, line });
        Heard::Fact
    }
}

/// Gives the words that tell communicators apart: `commId 0x...`, or the colour of a split one.
fn name(message: &str, ranks: u32) -> String {
    let id = after(message, "commId").map(|id| id.chars().take(64).collect());
    id.unwrap_or_else(|| match after(message, "color") {
        Some(colour) => format!("color {} of {ranks} ranks", count(colour).unwrap_or_default()),
        None => format!("{ranks} ranks"),
    })
}
