//! Gives Python `linkwright.System`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::scenario::{Files, is_system, read_system};
use linkwright::simulation::cluster::{self, Cluster, Mapping, place};
use linkwright::system::composition::{SpeedSource, lists_network, split};
use linkwright::system::gpus::{GpuChanges, GpuSections};
use linkwright::system::import::measured;
use linkwright::system::views::isomorphism::{LabelledGraph, renumbering};
use linkwright::system::views::narrow_interfaces::narrow_interfaces;
use linkwright::system::views::proximity::proximity;
use linkwright::system::{
    self, BandwidthProfile, GpuGraph, ImportOptions, LinkKind, Server, Wiring, presets,
    toml_format,
    views::{
        export,
        parts::{assumed, said, sources},
        svg,
        system_svg::system_svg,
        tables,
    },
};
use linkwright::units::{Bytes, Frequency, Power};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::{
    callback, given, optional_clock, optional_power, optional_size, optional_speed,
};
use crate::choices::{Choice as _, profile_of};
use crate::cluster_job::{ClusterJob, MappingArgument, named_mapping};
use crate::cluster_run::{ClusterRun, Play, TraceAsked};
use crate::errors;
use crate::fabric::Fabric;
use crate::gpu_place::GpuPlace;
use crate::number;
use crate::placed_skeleton::placed_skeleton;
use crate::program::Program;
use crate::system_origin::{
    Arguments, Kind, NetworkArgument, Origin, ServerArgument, lacking, of_server, with_gpus,
};
use crate::table::Table;
use crate::traffic;
use crate::values;
use crate::worker::interruptible;

/// Holds servers, and the network between them.
///
/// One server stands alone. Several are on a network; a network without described servers has a
/// node of GPUs at each port, all joined to each other. GPU ids count through the first server,
/// then the second. Two systems are equal if their parts and the settings of their network are.
///
/// Examples:
///     >>> from linkwright import System
///     >>> System("hgx-h100", 2, network="400Gb/s").gpu_count
///     16
#[pyclass(frozen, eq, hash, module = "linkwright.network")]
#[derive(Clone)]
pub struct System {
    cluster: Arc<Cluster>,
    origin: Arc<Origin>,
    /// Its servers with every part listed, once somebody has asked.
    pub listed: Arc<OnceLock<Arc<Server>>>,
}

/// Equal systems have one name and as many GPUs.
impl Hash for System {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.core().name(), self.gpu_count()).hash(state);
    }
}

impl PartialEq for System {
    fn eq(&self, other: &Self) -> bool {
        let of = |system: &Self| {
            let it = Arc::clone(&system.cluster);
            (it.settings, it.routing, it.nic, it.arbitration, it.tables.clone())
        };
        self.core() == other.core() && of(self) == of(other)
    }
}

impl System {
    /// Makes a system of a lone server.
    pub fn of_server(server: Server) -> Self {
        let server = Arc::new(server);
        Self::new(of_server(Arc::clone(&server)), Origin::Server(server))
    }

    /// A system, with what it is made from.
    pub fn new(cluster: Cluster, origin: Origin) -> Self {
        Self { cluster: Arc::new(cluster), origin: Arc::new(origin), listed: Arc::default() }
    }

    /// Makes the system that the tables of a scenario describe.
    fn of_text(py: Python<'_>, text: &str, file: &str, files: Files) -> PyResult<Self> {
        let network = read_system(file, text).map_err(errors::input)?.network;
        let (named, given) = (file.to_owned(), files.clone());
        let cluster = interruptible(py, move || network.build(&named, &given))?;
        let origin = Origin::Text(text.to_owned(), files);
        cluster.map(|cluster| Self::new(cluster, origin)).map_err(errors::input)
    }

    /// Gives what it is made from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Returns the core's system.
    pub fn core(&self) -> &Arc<system::System> {
        &self.cluster.system
    }

    /// How jobs are played on it where nobody says otherwise.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Whether its servers are described by a few numbers, and not by their links.
    pub fn is_of_nodes(&self) -> bool {
        self.core().kinds()[0].server().nics_meet_gpus()
    }

    /// The server, where it is one that stands alone.
    pub fn lone(&self) -> PyResult<&Arc<Server>> {
        let core = self.core();
        if core.fabric().is_none() {
            return Ok(core.kinds()[0].server());
        }
        Err(errors::machine(
            Diagnosis::of(format!(
                "`{}` is {} servers on a network of their own",
                core.name(),
                core.servers()
            ))
            .remedy("leave out `servers` and `network`, or give one of its `servers()`"),
        ))
    }

    /// Returns the GPUs by their ids.
    fn known(&self, gpus: &[i128]) -> PyResult<Vec<usize>> {
        let count = self.gpu_count() as usize;
        gpus.iter().map(|gpu| number::gpu_of(count, *gpu)).collect()
    }
}

