//! How the GPUs of one server reach its network interfaces, as NCCL tells paths apart.
//!
//! Source: NCCL 2.30.7, `src/graph/topo.h` (kinds of paths), `src/graph/paths.cc` (`ncclTopoComputePaths`,
//! `ncclTopoCheckGdr`, `addInterStep`) and `src/graph/topo.cc` (`ncclTopoGetLocal`, `ncclTopoGetLocalNetType`,
//! `ncclTopoGetLocalGpu`). Left out are `NCCL_NETDEVS_POLICY`, planes of networks, and
//! releases before 2.18, which give each GPU one of its interfaces alone.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::dealing::Dealing;
use crate::collectives::nccl::baselines::fabric::Fabric;
use crate::network::{ResourceId, RouteClass, Routes};
use crate::system::DeviceKind;
use crate::system::views::wiring::WiredId;

/// Tells how far a GPU is from an interface, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// Both are below the same PCIe switches (PIX, PXB).
    Switches,
    /// On the CPU that the GPU is joined to by a link between chips (P2C).
    Chip,
    /// There is another GPU that forwards over NVLink (PXN).
    Forwarded,
    /// A CPU is between them (PHB).
    Bridge,
    /// The link between CPUs is crossed (SYS).
    Sockets,
}

impl Distance {
    pub(super) const ALL: [Self; 5] =
        [Self::Switches, Self::Chip, Self::Forwarded, Self::Bridge, Self::Sockets];
}

/// Lists the resources that a channel's data uses, each with its share.
pub(super) type Uses = Vec<(ResourceId, f64)>;

/// Holds a GPU's own way to an interface.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) distance: Distance,
    bandwidth: u64,
    hops: u32,
    /// Says whether data waits in the host's memory on its way.
    pub(super) by_memory: bool,
    /// Lists the links to the interface and beyond it, and those back.
    pub(super) out: Uses,
    pub(super) back: Uses,
}

/// Counts the channels over which NCCL looks for a GPU's interfaces (`MAXCHANNELS`).
const CHANNELS: usize = 32;

/// Holds the ways between the GPUs of a job on one server and the server's interfaces.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    gpus: usize,
    /// Gives the place of each interface among those of the server.
    pub(super) places: Vec<u8>,
    /// By GPU, then by interface; None where no host path leads there.
    own: Vec<Option<Own>>,
    /// The GPU that sends in the place of another, likewise.
    forwards: Vec<Option<usize>>,
    /// Gives the number of each GPU in its server.
    numbers: Vec<usize>,
    /// Whether these are all GPUs of the server.
    pub(super) is_whole: bool,
}

impl Reach {
    /// Finds all ways of these GPUs, by their ids; `fabric` is what joins them.
    pub(super) fn new(
        routes: &Routes<'_>,
        gpus: &[usize],
        fabric: Option<&Fabric>,
        dealing: &Dealing,
    ) -> Self {
        let wiring = routes.wiring();
        let server = wiring.server_of(gpus[0]);
        let devices = wiring.devices().iter().enumerate();
        let nics =
            devices.filter(|(_, device)| device.kind == DeviceKind::Nic && device.server == server);
        let nics = nics.map(|(id, _)| id).enumerate().filter_map(|(place, nic)| {
            let mut wires = wiring.adjacency()[nic].iter();
            let port = wires.find(|at| wiring.wires()[**at].is_network())?;
            Some((u8::try_from(place).ok()?, nic, *port))
        });
        let nics: Vec<(u8, WiredId, usize)> = nics.collect();
        let mut own = Vec::with_capacity(gpus.len() * nics.len());
        for gpu in gpus {
            let device = wiring.gpu(*gpu);
            let cpu = routes.nearest_cpu(device);
            own.extend(nics.iter().map(|(_, nic, port)| {
                own_way(routes, (device, cpu), (*nic, *port), dealing.gpudirect)
            }));
        }
        let places = nics.iter().map(|(place, ..)| *place).collect();
        let numbers = gpus.iter().map(|gpu| wiring.in_template(*gpu).1).collect();
        let forwards = vec![None; own.len()];
        let is_whole = wiring.in_template(gpus[0]).0.gpus().len() == gpus.len();
        let mut reach = Self { gpus: gpus.len(), places, own, forwards, numbers, is_whole };
        if let Some(fabric) = fabric.filter(|_| dealing.pxn && dealing.gpudirect) {
            reach.forward(fabric);
        }
        reach
    }

