//! MPI's matching of messages with receives.
//!
//! A receive names its source and its tag, or takes any: four classes. Each class has its own
//! table of queues. A message looks for its receive in the queue of each class and takes the
//! oldest; a receive looks for its message in one queue. An unexpected message stands in the
//! queues of all classes that its receiver uses. So the cost does not grow with the number of
//! receives posted or messages waiting.

use crate::program::Operation;
use crate::runtime::frames::OperationRef;
use crate::runtime::slab::{NONE, Slab};

use super::bins::{Bins, Key};

const CLASSES: usize = 4;
/// The class of receives that name both source and tag.
const EXACT: u8 = 0;

/// Returns the class of keys that a receive selects by. The classes that a receiver uses are a set
/// of such bits.
fn class(source: Option<u32>, tag: Option<u32>) -> u8 {
    u8::from(source.is_none()) << 1 | u8::from(tag.is_none())
}

/// Holds the set of classes of a receiver without wildcards.
pub(super) const EXACT_ONLY: u8 = 1 << EXACT;

/// The set of the classes of a program's receives.
pub(in crate::runtime) fn classes_of(operations: &[Operation]) -> u8 {
    let receive = |operation: &Operation| match *operation {
        Operation::Receive { from, tag, .. } => Some(1 << class(from, tag)),
        _ => None,
    };
    operations.iter().filter_map(receive).fold(EXACT_ONLY, |classes, class| classes | class)
}

/// Returns the key of a class's queue for a message, without the parts that the class does not
/// select by.
fn masked(key: &Key, class: u8) -> Key {
    let [receiver, context, source, tag] = *key;
    let source = if class & 2 == 0 { source } else { 0 };
    let tag = if class & 1 == 0 { tag } else { 0 };
    [receiver, context, source, tag]
}

/// A receive to which no message has come.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct Posted {
    pub(in crate::runtime) operation: OperationRef,
    pub(in crate::runtime) receiver: u32,
    pub(in crate::runtime) context: u32,
    /// The sender among all ranks; `None` takes any.
    pub(in crate::runtime) source: Option<u32>,
    pub(in crate::runtime) tag: Option<u32>,
    pub(in crate::runtime) size: u64,
    pub(in crate::runtime) since: u64,
    /// Gives its announcement to the sender, if it sent one.
    pub(in crate::runtime) announcement: u32,
    /// Which receive was posted before which.
    pub(in crate::runtime) order: u64,
    pub(in crate::runtime) next: u32,
}

impl Posted {
    fn key(&self) -> Key {
        [self.receiver, self.context, self.source.unwrap_or(0), self.tag.unwrap_or(0)]
    }
}

/// A message that no receive has asked for, with its neighbours in the queue of each class.
#[derive(Debug, Clone, Copy)]
struct Unexpected {
    envelope: u32,
    key: Key,
    before: [u32; CLASSES],
    after: [u32; CLASSES],
}

/// Receives without messages and messages without receives.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    posted_queues: [Bins; CLASSES],
    posted: Slab<Posted>,
    unexpected_queues: [Bins; CLASSES],
    unexpected: Slab<Unexpected>,
    /// How many receives were posted so far.
    order: u64,
}

impl Matcher {
    pub(super) fn new() -> Self {
        Self {
            posted_queues: std::array::from_fn(|_| Bins::new()),
            posted: Slab::new(),
            unexpected_queues: std::array::from_fn(|_| Bins::new()),
            unexpected: Slab::new(),
            order: 0,
        }
    }

    /// How many keys were compared.
    pub(super) fn comparisons(&self) -> u64 {
        self.posted_queues.iter().chain(&self.unexpected_queues).map(|bins| bins.comparisons).sum()
    }

    /// The receive for a message, the oldest that takes it; else the message waits.
    ///
    /// `classes` are those that the receiver uses in this context.
    pub(super) fn arrive(&mut self, key: &Key, classes: u8, envelope: u32) -> Option<Posted> {
        let mut oldest: Option<(u64, u8, u32)> = None;
        for class in in_set(classes) {
            let Some(queue) = self.posted_queues[class as usize].find(&masked(key, class)) else {
                continue;
            };
            let head = queue.head;
            let order = self.posted[head].order;
            if oldest.is_none_or(|(other, ..)| order < other) {
                oldest = Some((order, class, head));
            }
        }
        let Some((_, class, head)) = oldest else {
            self.keep(key, classes, envelope);
            return None;
        };
        let posted = self.posted[head];
        let queues = &mut self.posted_queues[class as usize];
        let key = posted.key();
        let tail = queues.find(&key).map_or(NONE, |queue| queue.tail);
        queues.set(&key, posted.next, tail);
        self.posted.release(head);
        Some(posted)
    }

    fn keep(&mut self, key: &Key, classes: u8, envelope: u32) {
        let (before, after) = ([NONE; CLASSES], [NONE; CLASSES]);
        let index = self.unexpected.insert(Unexpected { envelope, key: *key, before, after });
        for class in in_set(classes) {
            let queues = &mut self.unexpected_queues[class as usize];
            let last = queues.append(&masked(key, class), index);
            self.unexpected[index].before[class as usize] = last;
            if last != NONE {
                self.unexpected[last].after[class as usize] = index;
            }
        }
    }

    /// The envelope of the earliest message that a receive takes; else the receive waits.
    ///
    /// `classes` are those that the receiver uses in this context, this receive's among them.
    pub(super) fn post(&mut self, receive: Posted, classes: u8) -> Option<u32> {
        let class = class(receive.source, receive.tag);
        let key = receive.key();
        if let Some(queue) = self.unexpected_queues[class as usize].find(&key) {
            let head = queue.head;
            return Some(self.take(head, classes));
        }
        let order = self.order;
        self.order += 1;
        let index = self.posted.insert(Posted { order, next: NONE, ..receive });
        let last = self.posted_queues[class as usize].append(&key, index);
        if last != NONE {
            self.posted[last].next = index;
        }
        None
    }

    /// Takes an unexpected message out of all its queues.
    fn take(&mut self, index: u32, classes: u8) -> u32 {
        let message = self.unexpected[index];
        for class in in_set(classes) {
            let at = class as usize;
            let (before, after) = (message.before[at], message.after[at]);
            if before != NONE {
                self.unexpected[before].after[at] = after;
            }
            if after != NONE {
                self.unexpected[after].before[at] = before;
            }
            if before == NONE || after == NONE {
                let key = masked(&message.key, class);
                if let Some(queue) = self.unexpected_queues[at].find(&key) {
                    let head = if before == NONE { after } else { queue.head };
                    let tail = if after == NONE { before } else { queue.tail };
                    self.unexpected_queues[at].set(&key, head, tail);
                }
            }
        }
        self.unexpected.release(index);
        message.envelope
    }

    /// The receives to which no message has come.
    pub(super) fn posted(&self) -> impl Iterator<Item = &Posted> {
        self.posted.kept()
    }

    /// Lists the envelopes of the messages that no receive took.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = u32> {
        self.unexpected.kept().map(|message| message.envelope)
    }
}

fn in_set(classes: u8) -> impl Iterator<Item = u8> {
    (0..CLASSES as u8).filter(move |class| classes >> class & 1 == 1)
}
