//! Reads which workload or network recorded jobs of some names ran.
//!
//! ```toml
//! [[jobs.named]]
//! name = "llama-*"                 # of the job, as sacct's JobName has it
//! train = "llama3-8b"            # layer by layer
//! samples_per_gpu = 16
//! precision = "bf16"
//!
//! [[jobs.named]]
//! name = "eval"
//! workload = "resnet-50"
//! ```

use super::RecordedJob;
use crate::diagnostic::{Diagnosis, InputError, instead_of};
use crate::scenario::fields::Fields;
use crate::scenario::trained::Trained;
use crate::simulation::cluster::Fidelity;
use crate::simulation::played::IterationSettings;
use crate::simulation::{Job, SimulationError, Task, WrittenJob};
use crate::system::System;
use crate::training::{MOST_SAMPLES, Network, Precision, Workload, workload_of};

/// Samples of each GPU where nobody says.
const SAMPLES: u32 = 32;
/// Keys that a published workload has not.
const OF_TRAINING: [&str; 3] = ["samples_per_gpu", "communication", "optimizer"];

/// Tells which iterations a recorded job is taken to have run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ran {
    /// It makes an iteration.
    pub workload: Workload,
    how: How,
}

/// How it does so.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// It goes as the scenario says of all jobs.
    AsAll,
    /// A net is trained in these numbers.
    In(Precision),
    /// A network is trained so.
    Trained(Trained),
}

impl Ran {
    /// Takes a workload, under the choices of all.
    pub(super) const fn workload(workload: Workload) -> Self {
        Self { workload, how: How::AsAll }
    }

    /// Makes a job on a number of GPUs of a system.
    ///
    /// # Errors
    /// Training that shares memory which the system does not have.
    pub(super) fn job(
        &self,
        gpus: u32,
        system: &System,
        iteration: IterationSettings,
    ) -> Result<Job, SimulationError> {
        let mut job = Job::new("alone", &self.workload, gpus);
        match &self.how {
            How::AsAll => {}
            How::In(precision) => {
                let settings = IterationSettings { precision: *precision, ..iteration };
                job.written = Some(Box::new(WrittenJob::new(Task::Workload(settings))));
            }
            How::Trained(trained) => {
                trained.apply(std::slice::from_mut(&mut job), system, iteration)?;
            }
        }
        Ok(job)
    }
}

/// Says what jobs of some names ran.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: String,
    ran: Ran,
}

/// Says what jobs ran by their names: the first entry that fits a name counts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::scenario) struct NamedJobs(Vec<Entry>);

impl NamedJobs {
    /// Reads the entries of `[[jobs.named]]`; `of_all` is how jobs train where an entry does not say it.
    ///
    /// # Errors
    /// An entry without a name, or one that names no workload and no network, or both; a key that does not belong.
    pub(in crate::scenario) fn read(
        jobs: &Fields<'_>,
        of_all: &Trained,
        fidelity: Option<Fidelity>,
    ) -> Result<Self, InputError> {
        let entries = jobs.tables("named")?.into_iter();
        let entries = entries.map(|fields| entry(&fields, of_all, fidelity));
        entries.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is no entry.
    pub(in crate::scenario) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an entry says more than a formula knows.
    pub(in crate::scenario) fn is_played(&self) -> bool {
        self.0.iter().any(|entry| entry.ran.how != How::AsAll)
    }

    /// Finds the entry that fits a job's name, with its index. A job without a name has its id for one.
    pub(super) fn of(&self, job: &RecordedJob) -> Option<(usize, &Ran)> {
        let name = job.title.as_deref().unwrap_or(&job.name);
        let fits = |(_, entry): &(usize, &Entry)| is_like(name, &entry.name);
        self.0.iter().enumerate().find(fits).map(|(index, entry)| (index, &entry.ran))
    }

    /// Tells how many jobs each entry is of: `llama3-8b (30 of llama-*)`.
    pub(super) fn told(&self, counts: &[usize]) -> String {
        let each = self.0.iter().zip(counts).map(|(entry, count)| {
            format!("{} ({count} of `{}`)", entry.ran.workload.name, entry.name)
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

fn entry(
    fields: &Fields<'_>,
    of_all: &Trained,
    fidelity: Option<Fidelity>,
) -> Result<Entry, InputError> {
    let name: String = fields.or("name", String::new())?;
    if name.is_empty() {
        let remedy = "write the name of jobs, such as `name = \"llama-*\"`";
        return Err(fields.refuse("name", "an entry without a name of jobs", remedy));
    }
    let workloads = &fields.source.registries.workloads;
    let workload = fields.named("workload", |name| {
        let remedy = || instead_of(name, &workloads.names());
        let unknown = |_| Diagnosis::of("unknown workload").remedy(remedy());
        workload_of(workloads, name).map_err(unknown)
    })?;
    let network = fields.named("train", Network::find)?;
    let precision: Option<Precision> = fields.choice("precision")?;
    let ran = match (workload, network) {
        (Some(workload), None) => {
            if let Some(key) = OF_TRAINING.into_iter().find(|key| fields.has(key)) {
                let problem = format!("`{key}` of a workload, which nothing trains layer by layer");
                return Err(fields.refuse(key, &problem, "remove it, or write `train`"));
            }
            Ran { workload, how: precision.map_or(How::AsAll, How::In) }
        }
        (None, Some(network)) => {
            let most = u32::try_from(MOST_SAMPLES).unwrap_or(u32::MAX);
            let too_many = "more samples than a step has";
            let samples = fields.count("samples_per_gpu", SAMPLES, most, too_many)?;
            let workload = Workload::of_network(network, samples);
            Ran { workload, how: How::Trained(of_all.with(fields, fidelity)?) }
        }
        (None, None) => {
            let remedy = "write `workload = \"resnet-50\"`, or `train = \"resnet-50\"`";
            return Err(fields.refuse("name", "nobody says what these jobs ran", remedy));
        }
        (Some(_), Some(_)) => {
            let remedy = "remove one of them";
            return Err(fields.refuse("train", "`train` beside a workload", remedy));
        }
    };
    Ok(Entry { name, ran })
}

/// Whether a name fits a pattern, in which `*` stands for any letters and `?` for one.
///
/// Each letter of the name is compared with each of the pattern once at most. Behind the last `*` it goes on one
/// letter later.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<char>, Vec<char>) =
        (name.chars().collect(), pattern.chars().collect());
    let (mut at, mut of, mut star) = (0, 0, None);
    while at < name.len() {
        match pattern.get(of) {
            Some('*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[at] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((last, began)) = star else { return false };
                star = Some((last, began + 1));
                at = began + 1;
                of = last + 1;
            }
        }
    }
    pattern[of..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tries every end of every star.
    fn slow(name: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|at| slow(&name[at..], rest)),
            Some((letter, rest)) => name.split_first().is_some_and(|(first, others)| {
                (*letter == '?' || letter == first) && slow(others, rest)
            }),
        }
    }

    proptest! {
        #[test]
        fn patterns_fit_as_by_brute_force(name in "[ab*]{0,8}", pattern in "[ab*?]{0,6}") {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            prop_assert_eq!(is_like(&name, &pattern), slow(&letters(&name), &letters(&pattern)));
        }
    }
}
