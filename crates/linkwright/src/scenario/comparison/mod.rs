//! Compares a scenario's variants: lists the runs, plays one, and sums up many.
//!
//! The runs are a list of data. Whoever plays them may do so anywhere and in any order, one by one:
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use linkwright::scenario::comparison::{Comparison, ComparisonOptions, ComparedOutcome};
//! use linkwright::scenario::{Files, Given};
//! use linkwright::simulation::summary::measure;
//!
//! let text = r#"
//! [system]
//! server = "dgx1-v100"
//! [jobs]
//! generate = { count = 5, max_gpus = 4 }
//! [allocation]
//! policies = ["preserve", "baseline"]
//! "#;
//! let given = Given { text: text.to_owned(), ..Given::default() };
//! let seeds = Some(2);
//! let comparison = Comparison::new(given, ComparisonOptions { seeds, ..Default::default() })?;
//! let mut days = Vec::new();
//! for run in comparison.runs() {
//!     let played = comparison.play(run, &Files::new(), &mut |_| ControlFlow::Continue(()))?;
//!     let ComparedOutcome::Day(day) = played else { unreachable!("jobs of GPUs") };
//!     days.push(day);
//! }
//! let found = comparison.sum_up(days);
//! let gain = found.gain(Comparison::TOGETHER, measure("job_time").unwrap()).unwrap();
//! assert!(gain.low <= Some(gain.mean) && Some(gain.mean) <= gain.high);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alone;
mod intervals;
mod over_seeds;
mod programs;
mod run;
mod twister;

pub use intervals::{Bootstrap, Estimate, saved};
pub use over_seeds::{Gain, GainOf, OverSeeds};
pub use programs::{ComparedTime, ProgramTimes, compare_programs};
pub use run::{ComparedOutcome, ComparisonError, outcome};

use std::collections::BTreeMap;

use toml::{Table, Value};

use self::alone::alone;
use super::files::Files;
use super::mix::JobSource;
use super::read::{Asked, Given, Scenario};
use crate::diagnostic::InputError;
use crate::engine::Hook;
use crate::simulation::summary::DayMeasures;

/// Says what of a scenario is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparisonOptions {
    /// The others are compared with this variant; where absent, with the scenario's own. Of machines it is the first.
    pub reference: Option<String>,
    /// Variants are played on as many: the scenario's seed, and those that follow. Where absent, they are played as they are.
    pub seeds: Option<u32>,
    /// Servers that take the place of variants are listed here.
    pub machines: Vec<ComparedMachine>,
}

/// Is a kind of server on which a scenario is to be played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedMachine {
    /// It has this name for people.
    pub name: String,
    /// It has this name in a scenario: a preset's, or a file's.
    pub written: String,
    /// There are as many; where absent, as many as the scenario has.
    pub servers: Option<u32>,
}

/// Is a variant that a comparison plays.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedVariant {
    /// It is called so in tables.
    pub name: String,
    /// It is called so in the scenario, with the settings beside.
    pub variant: String,
    /// It is the key of a choice that is played alone; None of others.
    pub choice: Option<String>,
    /// It is put over the scenario so that this has the variant: a path, and its value.
    pub settings: Option<(String, Value)>,
}

/// Is one of the runs of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedRun {
    /// It plays the variant of this index.
    pub variant: usize,
    /// It is played on this seed; on the scenario's own where absent.
    pub seed: Option<u64>,
    /// It is the seed of this index. From the second on a file's jobs are drawn of the file.
    pub draw: usize,
}

/// Sets variants of a scenario against one of them, on the same seeds.
#[derive(Debug, Clone)]
pub struct Comparison {
    given: Given,
    /// It is the scenario as written.
    pub scenario: Scenario,
    /// They are played in this order.
    pub variants: Vec<ComparedVariant>,
    /// The others are compared with the variant of this index.
    pub reference: usize,
    /// There is none where variants are played as they are.
    pub seeds: Vec<u64>,
}

