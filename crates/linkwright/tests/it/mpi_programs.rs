//! The programs of MPI's algorithms are, operation by operation, those that were captured when they
//! were first written.
//!
//! `mpi_programs.txt` has a line for each collective, algorithm and number of ranks. The line is a
//! digest of the programs of every rank, for every root. It covers sizes that divide among the
//! ranks and sizes that do not.

use std::fmt::Write;

use linkwright::collectives::messages::program;
use linkwright::collectives::mpi::{MpiAlgorithm, Source};
use linkwright::program::{CollectiveKind, Dependency, Operation, RankProgram};
use linkwright::units::Bytes;

const SIZES: [u64; 6] = [0, 1, 7, 1001, 65_536, (1 << 40) - 1];

/// Computes FNV-1a over whole numbers.
struct Digest(u64);

impl Digest {
    fn add(&mut self, numbers: &[u64]) {
        for byte in numbers.iter().flat_map(|number| number.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_program(&mut self, program: &RankProgram) {
        self.add(&[program.operations().len() as u64, u64::from(program.body().is_some())]);
        for (index, operation) in program.operations().iter().enumerate() {
            match *operation {
                Operation::Send { to, tag, communicator, size, .. } => {
                    self.add(&[1, to.into(), tag.into(), communicator.into(), size.0]);
                }
                Operation::Receive { from, tag, communicator, size } => {
                    let (from, tag) = (from.expect("a known sender"), tag.expect("a known tag"));
                    self.add(&[2, from.into(), tag.into(), communicator.into(), size.0]);
                }
                Operation::Join => self.add(&[3]),
                other => panic!("{other:?} is no message"),
            }
            for dependency in program.dependencies(index) {
                match *dependency {
                    Dependency::Completed(on) => self.add(&[4, on.into()]),
                    Dependency::Started(on) => self.add(&[5, on.into()]),
                }
            }
        }
    }
}

fn digest(kind: CollectiveKind, by: MpiAlgorithm, ranks: u32) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for root in 0..if kind.has_root() { ranks } else { 1 } {
        let source = Source::new(kind, by, ranks, root).expect("it performs the collective");
        for me in 0..ranks {
            for size in SIZES {
                digest.add_program(&program(&source, me, Bytes(size)));
            }
        }
    }
    digest.0
}

#[test]
fn programs_are_as_captured() {
    let mut found = String::new();
    for kind in CollectiveKind::ALL {
        for by in MpiAlgorithm::of(kind) {
            for ranks in 1..=33 {
                let digest = digest(kind, *by, ranks);
                let _ = writeln!(found, "{} {by} {ranks} {digest:016x}", kind.name());
            }
        }
    }
    let captured = include_str!("mpi_programs.txt");
    for (found, captured) in found.lines().zip(captured.lines()) {
        assert_eq!(found, captured, "collective, algorithm, ranks and digest of the programs");
    }
    assert_eq!(found.lines().count(), captured.lines().count());
}
