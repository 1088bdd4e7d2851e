//! Copies, reductions and streams, to the picosecond.

use proptest::prelude::*;

use crate::network::GpuSite;
use crate::program::CopyDirection::{self, DeviceToHost, HostToDevice, Peer};
use crate::runtime::{CopyRecord, Observer};
use crate::units::Bandwidth;

use super::network::LATENCY;
use super::*;

fn copy(direction: CopyDirection, size: u64) -> Operation {
    Operation::Copy { direction, size: Bytes(size), route: RouteClass::Any }
}

fn reduce(size: u64, rate: Option<u64>) -> Operation {
    Operation::Reduce { size: Bytes(size), rate: rate.map(Bandwidth) }
}

/// Makes GPUs with a host, a given number of copy engines and a memory of 1.5 B/ps.
fn with_engines(copy_engines: u32, copy_directions: u32) -> TestNetwork {
    let (host, memory_bandwidth) = (Some(2048), Some(Bandwidth(1_500_000_000_000)));
    let site =
        GpuSite { host, copy_engines, copy_directions, memory_bandwidth, ..GpuSite::bare(0) };
    TestNetwork::with_site(site)
}

/// Puts each operation on a stream of its own.
fn side_by_side(operations: &[Operation]) -> RankProgram {
    rank(|rank| {
        for (stream, operation) in (0..).zip(operations) {
            rank.on_stream(stream);
            rank.run(*operation);
        }
    })
}

fn end_of(network: &mut TestNetwork, ranks: Vec<RankProgram>) -> u64 {
    ends(&play_on(network, &program(ranks), FREE).unwrap())[0]
}

#[test]
fn computing_copies_and_messages_go_side_by_side() {
    let all = [
        compute(9_000_000),
        copy(HostToDevice, 7_000_000),
        receive(1, 0, 64_000),
        copy(DeviceToHost, 5_000_000),
    ];
    let mut network = with_engines(2, 2);
    let partner = rank(|rank| _ = rank.run(send(0, 0, 64_000)));
    let ranks = program(vec![side_by_side(&all), partner]);
    let outcome = play_on(&mut network, &ranks, FREE).unwrap();
    assert_eq!(ends(&outcome)[0], 9_000_000);
    let of_rank = &outcome.jobs[0].ranks[0];
    assert_eq!(of_rank.communicating, Picoseconds(7_000_000 + LATENCY), "copies count");
    assert_eq!((of_rank.messages, of_rank.exposed_communication), (0, Picoseconds(0)));
    let ends: Vec<_> = network.messages.iter().map(|(_, it)| (it.source, it.destination)).collect();
    assert_eq!(ends, [(2048, 0), (0, 2048), (1, 0)]);
}

#[test]
fn a_stream_keeps_its_order_and_waits_only_where_it_is_told() {
    let one = rank(|rank| {
        rank.run(copy(HostToDevice, 1000));
        rank.run(compute(500));
        rank.run(copy(DeviceToHost, 1000));
    });
    assert_eq!(end_of(&mut with_engines(2, 2), vec![one]), 2 * (1000 + LATENCY) + 500);
    let waiting = rank(|rank| {
        let loaded = rank.run(copy(HostToDevice, 1000));
        assert_eq!(rank.on_stream(7), 0);
        rank.run(compute(500));
        rank.wait(&[loaded]);
        rank.run(compute(30));
        assert_eq!(rank.on_stream(0), 7);
        rank.run(compute(2 * LATENCY));
    });
    // The third computation is called last, and waits for the first copy alone.
    assert_eq!(end_of(&mut with_engines(2, 2), vec![waiting]), 1000 + 3 * LATENCY + 30);
}

#[test]
fn streams_share_one_processor() {
    let two = side_by_side(&[compute(700), reduce(1000, None), compute(11)]);
    assert_eq!(end_of(&mut with_engines(2, 2), vec![two]), 711 + 2000);
}

