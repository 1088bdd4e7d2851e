//! Keeps the things outstanding between a model of the network and its caller: messages under way,
//! and occurrences that have not been asked for.
//!
//! Both models of a cluster's network keep it, the packet model and the flow model, each with
//! what it notes of a message's progress.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::transport::{Message, MessageIndex, Occurrence};

/// Values in places that are used again, the one freed last first.
#[derive(Debug, Clone)]
struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

/// Holds a message under way.
#[derive(Debug, Clone, Copy)]
pub(in crate::network) struct Transfer<P> {
    pub(in crate::network) message: Message,
    /// Keeps the model's notes of its progress.
    pub(in crate::network) progress: P,
}

/// All that a model owes its caller; `P` is what it notes of a message's progress.
#[derive(Debug, Clone)]
pub(in crate::network) struct Outstanding<P> {
    transfers: Slab<Transfer<P>>,
    occurred: VecDeque<Occurrence>,
}

impl<T> Slab<T> {
    const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    fn add(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.places[index as usize] = value;
                index
            }
            None => {
                self.places.push(value);
                self.places.len() as u32 - 1
            }
        }
    }
}

impl<P> Outstanding<P> {
    pub(in crate::network) const fn new() -> Self {
        Self { transfers: Slab::new(), occurred: VecDeque::new() }
    }

    /// Takes a message over.
    pub(in crate::network) fn begin(&mut self, message: Message, progress: P) -> MessageIndex {
        self.transfers.add(Transfer { message, progress })
    }

    /// A message's last byte has left its source.
    pub(in crate::network) fn sent(&mut self, index: MessageIndex) {
        let token = self[index].message.token;
        self.occurred.push_back(Occurrence::Sent { token });
    }

    /// A message has arrived: its index may name another one from now on.
    pub(in crate::network) fn delivered(&mut self, index: MessageIndex) {
        let token = self[index].message.token;
        self.transfers.free.push(index);
        self.occurred.push_back(Occurrence::Delivered { token });
    }

    /// Takes the earliest occurrence that has not been told.
    pub(in crate::network) fn tell(&mut self) -> Option<Occurrence> {
        self.occurred.pop_front()
    }

    /// How many messages have not arrived.
    pub(in crate::network) fn messages(&self) -> usize {
        self.transfers.places.len() - self.transfers.free.len()
    }
}

impl<P> Index<MessageIndex> for Outstanding<P> {
    type Output = Transfer<P>;

    fn index(&self, index: MessageIndex) -> &Transfer<P> {
        &self.transfers.places[index as usize]
    }
}

impl<P> IndexMut<MessageIndex> for Outstanding<P> {
    fn index_mut(&mut self, index: MessageIndex) -> &mut Transfer<P> {
        &mut self.transfers.places[index as usize]
    }
}
