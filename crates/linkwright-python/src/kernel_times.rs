//! Gives `linkwright.kernel_times`.

use linkwright::diagnostic::Named as _;
use linkwright::system::gpus;
use linkwright::training::{
    AskedKernel, KernelGpu, KernelNumbers, KernelShape, KernelTerms, KernelTime, TrainingError,
    tables,
};
use pyo3::prelude::*;

use crate::argument::given;
use crate::choices::Choice as _;
use crate::errors;
use crate::gpu_model::NamedModel;
use crate::table::Table;

/// Tells how long kernels of training take alone on a GPU: one row for each shape.
///
/// A shape is its numbers in order, as "4096x4096x8192", or each by its name, as
/// "batch=1,tokens=8192,heads=32,kv-heads=8,head=128".
///
/// - "gemm" has m, n, k.
/// - "attention" (all tokens of sequences, each sees those before it) and "decode" (one new token of each): batch, tokens,
///   heads, kv-heads, head. They may also have window (tokens that one sees) and cache ("bf16" or "fp8").
/// - "experts" (the perceptrons of a block's experts, forward): tokens (of all GPUs), hidden, inner, top, experts. They
///   may also have ep and tp (GPUs that have other experts, and parts of the same), and draw ("balanced" or "power-law:A").
///
/// Columns: operations (of multiply-adds, two each), kernel (seconds on the GPU), cast (seconds that making narrow numbers
/// of the operands takes before). Also host (seconds of an inference engine's host, where its call is long) and time (of one
/// call after another, in seconds). The GPU keeps its clock: these are kernels alone, for a short while.
///
/// `terms` is the text of a file of terms to calculate with instead of Linkwright's own.
///
/// Raises:
///     SimulationError: For a shape that there is not, and numbers that the GPU does not multiply.
///     MachineError: For a GPU that is not known well enough.
///     InputError: For terms that are none.
#[pyfunction]
#[pyo3(signature = (
    kernel: "KernelName", shapes: "Sequence[str]", gpu: "GpuModel | str",
    precision: "KernelPrecisionName" = "bf16", terms: "str | None" = None
) -> "Table")]
pub fn kernel_times(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] kernel: &str,
    #[pyo3(from_py_with = given)] shapes: Vec<String>,
    #[pyo3(from_py_with = given)] gpu: NamedModel,
    #[pyo3(from_py_with = given)] precision: &str,
    #[pyo3(from_py_with = given)] terms: Option<&str>,
) -> PyResult<Table> {
    let kind = AskedKernel::named(kernel)?;
    let numbers = KernelNumbers::named(precision)?;
    let model = match gpu {
        NamedModel::Model(model) => model.get().core().clone(),
        NamedModel::Name(name) => gpus::find(&name).map_err(errors::machine)?.clone(),
    };
    let read = terms.map(|text| KernelTerms::read("<terms>", text)).transpose();
    let read = read.map_err(errors::input)?;
    let terms = read.as_ref().unwrap_or_else(|| KernelTerms::own());
    let times = py.detach(|| {
        let gpu = KernelGpu::of(&model, numbers)?;
        let time = |text: &String| {
            let shape = KernelShape::read(kind, text)?;
            Ok((shape, shape.time(&gpu, numbers, terms)?))
        };
        shapes.iter().map(time).collect::<Result<Vec<(KernelShape, KernelTime)>, TrainingError>>()
    });
    Table::new(tables::kernels(&times.map_err(errors::training)?))
}

/// Gives the text of the terms by which kernels alone are timed, each with its source (TOML).
#[pyfunction]
pub fn kernel_time_terms() -> &'static str {
    KernelTerms::TEXT
}

/// Gives the numbers of a kernel's shape in the order of its text.
#[pyfunction]
#[pyo3(signature = (kernel: "KernelName"))]
pub fn kernel_fields(#[pyo3(from_py_with = given)] kernel: &str) -> PyResult<Vec<&'static str>> {
    Ok(AskedKernel::from_name(kernel).map_err(errors::range)?.fields().to_vec())
}