    /// Lets GPUs that are far from an interface send by the one that is near (PXN).
    fn forward(&mut self, fabric: &Fabric) {
        for nic in 0..self.nics() {
            let Some(near) = self.gpu_of(nic) else { continue };
            let Some(of_near) = self.own(near, nic).filter(|it| it.distance <= Distance::Chip)
            else {
                continue;
            };
            let (bandwidth, place) = (of_near.bandwidth, near);
            for gpu in (0..self.gpus).filter(|gpu| *gpu != place) {
                let is_joined = fabric.switched > 0 || fabric.lanes(gpu, place) > 0;
                let is_worse = self
                    .own(gpu, nic)
                    .is_none_or(|it| it.distance > Distance::Forwarded || it.bandwidth < bandwidth);
                if is_joined && is_worse {
                    let at = gpu * self.nics() + nic;
                    self.forwards[at] = Some(place);
                }
            }
        }
    }

    pub(super) fn nics(&self) -> usize {
        self.places.len()
    }

    /// A GPU's own way; None where there is none.
    pub(super) fn own(&self, gpu: usize, nic: usize) -> Option<&Own> {
        if nic < self.nics() { self.own[gpu * self.nics() + nic].as_ref() } else { None }
    }

    /// The GPU that sends in the place of another by an interface.
    pub(super) fn forwarder(&self, gpu: usize, nic: usize) -> Option<usize> {
        self.forwards[gpu * self.nics() + nic]
    }

    /// Tells how far data has to go that a GPU sends; None where it cannot.
    pub(super) fn sending(&self, gpu: usize, nic: usize) -> Option<Distance> {
        match self.forwarder(gpu, nic) {
            Some(_) => Some(Distance::Forwarded),
            None => self.own(gpu, nic).map(|own| own.distance),
        }
    }

    /// Ranks ways: the widest first, then the nearest.
    fn rank(own: &Own, distance: Distance, hops: u32) -> (Reverse<u64>, Distance, u32) {
        let hops = if distance == Distance::Switches { hops } else { 0 };
        (Reverse(own.bandwidth), distance, hops)
    }

    /// Lists the interfaces that a GPU is nearest to.
    fn interfaces_near(&self, gpu: usize) -> Vec<usize> {
        let rank = |nic: usize| {
            let by = self.forwarder(gpu, nic);
            let own = self.own(by.unwrap_or(gpu), nic)?;
            let distance = if by.is_some() { Distance::Forwarded } else { own.distance };
            Some(Self::rank(own, distance, own.hops))
        };
        nearest(self.nics(), rank)
    }

    /// Lists the GPUs that an interface is nearest to.
    pub(super) fn gpus_near(&self, nic: usize) -> Vec<usize> {
        let rank = |gpu: usize| self.own(gpu, nic).map(|it| Self::rank(it, it.distance, it.hops));
        nearest(self.gpus, rank)
    }

    /// The interface that a GPU takes on a channel. GPUs that share interfaces begin at different ones.
    pub(super) fn interface_of(&self, gpu: usize, channel: usize) -> Option<usize> {
        let near = self.interfaces_near(gpu);
        let sharing = self.gpus_near(*near.first()?).len().max(1);
        let each = near.len().div_ceil(sharing);
        let first = self.numbers[gpu] % sharing;
        let first = if near.len().is_power_of_two() { mirrored(first, near.len()) } else { first };
        Some(near[(first + channel % each) % near.len()])
    }

    /// The GPU that an interface belongs to, if it belongs to one.
    pub(super) fn gpu_of(&self, nic: usize) -> Option<usize> {
        let near = self.gpus_near(nic);
        let mut tries =
            (0..CHANNELS).flat_map(|channel| near.iter().map(move |gpu| (*gpu, channel)));
        tries
            .find(|(gpu, channel)| self.interface_of(*gpu, *channel) == Some(nic))
            .map(|(gpu, _)| gpu)
    }

    /// Gives the numbers of all GPUs in their server.
    pub(super) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// Gives a GPU's number in its server.
    pub(super) fn number(&self, gpu: usize) -> usize {
        self.numbers[gpu]
    }

    /// The GPU of the job that has a number in the server.
    pub(super) fn numbered(&self, number: usize) -> Option<usize> {
        self.numbers.iter().position(|own| *own == number)
    }

    /// Lists the interfaces of all GPUs: the first of each GPU, then the second.
    pub(super) fn preferred(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for channel in 0..CHANNELS {
            for nic in (0..self.gpus).filter_map(|gpu| self.interface_of(gpu, channel)) {
                if !found.contains(&nic) {
                    found.push(nic);
                }
            }
        }
        found
    }

