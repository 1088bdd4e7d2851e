//! Tests recorded archives as programs, and their replays.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::collectives::mpi::ByDefault;
use linkwright::network::PacketSettings;
use linkwright::network::packet::Switching;
use linkwright::network::routing::ADAPTIVE;
use linkwright::program::otf2::{Archive, EventKind};
use linkwright::program::trace::{
    DividedSize, TraceError, TraceNote, TraceOptions, TraceProgram, program_of,
};
use linkwright::program::{CollectiveKind, Operation, Program, goal};
use linkwright::runtime::{MpiProtocol, Outcome, ProgramJob, RuntimeError};
use linkwright::simulation::cluster::{
    Cluster, ClusterError, ClusterOutcome, CollectiveChoices, Fidelity, Watch,
};
use linkwright::system::fabric::{FatTree, FatTreeRates, LinkRate, fat_tree};
use linkwright::system::{AbstractNode, System};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use super::{FOUR_RANKS, STENCIL, files};

fn archive(folder: &str) -> Archive {
    Archive::read("traces.otf2", &files(folder)).expect("a sound archive")
}

fn stencil() -> TraceProgram {
    let options = TraceOptions { name: "stencil4d-32".to_owned(), ..Default::default() };
    program_of(&archive(STENCIL), &options).expect("a sound program")
}

fn cluster(fidelity: Fidelity) -> Cluster {
    let rate = LinkRate { bandwidth: Bandwidth(11_900_000_000), latency: Picoseconds(100_000) };
    let rates = FatTreeRates { node: rate, leaf: rate, core: rate };
    let node = AbstractNode {
        gpus: 1,
        nics: 1,
        bandwidth: Bandwidth(23_800_000_000),
        latency: Picoseconds(100_000),
    };
    let fabric = fat_tree(&FatTree::three_levels(8, 4, 1).unwrap(), &rates).unwrap();
    Cluster {
        system: Arc::new(System::of_nodes(fabric, node).unwrap()),
        settings: PacketSettings {
            packet_size: Bytes(4096),
            buffer_packets: Some(8),
            router_delay: Picoseconds(90_000),
            nic_delay: Picoseconds(0),
            switching: Switching::default(),
            pcie: None,
            seed: 1,
        },
        routing: ADAPTIVE,
        routing_is_default: false,
        failures: linkwright::simulation::cluster::SystemFailures::default(),
        tables: None,
        nic: linkwright::network::packet::NicPolicy::FCFS,
        arbitration: &linkwright::network::packet::TurnByTurn,
        protocol: MpiProtocol::default(),
        collectives: CollectiveChoices::default(),
        fidelity,
    }
}

fn replay(fidelity: Fidelity, job: ProgramJob) -> Result<ClusterOutcome, ClusterError> {
    cluster(fidelity).replay(&[job], &mut (), &mut |_| ControlFlow::Continue(()))
}

fn job(program: &Program) -> ProgramJob {
    ProgramJob::new(&Arc::new(program.clone()), (0..program.ranks.len() as u32).collect())
}

fn count(program: &Program, rank: usize, what: impl Fn(&Operation) -> bool) -> usize {
    program.ranks[rank].operations().iter().filter(|operation| what(operation)).count()
}

#[test]
fn the_recorded_stencil_becomes_a_program() {
    let TraceProgram { program, notes } = stencil();
    assert_eq!((program.name.as_str(), program.ranks.len()), ("stencil4d-32", 32));
    assert_eq!(program.communicators, [(0..32).collect::<Vec<_>>()]);
    assert_eq!(program.regions, ["main_loop", "iteration", "report"]);
    for rank in 0..32 {
        let size = |operation: &Operation| match *operation {
            Operation::Send { size, .. } => Some(size),
            Operation::Receive { size, from: Some(_), tag: Some(_), .. } => Some(size),
            _ => None,
        };
        assert_eq!(count(&program, rank, |one| matches!(one, Operation::Send { .. })), 16);
        assert_eq!(count(&program, rank, |one| matches!(one, Operation::Receive { .. })), 16);
        assert_eq!(count(&program, rank, |one| size(one) == Some(Bytes(131_072))), 32);
        let barrier = Operation::Collective {
            kind: CollectiveKind::Barrier,
            root: 0,
            communicator: 0,
            size: Bytes(0),
        };
        assert_eq!(count(&program, rank, |one| *one == barrier), 3);
        assert_eq!(count(&program, rank, |one| *one == Operation::Join), 2);
        let (first, last) = program.ranks[rank].body().expect("main_loop");
        let operations = program.ranks[rank].operations();
        assert_eq!(operations[first as usize], Operation::Enter { region: 0 });
        assert_eq!(operations[last as usize - 1], Operation::Leave { region: 0 });
    }
    let calls = [("MPI_Init".to_owned(), 32)].into();
    assert_eq!(notes, [TraceNote::SilentCalls { calls }]);
}

