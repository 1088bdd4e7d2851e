//! Tests plans for communicators anywhere on a cluster, and their replays.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::collectives::check;
use crate::collectives::messages::contract::assert_contract;
use crate::collectives::mpi::MpiAlgorithm;
use crate::collectives::plan::{Packing, Question, plan};
use crate::network::PacketSettings;
use crate::network::packet::{NicPolicy, Switching, TurnByTurn};
use crate::network::routing::routing_for;
use crate::program::{
    CollectiveKind, CommunicatorId, Operation, Program, Rank, RankBuilder, WORLD,
};
use crate::runtime::{MpiProtocol, ProgramJob};
use crate::simulation::cluster::{Cluster, ClusterOutcome, Fidelity};
use crate::system::fabric::FabricSpecification;
use crate::system::{AbstractNode, System};
use crate::units::{Bandwidth, Bytes, Picoseconds};

const PLANNABLE: [CollectiveKind; 8] = [
    CollectiveKind::Broadcast,
    CollectiveKind::Reduce,
    CollectiveKind::AllReduce,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
    CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllToAll,
];

/// Builds a fat-tree of 32 nodes of `gpus` GPUs each.
fn cluster(gpus: u32) -> Cluster {
    cluster_of(gpus, "11.9 GB/s", "23.8 GB/s")
}

/// Builds the same with these bandwidths of its links and of those between the GPUs of a node.
fn cluster_of(gpus: u32, bandwidth: &str, gpu_bandwidth: &str) -> Cluster {
    let text = format!(
        "kind = \"fat-tree\"\nlevels = 2\nleaves = 8\nradix = 8\nbandwidth = \"{bandwidth}\"\n"
    );
    let specification: FabricSpecification = toml::from_str(&text).unwrap();
    let fabric = specification.build().unwrap();
    let (bandwidth, latency) = (gpu_bandwidth.parse().unwrap(), Picoseconds(500_000));
    let settings = PacketSettings {
        packet_size: Bytes(4096),
        buffer_packets: Some(8),
        router_delay: Picoseconds(60_000),
        nic_delay: Picoseconds(400_000),
        switching: Switching::StoreAndForward,
        pcie: None,
        seed: 0,
    };
    Cluster {
        routing: routing_for(fabric.shape()),
        routing_is_default: false,
        failures: crate::simulation::cluster::SystemFailures::default(),
        system: Arc::new(
            System::of_nodes(fabric, AbstractNode { gpus, nics: 1, bandwidth, latency }).unwrap(),
        ),
        settings,
        tables: None,
        nic: NicPolicy::FCFS,
        arbitration: &TurnByTurn,
        protocol: MpiProtocol::default(),
        collectives: CollectiveChoices::default(),
        fidelity: Fidelity::Packet,
    }
}

/// Builds a cluster whose collectives all go by plans.
fn planned_on(gpus: u32, fidelity: Fidelity) -> Cluster {
    let mut cluster = cluster(gpus);
    cluster.collectives.chosen = PLANNABLE.map(|kind| (kind, CollectiveMethod::Planned)).into();
    cluster.fidelity = fidelity;
    cluster
}

/// How long an all-reduce by that choice takes on the first GPUs of the nodes.
fn all_reduce(choice: CollectiveMethod, per_node: u32, ranks: u32, size: u64) -> Picoseconds {
    let mut cluster = cluster(per_node);
    cluster.collectives.chosen = [(CollectiveKind::AllReduce, choice)].into();
    let program = program(ranks, &[], &[(CollectiveKind::AllReduce, 0, WORLD, size)]);
    let outcome = replay(&cluster, &[ProgramJob::new(&program, (0..ranks).collect())]).unwrap();
    outcome.jobs.jobs[0].end
}

type Calls<'a> = &'a [(CollectiveKind, Rank, CommunicatorId, u64)];

/// Ranks that make calls one after another, each those of the communicators that hold it.
fn program(ranks: u32, more: &[Vec<Rank>], calls: Calls<'_>) -> Arc<Program> {
    let communicators = [&[(0..ranks).collect()], more].concat();
    let rank = |me: u32| {
        let mut rank = RankBuilder::default();
        for (kind, root, communicator, size) in calls {
            if communicators[*communicator as usize].contains(&me) {
                let (kind, root, communicator) = (*kind, *root, *communicator);
                rank.run(Operation::Collective { kind, root, communicator, size: Bytes(*size) });
            }
        }
        rank.finish()
    };
    let ranks = (0..ranks).map(rank).collect();
    Arc::new(Program { name: "calls".to_owned(), communicators, regions: vec![], ranks })
}

