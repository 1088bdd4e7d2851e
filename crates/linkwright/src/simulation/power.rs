//! Tells the energy that jobs take of GPUs.
//!
//! A GPU draws its busy power while a job holds it, and its power at rest else. A data sheet says the busy power as the
//! most that it draws. So the energy is an upper bound for a job's GPUs. It leaves out how much of a GPU a job uses, and
//! hosts, switches and cooling.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::queue::{JobRecord, gpus_of};
use crate::runtime::{JobOutcome, Outcome, ProgramJob};
use crate::system::System;
use crate::units::Picoseconds;

/// A kilowatt-hour has as many joules.
pub const KILOWATT_HOUR: f64 = 3.6e6;

/// Says what a GPU draws, in W. None of what nobody says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuPower {
    /// It draws this while a job holds it.
    pub busy: Option<f64>,
    /// It draws this while none does.
    pub rest: Option<f64>,
}

impl GpuPower {
    /// Takes from another what it does not say itself.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { busy: self.busy.or(other.busy), rest: self.rest.or(other.rest) }
    }

    /// Gives the mean over a span in W, where a job holds the GPU for some time.
    ///
    /// None where it is held and its busy power is unknown. An unknown power at rest counts as none.
    #[must_use]
    pub fn mean(self, held: Picoseconds, span: Picoseconds) -> Option<f64> {
        let share = if span.0 == 0 { 0.0 } else { held.0 as f64 / span.0 as f64 };
        let busy = if held.0 == 0 { 0.0 } else { self.busy? * share };
        Some(busy + self.rest.unwrap_or_default() * (1.0 - share))
    }
}

/// Says what the GPUs of a system draw, by their ids.
///
/// `of_gpus` goes before `of_models`, and that before data sheets. Models are named in small letters, and the empty
/// name is of all that have no other.
#[must_use]
pub fn powers(
    system: &System,
    of_models: &BTreeMap<String, GpuPower>,
    of_gpus: &BTreeMap<u32, GpuPower>,
) -> Vec<GpuPower> {
    let given = |model: &str| of_models.get(model).copied().unwrap_or_default();
    let of_kind = |kind: usize| -> Vec<GpuPower> {
        let server = system.kinds()[kind].server();
        let of_device = |device: &usize| {
            let device = &server.devices()[*device];
            let name = device.model.as_deref().unwrap_or_default().to_lowercase();
            let busy = || Some(device.gpu_model()?.power().ok()?.busy.as_watts());
            let of_sheet = GpuPower { busy: busy(), rest: None };
            given(&name).or(given("")).or(of_sheet)
        };
        server.gpus().iter().map(of_device).collect()
    };
    let of_kinds: Vec<Vec<GpuPower>> = (0..system.kinds().len()).map(of_kind).collect();
    let servers = (0..system.servers()).flat_map(|it| &of_kinds[system.kind_index_of(it)]);
    let own = |gpu: u32| of_gpus.get(&gpu).copied().unwrap_or_default();
    (0..).zip(servers).map(|(gpu, power)| own(gpu).or(*power)).collect()
}

/// Says which GPUs a job has, and from when to when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// They have these ids in the system.
    pub gpus: Vec<u32>,
    /// It gets them then.
    pub start: Picoseconds,
    /// It gives them back then.
    pub end: Picoseconds,
}

/// Says what each job of a day held.
#[must_use]
pub fn held_by_day(system: &System, records: &[JobRecord]) -> Vec<Held> {
    let first = system.first_gpus();
    let tries = records.iter().flat_map(JobRecord::tries);
    tries.map(|(start, end, parts)| Held { gpus: gpus_of(parts, &first), start, end }).collect()
}

/// Says what each program held.
#[must_use]
pub fn held_by_programs(jobs: &[ProgramJob], outcome: &Outcome) -> Vec<Held> {
    let of = |(job, it): (&ProgramJob, &JobOutcome)| {
        // Several ranks may have one GPU.
        let gpus: BTreeSet<u32> = job.mapping.iter().copied().collect();
        Held { gpus: gpus.into_iter().collect(), start: it.start, end: it.end }
    };
    jobs.iter().zip(&outcome.jobs).map(of).collect()
}

/// Says how long each GPU of a system was held by any job.
#[must_use]
pub fn busy_times(gpus: usize, held: &[Held]) -> Vec<Picoseconds> {
    let mut spans: Vec<Vec<(Picoseconds, Picoseconds)>> = vec![Vec::new(); gpus];
    for job in held {
        for gpu in &job.gpus {
            spans[*gpu as usize].push((job.start, job.end));
        }
    }
    let of_gpu = |mut spans: Vec<(Picoseconds, Picoseconds)>| {
        spans.sort_unstable();
        let (mut sum, mut until) = (0, Picoseconds(0));
        for (start, end) in spans {
            sum += end.0.saturating_sub(start.max(until).0);
            until = until.max(end);
        }
        Picoseconds(sum)
    };
    spans.into_iter().map(of_gpu).collect()
}

