//! Gives Python `linkwright.expect`, and NCCL's choices.

use std::sync::Arc;

use linkwright::collectives::baselines::{
    ChoiceError, CrossNic, ElementType, ExpectedAlgorithm, ReduceOperation, Settings, Version,
};
use linkwright::collectives::time::{CollectiveTerms, Processes};
use linkwright::collectives::{Protocol, baselines, tables};
use linkwright::units::Bytes;
use pyo3::prelude::*;

use crate::argument::{given, optional_speed, size, sizes};
use crate::choices::Choice;
use crate::errors;
use crate::plan::{MOST_EXPECTED, gpu_ids_of, wanted_collective};
use crate::system::System;
use crate::table::Table;
use crate::timing::bytes;
use crate::worker::interruptible;

/// Returns the choices of NCCL, or of RCCL on AMD's GPUs, for a collective of each size.
///
/// The library's own cost model, with the constants of a release, chooses; `nccl_choices` has all
/// that there was to choose from.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more.
///     collective: One of `collective_names`.
///     sizes: Bytes, as nccl-tests counts them.
///     root: As for `plan`.
///     nccl: The library's version, such as `2.21.5`; the newest that is known if absent.
///         `nccl_release` says whose rules that takes.
///     nvls: Whether NVSwitches may reduce (`NCCL_NVLS_ENABLE`).
///     p2p: Whether GPUs reach each other directly (not `NCCL_P2P_DISABLE`).
///     algorithm: The only one, `ring`, `tree` or `nvls` (`NCCL_ALGO`).
///     protocol: The only one, `LL`, `LL128` or `Simple` (`NCCL_PROTO`).
///     link_bandwidth: GB/s that one link between GPUs was measured to reach in a direction:
///         NVLink or xGMI, else PCIe.
///     network_bandwidth: GB/s that a server's network interfaces were measured to reach
///         together.
///     processes: `each` rank its own, or `one` for all GPUs, which launches on one after the other
///         (up to NCCL 2.8 as a `group`). Where absent, it is as nccl-tests is usually run: `one`
///         on a lone server.
///     numbers: The type of the numbers, by nccl-tests' names (`int8`, `half`); `float` if absent.
///     operation: The reduction, by nccl-tests' names (`max`, `avg`); `sum` if absent.
///     terms: The costs of kernels, as TOML in the form of `kernel_terms`; linkwright's own if
///         absent.
///     cross_nic: Whether rings and trees may leave a server by another interface than they entered
///         by (`NCCL_CROSS_NIC`). 0 is never, 1 is always, and 2 is where that carries more.
///     pxn: Whether GPUs far from an interface send by one that is near, over NVLink (not
///         `NCCL_PXN_DISABLE`); from NCCL 2.12 on.
///     gpudirect: Whether interfaces read and write the memory of GPUs (not `NCCL_NET_GDR_LEVEL=LOC`);
///         else data goes by the host's memory.
///
/// Returns:
///     One row per size: size in bytes, time in seconds, algorithm_bandwidth and bus_bandwidth
///     in GB/s as nccl-tests defines them. The others are what the library runs: algorithm,
///     protocol, the number of channels and the chunk in bytes.
///
/// Raises:
///     CollectiveError: If a name or the version is unknown. If the GPUs do not fit the system,
///         it cannot have what was set, or no links join them.
///     InputError: If the terms are no such TOML.
///     KeyboardInterrupt: Within a second of Ctrl-C.
///
/// Examples:
///     >>> from linkwright import System, expect
///     >>> [row] = expect(System("hgx-h100"), range(8), "all-reduce", ["64MiB"])
///     >>> row["algorithm"]
///     'nvls'
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", sizes: "Sequence[int | str]", *,
    root: "int | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    link_bandwidth: "float | str | None" = None, network_bandwidth: "float | str | None" = None,
    processes: "ProcessesName | None" = None, numbers: "NumberTypeName | None" = None,
    operation: "NcclOperationName | None" = None, terms: "str | None" = None, cross_nic: "int" = 2,
    pxn: "bool" = true, gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn expect(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] algorithm: Option<&str>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = optional_speed)] link_bandwidth: Option<f64>,
    #[pyo3(from_py_with = optional_speed)] network_bandwidth: Option<f64>,
    #[pyo3(from_py_with = given)] processes: Option<&str>,
    #[pyo3(from_py_with = given)] numbers: Option<&str>,
    #[pyo3(from_py_with = given)] operation: Option<&str>,
    #[pyo3(from_py_with = given)] terms: Option<&str>,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<Table> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let sizes: PyResult<Vec<Bytes>> =
        sizes.into_iter().map(|size| bytes("the size", size)).collect();
    let sizes = sizes?;
    let settings = Settings {
        link_bandwidth,
        network_bandwidth,
        ..settings_of(nccl, [nvls, p2p], algorithm, protocol, processes, [numbers, operation])?
    };
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let terms = match terms {
        Some(text) => CollectiveTerms::read("<terms>", text).map_err(errors::input)?,
        None => CollectiveTerms::shipped().clone(),
    };
    let on = Arc::clone(system.core());
    let found = interruptible(py, move || {
        baselines::expect_with(&on, &gpus, wanted, &sizes, &settings, &terms)
    })?;
    Table::new(tables::expectations(&found.map_err(errors::collective)?.rows))
}

