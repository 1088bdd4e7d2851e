//! A network for tests: each GPU injects one message at a time, each arrives a latency later.

use std::num::NonZeroU64;

use crate::engine::{EventQueue, Random};
use crate::network::{Message, Occurrence, Stuck, Transport, TransportError};
use crate::units::Picoseconds;

/// A latency of 1 us, a byte per picosecond; messages of a pair stay in order unless a jitter
/// is set.
pub(super) struct TestNetwork {
    queue: EventQueue<Occurrence>,
    /// When each GPU has injected all it was given.
    injected: Vec<u64>,
    jitter: Option<(Random, NonZeroU64)>,
    events: u64,
    pub(super) messages: Vec<(Picoseconds, Message)>,
    pub(super) under_way: usize,
    pub(super) most_under_way: usize,
    /// Reports itself stuck once so many messages were sent.
    pub(super) stuck_after: usize,
}

pub(super) const LATENCY: u64 = 1_000_000;

impl TestNetwork {
    pub(super) fn new() -> Self {
        Self {
            queue: EventQueue::new(),
            injected: vec![0; 4096],
            jitter: None,
            events: 0,
            messages: Vec::new(),
            under_way: 0,
            most_under_way: 0,
            stuck_after: usize::MAX,
        }
    }

    /// A network that delays each message by chance, so that some overtake others.
    pub(super) fn disordered(seed: u64) -> Self {
        let jitter = NonZeroU64::new(10 * LATENCY).expect("not zero");
        Self { jitter: Some((Random::new(seed), jitter)), ..Self::new() }
    }
}

impl Transport for TestNetwork {
    fn now(&self) -> Picoseconds {
        self.queue.now()
    }

    fn send(&mut self, message: Message) {
        let now = self.queue.now();
        let injected = &mut self.injected[message.source as usize];
        *injected = now.0.max(*injected) + message.size.0;
        let jitter = self.jitter.as_mut().map_or(0, |(random, most)| random.below(*most));
        let arrival = *injected + LATENCY + jitter;
        let (sent, token) = (Picoseconds(*injected), message.token);
        self.queue.push(sent, Occurrence::Sent { token }).expect("not in the past");
        let delivered = Occurrence::Delivered { token };
        self.queue.push(Picoseconds(arrival), delivered).expect("not in the past");
        self.messages.push((now, message));
        self.under_way += 1;
        self.most_under_way = self.most_under_way.max(self.under_way);
    }

    fn wake_at(&mut self, time: Picoseconds, token: u64) {
        self.queue.push(time, Occurrence::Woken { token }).expect("not in the past");
    }

    fn next(&mut self) -> Result<Option<Occurrence>, TransportError> {
        if self.messages.len() >= self.stuck_after {
            let (time, messages) = (self.queue.now(), self.under_way);
            return Err(Stuck { time, messages, cycle: "a test".to_owned() }.into());
        }
        self.events += 1;
        let next = self.queue.pop().map(|(_, occurrence)| occurrence);
        if let Some(Occurrence::Delivered { .. }) = next {
            self.under_way -= 1;
        }
        Ok(next)
    }

    fn events(&self) -> u64 {
        self.events
    }
}
