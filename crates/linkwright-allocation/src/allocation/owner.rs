//! Who asked for a job's GPUs, and how long they are lent.
//!
//! The core reads no clock: every time comes from its caller, in microseconds since the beginning
//! of 1970 in UTC. These times tell any two requests of one process apart.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::state::ServerState;

/// Says who asked for a job's GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Names the process that asked.
    pub pid: u32,
    /// Names the computer on which it ran.
    pub host: String,
    /// Says when it asked, in microseconds since 1970.
    pub time: u64,
    /// How long the GPUs are lent, in microseconds; without end where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<u64>,
}

impl Owner {
    /// Whether the lease has ended by this time.
    #[must_use]
    pub fn is_over(&self, now: u64) -> bool {
        self.lease.is_some_and(|lease| self.time.saturating_add(lease) <= now)
    }
}

/// Says which jobs give their GPUs back in a reconciliation.
#[derive(Debug, Clone, Copy)]
pub enum Ended<'a> {
    /// Those that are not in this list of living jobs. A job that asked at `since` or later
    /// stays: the list may be older than it is.
    Unlisted {
        /// Lists the jobs that live.
        living: &'a BTreeSet<String>,
        /// From when on a job may be missing in the list, in microseconds since 1970.
        since: u64,
    },
    /// Those whose lease is over.
    Overdue {
        /// Gives the time, in microseconds since 1970.
        now: u64,
    },
}

impl Ended<'_> {
    fn takes(&self, job: &str, owner: Option<&Owner>) -> bool {
        match self {
            Self::Unlisted { living, since } => {
                let is_young = owner.is_some_and(|owner| owner.time >= *since);
                !living.contains(job) && !is_young
            }
            Self::Overdue { now } => owner.is_some_and(|owner| owner.is_over(*now)),
        }
    }
}

impl ServerState {
    /// Takes the GPUs of all jobs back that have ended, and returns these jobs with what each
    /// held. A living job keeps its GPUs even where its lease is over: they are in use.
    pub fn reconcile(&mut self, ended: Ended<'_>) -> Vec<(String, Vec<usize>)> {
        let takes = |job: &&String| ended.takes(job, self.owners().get(*job));
        let jobs: Vec<String> = self.held().keys().filter(takes).cloned().collect();
        let released = jobs.into_iter().filter_map(|job| {
            let gpus = self.release(&job).ok()?;
            Some((job, gpus))
        });
        released.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::preset;
    use crate::system::{BandwidthProfile, GpuGraph};

    fn owner(time: u64, lease: Option<u64>) -> Owner {
        Owner { pid: 7, host: "node1".to_owned(), time, lease }
    }

    fn server() -> ServerState {
        let graph = GpuGraph::new(&preset("dgx1-v100").unwrap(), BandwidthProfile::Mapa).unwrap();
        let mut state = ServerState::new("m", &graph);
        for (gpu, job, owned) in [
            (0, "unknown", None),
            (1, "endless", Some(owner(100, None))),
            (2, "overdue", Some(owner(100, Some(50)))),
            (3, "young", Some(owner(200, Some(50)))),
        ] {
            state.allocate(job, &[gpu]).unwrap();
            if let Some(owner) = owned {
                state.own(job, owner).unwrap();
            }
        }
        state
    }

    fn released(ended: Ended<'_>) -> Vec<String> {
        let mut state = server();
        let jobs = state.reconcile(ended);
        for (job, gpus) in &jobs {
            assert!(!state.held().contains_key(job) && !state.owners().contains_key(job));
            assert!(gpus.iter().all(|gpu| state.free().contains(*gpu)));
        }
        jobs.into_iter().map(|(job, _)| job).collect()
    }

    #[test]
    fn a_job_that_lives_or_may_be_younger_than_the_list_keeps_its_gpus() {
        let living = ["overdue".to_owned(), "elsewhere".to_owned()].into();
        let unlisted = |since| released(Ended::Unlisted { living: &living, since });
        assert_eq!(unlisted(u64::MAX), ["endless", "unknown", "young"]);
        assert_eq!(unlisted(200), ["endless", "unknown"]);
        assert_eq!(unlisted(100), ["unknown"]);
    }

    #[test]
    fn a_lease_is_over_when_its_time_has_come_and_not_before() {
        assert_eq!(released(Ended::Overdue { now: 149 }), [""; 0]);
        assert_eq!(released(Ended::Overdue { now: 150 }), ["overdue"]);
        assert_eq!(released(Ended::Overdue { now: u64::MAX }), ["overdue", "young"]);
        assert!(!owner(u64::MAX, Some(1)).is_over(u64::MAX - 1), "no overflow");
    }
}
