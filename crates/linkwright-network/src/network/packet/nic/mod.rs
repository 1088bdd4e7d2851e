//! Which message a network interface takes the next packet from.
//!
//! A [`NicRule`] says in one file all that a network asks of it. [`nic_rules`] has those of Section
//! III.B of the TraceR-CODES study.

pub mod contract;
mod first_come;
mod interface;
mod round_robin;

pub use first_come::FirstComeFirstServed;
pub use interface::NetworkInterface;
pub use round_robin::{RoundRobin, RoundRobinOf};

use std::fmt;
use std::iter::once;

use crate::diagnostic::{Registered, Registry, UnknownName, closest, shown};
use crate::network::transport::{Message, MessageIndex};
use crate::units::{Bytes, Picoseconds};

/// A message at its network interface, with all that a rule may ask of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Tells it from others in the network.
    pub index: MessageIndex,
    /// Says its size, its ends and its class.
    pub message: Message,
    /// Tells when it came to the interface.
    pub arrived: Picoseconds,
}

/// The messages of one network interface, and which of them is next.
pub trait NicScheduler {
    /// Takes in a message that arrives.
    fn push(&mut self, message: QueuedMessage);

    /// Gives the message from which the next packet is made; `None` where there is none.
    fn next(&self) -> Option<MessageIndex>;

    /// Notes that a packet was made of the message that was next, and how many of its bytes are left. At
    /// none it was the last one. As flows, messages begin whole: none is left then.
    fn packetised(&mut self, left: Bytes);
}

/// Orders what network interfaces send; people choose it by its name.
///
/// A name that ends in `N` stands for all with a number there, from one: `rr-N` for `rr-4`. The rule
/// is told the number; of any other name it is zero.
pub trait NicRule: Registered + fmt::Debug {
    /// Gives a name that people may write.
    fn example(&self) -> &'static str {
        self.name()
    }

    /// Lists other names that people use elsewhere, in small letters, with `N` as in the name.
    fn elsewhere(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns how many messages an interface sends at once as flows.
    fn at_once(&self, number: u16) -> usize;

    /// Makes what orders the messages of an interface that has none yet.
    fn scheduler(&self, number: u16) -> Box<dyn NicScheduler>;
}

impl PartialEq for dyn NicRule {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn NicRule {}

/// Lists Linkwright's own rules.
#[must_use]
pub fn nic_rules() -> Registry<dyn NicRule> {
    Registry::new("NIC policy", &[&FirstComeFirstServed, &RoundRobin, &RoundRobinOf])
}

/// A rule that somebody chose, with its number where its name ends in one: `fcfs`, `rr-4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicPolicy {
    rule: &'static dyn NicRule,
    number: u16,
}

impl NicPolicy {
    /// Stands for [`FirstComeFirstServed`].
    pub const FCFS: Self = Self { rule: &FirstComeFirstServed, number: 0 };
    /// Stands for [`RoundRobin`].
    pub const ROUND_ROBIN: Self = Self { rule: &RoundRobin, number: 0 };

    /// Takes turns among the first N messages, as [`RoundRobinOf`] does.
    #[must_use]
    pub fn round_robin_of(most: u16) -> Self {
        Self { rule: &RoundRobinOf, number: most.max(1) }
    }

    /// Finds the policy of a name: of Linkwright's own `fcfs`, `rr` or `rr-N`.
    ///
    /// # Errors
    /// A name that no rule has.
    pub fn named(rules: &Registry<dyn NicRule>, name: &str) -> Result<Self, UnknownName> {
        let of_rule = |rule: &'static dyn NicRule| Self::by(rule, rule.name(), name);
        if let Some(own) = rules.iter().find_map(of_rule) {
            return Ok(own);
        }
        if let Some(found) = rules.find(name) {
            return found.map(|rule| Self { rule, number: 0 });
        }
        Err(UnknownName {
            what: "NIC policy",
            name: shown(name),
            instead: format!("{}use {}", meant(rules, name), told(rules)),
        })
    }

