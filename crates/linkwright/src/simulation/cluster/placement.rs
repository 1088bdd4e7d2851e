//! Gives the jobs of a cluster their GPUs.

mod deal;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, Named, shown};
use crate::program::workload::Gpu;
use crate::system::{Fabric, System};
use deal::deal;

/// Finds GPUs for the ranks of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MappingRule {
    /// Takes the free GPUs with the lowest numbers, in rank order.
    #[default]
    Linear,
    /// Takes stretches of free GPUs, each from any server on: in an order and with gaps by chance.
    Contiguous,
    /// Takes switches by chance, and the free GPUs of the servers at each in order.
    RandomSwitches,
    /// Takes servers by chance, and the free GPUs of each in order.
    RandomNodes,
    /// Draws free GPUs by chance.
    Random,
}

impl MappingRule {
    /// Tells whether chance has a part in it.
    #[must_use]
    pub fn draws(self) -> bool {
        self != Self::Linear
    }
}

impl Named for MappingRule {
    const WHAT: &'static str = "mapping";
    // Earlier rules take their GPUs first.
    const NAMED: &'static [(&'static str, Self)] = &[
        ("linear", Self::Linear),
        ("contiguous", Self::Contiguous),
        ("random-switches", Self::RandomSwitches),
        ("random-nodes", Self::RandomNodes),
        ("random", Self::Random),
    ];
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
    /// A rule shuffles what the cluster has one of, or none.
    NothingToShuffle {
        /// It is the job's place in the list.
        job: usize,
        /// It names the rule.
        rule: &'static str,
        /// It names the things that the rule shuffles, in the plural.
        what: &'static str,
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
                "the jobs have {ranks} ranks in all, but the cluster has {gpus} GPUs"
            ))
            .remedy("use fewer or smaller jobs, or a larger cluster"),
            Self::Length { name, ranks, given, .. } => Diagnosis::of(format!(
                "job `{}` has {ranks} ranks, but its mapping lists {given} GPUs",
                shown(name)
            ))
            .remedy("list one GPU for each rank"),
            Self::UnknownGpu { name, rank, gpu, gpus, .. } => Diagnosis::of(format!(
                "job `{}` puts rank {rank} on GPU {gpu}, which does not exist",
                shown(name)
            ))
            .remedy(format!("use GPUs 0 to {}", gpus - 1)),
            Self::NothingToShuffle { rule, what, .. } => Diagnosis::of(format!(
                "the mapping `{rule}` needs several {what}, but the cluster has one"
            ))
            .remedy("use `linear` or `random`, or a larger cluster"),
            Self::SharedGpu { name, rank, gpu, other_rank, .. } => Diagnosis::of(format!(
                "job `{}` puts ranks {other_rank} and {rank} on GPU {gpu}",
                shown(name)
            ))
            .remedy("give each rank a GPU of its own"),
        }
    }
}

/// Gives the GPU of each rank of each job. Jobs whose mapping is a list come first. Those of each rule follow, in the
/// order of the rules' names: linear ones before those that the seed places. Lists of two jobs may
/// name one GPU: it is one's after the other.
///
/// # Errors
/// It refuses more ranks than GPUs, and lists of another length than the job. A list names GPUs of the cluster, each for
/// one rank of the job. A rule that shuffles servers or switches needs several of them.
pub fn place(
    jobs: &[(&str, u32, &Mapping)],
    system: &System,
    seed: u64,
) -> Result<Vec<Vec<Gpu>>, PlacementError> {
    let gpus = system.gpus();
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
    for (_, rule) in MappingRule::NAMED {
        let wanted = Mapping::Rule(*rule);
        let chosen: Vec<usize> = (0..jobs.len()).filter(|job| *jobs[*job].2 == wanted).collect();
        let Some(first) = chosen.first() else { continue };
        check_rule(*rule, *first, system)?;
        let sizes: Vec<u32> = chosen.iter().map(|job| jobs[*job].1).collect();
        for (job, list) in chosen.into_iter().zip(deal(*rule, &sizes, &free, (system, seed))) {
            for gpu in &list {
                holder[*gpu as usize] = Some((job, 0));
            }
            placed[job] = list;
        }
        free.retain(|gpu| holder[*gpu as usize].is_none());
    }
    Ok(placed)
}

