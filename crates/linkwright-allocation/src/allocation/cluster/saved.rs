//! Writes the states of several servers as one text, and reads it again.
//!
//! ```json
//! {
//!   "system": "2xhgx-h100 on fat-tree-16",
//!   "servers": {
//!     "0": {"machine": "hgx-h100", "gpus": 8, "fingerprint": "...", "unhealthy": [], "jobs": {"train": [0, 1]}},
//!     "1": {"machine": "hgx-h100", "gpus": 8, "fingerprint": "...", "unhealthy": [3], "jobs": {}}
//!   },
//!   "wiring": {"...": {}}
//! }
//! ```
//!
//! Each entry is what a lone server's file holds, by its number in the system; GPUs are counted within their server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::allocator::ClusterAllocator;
use crate::allocation::error::AllocationError;
use crate::allocation::saved::{ANOTHER, Saved, parsed, refusing};
use crate::allocation::state::ServerState;
use crate::allocation::wiring::KeptWiring;

/// Holds what is saved.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedCluster {
    system: String,
    servers: BTreeMap<usize, Saved>,
    /// How the GPUs of each kind of server are joined, by its fingerprint.
    #[serde(default, skip_serializing)]
    wiring: BTreeMap<String, KeptWiring>,
}

/// Tells whether a text is of a server or of several.
#[derive(Deserialize)]
struct Kind {
    machine: Option<serde::de::IgnoredAny>,
    servers: Option<serde::de::IgnoredAny>,
}

impl ClusterAllocator {
    /// The states as JSON, for [`Self::restore`]. That of a server that stands alone is [`ServerState::save`].
    #[must_use]
    pub fn save(&self) -> String {
        if !self.is_fabric {
            return self.servers[0].state().save();
        }
        let states = || self.servers.iter().map(|server| server.state());
        let servers = states().map(ServerState::saved).enumerate().collect();
        let saved = SavedCluster { system: self.name.clone(), servers, wiring: BTreeMap::new() };
        // Maps with text keys and numbers cannot fail to serialise.
        let text = serde_json::to_string_pretty(&saved).unwrap_or_default();
        let kinds: BTreeMap<&str, &KeptWiring> =
            states().map(|state| (state.fingerprint.as_str(), &state.wiring)).collect();
        // Each on one line, since nobody reads it.
        let lines = kinds.into_iter().map(|(fingerprint, wiring)| {
            let wiring = serde_json::to_string(wiring).unwrap_or_default();
            format!("    \"{fingerprint}\": {wiring}")
        });
        let lines = lines.collect::<Vec<_>>().join(",\n");
        let text = text.trim_end_matches("\n}");
        format!("{text},\n  \"wiring\": {{\n{lines}\n  }}\n}}\n")
    }

    /// Gives the same servers the states that [`Self::save`] wrote of them, or of them before they lost GPUs.
    ///
    /// `lost` names GPUs that are lost, as [`ServerState::restore`] takes them, counted through the servers of the state.
    ///
    /// # Errors
    /// Those of [`ServerState::restore`], with the server where there are several; the state of another number of servers.
    pub fn restore(
        mut self,
        file: &str,
        text: &str,
        lost: &[usize],
    ) -> Result<Self, AllocationError> {
        let refuse = refusing((file, text), 0, "");
        let kind: Option<Kind> = serde_json::from_str(text).ok();
        let is_of_several = kind.as_ref().is_some_and(|kind| kind.servers.is_some());
        if !self.is_fabric {
            let machine = self.servers[0].machine();
            if is_of_several {
                let problem = format!("the state is of several servers; `{}` is one", self.name);
                return Err(refuse("servers", problem, "", ANOTHER));
            }
            let (name, graph) = (machine.name(), machine.graph());
            *self.servers[0].state_mut() = ServerState::restore(file, text, name, graph, lost)?;
            return Ok(self);
        }
        let here = self.servers.len();
        if !is_of_several && kind.is_some_and(|kind| kind.machine.is_some()) {
            let problem = format!("the state is of one server; `{}` has {here}", self.name);
            return Err(refuse("machine", problem, "", ANOTHER));
        }
        let SavedCluster { system, servers, wiring } = parsed(file, text)?;
        if servers.len() != here || servers.keys().enumerate().any(|(at, key)| at != *key) {
            let problem = format!(
                "the state is of {} servers, numbered from 0; `{}` has {here}",
                servers.len(),
                self.name
            );
            return Err(refuse("servers", problem, &system, ANOTHER));
        }
        let mut first = 0;
        for (server, mut saved) in servers {
            let gpus = saved.gpus;
            let here = lost.iter().filter_map(|gpu| gpu.checked_sub(first));
            let here: Vec<usize> = here.filter(|gpu| *gpu < gpus).collect();
            first += gpus;
            saved.wiring = wiring.get(&saved.fingerprint).cloned();
            // As a lone server's file has it: four blanks before its number.
            let from = text.find(&format!("\n    \"{server}\": {{")).unwrap_or_default();
            let of = format!("node{server}: ");
            let allocator = &mut self.servers[server];
            let (name, graph) = (allocator.machine().name(), allocator.machine().graph());
            let refuse = refusing((file, text), from, &of);
            let state = ServerState::of_saved(saved, (name, graph), &here, &refuse)?;
            *allocator.state_mut() = state;
        }
        if let Some(gpu) = lost.iter().find(|gpu| **gpu >= first) {
            return Err(AllocationError::UnknownGpu { gpu: *gpu, gpus: first });
        }
        Ok(self)
    }
}
