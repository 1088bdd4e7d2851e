//! Describes a machine: named devices joined by links.
//!
//! A machine is the wires of one server, or of several that a network joins. Each wire has its
//! kind, count, bandwidth and latency, and each device its known facts. The model leaves out
//! clocks, routing tables and the contents of the devices; a GPU's are those of its model.

mod builder;
mod disciplines;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, InputError, Registry};
use crate::system::calibration::Calibration;
use crate::system::composition::AbstractNode;
use crate::system::gpus::{self, GpuChanges, GpuError, GpuFile, GpuModel};
use crate::system::identity::Identity;
use crate::system::kinds::{DeviceKind, Discipline, LinkKind};
use crate::system::locality::{Affinity, Locality};
use crate::system::packet_format::LinkFlits;
use crate::units::{Bandwidth, Bytes, Picoseconds};

pub use builder::ServerBuilder;

/// Gives the index of a device in [`Server::devices`].
pub type DeviceId = usize;

/// Describes one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Names it uniquely within the machine, as people write it: `GPU0`, `mlx5_0`.
    pub name: String,
    /// Says what it is.
    pub kind: DeviceKind,
    /// Names the product, where known: `V100-SXM2-16GB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Says who made it.
    #[serde(flatten)]
    pub identity: Identity,
    /// Says where it sits.
    #[serde(flatten)]
    pub locality: Locality,
    /// The memory behind a CPU. A GPU's is that of its model, and stands there alone.
    #[serde(skip)]
    pub host_memory: Option<Bytes>,
    /// Holds the bandwidth of that memory by its data sheet, reading and writing together.
    #[serde(skip)]
    pub host_memory_bandwidth: Option<Bandwidth>,
    /// How fast the port of a network interface is, where that is given; `adapters::port_speed` also
    /// knows it of products.
    #[serde(skip)]
    pub speed: Option<Bandwidth>,
    /// Holds its model, where that is none of Linkwright's own: see [`Server::with_gpu_models`] and
    /// [`Server::with_gpus`].
    #[serde(skip)]
    pub own_model: Option<Arc<gpus::GpuModel>>,
}

impl Device {
    /// Makes one that nothing more is known of.
    #[must_use]
    pub fn new(name: &str, kind: DeviceKind, model: Option<&str>) -> Self {
        let (identity, locality) = (Identity::default(), Locality::default());
        let (name, model) = (name.to_owned(), model.map(str::to_owned));
        Self {
            name,
            kind,
            model,
            identity,
            locality,
            host_memory: None,
            host_memory_bandwidth: None,
            speed: None,
            own_model: None,
        }
    }

    /// Its vendor's id; where its own is not known, that of its model, for a GPU.
    #[must_use]
    pub fn vendor_id(&self) -> Option<&str> {
        let own = self.identity.vendor_id.as_deref();
        own.or_else(|| self.gpu_model().map(|model| model.vendor.pci_id()))
    }

    /// Its memory: a GPU's by its model, a CPU's where it is given.
    #[must_use]
    pub fn memory(&self) -> Option<Bytes> {
        let of_model = || Some(self.gpu_model()?.memory().ok()?.capacity);
        self.host_memory.or_else(of_model)
    }

    /// Gives the bandwidth of its memory: a GPU's by its model, a CPU's where it is given.
    #[must_use]
    pub fn memory_bandwidth(&self) -> Option<Bandwidth> {
        let of_model = || Some(self.gpu_model()?.memory().ok()?.bandwidth);
        self.host_memory_bandwidth.or_else(of_model)
    }

    /// How many cores a CPU has: those near it, as Linux numbers them, threads of one included.
    #[must_use]
    pub fn cores(&self) -> Option<usize> {
        let cores = self.locality.cpu_affinity.as_ref();
        cores.filter(|_| self.kind == DeviceKind::Cpu).map(Affinity::count)
    }

    /// The model of a GPU, where it is known.
    #[must_use]
    pub fn gpu_model(&self) -> Option<&gpus::GpuModel> {
        let named = self.model.as_deref().filter(|_| self.kind == DeviceKind::Gpu);
        self.own_model.as_deref().or_else(|| gpus::find(named?).ok())
    }
}

