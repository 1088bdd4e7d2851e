//! Tells the cost model the results of the search for channels.

use super::dealing::dealing_of;
use super::found::{Found, Links, Pattern, Reach, Searched};
use super::interfaces::near_interfaces;
use super::rules::{Bandwidths, Rules};
use super::settings::Settings;
use crate::collectives::nccl::baselines::constants::{
    AMD, Hop, has_cpu_of, host_bandwidth, slot_bandwidth,
};
use crate::collectives::nccl::baselines::fabric::{Fabric, by_server, farthest_hop};
use crate::collectives::nccl::baselines::generation::Generation;
use crate::collectives::nccl::baselines::interfaces::Deal;
use crate::collectives::nccl::baselines::rings::{
    Era, RingPath, Rings, host_ring, rings_of, rings_of_rccl,
};
use crate::system::{LinkKind, Proximity, Server, Wire, Wiring};

/// Holds the channels, and the bandwidth that they carry.
#[derive(Debug, Clone)]
pub struct Graph {
    pub generation: Generation,
    pub ranks: usize,
    pub servers: usize,
    /// The search found these, and split them where they are fast.
    pub rings: Found,
    pub trees: Found,
    /// Holds the channels of reduction in the switches.
    pub nvls: Option<Found>,
    /// Gives the GB/s of the slowest interface. It is zero within one server.
    pub interface: f64,
    /// The channels that the library then has: each found one, often enough.
    pub built: u32,
    pub hop: Hop,
    /// Says whether rings run over NVLink or xGMI all the way, or with relays.
    pub over_fabric: bool,
    /// Says whether some hop relays through a GPU.
    pub relayed: bool,
    /// Whether each server's GPUs are behind `NVSwitches`.
    pub switched: bool,
    /// Links from each GPU to each other, the fewest; zero where some have none.
    pub between: u32,
    /// Whether the hosts have AMD's CPUs, and whether Intel's or AMD's.
    pub amd_host: bool,
    pub x86_host: bool,
    /// The channels between servers, where there are several.
    pub deal: Option<Deal>,
}

impl Graph {
    pub fn new(rules: &Rules, wiring: &Wiring, gpus: &[usize], settings: &Settings) -> Self {
        let generation = Generation::of(wiring, gpus);
        let ranks = by_server(wiring, gpus);
        let ids = |ranks: &Vec<usize>| ranks.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let groups: Vec<Vec<usize>> = ranks.iter().map(ids).collect();
        let servers = groups.len();
        let mut known: Vec<(Key, Part)> = Vec::new();
        let parts: Vec<Part> = groups
            .iter()
            .map(|own| {
                let key = key_of(wiring, own);
                if let Some((_, part)) = known.iter().find(|(of, _)| *of == key) {
                    return part.clone();
                }
                let part = Part::new(rules, wiring, own, servers > 1, settings);
                known.push((key, part.clone()));
                part
            })
            .collect();
        let narrowest = |of: fn(&Part) -> &Found| {
            let found = parts.iter().map(of);
            *found.min_by(|a, b| a.whole().total_cmp(&b.whole())).expect("a job has a server")
        };
        let (rings, trees) = (narrowest(|part| &part.rings), narrowest(|part| &part.trees));
        let nvls = parts.iter().map(|part| part.nvls).collect::<Option<Vec<Found>>>();
        let slower = |a: &Found, b: &Found| a.whole().total_cmp(&b.whole());
        let has_cpu = |names: &[&str]| has_cpu_of(wiring, names);
        let amd_host = has_cpu(&AMD);
        let deal = (servers > 1).then(|| {
            let found: Vec<Rings> = parts.iter().map(|part| part.orders.clone()).collect();
            let found = all_alike(wiring, &groups, found, rules.thresholds.is_none());
            Deal::new(wiring, gpus, &ranks, &found, &dealing_of(rules, settings))
        });
        Self {
            generation,
            ranks: gpus.len(),
            servers,
            rings,
            trees,
            nvls: nvls.and_then(|found| found.into_iter().min_by(slower)),
            interface: parts.iter().map(|part| part.interface).fold(f64::INFINITY, f64::min),
            built: built(rules, &parts, &rings, (generation, deal.as_ref())),
            hop: if parts.iter().all(|part| part.hop == Hop::Nvlink) {
                Hop::Nvlink
            } else {
                Hop::Host
            },
            over_fabric: parts.iter().all(|part| part.path != RingPath::Host),
            relayed: parts.iter().any(|part| part.path == RingPath::Relayed),
            switched: parts.iter().all(|part| part.path == RingPath::Switched),
            between: if settings.p2p && servers == 1 {
                Fabric::new(wiring, gpus).fewest()
            } else {
                0
            },
            amd_host,
            x86_host: amd_host || has_cpu(&["Xeon", "Intel"]),
            deal,
        }
    }

