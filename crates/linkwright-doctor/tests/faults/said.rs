//! Says what NCCL's ranks find and set up in a run, as far as they tell it.

use linkwright_collectives::collectives::Collective;
use linkwright_collectives::collectives::baselines::{
    ChannelEnd, ExpectedAlgorithm, Settings, channel_interfaces, explain,
};
use linkwright_ground::units::Bytes;
use linkwright_system::system::Wiring;

use super::run::Run;

/// How one rank reaches the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hop {
    Peer,
    Memory,
    Sends { interface: u32, through: Option<u32>, gpudirect: bool },
    Receives { interface: u32, gpudirect: bool },
}

/// Holds a line of a channel.
#[derive(Debug, Clone)]
pub struct Connection {
    pub channel: usize,
    pub from: usize,
    pub to: usize,
    pub hop: Hop,
}

/// Says what is found and set up.
#[derive(Debug, Clone)]
pub struct Said {
    /// The names of each server's interfaces by NCCL's numbers.
    pub interfaces: Vec<Vec<String>>,
    /// Lists the ring of each channel, by ranks.
    pub rings: Vec<Vec<usize>>,
    pub connections: Vec<Connection>,
    /// Counts those of rings and trees, and of NVLS.
    pub channels: [u32; 2],
    /// Whether the switches could reduce.
    pub has_multicast: bool,
}

/// The interfaces of a server that still have links, by their names.
fn interfaces(run: &Run, server: u32) -> Vec<String> {
    let kind = run.system.kind_of(server);
    let is_there = |nic: &&usize| kind.server().links().iter().any(|link| link.joins(**nic));
    let names = kind.nics().iter().filter(is_there);
    names.map(|nic| kind.server().devices()[*nic].name.clone()).collect()
}

impl Said {
    pub fn of(run: &Run) -> Self {
        let servers = run.system.servers();
        let interfaces: Vec<Vec<String>> = match run.tcp {
            Some(name) => vec![vec![name.to_owned()]; servers as usize],
            None => (0..servers).map(|server| interfaces(run, server)).collect(),
        };
        // Rings are joined whatever runs.
        let settings =
            Settings { algorithm: Some(ExpectedAlgorithm::Ring), protocol: None, ..run.settings };
        let all = Collective::AllReduce;
        let explained = explain(&run.system, &run.gpus, &run.settings).unwrap();
        let has_multicast = explained.nvls_channels > 0 && !run.lacks_multicast;
        let channels = [explained.channels, explained.nvls_channels];
        let told =
            channel_interfaces(&run.system, &run.gpus, all, Bytes(1 << 30), &settings).unwrap();
        let mut said = Self {
            interfaces,
            rings: Vec::new(),
            connections: Vec::new(),
            channels,
            has_multicast,
        };
        if servers == 1 {
            for channel in 0..channels[0] as usize {
                let ring: Vec<usize> = (0..run.gpus.len()).collect();
                let hops = ring.iter().map(|from| (*from, (from + 1) % ring.len()));
                for (from, to) in hops {
                    said.within(run, channel, from, to);
                }
                said.rings.push(ring);
            }
            return said;
        }
        let count = told.iter().map(|it| it.channel + 1).max().unwrap_or(0);
        for channel in 0..count {
            said.ring_between(run, channel, &told);
        }
        said
    }

    /// Whether all connections of a server go by GPUDirect where `run` allows it.
    fn gpudirect(run: &Run, end: &ChannelEnd) -> bool {
        let settings = run.settings;
        !end.by_memory && settings.gpudirect && run.tcp.is_none() && run.has_peermem && !run.is_far
    }

    fn within(&mut self, run: &Run, channel: usize, from: usize, to: usize) {
        let wiring = Wiring::of_gpus(&run.system, &run.gpus);
        let ends = [from, to].map(|rank| wiring.gpu(run.gpus[rank]));
        let is_peer = run.settings.p2p && wiring.has_peer_access(ends[0], ends[1]);
        let hop = if is_peer { Hop::Peer } else { Hop::Memory };
        self.connections.push(Connection { channel, from, to, hop });
    }

    fn ring_between(
        &mut self,
        run: &Run,
        channel: usize,
        told: &[linkwright_collectives::collectives::baselines::ChannelInterfaces],
    ) {
        let of = |server: usize| {
            told.iter().find(|it| it.channel == channel && it.server == server).unwrap()
        };
        let rank = |gpu: usize| run.gpus.iter().position(|it| *it == gpu).unwrap();
        let servers = run.system.servers() as usize;
        let mut ring = Vec::new();
        let mut crossings = Vec::new();
        for server in 0..servers {
            let (entry, exit) = (&of(server).receives[0], &of(server).sends[0]);
            let own = |gpu: &usize| run.system.gpu(*gpu as u32).server as usize == server;
            let ends = [entry.gpu, exit.gpu];
            let others = run.gpus.iter().filter(|gpu| own(gpu) && !ends.contains(gpu));
            let mut chain = vec![rank(entry.gpu)];
            chain.extend(others.map(|gpu| rank(*gpu)));
            if exit.gpu != entry.gpu {
                chain.push(rank(exit.gpu));
            }
            crossings.push((server, chain[0], *chain.last().unwrap()));
            ring.extend(chain);
        }
        for (at, from) in ring.iter().enumerate() {
            let to = ring[(at + 1) % ring.len()];
            let server = |rank: usize| run.system.gpu(run.gpus[rank] as u32).server as usize;
            let (leaves, enters) = (server(*from), server(to));
            if leaves == enters && at + 1 < ring.len() {
                self.within(run, channel, *from, to);
                continue;
            }
            let (sends, receives) = (&of(leaves).sends[0], &of(enters).receives[0]);
            let number = |server: usize, end: &ChannelEnd| {
                let listed = &self.interfaces[server];
                listed.iter().position(|name| *name == end.interface).unwrap_or(0) as u32
            };
            let receives = Hop::Receives {
                interface: number(enters, receives),
                gpudirect: Self::gpudirect(run, receives),
            };
            let sends = Hop::Sends {
                interface: number(leaves, sends),
                through: sends.through.map(|gpu| rank(gpu) as u32),
                gpudirect: Self::gpudirect(run, sends),
            };
            for hop in [receives, sends] {
                self.connections.push(Connection { channel, from: *from, to, hop });
            }
        }
        self.rings.push(ring);
    }
}
