//! Tests what a live cluster gives, keeps and saves.

use super::*;
use crate::allocation::{
    BandwidthModel, Effort, Pattern, PatternShape, PreparedMachine, Ties, policy,
};
use crate::diagnostic::Named;
use crate::system::composition::{PortOrder, System};
use crate::system::fabric::{Fabric, FabricShape, NodeLink};
use crate::system::presets::preset;
use crate::system::{BandwidthProfile, Server};
use crate::units::{Bandwidth, Picoseconds};
use std::sync::Arc;

use proptest::prelude::*;

/// Makes servers on one switch.
fn cluster(servers: &[(&str, u32)], choice: ServerChoice) -> ClusterAllocator {
    let servers: Vec<(Arc<Server>, u32)> =
        servers.iter().map(|(name, count)| (Arc::new(preset(name).unwrap()), *count)).collect();
    let ports = System::ports_for(&servers).unwrap();
    let (bandwidth, latency) = (Bandwidth(12_500_000_000), Picoseconds(600_000));
    let links = vec![NodeLink { switch: 0, bandwidth, latency }; ports as usize];
    let fabric = Fabric::new("network0", FabricShape::Graph, 1, &links, &[]).unwrap();
    let system = System::new(&servers, fabric, PortOrder::Plain).unwrap();
    let prepare = |server| {
        let profile = BandwidthProfile::default_of(server);
        let made = PreparedMachine::new(server, profile, BandwidthModel::Sound);
        made.unwrap().with_ties(Ties::Nearest)
    };
    let machines = system.kinds().iter().map(|kind| prepare(kind.server())).collect();
    let policy = policy("preserve").unwrap();
    ClusterAllocator::new(Servers { system: &system, machines, policy, choice })
}

struct Asked(usize, Option<usize>, bool);

fn try_ask(
    allocator: &mut ClusterAllocator,
    job: &str,
    Asked(gpus, servers, exclusive): Asked,
) -> Result<Option<Vec<usize>>, String> {
    let pattern = Pattern::new(PatternShape::Ring, gpus).unwrap();
    let request = ClusterRequest { pattern: &pattern, sensitive: true, servers, exclusive };
    let given = allocator.allocate(job, &request, &mut Effort::new());
    let servers = |parts: Vec<(usize, crate::allocation::Selection)>| {
        parts.into_iter().map(|(server, _)| server).collect()
    };
    given.map(|given| given.map(servers)).map_err(|error| error.to_string())
}

fn ask(allocator: &mut ClusterAllocator, job: &str, gpus: usize) -> Option<Vec<usize>> {
    try_ask(allocator, job, Asked(gpus, None, false)).unwrap()
}

fn restored(
    idle: &ClusterAllocator,
    text: &str,
    lost: &[usize],
) -> Result<ClusterAllocator, String> {
    idle.clone().restore("c.json", text, lost).map_err(|error| error.to_string())
}

#[test]
fn a_job_larger_than_any_server_takes_several() {
    let mut first = cluster(&[("summit-node", 3)], ServerChoice::FirstFit);
    assert_eq!(ask(&mut first, "a", 4), Some(vec![0]));
    assert_eq!(ask(&mut first, "b", 8), Some(vec![0, 1]));
    assert_eq!(ask(&mut first, "c", 6), Some(vec![2]));
    assert_eq!(ask(&mut first, "d", 1), None);
    let released = first.release("b").unwrap();
    assert_eq!(first.in_system(&released), [4, 5, 6, 11, 10, 9, 8, 7]);
    assert_eq!(ask(&mut first, "d", 1), Some(vec![0]));
    let refused = try_ask(&mut first, "e", Asked(19, None, false)).unwrap_err();
    assert_eq!(
        refused,
        "job `e` asks for 19 GPUs; ask for at most 18, which is all that the \
        machine has"
    );
}

#[test]
fn an_exclusive_job_keeps_its_servers_to_itself() {
    let mut pack = cluster(&[("summit-node", 2)], ServerChoice::Pack);
    assert_eq!(try_ask(&mut pack, "a", Asked(2, None, true)), Ok(Some(vec![0])));
    assert_eq!(ask(&mut pack, "b", 2), Some(vec![1]));
    assert_eq!(try_ask(&mut pack, "c", Asked(1, None, true)), Ok(None));
    assert_eq!(ask(&mut pack, "d", 5), None);
    let saved = pack.save();
    let mut again =
        restored(&cluster(&[("summit-node", 2)], ServerChoice::Pack), &saved, &[]).unwrap();
    assert!(again == pack);
    assert_eq!(ask(&mut again, "d", 4), Some(vec![1]));
    again.release("a").unwrap();
    assert_eq!(ask(&mut again, "e", 6), Some(vec![0]));
}

#[test]
fn whole_servers_are_those_that_nobody_is_on() {
    let mut whole = cluster(&[("summit-node", 4)], ServerChoice::Whole);
    assert_eq!(ask(&mut whole, "a", 1), Some(vec![0]));
    assert_eq!(ask(&mut whole, "b", 12), Some(vec![1, 2]));
    assert_eq!(ask(&mut whole, "c", 12), None);
    assert_eq!(ask(&mut whole, "d", 6), Some(vec![3]));
    assert_eq!(whole.servers()[1].state().exclusive().iter().collect::<Vec<_>>(), ["b"]);
    // The GPUs of a server that is down wait for it, and whole servers need no more of them than they have.
    (0..6).for_each(|gpu| whole.mark_unhealthy(gpu).unwrap());
    whole.release("b").unwrap();
    assert_eq!(ask(&mut whole, "e", 12), Some(vec![1, 2]));
    let never = try_ask(&mut whole, "f", Asked(25, None, false)).unwrap_err();
    assert!(never.contains("asks for 25 GPUs; ask for at most 24"), "{never}");
}

