//! In which server a job looks for GPUs first, and how many it takes of each of several.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::system::fabric::SwitchId;

/// Which server a job gets, of those in which its policy finds GPUs, and how a job that is played has its
/// GPUs in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ServerChoice {
    /// The first. A job that no server has the GPUs for takes what is free in one after another; any other
    /// waits.
    #[default]
    FirstFit,
    /// The one with the fewest free GPUs, so that others keep room for large jobs. A job that none has room
    /// for takes GPUs of as few as it can.
    Pack,
    /// The one with the most free GPUs, so that jobs share servers with few others. A job that none has
    /// room for takes GPU by GPU where the most are free.
    Spread,
    /// As clusters are run. A job of a server's size or more takes servers that nobody else is on, as few as can be. It
    /// shares them with nobody. Any other takes the one server with the fewest free GPUs that has room. Both wait for it.
    Whole,
}

impl Named for ServerChoice {
    const WHAT: &'static str = "choice of servers";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("first-fit", Self::FirstFit),
        ("pack", Self::Pack),
        ("spread", Self::Spread),
        ("whole", Self::Whole),
    ];
}

impl ServerChoice {
    /// Gives the servers in which `size` GPUs are free, in the order in which they are tried. `free` counts the free
    /// GPUs of each; of equals the first comes first.
    pub(super) fn order(self, free: impl Iterator<Item = usize>, size: usize) -> Vec<usize> {
        let fitting = free.enumerate().filter(|(_, free)| *free >= size);
        let mut servers: Vec<(usize, usize)> = fitting.collect();
        match self {
            Self::FirstFit => {}
            Self::Pack | Self::Whole => servers.sort_by_key(|(_, free)| *free),
            Self::Spread => servers.sort_by_key(|(_, free)| Reverse(*free)),
        }
        servers.into_iter().map(|(server, _)| server).collect()
    }

    /// Whether a job that a server could have room for takes GPUs of several rather than wait.
    pub(super) const fn may_split(self) -> bool {
        matches!(self, Self::Pack | Self::Spread)
    }

    /// Divides `size` GPUs among servers, and names these in their order. `free` counts what each has. Nothing is
    /// given where too few are free. Equal servers are taken that are on a leaf with the others.
    pub(super) fn split(
        self,
        free: impl Iterator<Item = usize>,
        leaves: &[Option<SwitchId>],
        size: usize,
    ) -> Vec<(usize, usize)> {
        let mut left: Vec<usize> = free.collect();
        if left.iter().sum::<usize>() < size {
            return Vec::new();
        }
        let mut taken = vec![0; left.len()];
        let mut needed = size;
        let mut near = vec![false; left.len()];
        while needed > 0 {
            let is_near = |at: usize| near[at];
            let most = (0..left.len()).max_by_key(|at| (left[*at], is_near(*at), Reverse(*at)));
            let Some(largest) = most else { break };
            let (server, count) = match self {
                Self::FirstFit => {
                    let first = left.iter().position(|left| *left > 0).unwrap_or(largest);
                    (first, left[first].min(needed))
                }
                Self::Pack => {
                    let fitting = (0..left.len()).filter(|server| left[*server] >= needed);
                    let tightest = fitting.min_by_key(|at| (left[*at], !is_near(*at)));
                    tightest.map_or((largest, left[largest]), |server| (server, needed))
                }
                // Jobs that take whole servers are shared out evenly, and never come here.
                Self::Spread | Self::Whole => (largest, 1),
            };
            left[server] -= count;
            if taken[server] == 0 {
                let on_leaf = near.iter_mut().zip(leaves);
                on_leaf.for_each(|(near, leaf)| *near |= *leaf == leaves[server]);
            }
            taken[server] += count;
            needed -= count;
        }
        taken.into_iter().enumerate().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn servers_are_tried_by_what_they_have_free() {
        let order = |choice: ServerChoice| choice.order([3, 8, 2, 4, 8, 3].into_iter(), 3);
        assert_eq!(order(ServerChoice::FirstFit), [0, 1, 3, 4, 5]);
        assert_eq!(order(ServerChoice::Pack), [0, 5, 3, 1, 4]);
        assert_eq!(order(ServerChoice::Spread), [1, 4, 3, 0, 5]);
    }

    #[test]
    fn jobs_of_several_servers_are_split_by_what_is_free() {
        let split = |choice: ServerChoice, size| {
            choice.split([3, 8, 0, 2, 8].into_iter(), &[None; 5], size)
        };
        assert_eq!(split(ServerChoice::FirstFit, 12), [(0, 3), (1, 8), (3, 1)]);
        assert_eq!(split(ServerChoice::Pack, 10), [(1, 8), (3, 2)]);
        assert_eq!(split(ServerChoice::Pack, 19), [(0, 3), (1, 8), (4, 8)]);
        assert_eq!(split(ServerChoice::Spread, 10), [(1, 5), (4, 5)]);
        assert_eq!(split(ServerChoice::Spread, 13), [(0, 1), (1, 6), (4, 6)]);
        for (_, choice) in ServerChoice::NAMED {
            assert_eq!(split(*choice, 22), []);
        }
    }

    proptest! {
        /// No choice takes more than is free, and `pack` needs as few servers as any.
        #[test]
        fn every_split_is_of_free_gpus(
            free in proptest::collection::vec(0_usize..9, 1..12), size in 1_usize..40,
        ) {
            let there = free.iter().sum::<usize>();
            let leaves: Vec<_> = (0..free.len() as u32).map(|server| Some(server / 3)).collect();
            let mut descending = free.clone();
            descending.sort_unstable_by_key(|free| Reverse(*free));
            let mut room = 0;
            let fewest = descending.iter().take_while(|free| {
                let needs = room < size;
                room += **free;
                needs
            }).count();
            for (_, choice) in ServerChoice::NAMED {
                let split = choice.split(free.iter().copied(), &leaves, size);
                let taken: usize = split.iter().map(|(_, count)| count).sum();
                prop_assert_eq!(taken, if there < size { 0 } else { size });
                prop_assert!(split.iter().all(|(server, count)| (1..=free[*server]).contains(count)));
                prop_assert!(split.is_sorted_by(|a, b| a.0 < b.0));
                if *choice == ServerChoice::Pack && there >= size {
                    prop_assert_eq!(split.len(), fewest);
                }
            }
        }

        /// No choice keeps a job from a server that has room.
        #[test]
        fn every_server_with_room_is_tried_once(
            free in proptest::collection::vec(0_usize..9, 0..20), size in 0_usize..9,
        ) {
            for (_, choice) in ServerChoice::NAMED {
                let mut order = choice.order(free.iter().copied(), size);
                order.sort_unstable();
                let fitting = (0..free.len()).filter(|server| free[*server] >= size);
                prop_assert_eq!(order, fitting.collect::<Vec<_>>());
            }
        }
    }
}
