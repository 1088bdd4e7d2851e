//! Gives the jobs of a cluster their GPUs.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, Named, shown};
use crate::program::workload::{Gpu, linear_mapping, random_mapping};

/// Finds GPUs for the ranks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MappingRule {
    /// Takes the free GPUs with the lowest numbers, in rank order.
    #[default]
    Linear,
    /// Draws free GPUs by chance.
    Random,
}

impl Named for MappingRule {
    const WHAT: &'static str = "mapping";
    const NAMED: &'static [(&'static str, Self)] =
        &[("linear", Self::Linear), ("random", Self::Random)];
}

/// Says how a job's ranks find their GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mapping {
    /// Follows a rule.
    Rule(MappingRule),
    /// Gives each rank the GPU of its place.
    Gpus(Vec<Gpu>),
}

impl Default for Mapping {
    fn default() -> Self {
        Self::Rule(MappingRule::default())
    }
}

/// Tells why jobs cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlacementError {
    /// There are more ranks than GPUs.
    TooManyRanks {
        /// All jobs have as many.
        ranks: u64,
        /// The cluster has as many.
        gpus: u32,
    },
    /// A list is of another length than the job.
    Length {
        /// It is the job's place in the list.
        job: usize,
        /// The job is called so.
        name: String,
        /// The job has as many.
        ranks: u32,
        /// The list names as many GPUs.
        given: usize,
    },
    /// The cluster has no such GPU.
    UnknownGpu {
        /// It is the job's place in the list.
        job: usize,
        /// The job is called so.
        name: String,
        /// It is to run on the GPU.
        rank: usize,
        /// The list names it.
        gpu: Gpu,
        /// How many there are.
        gpus: u32,
    },
    /// Two ranks of a job are to have one GPU.
    SharedGpu {
        /// It is the job's place in the list.
        job: usize,
        /// The job is called so.
        name: String,
        /// It comes second.
        rank: usize,
        /// The list names it twice.
        gpu: Gpu,
        /// The rank that has it.
        other_rank: usize,
    },
}

impl Diagnose for PlacementError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::TooManyRanks { ranks, gpus } => Diagnosis::of(format!(
                "the jobs have {ranks} ranks in all, and the cluster has {gpus} GPUs"
            ))
            .remedy("take fewer or smaller jobs, or a larger cluster"),
            Self::Length { name, ranks, given, .. } => Diagnosis::of(format!(
                "job `{}` has {ranks} ranks, but its mapping names {given} GPUs",
                shown(name)
            ))
            .remedy("name one for each rank"),
            Self::UnknownGpu { name, rank, gpu, gpus, .. } => {
                Diagnosis::of(format!("job `{}` puts rank {rank} on GPU {gpu}", shown(name)))
                    .remedy(format!("the cluster's GPUs are 0 to {}", gpus - 1))
            }
            Self::SharedGpu { name, rank, gpu, other_rank, .. } => Diagnosis::of(format!(
                "job `{}` puts rank {rank} on GPU {gpu}, which rank {other_rank} has",
                shown(name)
            ))
            .remedy("give each rank a GPU of its own"),
        }
    }
}

