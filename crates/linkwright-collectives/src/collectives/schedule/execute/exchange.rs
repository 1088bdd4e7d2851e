//! How runs of chunks get from rank to rank.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A set of connections. Each holds a fixed number of messages, is used by one sending and
/// one receiving rank, and keeps their order. Ranks stand on threads, some on each, or, with an
/// implementation over shared memory, may be processes.
pub trait Exchange<T>: Sync {
    /// Whether the next message of a connection has arrived; it then stays.
    fn has_message(&self, connection: usize) -> bool;

    /// Takes the next message, which is there. Its slot stays taken until
    /// [`Self::give_back`].
    fn take(&self, connection: usize) -> Vec<T>;

    /// Frees the slot of a message that was taken. The buffer may be another one.
    fn give_back(&self, connection: usize, buffer: Vec<T>);

    /// Whether a slot is free for the next message; it then stays free.
    fn has_room(&self, connection: usize) -> bool;

    /// Takes a free slot, with an empty buffer to fill.
    fn buffer(&self, connection: usize) -> Vec<T>;

    /// Sends a message in a slot that was taken. The buffer may be another one.
    fn send(&self, connection: usize, message: Vec<T>);

    /// Sleeps until something has happened on a connection of the thread's ranks since it last slept.
    /// Returns false when all ranks must end.
    fn wait(&self, thread: usize) -> bool;

    /// Ends all ranks: one of them has failed.
    fn stop(&self);
}

/// One connection between two ranks, by their threads. Buffers go round in a circle, from the receiver back
/// to the sender, so that nothing is allocated once each slot was used.
#[derive(Debug)]
struct Connection<T> {
    from: usize,
    to: usize,
    messages: Queue<T>,
    free: Queue<T>,
}

/// Buffers in order, with their number beside them so that a look needs no lock.
#[derive(Debug)]
struct Queue<T> {
    length: AtomicUsize,
    buffers: Mutex<VecDeque<Vec<T>>>,
}

impl<T> Queue<T> {
    fn new(buffers: usize) -> Self {
        let length = AtomicUsize::new(buffers);
        let buffers = (0..buffers).map(|_| Vec::new()).collect();
        Self { length, buffers: Mutex::new(buffers) }
    }

    fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    fn push(&self, buffer: Vec<T>) {
        let mut buffers = locked(&self.buffers);
        buffers.push_back(buffer);
        self.length.store(buffers.len(), Ordering::Release);
    }

    fn pop(&self) -> Vec<T> {
        let mut buffers = locked(&self.buffers);
        let buffer = buffers.pop_front().unwrap_or_default();
        self.length.store(buffers.len(), Ordering::Release);
        buffer
    }
}

/// A lock's content; no step leaves it half changed, so a failed holder does no harm.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes one thread.
#[derive(Debug, Default)]
struct Bell {
    state: Mutex<BellState>,
    rings: Condvar,
}

#[derive(Debug, Default)]
struct BellState {
    rung: bool,
    sleeping: bool,
}

impl Bell {
    fn ring(&self) {
        let mut state = locked(&self.state);
        state.rung = true;
        if state.sleeping {
            self.rings.notify_one();
        }
    }

    fn sleep(&self) {
        let mut state = locked(&self.state);
        state.sleeping = true;
        while !state.rung {
            state = self.rings.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *state = BellState::default();
    }
}

/// Holds connections within one process.
#[derive(Debug)]
pub struct ThreadExchange<T> {
    connections: Vec<Connection<T>>,
    bells: Vec<Bell>,
    stopped: AtomicBool,
}

impl<T> ThreadExchange<T> {
    /// Makes connections from and to the given threads, with that many slots each.
    #[must_use]
    pub fn new(threads: usize, ends: &[(usize, usize)], slots: usize) -> Self {
        let connection =
            |&(from, to)| Connection { from, to, messages: Queue::new(0), free: Queue::new(slots) };
        Self {
            connections: ends.iter().map(connection).collect(),
            bells: (0..threads).map(|_| Bell::default()).collect(),
            stopped: AtomicBool::new(false),
        }
    }
}

impl<T: Send> Exchange<T> for ThreadExchange<T> {
    fn has_message(&self, connection: usize) -> bool {
        !self.connections[connection].messages.is_empty()
    }

    fn take(&self, connection: usize) -> Vec<T> {
        self.connections[connection].messages.pop()
    }

    fn give_back(&self, connection: usize, mut buffer: Vec<T>) {
        buffer.clear();
        let connection = &self.connections[connection];
        connection.free.push(buffer);
        self.bells[connection.from].ring();
    }

    fn has_room(&self, connection: usize) -> bool {
        !self.connections[connection].free.is_empty()
    }

    fn buffer(&self, connection: usize) -> Vec<T> {
        self.connections[connection].free.pop()
    }

    fn send(&self, connection: usize, message: Vec<T>) {
        let connection = &self.connections[connection];
        connection.messages.push(message);
        self.bells[connection.to].ring();
    }

    fn wait(&self, thread: usize) -> bool {
        if !self.stopped.load(Ordering::Acquire) {
            self.bells[thread].sleep();
        }
        !self.stopped.load(Ordering::Acquire)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        for bell in &self.bells {
            bell.ring();
        }
    }
}
