//! Plays the steps of programs in every sequential order, for the reads and the memory at the end.

use std::collections::BTreeSet;

use super::LitmusStep::{self, Add, Barrier, Fence, Read, Spin, Write};

/// Holds the values that each wavefront's reads give, in order.
pub type Reads = Vec<Vec<u8>>;

/// Holds a point of a sequential order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    /// Counts the steps that each wavefront has done.
    at: Vec<usize>,
    /// Holds the value of each address.
    pub(super) memory: Vec<u8>,
    /// Holds what was read.
    pub(super) reads: Reads,
}

impl Point {
    /// Gives the point before all steps.
    fn start(programs: &[Vec<LitmusStep>]) -> Self {
        let used = programs.iter().flatten().filter_map(|step| step.address());
        let memory = vec![0; used.max().map_or(0, |last| usize::from(last) + 1)];
        Self { at: vec![0; programs.len()], memory, reads: vec![Vec::new(); programs.len()] }
    }

    /// Gives the point after one step more of a wavefront, if it can go on.
    fn after(&self, programs: &[Vec<LitmusStep>], wave: usize) -> Option<Self> {
        let step = *programs[wave].get(self.at[wave])?;
        if step == Barrier && !self.all_are_at_barrier(programs, wave) {
            return None;
        }
        let mut next = self.clone();
        next.at[wave] += 1;
        match step {
            Read(address) => next.reads[wave].push(self.memory[usize::from(address)]),
            Write(address, value) => next.memory[usize::from(address)] = value,
            Add(address, value) => {
                let word = &mut next.memory[usize::from(address)];
                next.reads[wave].push(*word);
                *word += value;
            }
            Spin(address, value) if self.memory[usize::from(address)] != value => return None,
            Spin(..) | Fence | Barrier => {}
        }
        Some(next)
    }

    /// Whether all have come to the barrier at which a wavefront is, or have passed it.
    fn all_are_at_barrier(&self, programs: &[Vec<LitmusStep>], wave: usize) -> bool {
        let barriers = |wave: usize, steps: usize| {
            programs[wave].iter().take(steps).filter(|step| **step == Barrier).count()
        };
        let passed = barriers(wave, self.at[wave]);
        (0..programs.len()).all(|other| barriers(other, self.at[other] + 1) > passed)
    }
}

/// Gives the ends of all sequential orders whose points all fit.
///
/// A spin is a read that comes when the address has its value.
pub(super) fn ends(programs: &[Vec<LitmusStep>], fits: impl Fn(&Point) -> bool) -> Vec<Point> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![Point::start(programs)];
    while let Some(point) = open.pop() {
        if programs.iter().zip(&point.at).all(|(program, at)| program.len() == *at) {
            found.push(point);
            continue;
        }
        for wave in 0..programs.len() {
            let next = point.after(programs, wave).filter(&fits);
            if let Some(next) = next.filter(|next| seen.insert(next.clone())) {
                open.push(next);
            }
        }
    }
    found
}

/// Everything that programs' reads can give in a sequential order of their steps, sorted.
#[must_use]
pub fn sequential_outcomes(programs: &[Vec<LitmusStep>]) -> Vec<Reads> {
    let mut found: Vec<Reads> = ends(programs, |_| true).into_iter().map(|end| end.reads).collect();
    found.sort();
    found.dedup();
    found
}
