//! Runs a schedule on arrays of Python: copied in, run without the interpreter, copied out.
//!
//! The arrays come through the buffer protocol; NumPy makes those that go back.

use linkwright::diagnostic::{Diagnosis, Named as _};
use std::sync::Arc;
use std::time::Instant;

use linkwright::collectives::{self, Element, ExecuteError, ExecuteOptions, Placement, Reduction};
use pyo3::buffer::{self, PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;

use crate::errors;
use crate::schedule_source::Source;
use crate::table::missing;
use crate::worker::interruptible;

/// The inputs of all ranks, of one type.
enum Inputs {
    Float32(Vec<Vec<f32>>),
    Float64(Vec<Vec<f64>>),
    Int32(Vec<Vec<i32>>),
    Int64(Vec<Vec<i64>>),
}

type Outputs = Vec<Py<PyAny>>;

/// Runs a schedule; the outputs, and the seconds from the check to the last rank's end.
pub fn execute(
    py: Python<'_>,
    source: &Arc<Source>,
    arrays: &[Bound<'_, PyAny>],
    reduction: &str,
    in_place: bool,
) -> PyResult<(Outputs, f64)> {
    let reduction = reduction_named(reduction)?;
    match read(py, arrays)? {
        Inputs::Float32(inputs) => run(py, source, inputs, reduction, in_place, "float32"),
        Inputs::Float64(inputs) => run(py, source, inputs, reduction, in_place, "float64"),
        Inputs::Int32(inputs) => run(py, source, inputs, reduction, in_place, "int32"),
        Inputs::Int64(inputs) => run(py, source, inputs, reduction, in_place, "int64"),
    }
}

/// Computes the results that the schedule's collective must give.
pub fn reference(
    py: Python<'_>,
    source: &Arc<Source>,
    arrays: &[Bound<'_, PyAny>],
    reduction: &str,
) -> PyResult<Outputs> {
    let reduction = reduction_named(reduction)?;
    match read(py, arrays)? {
        Inputs::Float32(inputs) => compute(py, source, inputs, reduction, "float32"),
        Inputs::Float64(inputs) => compute(py, source, inputs, reduction, "float64"),
        Inputs::Int32(inputs) => compute(py, source, inputs, reduction, "int32"),
        Inputs::Int64(inputs) => compute(py, source, inputs, reduction, "int64"),
    }
}

/// The reductions that `Schedule.execute` knows by name.
#[pyfunction]
#[pyo3(signature = () -> "list[ReductionName]")]
pub fn reduction_names() -> Vec<&'static str> {
    Reduction::names()
}

fn reduction_named(name: &str) -> PyResult<Reduction> {
    Reduction::from_name(name).map_err(errors::collective)
}

fn read(py: Python<'_>, arrays: &[Bound<'_, PyAny>]) -> PyResult<Inputs> {
    let mut buffers = Vec::with_capacity(arrays.len());
    for (rank, array) in arrays.iter().enumerate() {
        if array.is_none() {
            buffers.push(None);
            continue;
        }
        let buffer = PyUntypedBuffer::get(array).map_err(|_| {
            let kind =
                array.get_type().name().map_or_else(|_| "object".into(), |it| it.to_string());
            errors::collective(
                Diagnosis::of(format!("rank {rank}'s input is a {kind}"))
                    .remedy("give a NumPy array"),
            )
        })?;
        if has_foreign_bytes(&buffer) {
            return Err(errors::collective(
                Diagnosis::of(format!(
                    "rank {rank}'s input has its bytes in another order than this computer's"
                ))
                .remedy("give array.astype(array.dtype.newbyteorder(\"=\"))"),
            ));
        }
        buffers.push(Some(buffer));
    }
    // An empty array says nothing of the type: the others do.
    let tells = |buffer: &&PyUntypedBuffer| buffer.item_count() > 0;
    let first = buffers.iter().flatten().find(tells).or_else(|| buffers.iter().flatten().next());
    match first {
        None => Ok(Inputs::Float32(vec![Vec::new(); arrays.len()])),
        Some(first) if first.as_typed::<f32>().is_ok() => {
            copied(py, arrays, &buffers, "float32").map(Inputs::Float32)
        }
        Some(first) if first.as_typed::<f64>().is_ok() => {
            copied(py, arrays, &buffers, "float64").map(Inputs::Float64)
        }
        Some(first) if first.as_typed::<i32>().is_ok() => {
            copied(py, arrays, &buffers, "int32").map(Inputs::Int32)
        }
        Some(first) if first.as_typed::<i64>().is_ok() => {
            copied(py, arrays, &buffers, "int64").map(Inputs::Int64)
        }
        Some(first) => {
            let format = first.format().to_string_lossy().into_owned();
            Err(errors::collective(
                Diagnosis::of(format!("the inputs have elements of format `{format}`"))
                    .remedy("give float32, float64, int32 or int64"),
            ))
        }
    }
}

/// Whether the elements are of the other byte order, which the element's type alone hides.
fn has_foreign_bytes(buffer: &PyUntypedBuffer) -> bool {
    let marks: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
    let format = buffer.format().to_bytes();
    buffer.item_size() > 1 && format.first().is_some_and(|mark| marks.contains(mark))
}

fn copied<T: buffer::Element>(
    py: Python<'_>,
    arrays: &[Bound<'_, PyAny>],
    buffers: &[Option<PyUntypedBuffer>],
    element: &str,
) -> PyResult<Vec<Vec<T>>> {
    let mut inputs = Vec::with_capacity(arrays.len());
    for (rank, buffer) in buffers.iter().enumerate() {
        let Some(buffer) = buffer.as_ref().filter(|buffer| buffer.item_count() > 0) else {
            inputs.push(Vec::new());
            continue;
        };
        let typed = buffer.as_typed::<T>().map_err(|_| {
            let format = buffer.format().to_string_lossy();
            errors::collective(
                Diagnosis::of(format!(
                    "rank {rank}'s input has elements of format `{format}` and those before it of \
                     {element}"
                ))
                .remedy("give all inputs one type"),
            )
        })?;
        inputs.push(typed.to_vec(py)?);
    }
    Ok(inputs)
}

fn run<T: Element + buffer::Element>(
    py: Python<'_>,
    source: &Arc<Source>,
    inputs: Vec<Vec<T>>,
    reduction: Reduction,
    in_place: bool,
    element: &str,
) -> PyResult<(Outputs, f64)> {
    let placement = in_place.then_some(Placement::InPlace);
    let options = ExecuteOptions { placement, ..ExecuteOptions::default() };
    let source = Arc::clone(source);
    let work = move || -> Result<(Vec<Vec<T>>, f64), ExecuteError> {
        let start = Instant::now();
        let outputs = collectives::execute(source.schedule(), inputs, reduction, &options)?;
        Ok((outputs, start.elapsed().as_secs_f64()))
    };
    let (outputs, seconds) = interruptible(py, work)?.map_err(errors::execution)?;
    Ok((written(py, &outputs, element)?, seconds))
}

fn compute<T: Element + buffer::Element>(
    py: Python<'_>,
    source: &Arc<Source>,
    inputs: Vec<Vec<T>>,
    reduction: Reduction,
    element: &str,
) -> PyResult<Outputs> {
    let collective = source.schedule().collective;
    let work = move || collectives::reference(collective, &inputs, reduction);
    written(py, &interruptible(py, work)?.map_err(errors::execution)?, element)
}

fn written<T: buffer::Element>(
    py: Python<'_>,
    outputs: &[Vec<T>],
    element: &str,
) -> PyResult<Outputs> {
    let numpy =
        py.import("numpy").map_err(|error| missing(py, error, "execute", "'linkwright[arrow]'"))?;
    let array = |output: &Vec<T>| {
        let array = numpy.call_method1("empty", (output.len(), element))?;
        if !output.is_empty() {
            PyBuffer::<T>::get(&array)?.copy_from_slice(py, output)?;
        }
        Ok(array.unbind())
    };
    outputs.iter().map(array).collect()
}
