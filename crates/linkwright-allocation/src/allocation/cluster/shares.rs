//! Shares jobs out evenly to a number of servers that they want, where the fabric joins these nearest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::system::System;
use crate::system::fabric::SwitchId;

/// Gives even shares of a job's GPUs on a number of servers, the largest first.
pub fn shares(gpus: usize, servers: usize) -> impl Iterator<Item = usize> {
    let (each, more) = (gpus / servers, gpus % servers);
    (0..servers).map(move |at| each + usize::from(at < more))
}

/// Gives the leaf that each server's first interface is on; None for all where there is no fabric.
#[must_use]
pub fn leaves(system: &System) -> Vec<Option<SwitchId>> {
    let Some(fabric) = system.fabric() else { return vec![None; system.servers() as usize] };
    let leaf = |server: u32| {
        let has_interface = !system.kind_of(server).nics().is_empty();
        let port = || system.port_of(system.nic_at(server, 0));
        has_interface.then(|| fabric.switch_of(port()))
    };
    (0..system.servers()).map(leaf).collect()
}

/// Shares a job out to a number of servers. Each has room for the largest share. `free` counts the GPUs that each
/// has for it. Nothing is given where too few have that room. It takes the fewest leaves that it can, and of single
/// leaves the one with the fewest such servers. On each it takes the fullest servers.
pub(super) fn shared_out(
    free: impl Iterator<Item = usize>,
    leaves: &[Option<SwitchId>],
    gpus: usize,
    servers: usize,
) -> Vec<(usize, usize)> {
    let largest = gpus.div_ceil(servers);
    let mut of_leaves: BTreeMap<Option<SwitchId>, Vec<(usize, usize)>> = BTreeMap::new();
    for (server, free) in free.enumerate().filter(|(_, free)| *free >= largest) {
        of_leaves.entry(leaves[server]).or_default().push((free, server));
    }
    let mut chosen = Vec::new();
    while chosen.len() < servers {
        let needed = servers - chosen.len();
        let with_room = of_leaves.iter().filter(|(_, there)| there.len() >= needed);
        let tightest = with_room.min_by_key(|(leaf, there)| (there.len(), **leaf));
        let widest = || of_leaves.iter().max_by_key(|(leaf, there)| (there.len(), Reverse(**leaf)));
        let Some(leaf) = tightest.or_else(widest).map(|(leaf, _)| *leaf) else {
            return Vec::new();
        };
        let mut there = of_leaves.remove(&leaf).unwrap_or_default();
        there.sort_unstable();
        chosen.extend(there.into_iter().take(needed).map(|(_, server)| server));
    }
    chosen.sort_unstable();
    chosen.into_iter().zip(shares(gpus, servers)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn servers_of_one_leaf_come_before_those_of_two() {
        let leaves = [0, 0, 1, 1, 1, 2].map(Some);
        let of =
            |free: [usize; 6], servers| shared_out(free.into_iter(), &leaves, 8 * servers, servers);
        assert_eq!(of([8; 6], 1), [(5, 8)]);
        assert_eq!(of([8; 6], 2), [(0, 8), (1, 8)]);
        assert_eq!(of([8, 0, 8, 8, 8, 8], 2), [(2, 8), (3, 8)]);
        assert_eq!(of([8; 6], 4), [(2, 8), (3, 8), (4, 8), (5, 8)]);
        assert_eq!(of([8, 7, 8, 7, 7, 7], 2), [(0, 8), (2, 8)]);
        assert_eq!(of([8, 7, 7, 7, 7, 7], 2), []);
    }

    proptest! {
        /// A job that is shared out has all of its GPUs, on servers with room. Its shares differ by one at most.
        #[test]
        fn shares_are_even_and_there(
            free in proptest::collection::vec(0_usize..9, 1..12), gpus in 1_usize..40, servers in 1_usize..6,
        ) {
            prop_assume!(servers <= gpus);
            let leaves: Vec<_> = (0..free.len() as u32).map(|server| Some(server / 4)).collect();
            let shared = shared_out(free.iter().copied(), &leaves, gpus, servers);
            let with_room = free.iter().filter(|free| **free >= gpus.div_ceil(servers)).count();
            prop_assert_eq!(!shared.is_empty(), with_room >= servers);
            if !shared.is_empty() {
                let each = shared.iter().map(|(_, count)| *count);
                prop_assert_eq!(each.clone().sum::<usize>(), gpus);
                prop_assert!(each.clone().max().unwrap() - each.min().unwrap() <= 1);
                prop_assert_eq!(shared.len(), servers);
                prop_assert!(shared.iter().all(|(server, count)| free[*server] >= *count));
                let of = |leaf: u32| (0..free.len()).filter(|at| leaves[*at] == Some(leaf) && free[*at] >= gpus.div_ceil(servers)).count();
                let mut room: Vec<usize> = (0..3).map(of).collect();
                room.sort_unstable_by_key(|room| Reverse(*room));
                let fewest = (1..=3).find(|count| room[..*count].iter().sum::<usize>() >= servers);
                let mut taken: Vec<_> = shared.iter().map(|(server, _)| leaves[*server]).collect();
                taken.dedup();
                prop_assert_eq!(Some(taken.len()), fewest);
            }
        }
    }
}
