//! The least that exchanges can take on the links of a system, whatever algorithm makes them.
//!
//! A GPU sends by its links, and to other servers by the interfaces of its server. An
//! all-gather brings each GPU the parts of all others. A reduce-scatter takes away what others
//! keep. Of an all-reduce each number leaves: as a part of a sum that is made elsewhere, or as the sum.

use crate::program::CollectiveKind;
use crate::system::System;
use crate::system::fabric::Fabric;
use crate::training::layout::{ModelLayout, Order, RankGroup};
use crate::training::layout_step::{ExchangeTimes, GroupCall, PipelineSend};
use crate::units::Picoseconds;

/// Gives the most bytes a second that leave a GPU and a server.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkPeaks {
    gpu: f64,
    server: f64,
    /// Gives the server of each rank.
    servers: Vec<u32>,
}

impl LinkPeaks {
    /// Those of a system; `gpus` are its GPUs in the order of the ranks.
    #[must_use]
    pub fn of(system: &System, gpus: &[u32]) -> Self {
        let mut of_gpus = 0;
        for kind in system.kinds() {
            let server = kind.server();
            for gpu in server.gpus() {
                let links = server.links().iter().filter(|link| link.joins(*gpu));
                let all: u64 = links.map(|link| link.total_bandwidth().0).sum();
                of_gpus = of_gpus.max(all);
            }
        }
        let mut of_servers = vec![0_u64; system.servers() as usize];
        if let Some(fabric) = system.fabric() {
            for nic in 0..system.nics() {
                let channel = Fabric::injection(system.port_of(nic));
                let own = fabric.channels()[channel as usize].bandwidth.0;
                of_servers[system.nic(nic).server as usize] += own;
            }
        }
        let most = of_servers.into_iter().max().unwrap_or(0);
        Self {
            // GPUs that lie on a fabric themselves have no links of their own.
            gpu: if of_gpus > 0 { of_gpus as f64 } else { f64::INFINITY },
            server: if most > 0 { most as f64 } else { f64::INFINITY },
            servers: gpus.iter().map(|gpu| system.gpu(*gpu).server).collect(),
        }
    }
}

/// The least that exchanges of a layout take.
#[derive(Debug)]
pub(super) struct LeastExchanges<'a> {
    peaks: &'a LinkPeaks,
    layout: ModelLayout,
    order: Order,
    /// Counts each group's ranks in its first server, by stage and kind; filled on demand.
    near: Vec<[Option<Vec<u64>>; RankGroup::ALL.len()]>,
}

impl<'a> LeastExchanges<'a> {
    pub(super) fn new(peaks: &'a LinkPeaks, layout: ModelLayout, order: Order) -> Self {
        let near = (0..layout.pp).map(|_| std::array::from_fn(|_| None)).collect();
        Self { peaks, layout, order, near }
    }

    fn size(&self, group: RankGroup) -> u64 {
        let layout = &self.layout;
        match group {
            RankGroup::Tensor => layout.tp,
            RankGroup::Context => layout.cp,
            RankGroup::Shards => layout.shards(),
            RankGroup::Replicas => layout.dp,
            RankGroup::Experts => layout.ep,
            RankGroup::ExpertParts => layout.expert_parts(),
            RankGroup::ExpertShards => layout.expert_replicas(),
        }
    }

    /// Ranks of a stage in the server of its first.
    fn first_server(&self, stage: u64) -> impl Iterator<Item = u64> + '_ {
        let first = self.order.at_stage(&self.layout, 0, stage);
        let server = self.peaks.servers.get(first as usize);
        let all = (first..self.layout.gpus()).take_while(move |rank| {
            // Ranks follow one another through servers; gaps of other stages lie between.
            self.peaks.servers.get(*rank as usize) == server
        });
        all.filter(move |rank| self.order.stage(&self.layout, *rank) == stage)
    }

    fn near(&mut self, stage: u64, group: RankGroup) -> &[u64] {
        if self.near[stage as usize][group as usize].is_none() {
            let mut counts: Vec<(u64, u64)> = Vec::new();
            for rank in self.first_server(stage) {
                let key = self.order.key(&self.layout, group, rank);
                match counts.iter_mut().find(|(other, _)| *other == key) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((key, 1)),
                }
            }
            let found = counts.into_iter().map(|(_, count)| count).collect();
            self.near[stage as usize][group as usize] = Some(found);
        }
        self.near[stage as usize][group as usize].as_deref().unwrap_or_default()
    }
}

fn time(bytes: f64, peak: f64) -> f64 {
    if bytes > 0.0 { bytes / peak * 1e12 } else { 0.0 }
}

impl ExchangeTimes for LeastExchanges<'_> {
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds {
        let (all, size) = (self.size(call.group) as f64, call.size.0 as f64);
        if all < 2.0 {
            return Picoseconds(0);
        }
        let (gpu, server) = (self.peaks.gpu, self.peaks.server);
        // Bytes that cross between the GPUs of a group on this side and all others.
        let crossing = |here: f64| match call.kind {
            CollectiveKind::AllGather => (all - here) * size,
            CollectiveKind::ReduceScatter => size * (all - here) / all,
            CollectiveKind::AllReduce if here < all => size,
            CollectiveKind::AllToAll => here * (all - here) * size,
            _ => 0.0,
        };
        let of_gpu = time(crossing(1.0), gpu);
        let of_server: f64 =
            self.near(stage, call.group).iter().map(|here| crossing(*here as f64)).sum();
        Picoseconds(of_gpu.max(time(of_server, server)) as u64)
    }

    fn send(&mut self, send: &PipelineSend) -> Picoseconds {
        let size = send.size.0 as f64;
        let there = |rank: u64| {
            let other = self.order.at_stage(&self.layout, rank, send.to);
            self.peaks.servers.get(rank as usize) != self.peaks.servers.get(other as usize)
        };
        let crossing = self.first_server(send.from).filter(|rank| there(*rank)).count() as f64;
        let of_server = time(crossing * size, self.peaks.server);
        Picoseconds(time(size, self.peaks.gpu).max(of_server) as u64)
    }
}

#[cfg(test)]
impl LinkPeaks {
    /// Gives servers of `each` GPUs in a row, with the bytes a second of a GPU and of a server.
    pub(super) fn regular(gpus: u64, each: u64, [gpu, server]: [f64; 2]) -> Self {
        let servers = (0..gpus).map(|rank| (rank / each) as u32).collect();
        Self { gpu, server, servers }
    }
}
