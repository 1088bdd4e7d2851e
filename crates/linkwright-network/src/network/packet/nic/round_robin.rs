//! Takes one packet of each message in turn: of all messages, or of those that came first.

use std::collections::VecDeque;

use super::{NicRule, NicScheduler, QueuedMessage};
use crate::diagnostic::Registered;
use crate::network::transport::MessageIndex;
use crate::units::Bytes;

/// Takes one packet of each message in turn: `rr`.
#[derive(Debug)]
pub struct RoundRobin;

/// Takes turns among the first N messages of the queue: `rr-N`. With one it is first come, first served.
#[derive(Debug)]
pub struct RoundRobinOf;

/// Holds the first messages of the queue, the one whose turn it is in front, and those behind them.
#[derive(Debug)]
struct Turns {
    turns: VecDeque<MessageIndex>,
    waiting: VecDeque<MessageIndex>,
    most: usize,
}

impl Turns {
    fn of(most: usize) -> Box<dyn NicScheduler> {
        Box::new(Self { turns: VecDeque::new(), waiting: VecDeque::new(), most })
    }
}

impl Registered for RoundRobin {
    fn name(&self) -> &'static str {
        "rr"
    }
}

impl NicRule for RoundRobin {
    fn elsewhere(&self) -> &'static [&'static str] {
        &["round-robin"]
    }

    fn at_once(&self, _: u16) -> usize {
        usize::MAX
    }

    fn scheduler(&self, _: u16) -> Box<dyn NicScheduler> {
        Turns::of(usize::MAX)
    }
}

impl Registered for RoundRobinOf {
    fn name(&self) -> &'static str {
        "rr-N"
    }
}

impl NicRule for RoundRobinOf {
    fn example(&self) -> &'static str {
        "rr-4"
    }

    fn elsewhere(&self) -> &'static [&'static str] {
        &["rrN", "rr_N", "rr N", "round-robin-N"]
    }

    fn at_once(&self, number: u16) -> usize {
        usize::from(number)
    }

    fn scheduler(&self, number: u16) -> Box<dyn NicScheduler> {
        Turns::of(usize::from(number))
    }
}

impl NicScheduler for Turns {
    fn push(&mut self, message: QueuedMessage) {
        let queue = if self.turns.len() < self.most { &mut self.turns } else { &mut self.waiting };
        queue.push_back(message.index);
    }

    fn next(&self) -> Option<MessageIndex> {
        self.turns.front().copied()
    }

    fn packetised(&mut self, left: Bytes) {
        let Some(message) = self.turns.pop_front() else { return };
        let behind = if left.0 == 0 { self.waiting.pop_front() } else { Some(message) };
        self.turns.extend(behind);
    }
}
