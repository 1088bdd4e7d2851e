//! The one place where the core's errors become Python exceptions.
//!
//! One function per error enum of the core, for use in `map_err`; each maps what came from a
//! user's text to `InputError`, with its place, and the rest to the exception of its layer.

use linkwright::diagnostic;
use linkwright::topology::TopologyError;
use pyo3::PyErr;

/// The exceptions that `linkwright.errors` defines.
mod exceptions {
    pyo3::import_exception!(linkwright.errors, InputError);
    pyo3::import_exception!(linkwright.errors, MachineError);
}

/// A text that no parser accepts.
pub fn input(error: diagnostic::InputError) -> PyErr {
    let diagnostic::InputError { file, position, problem, value, remedy } = error;
    exceptions::InputError::new_err((file, position.line, position.column, problem, value, remedy))
}

/// Any failure of the topology layer.
pub fn topology(error: TopologyError) -> PyErr {
    match error {
        TopologyError::Input(error) => input(error),
        other => exceptions::MachineError::new_err(other.to_string()),
    }
}
