//! Synthetic traffic as a job: every rank sends by a pattern, at a rate or in a closed loop.
//!
//! It represents what `network::synthetic` plays on a whole network, between the ranks of a job that other
//! jobs run beside. The same patterns draw destinations, and the same keys say when ranks send. Under a rate a rank
//! sends in each slot with a chance, the load. A slot is the time that a link of `bandwidth` takes for one message. In a
//! closed loop a rank has `in_flight` messages under way. An answer of no bytes tells it of each arrival, and the next
//! follows. A loop that is alone in a network has no such answers. Messages of the warm-up come before the main loop, in
//! a region of their own, and nobody waits for them before it.
//!
//! Ranks post their receives before they send, so that nothing that is sent waits for a receiver. Patterns go over
//! ranks: `tornado` is half of the ranks on. `adversarial` goes by the nodes at which ranks stand.

mod sending;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use self::sending::{Part, Sends, Traffic};
use super::{Skeleton, SkeletonError, check_count, check_ranks, parameters, program_of};
use crate::diagnostic::Named as _;
use crate::engine::Random;
use crate::network::synthetic::{Destinations, Places, TrafficPattern};
use crate::program::{MOST_MESSAGE, Program, Rank};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The application, for the list of all. It computes nothing.
pub const APPLICATION: Skeleton = Skeleton {
    name: NAME,
    summary: "messages by a pattern of synthetic traffic, at a rate or in a closed loop",
    gpu_speedup: 1.0,
    placed: Some((
        |options| options.get("pattern").and_then(toml::Value::as_str) == Some(BY_PLACE),
        |options, places| parameters::<Synthetic>(NAME, options)?.program_at(places),
    )),
    generate: |ranks, options| parameters::<Synthetic>(NAME, options)?.program(ranks),
};

const NAME: &str = "synthetic";
/// Names the pattern that goes by where ranks stand.
const BY_PLACE: &str = "adversarial";
/// Draws when ranks send, and to whom.
const SENDING: u64 = 3;
/// Limits the messages of a rank in an iteration, and in a warm-up.
const MOST_MESSAGES: u32 = 1 << 20;
/// Limits the slots that all ranks draw in an iteration: seconds of work.
const MOST_SLOTS: f64 = 1e9;
/// Limits the messages that a rank has under way.
const MOST_IN_FLIGHT: u32 = 65_536;
/// Sends this share where nobody says when to send.
const LOAD: f64 = 0.5;

/// Holds the parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    /// Says by its name who sends to whom; `uniform` by default.
    pub pattern: String,
    /// Gives the chance of a message in each slot, above 0 and up to 1; 0.5 where nothing is said of `in_flight`.
    pub load: Option<f64>,
    /// Keeps this number of messages of each rank under way instead.
    pub in_flight: Option<u32>,
    /// How large each message is; 4 KiB by default.
    pub message: Bytes,
    /// How many a rank sends in an iteration; 100 by default.
    pub messages: u32,
    /// Counts the slots of sending before the main loop, or the messages of a closed loop; none by default.
    pub warm_up: u32,
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
            load: None,
            in_flight: None,
            message: Bytes(4096),
            messages: 100,
            warm_up: 0,
            bandwidth: Bandwidth(12_500_000_000),
            hot: 0.1,
            seed: 0,
        }
    }
}

impl Synthetic {
    /// Makes the program.
    ///
    /// # Errors
    /// Fewer than two ranks or too many, a pattern that is none or that goes by where ranks stand, and parameters out of
    /// range.
    pub fn program(&self, ranks: u32) -> Result<Program, SkeletonError> {
        let pattern = self.check(ranks)?;
        let destinations = Destinations::between(pattern, ranks, self.hot, u64::from(self.seed));
        self.sending(ranks, &destinations.map_err(|problem| refused(problem.to_string()))?)
    }

    /// Makes the program of ranks that stand at nodes of a fabric, which sends by the pattern that the fabric carries
    /// worst.
    ///
    /// # Errors
    /// Fails as [`Self::program`] does, but for the pattern.
    pub fn program_at(&self, places: &Places<'_>) -> Result<Program, SkeletonError> {
        let ranks = places.nodes.len() as u32;
        self.check(ranks)?;
        let destinations = Destinations::adversarial_at(places);
        self.sending(ranks, &destinations.map_err(|problem| refused(problem.to_string()))?)
    }

