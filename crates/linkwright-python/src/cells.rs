//! Converts the cells of a `Table` into Python's values, and into text for people.

use std::fmt::Write as _;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// As many rows as people still read; of more, the rest is counted.
const SHOWN: usize = 20;

/// How many digits of a number are shown where it has more.
const DIGITS: i32 = 6;

/// One cell as a value of Python; None where there is none.
pub fn value(py: Python<'_>, column: &dyn Array, row: usize) -> PyResult<Py<PyAny>> {
    if column.is_null(row) {
        return Ok(py.None());
    }
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_py_any(py),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_py_any(py),
        DataType::List(_) => ids(column, row).into_py_any(py),
        _ => column.as_string::<i32>().value(row).into_py_any(py),
    }
}

/// Returns one row: each column's cell by its name.
pub fn row<'py>(py: Python<'py>, batch: &RecordBatch, at: usize) -> PyResult<Bound<'py, PyDict>> {
    let cells = PyDict::new(py);
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        cells.set_item(field.name(), value(py, column, at)?)?;
    }
    Ok(cells)
}

/// Returns the first rows as lines of text below their heads.
pub fn text(batch: &RecordBatch) -> String {
    let (heads, rows) = shown(batch);
    let width = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([heads[at].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    for line in std::iter::once(&heads).chain(&rows) {
        let cells = line.iter().zip(&widths).zip(batch.columns()).map(|((cell, width), column)| {
            if is_number(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text.push('\n');
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    if batch.num_rows() > rows.len() {
        let _ = write!(text, "\n... and {} more", batch.num_rows() - rows.len());
    }
    text
}

/// Returns the same as a table of HTML, as notebooks show it.
pub fn html(batch: &RecordBatch) -> String {
    let (heads, rows) = shown(batch);
    let line = |kind: &str, cells: &[String]| {
        let cell = |(text, column): (&String, &ArrayRef)| {
            let side = if is_number(column) { "right" } else { "left" };
            format!("<{kind} style=\"text-align: {side}\">{}</{kind}>", escaped(text))
        };
        let cells: String = cells.iter().zip(batch.columns()).map(cell).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: Vec<String> = rows.iter().map(|row| line("td", row)).collect();
    let (head, body) = (line("th", &heads), body.join("\n"));
    let more = match batch.num_rows() - rows.len() {
        0 => String::new(),
        more => format!("\n<p>and {more} more rows</p>"),
    };
    format!("<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>{more}")
}

/// Writes a table of HTML below a line of text.
pub fn titled(text: &str, table: &str) -> String {
    format!("<p>{}</p>\n{table}", escaped(&printable(text)))
}

/// Returns the heads with their units, and the first rows.
fn shown(batch: &RecordBatch) -> (Vec<String>, Vec<Vec<String>>) {
    let head = |field: &std::sync::Arc<Field>| match field.metadata().get("unit") {
        Some(unit) if !unit.is_empty() => format!("{} ({unit})", field.name()),
        _ => field.name().clone(),
    };
    let heads = batch.schema_ref().fields().iter().map(head).collect();
    let row = |at| batch.columns().iter().map(|column| written(column, at)).collect();
    (heads, (0..batch.num_rows().min(SHOWN)).map(row).collect())
}

fn is_number(column: &dyn Array) -> bool {
    column.data_type().is_numeric()
}

/// The ids in a cell that lists some.
pub fn ids(column: &dyn Array, row: usize) -> Vec<u32> {
    column.as_list::<i32>().value(row).as_primitive::<UInt32Type>().values().to_vec()
}

fn written(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "none".to_owned();
    }
    match column.data_type() {
        DataType::Float64 => number(column.as_primitive::<Float64Type>().value(row)),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Boolean => if column.as_boolean().value(row) { "yes" } else { "no" }.to_owned(),
        DataType::List(_) => {
            let ids: Vec<String> = ids(column, row).iter().map(u32::to_string).collect();
            ids.join(",")
        }
        // Names come from files, and may hold what moves a terminal's cursor.
        _ => printable(column.as_string::<i32>().value(row)),
    }
}

/// The text with every character that would act on a terminal escaped.
fn printable(text: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect::<Vec<String>>().concat()
}

/// The number in full if that is short, else to a few digits.
fn number(value: f64) -> String {
    let full = value.to_string();
    let magnitude = value.abs().log10().floor();
    if full.len() <= 10 || !magnitude.is_finite() {
        return full;
    }
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    // From -5 to 14, as just checked.
    let places = usize::try_from(DIGITS - 1 - magnitude as i32).unwrap_or_default();
    format!("{value:.places$}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
