//! `linkwright.Machine`.

use linkwright::system::views::isomorphism::{LabelledGraph, renumbering};
use linkwright::system::views::proximity::proximity;
use linkwright::system::{
    self, BandwidthProfile, ClusterNetwork, GpuGraph, ImportFormat, ImportOptions, LinkKind,
    NetworkKind, presets, toml_format,
    views::{export, svg, tables},
};
use linkwright::units::{Bandwidth, Picoseconds};
use pyo3::prelude::*;

use crate::choices::{Choice, profile_of};
use crate::errors;
use crate::gpu_place::GpuPlace;
use crate::number;
use crate::number::{int, optional_int, real};
use crate::table::Table;

/// The most servers of a cluster.
const MOST_SERVERS: usize = 1024;

/// A server (or several): its devices and the links between them.
#[pyclass(frozen, eq, module = "linkwright")]
#[derive(PartialEq)]
pub struct Machine(pub system::Server);

fn link_kind(name: Option<&str>) -> PyResult<Option<LinkKind>> {
    let Some(name) = name else { return Ok(None) };
    let found = LinkKind::ALL.into_iter().find(|kind| kind.name() == name);
    let known = LinkKind::ALL.map(LinkKind::name);
    found.map(Some).ok_or_else(|| errors::unknown_link_kind(name, &known))
}

impl Machine {
    /// The GPUs by their ids.
    fn known(&self, gpus: &[i128]) -> PyResult<Vec<usize>> {
        let count = self.0.gpus().len();
        gpus.iter().map(|gpu| number::gpu_of(count, *gpu)).collect()
    }
}

