//! Which GPUs of a live server are free, held or unhealthy, and who holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::error::AllocationError;
use super::gpu_set::GpuSet;
use super::owner::Owner;
use super::wiring::{KeptWiring, way};
use crate::system::GpuGraph;

/// The state of one server. Every change either happens as a whole or is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerState {
    pub(super) machine: String,
    gpus: usize,
    /// That of the whole machine, as `wiring` is.
    pub(super) fingerprint: String,
    pub(super) wiring: KeptWiring,
    /// The id in the whole machine of each GPU, and then of those that it has lost.
    pub(super) slots: Vec<usize>,
    pub(super) unhealthy: GpuSet,
    pub(super) held: BTreeMap<String, Vec<usize>>,
    /// Of each job that has lost GPUs what it held, by the ids of the whole machine.
    pub(super) before_loss: BTreeMap<String, Vec<usize>>,
    pub(super) owners: BTreeMap<String, Owner>,
    /// Names the jobs that share the server with nobody.
    pub(super) exclusive: BTreeSet<String>,
}

impl ServerState {
    /// Makes the state of a server of this name and these GPUs, all of them free and healthy.
    #[must_use]
    pub fn new(machine: &str, graph: &GpuGraph) -> Self {
        Self {
            machine: machine.to_owned(),
            gpus: graph.len(),
            fingerprint: fingerprint(graph),
            wiring: KeptWiring::new(graph),
            slots: (0..graph.len()).collect(),
            unhealthy: GpuSet::EMPTY,
            held: BTreeMap::new(),
            before_loss: BTreeMap::new(),
            owners: BTreeMap::new(),
            exclusive: BTreeSet::new(),
        }
    }

    /// Returns the machine's name.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// How many GPUs the machine has now.
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

    /// The GPUs that a job can get now, by whether it shares its server with nobody.
    #[must_use]
    pub fn free_for(&self, exclusive: bool) -> GpuSet {
        let is_closed = if exclusive { !self.held.is_empty() } else { !self.exclusive.is_empty() };
        if is_closed { GpuSet::EMPTY } else { self.free() }
    }

    /// Names the jobs that share the server with nobody.
    #[must_use]
    pub const fn exclusive(&self) -> &BTreeSet<String> {
        &self.exclusive
    }

    /// Returns the GPUs marked unhealthy, held or not.
    #[must_use]
    pub const fn unhealthy(&self) -> GpuSet {
        self.unhealthy
    }

    /// The GPUs that the machine has lost, by their ids before it did.
    #[must_use]
    pub fn lost(&self) -> &[usize] {
        &self.slots[self.gpus..]
    }

    /// Returns the id of each GPU before the machine lost any.
    #[must_use]
    pub fn ids_before_loss(&self) -> &[usize] {
        &self.slots[..self.gpus]
    }

    /// Who asked for each job's GPUs, where that is known.
    #[must_use]
    pub const fn owners(&self) -> &BTreeMap<String, Owner> {
        &self.owners
    }

    /// Each job's GPUs, in the order of its pattern's vertices, but for those that are lost.
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

    /// Keeps the server from other jobs until this one releases it.
    ///
    /// # Errors
    /// Fails with [`AllocationError::NotAllocated`].
    pub fn share_with_nobody(&mut self, job: &str) -> Result<(), AllocationError> {
        if !self.held.contains_key(job) {
            return Err(AllocationError::NotAllocated { job: job.to_owned() });
        }
        self.exclusive.insert(job.to_owned());
        Ok(())
    }

    /// Records who asked for a job's GPUs.
    ///
    /// # Errors
    /// Fails with [`AllocationError::NotAllocated`].
    pub fn own(&mut self, job: &str, owner: Owner) -> Result<(), AllocationError> {
        if !self.held.contains_key(job) {
            return Err(AllocationError::NotAllocated { job: job.to_owned() });
        }
        self.owners.insert(job.to_owned(), owner);
        Ok(())
    }

