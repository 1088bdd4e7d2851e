//! Stores a server's state, and reads it back on a machine that lost GPUs.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::AllocationError;
use super::gpu_set::GpuSet;
use super::owner::Owner;
use super::state::ServerState;
use super::wiring::{KeptWiring, Ways};
use crate::diagnostic::{InputError, Position};
use crate::system::GpuGraph;

/// The saved form. Ids are those of the whole machine, also while some of its GPUs are lost.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    machine: String,
    pub(super) gpus: usize,
    pub(super) fingerprint: String,
    unhealthy: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<usize>,
    jobs: BTreeMap<String, Vec<usize>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    owners: BTreeMap<String, Owner>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    exclusive: BTreeSet<String>,
    #[serde(default, skip_serializing)]
    pub(super) wiring: Option<KeptWiring>,
}

/// Says how to mend a file that is no state.
pub(super) const RESTORE: &str = "restore a file that was saved, or delete it to start afresh";
/// Says what to do with the state of another machine.
pub(super) const ANOTHER: &str = "keep this machine's state in a file of its own, and both stay";

impl ServerState {
    /// Returns the state as JSON, for [`Self::restore`].
    #[must_use]
    pub fn save(&self) -> String {
        // Maps with text keys and numbers cannot fail to serialise.
        let text = serde_json::to_string_pretty(&self.saved()).unwrap_or_default();
        let wiring = serde_json::to_string(&self.wiring).unwrap_or_default();
        // On one line, since nobody reads it.
        format!("{},\n  \"wiring\": {wiring}\n}}\n", text.trim_end_matches("\n}"))
    }

    /// Gives what is saved of the state, but for the wiring.
    pub(super) fn saved(&self) -> Saved {
        let whole = |gpus: &[usize]| gpus.iter().map(|gpu| self.slots[*gpu]).collect();
        let mut unhealthy: Vec<usize> = self.unhealthy.iter().map(|gpu| self.slots[gpu]).collect();
        unhealthy.extend(self.lost());
        unhealthy.sort_unstable();
        let gpus_of = |(job, gpus): (&String, &Vec<usize>)| {
            let before = self.before_loss.get(job);
            (job.clone(), before.map_or_else(|| whole(gpus), Clone::clone))
        };
        Saved {
            machine: self.machine.clone(),
            gpus: self.slots.len(),
            fingerprint: self.fingerprint.clone(),
            unhealthy,
            lost: self.lost().to_vec(),
            jobs: self.held.iter().map(gpus_of).collect(),
            owners: self.owners.clone(),
            exclusive: self.exclusive.clone(),
            wiring: None,
        }
    }

    /// Reads the state that [`Self::save`] wrote of this machine, or of it before it lost GPUs.
    ///
    /// Where GPUs are lost, the remaining ones have the ids of the machine as it is now. `lost`
    /// names the lost ones by their earlier ids, beside those that the state knows of. It is not
    /// needed where it makes no difference to a job or to a mark.
    ///
    /// # Errors
    /// Refuses text that is not such JSON, and GPUs that do not exist or are held twice. Refuses
    /// the state of a machine with another name, with fewer GPUs, or whose GPUs are named or joined
    /// otherwise. Refuses lost GPUs that may be these or those. Each error has its place.
    pub fn restore(
        file: &str,
        text: &str,
        machine: &str,
        graph: &GpuGraph,
        lost: &[usize],
    ) -> Result<Self, AllocationError> {
        Self::of_saved(parsed(file, text)?, (machine, graph), lost, &refusing((file, text), 0, ""))
    }