/// The listing that another reader made gives the spans between the calls of rank 0.
#[test]
fn computation_is_what_lies_between_calls() {
    let program = stencil().program;
    let computed: Vec<u64> = (program.ranks[0].operations().iter())
        .filter_map(|operation| match operation {
            Operation::Compute { duration } => Some(duration.0),
            _ => None,
        })
        .collect();
    let picoseconds =
        |ticks: u64| (u128::from(ticks) * 1_000_000_000_000).div_ceil(2_400_000_000) as u64;
    let total: u64 = computed.iter().sum();
    let listing =
        std::fs::read_to_string(super::repository().join("validation/otf2/stencil4d-32.listing"))
            .unwrap();
    let lines = listing.lines().skip_while(|line| !line.starts_with("location 0 ")).skip(1);
    let (mut ticks, mut before, mut inside, mut on) = (0, None, false, true);
    // The ticks before the loop: between MPI_Init and where the recording pauses, and from there on.
    let mut first = None;
    for line in lines.take_while(|line| !line.starts_with("location")) {
        let words: Vec<_> = line.split(' ').collect();
        let time: u64 = words[0].parse().unwrap();
        if let Some(before) = before.filter(|_| on && !inside) {
            ticks += time - before;
        }
        before = Some(time);
        // The regions from 5 on are the program's; those below are MPI's.
        match words[2] {
            "Enter" if words[3] == "5" => first = Some(ticks),
            "Enter" if words[3].parse::<u32>().unwrap() < 5 => inside = true,
            "Leave" if words[3].parse::<u32>().unwrap() < 5 => inside = false,
            "MeasurementOnOff" => on = words[3] == "1",
            _ => {}
        }
    }
    let first = picoseconds(first.expect("the loop is entered"));
    assert!(computed[0].abs_diff(first) <= 1, "{} and {first}", computed[0]);
    assert!(total.abs_diff(picoseconds(ticks)) <= 1, "{total} of {ticks} ticks");
}

#[test]
fn the_recorded_stencil_replays_the_same_way_twice() {
    let program = stencil().program;
    for fidelity in [Fidelity::Packet, Fidelity::Flow] {
        let once = replay(fidelity, job(&program)).unwrap();
        assert_eq!(once, replay(fidelity, job(&program)).unwrap());
        let [outcome] = &once.jobs.jobs[..] else { panic!("one job") };
        let sent: u64 = outcome.ranks.iter().map(|rank| rank.bytes.0).sum();
        assert_eq!(sent, 32 * 16 * 131_072);
        assert!(outcome.ranks.iter().all(|rank| rank.computing.0 > 0));

        let mut still = job(&program);
        still.computation_scale = 0.0;
        let still = replay(fidelity, still).unwrap().jobs.jobs[0].clone();
        assert!(still.ranks.iter().all(|rank| rank.computing.0 == 0));
        assert!(still.time() < outcome.time());
        // Two halos of eight messages leave one after another.
        let least = 16 * 131_072 * 1_000_000_000_000 / 11_900_000_000;
        assert!(still.time().0 > least, "{}", still.time().0);
    }
}

#[test]
fn the_main_loop_repeats() {
    let program = stencil().program;
    let mut twice = job(&program);
    twice.iterations = NonZeroU32::new(3).unwrap();
    let jobs = [twice];
    let cluster = cluster(Fidelity::Flow);
    let mut watch = Watch::new(&jobs, &cluster.system, 1_000);
    let outcome = cluster.replay(&jobs, &mut watch, &mut |_| ControlFlow::Continue(())).unwrap();
    let sent: u64 = outcome.jobs.jobs[0].ranks.iter().map(|rank| rank.bytes.0).sum();
    assert_eq!(sent, 3 * 32 * 16 * 131_072);
    let stays = watch.stays.kept().iter();
    assert_eq!(stays.filter(|one| one.rank.rank == 5 && one.region == 0).count(), 3);
}

#[test]
fn a_loop_must_be_there() {
    let options =
        |region: &str| TraceOptions { main_loop: Some(region.to_owned()), ..Default::default() };
    let archive = archive(STENCIL);
    let report = program_of(&archive, &options("report")).unwrap_err();
    let expected = "rank 1 never enters the region `report`, which you named as the main loop; it \
        enters \
                    `main_loop`, `iteration`";
    assert_eq!(report.to_string(), expected);
    let call = program_of(&archive, &options("MPI_Send")).unwrap_err();
    assert!(matches!(call, TraceError::NoLoop { rank: 0, .. }), "{call}");
}

