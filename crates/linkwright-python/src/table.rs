//! `linkwright.Table`: columns handed over through the Arrow C data interface.
//!
//! The capsules own what they carry: a consumer moves the structure out, and a capsule that
//! nobody consumes releases it. Values are shared, never copied; lists and texts are laid out
//! once, when the table is made.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Field, Schema};
use linkwright::table::{self, Column};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Columns with names and units, for any library that reads Arrow.
///
/// `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy; the unit of a
/// column is its field's metadata under the key "unit".
#[pyclass(frozen, module = "linkwright")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// The core's table as one record batch.
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

    /// The schema as an Arrow C schema in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as an Arrow C stream in a capsule; a requested schema is only a wish, and the
    /// protocol lets a producer pass it over.
    #[pyo3(signature = (requested_schema = None))]
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