    /// Lists for each GPU the interfaces that its messages take in turn: as NCCL has them, where every interface then gets
    /// as much. Else GPUs without an interface of their own take what the others leave.
    pub(super) fn turns(&self) -> Vec<Vec<usize>> {
        let nics = self.preferred();
        let of_gpu = |gpu: usize| -> Vec<usize> {
            (0..nics.len()).filter_map(|channel| self.interface_of(gpu, channel)).collect()
        };
        let wanted: Vec<Vec<usize>> = (0..self.gpus).map(of_gpu).collect();
        // As many turns as there are interfaces, of each GPU, are as many as there are GPUs, of each interface.
        let mut left = vec![0; self.nics()];
        nics.iter().for_each(|nic| left[*nic] = self.gpus);
        let mut given: Vec<Vec<usize>> = Vec::with_capacity(self.gpus);
        for turns in &wanted {
            let mut taken = Vec::with_capacity(turns.len());
            for nic in turns {
                if left[*nic] > 0 {
                    left[*nic] -= 1;
                    taken.push(*nic);
                }
            }
            given.push(taken);
        }
        for (gpu, taken) in given.iter_mut().enumerate() {
            while taken.len() < wanted[gpu].len() {
                let open = nics.iter().filter(|nic| left[**nic] > 0);
                let ways = open.filter_map(|nic| Some((self.sending(gpu, *nic)?, *nic)));
                let Some((_, nic)) = ways.min_by_key(|(way, nic)| (*way, Reverse(left[*nic])))
                else {
                    break;
                };
                left[nic] -= 1;
                taken.push(nic);
            }
        }
        given
    }
}

/// Lists those of the best rank.
fn nearest<R: Ord>(count: usize, rank: impl Fn(usize) -> Option<R>) -> Vec<usize> {
    let ranked: Vec<(R, usize)> = (0..count).filter_map(|at| Some((rank(at)?, at))).collect();
    let Some(best) = ranked.iter().map(|(rank, _)| rank).min() else { return Vec::new() };
    ranked.iter().filter(|(rank, _)| rank == best).map(|(_, at)| *at).collect()
}

/// Gives the number with its bits in the other order, below a power of two (`mirrorBits`).
const fn mirrored(value: usize, power: usize) -> usize {
    let (mut low, mut high, mut found) = (1, power / 2, 0);
    while high > 0 {
        if value & low > 0 {
            found |= high;
        }
        (low, high) = (low * 2, high / 2);
    }
    found
}

/// Finds a GPU's way over the host to an interface, and back.
fn own_way(
    routes: &Routes<'_>,
    (gpu, cpu): (WiredId, Option<WiredId>),
    (nic, port): (WiredId, usize),
    gpudirect: bool,
) -> Option<Own> {
    let wiring = routes.wiring();
    let direct = routes.route(gpu, nic, RouteClass::Host)?;
    let mut cpus = BTreeSet::new();
    let mut by_chip = false;
    for (resource, _) in &direct.uses {
        let (wire, _) = routes.wire(*resource);
        let ends = [wire.a, wire.b];
        cpus.extend(ends.into_iter().filter(|end| wiring.devices()[*end].kind == DeviceKind::Cpu));
        by_chip |= wire.is_gpu_fabric() && ends.contains(&gpu);
    }
    let distance = match cpus.len() {
        0 => Distance::Switches,
        1 if by_chip => Distance::Chip,
        1 => Distance::Bridge,
        _ => Distance::Sockets,
    };
    let between = [2 * port, 2 * port + 1];
    let [sends, receives] =
        if wiring.wires()[port].a == nic { between } else { [between[1], between[0]] };
    let memory = cpu.filter(|_| !gpudirect || distance > Distance::Chip);
    let way = |from: WiredId, to: WiredId| {
        let middle = memory.filter(|middle| ![from, to].contains(middle));
        let ends = middle.map_or_else(|| vec![(from, to)], |cpu| vec![(from, cpu), (cpu, to)]);
        let parts = ends.into_iter().map(|(a, b)| Some(routes.route(a, b, RouteClass::Host)?.uses));
        parts.collect::<Option<Vec<Uses>>>().map(|parts| parts.concat())
    };
    let (mut out, mut back) = (way(gpu, nic)?, way(nic, gpu)?);
    // NCCL knows the links to a CPU, and not what its memory carries.
    for uses in [&mut out, &mut back] {
        uses.retain(|(resource, _)| routes.wire(*resource).0.a != routes.wire(*resource).0.b);
    }
    out.push((sends, 1.0));
    back.push((receives, 1.0));
    let bandwidth = direct.bandwidth.0.min(routes.capacities()[sends].0);
    Some(Own { distance, bandwidth, hops: direct.hops, by_memory: memory.is_some(), out, back })
}
