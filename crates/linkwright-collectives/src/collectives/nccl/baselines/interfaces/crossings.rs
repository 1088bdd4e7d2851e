//! Names the interfaces of connections between servers: of rings and trees, of messages, and of trees between switches.

use super::deal::{Deal, kinds_of};
use super::dealing::{CrossNic, Dealing};
use super::reach::{Distance, Reach};
use crate::collectives::nccl::baselines::fabric::Fabric;
use crate::collectives::schedule::time::resources;
use crate::collectives::schedule::{Crossing, Schedule};
use crate::system::Wiring;

/// Names one end of a connection: its server, its GPU there, the interface, and the GPU that forwards.
#[derive(Debug, Clone, Copy)]
struct End {
    server: usize,
    gpu: usize,
    nic: usize,
    through: Option<usize>,
}

/// Holds a job's ranks on servers, and how those reach interfaces.
#[derive(Debug, Clone, Copy)]
struct Ground<'a> {
    gpus: &'a [usize],
    servers: &'a [Vec<usize>],
    kinds: &'a [usize],
    reaches: &'a [Reach],
}

impl Ground<'_> {
    fn reach(&self, server: usize) -> &Reach {
        &self.reaches[self.kinds[server]]
    }

    /// How data gets from one end to the other; None where an end reaches no interface.
    fn crossing(&self, sender: End, receiver: End) -> Option<Crossing> {
        let rank = |end: End, gpu: usize| self.servers[end.server][gpu];
        let place = |end: End| self.reach(end.server).places.get(end.nic).copied();
        let waits = |end: End| {
            let own = self.reach(end.server).own(end.gpu, end.nic);
            end.through.is_none() && own.is_some_and(|own| own.by_memory)
        };
        Some(Crossing {
            from: rank(sender, sender.gpu),
            to: rank(receiver, receiver.gpu),
            through: sender.through.map(|gpu| self.gpus[rank(sender, gpu)]),
            leaves: place(sender)?,
            arrives: place(receiver)?,
            leaves_by_memory: waits(sender),
            arrives_by_memory: waits(receiver),
        })
    }
}

fn sorted(mut crossings: Vec<Crossing>) -> Vec<Crossing> {
    crossings.sort_unstable();
    crossings.dedup_by_key(|crossing| (crossing.from, crossing.to));
    crossings
}

impl Deal {
    fn ground<'a>(&'a self, gpus: &'a [usize], servers: &'a [Vec<usize>]) -> Ground<'a> {
        Ground { gpus, servers, kinds: &self.kinds, reaches: &self.reaches }
    }

    /// Lists the crossings of a ring's channel: from the last of each server to the first of the next.
    pub(in crate::collectives::nccl::baselines) fn of_rings(
        &self,
        gpus: &[usize],
        servers: &[Vec<usize>],
        channel: usize,
    ) -> Vec<Crossing> {
        let ground = self.ground(gpus, servers);
        let hop = |server: usize| {
            let next = (server + 1) % servers.len();
            let (last, first) = (self.of_ring(channel, server), self.of_ring(channel, next));
            let (gpu, nic) = (*last.order.last()?, last.leaves);
            let sender = End { server, gpu, nic, through: last.through };
            let receiver =
                End { server: next, gpu: first.order[0], nic: first.arrives, through: None };
            ground.crossing(sender, receiver)
        };
        sorted((0..servers.len()).filter_map(hop).collect())
    }

    /// Lists the crossings of a tree's channel, both ways between the first of each server and of the one above it.
    pub(in crate::collectives::nccl::baselines) fn of_trees(
        &self,
        gpus: &[usize],
        servers: &[Vec<usize>],
        (channel, above): (usize, &[Option<usize>]),
    ) -> Vec<Crossing> {
        let ground = self.ground(gpus, servers);
        let head = |server: usize| {
            let chain = self.of_tree(channel, server);
            End { server, gpu: chain.order[0], nic: chain.arrives, through: None }
        };
        let joined =
            above.iter().enumerate().filter_map(|(server, above)| Some((server, (*above)?)));
        let both = joined.flat_map(|(server, above)| [(server, above), (above, server)]);
        sorted(both.filter_map(|(from, to)| ground.crossing(head(from), head(to))).collect())
    }
}

/// Tells how messages between ranks of different servers cross.
///
/// Each goes by the interface of the GPU that has the receiver's number on the sender's server. That GPU hands it on where
/// NVLink leads to it, so that messages stay on rails. It arrives by the receiver's own interface (`ncclTopoGetNetDev` of NCCL 2.30.7, `src/graph/search.cc`, with `NCCL_P2P_PXN_LEVEL` 2).
/// Without PXN it leaves by the sender's own.
#[derive(Debug, Clone)]
pub(in crate::collectives) struct Messages<'a> {
    gpus: &'a [usize],
    servers: &'a [Vec<usize>],
    dealing: Dealing,
    kinds: Vec<usize>,
    reaches: Vec<Reach>,
    /// The interfaces that each GPU of each kind of server takes in turn.
    turns: Vec<Vec<Vec<usize>>>,
    /// Gives the server of each rank, and its place there.
    places: Vec<(usize, usize)>,
}

