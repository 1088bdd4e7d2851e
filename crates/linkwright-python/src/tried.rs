//! `linkwright.Tried` tells what became of a planner.

use linkwright::collectives::plan::{self as planning, Trial};
use pyo3::prelude::*;

/// Tells of an algorithm that `plan` tried, and of the outcome.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tried(pub planning::Tried);

#[pymethods]
impl Tried {
    /// Returns the algorithm's name.
    #[getter]
    fn algorithm(&self) -> &str {
        &self.0.algorithm
    }

    /// The protocol with which its plan is the fastest; None where it was not timed.
    #[getter]
    fn protocol(&self) -> Option<&'static str> {
        match self.0.trial {
            Trial::Timed { protocol, .. } => Some(protocol.name()),
            _ => None,
        }
    }

    /// The longest run of bytes that a step of its plan moves; None where it was not timed.
    #[getter]
    fn chunk(&self) -> Option<u64> {
        match self.0.trial {
            Trial::Timed { chunk, .. } => Some(chunk.0),
            _ => None,
        }
    }

    /// Seconds that its plan takes; None where it was not timed.
    #[getter]
    fn time(&self) -> Option<f64> {
        match self.0.trial {
            Trial::Timed { time, .. } => Some(time.as_seconds()),
            _ => None,
        }
    }

    /// Returns the seconds that it takes at least. This is given where another plan is faster
    /// still, so that it was not planned; else None.
    #[getter]
    fn least_time(&self) -> Option<f64> {
        match self.0.trial {
            Trial::Hopeless { least } => Some(least.as_seconds()),
            _ => None,
        }
    }

    /// Why it has no plan; None where it has one, or was not planned since another is faster.
    #[getter]
    fn reason(&self) -> Option<&str> {
        match &self.0.trial {
            Trial::Refused(why) => Some(why),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        let what = match &self.0.trial {
            Trial::Timed { protocol, time, .. } => {
                format!("{:.1} us with {}", time.as_seconds() * 1e6, protocol.name())
            }
            Trial::Hopeless { least } => format!("at least {:.1} us", least.as_seconds() * 1e6),
            Trial::Refused(why) => why.clone(),
        };
        format!("<Tried {}: {what}>", self.algorithm())
    }
}
