//! `linkwright.Certificate` says why no schedule is faster.

use linkwright::collectives::certificate::{self as core, Proof};
use linkwright::collectives::plan::Plan;
use linkwright::system::System;
use linkwright::units::Bandwidth;
use pyo3::prelude::*;

/// Why no schedule of a plan's kind passes its optimum.
///
/// `Schedule.certificate` finds it, and `Schedule.verify` adds up the system's links anew: it shares no code with planners.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Certificate {
    data: core::Certificate,
    sides: Vec<Vec<String>>,
    links: Vec<(String, String)>,
    left_out: Vec<String>,
}

impl Certificate {
    /// Gives the core's.
    pub fn core(&self) -> &core::Certificate {
        &self.data
    }

    /// That of a plan's optimum, if it has one.
    pub fn of_plan(plan: &Plan, system: &System) -> Option<Self> {
        let data = plan.certificate(system)?;
        let names = |devices: &Vec<usize>| -> Vec<String> {
            devices.iter().map(|id| system.device_name(*id)).collect()
        };
        let sides = match &data.proof {
            Proof::Cut { side } => vec![names(side)],
            Proof::Parts { parts } => parts.iter().map(names).collect(),
            Proof::InSwitch | Proof::Weights { .. } => Vec::new(),
        };
        let ends = data.crossing.iter().map(|link| [link.from, link.to]);
        let named = ends.map(|[from, to]| (system.device_name(from), system.device_name(to)));
        let (links, left_out) = (named.collect(), names(&data.left_out));
        Some(Self { data, sides, links, left_out })
    }
}

#[pymethods]
impl Certificate {
    /// Names what it proves by: `cut`, `parts`, `in-switch` or `weights`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.data.proof.name()
    }

    /// The names of the devices on the side that data must leave, or of each part; else nothing.
    #[getter]
    fn sides(&self) -> Vec<Vec<String>> {
        self.sides.clone()
    }

    /// Lists the links that count. Each has the names of its ends and what they carry in this
    /// direction in GB/s. It says how often that counts, which is once but for weights.
    #[getter]
    fn links(&self) -> Vec<(String, String, f64, u64)> {
        let link = |((from, to), link): (&(String, String), &core::CutLink)| {
            let bandwidth = Bandwidth(link.bandwidth).as_gigabytes_per_second();
            (from.clone(), to.clone(), bandwidth, link.weight)
        };
        self.links.iter().zip(&self.data.crossing).map(link).collect()
    }

    /// The names of network interfaces that such plans leave out, since others are nearer to the GPUs.
    #[getter]
    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    /// Sums what the links carry together, each as often as it counts, in GB/s.
    #[getter]
    fn capacity(&self) -> f64 {
        self.data.capacity as f64 / 1e9
    }

    /// How many bytes of that a byte of the collective's size needs.
    #[getter]
    fn need(&self) -> f64 {
        self.data.need.bytes as f64 / self.data.need.of as f64
    }

    /// Gives capacity over need, which no schedule passes, in GB/s of the size.
    #[getter]
    fn bound(&self) -> f64 {
        self.data.bound.as_gigabytes_per_second()
    }

    fn __repr__(&self) -> String {
        format!("<Certificate by {}: at most {:.2} GB/s>", self.kind(), self.bound())
    }
}
