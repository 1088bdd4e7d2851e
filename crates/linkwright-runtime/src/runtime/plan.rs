//! A rank's program, prepared for running: who waits for whom.

use std::ops::Range;
use std::sync::Arc;

use crate::program::{Dependency, Operation, Program, Rank, RankProgram};

/// Marks a successor that waits only for the start of its operation.
const ON_START: u32 = 1 << 31;

/// Holds the events of an operation, as a set of bits.
pub(super) const STARTED: u8 = 1;
/// See [`STARTED`].
pub(super) const COMPLETED: u8 = 2;

/// Whose operations a plan has.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Holds a rank of a job's program.
    Rank(Arc<Program>, Rank),
    /// Holds a rank's part in a collective.
    Part(RankProgram),
}

impl Source {
    fn program(&self) -> &RankProgram {
        match self {
            Self::Rank(program, rank) => &program.ranks[*rank as usize],
            Self::Part(program) => program,
        }
    }
}

/// Holds a program with the successors of each operation.
///
/// One past the last operation stands the end of the loop's iteration, like an operation. It
/// depends on the operations of the loop that nothing else in the loop depends on.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    source: Source,
    successor_start: Vec<u32>,
    successors: Vec<u32>,
    /// Counts the events that each operation, and the iteration's end, waits for at the start.
    waits: Vec<u32>,
    body: Range<u32>,
}

impl Plan {
    pub(super) fn new(source: Source) -> Self {
        let program = source.program();
        let count = program.operations().len();
        let body = program.body().map_or(0..0, |(start, end)| start..end);
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut waits = vec![0; count + 1];
        for target in 0..count as u32 {
            for dependency in program.dependencies(target as usize) {
                let (source, mark) = edge(*dependency);
                edges.push((source, target | mark));
                waits[target as usize] += 1;
            }
        }
        for (operation, mark) in last_of_body(program, &body) {
            edges.push((operation, count as u32 | mark));
            waits[count] += 1;
        }
        let mut successor_start = vec![0; count + 1];
        for (source, _) in &edges {
            successor_start[*source as usize + 1] += 1;
        }
        for operation in 0..count {
            successor_start[operation + 1] += successor_start[operation];
        }
        let mut next = successor_start.clone();
        let mut successors = vec![0; edges.len()];
        for (source, target) in edges {
            let place = &mut next[source as usize];
            successors[*place as usize] = target;
            *place += 1;
        }
        Self { source, successor_start, successors, waits, body }
    }

    pub(super) fn operation(&self, operation: u32) -> Operation {
        self.operations()[operation as usize]
    }

    pub(super) fn operations(&self) -> &[Operation] {
        self.source.program().operations()
    }

    /// Returns the index of the iteration's end.
    pub(super) fn end(&self) -> u32 {
        self.operations().len() as u32
    }

    pub(super) fn body(&self) -> &Range<u32> {
        &self.body
    }

    /// Counts the events that each operation waits for at first.
    pub(super) fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// Counts the events that an operation of the loop waits for in a later iteration. Operations
    /// before the loop have long happened.
    pub(super) fn waits_within_body(&self, operation: u32) -> u32 {
        let dependencies = self.source.program().dependencies(operation as usize).iter();
        dependencies.filter(|dependency| edge(**dependency).0 >= self.body.start).count() as u32
    }

    /// Lists the operations that wait for any of these events of an operation.
    pub(super) fn successors(&self, operation: u32, events: u8) -> impl Iterator<Item = u32> + '_ {
        let from = self.successor_start[operation as usize] as usize;
        let to = self.successor_start[operation as usize + 1] as usize;
        self.successors[from..to].iter().filter_map(move |successor| {
            let event = if successor & ON_START == 0 { COMPLETED } else { STARTED };
            (events & event != 0).then_some(successor & !ON_START)
        })
    }
}

fn edge(dependency: Dependency) -> (u32, u32) {
    match dependency {
        Dependency::Completed(on) => (on, 0),
        Dependency::Started(on) => (on, ON_START),
    }
}

/// Lists the operations of the loop that nothing in the loop depends on. Each comes with the event
/// that ends the iteration. It is the start where the operations behind the loop wait for no more,
/// else the completion.
fn last_of_body(program: &RankProgram, body: &Range<u32>) -> Vec<(u32, u32)> {
    let mut marks = vec![Some(0); body.len()];
    for target in body.start..program.operations().len() as u32 {
        for dependency in program.dependencies(target as usize) {
            let (source, mark) = edge(*dependency);
            if !body.contains(&source) {
                continue;
            }
            let of_source = &mut marks[(source - body.start) as usize];
            if body.contains(&target) {
                *of_source = None;
            } else if let Some(known) = of_source {
                *known |= mark;
            }
        }
    }
    let marked = body.clone().zip(marks);
    marked.filter_map(|(operation, mark)| Some((operation, mark?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::RankBuilder;
    use crate::units::Picoseconds;

    fn compute() -> Operation {
        Operation::Compute { duration: Picoseconds(1) }
    }

    #[test]
    fn the_iteration_ends_with_what_nothing_in_the_loop_waits_for() {
        let mut rank = RankBuilder::default();
        rank.run(compute());
        rank.begin_body();
        let first = rank.start(compute());
        rank.run(compute());
        rank.start(compute());
        rank.end_body();
        rank.wait(&[first]);
        let plan = Plan::new(Source::Part(rank.finish()));
        assert_eq!(plan.waits(), [0, 1, 1, 1, 2, 1]);
        assert_eq!(plan.successors(1, STARTED).collect::<Vec<_>>(), [2]);
        assert_eq!(plan.successors(1, COMPLETED).collect::<Vec<_>>(), [4]);
        assert_eq!(plan.successors(3, STARTED).collect::<Vec<_>>(), [4, plan.end()]);
        assert_eq!(plan.successors(3, COMPLETED).count(), 0);
        assert_eq!(plan.waits_within_body(1), 0);
        assert_eq!(plan.waits_within_body(2), 1);
    }
}
