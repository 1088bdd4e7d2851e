//! Finds the bandwidth of a pattern: at what common rate all its edges carry their shares at once.
//!
//! It represents edges that move their shares in both directions. Each goes over the path that a copy between these two
//! GPUs takes: its link, else PCIe and the host. A channel that several edges cross carries all of theirs, and the
//! fullest channel of the system sets the rate. Channels carry what long copies reach of them, as in the runtime, which
//! takes as long to play the copies. The bandwidth is that of the edge with the largest share, in its fuller direction.
//!
//! It leaves out latencies; copies of other jobs; copy engines; that a job's edges take turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::allocation::shares::WHOLE;
use crate::allocation::{GpuSet, Pattern};
use crate::network::{RouteClass, Routes};
use crate::system::{Server, System, Wire};

/// Times are of this number of bytes for a whole share, so that those of slow channels fit 64 bits.
const BYTES: f64 = 16e6;

/// A channel, and how long it is busy with [`BYTES`] of a copy, in picoseconds.
type Use = (u32, u64);

/// Knows how copies between a machine's GPUs fill its channels.
#[derive(Debug, Clone)]
pub struct CopyPaths {
    count: usize,
    channels: usize,
    /// By pairs, what a copy takes at least, of whatever channel.
    alone: Vec<u64>,
    /// By pairs, where what it takes of channels that other pairs use too begins.
    starts: Vec<u32>,
    shared: Vec<Use>,
    ports: Vec<Port>,
    /// For each GPU the others, those to which copies are the fastest first.
    nearest: Vec<Vec<u8>>,
}

/// The channel of a GPU that its copies to the most others share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Port {
    /// Names the others whose copies cross it.
    pub others: GpuSet,
    /// How long it is busy with [`BYTES`] at least.
    pub time: u64,
}

/// Holds how full edges make the channels.
#[derive(Debug, Clone)]
pub struct PatternLoad {
    shared: Vec<u64>,
    fullest: u64,
}

impl PatternLoad {
    /// How long the fullest channel is busy.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.fullest
    }
}

impl CopyPaths {
    /// Finds the paths of copies between all pairs of a machine's GPUs.
    #[must_use]
    pub fn new(server: &Arc<Server>) -> Self {
        let system = System::of_server(Arc::clone(server));
        let routes = Routes::new(&system, Wire::reached_share).expect("shares are above zero");
        let gpus: Vec<usize> =
            (0..server.gpus().len()).map(|gpu| routes.wiring().gpu(gpu)).collect();
        let count = gpus.len();
        let mut uses: Vec<Vec<Use>> = Vec::with_capacity(count * count);
        for at in 0..count * count {
            let (from, to) = (at / count, at % count);
            let route = (from != to).then(|| routes.route(gpus[from], gpus[to], RouteClass::Any));
            let taken = route.flatten().map_or_else(Vec::new, |route| route.uses);
            let time = |(channel, share): (usize, f64)| {
                let (_, share) = routes.of_copy((channel, share));
                let rate = routes.capacities()[channel].0 as f64;
                (channel as u32, (BYTES * share / rate * 1e12).round() as u64)
            };
            uses.push(taken.into_iter().map(time).collect());
        }
        Self::of_uses(count, &uses)
    }

    /// Those of what each pair takes of each channel. Channels that take the same of all pairs are one.
    fn of_uses(count: usize, uses: &[Vec<Use>]) -> Self {
        let mut by_channel: BTreeMap<u32, Vec<Use>> = BTreeMap::new();
        for (pair, taken) in (0..).zip(uses) {
            for (channel, time) in taken {
                by_channel.entry(*channel).or_default().push((pair, *time));
            }
        }
        let mut known: BTreeMap<Vec<Use>, u32> = BTreeMap::new();
        for pairs in by_channel.into_values().filter(|pairs| pairs.len() > 1) {
            let next = known.len() as u32;
            known.entry(pairs).or_insert(next);
        }
        let channels = known.len();
        let mut shared_of: Vec<Vec<Use>> = vec![Vec::new(); uses.len()];
        for (pairs, channel) in &known {
            for (pair, time) in pairs {
                shared_of[*pair as usize].push((*channel, *time));
            }
        }
        let alone: Vec<u64> = uses
            .iter()
            .map(|taken| taken.iter().map(|(_, time)| *time).max().unwrap_or(0))
            .collect();
        let mut starts = vec![0];
        let mut shared = Vec::new();
        for taken in shared_of {
            shared.extend(taken);
            starts.push(shared.len() as u32);
        }
        let mut copies =
            Self { count, channels, alone, starts, shared, ports: Vec::new(), nearest: Vec::new() };
        copies.ports = (0..count).map(|gpu| copies.port(gpu)).collect();
        copies.nearest = (0..count).map(|gpu| copies.by_time(gpu)).collect();
        copies
    }

