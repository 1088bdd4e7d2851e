//! Which GPU each rank of each job gets.
//!
//! A mapping file is text. It has one line for each rank, with the index of its GPU. All ranks of
//! the first job come first, then those of the second, and so on. A `#` starts a comment; empty
//! lines count for nothing. The GPU's index is its node times the GPUs of a node, plus its place in
//! the node.
//!
//! ```text
//! # job 0: stencil4d on 2
//! 0
//! 4
//! # job 1: kripke on 1
//! 1
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use thiserror::Error;

use super::shuffle;
use crate::diagnostic::{Diagnose, Diagnosis, InputError, Position};
use crate::engine::Random;

/// Gives the index of a GPU: node times GPUs per node, plus its place in the node.
pub type Gpu = u32;

/// Jobs that have more ranks than the system has GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct MappingError {
    /// Counts the ranks of all jobs.
    pub ranks: u64,
    /// Counts the GPUs of the system.
    pub gpus: u32,
}

impl Diagnose for MappingError {
    fn diagnosis(&self) -> Diagnosis {
        let Self { ranks, gpus } = self;
        Diagnosis::of(format!("the jobs have {ranks} ranks, but there are {gpus} GPUs"))
            .remedy("use fewer or smaller jobs")
    }
}

/// Cuts a list of GPUs into the jobs' parts.
fn dealt(sizes: &[u32], gpus: u32, order: &[Gpu]) -> Result<Vec<Vec<Gpu>>, MappingError> {
    let ranks = sizes.iter().map(|size| u64::from(*size)).sum();
    if ranks > u64::from(gpus) {
        return Err(MappingError { ranks, gpus });
    }
    let mut rest = order;
    let take = |size: &u32| {
        let (job, others) = rest.split_at(*size as usize);
        rest = others;
        job.to_vec()
    };
    Ok(sizes.iter().map(take).collect())
}

/// Maps jobs one after another, each rank to the next GPU; returns the GPUs of each job in rank
/// order.
///
/// # Errors
/// Refuses more ranks than GPUs.
pub fn linear_mapping(sizes: &[u32], gpus: u32) -> Result<Vec<Vec<Gpu>>, MappingError> {
    let ranks: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    let last = u32::try_from(ranks).unwrap_or(gpus).min(gpus);
    dealt(sizes, gpus, &(0..last).collect::<Vec<_>>())
}

/// Maps each rank to a GPU by chance, none to two, from a seed; returns the GPUs of each job in
/// rank order.
///
/// # Errors
/// Refuses more ranks than GPUs.
pub fn random_mapping(sizes: &[u32], gpus: u32, seed: u64) -> Result<Vec<Vec<Gpu>>, MappingError> {
    let mut order: Vec<Gpu> = (0..gpus).collect();
    shuffle(&mut order, &mut Random::new(seed));
    dealt(sizes, gpus, &order)
}

/// Reads the mapping of a file for jobs of these sizes; returns the GPUs of each job in rank order.
///
/// # Errors
/// Refuses a text that is no GPU's index, a GPU that the system has not, and a GPU given to two
/// ranks. Refuses too many lines or too few.
pub fn read_mapping(
    file: &str,
    text: &str,
    sizes: &[u32],
    gpus: u32,
) -> Result<Vec<Vec<Gpu>>, InputError> {
    let ranks: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    let mut order: Vec<Gpu> = Vec::new();
    let mut taken: BTreeMap<Gpu, (usize, u64)> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let value = line.split('#').next().unwrap_or_default();
        if value.trim().is_empty() {
            continue;
        }
        let indent = value.len() - value.trim_start().len();
        let column = value[..indent].chars().count() + 1;
        let (value, position) = (value.trim(), Position { line: number, column });
        let fault = |problem: String, remedy: String| {
            Err(InputError::at(file, position, problem, value, remedy))
        };
        let rank = order.len() as u64;
        if rank == ranks {
            let problem = "a GPU for a rank that no job has".to_owned();
            return fault(problem, format!("end after the {ranks} ranks of the jobs"));
        }
        let Ok(gpu) = value.parse::<Gpu>() else {
            let remedy = "write one GPU's index, such as 17, on each line".to_owned();
            return fault("not the index of a GPU".to_owned(), remedy);
        };
        if gpu >= gpus {
            let problem = "no such GPU".to_owned();
            let remedy = match gpus.checked_sub(1) {
                Some(last) => format!("the system's GPUs are 0 to {last}"),
                None => "the system has no GPUs".to_owned(),
            };
            return fault(problem, remedy);
        }
        if let Some((line, other)) = taken.insert(gpu, (number, rank)) {
            let ((one, at), (two, before)) = (job_of(sizes, rank), job_of(sizes, other));
            let problem = format!(
                "rank {at} of job {one} gets a GPU that rank {before} of job {two} has from \
                 line {line}"
            );
            return fault(problem, "give each rank a GPU of its own".to_owned());
        }
        order.push(gpu);
    }
    if (order.len() as u64) < ranks {
        let (job, rank) = job_of(sizes, order.len() as u64);
        let problem = format!("the file ends before rank {rank} of job {job} has a GPU");
        let remedy = format!("write {ranks} lines, one for each rank; there are {}", order.len());
        return Err(InputError::at(
            file,
            Position::of_offset(text, text.len()),
            problem,
            "",
            remedy,
        ));
    }
    Ok(dealt(sizes, gpus, &order).expect("each rank has a GPU of its own"))
}

