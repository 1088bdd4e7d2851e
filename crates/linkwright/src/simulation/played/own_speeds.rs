//! Says how long jobs compute on a system's GPUs, kind by kind, and why. Comparisons of machines tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::iteration::IterationSettings;
use super::speeds::{GpuSpeed, Kernels, MeasuredTimes, at_rate};
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::simulation::written::Task;
use crate::system::System;
use crate::system::gpus::{GpuModel, NumberType};
use crate::training::Training;
use crate::training::workload::Work;
use crate::units::Picoseconds;

/// Says what a speed follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeedBasis {
    /// The GPU that workloads are timed on stands for every GPU.
    Reference,
    /// It is the peak of a unit.
    Peak {
        /// Whether the unit multiplies matrices; else it is the plain cores.
        is_matrix: bool,
    },
    /// Somebody has measured it.
    Measured,
    /// The training model says it.
    Layers,
}

impl SpeedBasis {
    /// Gives its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Peak { is_matrix: false } => "vector",
            Self::Peak { is_matrix: true } => "matrix",
            Self::Measured => "measured",
            Self::Layers => "layers",
        }
    }
}

/// Says how long jobs of one kind compute on a system.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnSpeed {
    /// Names the workload or network that they run.
    pub workload: String,
    /// It has kernels of numbers of this type.
    pub number: NumberType,
    /// It has this model as the system's slowest GPU for it.
    pub gpu: String,
    /// The time follows from this.
    pub basis: SpeedBasis,
    /// An iteration computes for this long on that GPU.
    pub computing: Picoseconds,
    /// There are this many jobs.
    pub jobs: u64,
}

/// Says how long the jobs of each kind compute on the slowest GPU of a system. Programs say it themselves, and are left out.
///
/// # Errors
/// A GPU whose own speed is asked for and not known; a network that it cannot train.
pub fn own_speeds(
    system: &System,
    of_all: IterationSettings,
    jobs: &[Job],
) -> Result<Vec<OwnSpeed>, SimulationError> {
    let mut found: Vec<OwnSpeed> = Vec::new();
    // A day has many jobs and few kinds of them.
    let mut known: BTreeMap<Kind, usize> = BTreeMap::new();
    let models = models(system);
    for job in jobs {
        let kind = (
            job.workload.clone(),
            job.iteration(of_all),
            job.samples_per_gpu,
            job.compute_per_iteration,
            job.measured.clone(),
            match job.task() {
                Some(Task::Training(task)) => Some(Arc::as_ptr(task) as usize),
                Some(Task::Model(task)) => Some(Arc::as_ptr(task) as usize),
                Some(Task::Workload(_) | Task::Program(_)) | None => None,
            },
        );
        if let Some(at) = known.get(&kind) {
            found[*at].jobs += 1;
            continue;
        }
        let mut slowest: Option<OwnSpeed> = None;
        for model in &models {
            let own = of_model(job, of_all, *model)?;
            let slower = own
                .filter(|own| slowest.as_ref().is_none_or(|known| own.computing > known.computing));
            slowest = slower.or(slowest);
        }
        if let Some(slowest) = slowest {
            known.insert(kind, found.len());
            found.push(slowest);
        }
    }
    Ok(found)
}

/// Tells kinds of jobs apart: by workload, settings, samples, times and task.
type Kind = (
    String,
    IterationSettings,
    Option<u32>,
    Option<Picoseconds>,
    Option<Arc<MeasuredTimes>>,
    Option<usize>,
);

/// The models of a system's GPUs, each once; None of a GPU that has none.
fn models(system: &System) -> Vec<Option<&GpuModel>> {
    let mut found: Vec<Option<&GpuModel>> = Vec::new();
    for kind in system.kinds() {
        let server = kind.server();
        for gpu in server.gpus() {
            let model = server.devices()[*gpu].gpu_model();
            if !found.contains(&model) {
                found.push(model);
            }
        }
    }
    found
}

