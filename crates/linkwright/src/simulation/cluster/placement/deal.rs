//! Gives free GPUs to jobs by a rule.
//!
//! A rule puts the free GPUs in an order, and the jobs take them one after another. Chance moves whole groups: a GPU,
//! the GPUs of a server, or those of the servers at one switch. The same seed gives the same deal.

use super::MappingRule;
use crate::engine::Random;
use crate::program::workload::{Gpu, shuffle};
use crate::system::System;

/// Gives the GPUs of each job, in rank order. The free GPUs ascend, and are as many as all ranks or more.
pub(super) fn deal(
    rule: MappingRule,
    sizes: &[u32],
    free: &[Gpu],
    (system, seed): (&System, u64),
) -> Vec<Vec<Gpu>> {
    let mut random = Random::new(seed);
    let server = |gpu: Gpu| system.gpu(gpu).server;
    match rule {
        MappingRule::Linear => one_after_another(sizes, free),
        MappingRule::Random => {
            let mut order = free.to_vec();
            shuffle(&mut order, &mut random);
            one_after_another(sizes, &order)
        }
        MappingRule::RandomNodes => {
            one_after_another(sizes, &shuffled_groups(free, server, &mut random))
        }
        MappingRule::RandomSwitches => {
            let switch = |gpu| switch_of(system, server(gpu));
            one_after_another(sizes, &shuffled_groups(free, switch, &mut random))
        }
        MappingRule::Contiguous => stretches(sizes, free, server, &mut random),
    }
}

/// Gives the switch at the first interface of a server; zero without a network.
fn switch_of(system: &System, server: u32) -> u32 {
    system.fabric().map_or(0, |fabric| fabric.switch_of(system.port_of(system.nic_at(server, 0))))
}

/// Cuts an order into the jobs' parts; the rest stays free.
fn one_after_another(sizes: &[u32], order: &[Gpu]) -> Vec<Vec<Gpu>> {
    let mut rest = order;
    let take = |size: &u32| {
        let (job, others) = rest.split_at(*size as usize);
        rest = others;
        job.to_vec()
    };
    sizes.iter().map(take).collect()
}

/// Puts the groups of GPUs that share a key in an order by chance, and leaves that within each.
fn shuffled_groups(free: &[Gpu], key: impl Fn(Gpu) -> u32, random: &mut Random) -> Vec<Gpu> {
    let mut of_key: Vec<(u32, Gpu)> = free.iter().map(|gpu| (key(*gpu), *gpu)).collect();
    // Rails may put the servers of one switch apart.
    of_key.sort_unstable();
    let mut groups: Vec<&[(u32, Gpu)]> = of_key.chunk_by(|one, next| one.0 == next.0).collect();
    shuffle(&mut groups, random);
    groups.concat().into_iter().map(|(_, gpu)| gpu).collect()
}

/// Gives each job a stretch of the free GPUs, around the end of their order.
///
/// The first stretch begins at a server by chance. Chance says which job comes next, too, and where a server's worth
/// of GPUs stays free between two of them.
fn stretches(
    sizes: &[u32],
    free: &[Gpu],
    server: impl Fn(Gpu) -> u32,
    random: &mut Random,
) -> Vec<Vec<Gpu>> {
    let starts: Vec<usize> = (0..free.len())
        .filter(|at| *at == 0 || server(free[*at]) != server(free[at - 1]))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([free.len()]);
    let gap = starts.iter().zip(ends).map(|(start, end)| end - start).max().unwrap_or(1);
    let wanted: usize = sizes.iter().map(|size| *size as usize).sum();
    // A job, or None for a gap.
    let mut pieces: Vec<Option<usize>> = (0..sizes.len()).map(Some).collect();
    pieces.resize(sizes.len() + (free.len() - wanted) / gap, None);
    shuffle(&mut pieces, random);
    let mut starts = starts;
    shuffle(&mut starts, random);
    let mut around = free.iter().copied().cycle().skip(starts.first().copied().unwrap_or(0));
    let mut placed = vec![Vec::new(); sizes.len()];
    for piece in pieces {
        match piece {
            Some(job) => placed[job].extend(around.by_ref().take(sizes[job] as usize)),
            None => drop(around.nth(gap - 1)),
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::diagnostic::Named as _;
    use crate::simulation::cluster::placement::nodes;

    fn dealt(rule: &str, sizes: &[u32], system: &System, seed: u64) -> Vec<Vec<Gpu>> {
        let free: Vec<Gpu> = (0..system.gpus()).collect();
        deal(MappingRule::from_name(rule).unwrap(), sizes, &free, (system, seed))
    }

    #[test]
    fn nodes_by_chance_of_one_gpu_are_gpus_by_chance() {
        let system = nodes(1);
        for seed in 0..9 {
            let of = |rule| dealt(rule, &[7, 8], &system, seed);
            assert_eq!(of("random-nodes"), of("random"));
        }
    }

    #[test]
    fn a_full_cluster_of_stretches_is_the_linear_one_turned() {
        let system = nodes(2);
        let placed = dealt("contiguous", &[8, 8, 16], &system, 3);
        let turned = |job: &[Gpu]| job.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 32);
        assert!(placed.iter().all(|job| turned(job) && job[0] % 2 == 0), "{placed:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Every rank has a GPU of its own, whole groups stay together, and a seed says it all.
        #[test]
        fn groups_stay_together(
            per_node in 1_u32..4,
            seed: u64,
            sizes in prop::collection::vec(1_u32..6, 1..4),
        ) {
            let system = nodes(per_node);
            for rule in MappingRule::names() {
                let placed = dealt(rule, &sizes, &system, seed);
                let all: Vec<Gpu> = placed.concat();
                prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
                prop_assert!(placed.iter().zip(&sizes).all(|(job, size)| job.len() == *size as usize));
                prop_assert_eq!(&placed, &dealt(rule, &sizes, &system, seed));
                // No group is left before it is used up: the key changes as often as there are keys.
                let changes = |key: &dyn Fn(Gpu) -> u32| {
                    let keys: Vec<u32> = all.iter().map(|gpu| key(*gpu)).collect();
                    let met: BTreeSet<u32> = keys.iter().copied().collect();
                    (keys.chunk_by(|one, next| one == next).count(), met.len())
                };
                let server = |gpu: Gpu| system.gpu(gpu).server;
                if matches!(rule, "random-nodes" | "random-switches") {
                    let (runs, met) = changes(&server);
                    prop_assert_eq!(runs, met);
                }
                if rule == "random-switches" {
                    let (runs, met) = changes(&|gpu| switch_of(&system, server(gpu)));
                    prop_assert_eq!(runs, met);
                }
                if rule == "contiguous" {
                    let count = system.gpus();
                    for job in &placed {
                        prop_assert!(job.windows(2).all(|it| it[1] == (it[0] + 1) % count));
                    }
                }
            }
        }
    }
}