/// Holds the energy that jobs take of GPUs, in kWh. None where a GPU's busy power is unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuEnergy {
    /// It is that of all GPUs from time zero until the last job's end.
    pub whole: Option<f64>,
    /// The GPUs of each job take this while it has them.
    pub jobs: Vec<Option<f64>>,
    /// Tells whether all that GPUs draw at rest is in the whole.
    pub has_rest: bool,
}

/// Gives the energy that jobs take of GPUs with these powers.
#[must_use]
pub fn gpu_energy(powers: &[GpuPower], held: &[Held]) -> GpuEnergy {
    let span = held.iter().map(|job| job.end).max().unwrap_or_default();
    let busy = busy_times(powers.len(), held);
    let energy = |power: &GpuPower, held: Picoseconds, span: Picoseconds| {
        Some(power.mean(held, span)? * span.as_seconds() / KILOWATT_HOUR)
    };
    let of_job = |job: &Held| {
        let time = Picoseconds(job.end.0 - job.start.0);
        sum(job.gpus.iter().map(|gpu| energy(&powers[*gpu as usize], time, time)))
    };
    let whole = powers.iter().zip(&busy).map(|(power, held)| energy(power, *held, span));
    GpuEnergy {
        whole: sum(whole),
        jobs: held.iter().map(of_job).collect(),
        has_rest: powers.iter().zip(&busy).all(|(it, held)| it.rest.is_some() || *held == span),
    }
}

fn sum(mut each: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    each.try_fold(0.0, |sum, energy| Some(sum + energy?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::system::presets;

    fn job(gpus: &[u32], start: u64, end: u64) -> Held {
        let at = |seconds: u64| Picoseconds(seconds * Picoseconds::SECOND.0);
        Held { gpus: gpus.to_vec(), start: at(start), end: at(end) }
    }

    #[test]
    fn two_jobs_by_hand() {
        let power = |busy, rest| GpuPower { busy: Some(busy), rest };
        let powers = [power(300.0, Some(50.0)), power(300.0, Some(50.0)), power(100.0, Some(0.0))];
        let held = [job(&[0], 0, 10), job(&[0, 1], 10, 40)];
        let found = gpu_energy(&powers, &held);
        // GPU 0 works for 40 s, GPU 1 for 30 s of them, and GPU 2 rests without drawing anything.
        let joules = 300.0 * 40.0 + 300.0 * 30.0 + 50.0 * 10.0;
        assert!((found.whole.unwrap() * KILOWATT_HOUR - joules).abs() < 1e-9 * joules);
        let of_jobs: Vec<f64> = found.jobs.iter().map(|it| it.unwrap() * KILOWATT_HOUR).collect();
        assert!((of_jobs[0] - 3000.0).abs() < 1e-6 && (of_jobs[1] - 18_000.0).abs() < 1e-6);
        assert!(found.has_rest);
    }

    #[test]
    fn what_is_unknown_is_told() {
        let known = GpuPower { busy: Some(300.0), rest: None };
        let held = [job(&[0], 0, 10)];
        let found = gpu_energy(&[known, GpuPower::default()], &held);
        assert_eq!(found.whole, Some(3000.0 / KILOWATT_HOUR));
        assert!(!found.has_rest);
        assert!(gpu_energy(&[known], &held).has_rest);
        let found = gpu_energy(&[GpuPower::default()], &held);
        assert_eq!((found.whole, found.jobs), (None, vec![None]));
    }

    #[test]
    fn a_gpu_goes_before_its_model_and_that_before_the_data_sheet() {
        let system = System::of_server(Arc::new(
            presets::servers().get("dgx1-v100").unwrap().server().unwrap(),
        ));
        let none = (BTreeMap::new(), BTreeMap::new());
        let found = powers(&system, &none.0, &none.1);
        assert_eq!(found, vec![GpuPower { busy: Some(300.0), rest: None }; 8]);
        let of = |busy, rest| GpuPower { busy, rest };
        let models = BTreeMap::from([
            (String::new(), of(Some(200.0), Some(40.0))),
            ("v100-sxm2-16gb".to_owned(), of(Some(250.0), None)),
        ]);
        let gpus = BTreeMap::from([(3, of(None, Some(60.0)))]);
        let found = powers(&system, &models, &gpus);
        assert_eq!(found[0], of(Some(250.0), Some(40.0)));
        assert_eq!(found[3], of(Some(250.0), Some(60.0)));
    }

    proptest! {
        #[test]
        fn a_gpu_is_busy_as_long_as_any_job_has_it(
            spans in prop::collection::vec((0..4_u32, 0..50_u64, 0..50_u64), 0..12)
        ) {
            let held: Vec<Held> =
                spans.iter().map(|(gpu, start, time)| job(&[*gpu], *start, start + time)).collect();
            let found = busy_times(4, &held);
            for gpu in 0..4 {
                let has = |second: &u64| spans.iter().any(|(of, start, time)| {
                    *of == gpu && (*start..start + time).contains(second)
                });
                let seconds = (0..100).filter(has).count() as u64;
                prop_assert_eq!(found[gpu as usize].0, seconds * Picoseconds::SECOND.0);
            }
        }
    }
}
