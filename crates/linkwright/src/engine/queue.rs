//! The event queue: a clock and what is to happen after it.

mod buckets;

use std::collections::VecDeque;

use thiserror::Error;

use self::buckets::{Buckets, CHUNK};
use crate::units::Picoseconds;

/// An event that was scheduled before the current time.
///
/// A model that schedules into the past has an error of reasoning that would silently
/// reorder cause and effect; the queue refuses, and the simulator reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an event at {time} lies before the current time, {now}; schedule it at {now} or later")]
pub struct PastEvent {
    /// When the event was to happen.
    pub time: Picoseconds,
    /// The queue's current time.
    pub now: Picoseconds,
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    time: u64,
    event: E,
}

/// Events in the order of their times; those at one time in the order of their scheduling.
///
/// The queue keeps the clock too: [`EventQueue::now`] is the time of the event taken last.
///
/// ```
/// use linkwright::engine::EventQueue;
/// use linkwright::units::Picoseconds;
///
/// let mut queue = EventQueue::new();
/// queue.push(Picoseconds(20), "last")?;
/// queue.push(Picoseconds(10), "first")?;
/// queue.push(Picoseconds(10), "second")?;
/// assert_eq!(queue.pop(), Some((Picoseconds(10), "first")));
/// assert_eq!(queue.pop(), Some((Picoseconds(10), "second")));
/// assert!(queue.push(Picoseconds(9), "too late").is_err());
/// # Ok::<(), linkwright::engine::PastEvent>(())
/// ```
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    /// The events up to the horizon, in order.
    front: VecDeque<Entry<E>>,
    horizon: u64,
    /// The events after the horizon.
    later: Buckets<E>,
    len: usize,
    now: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self { front: VecDeque::new(), horizon: 0, later: Buckets::new(), len: 0, now: 0 }
    }

    /// Schedules an event, at the current time or later.
    ///
    /// # Errors
    /// A time before [`EventQueue::now`]; the queue is then as it was.
    #[inline]
    pub fn push(&mut self, time: Picoseconds, event: E) -> Result<(), PastEvent> {
        if time.0 < self.now {
            return Err(PastEvent { time, now: Picoseconds(self.now) });
        }
        let entry = Entry { time: time.0, event };
        if entry.time > self.horizon {
            self.later.push(entry);
        } else {
            self.push_front(entry);
        }
        self.len += 1;
        Ok(())
    }

    /// Puts an event that is not after the horizon in its place.
    fn push_front(&mut self, entry: Entry<E>) {
        if self.front.back().is_none_or(|last| last.time <= entry.time) {
            self.front.push_back(entry);
            return;
        }
        let place = self.front.partition_point(|other| other.time <= entry.time);
        self.front.insert(place, entry);
        if self.front.len() > 2 * CHUNK {
            self.spill();
        }
    }

    /// Draws the horizon in to the first event's time.
    fn spill(&mut self) {
        let Some(first) = self.front.front() else { return };
        self.horizon = first.time;
        let kept = self.front.partition_point(|entry| entry.time <= self.horizon);
        for entry in self.front.drain(kept..) {
            self.later.push(entry);
        }
    }

    /// Takes the next event and sets the clock to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picoseconds, E)> {
        if self.front.is_empty() {
            self.refill();
        }
        let entry = self.front.pop_front()?;
        self.len -= 1;
        self.now = entry.time;
        Some((Picoseconds(entry.time), entry.event))
    }

    fn refill(&mut self) {
        let front = &mut self.front;
        if let Some(horizon) = self.later.take_first(|entries| front.extend(entries)) {
            self.horizon = horizon;
        }
    }

    /// When the next event happens.
    #[must_use]
    pub fn peek_time(&self) -> Option<Picoseconds> {
        let front = self.front.front().map(|entry| entry.time);
        front.or_else(|| self.later.earliest()).map(Picoseconds)
    }

    /// The current time: that of the event taken last, zero before the first.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        Picoseconds(self.now)
    }

    /// How many events wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no event waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_past_is_refused_and_leaves_the_queue_as_it_was() {
        let mut queue = EventQueue::new();
        queue.push(Picoseconds(5), 'a').unwrap();
        assert_eq!(queue.pop(), Some((Picoseconds(5), 'a')));
        let error = queue.push(Picoseconds(4), 'b').unwrap_err();
        assert_eq!(error, PastEvent { time: Picoseconds(4), now: Picoseconds(5) });
        assert!(queue.is_empty());
        assert_eq!(queue.push(Picoseconds(5), 'c'), Ok(()));
        assert_eq!(queue.peek_time(), Some(Picoseconds(5)));
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(times in prop::collection::vec(0_u64..20, 0..200)) {
            let mut queue = EventQueue::new();
            let mut expected: Vec<_> =
                times.iter().enumerate().map(|(at, time)| (Picoseconds(*time), at)).collect();
            for (time, event) in &expected {
                prop_assert_eq!(queue.push(*time, *event), Ok(()));
            }
            expected.sort_by_key(|(time, _)| *time);
            prop_assert_eq!(queue.len(), times.len());
            let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(popped, expected);
        }

        /// Pushes between pops keep the rule: always the earliest, then the oldest.
        #[test]
        fn pushes_and_pops_may_alternate(steps in prop::collection::vec((0_u64..6, any::<bool>()), 0..200)) {
            let mut queue = EventQueue::new();
            let mut waiting: Vec<(Picoseconds, usize)> = Vec::new();
            for (event, (delay, pop)) in steps.into_iter().enumerate() {
                let time = Picoseconds(queue.now().0 + delay);
                prop_assert_eq!(queue.push(time, event), Ok(()));
                waiting.push((time, event));
                if pop {
                    let next = waiting.iter().min().copied();
                    waiting.retain(|entry| Some(*entry) != next);
                    prop_assert_eq!(queue.pop(), next);
                }
            }
        }
    }
}
