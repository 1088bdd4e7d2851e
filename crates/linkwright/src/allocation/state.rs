//! Which GPUs of a live server are free, held or unhealthy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::AllocationError;
use super::gpu_set::{GpuSet, MAX_GPUS};
use crate::diagnostic::{InputError, Position};

/// The state of one server. Every change either happens as a whole or is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    machine: String,
    gpus: usize,
    unhealthy: GpuSet,
    held: BTreeMap<String, Vec<usize>>,
}

/// The saved form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    machine: String,
    gpus: usize,
    unhealthy: Vec<usize>,
    jobs: BTreeMap<String, Vec<usize>>,
}

impl ServerState {
    /// A server whose GPUs are all free and healthy.
    #[must_use]
    pub fn new(machine: &str, gpus: usize) -> Self {
        let (unhealthy, held) = (GpuSet::EMPTY, BTreeMap::new());
        Self { machine: machine.to_owned(), gpus, unhealthy, held }
    }

    /// The machine's name.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// How many GPUs the machine has.
    #[must_use]
    pub const fn gpu_count(&self) -> usize {
        self.gpus
    }

    /// The GPUs that a job can get now: healthy and held by nobody.
    #[must_use]
    pub fn free(&self) -> GpuSet {
        let held: GpuSet = self.held.values().flatten().copied().collect();
        GpuSet::first(self.gpus).without(held).without(self.unhealthy)
    }

    /// The GPUs marked unhealthy, held or not.
    #[must_use]
    pub const fn unhealthy(&self) -> GpuSet {
        self.unhealthy
    }

    /// Each job's GPUs, in the order of its pattern's vertices.
    #[must_use]
    pub const fn held(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.held
    }

    /// Gives a job GPUs that are free.
    ///
    /// # Errors
    /// A job that holds GPUs already, an unknown GPU, or one that is not free.
    pub fn allocate(&mut self, job: &str, gpus: &[usize]) -> Result<(), AllocationError> {
        if let Some(held) = self.held.get(job) {
            let held = held.iter().copied().collect::<GpuSet>().to_string();
            return Err(AllocationError::AlreadyAllocated { job: job.to_owned(), held });
        }
        let mut free = self.free();
        for gpu in gpus {
            self.known(*gpu)?;
            if !free.contains(*gpu) {
                return Err(AllocationError::NotFree { gpu: *gpu });
            }
            free = free.without(GpuSet::EMPTY.with(*gpu));
        }
        self.held.insert(job.to_owned(), gpus.to_vec());
        Ok(())
    }

    /// Takes a job's GPUs back and returns them.
    ///
    /// # Errors
    /// [`AllocationError::NotAllocated`] where it holds none: released before, or unknown.
    pub fn release(&mut self, job: &str) -> Result<Vec<usize>, AllocationError> {
        let held = self.held.remove(job);
        held.ok_or_else(|| AllocationError::NotAllocated { job: job.to_owned() })
    }

    /// Keeps a GPU from new jobs; a job that holds it goes on.
    ///
    /// # Errors
    /// [`AllocationError::UnknownGpu`].
    pub fn mark_unhealthy(&mut self, gpu: usize) -> Result<(), AllocationError> {
        self.known(gpu)?;
        self.unhealthy = self.unhealthy.with(gpu);
        Ok(())
    }

    /// Lets a GPU be given out again.
    ///
    /// # Errors
    /// [`AllocationError::UnknownGpu`].
    pub fn mark_healthy(&mut self, gpu: usize) -> Result<(), AllocationError> {
        self.known(gpu)?;
        self.unhealthy = self.unhealthy.without(GpuSet::EMPTY.with(gpu));
        Ok(())
    }

    fn known(&self, gpu: usize) -> Result<(), AllocationError> {
        if gpu < self.gpus {
            return Ok(());
        }
        Err(AllocationError::UnknownGpu { gpu, gpus: self.gpus })
    }

    /// The state as JSON, for [`Self::restore`].
    #[must_use]
    pub fn save(&self) -> String {
        let saved = Saved {
            machine: self.machine.clone(),
            gpus: self.gpus,
            unhealthy: self.unhealthy.iter().collect(),
            jobs: self.held.clone(),
        };
        // A map with text keys and numbers cannot fail to serialise.
        serde_json::to_string_pretty(&saved).unwrap_or_default() + "\n"
    }