#[test]
fn a_number_of_servers_that_can_never_be_is_refused() {
    let mut pair = cluster(&[("summit-node", 2)], ServerChoice::FirstFit);
    let refused = |it: &mut ClusterAllocator, gpus, servers| {
        try_ask(it, "a", Asked(gpus, Some(servers), false)).unwrap_err()
    };
    let never =
        "job `a` asks for 7 GPUs on 1 server, and the 2 servers have at most 6 healthy GPUs";
    assert_eq!(
        refused(&mut pair, 7, 1),
        format!("{never}; ask for 2 to 2 servers, or for fewer GPUs")
    );
    assert!(refused(&mut pair, 4, 3).contains("on 3 servers, and the 2 servers"));
    assert!(refused(&mut pair, 4, 0).contains("on 0 servers"));
    let mut lone = cluster(&[("summit-node", 1)], ServerChoice::FirstFit);
    assert!(
        refused(&mut lone, 4, 2).ends_with(
            "the 1 server has at most 6 healthy GPUs; ask for 1 server, or for fewer GPUs"
        )
    );
    assert_eq!(try_ask(&mut pair, "a", Asked(5, Some(2), false)), Ok(Some(vec![0, 1])));
}

#[test]
fn gpus_that_somebody_else_gave_are_held() {
    let mut pair = cluster(&[("summit-node", 2)], ServerChoice::Whole);
    pair.hold("slurm-7", &[2, 7]).unwrap();
    assert_eq!(pair.held()["slurm-7"], [(0, vec![2]), (1, vec![1])]);
    assert_eq!(ask(&mut pair, "a", 6), None);
    let refused = |it: &mut ClusterAllocator, job: &str, gpus: &[usize]| {
        it.hold(job, gpus).unwrap_err().to_string()
    };
    assert!(refused(&mut pair, "b", &[7]).starts_with("GPU 7 is not free"));
    assert!(refused(&mut pair, "b", &[3, 3]).starts_with("GPU 3 is not free"));
    assert!(refused(&mut pair, "b", &[12]).starts_with("there is no GPU 12"));
    assert!(refused(&mut pair, "slurm-7", &[3]).starts_with("job `slurm-7` holds GPUs 2,7"));
    pair.release("slurm-7").unwrap();
    assert_eq!(pair.free().len(), 12);
}

#[test]
fn a_state_of_other_servers_is_refused_with_its_place() {
    let pair = || cluster(&[("summit-node", 2)], ServerChoice::Pack);
    let mut state = pair();
    ask(&mut state, "a", 8).unwrap();
    let text = state.save();
    let three = cluster(&[("summit-node", 3)], ServerChoice::Pack);
    let count = restored(&three, &text, &[]).unwrap_err();
    assert!(count.starts_with("c.json:3:3: the state is of 2 servers, numbered from 0"), "{count}");
    let unlike = cluster(&[("summit-node", 1), ("dgx1-v100", 1)], ServerChoice::Pack);
    let other = restored(&unlike, &text, &[]).unwrap_err();
    let start = "c.json:21:7: node1: the state is of another machine; this one is `dgx1-v100`, and it has 8";
    assert!(other.starts_with(start), "{other}\n{text}");
    let held = text.replace("\"unhealthy\": []", "\"unhealthy\": [9]");
    let wrong = restored(&pair(), &held, &[]).unwrap_err();
    assert!(wrong.starts_with("c.json:8:7: node0: a GPU cannot be unhealthy"), "{wrong}");
    // A state of one server is told from one of several.
    let lone = state.servers()[0].state().save();
    let of_one = restored(&pair(), &lone, &[]).unwrap_err();
    assert!(of_one.starts_with("c.json:2:3: the state is of one server; "), "{of_one}");
    assert!(restored(&pair(), "{}", &[]).unwrap_err().contains("missing field"));
}

proptest! {
    /// Whatever jobs come and go, a saved state comes back, and no GPU has two holders.
    #[test]
    fn states_come_back_as_they_were(
        steps in proptest::collection::vec((0_usize..6, 1_usize..15, 0_usize..3, proptest::bool::ANY), 1..25),
        choice in proptest::sample::select(ServerChoice::NAMED.to_vec()),
    ) {
        let idle = cluster(&[("summit-node", 2), ("pcie-tree-4", 1)], choice.1);
        let mut live = idle.clone();
        for (job, gpus, what, exclusive) in steps {
            let name = format!("job {job}");
            match what {
                0 => { live.release(&name).ok(); }
                1 => { live.mark_unhealthy(gpus).unwrap(); }
                _ => { try_ask(&mut live, &name, Asked(gpus, None, exclusive)).ok(); }
            }
            let held: Vec<usize> = live.held().values().flat_map(|parts| live.in_system(parts)).collect();
            let mut once = held.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), held.len());
            for server in live.servers() {
                let state = server.state();
                prop_assert!(state.exclusive().is_empty() || state.held().len() == 1);
            }
            let again = restored(&idle, &live.save(), &[]).unwrap();
            prop_assert!(again == live);
            prop_assert_eq!(again.save(), live.save());
        }
    }
}
