//! In which server a job looks for GPUs first.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;

/// Which server a job gets, of those in which its policy finds GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum ServerChoice {
    /// The first.
    #[default]
    FirstFit,
    /// The one with the fewest free GPUs, so that others keep room for large jobs.
    Pack,
    /// The one with the most free GPUs, so that jobs share servers with few others.
    Spread,
}

impl Named for ServerChoice {
    const WHAT: &'static str = "choice of servers";
    const NAMED: &'static [(&'static str, Self)] =
        &[("first-fit", Self::FirstFit), ("pack", Self::Pack), ("spread", Self::Spread)];
}

impl ServerChoice {
    /// The servers in which `size` GPUs are free, of all by how many they have free, in the order in which
    /// they are tried; of equals the first.
    pub(super) fn order(self, free: impl Iterator<Item = usize>, size: usize) -> Vec<usize> {
        let fitting = free.enumerate().filter(|(_, free)| *free >= size);
        let mut servers: Vec<(usize, usize)> = fitting.collect();
        match self {
            Self::FirstFit => {}
            Self::Pack => servers.sort_by_key(|(_, free)| *free),
            Self::Spread => servers.sort_by_key(|(_, free)| Reverse(*free)),
        }
        servers.into_iter().map(|(server, _)| server).collect()
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

    proptest! {
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
