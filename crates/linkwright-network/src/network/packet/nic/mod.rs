//! Which message a network interface takes the next packet from.
//!
//! The policies are those of Section III.B of the TraceR-CODES study.

use std::collections::VecDeque;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, closest, shown};
use crate::network::transport::MessageIndex;

/// The messages of one network interface, and which of them is next.
pub trait NicScheduler {
    /// A message arrives at the back of the queue.
    fn push(&mut self, message: MessageIndex);

    /// The message from which the next packet is made; `None` where there is none.
    fn next(&self) -> Option<MessageIndex>;

    /// One packet has been made of the message that was next; `last` if it was its last one.
    fn packetised(&mut self, last: bool);
}

/// First come, first served: all packets of a message, then those of the next.
#[derive(Debug, Clone, Default)]
pub struct FirstComeFirstServed {
    queue: VecDeque<MessageIndex>,
}

impl NicScheduler for FirstComeFirstServed {
    fn push(&mut self, message: MessageIndex) {
        self.queue.push_back(message);
    }

    fn next(&self) -> Option<MessageIndex> {
        self.queue.front().copied()
    }

    fn packetised(&mut self, last: bool) {
        if last {
            self.queue.pop_front();
        }
    }
}

/// Round-robin: one packet of each message in turn.
#[derive(Debug, Clone, Default)]
pub struct RoundRobin {
    queue: VecDeque<MessageIndex>,
}

impl NicScheduler for RoundRobin {
    fn push(&mut self, message: MessageIndex) {
        self.queue.push_back(message);
    }

    fn next(&self) -> Option<MessageIndex> {
        self.queue.front().copied()
    }

    fn packetised(&mut self, last: bool) {
        if let Some(message) = self.queue.pop_front()
            && !last
        {
            self.queue.push_back(message);
        }
    }
}

/// Round-robin among the first N messages of the queue; RR-1 is first come, first served.
#[derive(Debug, Clone)]
pub struct RoundRobinOf {
    /// The first messages of the queue, at most N, the one whose turn it is in front.
    turns: VecDeque<MessageIndex>,
    waiting: VecDeque<MessageIndex>,
    most: usize,
}

impl RoundRobinOf {
    /// Turns among at most so many messages.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { turns: VecDeque::new(), waiting: VecDeque::new(), most: most.max(1) }
    }
}

impl NicScheduler for RoundRobinOf {
    fn push(&mut self, message: MessageIndex) {
        let queue = if self.turns.len() < self.most { &mut self.turns } else { &mut self.waiting };
        queue.push_back(message);
    }

    fn next(&self) -> Option<MessageIndex> {
        self.turns.front().copied()
    }

    fn packetised(&mut self, last: bool) {
        let Some(message) = self.turns.pop_front() else { return };
        let behind = if last { self.waiting.pop_front() } else { Some(message) };
        self.turns.extend(behind);
    }
}

/// A network interface: its messages with data in the order of a policy, behind those of control.
///
/// Section III.B is of messages with data. What arranges for them (requests to send and leaves)
/// would wait behind whole messages under first come, first served; interfaces have queues enough
/// to keep it apart.
#[derive(Debug, Clone)]
pub struct NetworkInterface {
    control: VecDeque<MessageIndex>,
    data: AnyNicScheduler,
}

impl NetworkInterface {
    /// One without messages.
    #[must_use]
    pub fn new(policy: NicPolicy) -> Self {
        Self { control: VecDeque::new(), data: policy.scheduler() }
    }

    /// A message arrives.
    pub fn push(&mut self, message: MessageIndex, control: bool) {
        if control {
            self.control.push_back(message);
        } else {
            self.data.push(message);
        }
    }

    /// As [`NicScheduler::next`].
    #[must_use]
    pub fn next(&self) -> Option<MessageIndex> {
        self.control.front().copied().or_else(|| self.data.next())
    }

    /// As [`NicScheduler::packetised`].
    pub fn packetised(&mut self, last: bool) {
        if self.control.is_empty() {
            self.data.packetised(last);
        } else if last {
            self.control.pop_front();
        }
    }
}

/// The policies of a network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NicPolicy {
    /// [`FirstComeFirstServed`].
    #[default]
    Fcfs,
    /// [`RoundRobin`].
    RoundRobin,
    /// [`RoundRobinOf`] so many messages.
    RoundRobinOf(u16),
}

/// A name that no policy has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct UnknownNicPolicy(pub String);

impl Diagnose for UnknownNicPolicy {
    fn diagnosis(&self) -> Diagnosis {
        let Self(name) = self;
        Diagnosis::of(format!("there is no NIC policy `{}`", shown(name)))
            .remedy(format!("{}there are fcfs, rr, and rr-N for N from 1 (rr-4)", meant(name)))
    }
}

/// A question for the policy that was probably meant, or nothing.
fn meant(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    // The number is the user's, however its prefix is written: `RR4`, `rr_4`, `round-robin-4`.
    let prefix = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let numbered = match (prefix, name[prefix.len()..].parse::<u16>()) {
        ("rr" | "rr-" | "rr_" | "rr " | "round-robin-", Ok(most @ 1..)) => format!("rr-{most}"),
        _ => String::new(),
    };
    let known = match name.as_str() {
        "fifo" | "first-come-first-served" => Some("fcfs"),
        "round-robin" => Some("rr"),
        _ if !numbered.is_empty() => Some(numbered.as_str()),
        // Of two letters, one is already half; only a name of more can be a slip.
        _ if name.len() > 2 => closest(&name, &["fcfs"]),
        _ => None,
    };
    known.map_or(String::new(), |known| format!("did you mean `{known}`? "))
}