    /// The state of what was saved; `refuse` makes an error of a key, a problem, its value and a remedy.
    pub(super) fn of_saved(
        saved: Saved,
        (machine, graph): (&str, &GpuGraph),
        lost: &[usize],
        refuse: Refuse<'_>,
    ) -> Result<Self, AllocationError> {
        let mut state = Self::new(machine, graph);
        if saved.machine != machine {
            let differs = differences(&saved, &state);
            let remedy = if differs.is_some() {
                ANOTHER.to_owned()
            } else {
                format!(
                    "if it is the same machine, give it the name of the state (`machine import \
                     --name`); else {ANOTHER}"
                )
            };
            let differs = differs.unwrap_or_else(|| "its GPUs and links are the same".to_owned());
            let problem =
                format!("the state is of another machine; this one is `{machine}`, and {differs}");
            return Err(refuse("machine", problem, &saved.machine, &remedy));
        }
        if saved.gpus == state.gpu_count() && saved.fingerprint != state.fingerprint {
            let mut problem =
                "the state is of a machine whose GPUs are named or joined otherwise".to_owned();
            if let Some(differs) = differences(&saved, &state) {
                problem = format!("{problem}: {differs}");
            }
            let remedy = format!(
                "restore it with the machine's text of before, where that is still true; else \
                 {ANOTHER}"
            );
            return Err(refuse("fingerprint", problem, &saved.fingerprint, &remedy));
        }
        if saved.gpus != state.gpu_count() {
            let (slots, whole) = left(&saved, &state, lost).map_err(|(problem, remedy)| {
                refuse("gpus", problem, &saved.gpus.to_string(), remedy)
            })?;
            state.slots = slots;
            state.wiring = whole;
            state.fingerprint.clone_from(&saved.fingerprint);
        } else if let [lost, ..] = lost {
            let problem = format!("GPU {lost} cannot be lost: the machine has all its GPUs");
            return Err(refuse("gpus", problem, &saved.gpus.to_string(), "name no lost GPU"));
        }
        let present = state.gpu_count();
        let id_of = |gpu: usize| state.slots.iter().position(|slot| *slot == gpu);
        let mut taken = GpuSet::EMPTY;
        let (mut held, mut before_loss) = (BTreeMap::new(), BTreeMap::new());
        for (job, gpus) in saved.jobs {
            let wrong = |problem: String| refuse("jobs", problem, &job, RESTORE);
            if gpus.is_empty() {
                return Err(wrong("this job holds no GPU".to_owned()));
            }
            let mut ids = Vec::new();
            for gpu in &gpus {
                let id = id_of(*gpu).ok_or_else(|| {
                    let unknown = AllocationError::UnknownGpu { gpu: *gpu, gpus: saved.gpus };
                    wrong(format!("this job cannot hold its GPUs ({unknown})"))
                })?;
                if taken.contains(id) {
                    let error = AllocationError::NotFree { gpu: *gpu };
                    return Err(wrong(format!("this job cannot hold its GPUs ({error})")));
                }
                taken = taken.with(id);
                ids.push(id);
            }
            let left: Vec<usize> = ids.iter().copied().filter(|id| *id < present).collect();
            if left.len() < gpus.len() {
                before_loss.insert(job.clone(), gpus);
            }
            held.insert(job, left);
        }
        let mut unhealthy = GpuSet::EMPTY;
        for gpu in &saved.unhealthy {
            let id = id_of(*gpu).ok_or_else(|| {
                let error = AllocationError::UnknownGpu { gpu: *gpu, gpus: saved.gpus };
                let problem = format!("a GPU cannot be unhealthy ({error})");
                refuse("unhealthy", problem, &gpu.to_string(), RESTORE)
            })?;
            if id < present {
                unhealthy = unhealthy.with(id);
            }
        }
        (state.held, state.before_loss, state.unhealthy) = (held, before_loss, unhealthy);
        for (job, owner) in saved.owners {
            state.own(&job, owner).map_err(|error| {
                refuse("owners", format!("nobody can own these GPUs ({error})"), &job, RESTORE)
            })?;
        }
        for job in saved.exclusive {
            state.share_with_nobody(&job).map_err(|error| {
                let problem = format!("nobody can have the server alone ({error})");
                refuse("exclusive", problem, &job, RESTORE)
            })?;
        }
        Ok(state)
    }
}

/// Makes an error of a key, a problem, its value and a remedy.
pub(super) type Refuse<'a> = &'a dyn Fn(&str, String, &str, &str) -> AllocationError;

