//! Litmus tests: small programs that tell a coherent memory from another, as data.
//!
//! Each is a program per wavefront over addresses x and y, both 0 at first. It lists the values that no sequential order
//! of all accesses gives. A model checker plays every order of their messages, the simulator
//! many starts, in [`Played`].

mod played;
#[cfg(test)]
mod played_tests;
#[cfg(test)]
mod random;
mod sequential;

pub use played::{Draw, LitmusOutcome, Observed, Played, Verdict};
pub use sequential::{Reads, sequential_outcomes};

use crate::diagnostic::Named;

/// Is one step of a wavefront.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LitmusStep {
    /// Reads an address.
    Read(u8),
    /// Writes a value to an address.
    Write(u8, u8),
    /// Reads an address again and again until it has a value; where programs have fences, there
    /// is one between any two of these reads, too.
    Spin(u8, u8),
    /// Adds to an address at once, and reads what was there before.
    Add(u8, u8),
    /// Waits until all before it is done and seen.
    Fence,
    /// Waits for all wavefronts, at a barrier of the launch.
    Barrier,
}

impl LitmusStep {
    /// The address, unless it is a fence or a barrier.
    #[must_use]
    pub const fn address(self) -> Option<u8> {
        match self {
            Self::Read(address)
            | Self::Write(address, _)
            | Self::Add(address, _)
            | Self::Spin(address, _) => Some(address),
            Self::Fence | Self::Barrier => None,
        }
    }

    /// Whether it gives a value, which counts among its wavefront's reads.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read(_) | Self::Add(..))
    }
}

/// Says that a wavefront's read gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seen {
    /// It has read the value.
    pub wave: u8,
    /// Which of its reads, those of a warm start and spins left out.
    pub read: u8,
    /// It was given.
    pub value: u8,
}

/// Describes a litmus test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Litmus {
    /// It is called so.
    pub name: &'static str,
    /// How many addresses it uses.
    pub addresses: u8,
    /// Each wavefront has its program.
    pub waves: &'static [&'static [LitmusStep]],
    /// These must not be seen together: of each list not all may hold.
    pub forbidden: &'static [&'static [Seen]],
}

const X: u8 = 0;
const Y: u8 = 1;

const fn seen(wave: u8, read: u8, value: u8) -> Seen {
    Seen { wave, read, value }
}

use LitmusStep::{Add, Barrier, Fence, Read, Spin, Write};

/// Lists every litmus test.
pub const LITMUS_TESTS: &[Litmus] = &[
    Litmus {
        name: "message-passing",
        addresses: 2,
        waves: &[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Read(X)]],
        forbidden: &[&[seen(1, 0, 1), seen(1, 1, 0)]],
    },
    Litmus {
        name: "message-passing-leased",
        addresses: 2,
        waves: &[&[Write(X, 1), Write(Y, 1)], &[Read(X), Read(Y), Read(X)]],
        forbidden: &[&[seen(1, 1, 1), seen(1, 2, 0)], &[seen(1, 0, 1), seen(1, 2, 0)]],
    },
    Litmus {
        name: "message-passing-spinning",
        addresses: 2,
        waves: &[&[Write(X, 1), Write(Y, 1)], &[Spin(Y, 1), Read(X)]],
        forbidden: &[&[seen(1, 0, 0)]],
    },
    Litmus {
        name: "store-buffering",
        addresses: 2,
        waves: &[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]],
        forbidden: &[&[seen(0, 0, 0), seen(1, 0, 0)]],
    },
    Litmus {
        name: "load-buffering",
        addresses: 2,
        waves: &[&[Read(X), Write(Y, 1)], &[Read(Y), Write(X, 1)]],
        forbidden: &[&[seen(0, 0, 1), seen(1, 0, 1)]],
    },
    Litmus {
        name: "write-to-read-causality",
        addresses: 2,
        waves: &[&[Write(X, 1)], &[Read(X), Write(Y, 1)], &[Read(Y), Read(X)]],
        forbidden: &[&[seen(1, 0, 1), seen(2, 0, 1), seen(2, 1, 0)]],
    },
    Litmus {
        name: "iriw",
        addresses: 2,
        waves: &[&[Write(X, 1)], &[Write(Y, 1)], &[Read(X), Read(Y)], &[Read(Y), Read(X)]],
        forbidden: &[&[seen(2, 0, 1), seen(2, 1, 0), seen(3, 0, 1), seen(3, 1, 0)]],
    },
    Litmus {
        name: "coherence-order",
        addresses: 1,
        waves: &[&[Write(X, 1)], &[Write(X, 2)], &[Read(X), Read(X)], &[Read(X), Read(X)]],
        forbidden: &[
            &[seen(2, 0, 1), seen(2, 1, 2), seen(3, 0, 2), seen(3, 1, 1)],
            &[seen(2, 0, 2), seen(2, 1, 1), seen(3, 0, 1), seen(3, 1, 2)],
            &[seen(2, 0, 1), seen(2, 1, 0)],
            &[seen(2, 0, 2), seen(2, 1, 0)],
            &[seen(3, 0, 1), seen(3, 1, 0)],
            &[seen(3, 0, 2), seen(3, 1, 0)],
        ],
    },
    Litmus {
        name: "own-writes",
        addresses: 1,
        waves: &[&[Write(X, 1), Read(X)], &[Write(X, 2), Read(X)]],
        forbidden: &[&[seen(0, 0, 0)], &[seen(1, 0, 0)], &[seen(0, 0, 2), seen(1, 0, 1)]],
    },
    Litmus {
        name: "atomics",
        addresses: 1,
        waves: &[&[Add(X, 1), Read(X)], &[Add(X, 1), Read(X)]],
        forbidden: &[
            &[seen(0, 0, 0), seen(1, 0, 0)],
            &[seen(0, 0, 1), seen(1, 0, 1)],
            &[seen(0, 1, 0)],
            &[seen(1, 1, 0)],
            &[seen(0, 0, 1), seen(0, 1, 1)],
            &[seen(1, 0, 1), seen(1, 1, 1)],
            &[seen(0, 0, 0), seen(0, 1, 1), seen(1, 1, 1)],
            &[seen(0, 0, 2)],
            &[seen(1, 0, 2)],
        ],
    },
    Litmus {
        name: "spinning",
        addresses: 1,
        waves: &[&[Write(X, 1)], &[Spin(X, 1), Read(X)]],
        forbidden: &[&[seen(1, 0, 0)]],
    },
    Litmus {
        name: "launch-barrier",
        addresses: 1,
        waves: &[&[Write(X, 1), Barrier], &[Read(X), Barrier, Read(X)]],
        forbidden: &[&[seen(1, 1, 0)]],
    },
];