    /// The state that [`Self::save`] wrote.
    ///
    /// # Errors
    /// Text that is not such JSON, with its place; GPUs that do not exist or are held twice.
    pub fn restore(file: &str, text: &str) -> Result<Self, AllocationError> {
        let saved: Saved = serde_json::from_str(text).map_err(|error| {
            let position = Position { line: error.line().max(1), column: error.column().max(1) };
            let value = text.lines().nth(position.line - 1).unwrap_or_default();
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default();
            let remedy = "restore a file that was saved, or delete it to start afresh";
            InputError::at(file, position, problem, value.trim(), remedy)
        })?;
        if saved.gpus == 0 || saved.gpus > MAX_GPUS {
            let problem = format!("{} GPUs; it must have 1 to {MAX_GPUS}", saved.gpus);
            return Err(AllocationError::State { problem });
        }
        let mut state = Self::new(&saved.machine, saved.gpus);
        for (job, gpus) in &saved.jobs {
            if gpus.is_empty() {
                return Err(AllocationError::State { problem: format!("job `{job}` holds none") });
            }
            state
                .allocate(job, gpus)
                .map_err(|error| AllocationError::State { problem: error.to_string() })?;
        }
        for gpu in saved.unhealthy {
            state
                .mark_unhealthy(gpu)
                .map_err(|error| AllocationError::State { problem: error.to_string() })?;
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn misuse_is_an_error_and_changes_nothing() {
        let mut state = ServerState::new("m", 4);
        state.allocate("a", &[0, 1]).unwrap();
        let before = state.clone();
        assert!(state.allocate("a", &[2]).is_err(), "holds GPUs already");
        assert!(state.allocate("b", &[2, 1]).is_err(), "GPU 1 is taken");
        assert!(state.allocate("b", &[2, 2]).is_err(), "one GPU twice");
        assert!(state.allocate("b", &[4]).is_err(), "no such GPU");
        assert!(state.release("b").is_err(), "never allocated");
        assert!(state.mark_unhealthy(4).is_err());
        assert_eq!(state, before);
        state.release("a").unwrap();
        assert!(state.release("a").is_err(), "double release");
    }

    #[test]
    fn an_unhealthy_gpu_stays_out_after_its_release() {
        let mut state = ServerState::new("m", 2);
        state.allocate("a", &[0]).unwrap();
        state.mark_unhealthy(0).unwrap();
        state.release("a").unwrap();
        assert_eq!(state.free(), GpuSet::EMPTY.with(1));
        state.mark_healthy(0).unwrap();
        assert_eq!(state.free(), GpuSet::first(2));
    }

    #[test]
    fn a_saved_state_that_contradicts_itself_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"machine":"m","gpus":2,"unhealthy":[],"jobs":{"a":[0],"b":[0]}}"#,
            r#"{"machine":"m","gpus":2,"unhealthy":[2],"jobs":{}}"#,
            r#"{"machine":"m","gpus":2,"unhealthy":[],"jobs":{"a":[]}}"#,
            r#"{"machine":"m","gpus":999,"unhealthy":[],"jobs":{}}"#,
        ] {
            assert!(ServerState::restore("s.json", text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn free_and_held_always_partition_the_healthy(
            actions in proptest::collection::vec((0_u8..4, 0_usize..10, 0_usize..10), 0..60),
        ) {
            let mut state = ServerState::new("m", 8);
            for (action, job, gpu) in actions {
                let name = format!("job-{job}");
                let _ = match action {
                    0 => state.allocate(&name, &[gpu, (gpu + job) % 9]),
                    1 => state.release(&name).map(|_| ()),
                    2 => state.mark_unhealthy(gpu),
                    _ => state.mark_healthy(gpu),
                };
                let held: Vec<usize> = state.held().values().flatten().copied().collect();
                let set: GpuSet = held.iter().copied().collect();
                prop_assert_eq!(set.len(), held.len());
                prop_assert!(set.intersection(state.free()).is_empty());
                let all = set.union(state.free()).union(state.unhealthy());
                prop_assert_eq!(all, GpuSet::first(8));
                let restored = ServerState::restore("s", &state.save()).unwrap();
                prop_assert_eq!(&restored, &state);
            }
        }

        #[test]
        fn any_text_restores_or_is_refused(text in "\\PC*") {
            let _ = ServerState::restore("s", &text);
        }
    }
}