/// Gives the GPU of each rank of each job. Jobs whose mapping is a list come first, then linear ones in their order.
/// Random ones get the rest by the seed. Lists of two jobs may name one GPU: it is one's after the other.
///
/// Jobs that are all linear, or all random, get what [`linear_mapping`] and [`random_mapping`]
/// give.
///
/// # Errors
/// It refuses more ranks than GPUs, and lists of another length than the job. A list names GPUs of the cluster, each for
/// one rank of the job.
pub fn place(
    jobs: &[(&str, u32, &Mapping)],
    gpus: u32,
    seed: u64,
) -> Result<Vec<Vec<Gpu>>, PlacementError> {
    let mut placed = vec![Vec::new(); jobs.len()];
    // The last job that names each GPU, and its rank there.
    let mut holder: Vec<Option<(usize, usize)>> = vec![None; gpus as usize];
    for (job, (name, ranks, mapping)) in jobs.iter().enumerate() {
        let Mapping::Gpus(list) = mapping else { continue };
        let name = (*name).to_owned();
        if list.len() != *ranks as usize {
            let (ranks, given) = (*ranks, list.len());
            return Err(PlacementError::Length { job, name, ranks, given });
        }
        for (rank, gpu) in list.iter().copied().enumerate() {
            let Some(held) = holder.get_mut(gpu as usize) else {
                return Err(PlacementError::UnknownGpu { job, name, rank, gpu, gpus });
            };
            if let Some((_, other_rank)) = held.replace((job, rank)).filter(|(by, _)| *by == job) {
                return Err(PlacementError::SharedGpu { job, name, rank, gpu, other_rank });
            }
        }
        placed[job].clone_from(list);
    }
    let named = holder.iter().flatten().count() as u64;
    let dealt = jobs.iter().filter(|(.., mapping)| !matches!(mapping, Mapping::Gpus(_)));
    let ranks = named + dealt.map(|(_, ranks, _)| u64::from(*ranks)).sum::<u64>();
    if ranks > u64::from(gpus) {
        return Err(PlacementError::TooManyRanks { ranks, gpus });
    }
    let mut free: Vec<Gpu> = (0..gpus).filter(|gpu| holder[*gpu as usize].is_none()).collect();
    for rule in [MappingRule::Linear, MappingRule::Random] {
        let wanted = Mapping::Rule(rule);
        let chosen: Vec<usize> = (0..jobs.len()).filter(|job| *jobs[*job].2 == wanted).collect();
        let sizes: Vec<u32> = chosen.iter().map(|job| jobs[*job].1).collect();
        let room = free.len() as u32;
        let dealt = match rule {
            MappingRule::Linear => linear_mapping(&sizes, room),
            MappingRule::Random => random_mapping(&sizes, room, seed),
        };
        let dealt = dealt.expect("all ranks fit, and each list took as many GPUs as its ranks");
        let taken: usize = sizes.iter().map(|size| *size as usize).sum();
        for (job, indices) in chosen.into_iter().zip(dealt) {
            placed[job] = indices.into_iter().map(|index| free[index as usize]).collect();
        }
        // Only the linear jobs come before others, and theirs are the first.
        free.drain(..taken);
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINEAR: Mapping = Mapping::Rule(MappingRule::Linear);
    const RANDOM: Mapping = Mapping::Rule(MappingRule::Random);

    #[test]
    fn lists_go_first_then_linear_then_random() {
        let list = Mapping::Gpus(vec![3, 0]);
        let jobs = [("r", 2, &RANDOM), ("l", 2, &LINEAR), ("g", 2, &list)];
        let placed = place(&jobs, 7, 1).unwrap();
        assert_eq!(placed[2], [3, 0]);
        assert_eq!(placed[1], [1, 2]);
        assert!(placed[0].iter().all(|gpu| (4..7).contains(gpu)) && placed[0][0] != placed[0][1]);
    }

    #[test]
    fn jobs_of_one_kind_get_the_mapping_of_that_name() {
        let jobs = |mapping| [("a", 5, mapping), ("b", 9, mapping)];
        assert_eq!(place(&jobs(&LINEAR), 20, 4), Ok(linear_mapping(&[5, 9], 20).unwrap()));
        assert_eq!(place(&jobs(&RANDOM), 20, 4), Ok(random_mapping(&[5, 9], 20, 4).unwrap()));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |jobs: &[(&str, u32, &Mapping)]| place(jobs, 4, 0).unwrap_err().to_string();
        let (one, two) = (Mapping::Gpus(vec![1]), Mapping::Gpus(vec![2, 1]));
        let (far, twice) = (Mapping::Gpus(vec![4]), Mapping::Gpus(vec![1, 1]));
        assert_eq!(
            refused(&[("a", 5, &LINEAR)]),
            "the jobs have 5 ranks in all, and the cluster has 4 GPUs; take fewer or smaller \
             jobs, or a larger cluster"
        );
        assert_eq!(
            refused(&[("a", 2, &one)]),
            "job `a` has 2 ranks, but its mapping names 1 GPUs; name one for each rank"
        );
        assert_eq!(
            refused(&[("a", 1, &far)]),
            "job `a` puts rank 0 on GPU 4; the cluster's GPUs are 0 to 3"
        );
        assert_eq!(
            refused(&[("b", 2, &twice)]),
            "job `b` puts rank 1 on GPU 1, which rank 0 has; give each rank a GPU of its own"
        );
        assert!(place(&[("a", 1, &one), ("b", 2, &two)], 4, 0).is_ok(), "one after the other");
    }
}
