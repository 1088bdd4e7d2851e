//! Tells how much of each family of links the jobs of a day took.
//!
//! It leaves out jobs by a formula, which send nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::network::{InnerCounts, LinkLoads};
use crate::simulation::queue::JobRecord;
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::Picoseconds;

/// Holds the mean use of each family of links, weighted by bandwidth, as shares of what they could have carried until
/// the last job ended. None of a family that the system does not have, and of days without plans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// It is of NVLink and xGMI.
    pub nvlink_use: Option<f64>,
    /// It is of PCIe.
    pub pcie_use: Option<f64>,
    /// It is of InfiniBand and Ethernet.
    pub network_use: Option<f64>,
}

/// Gives the index of a kind's family, in the order of [`LinkUse`].
fn family(kind: &str) -> Option<usize> {
    const FAMILIES: [(&str, usize); 5] =
        [("nvlink", 0), ("xgmi", 0), ("pcie", 1), ("infiniband", 2), ("ethernet", 2)];
    FAMILIES.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, family)| *family)
}

impl LinkUse {
    /// Gives what a day's jobs took of a system's links until the last one ended, by what channels carried.
    #[must_use]
    pub fn of(system: &System, loads: Option<&LinkLoads>, records: &[JobRecord]) -> Self {
        let makespan = records.iter().map(|record| record.finish).max().unwrap_or_default();
        let Some(loads) = loads.filter(|_| makespan > Picoseconds(0)) else {
            return Self::default();
        };
        let (mut moved, mut whole) = ([0.0; 3], [0.0; 3]);
        let counted = loads.channels.iter().map(|(channel, bytes)| (*channel, bytes.iter().sum()));
        let data: BTreeMap<ChannelId, u64> = counted.collect();
        for channel in 0..system.channels() as ChannelId {
            let link = system.channel(channel);
            let is_unknown = loads.inner == InnerCounts::Nothing && system.is_inner(channel);
            if let Some(family) = family(link.kind.name()).filter(|_| !is_unknown) {
                let bytes = data.get(&channel).copied().unwrap_or(0);
                moved[family] += bytes as f64 / makespan.as_seconds();
                whole[family] += link.bandwidth.0 as f64;
            }
        }
        let share = |family: usize| (whole[family] > 0.0).then(|| moved[family] / whole[family]);
        Self { nvlink_use: share(0), pcie_use: share(1), network_use: share(2) }
    }
}
