//! Gives Python `linkwright.Program`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use linkwright::collectives::mpi::ByDefault;
use linkwright::diagnostic::{Diagnosis, InputError, Named};
use linkwright::program::otf2::Archive;
use linkwright::program::skeletons::{ALL, skeleton};
use linkwright::program::trace::{
    CollectiveBytes, TraceError, TraceOptions, archive_name, program_of,
};
use linkwright::program::workload::{self, MixRules};
use linkwright::program::{self, goal, tables};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::archive_folder::ArchiveFolder;
use crate::argument::given;
use crate::errors;
use crate::number;
use crate::table::Table;
use crate::values;
use crate::worker;

/// Holds the operations of every rank of a job, and for which others each of them waits.
#[pyclass(frozen, eq, module = "linkwright.network", from_py_object)]
#[derive(PartialEq, Clone, serde::Serialize, serde::Deserialize)]
pub struct Program(pub Arc<program::Program>);

#[pymethods]
impl Program {
    /// Makes a program with the communication of a known application.
    ///
    /// Args:
    ///     application: One of `applications`.
    ///     ranks: How many ranks it has.
    ///     options: The application's parameters, such as `message="64 KiB"`.
    ///
    /// Raises:
    ///     SimulationError: If there is no such application, it has no such parameter, or it cannot
    ///         run on that number of ranks.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[staticmethod]
    #[pyo3(signature = (application: "ApplicationName", ranks: "int", **options))]
    fn skeleton(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] application: String,
        #[pyo3(from_py_with = given)] ranks: i128,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let ranks = number::whole("ranks", ranks, u32::MAX)?;
        let options = values::table(options)?;
        let made = worker::interruptible(py, move || skeleton(&application, ranks, &options))?;
        Ok(Self(Arc::new(made.map_err(errors::program)?)))
    }

    /// Reads a program from GOAL text, LogGOPSim's.
    ///
    /// Args:
    ///     text: The text.
    ///     file: Its name, in errors and as the program's name.
    ///     time_unit: The seconds of one unit of a `calc`; LogGOPSim's is the nanosecond.
    ///
    /// Raises:
    ///     InputError: If the text is no GOAL, with line and column.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>", *, time_unit: "float" = 1e-9))]
    fn from_goal(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] text: String,
        #[pyo3(from_py_with = given)] file: &str,
        #[pyo3(from_py_with = given)] time_unit: f64,
    ) -> PyResult<Self> {
        let time_unit = number::time("the time unit", time_unit)?.max(Picoseconds(1));
        let options = goal::Options { time_unit };
        let file = file.to_owned();
        let made = worker::interruptible(py, move || goal::read(&file, &text, &options))?;
        made.map(|made| Self(Arc::new(made))).map_err(errors::input)
    }

    /// Reads a program from the trace of an MPI program, an OTF2 archive.
    ///
    /// Args:
    ///     path: The anchor file, such as `traces.otf2`; the other files lie beside it.
    ///     name: The program's name; the folder's where absent.
    ///     main_loop: The region that iterations repeat. Absent, it is `TRACER_Loop` or `main_loop`.
    ///     collective_bytes: How bytes of collectives are read: `divided`, as Score-P counts them for
    ///         each rank, or `as-recorded`.
    ///
    /// Raises:
    ///     InputError: If a file is missing, cut or damaged; the message names it. So it is if one is no
    ///         plain file or has more than 64 MiB, or all have more than 1 GiB.
    ///     SimulationError: If the archive records no program that can be played again.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[staticmethod]
    #[pyo3(signature = (path: "str | PathLike[str]", *, name: "str | None" = None, main_loop: "str | None" = None, collective_bytes: "str" = "divided"))]
    fn from_otf2(
        py: Python<'_>,
        #[pyo3(from_py_with = given)] path: PathBuf,
        #[pyo3(from_py_with = given)] name: Option<String>,
        #[pyo3(from_py_with = given)] main_loop: Option<String>,
        #[pyo3(from_py_with = given)] collective_bytes: &str,
    ) -> PyResult<Self> {
        Ok(read_otf2(py, path, name, main_loop, collective_bytes)?.0)
    }

    /// Returns its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// How many ranks it has.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.ranks.len()
    }

    /// How many operations its ranks have in all; the main loop's count once.
    #[getter]
    fn operations(&self) -> usize {
        self.0.ranks.iter().map(|rank| rank.operations().len()).sum()
    }

    /// Whether its ranks have a main loop, which a job's `iterations` repeat.
    #[getter]
    fn has_loop(&self) -> bool {
        self.0.ranks.iter().all(|rank| rank.body().is_some())
    }

    /// The names of its regions, by index.
    #[getter]
    fn regions(&self) -> Vec<String> {
        self.0.regions.clone()
    }

    /// The ranks of each communicator; the first holds all.
    #[getter]
    fn communicators(&self) -> Vec<Vec<u32>> {
        self.0.communicators.clone()
    }

    /// Returns one row per operation of a rank, in its order.
    ///
    /// Columns are kind, collective (its name, or empty), direction (of a copy: `host-to-device`,
    /// `device-to-host`, `peer`) and duration (in ps). Kinds are `compute`, `delay`, `reduce`,
    /// `copy`, `send`, `receive`, `collective`, `join`, `enter` and `leave`. A collective whose
    /// time is known is `timed`, and the job's own kernel is `kernel`. Then come rate (of a
    /// reduction, in bytes per second), peer (the other rank, or the root of a collective), tag and
    /// size (in bytes). Then come route (of a copy and a send), communicator, region and in_loop
    /// (whether iterations repeat it). The last are the rows that it waits for: completed and
    /// started. Null means that there is none, or that any will do.
    ///
    /// Raises:
    ///     SimulationError: If there is no such rank.
    #[pyo3(signature = (rank: "int"))]
    fn operations_of(&self, #[pyo3(from_py_with = given)] rank: i128) -> PyResult<Table> {
        let found = usize::try_from(rank).ok().and_then(|rank| self.0.ranks.get(rank));
        let found = found.ok_or_else(|| {
            let ranks = self.0.ranks.len();
            errors::program(
                Diagnosis::of(format!("there is no rank {rank}"))
                    .remedy(format!("the program has {ranks}, from 0")),
            )
        })?;
        Table::new(tables::operations(found))
    }

    /// Writes one iteration of the program as GOAL text, with its collectives lowered to messages.
    ///
    /// Raises:
    ///     SimulationError: If GOAL cannot say it.
    #[pyo3(signature = (*, time_unit: "float" = 1e-9))]
    fn to_goal(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given)] time_unit: f64,
    ) -> PyResult<String> {
        let time_unit = number::time("the time unit", time_unit)?.max(Picoseconds(1));
        let options = goal::Options { time_unit };
        py.detach(|| goal::write(&self.0, &options, &ByDefault)).map_err(errors::program)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Program {:?}: {} ranks, {} operations>",
            self.name(),
            self.ranks(),
            self.operations()
        )
    }
}

