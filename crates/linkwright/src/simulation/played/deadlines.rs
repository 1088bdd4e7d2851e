//! Which jobs' copies have a deadline on a PCIe bus that heeds them.

use std::num::NonZeroU32;

use crate::network::PcieSettings;
use crate::network::pcie::PcieArbitration;
use crate::simulation::error::SimulationError;
use crate::simulation::job::Job;
use crate::units::Bytes;

/// A deadline for the largest copies of all, as in the study that the arbiter is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopyDeadline {
    largest: Bytes,
    times: NonZeroU32,
}

impl CopyDeadline {
    /// Gives that of a bus on which these jobs copy from their hosts. It is None where nothing heeds it, or where
    /// a job has one of its own.
    pub(super) fn of(
        bus: Option<&PcieSettings>,
        jobs: &[Job],
    ) -> Result<Option<Self>, SimulationError> {
        let bus = bus.filter(|bus| bus.arbitration == PcieArbitration::Qos);
        let Some(times) = bus.and_then(|bus| NonZeroU32::new(bus.deadline)) else {
            return Ok(None);
        };
        if jobs.iter().any(|job| job.own().is_some_and(|written| written.deadline.is_some())) {
            return Ok(None);
        }
        let mut largest = Bytes(0);
        for job in jobs.iter().filter(|job| job.is_workload()) {
            largest = largest.max(job.work()?.copied_per_iteration());
        }
        Ok(Some(Self { largest, times }))
    }

    /// How long copies of this size may take, in thousandths of their time on an idle bus.
    pub(super) fn of_copies(self, size: Bytes) -> Option<NonZeroU32> {
        (size.0 > 0 && size == self.largest).then_some(self.times)
    }
}