#[test]
fn a_missing_receive_is_found_by_the_replay() {
    let mut archive = archive(STENCIL);
    let place = archive.ranks[3];
    archive.locations[place].events.retain(|event| {
        !matches!(
            event.kind,
            EventKind::MpiIrecv { request: 4, .. } | EventKind::MpiIrecvRequest { request: 4 }
        )
    });
    let program = program_of(&archive, &TraceOptions::default()).unwrap().program;
    let error = replay(Fidelity::Flow, job(&program)).unwrap_err();
    assert!(matches!(error, ClusterError::Runtime(RuntimeError::Stalled(_))), "{error}");
    let expected = "rank 1 sends 128 KiB to rank 3 with tag 4";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn the_recorded_stencil_goes_through_goal() {
    let program = stencil().program;
    let options = goal::Options { time_unit: Picoseconds(1) };
    let text = goal::write(&program, &options, &ByDefault).unwrap();
    let again = goal::read("stencil.goal", &text, &options).unwrap();
    let outcome =
        |program: &Program| -> Outcome { replay(Fidelity::Flow, job(program)).unwrap().jobs };
    let (direct, through) = (outcome(&program), outcome(&again));
    let computing = |outcome: &Outcome| -> Vec<_> {
        outcome.jobs[0].ranks.iter().map(|rank| rank.computing).collect()
    };
    assert_eq!(computing(&direct), computing(&through));
    assert_eq!(direct.jobs[0].time(), through.jobs[0].time());
}

/// Returns the archive that was written for tests, without the events that no program can have.
/// These are messages between two groups, probes of messages that nobody sends, and a message of
/// two tebibytes.
fn four_ranks() -> Archive {
    let mut archive = archive(FOUR_RANKS);
    for location in &mut archive.locations {
        location.events.retain_mut(|event| match &mut event.kind {
            EventKind::MpiSend(message) => message.communicator != 65536,
            EventKind::MpiCollectiveEnd(call) => call.communicator != 65536,
            EventKind::MpiProbe { .. }
            | EventKind::MpiMrecv { .. }
            | EventKind::MpiImrecvRequest { .. }
            | EventKind::MpiImrecv { .. } => false,
            EventKind::MpiIsend { message, .. } | EventKind::MpiIrecv { message, .. } => {
                message.length.0 >>= 8;
                true
            }
            EventKind::NonBlockingCollectiveComplete { call, .. } => {
                (call.sent, call.received) = (Bytes(4096), Bytes(4096));
                true
            }
            _ => true,
        });
        location.unbalanced.clear();
    }
    archive
}

#[test]
fn the_written_archive_replays() {
    let between = program_of(&archive(FOUR_RANKS), &TraceOptions::default()).unwrap_err();
    let expected = "rank 0, event 53, in no MPI call: the communicator `halves` joins two groups, \
        and Linkwright does not play inter-communicators; record the program without \
        inter-communicators";
    assert_eq!(between.to_string(), expected);

    let options = TraceOptions { main_loop: Some("iteration".to_owned()), ..Default::default() };
    let TraceProgram { program, notes } = program_of(&four_ranks(), &options).unwrap();
    assert_eq!(
        program.communicators,
        [vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![3, 1]],
        "the world, that of ranks alone, and the one of two"
    );
    assert_eq!(program.regions, ["iteration", "step"]);
    let collective = |kind, root, communicator, size| Operation::Collective {
        kind,
        root,
        communicator,
        size: Bytes(size),
    };
    let broadcast = collective(CollectiveKind::Broadcast, 1, 2, 4096);
    let all_reduce = collective(CollectiveKind::AllReduce, 0, 0, 1024);
    for rank in 0..4 {
        assert_eq!(count(&program, rank, |one| *one == broadcast), 3 * (rank % 2));
        assert_eq!(count(&program, rank, |one| *one == all_reduce), 1);
        assert_eq!(count(&program, rank, |one| matches!(one, Operation::Send { .. })), 4);
        assert_eq!(count(&program, rank, |one| matches!(one, Operation::Receive { .. })), 4);
    }
    let (kind, recorded, size) = (CollectiveKind::AllReduce, Bytes(4096), Bytes(1024));
    let first = DividedSize { kind, ranks: 4, recorded };
    let divided = TraceNote::DividedSizes { count: 1, first, size };
    assert_eq!(notes, [TraceNote::Cancelled { count: 4 }, divided]);
    for fidelity in [Fidelity::Packet, Fidelity::Flow] {
        let mut slow = job(&program);
        slow.computation_scale = 0.5;
        replay(fidelity, slow.clone()).unwrap();
        slow.iterations = NonZeroU32::new(2).unwrap();
        replay(fidelity, slow).unwrap();
    }
}