/// Describes one bundle of equal links between two devices, full duplex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Names one end.
    pub a: DeviceId,
    /// Gives the other end.
    pub b: DeviceId,
    /// Says what it is.
    pub kind: LinkKind,
    /// How many links the bundle holds, at least one.
    pub count: u32,
    /// Gives the bandwidth of one of them, in one direction.
    pub bandwidth: Bandwidth,
    /// Gives the one-way latency.
    pub latency: Picoseconds,
    /// How it carries messages, where that is not as its kind and its ends say:
    /// [`Server::discipline`] tells it of any link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,
    /// How it carries whole flits, where it does so by a clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flits: Option<LinkFlits>,
    /// Gives the bandwidth that long copies over the whole bundle were measured to reach in one
    /// direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Bandwidth>,
}

impl Link {
    /// Returns the bandwidth of the whole bundle in one direction; at most [`MAX_BANDWIDTH`] in a
    /// machine.
    ///
    /// Sums its links. A bundle that was measured to reach less than copies reach of its kind has
    /// in proportion less. It has as much as a sound one would need to reach the same.
    #[must_use]
    pub fn total_bandwidth(&self) -> Bandwidth {
        let nominal = self.nominal_bandwidth();
        let Some(measured) = self.measured else { return nominal };
        let whole = (measured.0 as f64 / self.kind.reached_by_copies().share).round() as u64;
        Bandwidth(whole.clamp(1, nominal.0.max(1)))
    }

    /// The same as if nothing had been measured.
    #[must_use]
    pub fn nominal_bandwidth(&self) -> Bandwidth {
        Bandwidth(self.bandwidth.0.saturating_mul(u64::from(self.count)))
    }

    /// The end that is not `device`.
    #[must_use]
    pub fn other_end(&self, device: DeviceId) -> DeviceId {
        if self.a == device { self.b } else { self.a }
    }

    /// Whether a device is one of its ends.
    #[must_use]
    pub fn joins(&self, device: DeviceId) -> bool {
        self.a == device || self.b == device
    }
}

/// Describes the memory of a CPU as a channel: all that is read and written there shares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostMemory {
    /// Names the CPU.
    pub cpu: DeviceId,
    /// Holds the peak by its data sheet, reading and writing together.
    pub bandwidth: Bandwidth,
}

/// A machine has at most this number of GPUs, and may stand for hundreds of servers.
pub const MOST_GPUS: usize = 1 << 14;

/// Limits the bandwidth of one bundle, and of all bundles of one GPU together. It is some fifty
/// times the bandwidth of a GPU with 18 NVLinks of Blackwell. It is little enough that every sum of
/// pairs is exact. This holds over the 120 pairs of 16 GPUs in a 64-bit float, and over the 8,128
/// of 128 GPUs in 64 bits.
pub const MAX_BANDWIDTH: Bandwidth = Bandwidth::gigabytes_per_second(50_000);

