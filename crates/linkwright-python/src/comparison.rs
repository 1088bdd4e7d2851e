//! Sums up a comparison from what its runs came to.

use std::collections::BTreeMap;

use linkwright::diagnostic::Diagnosis;
use linkwright::scenario::PlayError;
use linkwright::scenario::comparison::{
    self, Bootstrap, ComparisonError, Estimate, OverSeeds, ProgramTimes,
};
use linkwright::simulation::summary::{self, DayMeasures};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::number;
use crate::simulation::{Five, SimulationResult, five};

/// Holds a variant's index, a job's name, its seconds, and its speed-up.
type ProgramRow = (usize, Option<String>, f64, Option<f64>);

/// A mean and the ends of its interval.
type Ends = (f64, Option<f64>, Option<f64>);

fn ends(Estimate { mean, low, high }: Estimate) -> Ends {
    (mean, low, high)
}

/// Lists what runs of a comparison come to.
///
/// Each has a name, a name for people, a unit, and whether less is better. This is None where nothing is.
#[pyfunction]
#[pyo3(signature = () -> "list[tuple[str, str, str, bool | None]]")]
pub fn comparison_measures() -> Vec<(&'static str, &'static str, &'static str, Option<bool>)> {
    let of = |it: &summary::Measure| (it.name, it.what, it.unit, it.less_is_better);
    summary::MEASURES.iter().map(of).collect()
}

/// Gives the mean of a value for each seed and the ends of its bootstrap interval; these are None of one seed.
///
/// None where a seed has no value, or there is no seed.
#[pyfunction]
#[pyo3(signature = (values: "Sequence[float | None]"))]
pub fn mean_over_seeds(#[pyo3(from_py_with = given)] values: Vec<Option<f64>>) -> Option<Ends> {
    Bootstrap::new(values.len()).estimate(&values).map(ends)
}

/// Gives by how much something is better, as a share of what it was; below zero where it is worse.
///
/// None where that cannot be said: of nothing that has become something.
#[pyfunction]
#[pyo3(signature = (before: "float | None", after: "float | None", less_is_better: "bool"))]
pub fn share_saved(
    #[pyo3(from_py_with = given)] before: Option<f64>,
    #[pyo3(from_py_with = given)] after: Option<f64>,
    #[pyo3(from_py_with = given)] less_is_better: bool,
) -> Option<f64> {
    comparison::saved(before, after, less_is_better)
}

/// Gives by how much variants of a scenario are better than one of them, in each measure.
///
/// Each is a name, a measure, the mean over seeds and the ends of its interval. Choices that were played alone come
/// first, then their sum and what is left over.
///
/// Args:
///     names: Name the variants. The scenario as written is the first.
///     found: Is JSON of `Scenario.outcome`. Each variant has a list by seed.
///     reference: Is the one to compare with.
///     choices: Are those of one choice.
///
/// Raises:
///     SimulationError: If `found` is of another version, or has no reference.
#[pyfunction]
#[pyo3(signature = (names: "Sequence[str]", found: "str", reference: "str", choices: "Sequence[str]"))]
pub fn comparison_gains(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] names: Vec<String>,
    #[pyo3(from_py_with = given)] found: String,
    #[pyo3(from_py_with = given)] reference: &str,
    #[pyo3(from_py_with = given)] choices: Vec<String>,
) -> PyResult<Vec<(String, &'static str, Ends)>> {
    let refuse = |problem: String| errors::range(Diagnosis::of(problem).remedy("play it again"));
    let read: Vec<Vec<DayMeasures>> = serde_json::from_str(&found)
        .map_err(|error| refuse(format!("these are no runs of this version: {error}")))?;
    let at: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let seeds = read.first().map_or(0, Vec::len);
    let whole = read.len() == names.len() && read.iter().all(|days| days.len() == seeds);
    let Some(reference) = at.get(reference).copied().filter(|_| whole) else {
        return Err(refuse("the runs are not those of the variants".to_owned()));
    };
    let variants = names.iter().map(|name| (name.clone(), choices.contains(name))).collect();
    let told = py.detach(|| {
        // Only their number counts.
        let over = OverSeeds::new(variants, vec![0; seeds], reference, read);
        let gains = over.gains().into_iter();
        let of = |gain: comparison::Gain| {
            let measure = summary::MEASURES[gain.measure].name;
            (over.name_of(gain.of).to_owned(), measure, ends(gain.share))
        };
        gains.map(of).collect()
    });
    Ok(told)
}

