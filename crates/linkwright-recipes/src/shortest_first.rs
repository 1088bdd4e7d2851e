//! Adds a policy of network interfaces: it sends the message with the fewest bytes left.

use linkwright::diagnostic::Registered;
use linkwright::network::packet::NicRule;
use linkwright::network::packet::nic::{NicScheduler, QueuedMessage};
use linkwright::network::transport::MessageIndex;
use linkwright::units::Bytes;

/// Sends the message with the fewest bytes left, of equals the one that came first.
#[derive(Debug)]
pub struct ShortestFirst;

/// Holds the messages of an interface, the next one last.
#[derive(Default)]
struct ByBytesLeft(Vec<(Bytes, QueuedMessage)>);

impl Registered for ShortestFirst {
    fn name(&self) -> &'static str {
        "shortest-first"
    }
}

impl NicRule for ShortestFirst {
    fn at_once(&self, _: u16) -> usize {
        1
    }

    fn scheduler(&self, _: u16) -> Box<dyn NicScheduler> {
        Box::new(ByBytesLeft::default())
    }
}

impl NicScheduler for ByBytesLeft {
    fn push(&mut self, message: QueuedMessage) {
        let size = message.message.size;
        let behind = self.0.partition_point(|(left, _)| *left > size);
        self.0.insert(behind, (size, message));
    }

    fn next(&self) -> Option<MessageIndex> {
        self.0.last().map(|(_, message)| message.index)
    }

    fn packetised(&mut self, left: Bytes) {
        match self.0.last_mut() {
            Some(next) if left.0 > 0 => next.0 = left,
            _ => drop(self.0.pop()),
        }
    }
}