#[test]
fn copies_go_as_far_as_there_are_engines() {
    let both = [copy(HostToDevice, 1000), copy(DeviceToHost, 3000)];
    let end = |engines, directions, copies: &[Operation]| {
        end_of(&mut with_engines(engines, directions), vec![side_by_side(copies)])
    };
    assert_eq!(end(2, 2, &both), 3000 + LATENCY);
    for (engines, directions) in [(1, 1), (1, 2), (3, 1)] {
        assert_eq!(end(engines, directions, &both), 4000 + 2 * LATENCY);
    }
    // Three of one direction: one after the other, or two at once, which share the way.
    let same = [copy(HostToDevice, 1000); 3];
    assert_eq!(end(2, 2, &same), 3 * (1000 + LATENCY));
    assert_eq!(end(3, 2, &same), 2 * (1000 + LATENCY));
    assert_eq!(end(5, 2, &same), 3000 + LATENCY);
    // Peers take the way out; the engine that is free takes what was called first.
    let mixed = [copy(DeviceToHost, 10), copy(DeviceToHost, 20), copy(HostToDevice, 30)];
    assert_eq!(end(1, 1, &mixed), 60 + 3 * LATENCY);
    let peers = [copy(Peer(1), 1000), copy(DeviceToHost, 1000)];
    let ranks = || vec![side_by_side(&peers), RankProgram::default()];
    assert_eq!(end_of(&mut with_engines(2, 2), ranks()), 2 * (1000 + LATENCY));
    assert_eq!(end_of(&mut with_engines(3, 2), ranks()), 2000 + LATENCY);
}

#[test]
fn reductions_take_as_long_as_stated_or_as_the_memory() {
    let end =
        |operation| end_of(&mut with_engines(2, 2), vec![rank(|rank| _ = rank.run(operation))]);
    assert_eq!(end(reduce(1000, None)), 2000, "3000 B at 1.5 B/ps");
    assert_eq!(end(reduce(1000, Some(500_000_000_000))), 2000);
    let error = play(&program(vec![rank(|rank| _ = rank.run(reduce(u64::MAX, Some(1))))]), FREE);
    assert!(error.unwrap_err().to_string().contains("more than 213 days"));
    let program = program(vec![rank(|rank| _ = rank.run(reduce(1000, None)))]);
    let mut job = ProgramJob::new(&program, vec![0]);
    job.computation_scale = 3.0;
    let mut network = with_engines(2, 2);
    let runtime = Runtime::new(&mut network, 1, &[job], FREE, no_collectives).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(outcome.jobs[0].ranks[0].computing, Picoseconds(2000), "memory is not scaled");
}

#[test]
fn sends_take_the_links_that_they_ask_for() {
    let sender = rank(|rank| {
        for (tag, size) in [(0, 10), (1, 100_000)] {
            let route = RouteClass::Host;
            rank.run(Operation::Send { to: 1, tag, communicator: 0, size: Bytes(size), route });
        }
    });
    let receiver = rank(|rank| (0..2).for_each(|tag| _ = rank.run(receive(0, tag, 100_000))));
    let mut network = TestNetwork::new();
    play_on(&mut network, &program(vec![sender, receiver]), FREE).unwrap();
    let routes: Vec<_> = network.messages.iter().map(|(_, it)| (it.size.0, it.route)).collect();
    let (host, any) = (RouteClass::Host, RouteClass::Any);
    assert_eq!(routes, [(10, host), (16, any), (16, any), (100_000, host)]);
}

#[test]
fn what_cannot_be_copied_or_reduced_is_refused() {
    let refused = |operation, site: GpuSite| {
        let mut network = TestNetwork::with_site(site);
        let mut ranks = vec![rank(|rank| _ = rank.run(operation))];
        ranks.resize_with(5, RankProgram::default);
        play_on(&mut network, &program(ranks), FREE).unwrap_err().to_string()
    };
    let network =
        Operation::Copy { direction: HostToDevice, size: Bytes(1), route: RouteClass::Network };
    let hosted = GpuSite { host: Some(2048), ..GpuSite::bare(0) };
    let cases = [
        (copy(HostToDevice, 1), GpuSite::bare(0), "copies to or from its host, but GPU 0 has none"),
        (copy(DeviceToHost, 1), GpuSite::bare(0), "play it on a server such as `dgx1-v100`"),
        (copy(Peer(4), 1), hosted, "copies to rank 4, but GPU 0 and GPU 4 are in two servers; "),
        (copy(Peer(0), 1), hosted, "copies to rank 0, which is itself; name another"),
        (copy(Peer(9), 1), hosted, "copies to rank 9 of 5, from 0"),
        (network, hosted, "copies over the network, but copies stay within a server; "),
        (reduce(1, None), hosted, "reduces as fast as its GPU's memory, whose bandwidth is not "),
        (reduce(1, Some(0)), hosted, "reduces 0 bytes in a second; state a rate above"),
    ];
    for (operation, site, problem) in cases {
        let error = refused(operation, site);
        assert!(error.starts_with("call 0 of rank 0 of job `test` ") && error.contains(problem));
    }
}