fn replay(cluster: &Cluster, jobs: &[ProgramJob]) -> Result<ClusterOutcome, String> {
    let outcome = cluster.replay(jobs, &mut (), &mut |_| ControlFlow::Continue(()));
    outcome.map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn plans_for_any_place_are_sound_and_bring_what_is_promised(
        gpus in proptest::sample::subsequence((0..32_u32).collect::<Vec<_>>(), 2..9).prop_shuffle(),
        per_node in 1..9_u32,
        kind in 0..PLANNABLE.len(),
        root in 0..8_usize,
        size in 0..200_000_u64,
        longest in 20_000..100_000_u64,
    ) {
        let (kind, root) = (PLANNABLE[kind], root % gpus.len());
        let root = if kind.has_root() { root } else { 0 };
        let cluster = cluster(per_node);
        let nodes = placement::Placement::new(&cluster.system, &gpus).nodes();
        let found = planner::best(
            &cluster.system,
            None,
            nodes,
            &planner::Ground { gpus: &gpus, kind, root },
        ).unwrap();
        check(found.messages.schedule()).unwrap();
        assert_contract(&found.messages, Bytes(size), Bytes(longest), size);
        assert_contract(&found.messages, Bytes(100_003), Bytes(longest), size);
    }

    #[test]
    fn replays_of_plans_end_in_both_models(
        gpus in proptest::sample::subsequence((0..32_u32).collect::<Vec<_>>(), 2..13).prop_shuffle(),
        per_node in 1..7_u32,
        size in 0..600_000_u64,
    ) {
        let ranks = gpus.len() as u32;
        // All collectives of all ranks, and of every other one in turned order.
        let some: Vec<Rank> = (0..ranks).rev().step_by(2).collect();
        let root = some[0];
        let calls = PLANNABLE.map(|kind| (kind, root, WORLD, size));
        let of_some = PLANNABLE.map(|kind| (kind, root, 1, size / 3));
        let program = program(ranks, std::slice::from_ref(&some), &[calls, of_some].concat());
        let planned = if some.len() > 1 { 16 } else { 8 };
        for fidelity in [Fidelity::Packet, Fidelity::Flow] {
            let cluster = planned_on(per_node, fidelity);
            let outcome = replay(&cluster, &[ProgramJob::new(&program, gpus.clone())]).unwrap();
            prop_assert_eq!(outcome.planned.len(), planned);
            let again = replay(&cluster, &[ProgramJob::new(&program, gpus.clone())]).unwrap();
            prop_assert_eq!(outcome, again);
        }
    }
}

#[test]
fn what_every_rank_receives_is_what_the_collective_brings() {
    let gpus: Vec<u32> = (0..8).collect();
    let size = 1_000_003;
    for (kind, in_all) in [
        (CollectiveKind::Broadcast, 7 * size),
        (CollectiveKind::AllGather, 7 * 8 * size),
        (CollectiveKind::AllToAll, 7 * 8 * size),
        (CollectiveKind::AllReduce, 2 * 7 * size),
        (CollectiveKind::ReduceScatter, 7 * size),
    ] {
        let program = program(8, &[], &[(kind, 0, WORLD, size)]);
        let cluster = planned_on(2, Fidelity::Flow);
        let outcome = replay(&cluster, &[ProgramJob::new(&program, gpus.clone())]).unwrap();
        let data: u64 = outcome.jobs.jobs[0].ranks.iter().map(|rank| rank.bytes.0).sum();
        assert_eq!(data, in_all, "{kind:?}");
    }
}

#[test]
fn communicators_placed_alike_share_a_plan_and_each_is_told() {
    let groups: Vec<Vec<Rank>> = vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7], vec![0, 4]];
    let calls = [1, 2, 3].map(|communicator| (CollectiveKind::AllReduce, 0, communicator, 100_000));
    let program = program(8, &groups, &calls);
    let cluster = planned_on(4, Fidelity::Packet);
    let jobs =
        [ProgramJob::new(&program, (0..8).collect()), ProgramJob::new(&program, (8..16).collect())];
    let planned = Planned::new(&cluster, &jobs, None, &mut |_| ControlFlow::Continue(())).unwrap();
    let index =
        |job, communicator| planned.index(job, communicator, CollectiveKind::AllReduce, 0).unwrap();
    assert_eq!(index(0, 1), index(0, 2));
    assert_eq!(index(0, 1), index(1, 2));
    assert_ne!(index(0, 1), index(0, 3));
    assert_eq!(planned.index(0, WORLD, CollectiveKind::AllReduce, 0), None);
    let outcome = replay(&cluster, &jobs).unwrap();
    let told: Vec<_> =
        outcome.planned.iter().map(|it| (it.job, it.communicator, it.ranks, it.nodes)).collect();
    let of_job = |job| [(job, 1, 4, 2), (job, 2, 4, 2), (job, 3, 2, 2)];
    assert_eq!(told, [of_job(0), of_job(1)].concat());
}

