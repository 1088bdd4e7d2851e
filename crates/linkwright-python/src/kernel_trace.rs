//! Gives Python `linkwright.KernelTrace` and `linkwright.KernelRatios`: kernels that PyTorch's profiler measured.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use linkwright::diagnostic::{InputError, Named, Position};
use linkwright::table::Table as Columns;
use linkwright::training::{
    KernelKind, KernelRatios as CoreRatios, KernelTrace as Core, MeasuredRatio,
};
use linkwright::units::Picoseconds;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::argument::given;
use crate::errors;
use crate::table::Table;
use crate::worker::interruptible;

/// Holds what a GPU's kernels took in the steps of a trace of PyTorch's profiler.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelTrace(Arc<Core>);

impl KernelTrace {
    /// Gives the trace as the core has it.
    pub fn core(&self) -> &Core {
        &self.0
    }

    fn each(&self, time: Picoseconds) -> f64 {
        time.as_seconds() / self.0.steps.max(1) as f64
    }
}

fn pass(is_backward: bool) -> String {
    if is_backward { "backward" } else { "forward" }.to_owned()
}

#[pymethods]
impl KernelTrace {
    /// Reads a trace as Kineto writes it (`export_chrome_trace`), gzipped or not. Memory stays bounded.
    ///
    /// Args:
    ///     path: Of the file.
    ///
    /// Raises:
    ///     InputError: If the file is cut off, is no JSON, is another profiler's, or holds nothing that ran on a GPU.
    ///     KeyboardInterrupt: Within a second of Ctrl-C.
    #[staticmethod]
    #[pyo3(signature = (path: "str"))]
    fn read(py: Python<'_>, #[pyo3(from_py_with = given)] path: &str) -> PyResult<Self> {
        let (file, name) = (PathBuf::from(path), path.to_owned());
        let read = interruptible(py, move || {
            let opened = File::open(&file).map_err(|error| {
                let start = Position { line: 1, column: 1 };
                let problem = format!("the trace cannot be opened: {error}");
                InputError::at(&name, start, problem, "", "name a file")
            });
            opened.and_then(|file| Core::read(&name, file))
        })?;
        Ok(Self(Arc::new(read.map_err(errors::input)?)))
    }

    /// Counts the steps of the trace; times are means over them.
    #[getter]
    fn steps(&self) -> u64 {
        self.0.steps
    }