#[pymethods]
impl Machine {
    /// The built-in machine of that name.
    ///
    /// Raises:
    ///     MachineError: If there is none; the message lists those that exist.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        presets::preset(name).map(Self).map_err(errors::system)
    }

    /// Reads a machine from its TOML text; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no machine, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text, file = "<text>"))]
    fn from_toml(text: &str, file: &str) -> PyResult<Self> {
        toml_format::read(file, text).map(Self).map_err(errors::system)
    }

    /// Reads what people have: `nvidia-smi topo -m`, `rocm-smi --showtopo`, NCCL XML, TOML.
    ///
    /// Args:
    ///     text: The text itself.
    ///     file: Its name in errors.
    ///     format: `nvidia-smi`, `rocm-smi`, `nccl-xml` or `toml`; told from the text if absent.
    ///     name: The machine's name.
    ///     nvlink: The NVLink generation that the text does not say, such as `nvlink3`.
    ///     pcie: The PCIe generation that the text does not say, such as `pcie4`.
    ///     xgmi_links: How many xGMI links join a pair of AMD GPUs.
    ///
    /// Raises:
    ///     InputError: If the text is truncated, corrupt or of no known format.
    #[staticmethod]
    #[pyo3(signature = (
        text, file = "<text>", *, format = None, name = None, nvlink = None, pcie = None,
        xgmi_links = None
    ))]
    fn import_text(
        text: &str,
        file: &str,
        format: Option<&str>,
        name: Option<String>,
        nvlink: Option<&str>,
        pcie: Option<&str>,
        #[pyo3(from_py_with = optional_int)] xgmi_links: Option<i128>,
    ) -> PyResult<Self> {
        let format = format.map(str::parse::<ImportFormat>).transpose();
        let xgmi_links = xgmi_links
            .map(|links| number::within("xgmi_links", links, u32::MAX, errors::machine))
            .transpose()?;
        let options =
            ImportOptions { name, nvlink: link_kind(nvlink)?, pcie: link_kind(pcie)?, xgmi_links };
        system::import(file, text, format.map_err(errors::system)?, &options)
            .map(Self)
            .map_err(errors::system)
    }

    /// Several of this server, joined by a network; GPU ids count through the first, then on.
    ///
    /// Args:
    ///     count: How many servers.
    ///     bandwidth: What one network interface sends or receives, such as `100 Gb/s`.
    ///     kind: `infiniband` or `ethernet`.
    ///     latency: One-way latency between an interface and the switch, in seconds.
    ///
    /// Raises:
    ///     MachineError: If the machine is more than a server, or an argument out of range.
    #[pyo3(signature = (count, bandwidth, *, kind = "infiniband", latency = 0.6e-6))]
    fn cluster(
        &self,
        #[pyo3(from_py_with = int)] count: i128,
        bandwidth: &str,
        kind: &str,
        #[pyo3(from_py_with = real)] latency: f64,
    ) -> PyResult<Self> {
        let kind = NetworkKind::named(kind)?;
        let bandwidth_per_nic =
            bandwidth.parse::<Bandwidth>().map_err(|error| errors::machine(error.to_string()))?;
        let within = usize::try_from(count).ok().filter(|count| (1..=MOST_SERVERS).contains(count));
        let count = within.ok_or_else(|| {
            errors::machine(format!("the count is {count}; give 1 to {MOST_SERVERS} servers"))
        })?;
        if !(0.0..1.0).contains(&latency) {
            let message = format!("the latency is {latency}; give seconds from 0 to 1");
            return Err(errors::machine(message));
        }
        let latency = Picoseconds::from_seconds(latency);
        let network = ClusterNetwork { bandwidth_per_nic, latency, kind };
        system::cluster(&self.0, count, &network).map(Self).map_err(errors::system)
    }

    /// The machine's name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Where its description comes from.
    #[getter]
    fn source(&self) -> &str {
        self.0.source()
    }

    /// What probably makes the description wrong, and what to do about it.
    ///
    /// Every answer about the machine hangs on it, unlike on an assumption.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// What an importer had to assume because the source does not say it.
    #[getter]
    fn assumptions(&self) -> Vec<String> {
        self.0.assumptions().to_vec()
    }

    /// How many GPUs it has.
    #[getter]
    fn gpu_count(&self) -> usize {
        self.0.gpus().len()
    }

    /// The GPUs' names, by id.
    #[getter]
    fn gpu_names(&self) -> Vec<String> {
        self.0.gpus().iter().map(|gpu| self.0.devices()[*gpu].name.clone()).collect()
    }

    /// One row per device: what it is, its links, its place, its ids, cores and memory.
    fn devices(&self) -> PyResult<Table> {
        Table::new(tables::devices(&self.0))
    }

    /// One row per bundle of links: its ends, kind, count, bandwidth and latency.
    fn links(&self) -> PyResult<Table> {
        Table::new(tables::links(&self.0))
    }

    /// The GPUs' products, by id; None where the machine's source does not name one.
    #[getter]
    fn gpu_models(&self) -> Vec<Option<&str>> {
        let model = |id: &usize| self.0.devices()[*id].model.as_deref();
        self.0.gpus().iter().map(model).collect()
    }

    /// Where each GPU sits: its PCI address, the cores, NUMA nodes and NICs near it.
    fn gpu_places(&self) -> Vec<GpuPlace> {
        system::gpu_places(&self.0).into_iter().map(GpuPlace::from).collect()
    }

    /// The CPU cores near any of these GPUs, as a cpuset: `0-11,24-35`.
    ///
    /// None where the machine's source does not name the cores near all of them.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    fn cpuset(&self, gpus: Vec<i128>) -> PyResult<Option<String>> {
        let cores = system::cpuset(&self.0, &self.known(&gpus)?);
        Ok(cores.map(|cores| cores.to_string()))
    }

    /// The NUMA nodes near any of these GPUs, likewise.
    ///
    /// Raises:
    ///     AllocationError: If a GPU is unknown.
    fn numa_nodes(&self, gpus: Vec<i128>) -> PyResult<Option<String>> {
        let nodes = system::numa_nodes(&self.0, &self.known(&gpus)?);
        Ok(nodes.map(|nodes| nodes.to_string()))
    }

    /// The bandwidth profile where none is chosen: `mapa` where MAPA's Table 1 covers the
    /// machine's NVLinks and PCIe links, else `data-sheet`.
    #[getter]
    fn default_bandwidth_profile(&self) -> &'static str {
        BandwidthProfile::default_of(&self.0).name()
    }

    /// For each pair of GPUs the best link's label (`NV2`, `PCIe`) and bandwidth in GB/s.
    ///
    /// A GPU with itself is `("X", 0.0)`.
    ///
    /// Raises:
    ///     MachineError: If no path joins two GPUs.
    #[pyo3(signature = (bandwidth_profile = None))]
    fn gpu_matrix(&self, bandwidth_profile: Option<&str>) -> PyResult<Vec<Vec<(String, f64)>>> {
        let profile = profile_of(&self.0, bandwidth_profile)?;
        let graph = GpuGraph::new(&self.0, profile).map_err(errors::system)?;
        let cell = |a, b| {
            graph.pair(a, b).map_or(("X".to_owned(), 0.0), |pair| {
                (pair.link.label(), pair.bandwidth.as_gigabytes_per_second())
            })
        };
        let count = graph.len();
        Ok((0..count).map(|a| (0..count).map(|b| cell(a, b)).collect()).collect())
    }

    /// For each pair of GPUs what their host path crosses: PIX, PXB, PHB, NODE, SYS, or X.
    ///
    /// X is a GPU with itself. A pair without a host path is SYS, as far apart as can be.
    fn proximity(&self) -> Vec<Vec<&'static str>> {
        let table = proximity(&self.0);
        let word = |cell: &Option<system::Proximity>| cell.map_or("X", |near| near.name());
        table.iter().map(|row| row.iter().map(word).collect()).collect()
    }

    /// Which GPU of `other` each GPU is, if their NVLinks make the same graph; else None.
    fn renumbering(&self, other: &Self) -> Option<Vec<usize>> {
        let graph = |machine| LabelledGraph::of_gpu_links(machine);
        renumbering(&graph(&self.0), &graph(&other.0))
    }

    /// The machine as text that `from_toml` reads back to an equal machine.
    fn to_toml(&self) -> String {
        toml_format::write(&self.0)
    }

    /// The machine as JSON.
    fn to_json(&self) -> String {
        export::to_json(&self.0)
    }

    /// The machine as a Graphviz drawing.
    fn to_dot(&self) -> String {
        export::to_dot(&self.0)
    }

    /// A drawing of a small machine, the devices of a large one.
    fn _repr_html_(&self) -> PyResult<String> {
        match svg::server_svg(&self.0) {
            Some(drawing) => Ok(drawing),
            None => self.devices().map(|table| table._repr_html_()),
        }
    }

    fn __repr__(&self) -> String {
        let (devices, links) = (self.0.devices().len(), self.0.links().len());
        let (name, gpus) = (self.0.name(), self.0.gpus().len());
        format!("<Machine {name:?}: {gpus} GPUs, {devices} devices, {links} bundles of links>")
    }
}

/// Each built-in machine's name and description.
#[pyfunction]
pub fn preset_names() -> Vec<(&'static str, &'static str)> {
    presets::PRESETS.iter().map(|preset| (preset.name, preset.description)).collect()
}

/// The formats that `Machine.import_text` reads.
#[pyfunction]
pub fn import_format_names() -> Vec<&'static str> {
    ImportFormat::ALL.map(ImportFormat::name).to_vec()
}