    /// Takes a job's GPUs back and returns them.
    ///
    /// # Errors
    /// [`AllocationError::NotAllocated`] where it holds none: released before, or unknown.
    pub fn release(&mut self, job: &str) -> Result<Vec<usize>, AllocationError> {
        let held = self.held.remove(job);
        self.owners.remove(job);
        self.exclusive.remove(job);
        self.before_loss.remove(job);
        held.ok_or_else(|| AllocationError::NotAllocated { job: job.to_owned() })
    }

    /// Keeps a GPU from new jobs; a job that holds it goes on.
    ///
    /// # Errors
    /// Fails with [`AllocationError::UnknownGpu`].
    pub fn mark_unhealthy(&mut self, gpu: usize) -> Result<(), AllocationError> {
        self.known(gpu)?;
        self.unhealthy = self.unhealthy.with(gpu);
        Ok(())
    }

    /// Lets a GPU be given out again.
    ///
    /// # Errors
    /// Fails with [`AllocationError::UnknownGpu`].
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
}

/// Returns 16 hexadecimal digits that tell one machine's GPUs from another's. They depend on the
/// GPUs' names, links and host paths, and not on the bandwidth profile.
fn fingerprint(graph: &GpuGraph) -> String {
    let mut text = String::new();
    for (b, name) in graph.names().iter().enumerate() {
        // With its length, a name that holds a line break cannot pass for another machine's.
        let _ = writeln!(text, "gpu {} {name}", name.len());
        for a in 0..b {
            for path in graph.fabric_paths(a, b) {
                let (way, kind, count) = way(path.link);
                let bandwidth = path.bandwidth.0;
                let _ = writeln!(text, "{a} {b} {way} {kind} {count} {bandwidth}");
            }
            let host = graph.pair(a, b).map_or(0, |pair| pair.host.0);
            let _ = writeln!(text, "{a} {b} host {host}");
        }
    }
    format!("{:016x}", fnv1a(text.as_bytes()))
}