/// Reads a program from an OTF2 archive, as `Program.from_otf2` does, with notes.
///
/// The notes are for its reader. They list the things that were left out or could not be told, each
/// in a sentence.
///
/// Raises:
///     InputError: If a file is missing, cut or damaged; the message names it. So it is if one is no
///         plain file or has more than 64 MiB, or all have more than 1 GiB.
///     SimulationError: If the archive records no program that can be played again.
///     KeyboardInterrupt: Within a second of Ctrl-C.
#[pyfunction]
#[pyo3(signature = (path: "str | PathLike[str]", *, name: "str | None" = None, main_loop: "str | None" = None, collective_bytes: "str" = "divided"))]
pub fn read_otf2(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] path: PathBuf,
    #[pyo3(from_py_with = given)] name: Option<String>,
    #[pyo3(from_py_with = given)] main_loop: Option<String>,
    #[pyo3(from_py_with = given)] collective_bytes: &str,
) -> PyResult<(Program, Vec<String>)> {
    let collective_bytes =
        CollectiveBytes::from_name(collective_bytes).map_err(errors::collective)?;
    let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
    let anchor = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.unwrap_or_else(|| archive_name(&path.to_string_lossy()).to_owned());
    let options = TraceOptions { name, main_loop, collective_bytes };
    let traced = worker::interruptible(py, move || {
        let archive =
            Archive::read(&anchor, &ArchiveFolder::new(folder)).map_err(ReadError::Input)?;
        program_of(&archive, &options).map_err(ReadError::Trace)
    })?;
    let traced = traced.map_err(|error| match error {
        ReadError::Input(error) => errors::input(error),
        ReadError::Trace(error) => errors::program(error),
    })?;
    let notes = traced.notes.iter().map(ToString::to_string).collect();
    Ok((Program(Arc::new(traced.program)), notes))
}

/// Why an archive cannot be read as a program.
enum ReadError {
    Input(InputError),
    Trace(TraceError),
}

/// Each application of `Program.skeleton`: its name, what it is, and its speed-up on GPUs.
///
/// The speed-up is how many times faster its computation is on the TraceR-CODES study's GPUs than
/// on its CPUs. Its inverse is the `computation_scale` of a job on GPUs.
#[pyfunction]
#[pyo3(signature = () -> "list[tuple[ApplicationName, str, float]]")]
pub fn applications() -> Vec<(&'static str, &'static str, f64)> {
    ALL.iter().map(|it| (it.name, it.summary, it.gpu_speedup)).collect()
}

/// Lists mixes of applications that each fill a system of 2048 GPUs, after the TraceR-CODES study.
///
/// Args:
///     seed: The number from which they are drawn.
///
/// Returns:
///     Each of the 20 mixes: the application and the number of ranks of each of its jobs.
///
/// Raises:
///     SimulationError: If the seed is not 0 to 2^64 - 1.
#[pyfunction]
#[pyo3(signature = (seed: "int"))]
pub fn random_mixes(#[pyo3(from_py_with = given)] seed: i128) -> PyResult<Vec<Vec<(String, u32)>>> {
    let seed = number::whole("seed", seed, u64::MAX)?;
    let mixes = workload::random_mixes(&MixRules::default(), seed);
    let jobs = |mix: Vec<workload::MixJob>| {
        mix.into_iter().map(|job| (job.application, job.ranks)).collect()
    };
    let mixes = mixes.expect("the paper's rules can be obeyed");
    Ok(mixes.into_iter().map(jobs).collect())
}
