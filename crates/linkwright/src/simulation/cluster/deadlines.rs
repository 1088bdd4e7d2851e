//! Which jobs' copies have deadlines where nobody says.

use std::num::NonZeroU32;

use crate::network::PcieSettings;
use crate::network::pcie::PcieArbitration;
use crate::program::{Operation, RankProgram};
use crate::runtime::ProgramJob;

/// The most that a job copies at once.
fn largest_copy(job: &ProgramJob) -> u64 {
    let operations = job.program.ranks.iter().flat_map(RankProgram::operations);
    let sizes = operations.filter_map(|operation| match operation {
        Operation::Copy { size, .. } => Some(size.0),
        _ => None,
    });
    sizes.max().unwrap_or(0)
}

/// Returns the jobs with deadlines. Where a bus heeds them and no job has one, the jobs with the
/// largest copies get the settings' deadline. The study that the arbiter is from does so.
pub(super) fn with_deadlines(
    jobs: &[ProgramJob],
    settings: Option<&PcieSettings>,
) -> Option<Vec<ProgramJob>> {
    let settings = settings.filter(|it| it.arbitration == PcieArbitration::Qos)?;
    if jobs.iter().any(|job| job.deadline.is_some()) {
        return None;
    }
    let deadline = NonZeroU32::new(settings.deadline);
    let largest = jobs.iter().map(largest_copy).max().filter(|largest| *largest > 0)?;
    let given = jobs.iter().cloned().map(|job| {
        let deadline = deadline.filter(|_| largest_copy(&job) == largest);
        ProgramJob { deadline, ..job }
    });
    Some(given.collect())
}