    /// Whether each server has but one GPU.
    pub const fn is_one_each(&self) -> bool {
        self.servers > 1 && self.ranks == self.servers
    }

    /// GPUs that have a part of what switches reduce.
    pub fn heads(&self) -> u32 {
        self.nvls.map_or(1, |nvls| nvls.channels)
    }
}

/// Servers of one template with GPUs in the same places are alike.
type Key = (*const Server, Vec<usize>);

fn key_of(wiring: &Wiring, gpus: &[usize]) -> Key {
    let places: Vec<usize> = gpus.iter().map(|gpu| wiring.in_template(*gpu).1).collect();
    (std::ptr::from_ref(wiring.in_template(gpus[0]).0), places)
}

/// Describes one server's GPUs and their channels.
#[derive(Debug, Clone)]
struct Part {
    path: RingPath,
    rings: Found,
    trees: Found,
    nvls: Option<Found>,
    hop: Hop,
    /// How often the library builds each channel.
    times: u32,
    /// Gives the GB/s of the slowest interface.
    interface: f64,
    is_rccl: bool,
    /// The rings that they are.
    orders: Rings,
}

impl Part {
    fn new(
        rules: &Rules,
        wiring: &Wiring,
        gpus: &[usize],
        is_between: bool,
        settings: &Settings,
    ) -> Self {
        let (generation, search) = (Generation::of(wiring, gpus), &rules.search);
        let fabric = Fabric::new(wiring, gpus);
        let found = rings_in(rules, wiring, gpus, settings);
        let path = found.path;
        let times = times(rules, path, gpus.len(), fabric.kind);
        let lane = search.link(fabric.kind.unwrap_or(LinkKind::Nvlink3));
        let direct = matches!(path, RingPath::Direct | RingPath::Switched);
        // A relayed path is no plain NVLink to the cost model, which then takes PCIe's.
        let hop = if gpus.len() == 1 || direct { Hop::Nvlink } else { Hop::Host };
        let farthest = farthest_hop(wiring, gpus, &found.rings[0].order);
        // Without peer access the way leads through the processor (`ncclTopoComputePaths`).
        let ends = [gpus[0], gpus[gpus.len().min(2) - 1]].map(|gpu| wiring.gpu(gpu));
        let has_peers = settings.p2p && wiring.has_peer_access(ends[0], ends[1]);
        let farthest = if has_peers { farthest } else { farthest.max(Proximity::Phb) };
        let (links, reach) = match path {
            _ if gpus.len() == 1 => (Links::None, Reach::Loc),
            RingPath::Switched => {
                (Links::Switched(search.total(generation, fabric.switched)), Reach::Nvl)
            }
            RingPath::Direct => (Links::Lanes(found.rings.len() as u32, lane), Reach::Nvl),
            RingPath::Relayed => (Links::Lanes(found.rings.len() as u32, lane), Reach::Nvb),
            RingPath::Host => {
                (Links::Host(host_bandwidth(search, wiring, gpus, farthest)), reach_of(farthest))
            }
        };
        let near = if is_between { near_interfaces(search, wiring, gpus) } else { Vec::new() };
        let interface = near.iter().map(|it| it.bandwidth).reduce(f64::min).unwrap_or(0.0);
        let same = found.rings.iter().all(|ring| ring.order == found.rings[0].order);
        let is_same = gpus.len() == 2 || same;
        if matches!(rules.bandwidths, Bandwidths::Shares(_)) {
            // RCCL puts two rings on each link.
            let rings =
                of_rccl(&found, (lane / 2.0, &links, reach), wiring, gpus, (is_between, is_same));
            let (trees, nvls, is_rccl) = (Found { pattern: Pattern::Tree, ..rings }, None, true);
            return Self {
                path,
                rings,
                trees,
                nvls,
                hop,
                times,
                interface,
                is_rccl,
                orders: found,
            };
        }
        let searched =
            Searched { search, generation, gpus: gpus.len(), links, reach, interfaces: near };
        let mut rings = searched.rings();
        rings.same_channels &= is_same;
        let mut trees = searched.trees(&rings);
        trees.same_channels &= is_same;
        // Without P2P the switches reduce as well: no release looks at it there (`ncclNvlsInit`).
        let may = settings.nvls && fabric.switched > 0;
        let least = rules.nvls.map_or(usize::MAX, |nvls| nvls.least);
        let may = may && gpus.len() >= least && generation >= Generation::Hopper;
        let total = Links::Switched(search.total(generation, fabric.switched));
        let in_switch = Searched { links: total, reach: Reach::Nvl, ..searched };
        let nvls = may.then(|| in_switch.nvls()).flatten();
        let (is_rccl, orders) = (false, found);
        Self { path, rings, trees, nvls, hop, times, interface, is_rccl, orders }
    }
}

