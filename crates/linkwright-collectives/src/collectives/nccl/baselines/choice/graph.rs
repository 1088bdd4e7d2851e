//! What the search for channels tells the cost model.

use super::rules::{Bandwidths, Rules, Search};
use super::settings::Settings;
use crate::collectives::nccl::baselines::constants::{
    AMD, Generation, Hop, has_cpu_of, host_bandwidth,
};
use crate::collectives::nccl::baselines::fabric::{Fabric, by_server, farthest_hop};
use crate::collectives::nccl::baselines::interfaces::{Deal, Dealing};
use crate::collectives::nccl::baselines::rings::{
    Era, RingPath, Rings, host_ring, rings_of, rings_of_rccl,
};
use crate::system::{LinkKind, Proximity, Wiring};

/// Channels, and what they carry.
#[derive(Debug, Clone)]
pub struct Graph {
    pub generation: Generation,
    pub ranks: usize,
    pub servers: usize,
    /// Those that the search found, and split where they are fast.
    pub channels: f64,
    /// Those that the library then has: each found one, often enough.
    pub built: u32,
    /// GB/s of all channels together.
    pub bandwidth: f64,
    pub hop: Hop,
    /// Whether rings run over NVLink or xGMI all the way, or with relays.
    pub over_fabric: bool,
    /// Whether some hop relays through a GPU.
    pub relayed: bool,
    /// Whether all channels have the same order.
    pub same_channels: bool,
    /// GB/s of one of the channels of reduction in the switches; one for each GPU.
    pub nvls: Option<f64>,
    /// GB/s of rings within a server.
    pub inside: f64,
    /// Measures the interfaces of a server in GB/s; infinite on one server.
    pub network: f64,
    /// Links from each GPU to each other, the fewest; zero where some have none.
    pub between: u32,
    /// Whether the hosts have AMD's CPUs.
    pub amd_host: bool,
    /// The channels between servers, where there are several.
    pub deal: Option<Deal>,
}

impl Graph {
    pub fn new(rules: &Rules, wiring: &Wiring, gpus: &[usize], settings: &Settings) -> Self {
        let generation = Generation::of(wiring, gpus);
        let servers = by_server(wiring, gpus);
        let ids = |ranks: &Vec<usize>| ranks.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let groups: Vec<Vec<usize>> = servers.iter().map(ids).collect();
        let part = |own: &Vec<usize>| Part::new(rules, wiring, own, settings);
        let parts: Vec<Part> = groups.iter().map(part).collect();
        let narrowest = |part: &&Part| (part.channels * part.rate * 1e6) as u64;
        let part = parts.iter().min_by_key(narrowest).expect("a job has a server");
        let inside = part.channels * part.rate;
        let search = &rules.search;
        let of_network = |own: &Vec<usize>| network_bandwidth(search, wiring, own);
        let network = if groups.len() > 1 {
            groups.iter().map(of_network).fold(f64::INFINITY, f64::min)
        } else {
            f64::INFINITY
        };
        let fabric = Fabric::new(wiring, gpus);
        let nvls_of = |own: &Vec<usize>| {
            let switched = Fabric::new(wiring, own).switched;
            // Without P2P the switches reduce as well: no release looks at it there (`ncclNvlsInit`).
            let may = settings.nvls && own.len() > 2 && switched > 0;
            may.then(|| search.nvls_rate(generation, switched, own.len())).flatten()
        };
        let nvls = groups.iter().map(nvls_of).collect::<Option<Vec<f64>>>();
        let nvls = nvls.and_then(|rates| rates.into_iter().min_by(f64::total_cmp));
        let most = rules.blocks.most;
        let deal = (groups.len() > 1).then(|| {
            let found: Vec<Rings> = parts.iter().map(|part| part.rings.clone()).collect();
            let found = all_alike(wiring, &groups, found, rules.thresholds.is_none());
            Deal::new(wiring, gpus, &servers, &found, &Dealing::of(rules, settings))
        });
        let orders = match &deal {
            None => part.channels as u32 * part.times,
            Some(deal) => (deal.channels() as u32).clamp(1, most / 2) * part.times,
        };
        Self {
            generation,
            ranks: gpus.len(),
            servers: groups.len(),
            channels: part.channels,
            built: orders.clamp(1, most),
            bandwidth: inside.min(network),
            hop: if parts.iter().all(|part| part.hop == Hop::Nvlink) {
                Hop::Nvlink
            } else {
                Hop::Host
            },
            over_fabric: parts.iter().all(|part| part.path != RingPath::Host),
            relayed: parts.iter().any(|part| part.path == RingPath::Relayed),
            same_channels: parts.iter().all(|part| part.same_channels),
            nvls,
            inside,
            network,
            between: if settings.p2p && groups.len() == 1 { fabric.fewest() } else { 0 },
            amd_host: has_cpu_of(wiring, &AMD),
            deal,
        }
    }
}

/// What one server's GPUs have.
#[derive(Debug, Clone)]
struct Part {
    path: RingPath,
    channels: f64,
    /// GB/s of one channel.
    rate: f64,
    hop: Hop,
    same_channels: bool,
    /// How often the library builds each channel.
    times: u32,
    rings: Rings,
}

