//! The structures that the event queue was chosen over, each in its compact form.

use std::cmp::Reverse;
use std::collections::VecDeque;

use linkwright::engine::EventQueue;
use linkwright::units::Picoseconds;

/// Names the duties of a queue in the comparison: the earliest event comes first, the oldest at
/// equal times.
pub trait Queue {
    /// Creates an empty queue.
    fn create() -> Self;
    /// Puts an event in the queue.
    fn push(&mut self, time: u64, event: u64);
    /// Takes the next event, with its time.
    fn pop(&mut self) -> Option<(u64, u64)>;
}

impl Queue for EventQueue<u64> {
    fn create() -> Self {
        Self::new()
    }

    #[inline]
    fn push(&mut self, time: u64, event: u64) {
        Self::push(self, Picoseconds(time), event).expect("no event lies in the past");
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, u64)> {
        Self::pop(self).map(|(time, event)| (time.0, event))
    }
}

/// Holds events in the standard library's heap, over time and sequence.
#[derive(Default)]
pub struct BinaryHeap {
    heap: std::collections::BinaryHeap<Reverse<(u64, u64, u64)>>,
    scheduled: u64,
}

impl Queue for BinaryHeap {
    fn create() -> Self {
        Self::default()
    }

    fn push(&mut self, time: u64, event: u64) {
        self.heap.push(Reverse((time, self.scheduled, event)));
        self.scheduled += 1;
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        self.heap.pop().map(|Reverse((time, _, event))| (time, event))
    }
}

/// Holds events in an implicit heap of four children a node, keyed by one number of 128 bits: time,
/// sequence.
#[derive(Default)]
pub struct FourAryHeap {
    heap: Vec<(u64, u64, u64)>,
    scheduled: u64,
}

fn key(entry: (u64, u64, u64)) -> u128 {
    u128::from(entry.0) << 64 | u128::from(entry.1)
}

impl Queue for FourAryHeap {
    fn create() -> Self {
        Self::default()
    }

    fn push(&mut self, time: u64, event: u64) {
        let entry = (time, self.scheduled, event);
        self.scheduled += 1;
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if key(self.heap[parent]) < key(entry) {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some((last.0, last.2)) };
        let mut at = 0;
        loop {
            let children = at * 4 + 1;
            let mut least = children;
            if let Some(four) = self.heap.get(children..children + 4) {
                let left = usize::from(key(four[1]) < key(four[0]));
                let right = 2 + usize::from(key(four[3]) < key(four[2]));
                least += if key(four[right]) < key(four[left]) { right } else { left };
            } else if children < self.heap.len() {
                let rest = children..self.heap.len();
                least = rest.min_by_key(|child| key(self.heap[*child])).unwrap_or(children);
            } else {
                break;
            }
            if key(last) < key(self.heap[least]) {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = last;
        Some((first.0, first.2))
    }
}

/// Holds events in a monotone heap of 65 buckets, by the highest bit in which a time differs from
/// the last one taken. The source is Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the
/// shortest path problem", 1990. Buckets keep the order of scheduling.
pub struct RadixHeap {
    buckets: Vec<Vec<(u64, u64)>>,
    due: VecDeque<(u64, u64)>,
    last: u64,
}

impl Queue for RadixHeap {
    fn create() -> Self {
        Self { buckets: vec![Vec::new(); 64], due: VecDeque::new(), last: 0 }
    }

    fn push(&mut self, time: u64, event: u64) {
        match time ^ self.last {
            0 => self.due.push_back((time, event)),
            differing => self.buckets[differing.ilog2() as usize].push((time, event)),
        }
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        if self.due.is_empty() {
            let index = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
            let mut bucket = std::mem::take(&mut self.buckets[index]);
            self.last = bucket.iter().map(|entry| entry.0).min()?;
            for (time, event) in bucket.drain(..) {
                self.push(time, event);
            }
            self.buckets[index] = bucket;
        }
        self.due.pop_front()
    }
}

/// Holds events in R. Brown's calendar queue (Communications of the ACM 31, 1988). It is a ring of
/// sorted days that doubles with the number of events. The length of a day follows the gaps between
/// the earliest ones.
pub struct CalendarQueue {
    days: Vec<VecDeque<(u64, u64)>>,
    /// A day is two to this power long.
    day_bits: u32,
    /// The number of the day that the clock is in, from time zero on.
    today: u64,
    len: usize,
}

impl CalendarQueue {
    fn resize(&mut self, days: usize) {
        let mut all: Vec<_> = self.days.iter_mut().flat_map(|day| day.drain(..)).collect();
        all.sort_by_key(|entry| entry.0);
        let sample = &all[..(all.len() / 2).clamp(1, 1_000)];
        let (first, last) = (sample[0].0, sample[sample.len() - 1].0);
        self.day_bits = (3 * (last - first) / sample.len() as u64).max(1).ilog2();
        self.today = first >> self.day_bits;
        self.days.resize(days, VecDeque::new());
        self.len = 0;
        for (time, event) in all {
            self.insert(time, event);
        }
    }

    fn insert(&mut self, time: u64, event: u64) {
        let index = (time >> self.day_bits) as usize & (self.days.len() - 1);
        let day = &mut self.days[index];
        let later = day.iter().rev().take_while(|entry| entry.0 > time).count();
        day.insert(day.len() - later, (time, event));
        self.today = self.today.min(time >> self.day_bits);
        self.len += 1;
    }
}

impl Queue for CalendarQueue {
    fn create() -> Self {
        Self { days: vec![VecDeque::new(); 2], day_bits: 0, today: 0, len: 0 }
    }

    fn push(&mut self, time: u64, event: u64) {
        self.insert(time, event);
        if self.len > 2 * self.days.len() {
            self.resize(2 * self.days.len());
        }
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        if self.len == 0 {
            return None;
        }
        let mask = self.days.len() - 1;
        for _ in 0..self.days.len() {
            let (today, bits) = (self.today, self.day_bits);
            let day = &mut self.days[today as usize & mask];
            if let Some(entry) = day.pop_front_if(|entry| entry.0 >> bits <= today) {
                self.len -= 1;
                return Some(entry);
            }
            self.today += 1;
        }
        // A whole year is empty: the clock jumps to the earliest event.
        let earliest = self.days.iter().filter_map(|day| day.front()).map(|entry| entry.0).min()?;
        self.today = earliest >> self.day_bits;
        self.pop()
    }
}
