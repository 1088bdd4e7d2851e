//! Collectives that are played as kernels, beside other jobs and beside MPI's messages.

use super::*;
use crate::network::{Connections, Routes};
use crate::program::CollectiveKind;
use crate::program::kernel::{Kernel, KernelCall, KernelStep, NcclProtocol, Pieces};
use crate::program::lowering::Lowering;
use crate::system::{System, presets};
use crate::units::Bandwidth;

const LAUNCH: u64 = 5_000_000;
const HOP: u64 = 600_000;

const NCCL: NcclProtocol = NcclProtocol {
    launch: Picoseconds(LAUNCH),
    fabric_hop: Picoseconds(HOP),
    host_hop: Picoseconds(HOP),
    network_hop: Picoseconds(HOP),
    data_share: 1.0,
    copy_bandwidth: Bandwidth(u64::MAX),
    send_bandwidth: None,
    slots: 2,
    stream_reuse: true,
    peer_access_switch: Picoseconds(0),
};

/// Takes all-reduces as kernels, and whatever else there is as a message to the next rank.
pub(super) struct Kernels(pub(super) KernelCall);

impl Lowering for Kernels {
    fn lower(&self, call: &CollectiveCall) -> RankProgram {
        let (me, ranks) = (call.index, call.ranks);
        rank(|rank| {
            rank.run(send((me + 1) % ranks, 0, call.size.0));
            rank.run(receive((me + ranks - 1) % ranks, 0, call.size.0));
        })
    }

    fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
        (call.kind == CollectiveKind::AllReduce).then(|| self.0.clone())
    }
}

const SENDS: KernelStep = KernelStep { sends: true, receives: false, count: 1, copies: false };
const TAKES: KernelStep = KernelStep { sends: false, receives: true, count: 1, copies: false };

/// Lets both ranks send `bytes` bytes to each other, in `pieces` pieces, over the connections from
/// `first_connection` on.
pub(super) fn exchange(bytes: u64, pieces: u64, first_connection: u32) -> KernelCall {
    exchange_by(TAKES, bytes, pieces, first_connection)
}

fn exchange_by(takes: KernelStep, bytes: u64, pieces: u64, first_connection: u32) -> KernelCall {
    let mut kernel = Kernel::default();
    for _ in 0..2 {
        kernel.begin_rank();
        for step in [SENDS, takes] {
            kernel.begin_block();
            kernel.step(step, []);
        }
    }
    kernel.connect((0, 0), (1, 1), 0, false);
    kernel.connect((1, 0), (0, 1), 1, false);
    call(kernel, Pieces::new(Bytes(bytes), 1, pieces), first_connection)
}

fn call(kernel: Kernel, pieces: Pieces, first_connection: u32) -> KernelCall {
    KernelCall { kernel: Arc::new(kernel.finished()), pieces, protocol: NCCL, first_connection }
}

pub(super) fn routes() -> Routes<'static> {
    let system = System::of_server(Arc::new(presets::preset("dgx1-v100").unwrap()));
    Routes::new(&system, |_| 1.0).unwrap()
}

const GPUS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Makes a network with two connections there and back over the first two links.
pub(super) fn network<'a>(routes: &'a Routes<'a>) -> Connections<'a> {
    let mut network = Connections::over(routes, &GPUS);
    for resource in [0, 1, 0, 1] {
        network.open(&[(resource, 1.0)], Picoseconds(HOP));
    }
    network
}

fn all_reduce(size: u64) -> Operation {
    let kind = CollectiveKind::AllReduce;
    Operation::Collective { kind, root: 0, communicator: WORLD, size: Bytes(size) }
}

/// Returns the picoseconds that `bytes` bytes take alone on the first link.
fn alone(routes: &Routes<'_>, bytes: u64) -> u64 {
    (bytes as f64 / routes.capacities()[0].0 as f64 * 1e12).ceil() as u64
}

fn run(
    network: &mut Connections<'_>,
    jobs: &[ProgramJob],
    lowering: impl Lowering,
) -> Result<Outcome, RuntimeError> {
    Runtime::new(network, 8, jobs, FREE, lowering)?.run(&mut |_| ControlFlow::Continue(()))
}