impl Part {
    fn new(rules: &Rules, wiring: &Wiring, gpus: &[usize], settings: &Settings) -> Self {
        let (generation, search) = (Generation::of(wiring, gpus), &rules.search);
        let fabric = Fabric::new(wiring, gpus);
        let found = rings_in(rules, wiring, gpus, settings);
        let first = &found.rings[0].order;
        let same_channels = gpus.len() == 2 || found.rings.iter().all(|ring| ring.order == *first);
        let (channels, rate, hop) = match found.path {
            _ if gpus.len() == 1 => (1.0, f64::INFINITY, Hop::Nvlink),
            RingPath::Switched => {
                let (channels, rate) = search.switched_channels(generation, fabric.switched);
                // Fast channels are split in two, which their limits are about.
                let split = if rate >= 25.0 { 2.0 } else { 1.0 };
                (f64::from(channels) * split, rate / split, Hop::Nvlink)
            }
            RingPath::Direct | RingPath::Relayed => {
                let lane = search.link(fabric.kind.unwrap_or(LinkKind::Nvlink3));
                let direct = found.path == RingPath::Direct;
                // A relayed path is no plain NVLink to the cost model, which then takes PCIe's.
                let hop = if direct { Hop::Nvlink } else { Hop::Host };
                let rings = found.rings.len() as f64;
                // RCCL puts two rings on each link.
                let shared =
                    if matches!(rules.bandwidths, Bandwidths::Shares(_)) { 2.0 } else { 1.0 };
                (rings, lane / shared, hop)
            }
            RingPath::Host => {
                let farthest = farthest_hop(wiring, gpus, first);
                // Without peer access the way leads through the processor (`ncclTopoComputePaths`).
                let own = |gpu: &usize| wiring.gpu(*gpu);
                let [first, second] = [&gpus[0], &gpus[1]].map(own);
                let has_peers = settings.p2p && wiring.has_peer_access(first, second);
                let farthest = if has_peers { farthest } else { farthest.max(Proximity::Phb) };
                (1.0, host_bandwidth(search, wiring, gpus, farthest), Hop::Host)
            }
        };
        let path = found.path;
        let times = times(rules, path, gpus.len(), fabric.kind);
        Self { path, channels, rate, hop, same_channels, times, rings: found }
    }
}

/// Gives the rings of each server, over the host on all where they are on one; mixed ones take NVLinks on their way.
pub fn all_alike(
    wiring: &Wiring,
    servers: &[Vec<usize>],
    found: Vec<Rings>,
    is_mixed: bool,
) -> Vec<Rings> {
    if found.iter().all(|rings| rings.path != RingPath::Host) {
        return found;
    }
    servers.iter().map(|own| host_ring(wiring, own, is_mixed)).collect()
}

/// The rings of one server's GPUs, as a release and the settings have them.
pub fn rings_in(rules: &Rules, wiring: &Wiring, gpus: &[usize], settings: &Settings) -> Rings {
    let shares = matches!(rules.bandwidths, Bandwidths::Shares(_));
    if shares && settings.p2p && gpus.len() > 1 {
        rings_of_rccl(wiring, gpus)
    } else if settings.p2p || gpus.len() == 1 {
        let era = if rules.thresholds.is_some() { Era::Classic } else { Era::Recent };
        rings_of(&rules.search, wiring, gpus, era)
    } else {
        host_ring(wiring, gpus, false)
    }
}

/// How often each channel is built: NCCL doubles them (`connect.cc`; 2.4 only over NVLink). RCCL
/// goes by its kind of box and number of GPUs (`init.cc`), and lists the rings of 8 GPUs twice.
fn times(rules: &Rules, path: RingPath, gpus: usize, kind: Option<LinkKind>) -> u32 {
    match (&rules.bandwidths, gpus) {
        (_, 1) => 1,
        (Bandwidths::Limits(_), _) if rules.thresholds.is_some() && path == RingPath::Host => 1,
        (Bandwidths::Limits(_), _) => 2,
        (Bandwidths::Shares(_), 2) if kind == Some(LinkKind::XgmiMi300) => 16,
        (Bandwidths::Shares(_), 4 | 8) => 4,
        (Bandwidths::Shares(_), _) if kind == Some(LinkKind::Xgmi) => 4,
        (Bandwidths::Shares(_), _) => 2,
    }
}

/// GB/s that a server's network interfaces carry, no more than PCIe gives each.
fn network_bandwidth(search: &Search, wiring: &Wiring, gpus: &[usize]) -> f64 {
    let own = wiring.server_of(gpus[0]);
    let is_own = |device: usize| wiring.devices()[device].server == own;
    let slot = host_bandwidth(search, wiring, gpus, Proximity::Pix);
    let wires = wiring.wires().iter().filter(|wire| wire.is_network());
    let ends_here = wires.filter(|wire| is_own(wire.a) || is_own(wire.b));
    ends_here.map(|wire| wire.bandwidth.as_gigabytes_per_second().min(slot)).sum()
}
