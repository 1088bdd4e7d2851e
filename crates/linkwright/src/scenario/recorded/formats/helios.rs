//! Reads the job log of SenseTime's Helios: `cluster_log.csv` of each cluster.
//!
//! ```text
//! job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
//! ```
//!
//! Slurm made it, so that its states are Slurm's. Times are of one zone, which is not told; `duration` is in seconds.
//!
//! The columns are from the README of HeliosData. Its paper is Hu et al., "Characterization and
//! Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC '21.

use super::table::entries_of;
use crate::diagnostic::{InputError, Registered};
use crate::scenario::recorded::columns::Columns;
use crate::scenario::recorded::format::{AccountingFormat, Entries};
use crate::scenario::recorded::lines::lines;

/// A table by names of its own.
#[derive(Debug)]
pub struct Helios;

impl Registered for Helios {
    fn name(&self) -> &'static str {
        "helios"
    }
}

impl AccountingFormat for Helios {
    fn is_of(&self, text: &str) -> bool {
        lines("", text)
            .next()
            .is_some_and(|it| it.has_columns(&["job_id", "gpu_num", "submit_time"]))
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        let columns = Columns {
            name: None,
            job: Some("job_id".to_owned()),
            submit: Some("submit_time".to_owned()),
            start: Some("start_time".to_owned()),
            end: Some("end_time".to_owned()),
            duration: Some("duration".to_owned()),
            gpus: Some("gpu_num".to_owned()),
            state: Some("state".to_owned()),
            workload: None,
        };
        entries_of(file, text, &columns)
    }
}