impl<'a> Messages<'a> {
    pub(in crate::collectives) fn new(
        wiring: &Wiring,
        gpus: &'a [usize],
        servers: &'a [Vec<usize>],
        dealing: Dealing,
        is_on_host: bool,
    ) -> Self {
        let routes = resources(wiring);
        let (kinds, firsts) = kinds_of(wiring, gpus, servers);
        let reach = |first: &usize| {
            let own: Vec<usize> = servers[*first].iter().map(|rank| gpus[*rank]).collect();
            let fabric = (!is_on_host).then(|| Fabric::new(wiring, &own));
            Reach::new(&routes, &own, fabric.as_ref(), &dealing)
        };
        let reaches: Vec<Reach> = firsts.iter().map(reach).collect();
        let turns = reaches.iter().map(Reach::turns).collect();
        let mut places = vec![(0, 0); gpus.len()];
        for (server, ranks) in servers.iter().enumerate() {
            for (place, rank) in ranks.iter().enumerate() {
                places[*rank] = (server, place);
            }
        }
        Self { gpus, servers, dealing, kinds, reaches, turns, places }
    }

    /// How a message crosses on a channel; None within a server, and where an end reaches no interface.
    pub(in crate::collectives) fn crossing(
        &self,
        channel: usize,
        (from, to): (usize, usize),
    ) -> Option<Crossing> {
        let ((server, gpu), (other, peer)) = (self.places[from], self.places[to]);
        if server == other {
            return None;
        }
        // Messages to peers one after the other begin at channels one after the other.
        let channel = channel + (to + self.gpus.len() - from) % self.gpus.len();
        let (near, far) = (&self.reaches[self.kinds[server]], &self.reaches[self.kinds[other]]);
        let turn = |server: usize, gpu: usize| {
            let turns = &self.turns[self.kinds[server]][gpu];
            turns.get(channel % turns.len().max(1)).copied()
        };
        let of_peer = near.numbered(far.number(peer)).and_then(|like| turn(server, like));
        let on_rail = of_peer.filter(|nic| match near.sending(gpu, *nic) {
            _ if self.dealing.cross == CrossNic::Never => true,
            Some(distance) => self.dealing.pxn && distance <= Distance::Forwarded,
            None => false,
        });
        let nic = on_rail.or_else(|| turn(server, gpu))?;
        let through = near.forwarder(gpu, nic);
        let arrives = turn(other, peer)?;
        let ground = Ground {
            gpus: self.gpus,
            servers: self.servers,
            kinds: &self.kinds,
            reaches: &self.reaches,
        };
        let sender = End { server, gpu, nic, through };
        ground.crossing(sender, End { server: other, gpu: peer, nic: arrives, through: None })
    }

    /// Names the crossings of every message that may go from any rank to any other, on each channel of a schedule.
    pub(in crate::collectives) fn name(&self, schedule: &mut Schedule) {
        let ranks = self.gpus.len();
        for (index, channel) in schedule.channels.iter_mut().enumerate() {
            let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            channel.crossings = pairs.filter_map(|pair| self.crossing(index, pair)).collect();
        }
    }

    /// The heads of trees between switches: for each server the ranks, each with its interface. The search gives each
    /// interface in turn the GPU that it belongs to, and each GPU one interface. There are as many as the least server
    /// has. Where some GPUs reach no interface, each GPU of a place is a head.
    pub(in crate::collectives) fn heads(&self) -> Vec<Vec<(usize, usize)>> {
        let of_server = |server: usize| {
            let reach = &self.reaches[self.kinds[server]];
            let mut heads: Vec<(usize, usize)> = Vec::new();
            for nic in reach.preferred() {
                if let Some(gpu) = reach.gpu_of(nic)
                    && heads.iter().all(|(known, _)| *known != self.servers[server][gpu])
                {
                    heads.push((self.servers[server][gpu], nic));
                }
            }
            heads
        };
        let heads: Vec<Vec<(usize, usize)>> = (0..self.servers.len()).map(of_server).collect();
        let count = heads.iter().map(Vec::len).min().unwrap_or(0);
        if count == 0 {
            let least = self.servers.iter().map(Vec::len).min().unwrap_or(1);
            let all = self.servers.iter().map(|ranks| ranks[..least].iter());
            return all.map(|ranks| ranks.map(|rank| (*rank, usize::MAX)).collect()).collect();
        }
        heads.into_iter().map(|heads| heads[..count].to_vec()).collect()
    }

    /// Lists the crossings between the heads of one place, both ways along a tree over the servers.
    pub(in crate::collectives) fn between_heads(
        &self,
        heads: &[Vec<(usize, usize)>],
        (place, above): (usize, &[Option<usize>]),
    ) -> Vec<Crossing> {
        let ground = Ground {
            gpus: self.gpus,
            servers: self.servers,
            kinds: &self.kinds,
            reaches: &self.reaches,
        };
        let end = |server: usize| {
            let (rank, nic) = heads[server][place];
            End { server, gpu: self.places[rank].1, nic, through: None }
        };
        let joined =
            above.iter().enumerate().filter_map(|(server, above)| Some((server, (*above)?)));
        let both = joined.flat_map(|(server, above)| [(server, above), (above, server)]);
        sorted(both.filter_map(|(from, to)| ground.crossing(end(from), end(to))).collect())
    }
}