/// Why devices and links do not make a machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ServerError {
    /// Refuses two devices that share a name.
    DuplicateDevice(String),
    /// A link names a device that is not listed.
    UnknownDevice(String),
    /// A link joins a device to itself.
    SelfLink(String),
    /// Refuses two bundles of one kind that join the same pair.
    DuplicateLink(String, String, &'static str),
    /// Refuses a bundle without links, or links without bandwidth.
    EmptyLink(String, String, &'static str),
    /// Refuses a bundle of more bandwidth than [`MAX_BANDWIDTH`].
    TooWide(String, String),
    /// A bundle that was measured to carry more than it has.
    Faster {
        /// Names one end.
        a: String,
        /// Gives the other end.
        b: String,
        /// Gives the bandwidth that was measured.
        measured: Bandwidth,
        /// Gives the peak bandwidth of the bundle.
        peak: Bandwidth,
    },
    /// A GPU whose bundles have more bandwidth than [`MAX_BANDWIDTH`] together.
    TooWideGpu(String, String),
    /// A discipline that the link's kind, between such devices, does not allow.
    Discipline {
        /// Names one end.
        a: String,
        /// Gives the other end.
        b: String,
        /// Names the link's kind.
        kind: &'static str,
        /// Names the discipline asked for.
        given: &'static str,
        /// Says what works.
        allowed: String,
    },
    /// Links of one NVSwitch with different disciplines.
    MixedDisciplines {
        /// Names the NVSwitch.
        switch: String,
        /// The index of its link that carries packets.
        link: usize,
    },
    /// Links of packets beside others between the same two places.
    ParallelPackets {
        /// Names one end.
        a: String,
        /// Gives the other end.
        b: String,
        /// Gives the index of the link.
        link: usize,
    },
    /// Refuses a machine with no GPU at all.
    NoGpu,
    /// The machine has more GPUs than [`MOST_GPUS`].
    TooManyGpus(usize),
}

impl Diagnose for ServerError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::DuplicateDevice(name) => {
                Diagnosis::of(format!("device `{name}` is listed twice"))
                    .remedy("give each device its own name")
            }
            Self::UnknownDevice(name) => {
                Diagnosis::of(format!("a link names the device `{name}`, which is not listed"))
                    .remedy("list it under [[device]]")
            }
            Self::SelfLink(name) => Diagnosis::of(format!("a link joins `{name}` to itself"))
                .remedy("name two different devices"),
            Self::DuplicateLink(a, b, kind) => {
                Diagnosis::of(format!("`{a}` and `{b}` are joined twice by {kind}"))
                    .remedy("write one link with a larger count")
            }
            Self::EmptyLink(a, b, what) => {
                Diagnosis::of(format!("the link between `{a}` and `{b}` has no {what}"))
                    .remedy("give a value above 0")
            }
            Self::TooWide(a, b) => Diagnosis::of(format!(
                "the link between `{a}` and `{b}` has more than {MAX_BANDWIDTH} in all"
            ))
            .remedy("lower its count or its bandwidth"),
            Self::Faster { a, b, measured, peak } => Diagnosis::of(format!(
                "the link between `{a}` and `{b}` has a measured bandwidth of {measured}, above \
                 its peak of {peak}"
            ))
            .remedy("correct its kind or its count, or leave out `measured`"),
            Self::TooWideGpu(a, b) => Diagnosis::of(format!(
                "the links of `{a}`, with the one to `{b}`, have more than {MAX_BANDWIDTH} in all"
            ))
            .remedy("lower their counts or bandwidths"),
            Self::Discipline { a, b, kind, given, allowed } => Diagnosis::of(format!(
                "the {kind} link between `{a}` and `{b}` cannot have the discipline `{given}`"
            ))
            .remedy(format!(
                "use `{allowed}`, which this kind of link allows between these \
                devices"
            )),
            Self::MixedDisciplines { switch, .. } => {
                Diagnosis::of(format!("`{switch}` has links with different disciplines"))
                    .remedy("give all links of an NVSwitch the same discipline")
            }
            Self::ParallelPackets { a, b, .. } => Diagnosis::of(format!(
                "the link between `{a}` and `{b}` has the discipline `packets`, but there is a \
                 parallel path"
            ))
            .remedy("leave the discipline out, so that all are pipes"),
            Self::NoGpu => Diagnosis::of("the machine has no GPU")
                .remedy("list at least one device of kind \"gpu\""),
            Self::TooManyGpus(count) => Diagnosis::of(format!(
                "the machine has {count} GPUs, but one machine can have at \
                    most {MOST_GPUS}"
            ))
            .remedy("describe one server, and give the number of servers with `servers`"),
        }
    }
}

/// Holds a server (or several): its devices and links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    name: String,
    source: String,
    warnings: Vec<String>,
    assumptions: Vec<String>,
    devices: Vec<Device>,
    links: Vec<Link>,
    #[serde(skip)]
    gpus: Vec<DeviceId>,
    #[serde(skip)]
    nics_meet_gpus: bool,
    /// Whether parts of it were left out, so that GPUs may be apart.
    #[serde(skip)]
    lacks_parts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<Calibration>,
}

