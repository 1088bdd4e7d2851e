//! Orders the messages of a network interface: those with data by a policy, behind those of control.

use std::collections::VecDeque;

use super::{NicPolicy, NicScheduler, QueuedMessage};
use crate::network::transport::MessageIndex;
use crate::units::Bytes;

/// Keeps messages with data in the order of a policy, behind those of control.
///
/// Section III.B of the TraceR-CODES study is of messages with data. Requests to send and leaves
/// arrange for them, and would wait behind whole messages under first come, first served. Interfaces
/// have queues enough to keep them apart.
pub struct NetworkInterface {
    control: VecDeque<MessageIndex>,
    data: Box<dyn NicScheduler>,
}

impl NetworkInterface {
    /// Makes one without messages.
    #[must_use]
    pub fn new(policy: NicPolicy) -> Self {
        Self { control: VecDeque::new(), data: policy.scheduler() }
    }

    /// Takes a message in.
    pub fn push(&mut self, message: QueuedMessage) {
        if message.message.class.control {
            self.control.push_back(message.index);
        } else {
            self.data.push(message);
        }
    }

    /// Does as [`NicScheduler::next`].
    #[must_use]
    pub fn next(&self) -> Option<MessageIndex> {
        self.control.front().copied().or_else(|| self.data.next())
    }

    /// Does as [`NicScheduler::packetised`].
    pub fn packetised(&mut self, left: Bytes) {
        if self.control.is_empty() {
            self.data.packetised(left);
        } else if left.0 == 0 {
            self.control.pop_front();
        }
    }
}
