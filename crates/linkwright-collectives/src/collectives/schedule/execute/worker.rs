//! Ranks at work: those of one thread take turns, and so do the blocks of each.

use std::collections::BTreeMap;
use std::thread;

use super::element::{Element, Reduction};
use super::exchange::Exchange;
use super::memory::{Part, Piece, RankMemory, Stretch, Widths};
use crate::collectives::schedule::walk::{self, Connection, Ends, WalkedStep};
use crate::collectives::schedule::{Schedule, StepId, StepOperation};

/// Turns in which no block could go on before the thread sleeps. Others must go on then, so that
/// each such turn gives the core away.
const IDLE_TURNS: usize = 16;

/// Holds the connections of a schedule, by their numbers.
pub(super) type Connections = BTreeMap<Connection, usize>;

/// Numbers the connections in the order of sender, receiver and channel.
pub(super) fn connections(schedule: &Schedule) -> Connections {
    let mut connections = Connections::new();
    for block in walk::blocks(schedule) {
        connections.extend(block.ends().all().map(|name| (name, 0)));
    }
    for (number, connection) in connections.values_mut().enumerate() {
        *connection = number;
    }
    connections
}

/// Holds a step with everything looked up.
#[derive(Debug, Clone)]
struct Task<'a> {
    operation: StepOperation,
    source: Option<Stretch>,
    destination: Option<Stretch>,
    after: &'a [StepId],
}

/// A block, and how far it has come.
#[derive(Debug, Clone)]
struct Block<'a> {
    ends: Ends<usize>,
    tasks: Vec<Task<'a>>,
    /// Counts the tasks done, over all pieces.
    done: usize,
}

/// The pieces into which every chunk is cut: those of the even part, then those of the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    /// Counts the elements of a chunk in each part.
    pub(super) widths: Widths,
    /// Elements of a piece; the last of a part may be shorter.
    pub(super) piece: usize,
}

impl Pieces {
    const fn of_even(self) -> usize {
        self.widths.even.div_ceil(self.piece)
    }

    const fn count(self) -> usize {
        self.of_even() + self.widths.rest.div_ceil(self.piece)
    }

    fn get(self, index: usize) -> Piece {
        let (part, index, width) = match index.checked_sub(self.of_even()) {
            None => (Part::Even, index, self.widths.even),
            Some(index) => (Part::Rest, index, self.widths.rest),
        };
        let start = index * self.piece;
        Piece { part, start, end: (start + self.piece).min(width) }
    }
}

/// Holds a rank's blocks and memory.
pub(super) struct Worker<'a, T, E> {
    pub(super) rank: usize,
    pub(super) exchange: &'a E,
    pub(super) reduction: Reduction,
    pub(super) memory: RankMemory<T>,
    pub(super) pieces: Pieces,
}

/// Says whether a turn of a rank, or of all, moved anything and was the last.
#[derive(Debug, Clone, Copy)]
struct Turn {
    has_ended: bool,
    has_moved: bool,
}

/// Runs all pieces of one thread's ranks and returns their memories, or nothing when all were stopped.
pub(super) fn run<T: Element, E: Exchange<T>>(
    thread: usize,
    mut workers: Vec<Worker<'_, T, E>>,
    schedule: &Schedule,
    connections: &Connections,
) -> Option<Vec<RankMemory<T>>> {
    let exchange = workers.first()?.exchange;
    let mut blocks: Vec<_> =
        workers.iter().map(|worker| worker.prepare(schedule, connections)).collect();
    let mut idle = 0;
    loop {
        let mut all = Turn { has_ended: true, has_moved: false };
        for (worker, blocks) in workers.iter_mut().zip(&mut blocks) {
            let turn = worker.turn(blocks);
            all.has_ended &= turn.has_ended;
            all.has_moved |= turn.has_moved;
        }
        if all.has_ended {
            return Some(workers.into_iter().map(|worker| worker.memory).collect());
        }
        if all.has_moved {
            idle = 0;
        } else if idle < IDLE_TURNS {
            idle += 1;
            thread::yield_now();
        } else {
            idle = 0;
            if !exchange.wait(thread) {
                return None;
            }
        }
    }
}