#[test]
fn a_single_rank_needs_no_plan() {
    let program = program(1, &[], &[(CollectiveKind::AllReduce, 0, WORLD, 8)]);
    let cluster = planned_on(4, Fidelity::Packet);
    let outcome = replay(&cluster, &[ProgramJob::new(&program, vec![3])]).unwrap();
    assert_eq!((outcome.planned, outcome.jobs.jobs[0].end), (vec![], Picoseconds(0)));
}

#[test]
fn too_many_gpus_are_refused_before_anything_runs() {
    let ranks = MOST_PLANNED_GPUS as u32 + 1;
    let program = program(ranks, &[], &[(CollectiveKind::AllReduce, 0, WORLD, 8)]);
    let cluster = planned_on(16, Fidelity::Packet);
    let error = replay(&cluster, &[ProgramJob::new(&program, (0..ranks).collect())]).unwrap_err();
    assert_eq!(
        error,
        "job `calls` has no plan for all-reduce among the 257 ranks of communicator 0: a plan can \
         have at most 256 GPUs; use another algorithm, such as `binary-tree`"
    );
}

#[test]
fn the_hook_ends_planning() {
    let program = program(4, &[], &[(CollectiveKind::AllReduce, 0, WORLD, 8)]);
    let cluster = planned_on(4, Fidelity::Packet);
    let job = ProgramJob::new(&program, (0..4).collect());
    let error = cluster.replay(&[job], &mut (), &mut |_| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error.to_string(), "stopped at 0 ps after 0 of 0 operations");
}

#[test]
fn more_than_are_packed_are_told_so() {
    let cluster = cluster(8);
    let gpus: Vec<u32> = (0..24).collect();
    let nodes = |gpus| placement::Placement::new(&cluster.system, gpus).nodes();
    let best = |gpus| {
        planner::best(
            &cluster.system,
            None,
            nodes(gpus),
            &planner::Ground { gpus, kind: CollectiveKind::AllGather, root: 0 },
        )
        .unwrap()
    };
    let found = best(&gpus);
    assert_eq!(
        found.notes,
        ["trees are packed exactly for 16 GPUs at most, and these are 24: nccl-ring was the \
          fastest of what is known besides"]
    );
    let found = best(&gpus[4..20]);
    assert_eq!((&*found.algorithm, found.notes), ("packing", vec![]));
}

#[test]
fn a_planned_all_reduce_beats_trees_and_rings_across_nodes() {
    let time = |choice| all_reduce(choice, 4, 16, 4 << 20);
    let planned = time(CollectiveMethod::Planned);
    for algorithm in MpiAlgorithm::of(CollectiveKind::AllReduce) {
        let other = time(CollectiveMethod::Algorithm(*algorithm));
        assert!(planned < other, "{algorithm}: {other}, planned: {planned}");
    }
}

#[test]
fn the_page_on_programs_shows_what_an_all_reduce_takes() {
    let page =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/programs.md"));
    let times = ["binary-tree", "recursive-halving", "ring", "planned"].map(|name| {
        let choice = CollectiveMethod::named(CollectiveKind::AllReduce, name).unwrap();
        (name, all_reduce(choice, 8, 32, 64 << 20))
    });
    let rows =
        times.map(|(name, time)| format!("| `{name}` | {:.3} ms |", time.as_seconds() * 1e3));
    assert!(rows.iter().all(|row| page.contains(row)), "the page should have\n{}", rows.join("\n"));
    let best = times.iter().map(|(_, time)| *time).min();
    assert_eq!(best, Some(times[3].1));
}

/// Bandwidths with no common measure, the widest and the narrowest: plans are as good as others.
#[test]
fn links_of_any_bandwidth_are_packed() {
    for (gpu_bandwidth, bandwidth) in [
        ("7345678901 B/s", "1234567891 B/s"),
        ("150 GB/s", "3966666667 B/s"),
        ("900 TB/s", "1 kB/s"),
    ] {
        let system = cluster_of(3, bandwidth, gpu_bandwidth).system;
        for gpus in [&[0, 1, 2][..], &[2, 1, 3], &[0, 1, 2, 3, 4, 5]] {
            for kind in PLANNABLE {
                let collective = choices::planning(kind, 0).unwrap();
                let found = plan(&Packing, &Question::new(&system, gpus, collective));
                let found = found.unwrap_or_else(|error| panic!("{gpus:?} {kind:?}: {error}"));
                check(&found.schedule).unwrap();
                let reached = |optimum: Bandwidth| found.rate.0 as f64 / optimum.0 as f64;
                assert!(
                    found.optimum.is_none_or(|it| reached(it) < 1.0 + 1e-6),
                    "{gpus:?} {kind:?}"
                );
            }
        }
    }
}