/// Reads a state's JSON.
pub(super) fn parsed<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, AllocationError> {
    serde_json::from_str(text).map_err(|error| {
        let position = Position { line: error.line().max(1), column: error.column().max(1) };
        let value = text.lines().nth(position.line - 1).unwrap_or_default();
        let message = error.to_string();
        let problem = message.split(" at line ").next().unwrap_or_default();
        InputError::at(file, position, problem, value.trim(), RESTORE).into()
    })
}

/// Refuses what a text has of a key behind an offset, and says of what the problem is.
pub(super) fn refusing<'a>(
    (file, text): (&'a str, &'a str),
    from: usize,
    of: &'a str,
) -> impl Fn(&str, String, &str, &str) -> AllocationError + 'a {
    move |key, problem, value, remedy| {
        let place = text[from..].find(&format!("\"{key}\"")).map_or(0, |at| from + at);
        let position = Position::of_offset(text, place);
        InputError::at(file, position, format!("{of}{problem}"), value, remedy).into()
    }
}

/// Tells the machine of a state from this one beside its name, as far as the state says.
fn differences(saved: &Saved, now: &ServerState) -> Option<String> {
    if saved.gpus != now.gpu_count() {
        return Some(format!("it has {} GPUs instead of {}", now.gpu_count(), saved.gpus));
    }
    if saved.fingerprint == now.fingerprint {
        return None;
    }
    let before = saved.wiring.as_ref().filter(|whole| whole.is_whole(saved.gpus));
    let told = before.and_then(|whole| whole.difference(&now.wiring));
    told.or_else(|| Some(format!("its fingerprint is {}", now.fingerprint)))
}

/// The ids of before of all GPUs: first those that are left, then the lost ones; and how the
/// machine was joined before. The error is a problem and its remedy.
fn left(
    saved: &Saved,
    now: &ServerState,
    named: &[usize],
) -> Result<(Vec<usize>, KeptWiring), (String, &'static str)> {
    let present = now.gpu_count();
    let another = format!("the state is of another machine; this one has {present} GPUs");
    if present > saved.gpus || saved.gpus > super::MAX_GPUS {
        return Err((another, ANOTHER));
    }
    let Some(whole) = &saved.wiring else {
        let problem = format!(
            "the machine has lost GPUs, or is another; it has {present}, and the state, which an \
             earlier version saved, does not tell which"
        );
        let remedy = "restore it with the machine's text of before, whose lost GPUs you mark \
                      unhealthy, or delete the file when no job runs";
        return Err((problem, remedy));
    };
    if !whole.is_whole(saved.gpus) {
        return Err(("the wiring has another number of GPUs".to_owned(), RESTORE));
    }
    let without = |lost: &[usize]| -> Vec<usize> {
        (0..saved.gpus).filter(|gpu| !lost.contains(gpu)).collect()
    };
    let all_of = |mut left: Vec<usize>| {
        let lost = without(&left);
        left.extend(lost);
        (left, whole.clone())
    };
    let known = without(&[&saved.lost[..], named].concat());
    if whole.is_joined_as(&now.wiring, &known) {
        return Ok(all_of(known));
    }
    if let [gpu, ..] = named {
        let problem = format!(
            "without GPU {gpu} and others that are named lost, {} are left; the machine has \
             {present}, or they are joined otherwise",
            known.len()
        );
        return Err((problem, "name all GPUs that are lost, by their ids in the state"));
    }
    let ways = whole.ways(&now.wiring);
    let Some(first) = ways.found.first() else {
        let problem = if ways.more { tangled(present, saved.gpus) } else { another };
        return Err((problem, if ways.more { NAME_THEM } else { ANOTHER }));
    };
    let uses = uses(saved);
    let used = |way: &[usize]| way.iter().map(|gpu| &uses[*gpu]).collect::<Vec<_>>();
    let is_same = !ways.more && ways.found.iter().all(|way| used(way) == used(first));
    // Where no GPU is used, it makes no difference which is which.
    if is_same || uses.iter().all(|each| *each == uses[0]) {
        return Ok(all_of(first.clone()));
    }
    Err((doubtful(&ways, &without, present, saved.gpus), NAME_THEM))
}

