//! The Python face of Linkwright: one file per exposed class, and no model of its own.
//!
//! Values go out as frozen classes, columns through the Arrow C stream, and errors as the
//! exceptions of `linkwright.errors`.

mod errors;
mod machine;
mod table;

/// The compiled half of the package `linkwright`; use the package, not this module.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::machine::Machine;
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