    /// Counts the events of the file.
    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }

    /// The rank of the job that wrote the trace; None where it does not say.
    #[getter]
    fn rank(&self) -> Option<u64> {
        self.0.rank
    }

    /// Counts the ranks of the job; None where the trace does not say.
    #[getter]
    fn ranks(&self) -> Option<u64> {
        self.0.ranks
    }

    /// A step lasts for these seconds on the GPU.
    #[getter]
    fn time(&self) -> f64 {
        self.each(self.0.time.whole())
    }

    /// The part of the GPU's time whose kernels were recognised.
    #[getter]
    fn recognised(&self) -> f64 {
        self.0.recognised()
    }

    /// Names the GPU; empty where the trace does not.
    #[getter]
    fn gpu(&self) -> &str {
        &self.0.gpu
    }

    /// Says what was left out.
    #[getter]
    fn skipped(&self) -> Vec<String> {
        self.0.skipped.clone()
    }

    /// Gives one row for each part of a step's time; they sum to it.
    ///
    /// Columns are part and time (s).
    ///
    /// Collectives that nothing is computed beside are exposed. The GPU waits for the host where nothing runs that the
    /// host had launched.
    fn parts(&self) -> PyResult<Table> {
        let time = self.0.time;
        let parts = [
            ("computing", time.computing),
            ("exposed collectives", time.exposed),
            ("waiting for the host", time.host),
            ("waiting otherwise", time.waiting),
        ];
        let columns = Columns::new()
            .with("part", "", parts.iter().map(|it| it.0.to_owned()).collect::<Vec<_>>())
            .with("time", "s", parts.iter().map(|it| self.each(it.1)).collect::<Vec<_>>());
        Table::new(columns)
    }

    /// Gives one row for each kind, pass and stream of kernels.
    ///
    /// Columns: kind, pass, stream, count (of all steps), time (s of a step, summed up).
    fn kernels(&self) -> PyResult<Table> {
        let own = &self.0.kernels;
        let names = own.iter().map(|it| KernelKind::name(it.kind).to_owned());
        let columns = Columns::new()
            .with("kind", "", names.collect::<Vec<_>>())
            .with("pass", "", own.iter().map(|it| pass(it.is_backward)).collect::<Vec<_>>())
            .with("stream", "", own.iter().map(|it| u64::from(it.stream)).collect::<Vec<_>>())
            .with("count", "", own.iter().map(|it| it.count).collect::<Vec<_>>())
            .with("time", "s", own.iter().map(|it| self.each(it.time)).collect::<Vec<_>>());
        Table::new(columns)
    }

    /// Gives one row for each shape and pass of products, where shapes were recorded (`record_shapes=True`).
    ///
    /// Columns: rows, columns, terms, pass, count (of all steps), time (s of a step, summed up).
    fn products(&self) -> PyResult<Table> {
        let own = &self.0.products;
        let length = |at: usize| own.iter().map(|it| it.shape[at]).collect::<Vec<_>>();
        let columns = Columns::new()
            .with("rows", "", length(0))
            .with("columns", "", length(1))
            .with("terms", "", length(2))
            .with("pass", "", own.iter().map(|it| pass(it.is_backward)).collect::<Vec<_>>())
            .with("count", "", own.iter().map(|it| it.count).collect::<Vec<_>>())
            .with("time", "s", own.iter().map(|it| self.each(it.time)).collect::<Vec<_>>());
        Table::new(columns)
    }

    /// Gives one row for each size, group and stream of collectives.
    ///
    /// Columns: collective, group, ranks and elements (0 where the trace does not say), number (of its elements), stream.
    /// Then count (of all steps), time (s of one).
    fn collectives(&self) -> PyResult<Table> {
        let own = &self.0.collectives;
        let one = |count: u64, time: Picoseconds| time.as_seconds() / count.max(1) as f64;
        let columns = Columns::new()
            .with("collective", "", own.iter().map(|it| it.name.clone()).collect::<Vec<_>>())
            .with("group", "", own.iter().map(|it| it.group.clone()).collect::<Vec<_>>())
            .with("ranks", "", own.iter().map(|it| it.group_size.unwrap_or(0)).collect::<Vec<_>>())
            .with("elements", "", own.iter().map(|it| it.elements.unwrap_or(0)).collect::<Vec<_>>())
            .with("number", "", own.iter().map(|it| it.number.clone()).collect::<Vec<_>>())
            .with("stream", "", own.iter().map(|it| u64::from(it.stream)).collect::<Vec<_>>())
            .with("count", "", own.iter().map(|it| it.count).collect::<Vec<_>>())
            .with("time", "s", own.iter().map(|it| one(it.count, it.time)).collect::<Vec<_>>());
        Table::new(columns)
    }

    /// Gives one row for each kernel that no rule knows, the longest first, 20 at most.
    ///
    /// Columns are name and time (s of a step, summed up).
    fn unknown(&self) -> PyResult<Table> {
        let own = &self.0.unknown;
        let columns = Columns::new()
            .with("name", "", own.iter().map(|it| it.0.clone()).collect::<Vec<_>>())
            .with("time", "s", own.iter().map(|it| self.each(it.1)).collect::<Vec<_>>());
        Table::new(columns)
    }

    fn __repr__(&self) -> String {
        format!("<KernelTrace: {} steps of {:.6} s>", self.0.steps, self.each(self.0.time.whole()))
    }
}

/// Compares one kind of kernels in a step: its name, pass, measured and modelled time.
type Compared = (String, String, Picoseconds, Picoseconds);

/// Says how many times as long as by the model kernels took, by kind, pass and product.
#[pyclass(frozen, eq, module = "linkwright.training")]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRatios {
    ratios: CoreRatios,
    rows: Vec<Compared>,
}

impl KernelRatios {
    /// Holds ratios, with a row for each that was measured.
    pub fn new(ratios: CoreRatios, rows: &[MeasuredRatio]) -> Self {
        let row =
            |it: &MeasuredRatio| (it.name.to_owned(), it.pass.to_owned(), it.measured, it.modelled);
        Self { ratios, rows: rows.iter().map(row).collect() }
    }

    /// Gives the ratios as the core has them.
    pub const fn core(&self) -> CoreRatios {
        self.ratios
    }
}

#[pymethods]
impl KernelRatios {
    /// Gives the seconds a step of kernels that the model lacks; every step gets them.
    #[getter]
    fn rest(&self) -> f64 {
        self.ratios.rest.as_seconds()
    }

    /// Gives one row for each kind and pass of kernels, and for each product whose shapes the trace has.
    ///
    /// Columns are name, pass, measured and modelled (s of a step), and ratio.
    ///
    /// A ratio of what the model has no time for is zero.
    fn rows(&self) -> PyResult<Table> {
        let own = &self.rows;
        let seconds = |of: fn(&Compared) -> Picoseconds| {
            own.iter().map(|it| of(it).as_seconds()).collect::<Vec<_>>()
        };
        let ratio =
            |it: &Compared| if it.3.0 == 0 { 0.0 } else { it.2.as_seconds() / it.3.as_seconds() };
        let columns = Columns::new()
            .with("name", "", own.iter().map(|it| it.0.clone()).collect::<Vec<_>>())
            .with("pass", "", own.iter().map(|it| it.1.clone()).collect::<Vec<_>>())
            .with("measured", "s", seconds(|it| it.2))
            .with("modelled", "s", seconds(|it| it.3))
            .with("ratio", "", own.iter().map(ratio).collect::<Vec<_>>());
        Table::new(columns)
    }

    fn __repr__(&self) -> String {
        format!("<KernelRatios: {} rows>", self.rows.len())
    }
}
