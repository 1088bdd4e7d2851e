//! Holds the completions of active flows, the earliest first, each movable by its flow's slot.

use super::FlowId;
use crate::units::Picoseconds;

/// A binary heap that knows where each slot's entry lies.
#[derive(Debug, Clone, Default)]
pub(super) struct Completions {
    heap: Vec<(Picoseconds, FlowId)>,
    /// Gives, for each slot, the index of its entry.
    places: Vec<Option<u32>>,
}

impl Completions {
    /// Returns the earliest completion. Among equal ones it is the one of the lowest id.
    pub(super) fn first(&self) -> Option<(Picoseconds, FlowId)> {
        self.heap.first().copied()
    }

    /// Adds a flow's completion or moves it to another time.
    pub(super) fn set(&mut self, flow: FlowId, time: Picoseconds) {
        if self.places.len() <= flow.slot() {
            self.places.resize(flow.slot() + 1, None);
        }
        match self.places[flow.slot()] {
            Some(place) => {
                self.heap[place as usize] = (time, flow);
                self.restore(place as usize);
            }
            None => {
                self.heap.push((time, flow));
                self.rise(self.heap.len() - 1);
            }
        }
    }

    /// Removes a slot's entry where it has one.
    pub(super) fn remove(&mut self, slot: u32) {
        let place = self.places.get_mut(slot as usize).and_then(Option::take);
        if let Some(place) = place {
            self.heap.swap_remove(place as usize);
            if (place as usize) < self.heap.len() {
                self.restore(place as usize);
            }
        }
    }

    fn restore(&mut self, place: usize) {
        if self.rise(place) == place {
            self.sink(place);
        }
    }

    /// Moves an entry up to its place and gives that; those above it come down by one each.
    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.heap[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if !is_before(entry, self.heap[above]) {
                break;
            }
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, entry);
        place
    }

    /// Moves an entry down to its place; the earlier one of each two below it comes up by one.
    fn sink(&mut self, mut place: usize) {
        let (entry, start) = (self.heap[place], place);
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && is_before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !is_before(self.heap[child], entry) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        if place > start {
            self.put(place, entry);
        }
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (Picoseconds, FlowId)) {
        self.heap[place] = entry;
        self.places[entry.1.slot()] = Some(place as u32);
    }
}

/// Compares as the pairs do, but in code that an unoptimised build takes few steps for.
#[inline]
fn is_before(a: (Picoseconds, FlowId), b: (Picoseconds, FlowId)) -> bool {
    a.0.0 < b.0.0 || a.0.0 == b.0.0 && a.1 < b.1
}
