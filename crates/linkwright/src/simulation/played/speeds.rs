//! Says how fast GPUs compute: as the one that workloads are timed on, by their peaks, or as somebody measured.
//!
//! A net's kernels multiply matrices. They compute as much faster on another GPU as the peak of the unit is higher that
//! multiplies numbers of their precision, without sparsity. Other workloads calculate on the plain cores in 32-bit
//! numbers, whatever the precision is. A network that is trained layer by layer takes what the training model says.
//!
//! It leaves out that kernels reach another share of a higher peak, and that memory is not as much faster. Who measured
//! a workload on a GPU may say so: then its computing takes as long as that.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::iteration::IterationSettings;
use crate::diagnostic::Named;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::system::gpus::{GpuModel, NumberType};
use crate::system::{Server, System};
use crate::training::Precision;
use crate::training::workload::{Workload, reference_rate};
use crate::units::{OperationRate, Picoseconds};

/// Times of computing an iteration, by the name of the GPU's model on which they were measured.
pub type MeasuredTimes = BTreeMap<String, Picoseconds>;

/// Says how fast GPUs compute.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum GpuSpeed {
    /// As the GPU that the workloads are timed on, whatever the server has.
    #[default]
    Reference,
    /// As much faster as the peak of the server's GPU is higher, of the unit and the numbers that the workload uses.
    Own,
}

impl Named for GpuSpeed {
    const WHAT: &'static str = "speed of GPUs";
    const NAMED: &'static [(&'static str, Self)] =
        &[("reference", Self::Reference), ("own", Self::Own)];
}

/// Turns a time of computing at the reference's speed into the one on a GPU of another.
pub(super) fn at_rate(duration: Picoseconds, rate: OperationRate) -> Picoseconds {
    let scaled = u128::from(duration.0) * u128::from(reference_rate().0);
    Picoseconds(u64::try_from(scaled / u128::from(rate.0.max(1))).unwrap_or(u64::MAX))
}

/// Gives the rate at which a time at the reference's speed becomes another.
fn rate_for(reference: Picoseconds, measured: Picoseconds) -> OperationRate {
    let scaled = u128::from(reference.0) * u128::from(reference_rate().0);
    OperationRate(u64::try_from(scaled / u128::from(measured.0.max(1))).unwrap_or(u64::MAX))
}

/// Names the part of a GPU that calculates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kernels {
    /// Plain cores do, in 32-bit numbers.
    Plain,
    /// Units do that multiply matrices of the precision's numbers.
    Matrices,
}

impl Kernels {
    /// Finds those of a workload; a net's multiply matrices, even where somebody measured how long they take.
    pub(super) fn of(workload: &Workload) -> Self {
        let is_net = workload.is_training()
            || Workload::find(&workload.name).is_ok_and(Workload::is_training);
        if is_net { Self::Matrices } else { Self::Plain }
    }

    /// Gives the peak at which they calculate on a model, the numbers, and whether matrix units do so. None where its
    /// file does not say it.
    pub(super) fn peak(
        self,
        model: &GpuModel,
        precision: Precision,
    ) -> Option<(OperationRate, NumberType, bool)> {
        match self {
            Self::Plain => {
                let rate = model.vector_rate(NumberType::Fp32).ok()?;
                Some((rate, NumberType::Fp32, false))
            }
            Self::Matrices => {
                let (rate, is_matrix) = precision.peak_of(model).ok()?;
                Some((rate, precision.number(), is_matrix))
            }
        }
    }
}

/// Says whose times the steps of an iteration have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timed {
    /// They are those of the GPUs that the job got.
    OnGpus,
    /// They are the reference's, and become these kernels'.
    Reference(Kernels),
    /// The same, which take the whole time together; on some models other times were measured.
    Measured { times: Arc<MeasuredTimes>, whole: Picoseconds, kernels: Kernels },
}

impl Timed {
    /// Is of a workload whose steps have the reference's times.
    pub(super) fn of(workload: &Workload) -> Self {
        Self::Reference(Kernels::of(workload))
    }

    /// Adds the times that were measured of the job, where there are any.
    pub(super) fn measured(self, job: &Job, whole: Picoseconds) -> Self {
        match (self, &job.measured) {
            (Self::Reference(kernels), Some(times)) => {
                Self::Measured { times: Arc::clone(times), whole, kernels }
            }
            (timed, _) => timed,
        }
    }
}

/// Holds the known speeds of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GpuPeaks {
    model: Option<String>,
    plain: OperationRate,
    matrices: OperationRate,
}

/// Holds the speed of every GPU, by its kind of server and its index there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Speeds(Vec<Vec<GpuPeaks>>);

impl Speeds {
    /// Finds those that the settings name.
    pub(super) fn of(
        system: &System,
        settings: IterationSettings,
    ) -> Result<Self, SimulationError> {
        let IterationSettings { gpu_speed, precision, .. } = settings;
        let of_server = |server: &Arc<Server>| -> Result<Vec<GpuPeaks>, SimulationError> {
            let gpus = server.gpus().iter().map(|gpu| &server.devices()[*gpu]);
            let own = gpus.map(|device| {
                let model = device.gpu_model();
                let rate = |kernels: Kernels, number: NumberType| match gpu_speed {
                    GpuSpeed::Reference => Ok(reference_rate()),
                    GpuSpeed::Own => {
                        let peak = model.and_then(|model| kernels.peak(model, precision));
                        let unknown = || SimulationError::UnknownSpeed {
                            server: server.name().to_owned(),
                            gpu: device.name.clone(),
                            number,
                        };
                        peak.map(|(rate, ..)| rate).ok_or_else(unknown)
                    }
                };
                Ok(GpuPeaks {
                    model: model.map(|model| model.name.clone()),
                    plain: rate(Kernels::Plain, NumberType::Fp32)?,
                    matrices: rate(Kernels::Matrices, precision.number())?,
                })
            });
            own.collect()
        };
        let kinds = system.kinds().iter().map(|kind| of_server(kind.server()));
        Ok(Self(kinds.collect::<Result<_, _>>()?))
    }

    /// Gives those of GPUs by their ids in the system, for such steps.
    pub(super) fn of_gpus(
        &self,
        system: &System,
        gpus: &[usize],
        timed: &Timed,
    ) -> Vec<OperationRate> {
        let of = |gpu: &usize| {
            let at = system.gpu(*gpu as u32);
            self.0[system.kind_index_of(at.server)][at.index as usize].rate(timed)
        };
        gpus.iter().map(of).collect()
    }
}

impl GpuPeaks {
    fn rate(&self, timed: &Timed) -> OperationRate {
        let of = |kernels: &Kernels| match kernels {
            Kernels::Plain => self.plain,
            Kernels::Matrices => self.matrices,
        };
        match timed {
            Timed::OnGpus => reference_rate(),
            Timed::Reference(kernels) => of(kernels),
            Timed::Measured { times, whole, kernels } => {
                let measured = self.model.as_ref().and_then(|model| times.get(model));
                measured.map_or_else(|| of(kernels), |measured| rate_for(*whole, *measured))
            }
        }
    }
}