    /// Gives the policies of a rule with a few numbers, or its only one.
    pub fn samples(rule: &'static dyn NicRule) -> impl Iterator<Item = Self> {
        let numbers: &[u16] = if is_numbered(rule.name()) { &[1, 2, 4] } else { &[0] };
        numbers.iter().map(move |number| Self { rule, number: *number })
    }

    /// Reads a name as a pattern has it, such as `rr-N`.
    fn by(rule: &'static dyn NicRule, pattern: &str, name: &str) -> Option<Self> {
        let Some(prefix) = pattern.strip_suffix('N') else {
            return (pattern == name).then_some(Self { rule, number: 0 });
        };
        let digits = name.strip_prefix(prefix)?;
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| is_number && *number > 0)?;
        Some(Self { rule, number })
    }

    /// Gives its name.
    #[must_use]
    pub fn name(self) -> String {
        let name = self.rule.name();
        let of_number = |prefix| format!("{prefix}{}", self.number);
        name.strip_suffix('N').map_or_else(|| name.to_owned(), of_number)
    }

    /// Does as [`NicRule::at_once`].
    #[must_use]
    pub fn at_once(self) -> usize {
        self.rule.at_once(self.number)
    }

    /// Does as [`NicRule::scheduler`].
    #[must_use]
    pub fn scheduler(self) -> Box<dyn NicScheduler> {
        self.rule.scheduler(self.number)
    }
}

fn is_numbered(name: &str) -> bool {
    name.ends_with('N')
}

/// Asks for the policy that was probably meant, or says nothing.
fn meant(rules: &Registry<dyn NicRule>, name: &str) -> String {
    let name = name.to_ascii_lowercase();
    // The number is the user's, however its prefix is written: `RR4`, `rr_4`, `round-robin-4`.
    let written = |rule: &'static dyn NicRule| {
        let patterns = once(rule.name()).chain(rule.elsewhere().iter().copied());
        patterns.filter_map(|pattern| NicPolicy::by(rule, pattern, &name)).next()
    };
    let known = rules.iter().find_map(written).map(NicPolicy::name).or_else(|| {
        // Of two letters, one is already half; only a name of more can be a slip.
        let long = |name: &&str| name.len() > 2 && !is_numbered(name);
        let names: Vec<_> = rules.names().into_iter().filter(long).collect();
        closest(&name, &names).filter(|_| name.len() > 2).map(str::to_owned)
    });
    known.map_or(String::new(), |known| format!("did you mean `{known}`? "))
}