const NAME_THEM: &str = "say which with `linkwright state mark-lost`, by their ids before";

/// Returns the use of each GPU: its job, and whether it is unhealthy.
fn uses(saved: &Saved) -> Vec<(Option<&str>, bool)> {
    let mut uses = vec![(None, false); saved.gpus];
    for (job, gpus) in &saved.jobs {
        for gpu in gpus.iter().filter(|gpu| **gpu < saved.gpus) {
            uses[*gpu].0 = Some(job.as_str());
        }
    }
    for gpu in saved.unhealthy.iter().filter(|gpu| **gpu < saved.gpus) {
        uses[*gpu].1 = true;
    }
    uses
}

fn tangled(present: usize, gpus: usize) -> String {
    format!(
        "the machine has {present} of its {gpus} GPUs left, and too many ways to have lost some"
    )
}

/// Which GPUs may be lost, the first few.
fn doubtful(
    ways: &Ways,
    without: &dyn Fn(&[usize]) -> Vec<usize>,
    present: usize,
    gpus: usize,
) -> String {
    const SHOWN: usize = 8;
    let sets = ways.found.iter().take(SHOWN).map(|way| {
        let lost: Vec<String> = without(way).iter().map(ToString::to_string).collect();
        lost.join(",")
    });
    let mut sets: Vec<String> = sets.collect();
    sets.reverse();
    let more = if ways.found.len() > SHOWN || ways.more { ", or others" } else { "" };
    format!(
        "the machine has {present} of its {gpus} GPUs left; by places and links those lost may be \
         {}{more}, and jobs or marks are on some",
        sets.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::presets::{NAMES, preset};
    use crate::system::{BandwidthProfile, Device, DeviceKind, Link, Server, ServerBuilder};
    use proptest::prelude::*;

    fn graph(machine: &Server) -> GpuGraph {
        GpuGraph::new(machine, BandwidthProfile::Mapa).unwrap()
    }

    /// The machine as `nvidia-smi` shows it without these GPUs: the others counted anew.
    fn without(machine: &Server, lost: &[usize]) -> Server {
        let gpus = machine.gpus();
        let mut builder = ServerBuilder::new(machine.name(), "a machine that lost GPUs");
        let mut ids = vec![None; machine.devices().len()];
        let mut counted = 0;
        for (id, device) in machine.devices().iter().enumerate() {
            let name = match device.kind {
                DeviceKind::Gpu => {
                    let gpu = gpus.iter().position(|gpu| *gpu == id).unwrap();
                    if lost.contains(&gpu) {
                        continue;
                    }
                    counted += 1;
                    format!("GPU{}", counted - 1)
                }
                _ => device.name.clone(),
            };
            ids[id] = Some(builder.add(Device { name, ..device.clone() }).unwrap());
        }
        for link in machine.links() {
            if let (Some(a), Some(b)) = (ids[link.a], ids[link.b]) {
                builder.link(Link { a, b, ..link.clone() }).unwrap();
            }
        }
        builder.build().unwrap()
    }

    fn restore(state: &str, machine: &Server, lost: &[usize]) -> Result<ServerState, String> {
        ServerState::restore("s.json", state, "m", &graph(machine), lost)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_lost_gpu_is_told_by_the_links_and_comes_back_unhealthy() {
        let whole = preset("dgx1-v100").unwrap();
        let mut state = ServerState::new("m", &graph(&whole));
        state.allocate("a", &[5, 3]).unwrap();
        state.allocate("b", &[0, 1, 2]).unwrap();
        let lost = restore(&state.save(), &without(&whole, &[4]), &[]).unwrap();
        assert_eq!(lost.lost(), [4]);
        assert_eq!(lost.ids_before_loss(), [0, 1, 2, 3, 5, 6, 7]);
        assert_eq!(lost.held()["a"], [4, 3]);
        assert_eq!(lost.free(), GpuSet::first(7).without(GpuSet::first(5)));
        let mut back = restore(&lost.save(), &whole, &[]).unwrap();
        assert_eq!(back.unhealthy(), GpuSet::EMPTY.with(4));
        assert_eq!(back.held(), state.held());
        back.mark_healthy(4).unwrap();
        assert_eq!(back, state);
    }

    #[test]
    fn a_job_keeps_what_is_left_and_is_released_whole() {
        let whole = preset("summit-node").unwrap();
        let mut state = ServerState::new("m", &graph(&whole));
        state.allocate("a", &[4, 0]).unwrap();
        // On the same socket, 3 and 5 are free, and which of the three is gone makes a difference.
        let part = without(&whole, &[4]);
        let refused = restore(&state.save(), &part, &[]).unwrap_err();
        assert!(
            refused.starts_with("s.json:3:3: the machine has 5 of its 6 GPUs left;"),
            "{refused}"
        );
        assert!(refused.contains("lost may be 3 or 4 or 5, and jobs"), "{refused}");
        assert!(refused.contains("mark-lost"), "{refused}");
        let mut left = restore(&state.save(), &part, &[4]).unwrap();
        assert_eq!(left.held()["a"], [0]);
        // A loss that was named once is known from then on, and a second loss is another question.
        assert_eq!(restore(&left.save(), &part, &[]).unwrap(), left);
        assert!(restore(&left.save(), &without(&whole, &[4, 5]), &[]).is_err());
        assert_eq!(left.release("a").unwrap(), [0]);
        let back = restore(&left.save(), &whole, &[]).unwrap();
        assert_eq!((back.held().len(), back.unhealthy()), (0, GpuSet::EMPTY.with(4)));
    }

    #[test]
    fn what_is_named_lost_must_be_what_is_missing() {
        let whole = preset("dgx1-v100").unwrap();
        let state = ServerState::new("m", &graph(&whole)).save();
        let named = |machine: &Server, lost: &[usize]| restore(&state, machine, lost).unwrap_err();
        assert!(named(&whole, &[1]).contains("GPU 1 cannot be lost"));
        let part = without(&whole, &[2]);
        assert!(named(&part, &[7]).contains("without GPU 7"), "joined otherwise");
        assert!(named(&part, &[2, 3]).contains("6 are left"));
        assert!(named(&preset("dgx-a100").unwrap(), &[]).contains("otherwise"));
        assert!(named(&preset("summit-node").unwrap(), &[]).contains("another machine"));
        assert!(named(&preset("dgx2").unwrap(), &[]).contains("another machine"));
    }

    #[test]
    fn another_machine_is_told_by_what_differs_and_both_can_be_kept() {
        let whole = preset("dgx1-v100").unwrap();
        let saved = ServerState::new("mine", &graph(&whole)).save();
        let on = |name: &str, machine: &Server| {
            let restored = ServerState::restore("s.json", &saved, name, &graph(machine), &[]);
            restored.unwrap_err().to_string()
        };
        let renamed = on("paste", &whole);
        let start = "s.json:2:3: the state is of another machine; this one is `paste`, and its \
                     GPUs and links are the same: `mine`; if";
        assert!(renamed.starts_with(start), "{renamed}");
        let toml = crate::system::toml_format::write(&whole).replace("count = 2", "count = 1");
        let slower = crate::system::toml_format::read("m.toml", &toml).unwrap();
        let differs = "GPUs 1 and 2 are joined by 2 of nvlink2 (50 GB/s) and the host";
        let of_another = on("paste", &slower);
        assert!(of_another.contains(&format!("`paste`, and {differs}")), "{of_another}");
        assert!(of_another.contains("by 1 of nvlink2 (25 GB/s) and the host"), "{of_another}");
        let changed = on("mine", &slower);
        assert!(changed.contains(&format!("joined otherwise: {differs}")), "{changed}");
        let smaller = on("paste", &preset("summit-node").unwrap());
        assert!(smaller.contains("and it has 6 GPUs instead of 8"), "{smaller}");
        for refused in [renamed, of_another, changed, smaller] {
            assert!(refused.ends_with(ANOTHER) && !refused.contains("delete"), "{refused}");
        }
    }

    #[test]
    fn names_that_are_not_just_numbered_tell_alike_gpus_apart() {
        let named = |names: &[&str]| {
            let mut builder = ServerBuilder::new("m", "test");
            let host = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
            for name in names {
                let gpu = builder.device(name, DeviceKind::Gpu, None).unwrap();
                let kind = crate::system::LinkKind::Pcie4;
                builder.data_sheet_link(gpu, host, kind, 1).unwrap();
            }
            builder.build().unwrap()
        };
        let mut state = ServerState::new("m", &graph(&named(&["a", "b", "c", "d"])));
        state.allocate("job", &[2]).unwrap();
        let lost = restore(&state.save(), &named(&["a", "c", "d"]), &[]).unwrap();
        assert_eq!((lost.lost(), &lost.held()["job"]), (&[1][..], &vec![1]));
        // The first names alone may as well be numbers that moved up.
        assert!(restore(&state.save(), &named(&["a", "b", "c"]), &[]).is_err());
    }

    #[test]
    fn a_state_without_wiring_and_owners_is_restored() {
        let whole = preset("dgx1-v100").unwrap();
        let old = r#"{"machine": "m", "gpus": 8, "fingerprint": "009ef5683f67c0bd",
            "unhealthy": [5], "jobs": {"train": [0, 3, 2]}}"#;
        let state = restore(old, &whole, &[]).unwrap();
        assert_eq!((state.held()["train"].len(), state.owners().len()), (3, 0));
        let refused = restore(old, &without(&whole, &[6]), &[]).unwrap_err();
        assert!(refused.contains("earlier version"), "{refused}");
    }

    proptest! {
        /// Tests a state after any loss. Where it is accepted, each GPU that it calls free is one
        /// that no job held and nobody had marked.
        #[test]
        fn no_held_gpu_is_free_after_a_loss(
            name in proptest::sample::select(NAMES.to_vec()),
            lost in proptest::collection::btree_set(0_usize..16, 1..3),
            held in proptest::collection::btree_set(0_usize..16, 0..6),
            ill in proptest::option::of(0_usize..16),
            is_named in proptest::bool::ANY,
        ) {
            let Ok(whole) = preset(name) else { return Ok(()) };
            let count = whole.gpus().len();
            prop_assume!(count <= 16);
            let lost: Vec<usize> = lost.into_iter().filter(|gpu| *gpu < count).collect();
            prop_assume!(!lost.is_empty() && lost.len() < count);
            let mut state = ServerState::new("m", &graph(&whole));
            for gpu in held.iter().filter(|gpu| **gpu < count) {
                state.allocate(&format!("job-{}", gpu / 2), &[*gpu]).ok();
            }
            if let Some(ill) = ill.filter(|gpu| *gpu < count) {
                state.mark_unhealthy(ill).unwrap();
            }
            let named = if is_named { lost.as_slice() } else { &[] };
            let part = without(&whole, &lost);
            match restore(&state.save(), &part, named) {
                Ok(left) => {
                    let truth: Vec<usize> = (0..count).filter(|gpu| !lost.contains(gpu)).collect();
                    for id in left.free().iter() {
                        prop_assert!(state.free().contains(truth[id]), "{} is not free", truth[id]);
                    }
                    for (job, gpus) in left.held() {
                        for id in gpus {
                            prop_assert!(state.held()[job].contains(&truth[*id]));
                        }
                    }
                    prop_assert_eq!(restore(&left.save(), &part, &[]).unwrap(), left);
                }
                Err(refused) => {
                    prop_assert!(!is_named, "{refused}");
                    prop_assert!(refused.contains("mark-lost"), "{refused}");
                }
            }
        }
    }
}
