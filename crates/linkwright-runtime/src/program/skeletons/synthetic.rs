//! Synthetic traffic as a job: every rank sends by a pattern, at a rate, whatever arrives.
//!
//! It represents what `network::synthetic` plays on a whole network, between the ranks of a job that other
//! jobs run beside. The same patterns draw destinations. A rank sends in each slot with a chance, the
//! load. A slot is the time that a link of `bandwidth` takes for one message. Ranks post their receives
//! before they send, so that nothing that is sent waits for a receiver. Patterns go over ranks: `tornado`
//! is half of the ranks on, and there is no `adversarial`, which knows the network.

use serde::Deserialize;

use super::exchange::{compute, receive, send};
use super::{Skeleton, SkeletonError, check_count, check_ranks, parameters, program_of};
use crate::diagnostic::Named as _;
use crate::engine::Random;
use crate::network::synthetic::{Destinations, TrafficPattern};
use crate::program::{MOST_MESSAGE, Program, Rank, RankBuilder, Tag};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The application, for the list of all. It computes nothing.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "messages by a pattern of synthetic traffic, at a rate",
    gpu_speedup: 1.0,
    generate: |ranks, options| parameters::<Synthetic>(NAME, options)?.program(ranks),
};

const NAME: &str = "synthetic";
/// Draws when ranks send, and to whom.
const SENDING: u64 = 3;
/// Limits the messages of a rank in an iteration.
const MOST_MESSAGES: u32 = 1 << 20;
/// Limits the slots that all ranks draw in an iteration: seconds of work.
const MOST_SLOTS: f64 = 1e9;

/// Holds the parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    /// Says by its name who sends to whom; `uniform` by default.
    pub pattern: String,
    /// Gives the chance of a message in each slot, above 0 and up to 1; 0.5 by default.
    pub load: f64,
    /// How large each message is; 4 KiB by default.
    pub message: Bytes,
    /// How many a rank sends in an iteration; 100 by default.
    pub messages: u32,
    /// Sets how long a slot is; 12.5 GB/s by default.
    pub bandwidth: Bandwidth,
    /// The part of messages that goes to rank 0 under `hot-spot`; 0.1 by default.
    pub hot: f64,
    /// Sets every choice by chance; 0 by default.
    pub seed: u32,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self {
            pattern: "uniform".to_owned(),
            load: 0.5,
            message: Bytes(4096),
            messages: 100,
            bandwidth: Bandwidth(12_500_000_000),
            hot: 0.1,
            seed: 0,
        }
    }
}

/// Says when and where a rank sends: how long it waits before each message, and to whom that goes.
type Sends = Vec<(Picoseconds, Rank)>;