/// Lists the names as a sentence does.
fn told(rules: &Registry<dyn NicRule>) -> String {
    let name = |rule: &dyn NicRule| match rule.name() {
        name if is_numbered(name) => format!("{name} for N from 1 ({})", rule.example()),
        name => name.to_owned(),
    };
    let mut names: Vec<_> = rules.iter().map(name).collect();
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{}, or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::contract::Arriving;
    use super::*;

    fn named(name: &str) -> Result<NicPolicy, UnknownName> {
        NicPolicy::named(&nic_rules(), name)
    }

    /// The order of packets when messages of these lengths are there from the start.
    fn packets(policy: NicPolicy, lengths: &[u32]) -> Vec<u32> {
        let there = |packets: &u32| Arriving { behind: 0, packets: *packets };
        let messages: Vec<_> = lengths.iter().map(there).collect();
        contract::every_packet_is_made_once(policy, &messages).unwrap()
    }

    #[test]
    fn the_policies_take_packets_as_the_study_says() {
        let lengths = [2, 3, 1, 2];
        assert_eq!(packets(NicPolicy::FCFS, &lengths), [0, 0, 1, 1, 1, 2, 3, 3]);
        assert_eq!(packets(NicPolicy::ROUND_ROBIN, &lengths), [0, 1, 2, 3, 0, 1, 3, 1]);
        assert_eq!(packets(NicPolicy::round_robin_of(2), &lengths), [0, 1, 0, 1, 2, 1, 3, 3]);
    }

    #[test]
    fn names_are_read_and_others_refused() {
        let four = NicPolicy::round_robin_of(4);
        for policy in [NicPolicy::FCFS, NicPolicy::ROUND_ROBIN, four] {
            assert_eq!(named(&policy.name()), Ok(policy));
        }
        assert_eq!(four.name(), "rr-4");
        for name in ["rr-0", "rr-", "rr-+4", "rr-70000", "rr-N", "FCFS", "lifo"] {
            let message = named(name).unwrap_err().to_string();
            let told = "use fcfs, rr, or rr-N for N from 1 (rr-4)";
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn a_slip_is_told_the_policy_that_was_meant() {
        for (name, policy) in [
            ("rr4", "rr-4"),
            ("RR-16", "rr-16"),
            ("rr_2", "rr-2"),
            ("round-robin", "rr"),
            ("round-robin-4", "rr-4"),
            ("fifo", "fcfs"),
            ("FCFS", "fcfs"),
            ("fcf", "fcfs"),
        ] {
            let message = named(name).unwrap_err().to_string();
            assert!(message.contains(&format!("did you mean `{policy}`? ")), "{message}");
        }
        for name in ["rr-0", "rr70000", "lifo", "", "4"] {
            let message = named(name).unwrap_err().to_string();
            assert!(!message.contains("did you mean"), "{message}");
        }
    }

    #[test]
    fn a_packet_too_many_and_one_too_few_are_seen() {
        /// Makes one packet too few of every message, or one too many of the last.
        #[derive(Debug)]
        struct Wrong(&'static str);
        struct Keeps(Vec<MessageIndex>, bool);
        impl NicScheduler for Keeps {
            fn push(&mut self, message: QueuedMessage) {
                self.0.push(message.index);
            }
            fn next(&self) -> Option<MessageIndex> {
                self.0.last().copied()
            }
            fn packetised(&mut self, left: Bytes) {
                if self.1 || left.0 == 0 && self.0.len() > 1 {
                    self.0.pop();
                }
            }
        }
        impl Registered for Wrong {
            fn name(&self) -> &'static str {
                self.0
            }
        }
        impl NicRule for Wrong {
            fn at_once(&self, _: u16) -> usize {
                1
            }
            fn scheduler(&self, _: u16) -> Box<dyn NicScheduler> {
                Box::new(Keeps(Vec::new(), self.0 == "few"))
            }
        }
        for (rule, said) in [(&Wrong("few"), "keeps packets"), (&Wrong("many"), "too many")] {
            let fault = contract::hold(&Registry::new("rule", &[rule])).unwrap_err();
            assert!(fault.contains(said), "{fault}");
        }
    }

    proptest! {
        /// The contract of every rule: each message gives exactly its packets.
        #[test]
        fn every_packet_is_made_once(
            messages in prop::collection::vec((0_usize..40, 1_u32..6), 0..12),
        ) {
            let arriving = |(behind, packets): &(usize, u32)| {
                Arriving { behind: *behind, packets: *packets }
            };
            let messages: Vec<_> = messages.iter().map(arriving).collect();
            for policy in nic_rules().iter().flat_map(NicPolicy::samples) {
                let order = contract::every_packet_is_made_once(policy, &messages).unwrap();
                for (message, Arriving { packets, .. }) in (0..).zip(&messages) {
                    let made = order.iter().filter(|made| **made == message).count();
                    prop_assert_eq!(made as u32, *packets);
                }
            }
        }

        #[test]
        fn one_turn_is_first_come_first_served(lengths in prop::collection::vec(1_u32..6, 0..12)) {
            let served = packets(NicPolicy::FCFS, &lengths);
            prop_assert_eq!(packets(NicPolicy::round_robin_of(1), &lengths), served);
        }

        #[test]
        fn many_turns_are_round_robin(lengths in prop::collection::vec(1_u32..6, 0..12)) {
            let turns = packets(NicPolicy::ROUND_ROBIN, &lengths);
            prop_assert_eq!(packets(NicPolicy::round_robin_of(12), &lengths), turns);
        }
    }
}