impl Comparison {
    /// The scenario as written, under the first of its policies, has this index. Of machines the first has it.
    pub const TOGETHER: usize = 0;

    /// Lists what is to be played.
    ///
    /// Over seeds each choice of several is a variant of its own, behind the scenario as written.
    ///
    /// # Errors
    /// It refuses what [`Scenario::read`] does, a reference that is no variant, and seeds or machines of programs.
    pub fn new(given: Given, options: ComparisonOptions) -> Result<Self, ComparisonError> {
        let scenario = Scenario::read(&given)?;
        let of_machines = (!options.machines.is_empty()).then_some(1);
        let seeds = options.seeds.or(scenario.seeds).or(of_machines);
        if seeds.is_some() && matches!(scenario.asked, Asked::Programs(_)) {
            return Err(ComparisonError::OfPrograms);
        }
        let known = || scenario.variants.iter().map(|variant| variant.name.clone());
        let of_scenario = known().nth(scenario.reference).unwrap_or_default();
        let wanted = options.reference.unwrap_or(of_scenario);
        let plain = |name: String| ComparedVariant {
            variant: name.clone(),
            name,
            choice: None,
            settings: None,
        };
        let mut variants: Vec<ComparedVariant> = known().map(plain).collect();
        // The only policy names the scenario as written, too.
        let is_own = match &scenario.asked {
            Asked::Mix(mix) => mix.policies.len() == 1 && mix.policies[0] == wanted,
            Asked::Programs(_) => false,
        };
        let found = variants.iter().position(|it| it.name == wanted);
        let Some(mut reference) = found.or_else(|| is_own.then_some(0)) else {
            return Err(ComparisonError::Reference { wanted, known: known().collect() });
        };
        let first = variants[0].variant.clone();
        if !options.machines.is_empty() {
            variants = on_machines(&scenario, &first, options.machines);
            reference = 0;
        } else if seeds.is_some() {
            let of_first = Scenario::read(&Given { variant: Some(first), ..given.clone() })?;
            let choices = alone(&given, &scenario, &of_first, &wanted);
            reference += if reference == 0 { 0 } else { choices.len() };
            variants.splice(1..1, choices);
        }
        let start = match &scenario.asked {
            Asked::Mix(mix) => match &mix.jobs {
                Some(JobSource::Generate(options, _)) => options.seed,
                _ => scenario.seed,
            },
            Asked::Programs(_) => scenario.seed,
        };
        let draws = u64::from(seeds.unwrap_or_default());
        let seeds = (0..draws).map(|draw| start + draw).collect();
        let settings = variants.iter().filter_map(|variant| variant.settings.clone());
        let given = given.with(settings);
        Ok(Self { given, scenario, variants, reference, seeds })
    }

