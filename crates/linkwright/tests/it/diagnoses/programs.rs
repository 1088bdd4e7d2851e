//! Lists errors of networks and of the programs that send over them.

use linkwright::diagnostic::Diagnosis;
use linkwright::network::packet::{PcieSetting, SettingsError};
use linkwright::network::routing::RoutingError;
use linkwright::network::wires::WiresError;
use linkwright::network::{PathError, RouteError, Stuck, TransportError};
use linkwright::program::CollectiveKind;
use linkwright::program::goal::WriteError;
use linkwright::program::lowering::LoweringError;
use linkwright::program::skeletons::SkeletonError;
use linkwright::program::trace::{CallFault, TraceError};
use linkwright::program::workload::{MappingError, MixError};
use linkwright::runtime::{Absence, Call, Pending, PendingKind, RuntimeError, Stalled, WaitingJob};
use linkwright::units::{Bytes, Picoseconds};

use super::told;

pub fn all() -> String {
    [
        call_fault(),
        lowering_error(),
        mix_error(),
        path_error(),
        routing_error(),
        runtime_error(),
        settings_error(),
        skeleton_error(),
        stalled(),
        trace_error(),
        transport_error(),
        wires_error(),
        write_error(),
    ]
    .concat()
}

fn call_fault() -> String {
    told(&[
        &CallFault::InterCommunicator { communicator: "x".to_owned() },
        &CallFault::NotMember { communicator: "x".to_owned() },
        &CallFault::UnknownCollective { number: 3 },
        &CallFault::TooLarge { size: Bytes(64) },
        &CallFault::NoRoot,
    ])
}

fn lowering_error() -> String {
    told(&[
        &LoweringError::Communicator { communicator: 1, communicators: 3 },
        &LoweringError::Outside { index: 3, ranks: 3 },
    ])
}

fn mix_error() -> String {
    told(&[
        &MixError::Empty,
        &MixError::Indivisible { size: 3, next: 3 },
        &MixError::NoRoom { at_least: 3, needed: 3, room: 3 },
        &MappingError { ranks: 4, gpus: 3 },
    ])
}

fn path_error() -> String {
    told(&[
        &PathError::NoInterface {
            server: "x".to_owned(),
            gpu: "x".to_owned(),
            interface: "x".to_owned(),
        },
        &PathError::Apart {
            server: "x".to_owned(),
            links: "y",
            a: "x".to_owned(),
            b: "x".to_owned(),
        },
        &PathError::Elsewhere { a: "x".to_owned(), b: "x".to_owned(), route: "y" },
        &PathError::NoEnd { device: "x".to_owned() },
    ])
}

fn routing_error() -> String {
    told(&[
        &RoutingError::WrongShape {
            routing: "y",
            wanted: "y",
            network: "x".to_owned(),
            instead: "y",
        },
        &RoutingError::TooLong { hops: 3 },
        &RoutingError::Unmade { routing: "own:Routing" },
    ])
}

fn runtime_error() -> String {
    let call = Call { operation: 3, iteration: 2 };
    told(&[
        &RuntimeError::Mapping { job: "x".to_owned(), ranks: 3, gpus: 3 },
        &RuntimeError::UnknownGpu { job: "x".to_owned(), rank: 2, gpu: 3, gpus: 3 },
        &RuntimeError::SharedGpu { gpu: 3, job: "x".to_owned(), ranks: [1, 2] },
        &RuntimeError::Scale { job: "x".to_owned(), scale: 0.5 },
        &RuntimeError::NoLoop { job: "x".to_owned(), rank: 2, iterations: 3 },
        &RuntimeError::Communicator {
            job: "x".to_owned(),
            communicator: 1,
            problem: "x".to_owned(),
        },
        &RuntimeError::Operation {
            job: "x".to_owned(),
            rank: 2,
            operation: 3,
            problem: "x".to_owned(),
        },
        &RuntimeError::Lowering {
            kind: CollectiveKind::Barrier,
            index: 3,
            ranks: 3,
            problem: "x".to_owned(),
        },
        &RuntimeError::Interrupted { time: Picoseconds(5), done: 3, total: 3 },
        &RuntimeError::Truncated {
            job: "x".to_owned(),
            rank: 1,
            call,
            peer: 2,
            tag: 7,
            size: Bytes(64),
            capacity: Bytes(32),
        },
        &RuntimeError::CollectiveMismatch {
            job: "x".to_owned(),
            communicator: 1,
            sequence: 4,
            ranks: [1, 2],
            calls: [call, call],
            kinds: [CollectiveKind::Barrier, CollectiveKind::Broadcast],
            roots: [None, Some(2)],
        },
        &RuntimeError::StuckKernel {
            job: "x".to_owned(),
            rank: 1,
            kind: CollectiveKind::Broadcast,
            call,
            block: 4,
            step: 5,
        },
        &RuntimeError::Kernel { job: "x".to_owned(), told: Diagnosis::of("y").remedy("z") },
        &RuntimeError::TooLong { job: "x".to_owned(), rank: 1, call },
    ])
}

