//! Puts together what several files say of one job, as `NCCL_DEBUG_FILE` writes one for each process.

use std::collections::BTreeMap;

use super::debug::DebugLog;

impl DebugLog {
    /// Forgets what is of one communicator.
    pub(in crate::doctor) fn forget_communicator(&mut self) {
        self.places.clear();
        self.connections.clear();
        self.channels = None;
        self.rings.clear();
        self.trees = None;
        self.graphs.clear();
    }

    /// Takes over what another file says of the same job. Facts that both state are kept as they
    /// stand here. Facts of the larger communicator stay, and lines of the smaller count as others.
    pub fn merge(&mut self, mut other: Self) {
        let is_same = match (self.ranks, other.ranks) {
            (Some(own), Some(others)) => own == others && self.communicator == other.communicator,
            _ => true,
        };
        if !is_same {
            let smaller = if other.ranks > self.ranks { &mut *self } else { &mut other };
            smaller.other_lines += smaller.read;
            smaller.other_communicators += 1;
            smaller.forget_communicator();
        }
        if other.ranks > self.ranks {
            self.ranks = other.ranks;
            self.communicator = other.communicator;
        }
        self.other_communicators = self.other_communicators.max(other.other_communicators);
        self.other_lines += other.other_lines;
        self.read += other.read;
        self.skipped += other.skipped;
        self.version = self.version.take().or(other.version);
        self.network = self.network.take().or(other.network);
        self.no_interface = self.no_interface.take().or(other.no_interface);
        self.channels = self.channels.take().or(other.channels);
        self.trees = self.trees.take().or(other.trees);
        if self.graphs.is_empty() {
            self.graphs = other.graphs;
        }
        if self.topology.is_empty() {
            self.topology = other.topology;
        }
        let refuses = other.nvls.as_ref().is_some_and(|(can, _)| !can);
        if self.nvls.is_none() || refuses && self.nvls.as_ref().is_some_and(|(can, _)| *can) {
            self.nvls = other.nvls;
        }
        for (interface, (works, line)) in other.gpudirect {
            let known = self.gpudirect.entry(interface).or_insert((works, line.clone()));
            if known.0 && !works {
                *known = (works, line);
            }
        }
        for refusal in other.refusals {
            if !self.refusals.iter().any(|known| known.between == refusal.between) {
                self.refusals.push(refusal);
            }
        }
        for (connection, (channels, line)) in other.connections {
            let known = self.connections.entry(connection).or_insert((0, line));
            known.0 = known.0.saturating_add(channels);
        }
        for (text, warning) in other.warnings {
            let count = warning.count;
            let known =
                self.warnings.entry(text).or_insert_with(|| super::Warning { count: 0, ..warning });
            known.count += count;
        }
        first(&mut self.places, other.places);
        first(&mut self.variables, other.variables);
        first(&mut self.interfaces, other.interfaces);
        first(&mut self.rings, other.rings);
        first(&mut self.choices, other.choices);
        first(&mut self.plugins, other.plugins);
        first(&mut self.unmodelled, other.unmodelled);
    }
}

/// Takes what is not there yet.
fn first<K: Ord, V>(own: &mut BTreeMap<K, V>, other: BTreeMap<K, V>) {
    for (name, value) in other {
        own.entry(name).or_insert(value);
    }
}