/// Returns the cost of NCCL's kernels, term by term, each with its source, as TOML.
#[pyfunction]
pub fn kernel_terms() -> &'static str {
    CollectiveTerms::TEXT
}

/// All that NCCL, or RCCL, chooses from for one size, what it runs first.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more.
///     collective: One of `collective_names`.
///     size: Bytes, as nccl-tests counts them.
///     root: As for `plan`.
///     nccl: As for `expect`.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///     algorithm: As for `expect`.
///     protocol: As for `expect`.
///     numbers: As for `expect`.
///     operation: As for `expect`.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     One row per choice: algorithm, protocol and channels. In model_time the library's own cost
///     model says what it takes, in seconds, NaN where it has none. Then follow chunk and last_chunk in
///     bytes, threads of each channel's block, slices of a chunk, and loops of all channels.
///
/// Raises:
///     CollectiveError: As for `expect`.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", size: "int | str", *,
    root: "int | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    numbers: "NumberTypeName | None" = None, operation: "NcclOperationName | None" = None,
    cross_nic: "int" = 2, pxn: "bool" = true, gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn nccl_choices(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = size)] size: i128,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] algorithm: Option<&str>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = given)] numbers: Option<&str>,
    #[pyo3(from_py_with = given)] operation: Option<&str>,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<Table> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let size = bytes("the size", size)?;
    let settings = settings_of(nccl, [nvls, p2p], algorithm, protocol, None, [numbers, operation])?;
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let found = baselines::choices(system.core(), &gpus, wanted, size, &settings);
    Table::new(tables::choices(&found.map_err(errors::collective)?))
}

/// The network interfaces that each channel of what NCCL, or RCCL, runs takes on each server.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's GPUs by their ids, two or more.
///     collective: One of `collective_names`.
///     size: Bytes, as nccl-tests counts them.
///     root: As for `plan`.
///     nccl: As for `expect`.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///     algorithm: As for `expect`.
///     protocol: As for `expect`.
///     numbers: As for `expect`.
///     operation: As for `expect`.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     One row per end of a channel on a server, none on one server: channel, server and gpu.
///     Through is the GPU that sends in its place, if one does. The rail is the interface's place
///     among those of its server, and interface its name. A row sends, or else it receives. Data
///     by_memory waits in the host's memory.
///
/// Raises:
///     CollectiveError: As for `expect`.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", size: "int | str", *,
    root: "int | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    numbers: "NumberTypeName | None" = None, operation: "NcclOperationName | None" = None,
    cross_nic: "int" = 2, pxn: "bool" = true, gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn nccl_interfaces(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = size)] size: i128,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] algorithm: Option<&str>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = given)] numbers: Option<&str>,
    #[pyo3(from_py_with = given)] operation: Option<&str>,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<Table> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let size = bytes("the size", size)?;
    let settings = settings_of(nccl, [nvls, p2p], algorithm, protocol, None, [numbers, operation])?;
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let found = baselines::channel_interfaces(system.core(), &gpus, wanted, size, &settings);
    Table::new(tables::channel_interfaces(&found.map_err(errors::collective)?))
}

/// Settles what was asked of network interfaces.
pub fn with_interfaces(
    settings: Settings,
    cross_nic: i128,
    [pxn, gpudirect]: [bool; 2],
) -> PyResult<Settings> {
    let cross_nic = <CrossNic as Choice>::named(&cross_nic.to_string())?;
    Ok(Settings { cross_nic, pxn, gpudirect, ..settings })
}

/// Says what NCCL prints of a job with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH,TUNING`, by its rules.
///
/// Lay it beside NCCL's own lines: where the two differ, the choice is wrong; where they agree and
/// times do not, the clock is.
///
/// Args:
///     system: Whose links carry it.
///     gpus: The job's, by their ids.
///     nccl: As for `expect`.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///
/// Returns:
///     The lines as NCCL prints them. A row per shape of channels: algorithm, pattern (NCCL's number),
///     channels, intra and inter (GB/s of each). It also has type_intra and type_inter (NCCL's names of
///     paths) and same_channels. A row per collective, algorithm and protocol: latency in microseconds, bandwidth
///     of size in GB/s.
///
/// Raises:
///     CollectiveError: If the version cannot be read or the GPUs do not fit the system.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", *, nccl: "str | None" = None, nvls: "bool" = true,
    p2p: "bool" = true
))]
pub fn nccl_explanation(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
) -> PyResult<(Vec<String>, Table, Table)> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let settings = settings_of(nccl, [nvls, p2p], None, None, None, [None, None])?;
    let found = baselines::explain(system.core(), &gpus, &settings);
    let found = found.map_err(errors::collective)?;
    let graphs = Table::new(tables::found_graphs(&found.graphs))?;
    Ok((found.lines().collect(), graphs, Table::new(tables::model_costs(&found.costs))?))
}

