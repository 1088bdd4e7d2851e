//! Tests the timing of schedules: its limits, its determinism, and the effect of turns on shared
//! links.

use linkwright::collectives::Collective;
use linkwright::collectives::baselines::NcclBaseline;
use linkwright::collectives::plan::{
    Blink, Links, OneHop, Packing, Plan, Planner, Question, plan, plan_for_size, plan_hybrid,
};
use linkwright::collectives::schedule::{Pacing, Schedule};
use linkwright::collectives::time::{NcclProtocol, TimeError, choose_chunk, protocol_of, time};
use linkwright::system::System;
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use crate::systems::alone;

fn planned(name: &str, gpus: usize, collective: Collective) -> (System, Plan) {
    let machine = alone(name);
    let gpus: Vec<usize> = (0..gpus).collect();
    let plan = plan(&Packing, &Question::new(&machine, &gpus, collective)).unwrap();
    (machine, plan)
}

/// Tests the figures of docs/concepts/collectives.md.
#[test]
fn turns_on_shared_links_bring_trees_near_their_rate() {
    let (machine, plan) = planned("dgx1-v100", 8, Collective::AllReduce);
    let reached = |stream_reuse: bool| {
        let usual = protocol_of(&plan.schedule, &machine).unwrap();
        let costs = NcclProtocol { stream_reuse, ..usual };
        choose_chunk(&plan.schedule, &machine, Bytes(1 << 30), &costs).unwrap().0.bus_bandwidth
    };
    let (equally, in_turns) = (reached(false), reached(true));
    assert!((100.0..108.0).contains(&equally), "{equally}");
    assert!((109.0..137.0).contains(&in_turns), "{in_turns}");
}

/// Two channels for a tree, PCIe beside NVLink, and trees of one hop are plans, too.
#[test]
fn without_stream_reuse_a_plan_differs_in_nothing_but_its_pacing() {
    let (machine, gpus, size) = (alone("dgx1-v100"), [0, 1, 2, 3], Bytes(1 << 20));
    let reusing = Question::new(&machine, &gpus, Collective::AllReduce);
    let shared = reusing.reusing_streams(false);
    let planners: [&dyn Planner; 3] = [&Packing, &Blink, &OneHop];
    for planner in planners {
        let (first, second) = (plan(planner, &reusing).unwrap(), plan(planner, &shared).unwrap());
        assert_eq!(first.schedule.pacing, Pacing::InTurns);
        let schedule = Schedule { pacing: Pacing::InParallel, ..first.schedule };
        assert_eq!(second, Plan { schedule, ..first }, "{planner:?}");
        assert!(!protocol_of(&second.schedule, &machine).unwrap().stream_reuse);
        let sized = plan_for_size(planner, &shared, size).unwrap();
        assert_eq!(sized.schedule.pacing, Pacing::InParallel, "{planner:?}");
    }
    let hybrid = plan_hybrid(&Packing, &shared, Bytes(1 << 29), Picoseconds(0)).unwrap();
    assert_eq!(hybrid.schedule.pacing, Pacing::InParallel);
    // NCCL's blocks share links as they are, which both ways of planning it say.
    for baseline in [NcclBaseline::Classic, NcclBaseline::Ring] {
        let first = plan_for_size(&baseline, &reusing, size).unwrap();
        let mut second = plan_for_size(&baseline, &shared, size).unwrap();
        let note = second.notes.pop().unwrap();
        assert!(note.contains("no streams to reuse"), "{note}");
        assert_eq!(first, second);
    }
}