    fn uses(&self, from: usize, to: usize) -> &[Use] {
        let pair = from * self.count + to;
        &self.shared[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }

    /// How long a copy between two GPUs takes in its slower direction, alone.
    pub(super) fn alone(&self, a: usize, b: usize) -> u64 {
        self.alone[a * self.count + b].max(self.alone[b * self.count + a])
    }

    /// How long a copy between two GPUs takes in its faster direction, alone.
    pub(super) fn alone_faster(&self, a: usize, b: usize) -> u64 {
        self.alone[a * self.count + b].min(self.alone[b * self.count + a])
    }

    fn port(&self, gpu: usize) -> Port {
        let mut ports: BTreeMap<u32, Port> = BTreeMap::new();
        for other in (0..self.count).filter(|other| *other != gpu) {
            for (channel, time) in self.uses(gpu, other) {
                let port = ports.entry(*channel).or_insert(Port { time: *time, ..Port::default() });
                port.others = port.others.with(other);
                port.time = port.time.min(*time);
            }
        }
        ports.into_values().max_by_key(|port| (port.others.len(), port.time)).unwrap_or_default()
    }

    fn by_time(&self, gpu: usize) -> Vec<u8> {
        let mut others: Vec<u8> =
            (0..self.count as u8).filter(|it| usize::from(*it) != gpu).collect();
        others.sort_by_key(|other| self.alone(gpu, usize::from(*other)));
        others
    }

    /// Gives a load with nothing on any channel.
    #[must_use]
    pub fn empty(&self) -> PatternLoad {
        PatternLoad { shared: vec![0; self.channels], fullest: 0 }
    }

    /// Adds an edge between two GPUs that carries these shares of [`WHOLE`] forth and back.
    pub fn add(&self, load: &mut PatternLoad, [a, b]: [usize; 2], [forth, back]: [u32; 2]) {
        for (from, to, share) in [(a, b, forth), (b, a, back)] {
            let share = u64::from(share);
            let time = self.alone[from * self.count + to].saturating_mul(share);
            load.fullest = load.fullest.max(time);
            for (channel, time) in self.uses(from, to) {
                let busy = &mut load.shared[*channel as usize];
                *busy = busy.saturating_add(time.saturating_mul(share));
                load.fullest = load.fullest.max(*busy);
            }
        }
    }

    /// How long the fullest channel is busy with a pattern on these GPUs.
    fn time(&self, pattern: &Pattern, gpus: &[usize]) -> u64 {
        let mut load = self.empty();
        for (edge, (a, b)) in pattern.edges().iter().enumerate() {
            self.add(&mut load, [gpus[*a], gpus[*b]], pattern.share(edge));
        }
        load.fullest
    }

    /// The bandwidth of a pattern on these GPUs, one for each vertex, GB/s; infinite where no edge carries anything.
    #[must_use]
    pub fn bandwidth(&self, pattern: &Pattern, gpus: &[usize]) -> f64 {
        Self::of_time(self.time(pattern, gpus))
    }

    /// The bandwidth at which a whole share takes a time, GB/s.
    #[must_use]
    pub fn of_time(time: u64) -> f64 {
        BYTES * f64::from(WHOLE) * 1e3 / time as f64
    }

    /// Lists the other GPUs, those to which copies are the fastest first.
    pub(super) fn nearest(&self, gpu: usize) -> &[u8] {
        &self.nearest[gpu]
    }

    /// Gives the channel of a GPU that its copies to the most others share.
    pub(super) fn port_of(&self, gpu: usize) -> Port {
        self.ports[gpu]
    }
}