impl Server {
    /// Makes an abstract server, as the TraceR-CODES study has its nodes (Section V.B). Each of its
    /// GPUs has a link of its own to each other, all of one bandwidth and latency. They meet one
    /// network interface without a channel, so that nothing waits between them and it.
    ///
    /// The bandwidths of its links may have any sum; it has no views of pairs, whose sums must
    /// be exact.
    #[must_use]
    pub fn abstract_node(node: AbstractNode) -> Self {
        let AbstractNode { gpus, nics, bandwidth, latency } = node;
        let device = |name: String, kind| Device::new(&name, kind, None);
        let mut devices: Vec<Device> =
            (0..gpus).map(|gpu| device(format!("GPU{gpu}"), DeviceKind::Gpu)).collect();
        devices.extend((0..nics).map(|nic| device(format!("NIC{nic}"), DeviceKind::Nic)));
        let gpus = gpus as DeviceId;
        let links = (0..gpus).flat_map(|b| (0..b).map(move |a| (a, b)));
        let kind = LinkKind::Direct;
        let (discipline, flits, measured) = (None, None, None);
        let of_pair =
            |(a, b)| Link { a, b, kind, count: 1, bandwidth, latency, discipline, flits, measured };
        let links = links.map(of_pair);
        Self {
            name: match (gpus, nics) {
                (1, _) => "node".to_owned(),
                (_, 1) => format!("node-of-{gpus}"),
                _ => format!("node-of-{gpus}-with-{nics}"),
            },
            source: "a scenario's numbers".to_owned(),
            warnings: Vec::new(),
            assumptions: Vec::new(),
            links: links.collect(),
            devices,
            gpus: (0..gpus).collect(),
            nics_meet_gpus: true,
            lacks_parts: false,
            calibration: None,
        }
    }

    /// Says whether GPUs reach their network interface without a channel, as in an abstract server.
    #[must_use]
    pub fn nics_meet_gpus(&self) -> bool {
        self.nics_meet_gpus
    }

    /// Whether its GPUs are all alike: those of an abstract server that share one network interface.
    #[must_use]
    pub fn has_gpus_alike(&self) -> bool {
        let nics = self.devices.iter().filter(|device| device.kind == DeviceKind::Nic);
        self.nics_meet_gpus && nics.count() == 1
    }