    /// Lists the runs: seed by seed, every variant.
    pub fn runs(&self) -> impl Iterator<Item = ComparedRun> + '_ {
        let seeds: Vec<Option<u64>> = match &self.seeds[..] {
            [] => vec![None],
            seeds => seeds.iter().copied().map(Some).collect(),
        };
        let of_seed = |(draw, seed)| {
            (0..self.variants.len()).map(move |variant| ComparedRun { variant, seed, draw })
        };
        seeds.into_iter().enumerate().flat_map(of_seed)
    }

    /// Gives the text that the runs read: the scenario's, and above it all settings of variants.
    #[must_use]
    pub const fn given(&self) -> &Given {
        &self.given
    }

    /// Gives the scenario of a run.
    ///
    /// # Errors
    /// It refuses what [`Scenario::read`] does.
    ///
    /// # Panics
    /// If the run is of another comparison.
    pub fn scenario_of(&self, run: ComparedRun) -> Result<Scenario, InputError> {
        let variant = &self.variants[run.variant].variant;
        let seeded = match run.seed {
            Some(seed) => self.given.seeded(&self.scenario, seed),
            None => self.given.clone(),
        };
        Scenario::read(&Given { variant: Some(variant.clone()), ..seeded })
    }

    /// Plays a run and sums it up.
    ///
    /// The files are those that its scenario names; others beside them count for nothing.
    ///
    /// # Errors
    /// It refuses what [`Scenario::build`] and [`play`](super::play()) do, and a day without jobs.
    ///
    /// # Panics
    /// If the run is of another comparison.
    pub fn play(
        &self,
        run: ComparedRun,
        files: &Files,
        hook: Hook<'_>,
    ) -> Result<ComparedOutcome, ComparisonError> {
        outcome(&self.scenario_of(run)?, files, run.draw, &BTreeMap::new(), hook)
    }

    /// Sums up days in the order of [`Comparison::runs`].
    ///
    /// # Panics
    /// If there is not a day for each run.
    #[must_use]
    pub fn sum_up(&self, days: Vec<DayMeasures>) -> OverSeeds {
        assert_eq!(days.len(), self.runs().count(), "a day for each run");
        let mut found = vec![Vec::new(); self.variants.len()];
        for (run, day) in self.runs().zip(days) {
            found[run.variant].push(day);
        }
        let names = self.variants.iter().map(|it| (it.name.clone(), it.choice.is_some()));
        let seeds = match &self.seeds[..] {
            [] => vec![self.scenario.seed],
            seeds => seeds.to_vec(),
        };
        OverSeeds::new(names.collect(), seeds, self.reference, found)
    }
}

/// Lists the scenario on each of some machines.
fn on_machines(
    scenario: &Scenario,
    first: &str,
    machines: Vec<ComparedMachine>,
) -> Vec<ComparedVariant> {
    let servers = &scenario.network.servers;
    let own: Vec<&str> = servers.iter().map(|it| it.kind.name.as_str()).collect();
    let count: u32 = servers.iter().map(|it| it.count).sum();
    let of_machine = |(at, machine): (usize, ComparedMachine)| {
        let ComparedMachine { name, written, servers } = machine;
        if own == [written.as_str()] && servers.is_none_or(|servers| servers == count) {
            let variant = first.to_owned();
            return ComparedVariant { name, variant, choice: None, settings: None };
        }
        let variant = format!("machine-{}", at + 1);
        let mut table = Table::new();
        put(&mut table, "system.server", Value::String(written));
        if let Some(servers) = servers {
            put(&mut table, "system.servers", Value::Integer(servers.into()));
        }
        let settings = Some((format!("compare.{variant}"), Value::Table(table)));
        ComparedVariant { name, variant, choice: None, settings }
    };
    machines.into_iter().enumerate().map(of_machine).collect()
}

impl Given {
    /// Puts values over the text, each where the keys of its path lead, with dots between them.
    #[must_use]
    pub fn with(&self, values: impl IntoIterator<Item = (String, Value)>) -> Self {
        // A text that was read as a table once is one still.
        let mut table: Table = self.settings.parse().unwrap_or_default();
        for (path, value) in values {
            put(&mut table, &path, value);
        }
        Self { settings: table.to_string(), ..self.clone() }
    }

    /// Gives the same on another seed, from which generated jobs are drawn, too; `scenario` is what it reads as.
    #[must_use]
    pub fn seeded(&self, scenario: &Scenario, seed: u64) -> Self {
        // A scenario's seeds lie within what TOML counts.
        let value = || Value::Integer(seed as i64);
        let mut values = vec![("seed".to_owned(), value())];
        if let Asked::Mix(mix) = &scenario.asked
            && let Some(JobSource::Generate(..)) = mix.jobs
        {
            values.push(("jobs.generate.seed".to_owned(), value()));
        }
        self.with(values)
    }
}

/// Puts a value where the keys of a path lead.
fn put(table: &mut Table, path: &str, value: Value) {
    let Some((key, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let inner = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if !inner.is_table() {
        *inner = Value::Table(Table::new());
    }
    if let Value::Table(inner) = inner {
        put(inner, rest, value);
    }
}