#[pymethods]
impl System {
    /// A system of servers by name, on a network by name; every setting has a default.
    ///
    /// Args:
    ///     server: The kind of its servers: a name of `preset_names`, or a `System` of one server,
    ///         which `System.from_text` and `read_system` read. Where they differ, a list of these,
    ///         or of pairs with their number, as `[("dgx-a100", 2), mine]`. It may also be GPUs
    ///         that are all joined to each other, one such node at each port of the network:
    ///         `{"gpus": 4}`. Beside `gpus`, `bandwidth` and `latency` are of the link of each
    ///         pair. `nics` is the number of interfaces of a node, each at a port.
    ///     servers: How many there are; one where absent.
    ///     network: The network that joins them. It is a name of `fabric_names`, the speed of the
    ///         links of a single switch (`100 Gb/s`), a `Fabric`, or a dictionary. The dictionary
    ///         has the keys of a scenario's `[network]`. These are `kind` with its parameters, such
    ///         as `pods`, `groups`, `dimensions` and `bandwidth`, or `file`, and `bandwidth_scale`
    ///         (2, `"x/4"`). Others are `routing`, `nic` (`fcfs`, `rr`, `rr-4`), `port_order`
    ///         (`plain`, `rails`) and `arbitration` (`round-robin`, `age`, `priority`). The rest
    ///         are `switching`, `packet_size`, `buffer_packets`, `router_delay` and `nic_delay`.
    ///         Sizes that are left out are those of the smallest network that has the ports.
    ///         Without a network, one server stands alone, and several are on a fat-tree.
    ///     files: The content of each file that the network's keys name, by the name as written.
    ///
    /// Raises:
    ///     MachineError: If there is no such server or network, or an argument is missing.
    ///     InputError: If there is no such key or value; the message says what would work.
    #[new]
    #[pyo3(signature = (
        server: "str | System | dict[str, Any] | Sequence[str | System | tuple[str | System, int]] | None" = None,
        servers: "int | None" = None, *, network: "str | Fabric | dict[str, Any] | None" = None,
        files: "dict[str, bytes] | None" = None
    ))]
    fn py_new(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] server: Option<ServerArgument>,
        #[pyo3(from_py_with = given)] servers: Option<i128>,
        #[pyo3(from_py_with = given)] network: Option<NetworkArgument<'_>>,
        #[pyo3(from_py_with = given)] files: Option<Files>,
    ) -> PyResult<Self> {
        if let (Some(ServerArgument::Kind(Kind::Preset(name))), None | Some(1), None) =
            (&server, servers, &network)
        {
            return presets::preset(name).map(Self::of_server).map_err(errors::system);
        }
        let arguments = Arguments::new(server, servers, network, files.unwrap_or_default())?;
        arguments.build(py).map(|(cluster, origin)| Self::new(cluster, origin))
    }

    /// A server from what nvidia-smi, rocm-smi or amd-smi prints, NCCL's XML, or our TOML.
    ///
    /// A TOML text that lists several servers and the switches between them is a system of these. So
    /// are the tables of a scenario that describe one, which `to_toml` writes.
    ///
    /// Args:
    ///     text: The text itself.
    ///     file: Its name in errors.
    ///     format: `nvidia-smi`, `rocm-smi`, `amd-smi`, `nccl-xml` or `toml`; told from the text if
    ///         absent.
    ///     name: The server's name.
    ///     nvlink: The NVLink generation that the text does not say, such as `nvlink3`. Where the
    ///         text shows no NVLink, each GPU gets all of that generation to one NVSwitch.
    ///     pcie: The PCIe generation that the text does not say, such as `pcie4`. It also counts
    ///         for uplinks whose speed in the text is that of an idle or virtual bridge.
    ///     xgmi_links: How many xGMI links join a pair of AMD GPUs.
    ///     files: Of a system, the content of each file that the text names and does not hold itself.
    ///
    /// Raises:
    ///     InputError: If the text is truncated, corrupt or of no known format, with its place.
    ///     MachineError: If there is no such format or kind of link.
    #[staticmethod]
    #[pyo3(signature = (
        text: "str", file: "str" = "<text>", *, format: "ImportFormatName | None" = None, name: "str | None" = None, nvlink: "str | None" = None, pcie: "str | None" = None,
        xgmi_links: "int | None" = None, files: "dict[str, bytes] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn from_text(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
        #[pyo3(from_py_with = given)] format: Option<&str>,
        #[pyo3(from_py_with = given)] name: Option<String>,
        #[pyo3(from_py_with = given)] nvlink: Option<&str>,
        #[pyo3(from_py_with = given)] pcie: Option<&str>,
        #[pyo3(from_py_with = given)] xgmi_links: Option<i128>,
        #[pyo3(from_py_with = given)] files: Option<Files>,
    ) -> PyResult<Self> {
        if is_system(text) && matches!(format, None | Some("toml")) {
            let of_server =
                [("name", name.is_some()), ("nvlink", nvlink.is_some()), ("pcie", pcie.is_some())];
            let given = of_server.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
            if let Some(key) = given.or(xgmi_links.map(|_| "xgmi_links")) {
                let problem = format!("`{key}` is of one server, and `{file}` describes a system");
                return Err(errors::machine(
                    Diagnosis::of(problem).remedy(format!("leave out `{key}`")),
                ));
            }
            return Self::of_text(py, text, file, files.unwrap_or_default());
        }
        let format = format.map(system::importer).transpose();
        let xgmi_links = xgmi_links
            .map(|links| number::within("xgmi_links", links, u32::MAX, errors::machine))
            .transpose()?;
        let [nvlink, pcie] = [nvlink, pcie].map(|name| name.map(LinkKind::named).transpose());
        let options = ImportOptions { name, nvlink: nvlink?, pcie: pcie?, xgmi_links };
        let format = format.map_err(errors::system)?;
        let machine = py.detach(|| system::import(file, text, format, &options));
        let machine = machine.map_err(errors::system)?;
        if !lists_network(&machine) {
            return Ok(Self::of_server(machine));
        }
        // A fault of the network is reported for the machine, and not for a setting.
        split(&machine).map_err(errors::system)?;
        let (cluster, origin) = Arguments::of_machine(&machine).build(py)?;
        Ok(Self::new(cluster, origin))
    }

    /// Gives the same system with other facts of its GPUs. Those that are left out are as in their models' files.
    ///
    /// `to_toml` writes the machine as it was.
    ///
    /// Args:
    ///     power: Watts that each GPU draws at most, or a text such as `500 W`. Under matrix load its clock falls
    ///         to what they allow. More than the data sheet's changes nothing.
    ///
    ///     clock: Megahertz of its cores at most, or a text such as `1500 MHz`.
    ///
    ///     memory: Bytes that it has, or a text such as `96 GiB`.
    ///
    ///     bandwidth: GB/s of its memory, or a text such as `2.4 TB/s`.
    ///
    ///     sections: TOML with sections of a GPU's file, which replace those of its model: `[chip]`, `[peak]`,
    ///         `[memory]`, `[copy_engines]`, `[caches]` and `[power]`.
    ///
    ///     file: Names that text in errors.
    ///
    /// Raises:
    ///     InputError: If the sections are none, with line and column.
    ///     MachineError: If nothing is known of what is changed, or a GPU at rest draws more.
    #[pyo3(signature = (
        *, power: "float | str | None" = None, clock: "float | str | None" = None,
        memory: "int | str | None" = None, bandwidth: "float | str | None" = None,
        sections: "str | None" = None, file: "str" = "<gpu>"
    ))]
    fn with_gpus(
        &self,
        #[pyo3(from_py_with = optional_power)] power: Option<Power>,
        #[pyo3(from_py_with = optional_clock)] clock: Option<Frequency>,
        #[pyo3(from_py_with = optional_size)] memory: Option<i128>,
        #[pyo3(from_py_with = optional_speed)] bandwidth: Option<f64>,
        #[pyo3(from_py_with = given)] sections: Option<&str>,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        let sections = sections.map(|text| GpuSections::read(file, text)).transpose();
        let sections = sections.map_err(errors::input)?;
        let size = |size| number::within("memory", size, u64::MAX, errors::machine).map(Bytes);
        let memory = memory.map(size).transpose()?;
        let bandwidth = bandwidth.map(|it| number::bandwidth("bandwidth", it)).transpose()?;
        let changes = GpuChanges { sections, power, clock, memory, bandwidth };
        if changes.is_empty() {
            return Ok(self.clone());
        }
        let cluster = with_gpus(&self.cluster, &changes).map_err(errors::machine)?;
        Ok(Self::new(cluster, Origin::Changed(Arc::clone(&self.origin), Box::new(changes))))
    }

    /// Gives the same system without some of its parts: absent, or failed.
    ///
    /// All other parts keep their ids and names. With a part goes what is of no use without it.
    /// That is a server's GPUs and interfaces with the server, a GPU that reaches no CPU, an
    /// interface whose port is cut off. `to_toml` of several servers writes the system as it was.
    ///
    /// Args:
    ///     parts: Their names. `mlx5_3` is that device of every server, and `node1/mlx5_3` of one. `GPU0-GPU3` are
    ///         all links of a pair, `node1` is a server, and `leaf2` a switch of the network.
    ///
    /// Raises:
    ///     MachineError: If there is no such part, with those that there are. Also if servers are described by
    ///         a few numbers, and not by their parts.
    #[pyo3(signature = (parts: "Sequence[str]"))]
    fn without(&self, #[pyo3(from_py_with = given)] parts: Vec<String>) -> PyResult<Self> {
        if parts.is_empty() {
            return Ok(self.clone());
        }
        let cluster = lacking(&self.cluster, &parts).map_err(errors::machine)?;
        Ok(Self::new(cluster, Origin::Lacking(Arc::clone(&self.origin), parts)))
    }

    /// The ids of GPUs that `without` left out: no link joins them to anything.
    #[getter]
    fn lost_gpus(&self) -> Vec<u32> {
        self.core().lost_gpus()
    }

    /// Gives the same server with bandwidths that were measured between its GPUs.
    ///
    /// A link that copies were measured to fill less than its kind has in proportion less, wherever
    /// the machine is used. A link that reaches what its kind does stays as it is. A GPU's links to
    /// switches have what its fastest pair reaches. Its PCIe link has what copies to the host
    /// reach.
    ///
    /// Args:
    ///     text: The output of p2pBandwidthLatencyTest, nvbandwidth (also with `--json`) or
    ///         rocm-bandwidth-test. Its GPUs are those at the same PCI addresses, or else of the
    ///         same numbers.
    ///     file: Its name in errors, and in the server's `source`.
    ///
    /// Raises:
    ///     InputError: If the text has no such matrix, or one that is broken, with its place.
    ///     MachineError: If it is no lone server, or one whose GPUs were changed by `with_gpus`.
    #[pyo3(signature = (text: "str", file: "str" = "<measured>"))]
    fn with_measured(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        if matches!(self.origin(), Origin::Changed(..)) {
            let problem = "its GPUs were changed before its links were measured";
            let remedy = "call `with_measured` first, and then `with_gpus`";
            return Err(errors::machine(Diagnosis::of(problem).remedy(remedy)));
        }
        let found = py.detach(|| measured::read(file, text)).map_err(errors::input)?;
        let taken = measured::with_measured(self.lone()?, &found).map_err(errors::system)?;
        Ok(Self::of_server(taken.server))
    }

    /// Tells what measured bandwidths say of its links and pairs of GPUs.
    ///
    /// Args:
    ///     text: As `with_measured` takes it.
    ///     file: Its name in errors.
    ///
    /// Returns:
    ///     One row per link whose bandwidth was measured. Columns: a, b (the names of its ends), measured,
    ///     nominal (GB/s in one direction). Then one row per pair that reaches less than three quarters of
    ///     its like, which are joined in the same way, the worst first. Columns: a, b, link, measured, like
    ///     (GB/s), others (how many are like it), title (of the matrix), line (of the text), sentence.
    ///     Then what was skipped, in sentences.
    ///
    /// Raises:
    ///     InputError: If the text has no such matrix, or one that is broken, with its place.
    ///     MachineError: If it is no lone server.
    #[pyo3(signature = (text: "str", file: "str" = "<measured>"))]
    fn measured_links(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<(Table, Table, Vec<String>)> {
        let server = self.lone()?;
        let found = py.detach(|| measured::read(file, text)).map_err(errors::input)?;
        let taken = measured::with_measured(server, &found).map_err(errors::system)?;
        let slow = measured::far_below(server, &found).map_err(errors::system)?;
        let mut notes = found.notes;
        notes.extend(taken.notes);
        let links = Table::new(measured::taken_table(&taken.taken))?;
        Ok((links, Table::new(measured::slow_table(&slow))?, notes))
    }

    /// Its name: that of the server where it is one, else such as `4xdgx1-v100 on fat-tree-16`.
    ///
    /// Where nodes of GPUs are at the network's ports, it is the network's.
    #[getter]
    fn name(&self) -> &str {
        match self.core().fabric() {
            Some(fabric) if self.is_of_nodes() => fabric.name(),
            _ => self.core().name(),
        }
    }

    /// Says where the descriptions of its servers come from.
    #[getter]
    fn source(&self) -> String {
        sources(self.core())
    }

    /// Lists probable faults in the description of a server, with a remedy for each.
    ///
    /// Every answer about the system hangs on it, unlike on an assumption.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        said(self.core(), Server::warnings)
    }

    /// Lists what had to be assumed because no source says it.
    ///
    /// The list begins with those of the servers by themselves. Those of the whole follow.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        assumed(self.core())
    }

    /// Tells of the network between its servers: `fat-tree of 400 Gb/s, as the interfaces`.
    ///
    /// Behind the speed of the servers' links stands where it comes from, unless it was named. None
    /// of a server that stands alone.
    #[getter]
    fn network_words(&self) -> Option<String> {
        self.core().fabric_words()
    }

    /// Says that the speed of its network is assumed, since nobody named it; else None.
    ///
    /// With interfaces of known speed there is nothing to assume.
    #[getter]
    fn assumed_speed(&self) -> Option<&str> {
        let (source, said) = self.core().unnamed_speed()?;
        (source == SpeedSource::Assumed).then_some(said)
    }

    /// Gives GB/s that the widest interface reaches towards its host, and towards the network.
    ///
    /// It is told where no interface of a job's servers is wider towards its host: no faster network
    /// then carries more of the job's collectives. Else it is None.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn narrow_interfaces(
        &self,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Option<(f64, f64)>> {
        let wiring = Wiring::of_gpus(self.core(), &self.known(&gpus)?);
        Ok(narrow_interfaces(&wiring).map(|sides| (sides.host, sides.network)))
    }

    /// How many GPUs it has: the most ranks that its jobs can have in all.
    #[getter]
    fn gpu_count(&self) -> u32 {
        self.core().gpus()
    }

    /// How many servers, or nodes, it has.
    #[getter]
    fn server_count(&self) -> u32 {
        self.core().servers()
    }

    /// How many network interfaces its servers have together.
    #[getter]
    fn nic_count(&self) -> u32 {
        self.core().nics()
    }

    /// How many GPUs each server, or node, has.
    #[getter]
    fn gpus_per_server(&self) -> Vec<u32> {
        let core = self.core();
        let gpus = |server| core.kind_of(server).server().gpus().len() as u32;
        (0..core.servers()).map(gpus).collect()
    }

    /// The network between its servers; None of a server that stands alone.
    #[getter]
    fn fabric(&self) -> Option<Fabric> {
        let files = self.origin.settings().1;
        Fabric::of_system(self.core(), self.origin.network().as_ref(), &files)
    }

    /// Lists its servers in order, each by itself with the number of equal ones in a row.
    ///
    /// None where they are nodes of GPUs whose wiring nobody describes.
    fn servers(&self) -> Vec<(Self, u32)> {
        let core = self.core();
        if self.is_of_nodes() {
            return Vec::new();
        }
        let mut rows: Vec<(usize, u32)> = Vec::new();
        for server in 0..core.servers() {
            let kind = core.kind_index_of(server);
            match rows.last_mut() {
                Some((last, count)) if *last == kind => *count += 1,
                _ => rows.push((kind, 1)),
            }
        }
        let alone = |kind: usize| Self::of_server(core.kinds()[kind].server().as_ref().clone());
        rows.into_iter().map(|(kind, count)| (alone(kind), count)).collect()
    }

    /// Which server a GPU is in, counted from 0.
    ///
    /// Raises:
    ///     AllocationError: If the GPU is unknown.
    #[pyo3(signature = (gpu: "int"))]
    fn server_of(&self, #[pyo3(from_py_with = given)] gpu: i128) -> PyResult<u32> {
        let gpu = number::gpu_of(self.gpu_count() as usize, gpu)?;
        Ok(self.core().gpu(gpu as u32).server)
    }

    /// Which servers GPUs are in, and their ids there.
    ///
    /// Returns:
    ///     Each server in its order, with its GPUs in the order given.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn by_server(
        &self,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Vec<(u32, Vec<u32>)>> {
        let mut servers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for gpu in self.known(&gpus)? {
            let at = self.core().gpu(gpu as u32);
            servers.entry(at.server).or_default().push(at.index);
        }
        Ok(servers.into_iter().collect())
    }

    /// The routing's name; None of a server that stands alone.
    #[getter]
    fn routing(&self) -> Option<&'static str> {
        self.core().fabric().map(|_| self.cluster.routing.name())
    }

    /// The policy of the network interfaces; None of a server that stands alone.
    #[getter]
    fn nic(&self) -> Option<String> {
        self.core().fabric().map(|_| self.cluster.nic.name())
    }

    /// The arguments that make the system, as far as they were given.
    ///
    /// A server that is no preset has a file's name, with an ending; its text is in `files`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (mut settings, _) = self.origin.settings();
        if settings.is_empty() {
            settings.insert("server".to_owned(), self.core().name().into());
        }
        let listed = match settings.get("server") {
            Some(toml::Value::Array(rows)) => Some(rows.clone()),
            _ => None,
        };
        let made = values::dictionary(py, &settings)?;
        if let Some(rows) = listed {
            let row = |row: &toml::Value| {
                let name = row.get("kind").and_then(toml::Value::as_str).unwrap_or_default();
                let count = row.get("count").and_then(toml::Value::as_integer).unwrap_or(1);
                (name.to_owned(), count)
            };
            made.set_item("server", rows.iter().map(row).collect::<Vec<_>>())?;
        }
        Ok(made)
    }

    /// The content of each file that `settings` names, by the name as written.
    #[getter]
    fn files(&self) -> Files {
        self.origin.settings().1
    }

    /// The GPUs' names, by id.
    #[getter]
    fn gpu_names(&self) -> Vec<String> {
        let core = self.core();
        (0..core.gpus()).map(|gpu| core.device_name(core.gpu_device(gpu))).collect()
    }

    /// The GPUs' products, by id; None where no source names one.
    #[getter]
    fn gpu_models(&self) -> Vec<Option<&str>> {
        let core = self.core();
        let model = |gpu: u32| {
            let at = core.gpu(gpu);
            let server = core.kind_of(at.server).server();
            server.devices()[server.gpus()[at.index as usize]].model.as_deref()
        };
        (0..core.gpus()).map(model).collect()
    }

    /// Returns one row per device: its kind, its links, its place, its ids, cores and memory.
    fn devices(&self) -> PyResult<Table> {
        Table::new(tables::devices(self.core()))
    }

    /// One row per bundle of links: its ends, kind, count, bandwidth and latency.
    ///
    /// They are the links of the first server, of the second, ..., then the network's.
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::links(self.core()))
    }

    /// Returns one row per network interface, in the order of the network's ports that they take.
    ///
    /// Columns: port, interface (its name), server, switch (at which the port is), bandwidth and
    /// latency of its link. Empty of a server that stands alone.
    fn ports(&self) -> PyResult<Table> {
        Table::new(tables::ports(self.core()))
    }

    /// Says where each GPU sits: its PCI address, the cores, NUMA nodes and NICs near it.
    fn gpu_places(&self) -> PyResult<Vec<GpuPlace>> {
        let server = self.listed()?;
        Ok(system::gpu_places(&server).into_iter().map(GpuPlace::from).collect())
    }

    /// Returns the CPU cores near any of these GPUs, as a cpuset: `0-11,24-35`.
    ///
    /// None where the source does not name the cores near all of them.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn cpuset(&self, #[pyo3(from_py_with = given)] gpus: Vec<i128>) -> PyResult<Option<String>> {
        let server = self.listed()?;
        let cores = system::cpuset(&server, &self.known(&gpus)?);
        Ok(cores.map(|cores| cores.to_string()))
    }

    /// Returns the NUMA nodes near any of these GPUs, likewise.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    #[pyo3(signature = (gpus: "Sequence[int]"))]
    fn numa_nodes(
        &self,
        #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    ) -> PyResult<Option<String>> {
        let server = self.listed()?;
        let nodes = system::numa_nodes(&server, &self.known(&gpus)?);
        Ok(nodes.map(|nodes| nodes.to_string()))
    }

    /// The bandwidth profile where none is chosen.
    ///
    /// `mapa` where MAPA's Table 1 covers the NVLinks and PCIe links, else `data-sheet`.
    #[getter]
    fn default_bandwidth_profile(&self) -> &'static str {
        let kinds = self.core().kinds().iter();
        let mut profiles = kinds.map(|kind| BandwidthProfile::default_of(kind.server()));
        let all = profiles.all(|profile| profile == BandwidthProfile::Mapa);
        (if all { BandwidthProfile::Mapa } else { BandwidthProfile::DataSheet }).name()
    }

    /// Gives for each pair of GPUs the best link's label (`NV2`, `PCIe`) and bandwidth in GB/s.
    ///
    /// A GPU with itself is `("X", 0.0)`. Of 1,024 GPUs at most, since the pairs grow with their square:
    /// of a larger system ask one of its `servers()`.
    ///
    /// Raises:
    ///     MachineError: If no path joins two GPUs, or there are more than 1,024.
    #[pyo3(signature = (bandwidth_profile: "BandwidthProfileName | None" = None) -> "list[list[tuple[str, float]]]")]
    fn gpu_matrix<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = given)] bandwidth_profile: Option<&str>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let server = self.listed_by_pairs()?;
        let profile = profile_of(&server, bandwidth_profile)?;
        let graph = py.detach(|| GpuGraph::new(&server, profile)).map_err(errors::system)?;
        // Many pairs are alike, and Python's tuples are large.
        let mut made: BTreeMap<(String, u64), Bound<'py, PyAny>> = BTreeMap::new();
        let mut cell = |a, b| {
            let (label, bandwidth) = graph.pair(a, b).map_or(("X".to_owned(), 0.0), |pair| {
                (pair.link.label(), pair.bandwidth.as_gigabytes_per_second())
            });
            match made.entry((label, bandwidth.to_bits())) {
                Entry::Occupied(known) => Ok(known.get().clone()),
                Entry::Vacant(new) => {
                    let cell = (new.key().0.as_str(), bandwidth).into_bound_py_any(py)?;
                    Ok(new.insert(cell).clone())
                }
            }
        };
        let count = graph.len();
        (0..count).map(|a| (0..count).map(|b| cell(a, b)).collect()).collect()
    }

    /// Says for each pair of GPUs how far their host path reaches: PIX, PXB, PHB, NODE, SYS, or X.
    ///
    /// X is a GPU with itself. A pair without a host path is SYS, as far apart as can be.
    ///
    /// Raises:
    ///     MachineError: If there are more than 1,024 GPUs.
    fn proximity(&self) -> PyResult<Vec<Vec<&'static str>>> {
        let server = self.listed_by_pairs()?;
        let table = proximity(&server);
        let word = |cell: &Option<system::Proximity>| cell.map_or("X", |near| near.name());
        Ok(table.iter().map(|row| row.iter().map(word).collect()).collect())
    }

    /// Which GPU of `other` each GPU is, if their NVLinks make the same graph; else None.
    #[pyo3(signature = (other: "System"))]
    fn renumbering(
        &self,
        #[pyo3(from_py_with = given)] other: &Self,
    ) -> PyResult<Option<Vec<usize>>> {
        let (own, other) = (self.listed()?, other.listed()?);
        let graph = |server| LabelledGraph::of_gpu_links(server);
        Ok(renumbering(&graph(&own), &graph(&other)))
    }

    /// Plays jobs on the system, which is idle at time zero, to their ends.
    ///
    /// Args:
    ///     jobs: The jobs.
    ///     mapping: `linear`, `contiguous`, `random-switches`, `random-nodes` or `random`, for the
    ///         jobs that name no mapping of their own. Lists of GPUs go first, then jobs of each
    ///         name in this order: linear ones take the lowest free GPUs, others by chance.
    ///     fidelity: `packet`, every packet, or `flow`, messages as flows.
    ///     protocol: The costs of messages in software: the keys of a scenario's `[protocol]`, such
    ///         as `{"eager_limit": "64 KiB"}`.
    ///     collectives: How collectives become messages: the keys of a scenario's
    ///         `[collectives]`, such as `{"all_reduce": "planned"}`.
    ///     seed: Of routing by chance and of random mappings.
    ///     timeline: The number N of records of each kind that the run keeps. It keeps the first N
    ///         intervals of computation, messages and stays in regions. `ClusterRun.computation`,
    ///         `ClusterRun.messages` and `ClusterRun.regions` give them.
    ///     packets: The most steps of packets that the run keeps for `ClusterRun.packets`, the first ones.
    ///     packets_link: The link, such as `leaf0 to node3`; all where absent.
    ///     packets_from: From which second on.
    ///     packets_until: Until which second.
    ///     queues: The most windows of time with packets that wait for a link that the run keeps
    ///         for `ClusterRun.queues`. It keeps the first ones of the same link and span.
    ///     queue_window: How many seconds such a window lasts.
    ///     messages_from: From which second on messages are sent that the timeline keeps and counts.
    ///     messages_until: Until which second.
    ///     progress: Called about every 100 ms with operations done, operations in all,
    ///         simulated seconds, and events that the model of the network has handled.
    ///
    /// Raises:
    ///     InputError: If a key or a name is unknown; the message says what would work.
    ///     SimulationError: If the jobs do not fit or do not come to an end; the message names
    ///         rank, call, peer, tag and time.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        jobs: "Sequence[ClusterJob]", *, mapping: "MappingName" = "linear", fidelity: "FidelityName" = "packet", protocol: "dict[str, Any] | None" = None,
        collectives: "dict[str, Any] | None" = None, seed: "int | None" = None, timeline: "int" = 0,
        packets: "int" = 0, packets_link: "str | None" = None, packets_from: "float" = 0.0, packets_until: "float | None" = None,
        queues: "int" = 0, queue_window: "float" = 1e-6, messages_from: "float" = 0.0, messages_until: "float | None" = None,
        progress: "Callable[[int, int, float, int], object] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn play(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] jobs: Vec<ClusterJob>,
        #[pyo3(from_py_with = given)] mapping: &str,
        #[pyo3(from_py_with = given)] fidelity: &str,
        #[pyo3(from_py_with = given)] protocol: Option<Bound<'_, PyDict>>,
        #[pyo3(from_py_with = given)] collectives: Option<Bound<'_, PyDict>>,
        #[pyo3(from_py_with = given)] seed: Option<i128>,
        #[pyo3(from_py_with = given)] timeline: i128,
        #[pyo3(from_py_with = given)] packets: i128,
        #[pyo3(from_py_with = given)] packets_link: Option<String>,
        #[pyo3(from_py_with = given)] packets_from: f64,
        #[pyo3(from_py_with = given)] packets_until: Option<f64>,
        #[pyo3(from_py_with = given)] queues: i128,
        #[pyo3(from_py_with = given)] queue_window: f64,
        #[pyo3(from_py_with = given)] messages_from: f64,
        #[pyo3(from_py_with = given)] messages_until: Option<f64>,
        #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
    ) -> PyResult<ClusterRun> {
        let mapping = named_mapping(mapping)?;
        let seed = number::whole("the seed", seed.unwrap_or(0), u64::MAX)?;
        let trace = TraceAsked::new(
            packets,
            packets_link,
            packets_from,
            packets_until,
            (queues, queue_window),
        )?;
        let sent = (messages_from, messages_until);
        let play = Play::new(fidelity, protocol.as_ref(), collectives.as_ref(), seed, trace, sent)?;
        let most: usize = number::whole("timeline", timeline, usize::MAX)?;
        let jobs: Vec<cluster::ClusterJob> = jobs.into_iter().map(|job| job.0).collect();
        let wanted: Vec<(&str, u32, &Mapping)> = jobs
            .iter()
            .map(|job| {
                let ranks = job.program.ranks.len() as u32;
                (job.name.as_str(), ranks, job.mapping.as_ref().unwrap_or(&mapping))
            })
            .collect();
        let placed = place(&wanted, self.core(), seed).map_err(errors::placement)?;
        ClusterRun::play(py, self, play, jobs, placed, most, progress.as_ref())
    }

    /// Makes a program as `Program.skeleton` does, of ranks that stand in the network of this system.
    ///
    /// Messages of `synthetic` go by where ranks stand under the pattern `adversarial`. Other
    /// applications have the same program as without places.
    ///
    /// Args:
    ///     application: One of `applications`.
    ///     ranks: How many ranks it has.
    ///     mapping: A placement, as for `play`, or the GPU of each rank; `linear` where absent.
    ///     seed: Of random mappings; the one with which the job is played.
    ///     parameters: The application's parameters, such as `{"pattern": "adversarial"}`.
    ///
    /// Raises:
    ///     SimulationError: If there is no such application, it has no such parameter, or it cannot
    ///         run on that number of ranks. Where messages go by places, also if the ranks do not fit
    ///         on the system or it has no network.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        application: "ApplicationName", ranks: "int", *, mapping: "str | Sequence[int] | None" = None,
        seed: "int" = 0, parameters: "dict[str, Any] | None" = None
    ))]
    fn skeleton(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] application: String,
        #[pyo3(from_py_with = given)] ranks: i128,
        #[pyo3(from_py_with = given)] mapping: Option<MappingArgument>,
        #[pyo3(from_py_with = given)] seed: i128,
        #[pyo3(from_py_with = given)] parameters: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Program> {
        let asked = (application.as_str(), ranks);
        placed_skeleton(py, asked, self.core(), (mapping, seed), parameters.as_ref())
    }

    /// Plays synthetic traffic between the ports of the network, packet by packet, under each load.
    ///
    /// Each port has a node of one GPU: `System({"gpus": 1}, network=...)`. Under a rate a node sends a
    /// message in each slot with a chance, the load. A slot is the time that its link takes for one. In a
    /// closed loop it has a number of messages under way. Arrivals in the window behind the warm-up
    /// count, and messages sent in the window are followed for as long again.
    ///
    /// Args:
    ///     pattern: Who sends to whom: `uniform`, `permutation`, `tornado`, `neighbour`, `adversarial`
    ///         or `hot-spot`.
    ///     loads: Shares of a node's link. Each is above 0, up to 1.
    ///     in_flight: Numbers of messages. Each node has them under way, in a closed loop.
    ///     message: How large each is, in bytes. It is one packet where absent.
    ///     warm_up: How many slots pass before anything counts.
    ///     window: How many slots follow. Arrivals are counted over these.
    ///     hot: Which part of all messages goes to the hot spot. It is node 0.
    ///     seed: Of all choices by chance.
    ///     progress: Called about every 100 ms, as by `replay`.
    ///
    /// Returns:
    ///     One row for each load, then for each number in flight. Columns: load, in_flight, offered and
    ///     accepted (as shares of what the nodes' links carry). In seconds: latency (the mean), p50,
    ///     p99, longest and latency_alone (without load). Then: messages, unfinished (that did not
    ///     arrive in time), longest_queue (packets that waited for one channel).
    ///
    /// Raises:
    ///     SimulationError: If there is no such pattern, if it does not fit the network, or if a
    ///         load is out of range.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[pyo3(signature = (
        pattern: "TrafficName" = "uniform", *, loads: "Sequence[float]" = Vec::new(), in_flight: "Sequence[int]" = Vec::new(),
        message: "int | None" = None, warm_up: "int" = 500, window: "int" = 1000, hot: "float" = 0.1, seed: "int" = 0,
        progress: "Callable[[int, int, float, int], object] | None" = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn traffic(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] pattern: &str,
        #[pyo3(from_py_with = given)] loads: Vec<f64>,
        #[pyo3(from_py_with = given)] in_flight: Vec<i128>,
        #[pyo3(from_py_with = given)] message: Option<i128>,
        #[pyo3(from_py_with = given)] warm_up: i128,
        #[pyo3(from_py_with = given)] window: i128,
        #[pyo3(from_py_with = given)] hot: f64,
        #[pyo3(from_py_with = given)] seed: i128,
        #[pyo3(from_py_with = callback)] progress: Option<Py<PyAny>>,
    ) -> PyResult<Table> {
        let asked = traffic::Asked::new(&loads, &in_flight, message, [warm_up, window], hot, seed)?;
        traffic::play(py, self.cluster(), pattern, &asked, progress.as_ref())
    }

    /// A server that stands alone as text that `from_text` reads back to an equal system.
    ///
    /// With a network, the `[network]` and `[[system.server]]` of a scenario that make the system,
    /// which `from_text` reads back, too. Servers that are no presets are files in its `[files]`.
    fn to_toml(&self) -> String {
        match self.lone() {
            Ok(server) => toml_format::write(server),
            Err(_) => self.origin.scenario(),
        }
    }

    /// Writes a server as the text that its own tools would print.
    ///
    /// `from_text` reads it back, as far as the format can say the server.
    /// Of several servers alike, on a network, it writes the text of one.
    ///
    /// Args:
    ///     format: `nvidia-smi`, `rocm-smi` or `nccl-xml`.
    ///
    /// Raises:
    ///     MachineError: If there is no such format, if it cannot say the server, or if the servers
    ///         are of several kinds.
    #[pyo3(signature = (format: "ExportFormatName"))]
    fn to_text(&self, #[pyo3(from_py_with = given)] format: &str) -> PyResult<String> {
        self.exported(format).map(|exported| exported.text)
    }

    /// Says what `to_text` leaves out of this server or had to make up, such as PCI addresses.
    ///
    /// Args:
    ///     format: `nvidia-smi`, `rocm-smi` or `nccl-xml`.
    ///
    /// Raises:
    ///     MachineError: As `to_text`.
    #[pyo3(signature = (format: "ExportFormatName"))]
    fn text_notes(&self, #[pyo3(from_py_with = given)] format: &str) -> PyResult<Vec<String>> {
        self.exported(format).map(|exported| exported.notes)
    }

    /// The system as JSON: all devices, and links by the names of the devices that they join.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| export::to_json(self.core()))
    }

    /// Draws the system for Graphviz.
    fn to_dot(&self, py: Python<'_>) -> String {
        py.detach(|| export::to_dot(self.core()))
    }

    /// A drawing of the system; of a large server that stands alone, its devices.
    fn _repr_html_(&self) -> PyResult<String> {
        let core = self.core();
        if let Some(fabric) = core.fabric() {
            return Ok(system_svg(core, fabric));
        }
        match svg::server_svg(core.kinds()[0].server()) {
            Some(drawing) => Ok(drawing),
            None => self.devices().map(|table| table._repr_html_()),
        }
    }

    fn __repr__(&self) -> String {
        let (name, gpus, servers) = (self.name(), self.gpu_count(), self.server_count());
        let core = self.core();
        let Some(fabric) = core.fabric() else {
            let (devices, links) = (core.devices(), core.channels() / 2);
            return format!(
                "<System {name:?}: {gpus} GPUs, {devices} devices, {links} bundles of links>"
            );
        };
        let switches = fabric.switches();
        let joined = if switches == 1 { "1 switch" } else { &format!("{switches} switches") };
        format!("<System {name:?}: {gpus} GPUs in {servers} servers, {joined}>")
    }
}
