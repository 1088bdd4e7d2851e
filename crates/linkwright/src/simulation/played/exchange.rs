//! Exchanges along the edges of a job's pattern, where that stands for no all-reduce.
//!
//! It represents that each edge carries its share of what the job's GPUs would reduce, both ways, and all edges at once. Each
//! goes over the path that a copy takes; between two servers it is a message. All GPUs go on when the last has its data.
//!
//! It leaves out how many copy engines a GPU has: as many copies are under way as a GPU has edges.

use std::collections::BTreeSet;

use crate::allocation::AllocationError;
use crate::allocation::shares::WHOLE;
use crate::network::{ResourceId, RouteClass, Routes, Transport};
use crate::program::{
    CollectiveKind, CopyDirection, Operation, PendingOperation, RankBuilder, WORLD,
};
use crate::simulation::job::Job;
use crate::system::System;
use crate::system::views::wiring::WiredId;
use crate::units::{Bytes, Picoseconds};

/// Holds the edges of a job's pattern, with what each carries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Exchange {
    edges: Vec<Edge>,
    ranks: u32,
}

/// Joins two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    ends: [u32; 2],
    /// Says what it carries from the first to the second, and back, of [`WHOLE`].
    shares: [u32; 2],
    /// Whether its ends are in two servers, which no copy joins.
    is_message: bool,
}

impl Exchange {
    /// Finds what a job exchanges on these GPUs of a system, in the order of its ranks; None where it reduces.
    pub(super) fn of(
        job: &Job,
        system: &System,
        gpus: &[usize],
    ) -> Result<Option<Self>, AllocationError> {
        if !job.is_exchange() {
            return Ok(None);
        }
        let pattern = job.pattern_on(gpus.len())?;
        let server = |rank: usize| system.gpu(gpus[rank] as u32).server;
        let edges = pattern.edges().iter().enumerate().map(|(edge, (a, b))| Edge {
            ends: [*a as u32, *b as u32],
            shares: pattern.share(edge),
            is_message: server(*a) != server(*b),
        });
        Ok(Some(Self { edges: edges.collect(), ranks: gpus.len() as u32 }))
    }

    /// Lists who sends how much to whom, of a buffer of this size.
    pub(super) fn parts(&self, size: Bytes) -> impl Iterator<Item = ([u32; 2], Bytes)> + '_ {
        self.directed(size).map(|(ends, bytes, _)| (ends, bytes))
    }

    fn directed(&self, size: Bytes) -> impl Iterator<Item = ([u32; 2], Bytes, bool)> + '_ {
        let both = self.edges.iter().flat_map(
            |Edge { ends: [a, b], shares: [forth, back], is_message }| {
                [([*a, *b], *forth, *is_message), ([*b, *a], *back, *is_message)]
            },
        );
        both.map(move |(ends, share, is_message)| {
            let bytes = u128::from(size.0) * u128::from(share) / u128::from(WHOLE);
            (ends, Bytes(bytes as u64), is_message)
        })
        .filter(|(_, bytes, _)| bytes.0 > 0)
    }

    /// Lets a rank exchange its parts of a buffer, once these operations are complete, and wait for all ranks.
    pub(super) fn run(
        &self,
        rank: &mut RankBuilder,
        own: u32,
        size: Bytes,
        after: &[PendingOperation],
    ) -> PendingOperation {
        let route = RouteClass::Any;
        let mut own_parts: Vec<_> = (0..)
            .zip(self.directed(size))
            .filter(|(_, ([from, to], _, is_message))| *from == own || *is_message && *to == own)
            .collect();
        // Where copies leave one after another, not all ranks begin with the same one.
        own_parts.sort_by_key(|(_, ([_, to], ..))| (to + self.ranks - own) % self.ranks);
        let mut started = after.to_vec();
        for (tag, ([from, to], size, is_message)) in own_parts {
            let operation = if !is_message {
                Operation::Copy { direction: CopyDirection::Peer(to), size, route }
            } else if from == own {
                Operation::Send { to, tag, communicator: WORLD, size, route }
            } else {
                let (from, tag) = (Some(from), Some(tag));
                Operation::Receive { from, tag, communicator: WORLD, size }
            };
            started.push(rank.start_after(operation, after));
        }
        let (kind, communicator) = (CollectiveKind::Barrier, WORLD);
        let (size, duration) = (Bytes(0), Picoseconds(0));
        rank.run_after(Operation::Timed { kind, communicator, size, duration }, &started)
    }

    /// Counts the ranks that exchange.
    pub(super) const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Finds the links that it goes over on these GPUs.
    pub(super) fn links(
        &self,
        network: &impl Transport,
        routes: &Routes<'_>,
        gpus: &[usize],
    ) -> BTreeSet<ResourceId> {
        let device = |rank: u32| network.gpu_device(gpus[rank as usize] as u32) as WiredId;
        let both = self.edges.iter().flat_map(|Edge { ends: [a, b], .. }| [(*a, *b), (*b, *a)]);
        let ways = both.filter_map(|(a, b)| routes.route(device(a), device(b), RouteClass::Any));
        ways.flat_map(|way| way.uses).map(|(link, _)| link).collect()
    }
}
