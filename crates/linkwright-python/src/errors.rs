//! Turns the core's errors into Python exceptions, in this one place.
//!
//! Each error enum of the core has one function, for use in `map_err`. It maps errors in a user's
//! text to `InputError`, with their place. It maps the rest to the exception of its layer.

use linkwright::allocation::AllocationError;
use linkwright::collectives::{ExecuteError, ScheduleFault};
use linkwright::diagnostic::{self, Diagnosis, instead_of};
use linkwright::memory::GpuRunError;
use linkwright::simulation::SimulationError;
use linkwright::simulation::cluster::{ClusterError, PlacementError};
use linkwright::system::SystemError;
use linkwright::training::TrainingError;
use pyo3::prelude::*;

/// Imports the exceptions that `linkwright.errors` defines.
mod exceptions {
    pyo3::import_exception!(linkwright.errors, AllocationError);
    pyo3::import_exception!(linkwright.errors, ArgumentError);
    pyo3::import_exception!(linkwright.errors, CollectiveError);
    pyo3::import_exception!(linkwright.errors, ContractError);
    pyo3::import_exception!(linkwright.errors, InputError);
    pyo3::import_exception!(linkwright.errors, LinkwrightError);
    pyo3::import_exception!(linkwright.errors, MachineError);
    pyo3::import_exception!(linkwright.errors, OutOfMemoryError);
    pyo3::import_exception!(linkwright.errors, ScheduleError);
    pyo3::import_exception!(linkwright.errors, SimulationError);
    pyo3::import_exception!(linkwright.errors, TimeLimitError);
}

/// Gives the parts of an exception: the problem, and the remedy where the core says one.
fn told(error: impl Into<Diagnosis>) -> (String, Option<String>) {
    let Diagnosis { problem, remedy } = error.into();
    (problem, remedy)
}

/// An argument of another kind; PyO3 tells its name to an exception that has none.
pub fn argument(value: &Bound<'_, PyAny>, wanted: &str, name: String) -> PyErr {
    let module = value.py().import("linkwright.errors");
    match module.and_then(|module| module.call_method1("given", (value,))) {
        Ok(given) => {
            let remedy = format!("give {wanted}");
            exceptions::ArgumentError::new_err((given.unbind(), remedy, name))
        }
        Err(error) => error,
    }
}

/// A text that no parser accepts.
pub fn input(error: diagnostic::InputError) -> PyErr {
    let diagnostic::InputError { file, position, problem, value, remedy } = error;
    exceptions::InputError::new_err((file, position.line, position.column, problem, value, remedy))
}

/// Converts any failure of the system layer.
pub fn system(error: SystemError) -> PyErr {
    match error {
        SystemError::Input(error) => input(error),
        other => exceptions::MachineError::new_err(told(other)),
    }
}

/// Converts any failure of the allocation layer.
pub fn allocation(error: AllocationError) -> PyErr {
    match error {
        AllocationError::Input(error) => input(error),
        AllocationError::System(error) => system(error),
        other => exceptions::AllocationError::new_err(told(other)),
    }
}

/// Converts any failure of the simulation layer.
pub fn simulation(error: SimulationError) -> PyErr {
    match error {
        SimulationError::Input(error) => input(error),
        SimulationError::Allocation(error) => allocation(error),
        other => exceptions::SimulationError::new_err(told(other)),
    }
}

/// Why a collective cannot be planned, timed or exported, or what is wrong with an argument.
pub fn collective(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::CollectiveError::new_err(told(error))
}

/// Converts the fault that the check found.
pub fn schedule(fault: ScheduleFault) -> PyErr {
    exceptions::ScheduleError::new_err(told(fault))
}

/// Why a schedule cannot be run.
pub fn execution(error: ExecuteError) -> PyErr {
    match error {
        ExecuteError::Schedule(fault) => schedule(fault),
        other => collective(other),
    }
}

/// Why a program cannot be made or written.
pub fn program(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::SimulationError::new_err(told(error))
}

/// Why kernels inside GPUs cannot run, or do not end.
pub fn gpus(error: GpuRunError) -> PyErr {
    match error {
        GpuRunError::TooLong { .. } => exceptions::TimeLimitError::new_err(told(error)),
        other => exceptions::SimulationError::new_err(told(other)),
    }
}

/// Why a step of training cannot be had.
pub fn training(error: TrainingError) -> PyErr {
    match error {
        TrainingError::Gpu(_) | TrainingError::NoModel { .. } => machine(error),
        TrainingError::Memory { .. } | TrainingError::TooLarge(_) => {
            exceptions::OutOfMemoryError::new_err(told(error))
        }
        other => range(other),
    }
}

/// Jobs that do not fit on a cluster.
pub fn placement(error: PlacementError) -> PyErr {
    exceptions::SimulationError::new_err(told(error))
}

/// Why jobs on a cluster cannot run or do not end.
pub fn replay(error: ClusterError) -> PyErr {
    exceptions::SimulationError::new_err(told(error))
}

/// A named choice of a collective that does not exist.
pub fn unknown_collective_choice(what: &str, name: &str, known: &[&str]) -> PyErr {
    collective(unknown(what, name, known))
}

/// An argument of a job or a simulation that is out of range.
pub fn range(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::SimulationError::new_err(told(error))
}

/// An argument of an allocation that is out of range.
pub fn allocation_choice(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::AllocationError::new_err(told(error))
}

/// A GPU that a placement names more than once.
pub fn repeated_gpu(gpu: usize) -> PyErr {
    let twice = Diagnosis::of(format!("GPU {gpu} is named twice")).remedy("name each GPU once");
    exceptions::AllocationError::new_err(told(twice))
}

/// A class of one's own that does not what its contract says.
pub fn broken_contract(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::ContractError::new_err(told(error))
}

/// Whether it is that of [`broken_contract`].
pub fn is_broken_contract(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<exceptions::ContractError>(py)
}

/// Whether it is another of Linkwright's own.
pub fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<exceptions::LinkwrightError>(py) && !is_broken_contract(py, error)
}

/// Makes the error of a package that is not installed.
pub fn missing(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::LinkwrightError::new_err(told(error))
}

/// Makes the error of a number that makes no machine.
pub fn machine(error: impl Into<Diagnosis>) -> PyErr {
    exceptions::MachineError::new_err(told(error))
}

/// A named choice of an allocation or a simulation that does not exist.
pub fn unknown_choice(what: &str, name: &str, known: &[&str]) -> PyErr {
    exceptions::AllocationError::new_err(told(unknown(what, name, known)))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Diagnosis {
    Diagnosis::of(format!("there is no {what} `{name}`")).remedy(instead_of(name, known))
}
