//! Tells Python of `linkwright.BandwidthFit`.

use linkwright::allocation::bandwidth::fit::{Fit, Sample};
use linkwright::allocation::links::LinkCounts;
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number;

/// Gives the links of a sample, double and single NVLinks and PCIe, and the bandwidth in GB/s.
type Measured = ((i128, i128, i128), f64);

/// Holds MAPA's Eq. 2 with coefficients of its own, and how far it misses its samples.
///
/// `Allocator` takes it in place of the published coefficients. Bandwidths are in GB/s.
#[pyclass(frozen, eq, module = "linkwright.allocation")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BandwidthFit(pub Fit);

#[pymethods]
impl BandwidthFit {
    /// Fits the fourteen terms to samples by least squares.
    ///
    /// Args:
    ///     samples: Links by class, as `Match.links` counts them, with the bus bandwidth that an
    ///         all-reduce reached, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If there is no sample, or one is negative or no number.
    #[new]
    #[pyo3(signature = (samples: "Sequence[tuple[tuple[int, int, int], float]]"))]
    fn new(#[pyo3(from_py_with = given)] samples: Vec<Measured>) -> PyResult<Self> {
        let count =
            |what, links| number::within(what, links, usize::MAX, errors::allocation_choice);
        let sample = |((double, single, pcie), bandwidth): Measured| {
            let links = LinkCounts {
                double: count("double", double)?,
                single: count("single", single)?,
                pcie: count("pcie", pcie)?,
            };
            Ok(Sample { links, bandwidth })
        };
        let samples = samples.into_iter().map(sample).collect::<PyResult<Vec<_>>>()?;
        Fit::to(&samples).map(Self).map_err(errors::allocation)
    }

    /// Reads what `to_toml` wrote; `file` names the text in errors.
    ///
    /// Raises:
    ///     InputError: If the text is no such file or lacks a coefficient, with line and column.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_text(
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        Fit::read(file, text).map(Self).map_err(errors::input)
    }

    /// Writes it as TOML, which `allocate --bandwidth-model` takes.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Gives the effective bandwidth that it predicts for these links, in GB/s.
    ///
    /// Raises:
    ///     AllocationError: If a number is negative.
    #[pyo3(signature = (double: "int", single: "int", pcie: "int"))]
    fn effective_bandwidth(
        &self,
        #[pyo3(from_py_with = given)] double: i128,
        #[pyo3(from_py_with = given)] single: i128,
        #[pyo3(from_py_with = given)] pcie: i128,
    ) -> PyResult<f64> {
        let count =
            |what, links| number::within(what, links, usize::MAX, errors::allocation_choice);
        let links = LinkCounts {
            double: count("double", double)?,
            single: count("single", single)?,
            pcie: count("pcie", pcie)?,
        };
        Ok(self.0.coefficients.0.effective_bandwidth(links))
    }

    /// Gives its coefficients, in the order of the paper's Table 2.
    #[getter]
    fn coefficients(&self) -> Vec<f64> {
        self.0.coefficients.into()
    }

    /// How many samples it was fitted to.
    #[getter]
    fn samples(&self) -> usize {
        self.0.samples
    }

    /// How many of the terms the samples tell apart; the others are zero.
    #[getter]
    fn terms(&self) -> usize {
        self.0.terms
    }

    /// Gives the root of the mean squared error on the samples.
    #[getter]
    fn root_mean_square_error(&self) -> f64 {
        self.0.root_mean_square_error
    }

    /// Gives the mean of the absolute errors on the samples.
    #[getter]
    fn mean_absolute_error(&self) -> f64 {
        self.0.mean_absolute_error
    }

    /// Gives the root mean square error of each sample's prediction by a fit to all others.
    ///
    /// It is over the samples that the others can predict; None where there are none.
    #[getter]
    fn left_out_error(&self) -> Option<f64> {
        self.0.left_out_error
    }

    /// How many samples the others cannot predict, since each alone decides a term.
    #[getter]
    fn deciding(&self) -> usize {
        self.0.deciding
    }

    fn __repr__(&self) -> String {
        let Fit { samples, root_mean_square_error, .. } = self.0;
        format!("<BandwidthFit to {samples} samples: RMSE {root_mean_square_error:.2} GB/s>")
    }
}
