//! Sets programs under variants against those under one of them.

use serde::Serialize;

use crate::simulation::heat::HeatSummary;
use crate::simulation::power::GpuEnergy;

/// Holds the times of programs in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramTimes {
    /// It is when the last job ended.
    pub makespan: f64,
    /// Each job has its name and the time that it took.
    pub jobs: Vec<(String, f64)>,
    /// It holds what they take of GPUs; None where nobody asks.
    pub energy: Option<GpuEnergy>,
    /// It holds the heat of the package that is observed; None where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatSummary>,
}

/// Tells how fast a job is under a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedTime {
    /// It is under the variant of this index.
    pub variant: usize,
    /// It has this name; None stands for all jobs, whose time is the makespan.
    pub job: Option<String>,
    /// It takes this time, in seconds.
    pub time: f64,
    /// It is as many times as fast as under the reference. None where the reference has no such job. A job that takes no
    /// time counts as fast as before.
    pub speedup: Option<f64>,
}

/// Compares each job of each variant with the reference's of its name, and behind the jobs the makespans.
///
/// # Panics
/// If there is no such reference.
#[must_use]
pub fn compare_programs(found: &[ProgramTimes], reference: usize) -> Vec<ComparedTime> {
    let base = &found[reference];
    // Of jobs of one name the last counts.
    let before = |name: &String| base.jobs.iter().rev().find(|it| it.0 == *name).map(|it| it.1);
    let speedup = |before: f64, time: f64| if time == 0.0 { 1.0 } else { before / time };
    let of_variant = |(variant, times): (usize, &ProgramTimes)| {
        let of_job = |(name, time): &(String, f64)| ComparedTime {
            variant,
            job: Some(name.clone()),
            time: *time,
            speedup: before(name).map(|before| speedup(before, *time)),
        };
        let whole = ComparedTime {
            variant,
            job: None,
            time: times.makespan,
            speedup: Some(speedup(base.makespan, times.makespan)),
        };
        times.jobs.iter().map(of_job).chain([whole]).collect::<Vec<_>>()
    };
    found.iter().enumerate().flat_map(of_variant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_compared_by_their_names_and_the_makespans_behind_them() {
        let times = |makespan, jobs: &[(&str, f64)]| ProgramTimes {
            makespan,
            jobs: jobs.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect(),
            energy: None,
            heat: None,
        };
        let found = [
            times(4.0, &[("a", 1.0), ("b", 4.0), ("c", 0.0)]),
            times(2.0, &[("b", 2.0), ("a", 2.0), ("c", 0.0), ("d", 1.0)]),
        ];
        let rows = compare_programs(&found, 0);
        let told = |variant: usize| {
            let own = rows.iter().filter(move |row| row.variant == variant);
            own.map(|row| (row.job.as_deref(), row.speedup)).collect::<Vec<_>>()
        };
        let same = |name| (name, Some(1.0));
        assert_eq!(told(0), [same(Some("a")), same(Some("b")), same(Some("c")), same(None)]);
        let [b, a] = [(Some("b"), Some(2.0)), (Some("a"), Some(0.5))];
        assert_eq!(told(1), [b, a, same(Some("c")), (Some("d"), None), (None, Some(2.0))]);
        assert_eq!(rows[1].time, 4.0);
    }
}
