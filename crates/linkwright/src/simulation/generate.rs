//! Draws mixes of jobs by chance, as MAPA's evaluation drew its own.
//!
//! MAPA (section 4, "Jobs configuration") ran 300 jobs, uniform over its workloads and over sizes
//! from one to five GPUs. Of the workloads it says in that place "machine learning networks as
//! shown in Figure 5", six nets. The paragraph before says that its evaluation uses three more
//! programs. The default draws from all nine, and [`MixOptions::workloads`] restricts it. All jobs
//! wait from the start, as in the authors' program; arrivals at random are an addition of ours. The
//! seed of the paper's own list is not published.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use super::error::SimulationError;
use super::job::Job;
use crate::allocation::PatternShape;
use crate::diagnostic::Registry;
use crate::engine::Random;
use crate::training::{NamedWorkload, Network, Workload, workload_of, workloads};
use crate::units::Picoseconds;

/// Numbers the stream of a seed from which arrivals are drawn. It stands apart from the jobs' own.
/// So one seed gives the same jobs whether they arrive at once or not.
const ARRIVALS: u64 = 1;

/// The stream from which patterns are drawn, apart from both.
const PATTERNS: u64 = 2;

/// The most jobs of a mix, and of a job file: more than three years of one a minute. Each takes
/// some 200 bytes before it runs, and more when it has.
pub const MOST_JOBS: u32 = 1_000_000;

/// A kind of jobs that train a language model; jobs are drawn from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnModel {
    /// Names the kind. Its jobs show this as the name of their workload.
    pub name: String,
    /// Each job gets this many GPUs.
    pub gpus: u32,
    /// How often it is drawn, where a workload or network is drawn once.
    pub share: u32,
    /// Iterations of each job, where a mix does not say it of all.
    pub iterations: u64,
}

/// Says how to draw the jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixOptions {
    /// The seed; the same seed gives the same jobs.
    pub seed: u64,
    /// Counts the jobs.
    pub count: u32,
    /// The GPUs of the largest job; sizes are uniform from one to this.
    pub max_gpus: u32,
    /// Names the workloads to draw from, each with the same chance.
    pub workloads: Vec<String>,
    /// Networks to draw from beside them, which are trained layer by layer.
    pub train: Vec<String>,
    /// Samples of each GPU in an iteration of these.
    pub samples_per_gpu: u32,
    /// The same by the network, where one has its own.
    pub samples: BTreeMap<String, u32>,
    /// Kinds of jobs that train a model, to draw from beside both. Whoever draws must give their steps.
    pub models: Vec<DrawnModel>,
    /// The patterns to draw from, each with the same chance; a ring for all where there is none.
    pub patterns: Vec<PatternShape>,
    /// Counts the iterations of every job; as many as the workload's where absent.
    pub iterations: Option<u64>,
    /// The mean time between arrivals, exponentially distributed, the first job at
    /// zero; `None` lets all jobs arrive at zero.
    pub mean_interarrival: Option<Picoseconds>,
}

impl Default for MixOptions {
    /// Returns the paper's mix: 300 jobs of one to five GPUs over all nine workloads, at once.
    fn default() -> Self {
        Self {
            seed: 0,
            count: 300,
            max_gpus: 5,
            workloads: Workload::all().iter().map(|workload| workload.name.clone()).collect(),
            train: Vec::new(),
            samples_per_gpu: 32,
            samples: BTreeMap::new(),
            models: Vec::new(),
            patterns: Vec::new(),
            iterations: None,
            mean_interarrival: None,
        }
    }
}

/// Draws a mix of jobs, named `job-001` and so on, each with a ring or one of the patterns.
///
/// # Errors
/// Refuses more than [`MOST_JOBS`] jobs, no workload, no GPU, and a workload or network that does
/// not exist. It refuses arrivals that do not fit 64 bits of picoseconds.
///
/// ```
/// use linkwright::simulation::{MixOptions, generate};
///
/// let jobs = generate(&MixOptions { seed: 7, count: 100, ..MixOptions::default() })?;
/// assert!(jobs.iter().all(|job| (1..=5).contains(&job.gpus)));
/// # Ok::<(), linkwright::simulation::SimulationError>(())
/// ```
pub fn generate(options: &MixOptions) -> Result<Vec<Job>, SimulationError> {
    generate_from(&workloads(), options)
}

/// As [`generate()`], of workloads that a registry has.
///
/// # Errors
/// Fails as [`generate()`] does.
pub fn generate_from(
    registry: &Registry<dyn NamedWorkload>,
    options: &MixOptions,
) -> Result<Vec<Job>, SimulationError> {
    if options.count > MOST_JOBS {
        return Err(SimulationError::TooManyJobs { count: options.count });
    }
    let published = options.workloads.iter().map(|name| Ok(workload_of(registry, name)?));
    let trained = options.train.iter().map(|name| {
        let samples = options.samples.get(name).copied().unwrap_or(options.samples_per_gpu);
        Ok(Workload::of_network(Network::find(name)?, samples))
    });
    let workloads: Vec<Workload> =
        published.chain(trained).collect::<Result<_, SimulationError>>()?;
    let largest = NonZeroU64::new(options.max_gpus.into()).ok_or(SimulationError::NoGpus)?;
    let mut mix = Random::new(options.seed);
    let mut gaps = Random::stream(options.seed, ARRIVALS);
    let mut shapes = Random::stream(options.seed, PATTERNS);
    let mut arrival = Picoseconds(0);
    let mut jobs = Vec::new();
    let shares = options.models.iter().map(|model| u64::from(model.share)).sum::<u64>();
    let kinds = NonZeroU64::new(workloads.len() as u64 + shares)
        .ok_or_else(|| SimulationError::NoWorkloads { known: registry.names().join(", ") })?;
    for number in 1..=options.count {
        let (kind, name) = (mix.below(kinds), format!("job-{number:03}"));
        let job = match workloads.get(kind as usize) {
            Some(workload) => Job::new(name, workload, 1 + mix.below(largest) as u32),
            None => drawn(&options.models, kind - workloads.len() as u64, name),
        };
        let iterations = options.iterations.unwrap_or(job.iterations);
        if let Some(mean) = options.mean_interarrival.filter(|_| number > 1) {
            arrival = arrival.checked_add(gaps.exponential(mean)).ok_or_else(|| {
                SimulationError::TimeTooLong {
                    what: format!("the arrival of `{}`", job.name),
                    remedy: "choose fewer jobs or a shorter mean interarrival time",
                }
            })?;
        }
        let pattern = shapes.choose(&options.patterns).copied().unwrap_or(job.pattern);
        jobs.push(Job { arrival, iterations, pattern, ..job });
    }
    Ok(jobs)
}

