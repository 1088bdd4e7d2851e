//! How a rank's program is written down.

use std::collections::BTreeMap;

use super::RankProgram;
use super::operation::{Dependency, Operation};

/// Names a non-blocking operation that a later [`RankBuilder::wait`] completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PendingOperation(u32);

impl PendingOperation {
    /// Returns the operation's index in its rank's program.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// Writes a rank's operations one after another, as a sequential program runs them.
///
/// ```
/// use linkwright_runtime::program::{Operation, RankBuilder, WORLD};
/// use linkwright_ground::units::{Bytes, Picoseconds};
///
/// let mut rank = RankBuilder::default();
/// let (from, tag, size) = (Some(1), Some(7), Bytes(4096));
/// let request = rank.start(Operation::Receive { from, tag, communicator: WORLD, size });
/// rank.run(Operation::Compute { duration: Picoseconds(1_000) });
/// rank.wait(&[request]);
/// assert_eq!(rank.finish().operations().len(), 3);
/// ```
///
/// **Streams.** Each stream is a sequence of its own. Operations of two streams are under way at
/// once. Only the rank's one processor, its messaging library and its GPU's copy engines limit
/// this. Two computations of two streams run one after the other, a computation and a copy side by
/// side. A rank begins in stream 0. [`RankBuilder::wait`] lets one stream wait for requests of
/// another.
#[derive(Debug, Clone, Default)]
pub struct RankBuilder {
    program: RankProgram,
    /// Holds the dependency of the next operation of the current stream.
    previous: Option<Dependency>,
    stream: u32,
    /// The same of each other stream that was left.
    streams: BTreeMap<u32, Option<Dependency>>,
    body_start: Option<u32>,
}

impl RankBuilder {
    /// Appends an operation that the following ones wait for: a blocking call.
    pub fn run(&mut self, operation: Operation) -> PendingOperation {
        self.run_after(operation, &[])
    }

    /// The same, once these requests are complete, too.
    pub fn run_after(
        &mut self,
        operation: Operation,
        after: &[PendingOperation],
    ) -> PendingOperation {
        let index = self.append(operation, after);
        self.previous = Some(Dependency::Completed(index));
        PendingOperation(index)
    }

    /// Appends an operation that the following ones only see started: a non-blocking call.
    pub fn start(&mut self, operation: Operation) -> PendingOperation {
        self.start_after(operation, &[])
    }

    /// The same, once these requests are complete.
    pub fn start_after(
        &mut self,
        operation: Operation,
        after: &[PendingOperation],
    ) -> PendingOperation {
        let index = self.append(operation, after);
        self.previous = Some(Dependency::Started(index));
        PendingOperation(index)
    }

    /// Puts the operations that follow into this stream, behind those that it has already. Returns
    /// the stream before.
    pub fn on_stream(&mut self, stream: u32) -> u32 {
        let before = std::mem::replace(&mut self.stream, stream);
        if before != stream {
            let previous = self.streams.remove(&stream).flatten();
            let left = std::mem::replace(&mut self.previous, previous);
            self.streams.insert(before, left);
        }
        before
    }

    /// Waits until the requests are complete.
    pub fn wait(&mut self, requests: &[PendingOperation]) {
        self.run_after(Operation::Join, requests);
    }

    /// Appends an operation outside the sequence, with just these dependencies; returns its
    /// index. Dependencies name operations appended before.
    ///
    /// # Panics
    /// If a dependency is on this operation or a later one.
    pub fn push(&mut self, operation: Operation, dependencies: &[Dependency]) -> u32 {
        let program = &mut self.program;
        let index = program.operations.len() as u32;
        if program.dependency_start.is_empty() {
            program.dependency_start.push(0);
        }
        for dependency in dependencies {
            let (Dependency::Completed(on) | Dependency::Started(on)) = *dependency;
            assert!(on < index, "operation {index} depends on {on}, which comes later");
        }
        program.operations.push(operation);
        program.dependencies.extend_from_slice(dependencies);
        program.dependency_start.push(program.dependencies.len() as u32);
        index
    }

    fn append(&mut self, operation: Operation, after: &[PendingOperation]) -> u32 {
        let completed = after.iter().map(|request| Dependency::Completed(request.0));
        let dependencies: Vec<_> = self.previous.into_iter().chain(completed).collect();
        self.push(operation, &dependencies)
    }

    /// Returns the operations so far.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        self.program.operations()
    }

    /// The main loop starts here.
    pub fn begin_body(&mut self) {
        self.body_start = Some(self.program.operations.len() as u32);
    }

    /// The main loop ends here; without a start there is none.
    pub fn end_body(&mut self) {
        let end = self.program.operations.len() as u32;
        self.program.body = self.body_start.take().map(|start| (start, end));
    }

    /// Returns the rank's program.
    #[must_use]
    pub fn finish(mut self) -> RankProgram {
        if self.program.dependency_start.is_empty() {
            self.program.dependency_start.push(0);
        }
        self.program
    }
}
