//! Gives Python `linkwright.Owner`: who asked for a job's GPUs.

use linkwright::allocation;
use linkwright::diagnostic::Diagnosis;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::argument::given;
use crate::errors;
use crate::number;

/// Says who asked for a job's GPUs on a live server, and for how long.
#[pyclass(frozen, eq, module = "linkwright.allocation")]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Owner(pub allocation::Owner);

/// Converts seconds since 1970 into microseconds, as the core counts them, to the nearest.
pub fn microseconds(what: &str, seconds: f64) -> PyResult<u64> {
    // Until the year 5138; a float tells its microseconds apart.
    if (0.0..=1e11).contains(&seconds) {
        return Ok((seconds * 1e6).round() as u64);
    }
    Err(errors::allocation_choice(
        Diagnosis::of(format!("{what} is {seconds}")).remedy("give seconds from 0 to 10^11"),
    ))
}

fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

#[pymethods]
impl Owner {
    /// Makes an owner.
    ///
    /// Args:
    ///     pid: The process that asks.
    ///     host: The computer on which it runs.
    ///     time: When it asks, in seconds since 1970, as `time.time()` gives them.
    ///     lease: For how long it asks, in seconds; without end where absent.
    ///
    /// Raises:
    ///     AllocationError: If a number is negative or too large.
    #[new]
    #[pyo3(signature = (pid: "int", host: "str", time: "float", lease: "float | None" = None))]
    fn new(
        #[pyo3(from_py_with = given)] pid: i128,
        #[pyo3(from_py_with = given)] host: String,
        #[pyo3(from_py_with = given)] time: f64,
        #[pyo3(from_py_with = given)] lease: Option<f64>,
    ) -> PyResult<Self> {
        let pid = number::within("pid", pid, u32::MAX, errors::allocation_choice)?;
        let time = microseconds("time", time)?;
        let lease = lease.map(|lease| microseconds("lease", lease)).transpose()?;
        Ok(Self(allocation::Owner { pid, host, time, lease }))
    }

    /// Returns the id of the process that asked.
    #[getter]
    fn pid(&self) -> u32 {
        self.0.pid
    }

    /// Names the computer on which it ran.
    #[getter]
    fn host(&self) -> &str {
        &self.0.host
    }

    /// Says when it asked, in seconds since 1970.
    #[getter]
    fn time(&self) -> f64 {
        seconds(self.0.time)
    }

    /// Says for how long it asked, in seconds; None without end.
    #[getter]
    fn lease(&self) -> Option<f64> {
        self.0.lease.map(seconds)
    }

    /// Whether the lease has ended by this time, in seconds since 1970.
    ///
    /// Raises:
    ///     AllocationError: If the time is negative or too large.
    #[pyo3(signature = (now: "float"))]
    fn is_over(&self, #[pyo3(from_py_with = given)] now: f64) -> PyResult<bool> {
        Ok(self.0.is_over(microseconds("now", now)?))
    }

    fn __getnewargs__(&self) -> (u32, &str, f64, Option<f64>) {
        (self.pid(), self.host(), self.time(), self.lease())
    }

    fn __repr__(&self) -> String {
        let lease = self.lease().map_or(String::new(), |lease| format!(", lent for {lease} s"));
        format!("<Owner process {} on {:?} at {}{lease}>", self.0.pid, self.0.host, self.time())
    }
}