/// The job of the kind in whose share a number is.
fn drawn(models: &[DrawnModel], mut number: u64, name: String) -> Job {
    let own = models.iter().find(|model| {
        let share = u64::from(model.share);
        let is_own = number < share;
        number = number.saturating_sub(share);
        is_own
    });
    let own = own.or(models.last()).expect("a number is of a share");
    Job { iterations: own.iterations, ..Job::of_own(name, own.name.clone(), own.gpus) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::job_file;

    #[test]
    fn more_jobs_than_fit_are_refused_before_the_first_is_drawn() {
        for count in [MOST_JOBS + 1, 1 << 31, u32::MAX] {
            let error = generate(&MixOptions { count, ..MixOptions::default() }).unwrap_err();
            assert_eq!(error, SimulationError::TooManyJobs { count });
        }
        let error = SimulationError::TooManyJobs { count: 2_000_000 }.to_string();
        assert_eq!(error, "a mix cannot have 2000000 jobs; use 1 to 1000000");
    }

    #[test]
    fn seed_seven_gives_these_jobs() {
        let mean_interarrival = Some(Picoseconds::SECOND);
        let jobs = generate(&MixOptions { seed: 7, mean_interarrival, ..MixOptions::default() });
        let text = job_file::write(&jobs.unwrap());
        let expected = "job,arrival,workload,gpus,pattern,sensitive,iterations\n\
            job-001,0 s,cusimann,3,ring,false,300\n\
            job-002,1.796215026808 s,alexnet,2,ring,true,10000\n\
            job-003,2.340996837906 s,inception-v3,2,ring,true,10000\n\
            job-004,2.660881320863 s,inception-v3,1,ring,true,10000\n\
            job-005,2.662310434882 s,googlenet,5,ring,false,10000\n";
        assert_eq!(text.get(..expected.len()), Some(expected));
    }

    #[test]
    fn arrivals_do_not_change_the_jobs() {
        let at_once = MixOptions { seed: 3, ..MixOptions::default() };
        let spread = MixOptions { mean_interarrival: Some(Picoseconds(1000)), ..at_once.clone() };
        let mut spread = generate(&spread).unwrap();
        assert!(spread.is_sorted_by_key(|job| job.arrival));
        assert!(spread[299].arrival > Picoseconds(200_000));
        spread.iter_mut().for_each(|job| job.arrival = Picoseconds(0));
        assert_eq!(spread, generate(&at_once).unwrap());
    }

    #[test]
    fn the_mix_is_uniform() {
        let options = MixOptions { count: 45_000, ..MixOptions::default() };
        let jobs = generate(&options).unwrap();
        for workload in Workload::all() {
            for gpus in 1..=5 {
                let alike =
                    jobs.iter().filter(|job| job.workload == workload.name && job.gpus == gpus);
                assert!(alike.count().abs_diff(1000) < 150, "{} {gpus}", workload.name);
            }
        }
    }

    #[test]
    fn networks_are_drawn_beside_workloads() {
        let train = vec!["resnet50".to_owned(), "lenet".to_owned()];
        let options = MixOptions {
            workloads: vec!["gmm".to_owned()],
            train,
            samples_per_gpu: 8,
            iterations: Some(5),
            ..MixOptions::default()
        };
        let jobs = generate(&options).unwrap();
        assert!(jobs.iter().all(|job| job.iterations == 5 && job.work().is_ok()));
        for (name, samples) in
            [("gmm", None), ("resnet-50:paper", Some(8)), ("lenet:lenet-5", Some(8))]
        {
            let of_name = |job: &&Job| (&*job.workload, job.samples_per_gpu) == (name, samples);
            assert!(jobs.iter().filter(of_name).count() > 60, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let default = MixOptions::default;
        let cases = [
            (MixOptions { max_gpus: 0, ..default() }, "0 GPUs"),
            (MixOptions { workloads: vec![], ..default() }, "name at least one of alexnet"),
            (MixOptions { workloads: vec!["gnn".into()], ..default() }, "no workload `gnn`"),
            (MixOptions { train: vec!["gnn".into()], ..default() }, "no network `gnn`"),
            (
                MixOptions { mean_interarrival: Some(Picoseconds(u64::MAX)), ..default() },
                "fewer jobs",
            ),
        ];
        for (options, message) in cases {
            let error = generate(&options).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let none = MixOptions { count: 0, ..default() };
        assert_eq!(generate(&none), Ok(vec![]));
    }
}