impl Named for Litmus {
    const WHAT: &'static str = "litmus test";
    const NAMED: &'static [(&'static str, Self)] = &{
        let mut named = [("", LITMUS_TESTS[0]); LITMUS_TESTS.len()];
        let mut at = 0;
        while at < named.len() {
            named[at] = (LITMUS_TESTS[at].name, LITMUS_TESTS[at]);
            at += 1;
        }
        named
    };
}

impl Litmus {
    /// The programs; with a fence between any two accesses, as relaxed consistency needs, and
    /// with copies of all addresses read in first, where asked.
    #[must_use]
    pub fn programs(&self, fences: bool, warm: bool) -> Vec<Vec<LitmusStep>> {
        let warming = if warm { self.addresses } else { 0 };
        self.waves.iter().map(|wave| program(wave, fences, 0..warming)).collect()
    }

    /// Whether what the reads of [`Litmus::programs`] gave, those of a warm start first, is
    /// forbidden.
    #[must_use]
    pub fn forbids(&self, warm: bool, reads: &[Vec<u8>]) -> bool {
        let skip = if warm { usize::from(self.addresses) } else { 0 };
        let holds = |seen: &Seen| {
            reads[usize::from(seen.wave)].get(skip + usize::from(seen.read)) == Some(&seen.value)
        };
        self.forbidden.iter().any(|seen| seen.iter().all(holds))
    }
}

/// Gives a wavefront's steps, after reads of some addresses, with a fence between any two where
/// asked.
fn program(
    wave: &[LitmusStep],
    fences: bool,
    warming: impl Iterator<Item = u8>,
) -> Vec<LitmusStep> {
    let mut steps = Vec::new();
    for step in warming.map(Read).chain(wave.iter().copied()) {
        if fences && !steps.is_empty() {
            steps.push(Fence);
        }
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every outcome over the values that are written. Few of them are possible.
    fn all(programs: &[Vec<LitmusStep>]) -> Vec<Reads> {
        let mut outcomes = vec![vec![]];
        for program in programs {
            let reads = program.iter().filter(|step| step.reads()).count();
            let ways: Vec<Vec<u8>> = (0..3_usize.pow(reads as u32))
                .map(|way| (0..reads).map(|at| (way / 3_usize.pow(at as u32) % 3) as u8).collect())
                .collect();
            outcomes = outcomes
                .iter()
                .flat_map(|before: &Reads| {
                    ways.iter().map(move |way| {
                        let mut after = before.clone();
                        after.push(way.clone());
                        after
                    })
                })
                .collect();
        }
        outcomes
    }

    #[test]
    fn exactly_what_no_sequential_order_gives_is_forbidden() {
        for litmus in LITMUS_TESTS {
            let programs = litmus.programs(false, false);
            let possible = sequential_outcomes(&programs);
            let written = |address: u8, value: u8| {
                let write = |step: &LitmusStep| match *step {
                    Write(at, what) => (at, what) == (address, value),
                    Add(at, _) => at == address,
                    _ => false,
                };
                value == 0 || programs.iter().flatten().any(write)
            };
            for outcome in all(&programs) {
                let sensible = programs.iter().zip(&outcome).all(|(program, reads)| {
                    let read = program.iter().filter(|step| step.reads());
                    let read = read.filter_map(|step| step.address());
                    read.zip(reads).all(|(address, value)| written(address, *value))
                });
                if sensible {
                    let forbidden = litmus.forbids(false, &outcome);
                    assert_eq!(
                        forbidden,
                        !possible.contains(&outcome),
                        "{} {outcome:?}",
                        litmus.name
                    );
                }
            }
        }
    }

    #[test]
    fn fences_and_a_warm_start_change_no_outcome_that_counts() {
        for litmus in LITMUS_TESTS {
            for outcome in sequential_outcomes(&litmus.programs(true, true)) {
                assert!(!litmus.forbids(true, &outcome), "{} {outcome:?}", litmus.name);
            }
        }
        let passing = &Litmus::from_name("message-passing").unwrap();
        let fenced = passing.programs(true, true);
        assert_eq!(fenced[1], [Read(X), Fence, Read(Y), Fence, Read(Y), Fence, Read(X)]);
        assert_eq!(fenced[0].iter().filter_map(|step| step.address()).count(), 4);
    }
}