/// A single tree on one channel would wait at every GPU that passes its chunks on.
#[test]
fn a_packed_broadcast_is_as_fast_as_rings_of_the_same_rate() {
    let machine = alone("dgx1-v100");
    let (broadcast, size) = (Collective::Broadcast { root: 0 }, Bytes(64 << 20));
    for gpus in [
        &[0, 4, 7][..],
        &[0, 1, 2, 6],
        &[0, 1, 2, 3],
        &[2, 4, 6, 7],
        &[1, 4, 5, 6, 7],
        &[2, 3, 4, 5, 6, 7],
        &[0, 1, 2, 3, 5, 6, 7],
        &[0, 1, 2, 3, 4, 5, 6, 7],
    ] {
        let timed = |algorithm: &dyn Planner| {
            let links = Links::Fabric;
            let plan = plan_for_size(
                algorithm,
                &Question::new(&machine, gpus, broadcast).over(links),
                size,
            )
            .unwrap();
            let costs = protocol_of(&plan.schedule, &machine).unwrap();
            (plan.rate, choose_chunk(&plan.schedule, &machine, size, &costs).unwrap().0.time)
        };
        let (rate, packed) = timed(&Packing);
        let (of_rings, rings) = timed(&NcclBaseline::Ring);
        println!("{gpus:?} {:.3}", packed.as_seconds() / rings.as_seconds());
        assert_eq!(rate, of_rings, "{gpus:?}");
        assert!(packed <= rings, "{gpus:?}: {packed} and {rings}");
    }
}

#[test]
fn no_time_is_below_the_links_or_above_one_byte_at_a_time() {
    for collective in [Collective::AllReduce, Collective::AllGather, Collective::AllToAll] {
        let (machine, plan) = planned("dgx1-v100", 6, collective);
        let costs = protocol_of(&plan.schedule, &machine).unwrap();
        let mut before = Picoseconds(0);
        for size in [6 << 10, 6 << 16, 6 << 22] {
            let timing = time(&plan.schedule, &machine, Bytes(size), Bytes(1 << 18), &costs);
            let timing = timing.unwrap();
            assert!(timing.algorithm_bandwidth < plan.rate.as_gigabytes_per_second());
            assert!(timing.links.iter().all(|load| load.utilisation <= 1.0));
            assert!(timing.time > before, "more data takes longer");
            before = timing.time;
            let again = time(&plan.schedule, &machine, Bytes(size), Bytes(1 << 18), &costs);
            assert_eq!(again.as_ref(), Ok(&timing));
        }
    }
}

#[test]
fn chunks_that_would_take_for_ever_are_refused() {
    let (machine, plan) = planned("dgx1-v100", 8, Collective::AllReduce);
    let costs = protocol_of(&plan.schedule, &machine).unwrap();
    let timed = |size, chunk| time(&plan.schedule, &machine, Bytes(size), Bytes(chunk), &costs);
    assert!(matches!(timed(1 << 40, 1), Err(TimeError::TooManyTransfers { .. })));
    assert_eq!(timed(1 << 20, 0), Err(TimeError::EmptyChunk));
}

/// Holds the times asked of every GPU before terms had causes.
const BEFORE: NcclProtocol = NcclProtocol {
    launch: Picoseconds(8_400_000),
    fabric_hop: Picoseconds(4_000_000),
    host_hop: Picoseconds(4_000_000),
    network_hop: Picoseconds(14_000_000),
    data_share: 1.0,
    copy_bandwidth: Bandwidth(u64::MAX),
    send_bandwidth: None,
    slots: 2,
    stream_reuse: true,
    peer_access_switch: Picoseconds(0),
};

/// Before the runtime, a loop played schedules. Its figures stand here, to the picosecond, on links
/// with the reach of that time. (It cut chunks to the byte; since all are equally long the first
/// three take 0.12 % and less than a millionth more.)
#[test]
fn the_runtime_gives_what_the_loop_before_it_gave() {
    let figures = [
        ("dgx1-v100", 8, "all-reduce", 64, true, 1_046_636_273),
        ("dgx1-v100", 8, "all-reduce", 64, false, 1_205_960_157),
        ("dgx1-v100", 8, "broadcast", 64, true, 698_025_660),
        ("dgx1-v100", 3, "all-gather", 3, true, 58_189_345),
        ("dgx2", 16, "all-reduce", 64, true, 928_186_904),
    ];
    let found = figures.map(|(name, gpus, collective, mebibytes, stream_reuse, _)| {
        let collective = Collective::named(collective, 0).unwrap();
        let (machine, plan) = planned(name, gpus, collective);
        let protocol = NcclProtocol { stream_reuse, ..BEFORE };
        let (size, chunk) = (Bytes(mebibytes << 20), Bytes(1 << 20));
        time(&plan.schedule, &machine, size, chunk, &protocol).unwrap().time.0
    });
    assert_eq!(found, figures.map(|figure| figure.5));
}