/// Returns the job of a rank counted over all jobs, and its rank there.
fn job_of(sizes: &[u32], mut rank: u64) -> (usize, u64) {
    for (job, size) in sizes.iter().enumerate() {
        if rank < u64::from(*size) {
            return (job, rank);
        }
        rank -= u64::from(*size);
    }
    (sizes.len(), rank)
}

/// The text of a mapping, which [`read_mapping`] reads back.
#[must_use]
pub fn write_mapping(mapping: &[Vec<Gpu>]) -> String {
    let mut text = String::new();
    for (job, gpus) in mapping.iter().enumerate() {
        // Writing to a text never fails.
        let _ = writeln!(text, "# job {job}: {} ranks", gpus.len());
        for gpu in gpus {
            let _ = writeln!(text, "{gpu}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn linear_and_random_give_each_rank_a_gpu_of_its_own() {
        assert_eq!(linear_mapping(&[2, 0, 3], 6), Ok(vec![vec![0, 1], vec![], vec![2, 3, 4]]));
        assert_eq!(linear_mapping(&[2, 3], 4), Err(MappingError { ranks: 5, gpus: 4 }));
        let random = random_mapping(&[1000, 1048], 2048, 5).unwrap();
        let mut all = random.concat();
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2048));
        assert_eq!(random_mapping(&[1000, 1048], 2048, 5), Ok(random));
        assert!(random_mapping(&[u32::MAX, u32::MAX], 3, 5).is_err());
    }

    fn refused(text: &str) -> String {
        read_mapping("map", text, &[2, 1], 4).unwrap_err().to_string()
    }

    #[test]
    fn faults_have_places() {
        assert_eq!(
            read_mapping("map", "3 # a\n\n  1\n0", &[2, 1], 4),
            Ok(vec![vec![3, 1], vec![0]])
        );
        assert_eq!(
            refused("3\n  x7\n0"),
            "map:2:3: not the index of a GPU: `x7`; write one GPU's index, such as 17, on each line"
        );
        assert_eq!(refused("3\n4\n0"), "map:2:1: no such GPU: `4`; the system's GPUs are 0 to 3");
        assert_eq!(
            refused("3\n1\n3"),
            "map:3:1: rank 0 of job 1 gets a GPU that rank 0 of job 0 has from line 1: `3`; \
             give each rank a GPU of its own"
        );
        assert_eq!(
            refused("3\n1\n"),
            "map:3:1: the file ends before rank 0 of job 1 has a GPU; write 3 lines, one for \
             each rank; there are 2"
        );
        assert_eq!(
            refused("3\n1\n2\n0"),
            "map:4:1: a GPU for a rank that no job has: `0`; end after the 3 ranks of the jobs"
        );
        let none = read_mapping("map", "0", &[1], 0).unwrap_err().to_string();
        assert!(none.ends_with("the system has no GPUs"), "{none}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(seed: u64, sizes in prop::collection::vec(0_u32..9, 0..5)) {
            let mapping = random_mapping(&sizes, 64, seed).unwrap();
            let read = read_mapping("map", &write_mapping(&mapping), &sizes, 64);
            prop_assert_eq!(read, Ok(mapping));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9 #\na]{0,40}") {
            let _ = read_mapping("map", &text, &[1, 2], 16);
        }
    }
}