/// Says where NCCL's choice and linkwright's clock do not agree.
///
/// Where the clock says that a choice is over 20 % slower than the next in NCCL's own model, one of
/// the two is wrong. Of all sizes with the same two choices the largest is played; on more than 128
/// GPUs none is.
///
/// Args:
///     system: As for `expect`.
///     gpus: As for `expect`.
///     collective: As for `expect`.
///     sizes: As for `expect`.
///     root: As for `plan`.
///     nccl: As for `expect`.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///     algorithm: As for `expect`.
///     protocol: As for `expect`.
///     processes: As for `expect`.
///     numbers: As for `expect`.
///     operation: As for `expect`.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     A sentence for each such pair, with both times.
///
/// Raises:
///     CollectiveError: As for `expect`.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", collective: "CollectiveName", sizes: "Sequence[int | str]", *,
    root: "int | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    processes: "ProcessesName | None" = None, numbers: "NumberTypeName | None" = None,
    operation: "NcclOperationName | None" = None, cross_nic: "int" = 2, pxn: "bool" = true,
    gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn choice_doubts(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = given)] root: Option<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
    #[pyo3(from_py_with = given)] nvls: bool,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] algorithm: Option<&str>,
    #[pyo3(from_py_with = given)] protocol: Option<&str>,
    #[pyo3(from_py_with = given)] processes: Option<&str>,
    #[pyo3(from_py_with = given)] numbers: Option<&str>,
    #[pyo3(from_py_with = given)] operation: Option<&str>,
    #[pyo3(from_py_with = given)] cross_nic: i128,
    #[pyo3(from_py_with = given)] pxn: bool,
    #[pyo3(from_py_with = given)] gpudirect: bool,
) -> PyResult<Vec<String>> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let sizes: PyResult<Vec<Bytes>> =
        sizes.into_iter().map(|size| bytes("the size", size)).collect();
    let sizes = sizes?;
    let reduced = [numbers, operation];
    let settings = settings_of(nccl, [nvls, p2p], algorithm, protocol, processes, reduced)?;
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let on = Arc::clone(system.core());
    let found =
        interruptible(py, move || baselines::doubts(&on, &gpus, wanted, &sizes, &settings))?;
    found.map_err(errors::collective)
}

/// Says whose rules choose on these GPUs: the library and the release, such as `NCCL 2.30`.
///
/// Args:
///     system: Whose GPUs they are.
///     gpus: The job's GPUs by their ids, two or more.
///     nccl: The wanted version; the newest if absent.
///
/// Returns:
///     The library with the release that is known, and a sentence where it stands in for the one
///     that was wanted.
///
/// Raises:
///     CollectiveError: If the version cannot be read or the GPUs do not fit the system.
#[pyfunction]
#[pyo3(signature = (system: "System", gpus: "Sequence[int]", *, nccl: "str | None" = None))]
pub fn nccl_release(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] nccl: Option<&str>,
) -> PyResult<(String, Option<String>)> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let settings = Settings { version: version_of(nccl)?, ..Settings::default() };
    baselines::release_on(system.core(), &gpus, &settings).map_err(errors::collective)
}

/// Reads what was asked of NCCL in words; it chooses the rest by itself.
pub fn settings_of(
    nccl: Option<&str>,
    [nvls, p2p]: [bool; 2],
    algorithm: Option<&str>,
    protocol: Option<&str>,
    processes: Option<&str>,
    [numbers, operation]: [Option<&str>; 2],
) -> PyResult<Settings> {
    Ok(Settings {
        version: version_of(nccl)?,
        nvls,
        p2p,
        algorithm: algorithm.map(algorithm_of).transpose()?,
        protocol: protocol.map(named::<Protocol>).transpose()?,
        processes: processes.map(Processes::named).transpose()?,
        numbers: numbers.map(ElementType::named).transpose()?,
        operation: operation.map(ReduceOperation::named).transpose()?,
        ..Settings::default()
    })
}

fn version_of(text: Option<&str>) -> PyResult<Option<Version>> {
    text.map(|text| text.parse().map_err(errors::collective)).transpose()
}

/// The value of a name in whatever case, as NCCL takes it.
fn named<C: Choice>(name: &str) -> PyResult<C> {
    let known = C::NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, value)| *value).ok_or_else(|| C::REFUSE(C::unknown(name)))
}

/// Finds an algorithm as NCCL or linkwright writes it: `NVLSTree` is `nvls-tree`.
fn algorithm_of(name: &str) -> PyResult<ExpectedAlgorithm> {
    if name.to_ascii_lowercase().starts_with("collnet") {
        return Err(errors::collective(ChoiceError::CollNet));
    }
    let is_it = |it: &ExpectedAlgorithm| it.name().replace('-', "").eq_ignore_ascii_case(name);
    let written = ExpectedAlgorithm::ALL.into_iter().find(is_it);
    written.map_or_else(|| named::<ExpectedAlgorithm>(name), Ok)
}