/// Computes the 64-bit FNV-1a hash (Fowler, Noll and Vo; IETF draft-eastlake-fnv). It is the same
/// on every machine and in every version. A saved file needs that, and std's hashers do not promise
/// it.
fn fnv1a(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::preset;
    use crate::system::{BandwidthProfile, Server, toml_format};
    use proptest::prelude::*;

    fn graph(machine: &Server) -> GpuGraph {
        GpuGraph::new(machine, BandwidthProfile::Mapa).unwrap()
    }

    fn of_preset(name: &str) -> GpuGraph {
        graph(&preset(name).unwrap())
    }

    #[test]
    fn misuse_is_an_error_and_changes_nothing() {
        let mut state = ServerState::new("m", &of_preset("pcie-tree-4"));
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
        let mut state = ServerState::new("m", &of_preset("titan-z"));
        state.allocate("a", &[0]).unwrap();
        state.mark_unhealthy(0).unwrap();
        state.release("a").unwrap();
        assert_eq!(state.free(), GpuSet::EMPTY.with(1));
        state.mark_healthy(0).unwrap();
        assert_eq!(state.free(), GpuSet::first(2));
    }

    #[test]
    fn a_saved_state_that_contradicts_itself_is_refused_with_its_place() {
        let pair = of_preset("titan-z");
        let saved = ServerState::new("m", &pair).save();
        let cases = [
            (String::new(), "s.json:1:1: "),
            ("{}".to_owned(), "s.json:1:2: missing field `machine`"),
            (saved.replace("{}", r#"{"a": [0], "b": [0]}"#), "s.json:6:3: this job cannot hold"),
            (saved.replace("{}", r#"{"a": []}"#), "s.json:6:3: this job holds no GPU: `a`; "),
            (saved.replace("{}", r#"{"a": [2]}"#), "s.json:6:3: this job cannot hold its GPUs (th"),
            (
                saved.replace("\"unhealthy\": []", "\"unhealthy\": [2]"),
                "s.json:5:3: a GPU cannot be unhealthy (there is no GPU 2",
            ),
            (
                saved.replace("\"gpus\": 2,", "\"gpus\": 999,"),
                "s.json:3:3: the state is of another machine; this one",
            ),
            (
                saved.replace("\"gpus\": 2,", "\"gpus\": 1,"),
                "s.json:3:3: the state is of another machine; this one",
            ),
            (
                saved.replace("\"gpus\": 2,", "\"gpus\": 3,"),
                "s.json:3:3: the wiring has another number of GPUs: ",
            ),
            (
                saved.replace("{}", r#"{}, "owners": {"a": {"pid": 1, "host": "", "time": 0}}"#),
                "s.json:6:15: nobody can own these GPUs (job `a` holds no GPU",
            ),
        ];
        for (text, start) in cases {
            let error =
                ServerState::restore("s.json", &text, "m", &pair, &[]).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}\n{text}");
            assert!(error.contains("delete") || error.contains("of its own"), "{error}");
        }
    }

    #[test]
    fn a_state_of_other_gpus_is_refused_and_of_another_profile_is_not() {
        let dgx = preset("dgx1-v100").unwrap();
        let mut state = ServerState::new("dgx", &graph(&dgx));
        state.allocate("a", &[0, 3]).unwrap();
        let saved = state.save();
        let restore = |machine: &Server, profile| {
            let graph = GpuGraph::new(machine, profile).unwrap();
            ServerState::restore("s.json", &saved, "dgx", &graph, &[])
        };
        for profile in [BandwidthProfile::Mapa, BandwidthProfile::DataSheet] {
            assert_eq!(restore(&dgx, profile).unwrap(), state);
        }
        let toml = toml_format::write(&dgx);
        let read = |text: &str| toml_format::read("m.toml", text).unwrap();
        let swapped =
            toml.replace("GPU0", "GPU").replace("GPU1", "GPU0").replace("GPU\"", "GPU1\"");
        assert_ne!(read(&swapped), dgx);
        let others = [
            preset("dgx1-p100").unwrap(),
            read(&swapped),
            read(&toml.replacen("count = 2", "count = 3", 1)),
        ];
        for other in others {
            let error = restore(&other, BandwidthProfile::Mapa).unwrap_err().to_string();
            assert!(error.starts_with("s.json:4:3: ") && error.contains("otherwise"), "{error}");
        }
        let named = ServerState::restore("s.json", &saved, "node17", &graph(&dgx), &[]);
        let error = named.unwrap_err().to_string();
        assert!(error.starts_with("s.json:2:3: ") && error.contains("`dgx`"), "{error}");
    }

    #[test]
    fn a_fingerprint_stays_what_it_was() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fingerprint(&of_preset("dgx1-v100")), "009ef5683f67c0bd");
    }

    proptest! {
        #[test]
        fn free_and_held_always_partition_the_healthy(
            actions in proptest::collection::vec((0_u8..4, 0_usize..10, 0_usize..10), 0..60),
        ) {
            let graph = of_preset("dgx1-v100");
            let mut state = ServerState::new("m", &graph);
            for (action, job, gpu) in actions {
                let name = format!("job-{job}");
                let _ = match action {
                    0 => state.allocate(&name, &[gpu, (gpu + job) % 9]).and_then(|()| {
                        let (host, time) = (format!("h\"{gpu}"), 1 << (7 * gpu));
                        let lease = (job % 2 == 0).then_some(job as u64);
                        state.own(&name, Owner { pid: gpu as u32, host, time, lease })
                    }),
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
                prop_assert!(state.owners().keys().eq(state.held().keys()));
                let restored = ServerState::restore("s", &state.save(), "m", &graph, &[]).unwrap();
                prop_assert_eq!(&restored, &state);
            }
        }

        #[test]
        fn any_text_restores_or_is_refused(text in "\\PC*") {
            let _ = ServerState::restore("s", &text, "m", &of_preset("titan-z"), &[]);
        }
    }
}