/// Two ranks that all-reduce, the second after it has computed.
fn one_late(bytes: u64, late: u64) -> ProgramJob {
    let second = rank(|rank| {
        rank.run(compute(late));
        rank.run(all_reduce(bytes));
    });
    let both = program(vec![rank(|rank| _ = rank.run(all_reduce(bytes))), second]);
    ProgramJob::new(&both, vec![0, 1])
}

#[test]
fn what_a_block_takes_it_writes_piece_after_piece_before_its_kernel_ends() {
    let routes = routes();
    let bytes = 1 << 20;
    for pieces in [1, 4] {
        let mut call = exchange_by(KernelStep { copies: true, ..TAKES }, bytes, pieces, 0);
        // A byte a nanosecond: far slower than the link, so that pieces wait to be written.
        call.protocol.copy_bandwidth = Bandwidth(1_000_000_000);
        let jobs = [one_late(bytes, 0)];
        let outcome = run(&mut network(&routes), &jobs, Kernels(call)).unwrap();
        let end = LAUNCH + alone(&routes, bytes / pieces) + HOP + bytes * 1_000;
        assert_eq!(ends(&outcome), [end; 2], "{pieces}");
    }
}

#[test]
fn a_kernel_begins_at_each_rank_with_its_own_launch() {
    let routes = routes();
    let bytes = 1 << 20;
    let late = 3 * LAUNCH;
    let jobs = [one_late(bytes, late)];
    let outcome = run(&mut network(&routes), &jobs, Kernels(exchange(bytes, 1, 0))).unwrap();
    let end = late + LAUNCH + alone(&routes, bytes) + HOP;
    // The data of the first was there before the second took it.
    assert_eq!(ends(&outcome), [end, late + LAUNCH + alone(&routes, bytes)]);
    let sent: Vec<_> = outcome.jobs[0].ranks.iter().map(|it| (it.messages, it.bytes.0)).collect();
    assert_eq!(sent, [(1, bytes); 2]);
}

#[test]
fn a_connection_holds_as_many_pieces_as_it_has_slots() {
    let routes = routes();
    let (bytes, pieces, late) = (8 << 20, 8, 1_000_000_000);
    let mut kernel = Kernel::default();
    for step in [SENDS, TAKES] {
        kernel.begin_rank();
        kernel.begin_block();
        kernel.step(step, []);
    }
    kernel.connect((0, 0), (1, 0), 0, false);
    let lowering = Kernels(call(kernel, Pieces::new(Bytes(bytes), 1, pieces), 0));
    let jobs = [one_late(bytes, late)];
    let outcome = run(&mut network(&routes), &jobs, lowering).unwrap();
    // Two pieces had come when the second began, and six were left to send.
    let six = 6 * alone(&routes, bytes / pieces);
    assert_eq!(ends(&outcome), [late + LAUNCH + six, late + LAUNCH + six + HOP]);
}

#[test]
fn a_late_connection_carries_nothing_before_peer_access_is_off() {
    let routes = routes();
    let (bytes, switch) = (1 << 20, 70_000_000);
    let mut late = exchange(bytes, 2, 0);
    let mut kernel = Kernel::default();
    for _ in 0..2 {
        kernel.begin_rank();
        for step in [SENDS, TAKES] {
            kernel.begin_block();
            kernel.step(step, []);
        }
    }
    kernel.connect((0, 0), (1, 1), 0, true);
    kernel.connect((1, 0), (0, 1), 1, false);
    late.kernel = Arc::new(kernel.finished());
    late.protocol.peer_access_switch = Picoseconds(switch);
    let jobs = [one_late(bytes, 0)];
    let outcome = run(&mut network(&routes), &jobs, Kernels(late)).unwrap();
    let sent = 2 * alone(&routes, bytes / 2);
    let first = LAUNCH + switch + sent;
    assert_eq!(ends(&outcome), [first, first + HOP]);
}

