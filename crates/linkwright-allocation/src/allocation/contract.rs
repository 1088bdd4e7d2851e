//! Holds every policy to its contract. Whoever writes one can ask for it.

use std::cell::OnceCell;

use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::pattern::{Pattern, PatternShape};
use super::policy::{Policy, Request};
use super::prepared::{BandwidthModel, PreparedMachine};
use super::selection::Selection;
use crate::engine::Random;
use crate::system::BandwidthProfile;
use crate::system::presets::preset;

/// Names the machines of [`machines`]: two of NVLinks by pairs, one of switches, and a torus of 16 GPUs.
const MACHINES: [&str; 4] = ["dgx1-v100", "summit-node", "hgx-h100", "torus2d-16"];

/// How many questions each policy is asked on each machine.
const QUESTIONS: u64 = 64;

/// Says whether a policy keeps a promise by its answers; the error says what it did, in words.
type Check = fn(&Answers<'_>) -> Result<(), String>;

/// Lists what every policy promises, with the check of each.
pub const PROMISES: [(&str, Check); 5] = [
    ("a job that fits gets GPUs, and no other does", a_job_that_fits_gets_gpus),
    ("a job gets free GPUs, as many as it asks for, each once", gpus_are_free_and_complete),
    ("the same question has the same answer", answers_repeat),
    ("a match has the scores that the machine gives it", scores_are_the_machine_s),
    ("jobs fill an idle machine to the last GPU", jobs_fill_the_machine),
];

/// Prepares machines of four kinds of wiring.
#[must_use]
pub fn machines() -> Vec<PreparedMachine> {
    let servers = MACHINES.iter().filter_map(|name| preset(name).ok());
    let made = servers.filter_map(|server| {
        PreparedMachine::new(&server, BandwidthProfile::Mapa, BandwidthModel::Sound).ok()
    });
    made.collect()
}

/// Asks a policy for all that this module asks; gives each broken promise with its first case, in words.
#[must_use]
pub fn broken(policy: &dyn Policy, machines: &[PreparedMachine]) -> Vec<String> {
    let answers: Vec<Answers<'_>> =
        machines.iter().map(|machine| Answers::twice(policy, machine)).collect();
    let fault = |(promise, check): &(&str, Check)| {
        let found = answers.iter().find_map(|answers| check(answers).err())?;
        Some(format!("`{}` breaks the promise that {promise}: {found}", policy.name()))
    };
    PROMISES.iter().filter_map(fault).collect()
}

/// A question to a policy: a job, and the GPUs that are free.
#[derive(Debug)]
struct PolicyQuestion {
    /// Says which of the job's GPUs talk to which.
    pattern: Pattern,
    /// Whether its run time depends on bandwidth.
    sensitive: bool,
    /// The GPUs that it may have.
    free: GpuSet,
}

impl PolicyQuestion {
    /// Asks a policy with a whole effort.
    fn ask(&self, policy: &dyn Policy, machine: &PreparedMachine) -> Option<Selection> {
        let request = Request { pattern: &self.pattern, sensitive: self.sensitive };
        policy.choose(machine, &request, self.free, &mut Effort::new())
    }

    fn told(&self, machine: &PreparedMachine) -> String {
        let (shape, size) = (self.pattern.shape().name(), self.pattern.size());
        format!("a {shape} of {size} with {} free on {}", self.free, machine.name())
    }
}

/// Holds a policy to its answers on a machine: they are asked for when a check first looks, and kept.
///
/// Several promises can so be held to the same answers.
pub struct Answers<'a> {
    policy: &'a dyn Policy,
    machine: &'a PreparedMachine,
    asked: Vec<(PolicyQuestion, Given)>,
}

/// Keeps the answers of a policy to a question, as far as they were asked for.
#[derive(Default)]
struct Given {
    first: OnceCell<Option<Selection>>,
    second: OnceCell<Option<Selection>>,
}

impl<'a> Answers<'a> {
    /// Asks nothing yet.
    #[must_use]
    pub fn new(policy: &'a dyn Policy, machine: &'a PreparedMachine) -> Self {
        let asked = questions(machine).map(|question| (question, Given::default())).collect();
        Self { policy, machine, asked }
    }

    /// Asks each question twice in a row. Every promise is then held to these answers.
    fn twice(policy: &'a dyn Policy, machine: &'a PreparedMachine) -> Self {
        let answers = Self::new(policy, machine);
        for (question, given) in &answers.asked {
            let _ = (answers.first(question, given), answers.second(question, given));
        }
        answers
    }

    /// Gives each question with the first answer to it.
    fn each(&self) -> impl Iterator<Item = (&PolicyQuestion, Option<&Selection>)> {
        self.asked.iter().map(|(question, given)| (question, self.first(question, given)))
    }

