//! Finds ways to deal channels to one server's interfaces, and rates each.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::chains::{Chain, Exit, Wanted};
use super::dealing::{AS_GOOD, CrossNic, Dealing};
use super::reach::{Distance, Reach, Uses};
use crate::collectives::nccl::baselines::fabric::Fabric;
use crate::collectives::nccl::baselines::rings::{RingPath, Rings};
use crate::network::{ResourceId, RouteClass, Routes};
use crate::system::DeviceKind;

/// The most channels that are dealt, half of `MAXCHANNELS`: the library doubles them.
const MOST_CHANNELS: usize = 32;

/// How many rings may share a link, at most.
const MOST_ON_A_LINK: u32 = 4;

/// Lists RCCL's chains through 8 MI300X with an interface each (ROCm/rccl, `src/graph/rome_models.cc`,
/// `rome_model_81`).
const LISTED_OF_8: [[usize; 8]; 8] = [
    [0, 1, 2, 3, 4, 5, 6, 7],
    [1, 0, 2, 4, 3, 5, 7, 6],
    [2, 5, 0, 3, 6, 1, 7, 4],
    [3, 7, 0, 4, 2, 1, 6, 5],
    [4, 6, 2, 7, 3, 0, 5, 1],
    [5, 4, 7, 1, 3, 2, 6, 0],
    [6, 3, 1, 4, 0, 7, 5, 2],
    [7, 2, 0, 6, 4, 1, 5, 3],
];

/// Says how many steps all searches for chains on a server take at most.
const MOST_STEPS: usize = 60_000;

/// Holds channels on a server.
#[derive(Debug, Clone)]
pub(super) struct Dealt {
    pub(super) chains: Vec<Chain>,
    /// Rates each channel, B/s.
    pub(super) rate: f64,
    /// Whether the second of two is the first the other way round.
    pub(super) is_paired: bool,
}

/// Holds a server's part of a job.
pub(super) struct Side<'a> {
    routes: &'a Routes<'a>,
    /// Names the GPUs by their ids.
    gpus: Vec<usize>,
    fabric: Fabric,
    path: RingPath,
    /// Lists the rings within the server.
    rings: Vec<Vec<usize>>,
    pub(super) reach: Reach,
    /// Lists what a hop from each GPU to each other uses, where switches do not join them.
    hops: Vec<Uses>,
    /// How many steps searches may take yet.
    steps: Cell<usize>,
}

/// Names what is filled: a link, or all links of a GPU to or from switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Filled {
    Link(ResourceId),
    Out(usize),
    In(usize),
}

impl<'a> Side<'a> {
    pub(super) fn new(
        routes: &'a Routes<'a>,
        gpus: Vec<usize>,
        found: &Rings,
        dealing: &Dealing,
    ) -> Self {
        let wiring = routes.wiring();
        let (fabric, path) = (Fabric::new(wiring, &gpus), found.path);
        let is_host = path == RingPath::Host;
        let reach = Reach::new(routes, &gpus, (!is_host).then_some(&fabric), dealing);
        let class = if is_host { RouteClass::Host } else { RouteClass::Fabric };
        let hop = |from: usize, to: usize| {
            let ends = [from, to].map(|at| wiring.gpu(gpus[at]));
            routes.route(ends[0], ends[1], class).map_or_else(Uses::new, |route| route.uses)
        };
        let all = || (0..gpus.len()).flat_map(|from| (0..gpus.len()).map(move |to| (from, to)));
        let hops = match path {
            RingPath::Switched => Vec::new(),
            _ => all().map(|(from, to)| hop(from, to)).collect(),
        };
        let rings = found.rings.iter().map(|ring| ring.order.clone()).collect();
        let steps = Cell::new(MOST_STEPS);
        Self { routes, gpus, fabric, path, rings, reach, hops, steps }
    }

    /// How many channels may be dealt.
    pub(super) fn counts(&self) -> Vec<usize> {
        let all = [self.reach.preferred().len(), self.nics().len()];
        let mut counts: Vec<usize> = Vec::new();
        for nics in all.into_iter().filter(|nics| *nics > 0) {
            let most = match self.path {
                RingPath::Direct | RingPath::Relayed => (2 * self.rings.len()).max(nics),
                RingPath::Switched | RingPath::Host => MOST_CHANNELS,
            };
            let most = most.min(MOST_CHANNELS);
            counts.extend((1..).map(|times| nics * times).take_while(|it| *it <= most));
            if self.path == RingPath::Host {
                counts.extend(1..nics.min(MOST_CHANNELS));
            }
        }
        if counts.is_empty() && all[0] > 0 {
            counts.push(MOST_CHANNELS);
        }
        counts
    }

    /// The interfaces that may carry channels, those of GPUs first. The others belong to GPUs of other jobs, where
    /// there are such.
    fn nics(&self) -> Vec<usize> {
        let mut nics = self.reach.preferred();
        if self.reach.is_whole {
            let rest = (0..self.reach.nics()).filter(|nic| !nics.contains(nic));
            nics.extend(rest.collect::<Vec<_>>());
        }
        nics
    }

