//! `linkwright.calibrate`, and how far off times are.

use std::sync::Arc;

use linkwright::collectives::accuracy::{ErrorBar, Likeness, Measurable, TimeAsked, error_bars};
use linkwright::collectives::calibration::{self, CalibrateError, CalibratedRow, FittedTerm};
use linkwright::collectives::link_graph::check_gpus;
use linkwright::collectives::schedule::collective::Collective;
use linkwright::system::Wiring;
use linkwright::table;
use linkwright::units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::argument::{given, sizes};
use crate::errors;
use crate::expectation::{settings_of, with_interfaces};
use crate::nccl_tests::NcclTestsLog;
use crate::plan::{MOST_EXPECTED, gpu_ids, gpu_ids_of, wanted_collective};
use crate::system::System;
use crate::table::Table;
use crate::timing::bytes;
use crate::worker::interruptible;

/// Fits what differs on a machine to a log of nccl-tests.
///
/// The rate of its links, the rate of its switches when they reduce, and the time of a launch are
/// fitted. A value is fitted where the log's sizes tell it. `linkwright.nccl_tests.calibrate_log`
/// has the same as dataclasses.
///
/// Args:
///     system: The machine, as it is known.
///     log: The measurements: one run that went well, of three sizes or more.
///     gpus: On which GPUs, by their ids.
///     collective: One of `collective_names`.
///     root: As for `plan`.
///     nccl: As for `expect`.
///     nvls: As for `expect`.
///     p2p: As for `expect`.
///     algorithm: As for `expect`.
///     protocol: As for `expect`.
///     processes: As for `expect`; as the log tells if absent.
///     numbers: As for `expect`; that of the log if absent.
///     operation: As for `expect`; that of the log if absent.
///     cross_nic: As for `expect`.
///     pxn: As for `expect`.
///     gpudirect: As for `expect`.
///
/// Returns:
///     The run's kind of server with what was measured of it, which `to_toml` writes; one row per term:
///     its name in that file, before and after (a part of the peak, or seconds where is_time says so;
///     NaN where the log does not tell it), its uncertainty as a part of it, and the reason where it is
///     not told; and one row per size: size in bytes, measured, before and after in seconds, and the
///     line of the log.
///
/// Raises:
///     InputError: If the log is of a run that failed, of several runs or of too few sizes. Also if
///         it is of another collective or another number of GPUs. The error names the line.
///     CollectiveError: If it tells no term, the GPUs are in servers of several kinds, or as `expect`.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (
    system: "System", log: "NcclTestsLog", gpus: "Sequence[int]", collective: "CollectiveName", *,
    root: "int | None" = None, nccl: "str | None" = None, nvls: "bool" = true, p2p: "bool" = true,
    algorithm: "NcclAlgorithmName | None" = None, protocol: "ProtocolName | None" = None,
    processes: "ProcessesName | None" = None, numbers: "NumberTypeName | None" = None,
    operation: "NcclOperationName | None" = None, cross_nic: "int" = 2, pxn: "bool" = true,
    gpudirect: "bool" = true
))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn calibrate(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] log: &NcclTestsLog,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: &str,
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
) -> PyResult<(System, Table, Table)> {
    let gpus = gpu_ids(&gpus, system)?;
    let wanted = wanted_collective(collective, root, &gpus)?;
    let reduced = [numbers, operation];
    let settings = settings_of(nccl, [nvls, p2p], algorithm, protocol, processes, reduced)?;
    let settings = with_interfaces(settings, cross_nic, [pxn, gpudirect])?;
    let (on, log) = (Arc::clone(system.core()), log.core().clone());
    let found =
        interruptible(py, move || calibration::calibrate(&on, &gpus, wanted, &log, &settings))?;
    let found = found.map_err(|error| match error {
        CalibrateError::Log(error) => errors::input(error),
        error => errors::collective(error),
    })?;
    let server = System::of_server((*found.server).clone());
    Ok((server, Table::new(terms(&found.terms))?, Table::new(rows(&found.rows))?))
}