/// RCCL's rings, which are a table: as fast as their links, and no faster than the network.
fn of_rccl(
    found: &Rings,
    (lane, links, reach): (f64, &Links, Reach),
    wiring: &Wiring,
    gpus: &[usize],
    (is_between, same_channels): (bool, bool),
) -> Found {
    let channels = found.rings.len() as u32;
    let rate = match links {
        Links::None => f64::INFINITY,
        Links::Lanes(..) => lane,
        Links::Switched(total) | Links::Host(total) => *total,
    };
    let network = if is_between { network_bandwidth(wiring, gpus) } else { f64::INFINITY };
    let rate = rate.min(network / f64::from(channels));
    Found {
        pattern: Pattern::Ring,
        channels,
        intra: rate,
        inter: rate,
        reach_intra: reach,
        reach_inter: Reach::Pix,
        same_channels,
    }
}

/// Counts the channels that the library has in the end (`ncclTopoPostset`). From Hopper on few fast ones between
/// servers are doubled again.
fn built(
    rules: &Rules,
    parts: &[Part],
    rings: &Found,
    (generation, deal): (Generation, Option<&Deal>),
) -> u32 {
    let (most, is_between) = (rules.blocks.most, parts.len() > 1);
    let inside = parts.iter().map(|part| part.rings.channels).min().unwrap_or(1);
    let orders = deal.map_or(inside, |deal| deal.channels() as u32);
    let times = parts.iter().map(|part| part.times).min().unwrap_or(1);
    let is_rccl = parts.iter().any(|part| part.is_rccl);
    let orders = if is_between { orders.clamp(1, most / 2) } else { orders };
    let mut channels = (orders * times).clamp(1, most);
    let is_fast = generation >= rules.blocks.doubled_from && rings.intra > 45.0;
    if !is_rccl && is_between && is_fast && channels <= rules.blocks.doubled_to {
        channels *= 2;
    }
    channels
}

const fn reach_of(farthest: Proximity) -> Reach {
    match farthest {
        Proximity::Pix => Reach::Pix,
        Proximity::Pxb => Reach::Pxb,
        Proximity::Phb => Reach::Phb,
        Proximity::Node | Proximity::Sys => Reach::Sys,
    }
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

/// How often each channel is built: NCCL doubles them (`connect.cc`; 2.4 only over NVLink). RCCL
/// goes by its kind of box and number of GPUs (`init.cc`), and lists the rings of 8 GPUs twice.
fn times(rules: &Rules, path: RingPath, gpus: usize, kind: Option<LinkKind>) -> u32 {
    match (&rules.bandwidths, gpus) {
        (Bandwidths::Limits(_), _) if rules.thresholds.is_some() && path == RingPath::Host => 1,
        (Bandwidths::Limits(_), _) => 2,
        (Bandwidths::Shares(_), 1) => 1,
        (Bandwidths::Shares(_), 2) if kind == Some(LinkKind::XgmiMi300) => 16,
        (Bandwidths::Shares(_), 4 | 8) => 4,
        (Bandwidths::Shares(_), _) if kind == Some(LinkKind::Xgmi) => 4,
        (Bandwidths::Shares(_), _) => 2,
    }
}

/// GB/s that a server's network interfaces carry, no more than PCIe gives each.
fn network_bandwidth(wiring: &Wiring, gpus: &[usize]) -> f64 {
    let own = wiring.server_of(gpus[0]);
    let is_own = |device: usize| wiring.devices()[device].server == own;
    let slot = slot_bandwidth(wiring, gpus);
    let wires = wiring.wires().iter().filter(|wire| wire.is_network());
    let ends_here = wires.filter(|wire: &&Wire| is_own(wire.a) || is_own(wire.b));
    ends_here.map(|wire| wire.bandwidth.as_gigabytes_per_second().min(slot)).sum()
}
