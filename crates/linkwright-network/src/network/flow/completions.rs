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
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.heap[place] < self.heap[(place - 1) / 2] {
            self.heap.swap(place, (place - 1) / 2);
            self.record(place);
            place = (place - 1) / 2;
        }
        self.record(place);
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let least = children.min_by_key(|child| self.heap[*child]);
            let Some(child) = least.filter(|child| self.heap[*child] < self.heap[place]) else {
                break;
            };
            self.heap.swap(place, child);
            self.record(place);
            place = child;
        }
        self.record(place);
    }

    fn record(&mut self, place: usize) {
        self.places[self.heap[place].1.slot()] = Some(place as u32);
    }
}