impl NicPolicy {
    /// The policy of a name: `fcfs`, `rr`, or `rr-N`.
    ///
    /// # Errors
    /// Any other name.
    pub fn from_name(name: &str) -> Result<Self, UnknownNicPolicy> {
        match name {
            "fcfs" => Ok(Self::Fcfs),
            "rr" => Ok(Self::RoundRobin),
            _ => name
                .strip_prefix("rr-")
                .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .filter(|most| *most > 0)
                .map(Self::RoundRobinOf)
                .ok_or_else(|| UnknownNicPolicy(name.to_owned())),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Fcfs => "fcfs".to_owned(),
            Self::RoundRobin => "rr".to_owned(),
            Self::RoundRobinOf(most) => format!("rr-{most}"),
        }
    }

    /// A scheduler without messages.
    #[must_use]
    pub fn scheduler(self) -> AnyNicScheduler {
        match self {
            Self::Fcfs => AnyNicScheduler::Fcfs(FirstComeFirstServed::default()),
            Self::RoundRobin => AnyNicScheduler::RoundRobin(RoundRobin::default()),
            Self::RoundRobinOf(most) => {
                AnyNicScheduler::RoundRobinOf(RoundRobinOf::new(most.into()))
            }
        }
    }
}

/// Any of the schedulers, dispatched without a virtual call.
#[derive(Debug, Clone)]
pub enum AnyNicScheduler {
    /// First come, first served.
    Fcfs(FirstComeFirstServed),
    /// Round-robin among all.
    RoundRobin(RoundRobin),
    /// Round-robin among the first.
    RoundRobinOf(RoundRobinOf),
}

impl NicScheduler for AnyNicScheduler {
    fn push(&mut self, message: MessageIndex) {
        match self {
            Self::Fcfs(scheduler) => scheduler.push(message),
            Self::RoundRobin(scheduler) => scheduler.push(message),
            Self::RoundRobinOf(scheduler) => scheduler.push(message),
        }
    }

    fn next(&self) -> Option<MessageIndex> {
        match self {
            Self::Fcfs(scheduler) => scheduler.next(),
            Self::RoundRobin(scheduler) => scheduler.next(),
            Self::RoundRobinOf(scheduler) => scheduler.next(),
        }
    }

    fn packetised(&mut self, last: bool) {
        match self {
            Self::Fcfs(scheduler) => scheduler.packetised(last),
            Self::RoundRobin(scheduler) => scheduler.packetised(last),
            Self::RoundRobinOf(scheduler) => scheduler.packetised(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The order of packets when messages of these lengths are there from the start.
    fn packets(policy: NicPolicy, lengths: &[u32]) -> Vec<u32> {
        let mut scheduler = policy.scheduler();
        let mut left = lengths.to_vec();
        (0..lengths.len() as u32).for_each(|message| scheduler.push(message));
        let mut order = Vec::new();
        while let Some(message) = scheduler.next() {
            order.push(message);
            left[message as usize] -= 1;
            scheduler.packetised(left[message as usize] == 0);
        }
        order
    }

    #[test]
    fn the_policies_take_packets_as_the_study_says() {
        let lengths = [2, 3, 1, 2];
        assert_eq!(packets(NicPolicy::Fcfs, &lengths), [0, 0, 1, 1, 1, 2, 3, 3]);
        assert_eq!(packets(NicPolicy::RoundRobin, &lengths), [0, 1, 2, 3, 0, 1, 3, 1]);
        assert_eq!(packets(NicPolicy::RoundRobinOf(2), &lengths), [0, 1, 0, 1, 2, 1, 3, 3]);
    }

    #[test]
    fn names_are_read_and_others_refused() {
        for policy in [NicPolicy::Fcfs, NicPolicy::RoundRobin, NicPolicy::RoundRobinOf(4)] {
            assert_eq!(NicPolicy::from_name(&policy.name()), Ok(policy));
        }
        for name in ["rr-0", "rr-", "rr-+4", "rr-70000", "FCFS", "lifo"] {
            assert!(NicPolicy::from_name(name).unwrap_err().to_string().contains("rr-4"));
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
            let message = NicPolicy::from_name(name).unwrap_err().to_string();
            assert!(message.contains(&format!("did you mean `{policy}`? ")), "{message}");
        }
        for name in ["rr-0", "rr70000", "lifo", "", "4"] {
            let message = NicPolicy::from_name(name).unwrap_err().to_string();
            assert!(!message.contains("did you mean"), "{message}");
        }
    }

    proptest! {
        /// The contract of every policy: each message gives exactly its packets.
        #[test]
        fn every_packet_is_made_once(lengths in prop::collection::vec(1_u32..6, 0..12)) {
            for policy in
                [NicPolicy::Fcfs, NicPolicy::RoundRobin, NicPolicy::RoundRobinOf(1),
                 NicPolicy::RoundRobinOf(2), NicPolicy::RoundRobinOf(4)]
            {
                let order = packets(policy, &lengths);
                for (message, length) in lengths.iter().enumerate() {
                    let made = order.iter().filter(|made| **made == message as u32).count();
                    prop_assert_eq!(made as u32, *length);
                }
            }
        }

        #[test]
        fn one_turn_is_first_come_first_served(lengths in prop::collection::vec(1_u32..6, 0..12)) {
            let served = packets(NicPolicy::Fcfs, &lengths);
            prop_assert_eq!(packets(NicPolicy::RoundRobinOf(1), &lengths), served);
        }

        #[test]
        fn many_turns_are_round_robin(lengths in prop::collection::vec(1_u32..6, 0..12)) {
            let turns = packets(NicPolicy::RoundRobin, &lengths);
            prop_assert_eq!(packets(NicPolicy::RoundRobinOf(12), &lengths), turns);
        }
    }
}