    /// Gives the pattern, where every parameter can be.
    fn check(&self, ranks: u32) -> Result<TrafficPattern, SkeletonError> {
        check_ranks(NAME, ranks)?;
        check_count(NAME, "messages", self.messages, MOST_MESSAGES, "1 to 1048576")?;
        if self.warm_up > MOST_MESSAGES {
            let problem = format!("a warm-up of {}; give 1048576 or less", self.warm_up);
            return Err(refused(problem));
        }
        if let Some(in_flight) = self.in_flight {
            check_count(NAME, "in_flight", in_flight, MOST_IN_FLIGHT, "1 to 65536")?;
            if self.load.is_some() {
                let problem = "a load beside messages in flight; give one of both";
                return Err(refused(problem.to_owned()));
            }
        }
        let load = self.load();
        if !(load > 0.0 && load <= 1.0) {
            return Err(refused(format!("a load of {load}; give a share above 0, up to 1")));
        }
        let messages = f64::from(ranks) * f64::from(self.messages);
        if messages / load > MOST_SLOTS {
            let least = messages / MOST_SLOTS;
            let problem =
                format!("a load of {load}, too low for {messages} messages; give {least} or more");
            return Err(refused(problem));
        }
        if !(0.0..=1.0).contains(&self.hot) {
            return Err(refused(format!("a hot part of {}; give a share from 0 to 1", self.hot)));
        }
        if self.message.0 == 0 || self.bandwidth.0 == 0 {
            return Err(refused("a message or a bandwidth of 0; give more".to_owned()));
        }
        if self.message > MOST_MESSAGE {
            return Err(SkeletonError::Message { application: NAME, size: self.message });
        }
        let all = u64::from(self.messages) + u64::from(self.warm_up);
        super::check_operations(NAME, ranks, u64::from(ranks) * 5 * all)?;
        TrafficPattern::from_name(&self.pattern).map_err(|error| refused(error.to_string()))
    }

    fn load(&self) -> f64 {
        self.load.unwrap_or(LOAD)
    }

    /// Makes the program of ranks with these destinations.
    fn sending(&self, ranks: u32, to: &Destinations) -> Result<Program, SkeletonError> {
        let drawn: Vec<[Sends; 2]> = (0..ranks).map(|rank| self.sends(rank, to)).collect();
        let [warm_up, window] = [0, 1].map(|part| Part::of(&drawn, part));
        let traffic = Traffic { size: self.message, in_flight: self.in_flight };
        let mut program = program_of(NAME, ranks, |rank| traffic.program(rank, &warm_up, &window))?;
        if self.warm_up > 0 {
            program.regions = sending::REGIONS.map(str::to_owned).to_vec();
        }
        Ok(program)
    }

    /// Draws when a rank sends and to whom: in the warm-up, and in an iteration.
    fn sends(&self, rank: Rank, destinations: &Destinations) -> [Sends; 2] {
        let stream = u64::from(self.seed) << 32 | u64::from(rank);
        let mut random = Random::stream(stream, SENDING);
        let slot = self.message.0 as f64 / self.bandwidth.0 as f64;
        if self.in_flight.is_some() {
            let mut next = || (Picoseconds(0), destinations.of(rank, &mut random));
            return [self.warm_up, self.messages].map(|count| (0..count).map(|_| next()).collect());
        }
        let load = self.load();
        let mut waited = || {
            let mut slots = 1_u32;
            // Of long waits the chance is as small as their length is large.
            while random.uniform() >= load {
                slots += 1;
            }
            (slots, destinations.of(rank, &mut random))
        };
        let timed =
            |(slots, to): (u32, Rank)| (Picoseconds::from_seconds(f64::from(slots) * slot), to);
        let (mut warm, mut slots) = (Sends::new(), 0);
        while slots < self.warm_up {
            let next = waited();
            slots = slots.saturating_add(next.0);
            warm.push(timed(next));
        }
        [warm, (0..self.messages).map(|_| timed(waited())).collect()]
    }
}

const fn refused(problem: String) -> SkeletonError {
    SkeletonError::Options { application: NAME, problem }
}