    /// One channel on the first ring, where no interface is reached.
    pub(super) fn alone(&self) -> Dealt {
        let order = self.rings[0].clone();
        let chain = Chain { order, arrives: usize::MAX, leaves: usize::MAX, through: None };
        Dealt { chains: vec![chain], rate: 0.0, is_paired: false }
    }

    /// Deals that many channels so that they carry the most, as NCCL would where that is about as good.
    pub(super) fn deal(&self, count: usize, dealing: &Dealing) -> Option<Dealt> {
        let most = self.most(count);
        let mut best: Option<Dealt> = None;
        let mut offer = |chains: Vec<Chain>, is_paired: bool| {
            let rate = self.rate(&chains);
            if best.as_ref().is_none_or(|best| rate * AS_GOOD > best.rate) {
                best = Some(Dealt { chains, rate, is_paired });
            }
            rate >= most * AS_GOOD
        };
        if dealing.listed
            && let Some(chains) = self.listed(count)
            && offer(chains, false)
        {
            return best;
        }
        let preferred = self.reach.preferred();
        let all = self.nics();
        let lists = if all.len() > preferred.len() {
            vec![preferred, all.clone()]
        } else {
            vec![preferred]
        };
        let is_there = |wanted: &Distance| {
            let gpus = 0..self.gpus.len();
            let mut ways = gpus.flat_map(|gpu| all.iter().map(move |nic| (gpu, *nic)));
            ways.any(|(gpu, nic)| {
                let own = self.reach.own(gpu, nic).map(|own| own.distance);
                own == Some(*wanted) || self.reach.sending(gpu, nic) == Some(*wanted)
            })
        };
        let distances: Vec<Distance> = Distance::ALL.into_iter().filter(is_there).collect();
        let crossing = if dealing.paired { Exit::Paired } else { Exit::Any };
        let exits = match dealing.cross {
            CrossNic::Never => vec![Exit::Same],
            CrossNic::Always => vec![Exit::Any],
            CrossNic::IfBetter => vec![Exit::Same, crossing],
        };
        for spread in [false, true] {
            for nics in &lists {
                for exit in exits.iter().copied() {
                    for farthest in distances.iter().copied() {
                        let reach = &self.reach;
                        let wanted = Wanted { reach, nics, count, exit, farthest, spread };
                        let Some(chains) = self.chains(&wanted) else { continue };
                        if offer(chains, exit == Exit::Paired) {
                            return best;
                        }
                    }
                }
            }
        }
        if matches!(self.path, RingPath::Direct | RingPath::Relayed) {
            let chains = self.cut_rings(count, lists.last()?, dealing.cross);
            offer(chains, false);
        }
        best
    }

    /// Gives what the interfaces carry of each channel at most.
    pub(super) fn most(&self, count: usize) -> f64 {
        let ports = (0..self.reach.nics()).filter_map(|nic| {
            let gpu = *self.reach.gpus_near(nic).first()?;
            let (port, _) = self.reach.own(gpu, nic)?.out.last().copied()?;
            Some(self.routes.capacities()[port].0 as f64)
        });
        let total: Vec<f64> = ports.collect();
        let widest = total.iter().copied().fold(0.0, f64::max);
        widest / count.div_ceil(total.len().max(1)) as f64
    }

    fn chains(&self, wanted: &Wanted<'_>) -> Option<Vec<Chain>> {
        match self.path {
            RingPath::Switched | RingPath::Host => wanted.in_any_order(&self.rings[0]),
            RingPath::Direct | RingPath::Relayed => {
                let relays = self.path == RingPath::Relayed;
                let mut tries = 1..=MOST_ON_A_LINK;
                tries.find_map(|most| wanted.over_links(&self.fabric, relays, most, &self.steps))
            }
        }
    }

    /// Gives RCCL's chains through eight GPUs where all pairs are joined and each has an interface of its own.
    fn listed(&self, count: usize) -> Option<Vec<Chain>> {
        let length = LISTED_OF_8.len();
        let is_mesh = self.gpus.len() == length
            && self.path == RingPath::Direct
            && self.fabric.lanes.iter().all(|lanes| *lanes <= 1)
            && self.fabric.fewest() == 1;
        let own = |gpu: &usize| {
            let nic = self.reach.interface_of(*gpu, 0)?;
            (self.reach.gpu_of(nic) == Some(*gpu)).then_some(nic)
        };
        if !is_mesh || !count.is_multiple_of(length) {
            return None;
        }
        let chain = |at: usize| {
            let order = LISTED_OF_8[at % length].to_vec();
            let (arrives, leaves) = (own(&order[0])?, own(&order[length - 1])?);
            Some(Chain { order, arrives, leaves, through: None })
        };
        (0..count).map(chain).collect()
    }