/// Data that arrives when a transfer ends comes after it. So the block that waited for the transfer
/// has the first turn on the lane that both want.
#[test]
fn what_comes_at_a_time_waits_for_the_transfers_that_end_then() {
    let routes = routes();
    let bytes = 1 << 20;
    let of_third = (bytes as f64 / routes.capacities()[2].0 as f64 * 1e12).ceil() as u64;
    let mut network = Connections::over(&routes, &GPUS);
    for (resource, latency) in [(0, HOP), (0, HOP), (2, HOP), (4, of_third)] {
        network.open(&[(resource, 1.0)], Picoseconds(latency));
    }
    let passes = KernelStep { receives: true, ..SENDS };
    let nothing = KernelStep { count: 0, ..SENDS };
    let mut kernel = Kernel::default();
    let behind_third: &[(u32, u32)] = &[(2, 0)];
    type Linked<'a> = (KernelStep, &'a [(u32, u32)]);
    let blocks: [&[Linked<'_>]; 4] = [
        &[(passes, &[]), (SENDS, behind_third), (SENDS, &[])],
        &[(TAKES, &[])],
        &[(nothing, &[]), (TAKES, &[])],
        &[(TAKES, &[])],
    ];
    for of_rank in blocks {
        kernel.begin_rank();
        for (step, after) in of_rank {
            kernel.begin_block();
            kernel.step(*step, after.iter().copied());
        }
    }
    kernel.connect((0, 0), (1, 0), 0, false);
    kernel.connect((0, 1), (3, 0), 0, false);
    kernel.connect((0, 2), (2, 1), 1, false);
    kernel.connect((2, 0), (0, 0), 2, false);
    let lowering = Kernels(call(kernel, Pieces::new(Bytes(bytes), 1, 1), 0));
    let four = (0..4).map(|_| rank(|rank| _ = rank.run(all_reduce(bytes))));
    let jobs = [ProgramJob::new(&program(four.collect()), vec![0, 1, 2, 3])];
    let outcome = run(&mut network, &jobs, lowering).unwrap();
    let (begin, each) = (LAUNCH + of_third, alone(&routes, bytes));
    let expected = [begin + 2 * each, begin + 2 * each + HOP, begin + HOP, begin + each + HOP];
    assert_eq!(ends(&outcome), expected);
}

#[test]
fn kernels_of_two_jobs_share_links_and_end_as_if_planned_together() {
    let routes = routes();
    let bytes = 4 << 20;
    let part = || rank(|rank| _ = rank.run(all_reduce(bytes)));
    let both = program(vec![part(), part()]);
    struct ByJob;
    impl Lowering for ByJob {
        fn lower(&self, _: &CollectiveCall) -> RankProgram {
            RankProgram::default()
        }
        fn variant(&self, job: u32, _: u32, _: CollectiveKind, _: u32) -> u32 {
            job
        }
        fn kernel(&self, call: &CollectiveCall) -> Option<KernelCall> {
            Some(exchange(call.size.0, 4, 2 * call.variant))
        }
    }
    let jobs = [ProgramJob::new(&both, vec![0, 1]), ProgramJob::new(&both, vec![2, 3])];
    let outcome = run(&mut network(&routes), &jobs, ByJob).unwrap();
    let one = run(&mut network(&routes), &jobs[..1], ByJob).unwrap();
    let time = |outcome: &Outcome, job: usize| outcome.jobs[job].ranks[0].end.0 - LAUNCH - HOP;
    assert_eq!(time(&outcome, 0), time(&outcome, 1));
    assert!(time(&outcome, 0).abs_diff(2 * time(&one, 0)) < 20);
}

#[test]
fn one_kernel_after_another_takes_the_room_of_the_first() {
    let routes = routes();
    let bytes = 1 << 20;
    let part = |count: usize| rank(|rank| (0..count).for_each(|_| _ = rank.run(all_reduce(bytes))));
    let played = |count| {
        let both = program(vec![part(count), part(count)]);
        let mut on = network(&routes);
        let jobs = [ProgramJob::new(&both, vec![0, 1])];
        let lowering = Kernels(exchange(bytes, 3, 0));
        let mut runtime = Runtime::new(&mut on, 8, &jobs, FREE, lowering).unwrap();
        runtime.play(&mut |_| ControlFlow::Continue(())).unwrap();
        (runtime.protocols.iter().map(|of| of.room()).sum::<usize>(), runtime.shared.now)
    };
    let (one, three) = (played(1), played(3));
    assert_eq!(three.1, 3 * one.1);
    // A rank may call the next before the other has ended the last.
    assert!(three.0 <= 2, "{}", three.0);
}