fn terms(terms: &[FittedTerm]) -> table::Table {
    let real = |of: &dyn Fn(&FittedTerm) -> Option<f64>| {
        terms.iter().map(|term| of(term).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    };
    let text = |of: &dyn Fn(&FittedTerm) -> String| terms.iter().map(of).collect::<Vec<_>>();
    table::Table::new()
        .with("term", "", text(&|it| it.term.name()))
        .with("is_time", "", terms.iter().map(|it| it.term.is_time()).collect::<Vec<_>>())
        .with("before", "", real(&|it| Some(it.before)))
        .with("after", "", real(&|it| it.after))
        .with("uncertainty", "", real(&|it| it.uncertainty))
        .with("reason", "", text(&|it| it.reason.clone()))
}

fn rows(rows: &[CalibratedRow]) -> table::Table {
    let real = |of: fn(&CalibratedRow) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    table::Table::new()
        .with("size", "B", rows.iter().map(|row| row.size.0).collect::<Vec<u64>>())
        .with("measured", "s", real(|row| row.measured))
        .with("before", "s", real(|row| row.before))
        .with("after", "s", real(|row| row.after))
        .with("line", "", rows.iter().map(|row| row.line as u64).collect::<Vec<u64>>())
}

/// How far off a collective's times are, by size: their error bars.
///
/// They are the errors of predictions for systems that were left out of the clock's fit
/// (docs/concepts/calibration.md). The rows are alike in what joins the GPUs, the collective, the
/// algorithm, the number of servers and the size's decade. Where too few are, they are of a wider
/// group. On a calibrated machine they are those that its log was left with.
///
/// Args:
///     system: The system.
///     gpus: The job's GPUs by their ids.
///     sizes: Bytes, as nccl-tests counts them.
///     collective: One of `collective_names`. Bars are of any collective if absent.
///     algorithms: For each size what the library runs, as `expect` names it. Bars are of any algorithm
///         if absent.
///     p2p: As for `expect`.
///     without: The name of a measured system. Its rows do not count, to see what bars are worth there.
///
/// Returns:
///     One row per size: size in bytes; median and ninetieth, by which half and nine of ten of the times
///     were off at most, as parts of what was measured; rows, how many were measured; and basis:
///     `measured` of the same GPUs, as many, and the same collective; `alike` of GPUs that the same links
///     join; `never-measured` of all others; and `own-log`.
///
/// Raises:
///     CollectiveError: If the GPUs do not fit the system.
///     ValueError: If there are not as many algorithms as sizes.
#[pyfunction]
#[pyo3(signature = (
    system: "System", gpus: "Sequence[int]", sizes: "Sequence[int | str]", *,
    collective: "CollectiveName | None" = None, algorithms: "Sequence[str] | None" = None, p2p: "bool" = true,
    without: "str | None" = None
))]
pub fn time_errors(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = sizes)] sizes: Vec<i128>,
    #[pyo3(from_py_with = given)] collective: Option<&str>,
    #[pyo3(from_py_with = given)] algorithms: Option<Vec<String>>,
    #[pyo3(from_py_with = given)] p2p: bool,
    #[pyo3(from_py_with = given)] without: Option<&str>,
) -> PyResult<Table> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    let sizes: PyResult<Vec<Bytes>> =
        sizes.into_iter().map(|size| bytes("the size", size)).collect();
    let sizes = sizes?;
    let named = algorithms.as_deref().unwrap_or_default();
    if algorithms.is_some() && named.len() != sizes.len() {
        let (many, wanted) = (named.len(), sizes.len());
        let problem = format!("algorithms has {many} names for {wanted} sizes; give one for each");
        return Err(PyValueError::new_err(problem));
    }
    let times: Vec<TimeAsked<'_>> = (sizes.iter().enumerate())
        .map(|(at, size)| TimeAsked { size: *size, algorithm: named.get(at).map(String::as_str) })
        .collect();
    let wanted = collective.map(|name| wanted_collective(name, None, &gpus)).transpose()?;
    let of = Measurable { collective: wanted.map(Collective::name), p2p, without };
    let bars = error_bars(system.core(), &gpus, of, &times).map_err(errors::collective)?;
    let real = |of: fn(&ErrorBar) -> f64| bars.iter().map(of).collect::<Vec<f64>>();
    Table::new(
        table::Table::new()
            .with("size", "B", sizes.iter().map(|size| size.0).collect::<Vec<u64>>())
            .with("median", "", real(|bar| bar.median))
            .with("ninetieth", "", real(|bar| bar.ninetieth))
            .with("rows", "", bars.iter().map(|bar| u64::from(bar.rows)).collect::<Vec<_>>())
            .with(
                "basis",
                "",
                bars.iter().map(|bar| bar.basis.name().to_owned()).collect::<Vec<_>>(),
            ),
    )
}

/// Tells what the error of a job's times depends on, whatever it runs.
///
/// Args:
///     system: The system.
///     gpus: The job's GPUs by their ids.
///     p2p: As for `expect`.
///
/// Returns:
///     The model of the GPUs, what joins them (a kind of links, host memory, or the network), and the
///     library. Empty where GPUs differ in that.
///
/// Raises:
///     CollectiveError: If the GPUs do not fit the system.
#[pyfunction]
#[pyo3(signature = (system: "System", gpus: "Sequence[int]", *, p2p: "bool" = true))]
pub fn error_likeness(
    #[pyo3(from_py_with = given)] system: &System,
    #[pyo3(from_py_with = given)] gpus: Vec<i128>,
    #[pyo3(from_py_with = given)] p2p: bool,
) -> PyResult<(String, String, String)> {
    let gpus = gpu_ids_of(&gpus, system, "NCCL is asked for", MOST_EXPECTED)?;
    check_gpus(system.core(), &gpus).map_err(errors::collective)?;
    let wiring = Wiring::of_gpus(system.core(), &gpus);
    let Likeness { gpu, joined, library, .. } = Likeness::of(&wiring, &gpus, p2p);
    Ok((gpu.unwrap_or_default(), joined.map(|it| it.to_string()).unwrap_or_default(), library))
}