/// Refuses a rule that shuffles what there are not several of.
fn check_rule(rule: MappingRule, job: usize, system: &System) -> Result<(), PlacementError> {
    let (there, what) = match rule {
        MappingRule::Linear | MappingRule::Random => return Ok(()),
        MappingRule::Contiguous | MappingRule::RandomNodes => (system.servers(), "servers"),
        MappingRule::RandomSwitches => {
            (system.fabric().map_or(0, Fabric::switches), "switches of a network")
        }
    };
    if there > 1 {
        return Ok(());
    }
    Err(PlacementError::NothingToShuffle { job, rule: rule.name(), what })
}

/// A fat-tree of eight leaves with two nodes each, for tests.
#[cfg(test)]
fn nodes(gpus: u32) -> System {
    use crate::system::AbstractNode;
    use crate::system::fabric::FabricSpecification;
    use crate::units::{Bandwidth, Picoseconds};

    let fabric = FabricSpecification::preset("fat-tree").unwrap();
    let fabric = fabric.with("radix", 4).with("pods", 4).build().unwrap();
    let (bandwidth, latency) = (Bandwidth(1), Picoseconds(1));
    System::of_nodes(fabric, AbstractNode { gpus, nics: 1, bandwidth, latency }).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::workload::{linear_mapping, random_mapping};
    use crate::system::presets::preset;

    const LINEAR: Mapping = Mapping::Rule(MappingRule::Linear);
    const RANDOM: Mapping = Mapping::Rule(MappingRule::Random);

    #[test]
    fn lists_go_first_then_linear_then_random() {
        let list = Mapping::Gpus(vec![3, 0]);
        let jobs = [("r", 2, &RANDOM), ("l", 2, &LINEAR), ("g", 2, &list)];
        let placed = place(&jobs, &nodes(1), 1).unwrap();
        assert_eq!(placed[2], [3, 0]);
        assert_eq!(placed[1], [1, 2]);
        assert!(placed[0].iter().all(|gpu| (4..16).contains(gpu)) && placed[0][0] != placed[0][1]);
    }

    #[test]
    fn jobs_of_one_kind_get_the_mapping_of_that_name() {
        let jobs = |mapping| [("a", 5, mapping), ("b", 9, mapping)];
        let placed = |mapping| place(&jobs(mapping), &nodes(2), 4);
        assert_eq!(placed(&LINEAR), Ok(linear_mapping(&[5, 9], 32).unwrap()));
        assert_eq!(placed(&RANDOM), Ok(random_mapping(&[5, 9], 32, 4).unwrap()));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let system = nodes(1);
        let refused =
            |jobs: &[(&str, u32, &Mapping)]| place(jobs, &system, 0).unwrap_err().to_string();
        let (one, two) = (Mapping::Gpus(vec![1]), Mapping::Gpus(vec![2, 1]));
        let (far, twice) = (Mapping::Gpus(vec![16]), Mapping::Gpus(vec![1, 1]));
        assert_eq!(
            refused(&[("a", 17, &LINEAR)]),
            "the jobs have 17 ranks in all, but the cluster has 16 GPUs; use fewer or smaller \
             jobs, or a larger cluster"
        );
        assert_eq!(
            refused(&[("a", 2, &one)]),
            "job `a` has 2 ranks, but its mapping lists 1 GPUs; list one GPU for each rank"
        );
        assert_eq!(
            refused(&[("a", 1, &far)]),
            "job `a` puts rank 0 on GPU 16, which does not exist; use GPUs 0 to 15"
        );
        assert_eq!(
            refused(&[("b", 2, &twice)]),
            "job `b` puts ranks 0 and 1 on GPU 1; give each rank a GPU of its own"
        );
        assert!(
            place(&[("a", 1, &one), ("b", 2, &two)], &system, 0).is_ok(),
            "one after the other"
        );
    }

    #[test]
    fn rules_shuffle_what_there_are_several_of() {
        let lone = System::of_server(std::sync::Arc::new(preset("dgx1-v100").unwrap()));
        for (rule, what) in [
            (MappingRule::Contiguous, "several servers"),
            (MappingRule::RandomNodes, "several servers"),
            (MappingRule::RandomSwitches, "several switches of a network"),
        ] {
            let error = place(&[("a", 2, &Mapping::Rule(rule))], &lone, 0).unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "the mapping `{}` needs {what}, but the cluster has one; use `linear` or \
                     `random`, or a larger cluster",
                    rule.name()
                )
            );
        }
    }
}
