//! Gives Python `linkwright.Table`: columns handed over through the Arrow C data interface.
//!
//! The capsules own what they carry: a consumer moves the structure out, and a capsule that
//! nobody consumes releases it. Values are shared, never copied; lists and texts are laid out
//! once, when the table is made.

use linkwright::diagnostic::Diagnosis;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use linkwright::table::{self, Column};
use pyo3::exceptions::{PyImportError, PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cells;
use crate::errors;

/// Gives the rows of a table, one after another, each as a dictionary.
#[pyclass(module = "linkwright._core")]
pub struct Rows {
    batch: RecordBatch,
    next: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.next == self.batch.num_rows() {
            return Ok(None);
        }
        self.next += 1;
        cells::row(py, &self.batch, self.next - 1).map(Some)
    }
}

/// The error for a package that is not installed; any other stays what it is.
pub fn missing(py: Python<'_>, error: PyErr, method: &str, packages: &str) -> PyErr {
    if error.is_instance_of::<PyImportError>(py) {
        return errors::missing(Diagnosis::of(format!(
            "`{method}` needs {packages}: pip install {packages}"
        )));
    }
    error
}

/// Columns with names and units, for any library that reads Arrow.
///
/// `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy; the unit of a
/// column is its field's metadata under the key "unit". A row is a dictionary: `len(t)` counts
/// them, iteration goes through them, and `t[0]` is the first. A notebook and `print` show them.
#[pyclass(frozen, eq, module = "linkwright.scenario")]
#[derive(PartialEq)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Converts the core's table into one record batch.
    pub fn new(table: table::Table) -> PyResult<Self> {
        let options = RecordBatchOptions::new().with_row_count(Some(table.row_count()));
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for column in table.into_columns() {
            let nullable =
                matches!(column.values, Column::OptionalFloat64(_) | Column::OptionalUInt64(_));
            let array = array(column.values);
            let metadata = HashMap::from([("unit".to_owned(), column.unit.to_owned())]);
            let field = Field::new(column.name, array.data_type().clone(), nullable);
            fields.push(field.with_metadata(metadata));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .map(|batch| Self { batch })
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

/// A column as it is pickled: floats by their bits, so that none is lost.
#[derive(Serialize, Deserialize)]
struct Saved {
    name: String,
    unit: String,
    nullable: bool,
    values: Values,
}

#[derive(Serialize, Deserialize)]
enum Values {
    Float(Vec<Option<u64>>),
    Whole(Vec<Option<u64>>),
    Text(Vec<String>),
    Truth(Vec<bool>),
    Lists(Vec<Vec<u32>>),
}

impl Values {
    fn of(column: &dyn Array) -> Self {
        let rows = 0..column.len();
        match column.data_type() {
            DataType::Float64 => {
                let bits = |value: Option<f64>| value.map(f64::to_bits);
                Self::Float(column.as_primitive::<Float64Type>().iter().map(bits).collect())
            }
            DataType::UInt64 => Self::Whole(column.as_primitive::<UInt64Type>().iter().collect()),
            DataType::Boolean => {
                Self::Truth(rows.map(|at| column.as_boolean().value(at)).collect())
            }
            DataType::List(_) => Self::Lists(rows.map(|at| cells::ids(column, at)).collect()),
            _ => {
                let text = |at| column.as_string::<i32>().value(at).to_owned();
                Self::Text(rows.map(text).collect())
            }
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Self::Float(bits) => {
                let values = bits.into_iter().map(|bits| bits.map(f64::from_bits));
                Arc::new(values.collect::<Float64Array>())
            }
            Self::Whole(values) => Arc::new(UInt64Array::from(values)),
            Self::Text(values) => array(Column::Utf8(values)),
            Self::Truth(values) => array(Column::Boolean(values)),
            Self::Lists(values) => array(Column::UInt32List(values)),
        }
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.batch.schema_ref().fields().iter();
        let columns = fields.zip(self.batch.columns()).map(|(field, column)| Saved {
            name: field.name().clone(),
            unit: field.metadata().get("unit").cloned().unwrap_or_default(),
            nullable: field.is_nullable(),
            values: Values::of(column),
        });
        (self.batch.num_rows(), columns.collect::<Vec<_>>()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (rows, columns) = <(usize, Vec<Saved>)>::deserialize(deserializer)?;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for Saved { name, unit, nullable, values } in columns {
            let array = values.array();
            let field = Field::new(name, array.data_type().clone(), nullable);
            fields.push(field.with_metadata(HashMap::from([("unit".to_owned(), unit)])));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(|batch| Self { batch })
            .map_err(D::Error::custom)
    }
}

fn array(values: Column) -> ArrayRef {
    match values {
        Column::Float64(values) => Arc::new(Float64Array::from(values)),
        Column::OptionalFloat64(values) => Arc::new(Float64Array::from(values)),
        Column::UInt64(values) => Arc::new(UInt64Array::from(values)),
        Column::OptionalUInt64(values) => Arc::new(UInt64Array::from(values)),
        Column::Utf8(values) => Arc::new(StringArray::from(values)),
        Column::Boolean(values) => Arc::new(BooleanArray::from(values)),
        Column::UInt32List(lists) => {
            let mut builder = ListBuilder::new(UInt32Builder::new());
            for list in lists {
                builder.values().append_slice(&list);
                builder.append(true);
            }
            Arc::new(builder.finish())
        }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __iter__(&self) -> Rows {
        Rows { batch: self.batch.clone(), next: 0 }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, row: i128) -> PyResult<Bound<'py, PyDict>> {
        let count = self.batch.num_rows();
        let at = if row < 0 { row.checked_add(count as i128) } else { Some(row) };
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < count);
        let refuse = || PyIndexError::new_err(format!("there is no row {row} of {count}"));
        cells::row(py, &self.batch, at.ok_or_else(refuse)?)
    }

    /// The table as a `pandas.DataFrame`; needs pandas and pyarrow.
    ///
    /// Raises:
    ///     LinkwrightError: If one of them is not installed.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let made = slf.py().import("pyarrow").and_then(|arrow| {
            slf.py().import("pandas")?;
            arrow.call_method1("table", (slf,))?.call_method0("to_pandas")
        });
        made.map_err(|error| missing(slf.py(), error, "to_pandas", "pandas pyarrow"))
    }

    /// The table as a `polars.DataFrame`; needs polars.
    ///
    /// Raises:
    ///     LinkwrightError: If it is not installed.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let made =
            slf.py().import("polars").and_then(|polars| polars.call_method1("DataFrame", (slf,)));
        made.map_err(|error| missing(slf.py(), error, "to_polars", "polars"))
    }

    pub fn _repr_html_(&self) -> String {
        cells::html(&self.batch)
    }

    fn __str__(&self) -> String {
        format!("{}{}", self.__repr__(), cells::text(&self.batch))
    }

    /// How many rows it has.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of its columns, from the left.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Returns the schema as an Arrow C schema in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Returns the rows as an Arrow C stream in a capsule.
    ///
    /// A requested schema is only a wish, and the protocol lets a producer pass it over.
    #[pyo3(signature = (requested_schema: "object | None" = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(
            py,
            FFI_ArrowArrayStream::new(Box::new(batches)),
            c"arrow_array_stream",
        )
    }

    fn __repr__(&self) -> String {
        format!("<Table: {} rows; {}>", self.batch.num_rows(), self.column_names().join(", "))
    }
}
