//! The event queue: a clock and what is to happen after it.
//!
//! The queue is a monotone queue of several levels of buckets. It follows E. V. Denardo and B. L.
//! Fox, "Shortest-route methods: 1. Reaching, pruning, and buckets" (Operations Research 27, 1979).
//! Its buckets keep the order of scheduling and are sorted once they are small. The ladder queue of
//! W. T. Tang, R. S. M. Goh and I. L.-J. Thng does this, too (ACM TOMACS 15, 2005).

mod buckets;

use std::collections::VecDeque;

use thiserror::Error;

use self::buckets::{Buckets, SORTED};
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::units::Picoseconds;

/// An event that was scheduled before the current time.
///
/// A model that schedules into the past has an error of reasoning that would silently reorder cause
/// and effect. The queue refuses, and the simulator reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct PastEvent {
    /// When the event was to happen.
    pub time: Picoseconds,
    /// Gives the queue's current time.
    pub now: Picoseconds,
}

impl Diagnose for PastEvent {
    fn diagnosis(&self) -> Diagnosis {
        let Self { time, now } = self;
        Diagnosis::of(format!("an event at {time} lies before the current time, {now}"))
            .remedy(format!("schedule the event at {now} or later"))
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    time: u64,
    event: E,
}

/// Holds events in the order of their times. Events at one time are in the order of their
/// scheduling.
///
/// The queue keeps the clock too: [`EventQueue::now`] is the time of the event taken last.
///
/// Scheduling and taking an event costs the same however many wait, tens of nanoseconds. No
/// memory is requested once as many events have waited as ever will. A few events
/// near the clock are kept sorted, in front of a horizon; the others lie in buckets after it.
///
/// ```
/// use linkwright_ground::engine::EventQueue;
/// use linkwright_ground::units::Picoseconds;
///
/// let mut queue = EventQueue::new();
/// queue.push(Picoseconds(20), "last")?;
/// queue.push(Picoseconds(10), "first")?;
/// queue.push(Picoseconds(10), "second")?;
/// assert_eq!(queue.pop(), Some((Picoseconds(10), "first")));
/// assert_eq!(queue.pop(), Some((Picoseconds(10), "second")));
/// assert!(queue.push(Picoseconds(9), "too late").is_err());
/// # Ok::<(), linkwright_ground::engine::PastEvent>(())
/// ```
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    /// Holds the events up to the horizon, in order.
    front: VecDeque<Entry<E>>,
    horizon: u64,
    /// Holds the events after the horizon.
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
    /// Makes an empty queue at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self { front: VecDeque::new(), horizon: 0, later: Buckets::new(), len: 0, now: 0 }
    }

    /// Puts an event in the queue, at the current time or later.
    ///
    /// # Errors
    /// A time before [`EventQueue::now`]; the queue is then as it was.
    ///
    /// # Panics
    /// Panics where 2^32 events are in the queue, which take 64 GiB or more.
    #[inline(always)]
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
        if self.front.len() > SORTED {
            self.spill();
        }
    }

    /// Draws the horizon in to the first event's time, so that insertions stay cheap however
    /// many events are scheduled close together.
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

    /// Fills the empty front with the first of the later events.
    #[inline(never)]
    fn refill(&mut self) {
        let front = &mut self.front;
        if let Some(horizon) = self.later.take_first(|entries| front.extend(entries)) {
            self.horizon = horizon;
            if (2..=SORTED).contains(&front.len()) {
                front.make_contiguous().sort_by_key(|entry| entry.time);
            }
        }
    }

    /// Sets the clock to a time at which nothing is scheduled.
    ///
    /// # Errors
    /// Refuses a time before [`EventQueue::now`].
    ///
    /// # Panics
    /// Panics in a debug build for a time after the next event, which it would skip.
    pub fn move_to(&mut self, time: Picoseconds) -> Result<(), PastEvent> {
        if time.0 < self.now {
            return Err(PastEvent { time, now: Picoseconds(self.now) });
        }
        debug_assert!(self.peek_time().is_none_or(|next| time <= next), "an event is passed over");
        self.now = time.0;
        Ok(())
    }

    /// When the next event happens.
    #[inline]
    #[must_use]
    pub fn peek_time(&self) -> Option<Picoseconds> {
        let front = self.front.front().map(|entry| entry.time);
        front.or_else(|| self.later.earliest()).map(Picoseconds)
    }

    /// Returns the current time: the time of the event taken last, zero before the first.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        Picoseconds(self.now)
    }

    /// Counts the events that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Says whether no event waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU64;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::Random;

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

    /// Takes the first event from the queue and from a sorted map, which must agree.
    fn pop_both(
        queue: &mut EventQueue<usize>,
        waiting: &mut BTreeMap<(u64, usize), ()>,
    ) -> Result<(), TestCaseError> {
        let next = waiting.pop_first().map(|((time, event), ())| (Picoseconds(time), event));
        prop_assert_eq!(queue.peek_time(), next.map(|(time, _)| time));
        prop_assert_eq!(queue.pop(), next);
        Ok(())
    }

    /// Spans of all magnitudes: none, within a bucket, a packet's, and up to the end of time.
    fn spans() -> impl Strategy<Value = u64> {
        prop_oneof![
            2 => Just(0),
            3 => 0_u64..100,
            1 => 0_u64..6,
            3 => Just(344_205),
            3 => 10_000_u64..2_000_000,
            1 => (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
        ]
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(
            times in prop::collection::vec(
                prop_oneof![0_u64..20, spans(), u64::MAX - 2_000..=u64::MAX],
                0..400,
            ),
        ) {
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

        /// Tests that pushes between pops keep the rule, from any start on: the earliest, then the
        /// oldest.
        #[test]
        fn pushes_and_pops_may_alternate(
            start in prop_oneof![Just(0), any::<u64>(), u64::MAX - 3_000_000..=u64::MAX],
            steps in prop::collection::vec((spans(), 0_usize..4), 0..600),
        ) {
            let mut queue = EventQueue::new();
            queue.push(Picoseconds(start), usize::MAX).unwrap();
            queue.pop();
            let mut waiting = BTreeMap::new();
            for (event, (span, pops)) in steps.into_iter().enumerate() {
                let time = queue.now().0.saturating_add(span);
                prop_assert_eq!(queue.push(Picoseconds(time), event), Ok(()));
                waiting.insert((time, event), ());
                prop_assert_eq!(queue.len(), waiting.len());
                for _ in 1..pops {
                    pop_both(&mut queue, &mut waiting)?;
                }
                if let Some(past) = queue.now().0.checked_sub(1) {
                    prop_assert!(queue.push(Picoseconds(past), event).is_err());
                }
            }
            while !waiting.is_empty() {
                pop_both(&mut queue, &mut waiting)?;
            }
            prop_assert!(queue.is_empty());
        }

        /// Tests many events a time, and enough near the clock to draw the horizon in.
        #[test]
        fn crowds_keep_their_order(spans in prop::collection::vec(0_u64..40, 1..20)) {
            let mut queue = EventQueue::new();
            let mut waiting = BTreeMap::new();
            for event in 0..4_000 {
                let time = queue.now().0 + spans[event % spans.len()] * (event as u64 % 7);
                prop_assert_eq!(queue.push(Picoseconds(time), event), Ok(()));
                waiting.insert((time, event), ());
                if event % 5 == 0 {
                    pop_both(&mut queue, &mut waiting)?;
                }
            }
            while !waiting.is_empty() {
                pop_both(&mut queue, &mut waiting)?;
            }
        }
    }

    /// Plays a packet network's load of 1,000 waiting events and gives what memory is in use.
    fn play(queue: &mut EventQueue<u64>, random: &mut Random, events: u32) -> (usize, usize) {
        for _ in 0..events {
            let (time, event) = queue.pop().unwrap();
            let span = match random.below(NonZeroU64::new(10).unwrap()) {
                0 => 0,
                1..6 => 344_205,
                _ => 10_000 + random.below(NonZeroU64::new(1_990_000).unwrap()),
            };
            queue.push(Picoseconds(time.0 + span), event).unwrap();
        }
        (queue.front.capacity(), queue.later.capacity())
    }

    #[test]
    fn a_warm_queue_requests_no_memory() {
        let mut queue = EventQueue::new();
        for event in 0..1_000 {
            queue.push(Picoseconds(event * 1_000), event).unwrap();
        }
        let mut random = Random::new(4);
        let warm = play(&mut queue, &mut random, 100_000);
        assert_eq!(play(&mut queue, &mut random, 900_000), warm);
        assert!(warm.0 <= 256 && warm.1 <= 64 * 1024, "{warm:?}");
    }

    /// Tests that a time with 100,000 events takes their memory once, and that later events take it
    /// again.
    #[test]
    fn memory_is_used_again() {
        let mut queue = EventQueue::new();
        let mut capacity = None;
        for round in 1..=20 {
            for event in 0..100_000 {
                queue.push(Picoseconds(round * 1_000_000_000), event).unwrap();
            }
            for event in 0..100_000 {
                assert_eq!(queue.pop(), Some((Picoseconds(round * 1_000_000_000), event)));
            }
            let now = (queue.front.capacity(), queue.later.capacity());
            assert_eq!(*capacity.get_or_insert(now), now);
        }
    }
}