    fn first<'b>(&self, question: &PolicyQuestion, given: &'b Given) -> Option<&'b Selection> {
        given.first.get_or_init(|| question.ask(self.policy, self.machine)).as_ref()
    }

    fn second<'b>(&self, question: &PolicyQuestion, given: &'b Given) -> Option<&'b Selection> {
        given.second.get_or_init(|| question.ask(self.policy, self.machine)).as_ref()
    }
}

/// Draws questions by chance: jobs of one to five GPUs, and any GPUs free.
fn questions(machine: &PreparedMachine) -> impl Iterator<Item = PolicyQuestion> {
    let mut random = Random::new(1);
    let all = GpuSet::first(machine.gpu_count());
    let question = move |_| {
        let mut below = |bound: u64| bound.try_into().map_or(0, |bound| random.below(bound));
        let shape = PatternShape::ALL[below(PatternShape::ALL.len() as u64) as usize];
        let size = 1 + below(5) as usize;
        let free = (u128::from(below(u64::MAX)) << 64) | u128::from(below(u64::MAX));
        let pattern = Pattern::new(shape, size).ok()?;
        Some(PolicyQuestion {
            pattern,
            sensitive: below(2) == 1,
            free: GpuSet(free).intersection(all),
        })
    };
    (0..QUESTIONS).filter_map(question)
}

/// Checks that a job gets GPUs where as many are free, and none where they are not.
///
/// # Errors
/// The first question whose answer is wrong.
pub fn a_job_that_fits_gets_gpus(answers: &Answers<'_>) -> Result<(), String> {
    for (question, answer) in answers.each() {
        let fits = question.free.len() >= question.pattern.size();
        if answer.is_some() != fits {
            let told = if fits { "it gives none to" } else { "it gives some to" };
            return Err(format!("{told} {}", question.told(answers.machine)));
        }
    }
    Ok(())
}

/// Checks that the GPUs are free, as many as the job asks for, and each given once.
///
/// # Errors
/// The first question whose answer is wrong.
pub fn gpus_are_free_and_complete(answers: &Answers<'_>) -> Result<(), String> {
    for (question, answer) in answers.each() {
        let Some(selection) = answer else { continue };
        let (placement, gpus) = (&selection.chosen.placement, selection.chosen.gpus());
        let size = question.pattern.size();
        if placement.len() != size || gpus.len() != size || !gpus.is_subset_of(question.free) {
            return Err(format!("it gives {placement:?} to {}", question.told(answers.machine)));
        }
    }
    Ok(())
}

/// Checks that a question asked twice has one answer.
///
/// # Errors
/// The first question that has two.
pub fn answers_repeat(answers: &Answers<'_>) -> Result<(), String> {
    for (question, given) in &answers.asked {
        let (first, second) = (answers.first(question, given), answers.second(question, given));
        if first != second {
            let [first, second] =
                [first, second].map(|it| it.map(|it| &it.chosen.placement[..]).unwrap_or_default());
            let told = question.told(answers.machine);
            return Err(format!("it gives {first:?}, then {second:?} to {told}"));
        }
    }
    Ok(())
}

/// Checks that a match counts each edge of the pattern once and has the machine's own scores.
///
/// # Errors
/// The first question whose answer has others.
pub fn scores_are_the_machine_s(answers: &Answers<'_>) -> Result<(), String> {
    let machine = answers.machine;
    for (question, answer) in answers.each() {
        let Some(Selection { chosen, .. }) = answer else { continue };
        let pattern = &question.pattern;
        // No score can be had of other GPUs than the machine's, or of too few.
        let is_placed = chosen.placement.len() == pattern.size()
            && chosen.placement.iter().all(|gpu| *gpu < machine.gpu_count());
        if !is_placed
            || chosen.links.total() != pattern.edges().len()
            || chosen.effective_bandwidth.is_some() != (pattern.size() > 1)
            || machine.score(pattern, chosen.placement.clone(), question.free) != *chosen
        {
            let told = question.told(machine);
            return Err(format!("{:?} has other scores, of {told}", chosen.placement));
        }
    }
    Ok(())
}

/// Checks that rings of up to three GPUs fill the machine until none is free.
///
/// # Errors
/// The GPUs that are left when a job gets none.
pub fn jobs_fill_the_machine(answers: &Answers<'_>) -> Result<(), String> {
    let Answers { policy, machine, .. } = *answers;
    let mut free = GpuSet::first(machine.gpu_count());
    while !free.is_empty() {
        let size = free.len().min(3);
        let pattern = Pattern::new(PatternShape::Ring, size).map_err(|error| error.to_string())?;
        let question = PolicyQuestion { pattern, sensitive: free.len().is_multiple_of(2), free };
        let given = question.ask(policy, machine);
        let given = given.map_or(GpuSet::EMPTY, |it| it.chosen.gpus()).intersection(free);
        if given.is_empty() {
            return Err(format!("it gives no free GPU to {}", question.told(machine)));
        }
        free = free.without(given);
    }
    Ok(())
}