#[test]
fn messages_and_kernels_run_side_by_side() {
    let routes = routes();
    let bytes = 1 << 20;
    let gather = Operation::Collective {
        kind: CollectiveKind::AllGather,
        root: 0,
        communicator: WORLD,
        size: Bytes(1_000),
    };
    let part = || {
        rank(|rank| {
            let first = rank.start(all_reduce(bytes));
            rank.run(gather);
            rank.wait(&[first]);
        })
    };
    let both = program(vec![part(), part()]);
    let jobs = [ProgramJob::new(&both, vec![0, 1])];
    let outcome = run(&mut network(&routes), &jobs, Kernels(exchange(bytes, 2, 0))).unwrap();
    let sent: Vec<_> = outcome.jobs[0].ranks.iter().map(|it| it.messages).collect();
    assert_eq!(sent, [3, 3]);
}

#[test]
fn a_rank_that_stays_away_and_blocks_that_wait_for_ever_are_told() {
    let routes = routes();
    let absent = program(vec![
        rank(|rank| _ = rank.run(all_reduce(8))),
        rank(|rank| _ = rank.run(compute(5))),
    ]);
    let jobs = [ProgramJob::new(&absent, vec![0, 1])];
    let error = run(&mut network(&routes), &jobs, Kernels(exchange(8, 1, 0))).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("rank 1 has not called AllReduce"), "{text}");
    assert!(text.contains("rank 0 waits in AllReduce of 8 B"), "{text}");

    let mut kernel = Kernel::default();
    for step in [SENDS, TAKES] {
        kernel.begin_rank();
        kernel.begin_block();
        kernel.step(step, []);
        kernel.step(TAKES, []);
    }
    kernel.connect((0, 0), (1, 0), 0, false);
    kernel.connect((1, 0), (0, 0), 1, false);
    let part = || rank(|rank| _ = rank.run(all_reduce(8)));
    let both = program(vec![part(), part()]);
    let jobs = [ProgramJob::new(&both, vec![0, 1])];
    let stuck = Kernels(call(kernel, Pieces::new(Bytes(8), 1, 1), 0));
    let error = run(&mut network(&routes), &jobs, stuck).unwrap_err();
    let expected = RuntimeError::StuckKernel {
        job: "test".to_owned(),
        rank: 0,
        kind: CollectiveKind::AllReduce,
        call: crate::runtime::Call { operation: 0, iteration: 0 },
        block: 0,
        step: 1,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("block 0 waits forever at step 1"), "{error}");
}

#[test]
fn kernels_that_cannot_be_are_refused() {
    let routes = routes();
    let part = || rank(|rank| _ = rank.run(all_reduce(8)));
    let three = program(vec![part(), part(), part()]);
    let jobs = [ProgramJob::new(&three, vec![0, 1, 2])];
    let error = run(&mut network(&routes), &jobs, Kernels(exchange(8, 1, 0))).unwrap_err();
    assert!(error.to_string().contains("is a kernel of 2 ranks"), "{error}");
    let both = program(vec![part(), part()]);
    let jobs = [ProgramJob::new(&both, vec![0, 1])];
    let error = run(&mut network(&routes), &jobs, Kernels(exchange(8, 1, 4))).unwrap_err();
    assert!(error.to_string().contains("there is no connection 4"), "{error}");
    // Messages alone are all that some networks know of.
    let lowering = Kernels(exchange(8, 1, 0));
    let mut network = TestNetwork::new();
    let runtime = Runtime::new(&mut network, 8, &jobs, FREE, lowering).unwrap();
    let error = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("there is no connection 0"), "{error}");
}