    /// The rings that were found, again and again, each cut where the interfaces beside the cut have the least to do.
    fn cut_rings(&self, count: usize, nics: &[usize], cross: CrossNic) -> Vec<Chain> {
        let mut used = vec![[0_usize; 2]; self.reach.nics()];
        let cut = |at: usize| {
            let ring = &self.rings[at % self.rings.len()];
            let length = ring.len();
            let pairs =
                nics.iter().flat_map(|enters| nics.iter().map(move |leaves| (*enters, *leaves)));
            let pairs = pairs.filter(|(a, b)| cross != CrossNic::Never || a == b);
            let ways = (0..length).flat_map(|first| pairs.clone().map(move |pair| (first, pair)));
            let ranked = ways.filter_map(|(first, (enters, leaves))| {
                let last = ring[(first + length - 1) % length];
                let near = self.reach.own(ring[first], enters)?.distance;
                let far = self.reach.sending(last, leaves)?;
                let rank = (used[enters][0] + used[leaves][1], near.max(far), first);
                Some((rank, first, enters, leaves, self.reach.forwarder(last, leaves)))
            });
            let (_, first, arrives, leaves, through) = ranked.min_by_key(|(rank, ..)| *rank)?;
            used[arrives][0] += 1;
            used[leaves][1] += 1;
            let mut order = ring.clone();
            order.rotate_left(first);
            Some(Chain { order, arrives, leaves, through })
        };
        (0..count).filter_map(cut).collect()
    }

    /// The chains of another side by this one's interfaces: each that of the GPU with the same number. None where the two
    /// have other GPUs, or an interface belongs to none.
    pub(super) fn like(&self, other: &Self, chains: &[Chain]) -> Option<Vec<Chain>> {
        let is_alike = self.fabric == other.fabric
            && self.path == other.path
            && self.reach.numbers() == other.reach.numbers();
        if !is_alike {
            return None;
        }
        let owned = |reach: &Reach, gpu: usize| -> Vec<usize> {
            (0..reach.nics()).filter(|nic| reach.gpu_of(*nic) == Some(gpu)).collect()
        };
        let counterpart = |nic: usize| {
            let gpu = other.reach.gpu_of(nic)?;
            let place = owned(&other.reach, gpu).iter().position(|own| *own == nic)?;
            owned(&self.reach, gpu).get(place).copied()
        };
        let nics: Vec<Option<usize>> = (0..other.reach.nics()).map(counterpart).collect();
        let chain = |chain: &Chain| {
            let arrives = *nics.get(chain.arrives)?;
            let leaves = *nics.get(chain.leaves)?;
            Some(Chain { arrives: arrives?, leaves: leaves?, ..chain.clone() })
        };
        chains.iter().map(chain).collect()
    }

    /// Rates these channels, B/s each, when all carry as much: as the fullest link lets them.
    pub(super) fn rate(&self, chains: &[Chain]) -> f64 {
        let mut loads: BTreeMap<Filled, f64> = BTreeMap::new();
        for chain in chains {
            let Chain { order, arrives, leaves, through } = chain;
            let hands = order.windows(2).map(|pair| (pair[0], pair[1]));
            let hands = hands.chain(through.map(|through| (order[order.len() - 1], through)));
            for (from, to) in hands {
                self.add_hop(from, to, &mut loads);
            }
            let back = self.reach.own(order[0], *arrives).map_or(&[][..], |own| &own.back);
            let out = self.reach.own(chain.hands(), *leaves).map_or(&[][..], |own| &own.out);
            for (resource, share) in back.iter().chain(out) {
                *loads.entry(Filled::Link(*resource)).or_default() += share;
            }
        }
        let rates = loads.iter().map(|(filled, load)| self.capacity(*filled) / load);
        rates.fold(f64::INFINITY, f64::min)
    }

    fn add_hop(&self, from: usize, to: usize, loads: &mut BTreeMap<Filled, f64>) {
        if self.path == RingPath::Switched {
            *loads.entry(Filled::Out(from)).or_default() += 1.0;
            *loads.entry(Filled::In(to)).or_default() += 1.0;
            return;
        }
        let through =
            if self.path == RingPath::Relayed { self.fabric.relay(from, to) } else { None };
        let hops = through.map_or_else(|| vec![(from, to)], |by| vec![(from, by), (by, to)]);
        for (from, to) in hops {
            for (resource, share) in &self.hops[from * self.gpus.len() + to] {
                *loads.entry(Filled::Link(*resource)).or_default() += share;
            }
        }
    }

    fn capacity(&self, filled: Filled) -> f64 {
        let (gpu, is_out) = match filled {
            Filled::Link(resource) => return self.routes.capacities()[resource].0 as f64,
            Filled::Out(gpu) => (gpu, true),
            Filled::In(gpu) => (gpu, false),
        };
        let wiring = self.routes.wiring();
        let device = wiring.gpu(self.gpus[gpu]);
        let to_switches = wiring.adjacency()[device].iter().filter(|at| {
            let wire = &wiring.wires()[**at];
            let other = wiring.devices()[wire.other_end(device)].kind;
            wire.is_gpu_fabric() && other == DeviceKind::NvSwitch
        });
        let resource =
            |at: &usize| 2 * at + usize::from((wiring.wires()[*at].a == device) != is_out);
        let capacities = to_switches.map(|at| self.routes.capacities()[resource(at)].0 as f64);
        let whole: f64 = capacities.sum();
        // Switches may be modelled as direct links.
        if whole > 0.0 { whole } else { f64::INFINITY }
    }
}
