//! Links of all servers, where some servers were played in the place of those that do the same.
//!
//! It represents that servers of one kind load their links alike where their GPUs do the same. The links of one of them
//! count for each. Collectives that were not played, but lasted a known time, load the links that they use.
//! It leaves out how many messages these were.

use std::collections::BTreeMap;

use super::ClusterOutcome;
use crate::network::InnerCounts;
use crate::network::packet::ChannelStatistics;
use crate::system::System;
use crate::system::fabric::ChannelId;
use crate::units::Bytes;

/// Servers that were played for others, and the loads of collectives that were not played.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StandIns {
    /// Lists, for each server that was played, all that do the same; it comes first.
    pub alike: Vec<Vec<u32>>,
    /// Holds the bytes of collectives that channels carried, by the channels' numbers in the system.
    pub loads: Vec<(ChannelId, f64)>,
}

impl StandIns {
    /// Gives the outcome in which the links of all servers carried their loads.
    #[must_use]
    pub fn for_all(&self, system: &System, outcome: &ClusterOutcome) -> ClusterOutcome {
        let mut inside: BTreeMap<ChannelId, ChannelStatistics> = BTreeMap::new();
        for (channel, carried) in &outcome.inside {
            inside.entry(*channel).or_insert(*carried);
            let Some(at) = system.server_channel(*channel) else { continue };
            let alike = self.alike.iter().find(|all| all.first() == Some(&at.server));
            for server in alike.into_iter().flatten() {
                inside.insert(system.channel_at(*server, at.index), *carried);
            }
        }
        let mut all = outcome.clone();
        // Over time only the servers that stand for others are known, and between switches only what these sent.
        all.loads.channels.clear();
        if all.loads.inner == InnerCounts::Data {
            all.loads.inner = InnerCounts::Nothing;
        }
        let mut loads: BTreeMap<ChannelId, f64> = BTreeMap::new();
        for (channel, bytes) in &self.loads {
            *loads.entry(*channel).or_default() += bytes;
        }
        for (channel, bytes) in loads {
            let carried = match all.channels.get_mut(channel as usize) {
                Some(carried) => carried,
                None => inside.entry(channel).or_default(),
            };
            carried.data = Bytes(carried.data.0 + bytes.round() as u64);
        }
        all.inside = inside.into_iter().collect();
        all
    }
}