/// Records each copy, from when and until when.
#[derive(Default)]
struct Copied(Vec<(CopyRecord, u64)>);

impl Observer for Copied {
    fn copied(&mut self, copy: &CopyRecord, end: Picoseconds) {
        self.0.push((*copy, end.0));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Compute(u64),
    Reduce(u64),
    Copy(CopyDirection, u64),
}

fn steps() -> impl Strategy<Value = Vec<(u32, bool, Step)>> {
    let direction = prop::sample::select(vec![HostToDevice, DeviceToHost, Peer(1)]);
    let step = prop_oneof![
        (0_u64..3_000_000).prop_map(Step::Compute),
        (0_u64..3_000_000).prop_map(Step::Reduce),
        (direction, 0_u64..3_000_000).prop_map(|(direction, size)| Step::Copy(direction, size)),
    ];
    prop::collection::vec((0_u32..4, any::<bool>(), step), 0..40)
}

proptest! {
    #[test]
    fn no_engine_and_no_processor_does_two_things_at_once(
        steps in steps(), engines in 1_u32..6, directions in 1_u32..=2,
    ) {
        let written = rank(|rank| {
            for (stream, blocking, step) in &steps {
                rank.on_stream(*stream);
                let operation = match *step {
                    Step::Compute(duration) => compute(duration),
                    Step::Reduce(size) => reduce(size, None),
                    Step::Copy(direction, size) => copy(direction, size),
                };
                if *blocking { rank.run(operation) } else { rank.start(operation) };
            }
        });
        let program = program(vec![written, RankProgram::default()]);
        let jobs = [ProgramJob::new(&program, vec![0, 1])];
        let (mut network, mut copied) = (with_engines(engines, directions), Copied::default());
        let lower = no_collectives;
        let mut runtime =
            Runtime::observed(&mut network, 2, &jobs, FREE, lower, &mut copied).unwrap();
        let events = runtime.play(&mut |_| ControlFlow::Continue(())).unwrap();
        prop_assert_eq!(runtime.shared.copies.count(), 0);
        let outcome = runtime.outcome(events);
        // Everything is done, for as long as it takes.
        let computing: u64 = steps.iter().map(|(.., step)| match step {
            Step::Compute(duration) => *duration,
            Step::Reduce(size) => (3 * size * 2).div_ceil(3),
            Step::Copy(..) => 0,
        }).sum();
        prop_assert_eq!(outcome.jobs[0].ranks[0].computing.0, computing);
        let asked = steps.iter().filter(|(.., step)| matches!(step, Step::Copy(..))).count();
        prop_assert_eq!(copied.0.len(), asked);
        // At most as many at once as there are engines, and of a direction as take it.
        let most = if directions == 1 { 1 } else { engines as usize };
        let into = |copy: &CopyRecord| copy.direction == HostToDevice;
        for (copy, end) in &copied.0 {
            prop_assert!(*end >= copy.start.0 + copy.size.0 + LATENCY);
            let at_once = |same: bool| copied.0.iter().filter(|(other, until)| {
                let during = other.start <= copy.start && copy.start.0 < *until;
                during && (!same || into(other) == into(copy))
            }).count();
            prop_assert!(at_once(false) <= most);
            prop_assert!(at_once(true) <= 1.max(most - 1));
        }
        let longest = copied.0.iter().map(|(_, end)| *end).max().unwrap_or(0);
        prop_assert!(outcome.jobs[0].ranks[0].end.0 >= longest.max(computing));
    }
}