impl<T: Element, E: Exchange<T>> Worker<'_, T, E> {
    /// Lets each block go on by at most one task.
    fn turn(&mut self, blocks: &mut [Block<'_>]) -> Turn {
        let mut turn = Turn { has_ended: true, has_moved: false };
        for index in 0..blocks.len() {
            if self.can_go_on(blocks, index) {
                let block = &mut blocks[index];
                let (piece, task) =
                    (block.done / block.tasks.len(), block.done % block.tasks.len());
                self.go_on(block, &block.tasks[task], self.pieces.get(piece));
                block.done += 1;
                turn.has_moved = true;
            }
            let block = &blocks[index];
            turn.has_ended &= block.done == block.tasks.len() * self.pieces.count();
        }
        turn
    }

    fn prepare<'p>(&self, schedule: &'p Schedule, connections: &Connections) -> Vec<Block<'p>> {
        let blocks = walk::blocks_of(schedule, self.rank).map(|walked| {
            let tasks = walked.steps().map(|WalkedStep { step, .. }| Task {
                operation: step.operation,
                source: step.source.map(|slice| self.memory.locate(slice, step.count)),
                destination: step.destination.map(|slice| self.memory.locate(slice, step.count)),
                after: &step.after,
            });
            Block {
                ends: walked.ends().map(|name| connections[&name]),
                tasks: tasks.collect(),
                done: 0,
            }
        });
        blocks.collect()
    }

    fn can_go_on(&self, blocks: &[Block<'_>], index: usize) -> bool {
        let block = &blocks[index];
        let length = block.tasks.len();
        if length == 0 || block.done == length * self.pieces.count() {
            return false;
        }
        let (piece, task) = (block.done / length, &block.tasks[block.done % length]);
        let ready = |earlier: &StepId| {
            let other = &blocks[earlier.block as usize];
            other.done > piece * other.tasks.len() + earlier.step as usize
        };
        let operation = task.operation;
        task.after.iter().all(ready)
            && block.ends.read(operation).all(|connection| self.exchange.has_message(connection))
            && block.ends.written(operation).all(|connection| self.exchange.has_room(connection))
    }

    /// Runs one task. A message that is sent on is not copied. Its buffer moves on, and the free
    /// buffer of the next connection takes its place in the first.
    fn go_on(&mut self, block: &Block<'_>, task: &Task<'_>, piece: Piece) {
        let Task { operation, source, destination, .. } = *task;
        if operation.is_in_switch() {
            return self.in_switch(block, task, piece);
        }
        let (reduction, exchange) = (self.reduction, self.exchange);
        let receive = block.ends.read(operation).next();
        let send = block.ends.written(operation).next();
        let Some(receive) = receive else {
            match (send, source, destination) {
                (Some(send), Some(source), _) => {
                    let mut message = exchange.buffer(send);
                    self.memory.read(source, piece, &mut message);
                    exchange.send(send, message);
                }
                (None, Some(source), Some(destination)) => {
                    let reduction = operation.reduces().then_some(reduction);
                    self.memory.local(reduction, source, destination, piece);
                }
                _ => {}
            }
            return;
        };
        let source = source.filter(|_| operation.reads_source());
        let destination = destination.filter(|_| operation.writes_destination());
        let mut message = exchange.take(receive);
        if source.is_some() && source == destination && send.is_none() {
            if let Some(run) = source {
                self.memory.reduce_into_run(reduction, run, piece, &message);
            }
        } else {
            if let Some(source) = source {
                self.memory.reduce_into_message(reduction, source, piece, &mut message);
            }
            if let Some(destination) = destination {
                self.memory.write(destination, piece, &message);
            }
        }
        match send {
            Some(send) => {
                let free = exchange.buffer(send);
                exchange.send(send, message);
                exchange.give_back(receive, free);
            }
            None => exchange.give_back(receive, message),
        }
    }

    /// Runs one task of the switch, which reduces in the order of the ranks, this one last.
    fn in_switch(&mut self, block: &Block<'_>, task: &Task<'_>, piece: Piece) {
        let (Some(source), Some(destination)) = (task.source, task.destination) else { return };
        let exchange = self.exchange;
        let mut whole: Option<Vec<T>> = None;
        for connection in block.ends.read(task.operation) {
            let message = exchange.take(connection);
            match &mut whole {
                Some(whole) => self.reduction.apply(whole, &message),
                None => whole = Some(message.clone()),
            }
            exchange.give_back(connection, message);
        }
        let mut message = whole.unwrap_or_default();
        if task.operation.switch_reduces() {
            self.memory.reduce_into_message(self.reduction, source, piece, &mut message);
        } else {
            self.memory.read(source, piece, &mut message);
        }
        self.memory.write(destination, piece, &message);
        for connection in block.ends.written(task.operation) {
            let mut copy = exchange.buffer(connection);
            copy.extend_from_slice(&message);
            exchange.send(connection, copy);
        }
    }
}
