//! Reads the pod list of Alibaba's PAI of 2023: `openb_pod_list_*.csv`.
//!
//! ```text
//! name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
//! ```
//!
//! A pod is a job. It ran from when it was scheduled to when it was deleted, whatever its phase then: one that
//! was deleted while it ran is over. One without a scheduled time never started. Where `num_gpu` is one, `gpu_milli`
//! says which share of that GPU it asked for.
//!
//! The columns are from the README of Alibaba's cluster-trace-gpu-v2023 (Weng et al., "Beware of
//! Fragmentation", ATC '23).

use super::table::entries_of;
use crate::diagnostic::{InputError, Registered};
use crate::scenario::recorded::columns::Columns;
use crate::scenario::recorded::format::{AccountingFormat, Entries};
use crate::scenario::recorded::lines::lines;

/// A table by names of its own.
#[derive(Debug)]
pub struct PaiPods;

impl Registered for PaiPods {
    fn name(&self) -> &'static str {
        "pai-2023"
    }
}

impl AccountingFormat for PaiPods {
    fn is_of(&self, text: &str) -> bool {
        lines("", text).next().is_some_and(|it| it.has_columns(&["num_gpu", "creation_time"]))
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        let columns = Columns {
            job: Some("name".to_owned()),
            submit: Some("creation_time".to_owned()),
            start: Some("scheduled_time".to_owned()),
            end: Some("deletion_time".to_owned()),
            gpus: Some("num_gpu".to_owned()),
            ..Columns::default()
        };
        entries_of(file, text, &columns)
    }
}