    /// Returns the machine's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its description comes from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Lists probable faults in the description, with a remedy for each. Every answer about this
    /// machine hangs on these, unlike on an assumption, which seldom matters.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Lists the assumptions that an importer had to make because the source does not say it.
    #[must_use]
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// Every device; a [`DeviceId`] is an index here.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns every bundle of links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Lists the memories of CPUs that can hold something up, in the order of their CPUs. The bandwidth
    /// of such is known, and less than all links of the CPU carry in both directions.
    pub fn host_memories(&self) -> impl Iterator<Item = HostMemory> + '_ {
        self.devices.iter().enumerate().filter_map(|(cpu, device)| {
            let bandwidth = device.host_memory_bandwidth?;
            let own = self.links.iter().filter(|link| link.a == cpu || link.b == cpu);
            let most: u64 = own.map(|link| 2 * link.total_bandwidth().0).sum();
            (bandwidth.0 < most).then_some(HostMemory { cpu, bandwidth })
        })
    }

    /// How one of its links carries messages.
    #[must_use]
    pub fn discipline(&self, link: &Link) -> Discipline {
        link.discipline.unwrap_or_else(|| disciplines::of_link(&self.devices, link)[0])
    }

    /// The GPUs in order: the GPU with id `i` is the device `gpus()[i]`.
    #[must_use]
    pub fn gpus(&self) -> &[DeviceId] {
        &self.gpus
    }

    /// Finds the device of that name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<DeviceId> {
        self.devices.iter().position(|device| device.name == name)
    }

    /// Lists, for each device, the indices of its links, in the order of [`Self::links`].
    #[must_use]
    pub fn adjacency(&self) -> Vec<Vec<usize>> {
        let mut adjacency = vec![Vec::new(); self.devices.len()];
        for (index, link) in self.links.iter().enumerate() {
            adjacency[link.a].push(index);
            adjacency[link.b].push(index);
        }
        adjacency
    }

    /// For each device the index of its server, by the lowest device; None for a switch of
    /// the network, which no server owns.
    ///
    /// A server is what links other than the network's hold together, so that a machine that
    /// is one server has the index 0 throughout.
    #[must_use]
    pub fn servers(&self) -> Vec<Option<usize>> {
        let devices = self.devices();
        let adjacency = self.adjacency();
        let mut servers: Vec<Option<usize>> = vec![None; devices.len()];
        let mut count = 0;
        for first in 0..devices.len() {
            let is_network = |id: DeviceId| devices[id].kind == DeviceKind::NetworkSwitch;
            if servers[first].is_some() || is_network(first) {
                continue;
            }
            let mut pending = vec![first];
            while let Some(device) = pending.pop() {
                if servers[device].is_some() || is_network(device) {
                    continue;
                }
                servers[device] = Some(count);
                let links = adjacency[device].iter().map(|index| &self.links()[*index]);
                let inside = links.filter(|link| !link.kind.is_network());
                pending.extend(inside.map(|link| link.other_end(device)));
            }
            count += 1;
        }
        servers
    }

    /// Returns its measurements, where it was calibrated.
    #[must_use]
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// The same machine with what was measured of it.
    #[must_use]
    pub fn calibrated(self, calibration: Calibration) -> Self {
        Self { calibration: Some(calibration), ..self }
    }

    /// Lets GPUs be of models that a crate above has added to a registry. An added model of a GPU's name
    /// goes before one of Linkwright's own.
    ///
    /// # Errors
    /// An added text that is no model's, with its place.
    pub fn with_gpu_models(mut self, models: &Registry<GpuFile>) -> Result<Self, InputError> {
        for device in self.devices.iter_mut().filter(|device| device.kind == DeviceKind::Gpu) {
            if let Some(name) = &device.model {
                device.own_model = gpus::find_added(name, models)?.cloned().map(Arc::new);
            }
        }
        Ok(self)
    }

    /// Gives the same with other facts of its GPUs.
    ///
    /// # Errors
    /// A GPU of no known model, and all that [`GpuChanges::on`] refuses.
    pub fn with_gpus(mut self, changes: &GpuChanges) -> Result<Self, GpuError> {
        for device in self.devices.iter_mut().filter(|device| device.kind == DeviceKind::Gpu) {
            let changed = match device.gpu_model() {
                Some(model) => changes.on(model)?,
                None if changes.sections.is_some() => {
                    let named = device.model.as_deref().unwrap_or(&device.name);
                    changes.on(&GpuModel::unknown(named, device.identity.vendor_id.as_deref()))?
                }
                // Whoever wants no more than its memory has that from the caller.
                None if changes.is_of_capacity() => continue,
                None => return Err(GpuError::NoModel { gpu: device.name.clone() }),
            };
            device.own_model = Some(Arc::new(changed));
        }
        Ok(self)
    }

    /// Gives the same with what was measured of its links, one for each, and by what. A link
    /// without any measurement keeps what it has.
    pub(in crate::system) fn with_measured_links(
        &self,
        measured: &[Option<Bandwidth>],
        by: &str,
    ) -> Self {
        let links = self.links.iter().zip(measured);
        let links =
            links.map(|(link, found)| Link { measured: found.or(link.measured), ..link.clone() });
        let behind = format!("; links measured by {by}");
        let source = match self.source.ends_with(&behind) {
            true => self.source.clone(),
            false => self.source.clone() + &behind,
        };
        Self { source, links: links.collect(), ..self.clone() }
    }

    /// The same as if nothing had been measured of its links.
    #[must_use]
    pub fn unmeasured(&self) -> Self {
        let links = self.links.iter().map(|link| Link { measured: None, ..link.clone() });
        Self { links: links.collect(), ..self.clone() }
    }

    /// Leaves out links, by their indices.
    pub(in crate::system) fn without_links(&self, absent: &BTreeSet<usize>) -> Self {
        let links = self.links.iter().enumerate().filter(|(at, _)| !absent.contains(at));
        let links = links.map(|(_, link)| link.clone()).collect();
        Self { links, lacks_parts: true, ..self.clone() }
    }

    /// Gives some links, by their indices, another kind and another bandwidth of each of their links.
    #[must_use]
    pub fn with_link_rates(&self, rates: &BTreeMap<usize, (LinkKind, Bandwidth)>) -> Self {
        let mut changed = self.clone();
        for (at, (kind, bandwidth)) in rates {
            if let Some(link) = changed.links.get_mut(*at) {
                (link.kind, link.bandwidth) = (*kind, *bandwidth);
            }
        }
        changed
    }

    /// Whether parts of it were left out, so that GPUs may be apart.
    #[must_use]
    pub fn lacks_parts(&self) -> bool {
        self.lacks_parts
    }

    /// Returns the same machine under another name.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }
}