/// How long a job computes on a model; None of a program, and of what no file says.
fn of_model(
    job: &Job,
    of_all: IterationSettings,
    model: Option<&GpuModel>,
) -> Result<Option<OwnSpeed>, SimulationError> {
    let made = |number: NumberType, basis: SpeedBasis, computing: Picoseconds| OwnSpeed {
        workload: job.workload.clone(),
        number,
        gpu: model.map_or_else(String::new, |model| model.name.clone()),
        basis,
        computing,
        jobs: 1,
    };
    let trained = |training: Training<'_>| -> Result<Option<OwnSpeed>, SimulationError> {
        let Some(model) = model else { return Ok(None) };
        let turns = training.turns(model, job.gpus as usize)?;
        Ok(Some(made(training.precision.number(), SpeedBasis::Layers, turns.computed())))
    };
    match job.task() {
        Some(Task::Training(task)) => return trained(task.training()),
        Some(Task::Program(_) | Task::Model(_)) => return Ok(None),
        Some(Task::Workload(_)) | None => {}
    }
    let work = job.work()?;
    if let Work::Layers { network, samples_per_gpu } = work.work {
        let batch = u64::from(samples_per_gpu) * u64::from(job.gpus);
        return trained(Training::usual(network, batch));
    }
    let settings = job.iteration(of_all);
    let (kernels, whole) = (Kernels::of(&work), work.compute_per_iteration());
    let measured = model.and_then(|model| job.measured.as_ref()?.get(&model.name));
    let peak = model.and_then(|model| kernels.peak(model, settings.precision));
    Ok(match (measured, settings.gpu_speed, peak) {
        (Some(measured), ..) => {
            let number = peak.map_or(settings.precision.number(), |(_, number, _)| number);
            Some(made(number, SpeedBasis::Measured, *measured))
        }
        (None, GpuSpeed::Reference, _) => {
            Some(made(NumberType::Fp32, SpeedBasis::Reference, whole))
        }
        (None, GpuSpeed::Own, Some((rate, number, is_matrix))) => {
            Some(made(number, SpeedBasis::Peak { is_matrix }, at_rate(whole, rate)))
        }
        (None, GpuSpeed::Own, None) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Named as _;
    use crate::simulation::played::speeds::{Speeds, Timed};
    use crate::system::gpus;
    use crate::system::test_support::alone;
    use crate::training::{Precision, Workload};
    use proptest::prelude::*;

    fn own(precision: Precision) -> IterationSettings {
        IterationSettings { gpu_speed: GpuSpeed::Own, precision, ..IterationSettings::default() }
    }

    fn job(workload: &str) -> Job {
        Job::new("job", Workload::find(workload).unwrap(), 1)
    }

    fn computing(machine: &str, settings: IterationSettings, job: &Job) -> Picoseconds {
        own_speeds(&alone(machine), settings, std::slice::from_ref(job)).unwrap()[0].computing
    }

    /// The peaks are those of the data sheets, without sparsity.
    #[test]
    fn a_b200_is_faster_than_an_h100_by_the_peaks_of_the_numbers() {
        let ratio = |precision, name: &str| {
            let of = |machine| computing(machine, own(precision), &job(name)).0 as f64;
            of("hgx-h100") / of("hgx-b200")
        };
        for (precision, expected) in [
            (Precision::Fp32, 75.0 / 66.9),
            (Precision::Tf32, 1100.0 / 494.7),
            (Precision::Fp16, 2250.0 / 989.4),
            (Precision::Bf16, 2250.0 / 989.4),
        ] {
            assert!((ratio(precision, "vgg-16") - expected).abs() < 1e-6, "{precision:?}");
            // Kernels without matrices have their own unit.
            assert!((ratio(precision, "jacobi") - 75.0 / 66.9).abs() < 1e-6, "{precision:?}");
        }
    }

    #[test]
    fn the_gpu_that_workloads_are_timed_on_takes_their_times() {
        for workload in Workload::all() {
            let of = |settings| computing("dgx1-v100", settings, &job(&workload.name));
            assert_eq!(of(own(Precision::Fp32)), workload.compute_per_iteration());
            assert_eq!(of(IterationSettings::default()), workload.compute_per_iteration());
        }
        // A V100 multiplies no such numbers.
        let error = own_speeds_error("dgx1-v100", own(Precision::Bf16));
        assert!(error.contains("in bf16 is not known"), "{error}");
    }

    fn own_speeds_error(machine: &str, settings: IterationSettings) -> String {
        Speeds::of(&alone(machine), settings).unwrap_err().to_string()
    }

    #[test]
    fn what_was_measured_stands_in_for_the_peak() {
        let time = Picoseconds(7_000_000_001);
        let times = MeasuredTimes::from([("b200-sxm6-180gb".to_owned(), time)]);
        let job = Job { measured: Some(Arc::new(times)), ..job("vgg-16") };
        assert_eq!(computing("hgx-b200", own(Precision::Bf16), &job), time);
        let whole = job.work().unwrap().compute_per_iteration();
        let timed = Timed::Reference(Kernels::Matrices).measured(&job, whole);
        for settings in [own(Precision::Bf16), IterationSettings::default()] {
            let speeds = Speeds::of(&alone("hgx-b200"), settings).unwrap();
            let rate = speeds.of_gpus(&alone("hgx-b200"), &[0], &timed)[0];
            assert!(at_rate(whole, rate).0.abs_diff(time.0) <= 1);
        }
        let without = Job { measured: None, ..job.clone() };
        let on = |job| computing("hgx-h100", own(Precision::Bf16), job);
        assert_eq!(on(&job), on(&without));
    }

    proptest! {
        /// Whatever the GPUs and the workload are, a higher peak never takes longer.
        #[test]
        fn a_higher_peak_never_computes_longer(
            index in 0_usize..9, a in 0_usize..200, b in 0_usize..200, precision in 0_usize..4,
        ) {
            let models: Vec<&GpuModel> = gpus::all().collect();
            let (a, b) = (models[a % models.len()], models[b % models.len()]);
            let settings = own(Precision::NAMED[precision].1);
            let job = job(&Workload::all()[index].name);
            let peak = |model| Kernels::of(&job.work().unwrap()).peak(model, settings.precision);
            let time = |model| of_model(&job, settings, Some(model)).unwrap();
            match (peak(a), peak(b)) {
                (Some((of_a, ..)), Some((of_b, ..))) if of_a >= of_b => {
                    prop_assert!(time(a).unwrap().computing <= time(b).unwrap().computing);
                }
                (None, _) => prop_assert_eq!(time(a), None),
                _ => {}
            }
        }
    }
}
