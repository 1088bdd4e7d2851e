//! Converts arguments into the values of a TOML table, and back.

use linkwright::diagnostic::Diagnosis;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use toml::{Table, Value};

use crate::argument::Argument as _;
use crate::errors;
use crate::plug_in;

/// A table of the arguments; those that are None count as absent.
pub fn table(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Table> {
    table_at(0, arguments)
}

/// The most tables and lists within one another: one may hold itself.
const DEEPEST: usize = 32;

fn table_at(depth: usize, arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, argument) in arguments.into_iter().flatten() {
        let key: String = key.extract()?;
        if !argument.is_none() {
            let value = value(depth, &key, &argument)?;
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn value(depth: usize, key: &str, argument: &Bound<'_, PyAny>) -> PyResult<Value> {
    if depth == DEEPEST {
        let deep = Diagnosis::of(format!("`{key}` lies {DEEPEST} levels deep"));
        return Err(errors::range(deep.remedy("write values side by side")));
    }
    if argument.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(argument.extract()?));
    }
    if argument.is_instance_of::<PyInt>() {
        // Python writes no number of thousands of digits.
        let refuse =
            |_| errors::range(Diagnosis::of(format!("`{key}` is below -2^63 or above 2^63 - 1")));
        return Ok(Value::Integer(argument.extract().map_err(refuse)?));
    }
    if argument.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(argument.extract()?));
    }
    if argument.is_instance_of::<PyString>() {
        return Ok(Value::String(argument.extract()?));
    }
    if let Ok(inner) = argument.cast::<PyDict>() {
        return table_at(depth + 1, Some(inner)).map(Value::Table);
    }
    // A class of one's own goes by its name.
    if let Some(name) = plug_in::name_of(argument, &plug_in::KINDS)? {
        return Ok(Value::String(name.to_owned()));
    }
    if argument.len().is_err() {
        // A number of numpy, which is none of Python's.
        if let Ok(truth) = bool::read(argument) {
            return Ok(Value::Boolean(truth));
        }
        if argument.hasattr("__index__")? {
            return Ok(Value::Integer(argument.call_method0("__index__")?.extract()?));
        }
        if let Ok(number) = f64::read(argument) {
            return Ok(Value::Float(number));
        }
    }
    if let Ok(items) = argument.try_iter() {
        let values = items.map(|item| value(depth + 1, key, &item?));
        return Ok(Value::Array(values.collect::<PyResult<_>>()?));
    }
    Err(errors::argument(argument, "a number, a text, or a list of them", key.to_owned()))
}

/// Converts a table into a dictionary.
pub fn dictionary<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (key, value) in table {
        made.set_item(key, object(py, value)?)?;
    }
    Ok(made)
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::String(text) => text.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Boolean(truth) => truth.into_bound_py_any(py),
        Value::Datetime(time) => time.to_string().into_bound_py_any(py),
        Value::Table(inner) => dictionary(py, inner).map(Bound::into_any),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item));
            items.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
        }
    }
}
