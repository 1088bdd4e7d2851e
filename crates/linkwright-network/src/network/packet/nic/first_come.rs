//! Serves messages in the order of their arrival.

use std::collections::VecDeque;

use super::{NicRule, NicScheduler, QueuedMessage};
use crate::diagnostic::Registered;
use crate::network::transport::MessageIndex;
use crate::units::Bytes;

/// Takes all packets of a message, then those of the next: `fcfs`.
#[derive(Debug)]
pub struct FirstComeFirstServed;

/// Holds the messages in the order of their arrival.
#[derive(Debug, Default)]
struct Queue(VecDeque<MessageIndex>);

impl Registered for FirstComeFirstServed {
    fn name(&self) -> &'static str {
        "fcfs"
    }
}

impl NicRule for FirstComeFirstServed {
    fn elsewhere(&self) -> &'static [&'static str] {
        &["fifo", "first-come-first-served"]
    }

    fn at_once(&self, _: u16) -> usize {
        1
    }

    fn scheduler(&self, _: u16) -> Box<dyn NicScheduler> {
        Box::new(Queue::default())
    }
}

impl NicScheduler for Queue {
    fn push(&mut self, message: QueuedMessage) {
        self.0.push_back(message.index);
    }

    fn next(&self) -> Option<MessageIndex> {
        self.0.front().copied()
    }

    fn packetised(&mut self, left: Bytes) {
        if left.0 == 0 {
            self.0.pop_front();
        }
    }
}