impl Synthetic {
    /// Makes the program.
    ///
    /// # Errors
    /// Fewer than two ranks or too many, a pattern that ranks do not have, and parameters out of range.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        check_ranks(NAME, ranks)?;
        check_count(NAME, "messages", self.messages, MOST_MESSAGES, "1 to 1048576")?;
        let refuse = |problem: String| SkeletonError::Options { application: NAME, problem };
        if !(self.load > 0.0 && self.load <= 1.0) {
            let problem = format!("a load of {}; give a share above 0, up to 1", self.load);
            return Err(refuse(problem));
        }
        let messages = f64::from(ranks) * f64::from(self.messages);
        if messages / self.load > MOST_SLOTS {
            let (load, least) = (self.load, messages / MOST_SLOTS);
            let problem =
                format!("a load of {load}, too low for {messages} messages; give {least} or more");
            return Err(refuse(problem));
        }
        if !(0.0..=1.0).contains(&self.hot) {
            return Err(refuse(format!("a hot part of {}; give a share from 0 to 1", self.hot)));
        }
        if self.message.0 == 0 || self.bandwidth.0 == 0 {
            return Err(refuse("a message or a bandwidth of 0; give more".to_owned()));
        }
        if self.message > MOST_MESSAGE {
            return Err(SkeletonError::Message { application: NAME, size: self.message });
        }
        let pattern = TrafficPattern::from_name(&self.pattern);
        let pattern = pattern.map_err(|error| refuse(error.to_string()))?;
        let seed = u64::from(self.seed);
        let destinations = Destinations::between(pattern, ranks, self.hot, seed);
        let destinations = destinations.map_err(|problem| refuse(problem.to_string()))?;
        super::check_operations(NAME, ranks, u64::from(ranks) * 3 * u64::from(self.messages))?;
        let sends: Vec<Sends> = (0..ranks).map(|rank| self.sends(rank, &destinations)).collect();
        let mut arriving: Vec<Vec<(Rank, Tag)>> = vec![Vec::new(); ranks as usize];
        for (rank, of) in (0..ranks).zip(&sends) {
            for (number, (_, to)) in of.iter().enumerate() {
                arriving[*to as usize].push((rank, number as Tag));
            }
        }
        program_of(NAME, ranks, |rank| {
            let mut builder = RankBuilder::default();
            builder.begin_body();
            let mut requests = Vec::new();
            for (from, tag) in &arriving[rank as usize] {
                requests.push(builder.start(receive(*from, *tag, self.message)));
            }
            for (number, (gap, to)) in sends[rank as usize].iter().enumerate() {
                compute(&mut builder, *gap);
                requests.push(builder.start(send(*to, number as Tag, self.message)));
            }
            builder.wait(&requests);
            builder.end_body();
            builder.finish()
        })
    }

    /// Draws when a rank sends, and to whom.
    fn sends(&self, rank: Rank, destinations: &Destinations) -> Sends {
        let stream = u64::from(self.seed) << 32 | u64::from(rank);
        let mut random = Random::stream(stream, SENDING);
        let slot = self.message.0 as f64 / self.bandwidth.0 as f64;
        let mut next = || {
            let mut slots = 1;
            // Of long waits the chance is as small as their length is large.
            while random.uniform() >= self.load {
                slots += 1;
            }
            let gap = Picoseconds::from_seconds(f64::from(slots) * slot);
            (gap, destinations.of(rank, &mut random))
        };
        (0..self.messages).map(|_| next()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Operation;

    fn made(pattern: &str, load: f64) -> Program {
        let of = Synthetic { pattern: pattern.to_owned(), load, ..Synthetic::default() };
        of.program(16).unwrap()
    }

    #[test]
    fn every_message_has_a_receiver_and_none_goes_to_its_sender() {
        for pattern in ["uniform", "permutation", "tornado", "neighbour", "hot-spot"] {
            let program = made(pattern, 0.3);
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            for (rank, of) in (0_u32..).zip(&program.ranks) {
                for operation in of.operations() {
                    match operation {
                        Operation::Send { to, tag, .. } => sent.push((rank, *to, *tag)),
                        Operation::Receive { from, tag, .. } => {
                            received.push((from.unwrap(), rank, tag.unwrap()));
                        }
                        _ => {}
                    }
                }
            }
            assert!(sent.iter().all(|(from, to, _)| from != to), "{pattern}");
            assert_eq!(sent.len(), 1600);
            sent.sort_unstable();
            received.sort_unstable();
            assert_eq!(sent, received, "{pattern}");
        }
    }

    #[test]
    fn ranks_offer_the_load() {
        for load in [0.2, 0.5, 1.0] {
            let program = made("uniform", load);
            let waits = program.ranks.iter().flat_map(|rank| rank.operations());
            let total: u64 = waits
                .map(|operation| match operation {
                    Operation::Compute { duration } => duration.0,
                    _ => 0,
                })
                .sum();
            // 16 ranks send 100 messages of 4,096 bytes at 12.5 GB/s.
            let slots = total as f64 / (4096.0 / 12.5e9 * 1e12) / 1600.0;
            assert!((slots * load - 1.0).abs() < 0.06, "{load}: {slots}");
        }
    }

    #[test]
    fn what_it_cannot_be_is_refused() {
        let refused = |of: Synthetic| of.program(16).unwrap_err().to_string();
        let none = Synthetic { load: 0.0, ..Synthetic::default() };
        assert!(refused(none).contains("give a share above 0"));
        let slow = Synthetic { load: 1e-300, ..Synthetic::default() };
        assert!(refused(slow).contains("give 0.0000016 or more"));
        let unknown = Synthetic { pattern: "tornadoes".to_owned(), ..Synthetic::default() };
        assert!(refused(unknown).contains("tornado"));
        let of_network = Synthetic { pattern: "adversarial".to_owned(), ..Synthetic::default() };
        assert!(refused(of_network).contains("knows the network"));
        assert!(Synthetic::default().program(1).is_err());
    }
}