fn settings_error() -> String {
    told(&[
        &SettingsError::PacketSize { size: Bytes(64) },
        &SettingsError::Buffer { packets: 3 },
        &SettingsError::Ports { switch: 3, ports: 3 },
        &SettingsError::VirtualChannels { channels: 3 },
        &SettingsError::Pcie {
            setting: PcieSetting::ReadRequest,
            value: "x".to_owned(),
            least: "1".to_owned(),
            most: "2".to_owned(),
        },
        &RouteError::Efficiency { kind: "y", value: 1.5 },
    ])
}

fn skeleton_error() -> String {
    told(&[
        &SkeletonError::Unknown { name: "x".to_owned(), known: vec!["y"] },
        &SkeletonError::Options { application: "y", problem: "x".to_owned() },
        &SkeletonError::Parameter { application: "y", parameter: "y", value: 3, remedy: "y" },
        &SkeletonError::Message { application: "y", size: Bytes(64) },
        &SkeletonError::Ranks { application: "y", ranks: 3, reason: "y" },
    ])
}

fn stalled() -> String {
    let pending = |kind: PendingKind| Pending {
        kind,
        job: "x".to_owned(),
        rank: 1,
        call: Call { operation: 3, iteration: 0 },
        within: None,
        peer: Some(2),
        tag: Some(7),
        size: Bytes(64),
        since: Picoseconds(4),
    };
    let nothing = Stalled {
        time: Picoseconds(5),
        ranks: 2,
        jobs: Vec::new(),
        job_count: 0,
        circle: Vec::new(),
        circle_count: 0,
        eager: (Bytes(32), Bytes(64)),
        absences: Vec::new(),
        absence_count: 0,
        sends: Vec::new(),
        send_count: 0,
        receives: Vec::new(),
        receive_count: 0,
        collectives: Vec::new(),
        collective_count: 0,
    };
    let job = WaitingJob { job: "x".to_owned(), gpu: 3, behind: "y".to_owned() };
    let absence = Absence {
        job: "x".to_owned(),
        communicator: 0,
        kind: CollectiveKind::Barrier,
        ranks: 4,
        absent: vec![3],
        absent_count: 1,
    };
    let kind = PendingKind::Collective(CollectiveKind::Barrier);
    told(&[
        &Stalled { jobs: vec![job], job_count: 1, ..nothing.clone() },
        &Stalled {
            circle: vec![pending(PendingKind::Send), pending(PendingKind::Send)],
            circle_count: 2,
            ..nothing.clone()
        },
        &Stalled {
            absences: vec![absence],
            absence_count: 1,
            collectives: vec![pending(kind)],
            collective_count: 1,
            ..nothing.clone()
        },
        &Stalled {
            ranks: 0,
            sends: vec![pending(PendingKind::Send)],
            send_count: 1,
            receives: vec![pending(PendingKind::Receive)],
            receive_count: 1,
            ..nothing
        },
    ])
}

fn trace_error() -> String {
    told(&[
        &TraceError::NoRanks,
        &TraceError::RequestAcrossLoop {
            rank: 2,
            start: 3,
            event: 3,
            call: "x".to_owned(),
            region: "x".to_owned(),
        },
        &TraceError::TooLong { rank: 2, ticks_per_second: 3 },
        &TraceError::Call { rank: 2, event: 3, call: "x".to_owned(), fault: CallFault::NoRoot },
        &TraceError::NoLoop { rank: 2, region: "x".to_owned(), known: vec!["y".to_owned()] },
    ])
}

fn transport_error() -> String {
    told(&[
        &TransportError::TooLong { now: Picoseconds(5) },
        &TransportError::NoConnection { connection: 3 },
        &Stuck { time: Picoseconds(5), messages: 3, cycle: "x".to_owned() },
    ])
}

fn wires_error() -> String {
    told(&[
        &WiresError::Servers { a: "x".to_owned(), b: "y".to_owned() },
        &WiresError::NoHost { gpu: "x".to_owned() },
    ])
}

fn write_error() -> String {
    told(&[
        &WriteError::AnyTag { rank: 2 },
        &WriteError::Tag { rank: 2, tag: 7 },
        &WriteError::NoWords { rank: 2, operation: 3, what: "y", remedy: "y" },
        &WriteError::TimeUnit,
    ])
}
