//! Adds a workload: a stencil whose GPUs compute for five milliseconds and sum one megabyte.

use linkwright::diagnostic::Registered;
use linkwright::training::{NamedWorkload, Work, Workload};
use linkwright::units::{Bytes, Picoseconds};

/// It is none of the published ones.
#[derive(Debug)]
pub struct Halo;

impl Registered for Halo {
    fn name(&self) -> &'static str {
        "halo"
    }
}

impl NamedWorkload for Halo {
    fn workload(&self) -> Workload {
        Workload {
            name: self.name().to_owned(),
            sensitive: false,
            iterations: 7,
            collective_calls_per_iteration: 1,
            work: Work::Fixed {
                compute_per_iteration: Picoseconds(5_000_000_000),
                bytes_per_iteration: Bytes(1_000_000),
            },
        }
    }
}