/// Gives the five numbers that a box plot draws of values: minimum, quartiles, maximum.
///
/// Between two values they are interpolated linearly.
///
/// Raises:
///     SimulationError: If there is no value.
#[pyfunction]
#[pyo3(signature = (values: "Sequence[float]"))]
pub fn five_number_summary(#[pyo3(from_py_with = given)] values: Vec<f64>) -> PyResult<Five> {
    summary::Quartiles::of(values.into_iter()).map(five).ok_or_else(|| {
        let problem = Diagnosis::of("quartiles of no value");
        errors::range(problem.remedy("give at least one"))
    })
}

/// Says how much faster each policy is than one of them: above one is faster.
///
/// Each has its name, five ratios of run times, and the ratio of its jobs per hour. The five are of quartiles, reference
/// by policy, minimum to maximum, as in MAPA's Table 3. The run times are of sensitive jobs of two or more GPUs. Where
/// there are none, under a policy or the reference, the policy is left out.
///
/// Args:
///     results: Hold what the policies made of the same jobs.
///     reference: Is the policy to compare with.
///
/// Raises:
///     SimulationError: If no result is of the reference, or one has no jobs.
#[pyfunction]
#[pyo3(signature = (results: "Sequence[SimulationResult]", reference: "str"))]
pub fn policy_speedups(
    #[pyo3(from_py_with = given)] results: Vec<PyRef<'_, SimulationResult>>,
    #[pyo3(from_py_with = given)] reference: &str,
) -> PyResult<Vec<(String, Five, f64)>> {
    let names: Vec<&str> = results.iter().map(|result| result.policy()).collect();
    let Some(at) = names.iter().position(|name| *name == reference) else {
        let problem = Diagnosis::of(format!("there is no run of policy `{reference}`"));
        return Err(errors::range(problem.remedy(format!("use one of {}", names.join(", ")))));
    };
    let summaries = results.iter().map(|it| it.summed_up()).collect::<PyResult<Vec<_>>>()?;
    let found = names.iter().zip(summary::speedups(&summaries, &summaries[at]));
    let told = found.filter_map(|(name, speedup)| {
        speedup.map(|it| ((*name).to_owned(), five(it.run_time), it.throughput))
    });
    Ok(told.collect())
}

/// Says how much faster programs are under each variant than under one of them: above one is faster.
///
/// Each row has a variant's index, a job's name, its seconds, and how many times as fast it is. This is None where the
/// reference has no job of that name. Behind the jobs of a variant comes its makespan, whose name is None.
///
/// Args:
///     found: Holds each variant's makespan, and its jobs with their seconds.
///     reference: Is the index of the one to compare with.
///
/// Raises:
///     SimulationError: If there is no such reference.
#[pyfunction]
#[pyo3(signature = (found: "Sequence[tuple[float, Sequence[tuple[str, float]]]]", reference: "int"))]
pub fn program_speedups(
    #[pyo3(from_py_with = given)] found: Vec<(f64, Vec<(String, f64)>)>,
    #[pyo3(from_py_with = given)] reference: i128,
) -> PyResult<Vec<ProgramRow>> {
    let Some(most) = found.len().checked_sub(1) else {
        let problem = Diagnosis::of("there is nothing to compare");
        return Err(errors::range(problem.remedy("give at least one variant")));
    };
    let reference = number::whole("reference", reference, most)?;
    let of_variant = |(makespan, jobs)| ProgramTimes { makespan, jobs, energy: None, heat: None };
    let found: Vec<ProgramTimes> = found.into_iter().map(of_variant).collect();
    let rows = comparison::compare_programs(&found, reference).into_iter();
    Ok(rows.map(|row| (row.variant, row.job, row.time, row.speedup)).collect())
}

/// Why a run of a comparison cannot be had; errors of texts are the caller's.
pub fn refused(
    error: ComparisonError,
    input: impl FnOnce(linkwright::diagnostic::InputError) -> PyErr,
) -> PyErr {
    match error {
        ComparisonError::Input(error) => input(*error),
        ComparisonError::Play(error) => match *error {
            PlayError::Day(error) => errors::simulation(error),
            PlayError::Policy(error) => errors::allocation_choice(error),
            other => errors::range(ComparisonError::from(other)),
        },
        other => errors::range(other),
    }
}
