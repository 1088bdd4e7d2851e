//! What every error says: what is wrong and what would work, each by itself.
//!
//! Each error's variants that are made of plain values stand here; those that hold another error
//! hand on what that says.

use linkwright::allocation::links::LinkCounts;
use linkwright::allocation::{AllocationError, PatternShape, policy};
use linkwright::collectives::export::ExportError;
use linkwright::collectives::link_graph::LinkGraphError;
use linkwright::collectives::mpi::MpiError;
use linkwright::collectives::plan::PlanError;
use linkwright::collectives::time::TimeError;
use linkwright::collectives::{ExecuteError, ScheduleFault};
use linkwright::diagnostic::{Diagnose, Diagnosis, Named as _};
use linkwright::engine::EngineError;
use linkwright::memory::GpuRunError;
use linkwright::memory::protocol::ProtocolError;
use linkwright::network::packet::SettingsError;
use linkwright::network::routing::RoutingError;
use linkwright::network::wires::WiresError;
use linkwright::network::{PathError, TransportError};
use linkwright::program::CollectiveKind;
use linkwright::program::goal::WriteError;
use linkwright::program::lowering::LoweringError;
use linkwright::program::skeletons::SkeletonError;
use linkwright::program::trace::{CallFault, TraceError};
use linkwright::program::workload::MixError;
use linkwright::runtime::RuntimeError;
use linkwright::scenario::comparison::ComparisonError;
use linkwright::simulation::SimulationError;
use linkwright::simulation::cluster::PlacementError;
use linkwright::system::composition::NodeError;
use linkwright::system::gpus::NumberType;
use linkwright::system::{
    ExportFormat, FabricError, GpuError, NoReducingSwitch, PartError, ServerError, SystemError,
};
use linkwright::thermal::ThermalError;
use linkwright::training::{TrainingError, UnknownWorkload};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

/// A problem and a remedy as lines; the message is both, with a semicolon between.
fn lines(error: &dyn Diagnose) -> String {
    let Diagnosis { problem, remedy } = error.diagnosis();
    let message = remedy.as_ref().map_or(problem.clone(), |it| format!("{problem}; {it}"));
    assert_eq!(error.to_string(), message);
    format!("{problem}\n    {}\n", remedy.as_deref().unwrap_or("-"))
}

fn told(errors: &[&dyn Diagnose]) -> String {
    errors.iter().map(|error| lines(*error)).collect()
}

#[test]
fn every_error_says_problem_and_remedy_apart() {
    let found = [
        allocation_error(),
        comparison_error(),
        schedule_fault(),
        execute_error(),
        export_error(),
        link_graph_error(),
        mpi_error(),
        plan_error(),
        time_error(),
        engine_error(),
        settings_error(),
        path_error(),
        routing_error(),
        transport_error(),
        write_error(),
        lowering_error(),
        skeleton_error(),
        trace_error(),
        call_fault(),
        mix_error(),
        runtime_error(),
        placement_error(),
        simulation_error(),
        node_error(),
        system_error(),
        fabric_error(),
        gpu_error(),
        server_error(),
        no_reducing_switch(),
        protocol_error(),
        gpu_run_error(),
        wires_error(),
        part_error(),
        thermal_error(),
        training_error(),
    ];
    let found = found.concat();
    let known = include_str!("diagnoses.txt");
    assert!(found == known, "diagnoses.txt should be\n{found}");
}

fn allocation_error() -> String {
    told(&[
        &AllocationError::UnknownPattern(PatternShape::unknown("x")),
        &AllocationError::UnknownPolicy(policy("x").err().unwrap()),
        &AllocationError::PatternSize { size: 3, most: 128 },
        &AllocationError::PatternEdge { a: 3, b: 3, size: 3 },
        &AllocationError::EdgeText { word: "x".to_owned() },
        &AllocationError::TooManyEdges,
        &AllocationError::Share { a: 3, b: 3, share: "x".to_owned() },
        &AllocationError::TooManyGpus { gpus: 3 },
        &AllocationError::NoSamples,
        &AllocationError::Sample { links: LinkCounts::default(), bandwidth: "x".to_owned() },
        &AllocationError::UnknownGpu { gpu: 3, gpus: 3 },
        &AllocationError::NotFree { gpu: 3 },
        &AllocationError::PlacementSize { given: 3, size: 3 },
        &AllocationError::JobTooLarge { job: "x".to_owned(), size: 3, gpus: 3 },
        &AllocationError::AlreadyAllocated { job: "x".to_owned(), held: "x".to_owned() },
        &AllocationError::NotAllocated { job: "x".to_owned() },
        &AllocationError::Interrupted { job: "x".to_owned() },
        &AllocationError::State { problem: "x".to_owned() },
    ])
}

fn schedule_fault() -> String {
    told(&[
        &ScheduleFault::TooLarge { what: "y", found: 3, limit: 3 },
        &ScheduleFault::Header { problem: "x".to_owned() },
        &ScheduleFault::Channel { channel: 3, problem: "x".to_owned() },
        &ScheduleFault::Block { rank: 3, block: 3, problem: "x".to_owned() },
        &ScheduleFault::ConnectionTwice {
            rank: 3,
            first: 3,
            second: 3,
            direction: "y",
            peer: 3,
            channel: 3,
        },
    ])
}

fn execute_error() -> String {
    told(&[
        &ExecuteError::Root { root: 3, ranks: 3 },
        &ExecuteError::Inputs { ranks: 3, inputs: 3 },
        &ExecuteError::InputLength { rank: 3, found: 3, expected: 3 },
        &ExecuteError::Indivisible { rank: 3, found: 3, shards: 3 },
        &ExecuteError::TooManyRanks { ranks: 3 },
        &ExecuteError::Memory { needed: 3, allowed: 3 },
        &ExecuteError::Zero { what: "y" },
        &ExecuteError::Thread { rank: 3, problem: "x".to_owned() },
    ])
}

fn export_error() -> String {
    told(&[
        &ExportError::Limit {
            format: "y",
            what: "y",
            place: "x".to_owned(),
            count: 3,
            most: 3,
            remedy: "y",
        },
        &ExportError::NoCollective {
            format: "y",
            collective: linkwright::collectives::Collective::AllReduce,
            remedy: "y",
        },
        &ExportError::NoOperation {
            format: "y",
            operation: "y",
            place: "x".to_owned(),
            remedy: "y",
        },
        &ExportError::Broken { place: "x".to_owned(), problem: "x".to_owned() },
        &ExportError::BadOption { option: "y", value: 3, remedy: "y" },
    ])
}

fn link_graph_error() -> String {
    told(&[
        &LinkGraphError::UnknownGpu { gpu: 3, machine: "x".to_owned(), last: 3 },
        &LinkGraphError::DuplicateGpu(3),
        &LinkGraphError::TooFewGpus(3),
        &LinkGraphError::Apart { links: "y", from: 3, apart: "x".to_owned() },
    ])
}

fn mpi_error() -> String {
    told(&[
        &MpiError::Unknown { kind: CollectiveKind::Barrier, name: "x".to_owned() },
        &MpiError::Outside { index: 3, ranks: 3 },
    ])
}

fn plan_error() -> String {
    told(&[
        &PlanError::UnknownRoot { root: 3, last: 3 },
        &PlanError::Unsupported { algorithm: "y", collective: "y", remedy: "y".into() },
        &PlanError::OneServer,
        &PlanError::TooMany(3),
        &PlanError::InSwitchOverHost,
        &PlanError::NoRing { algorithm: "y" },
        &PlanError::NotDirect { algorithm: "y" },
        &PlanError::TooFine,
        &PlanError::Unsolved,
        &PlanError::NoSize,
    ])
}

fn time_error() -> String {
    told(&[
        &TimeError::UnknownGpu { rank: 3, gpu: 3, machine: "x".to_owned(), count: 3 },
        &TimeError::NoRoute { links: "y", from: 3, to: 3, machine: "x".to_owned() },
        &TimeError::InSwitch { rank: 3, block: 3, step: 3 },
        &TimeError::Unpaired { rank: 3, block: 3, channel: 3 },
        &TimeError::Stuck { rank: 3, block: 3, step: 3 },
        &TimeError::Fault { problem: "x".to_owned() },
        &TimeError::EmptyChunk,
    ])
}

fn engine_error() -> String {
    told(&[&EngineError::TooLong { now: Picoseconds(5) }])
}

fn settings_error() -> String {
    told(&[
        &SettingsError::PacketSize { size: Bytes(64) },
        &SettingsError::Buffer { packets: 3 },
        &SettingsError::Ports { switch: 3, ports: 3 },
        &SettingsError::VirtualChannels { channels: 3 },
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
        &RoutingError::Unmade { routing: "own:Routing" },
        &RoutingError::TooLong { hops: 3 },
    ])
}

fn transport_error() -> String {
    told(&[&TransportError::TooLong { now: Picoseconds(5) }])
}

fn write_error() -> String {
    told(&[
        &WriteError::AnyTag { rank: 2 },
        &WriteError::Tag { rank: 2, tag: 7 },
        &WriteError::NoWords { rank: 2, operation: 3, what: "y", remedy: "y" },
        &WriteError::TimeUnit,
    ])
}

fn lowering_error() -> String {
    told(&[
        &LoweringError::Communicator { communicator: 1, communicators: 3 },
        &LoweringError::Outside { index: 3, ranks: 3 },
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
    ])
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

fn mix_error() -> String {
    told(&[
        &MixError::Empty,
        &MixError::Indivisible { size: 3, next: 3 },
        &MixError::NoRoom { at_least: 3, needed: 3, room: 3 },
    ])
}

fn runtime_error() -> String {
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
    ])
}

fn placement_error() -> String {
    told(&[
        &PlacementError::TooManyRanks { ranks: 3, gpus: 3 },
        &PlacementError::Length { job: 3, name: "x".to_owned(), ranks: 3, given: 3 },
        &PlacementError::UnknownGpu { job: 3, name: "x".to_owned(), rank: 3, gpu: 3, gpus: 3 },
        &PlacementError::SharedGpu { job: 3, name: "x".to_owned(), rank: 3, gpu: 3, other_rank: 3 },
    ])
}

fn simulation_error() -> String {
    told(&[
        &SimulationError::JobTooLarge { job: "x".to_owned(), size: 3, gpus: 3 },
        &SimulationError::TooManyToProfile { gpus: 17 },
        &SimulationError::JobOfServers { job: "x".to_owned(), size: 3, gpus: 3 },
        &SimulationError::UnknownSpeed {
            server: "x".to_owned(),
            gpu: "x".to_owned(),
            number: NumberType::Fp32,
        },
        &SimulationError::UnknownSpeed {
            server: "x".to_owned(),
            gpu: "x".to_owned(),
            number: NumberType::Bf16,
        },
        &SimulationError::NoHost { job: "x".to_owned() },
        &SimulationError::SmallBucket { bucket: Bytes(3) },
        &SimulationError::DuplicateJob { job: "x".to_owned() },
        &SimulationError::RunTooLong {
            job: "x".to_owned(),
            bandwidth: Bandwidth(1_000_000_000),
            iterations: 3,
        },
        &SimulationError::Interrupted { done: 3, total: 3 },
        &SimulationError::TooManyIterations { job: "x".to_owned(), iterations: 3 },
        &SimulationError::UnknownWorkload(UnknownWorkload {
            name: "x".to_owned(),
            known: "x".to_owned(),
        }),
        &SimulationError::TooManyJobs { count: 3 },
        &SimulationError::NoWorkloads { known: "x".to_owned() },
        &SimulationError::NoGpus,
        &SimulationError::TimeTooLong { what: "x".to_owned(), remedy: "y" },
    ])
}

fn node_error() -> String {
    told(&[&NodeError::Gpus { gpus: 3 }, &NodeError::Bandwidth])
}

fn system_error() -> String {
    told(&[
        &SystemError::UnknownPreset { name: "x".to_owned(), known: "x".to_owned() },
        &SystemError::UnknownFormat { name: "x".to_owned(), known: "x".to_owned() },
        &SystemError::UnknownExport(ExportFormat::unknown("x")),
        &SystemError::Inexpressible {
            machine: "x".to_owned(),
            format: "y",
            problem: "y".to_owned(),
            remedy: "y".to_owned(),
        },
        &SystemError::NotConnected { a: "x".to_owned(), b: "x".to_owned() },
        &SystemError::SeveralServers { a: "x".to_owned(), b: "x".to_owned() },
        &SystemError::NotAServer { machine: "x".to_owned(), problem: "y", remedy: "y" },
        &SystemError::NoNetwork {
            machine: "x".to_owned(),
            device: "x".to_owned(),
            problem: "y",
            remedy: "y",
        },
        &SystemError::NoServer,
        &SystemError::TooManyParts,
        &SystemError::TooManyPairs { gpus: 1025 },
        &SystemError::TooFewPorts { ports: 3, nics: 3, missing: 3 },
    ])
}

fn fabric_error() -> String {
    told(&[
        &FabricError::NoNode,
        &FabricError::Parameter { parameter: "y", value: "x".to_owned(), remedy: "x".to_owned() },
        &FabricError::Unset {
            given: "y",
            all: "x".to_owned(),
            parameter: "y",
            value: "x".to_owned(),
            remedy: "x".to_owned(),
        },
        &FabricError::TooFewPorts {
            kind: "y",
            parameter: "y",
            ports: 3,
            needed: 3,
            remedy: "x".to_owned(),
        },
        &FabricError::UnknownSwitch { what: "x".to_owned(), switch: 3, switches: 3 },
        &FabricError::Loop { switch: 3 },
        &FabricError::NoBandwidth { what: "x".to_owned() },
        &FabricError::NotConnected { a: 3, at_a: "x".to_owned(), b: 3, at_b: "x".to_owned() },
        &FabricError::TableTooLarge { entries: 3, most: 3 },
        &FabricError::TooLarge { channels: 3, most: 3 },
    ])
}

fn gpu_error() -> String {
    told(&[
        &GpuError::Unknown { name: "x".to_owned(), instead: "x".to_owned() },
        &GpuError::NoSection { model: "x".to_owned(), section: "y", file: "x".to_owned() },
        &GpuError::NoRate {
            model: "x".to_owned(),
            section: "y",
            number: "y",
            file: "x".to_owned(),
        },
    ])
}

fn gpu_run_error() -> String {
    told(&[
        &GpuRunError::Pages { memory: "x", protocol: "y" },
        &GpuRunError::Order { memory: "x", protocol: "y" },
        &GpuRunError::NoSharedMemory { memory: "x" },
    ])
}

fn wires_error() -> String {
    told(&[
        &WiresError::Servers { a: "x".to_owned(), b: "y".to_owned() },
        &WiresError::NoHost { gpu: "x".to_owned() },
    ])
}

fn part_error() -> String {
    let apart = |beside: &[&str]| PartError::Apart {
        a: "x".to_owned(),
        b: "y".to_owned(),
        beside: beside.iter().map(|it| (*it).to_owned()).collect(),
    };
    told(&[&apart(&[]), &apart(&["z"]), &PartError::Abstract { server: "x".to_owned() }])
}

fn server_error() -> String {
    told(&[
        &ServerError::DuplicateDevice("x".to_owned()),
        &ServerError::UnknownDevice("x".to_owned()),
        &ServerError::SelfLink("x".to_owned()),
        &ServerError::DuplicateLink("x".to_owned(), "x".to_owned(), "y"),
        &ServerError::EmptyLink("x".to_owned(), "x".to_owned(), "y"),
        &ServerError::TooWide("x".to_owned(), "x".to_owned()),
        &ServerError::TooWideGpu("x".to_owned(), "x".to_owned()),
        &ServerError::Discipline {
            a: "x".to_owned(),
            b: "x".to_owned(),
            kind: "y",
            given: "y",
            allowed: "x".to_owned(),
        },
        &ServerError::MixedDisciplines { switch: "x".to_owned(), link: 3 },
        &ServerError::ParallelPackets { a: "x".to_owned(), b: "x".to_owned(), link: 3 },
        &ServerError::NoGpu,
        &ServerError::TooManyGpus(16_385),
    ])
}

fn no_reducing_switch() -> String {
    told(&[
        &NoReducingSwitch::Alone,
        &NoReducingSwitch::Servers { first: 3, second: 3 },
        &NoReducingSwitch::NoSwitch(3),
        &NoReducingSwitch::Forwards { gpu: 3, kind: "y" },
        &NoReducingSwitch::Apart { first: 3, second: 3 },
    ])
}

fn protocol_error() -> String {
    told(&[
        &ProtocolError::NoLease { what: "y", lease: 0 },
        &ProtocolError::Width { bits: 3 },
        &ProtocolError::LongLease { what: "y", lease: 3, most: 3 },
    ])
}

fn thermal_error() -> String {
    told(&[
        &ThermalError::Cells { cells: 0, in_all: 0 },
        &ThermalError::Cells { cells: 3, in_all: 3 },
        &ThermalError::OutOfRange { what: "y", value: 3.0, bounds: (1.0, 2.0) },
        &ThermalError::NoSink { target: 3.0, coolest: 1.0, hottest: 2.0 },
        &ThermalError::Unsettled { unaccounted: 0.5 },
        &ThermalError::Layer { name: "x".to_owned(), known: vec!["x".to_owned()] },
    ])
}

fn training_error() -> String {
    told(&[
        &TrainingError::Unknown {
            what: "network",
            name: "x".to_owned(),
            known: vec!["x".to_owned()],
        },
        &TrainingError::Layer {
            network: "x".to_owned(),
            layer: "y".to_owned(),
            fault: Diagnosis::of("z").remedy("w"),
        },
        &TrainingError::MeasuredSamples { measured: 32, samples: 64 },
        &TrainingError::NoPeerAccess { way: "p2p-direct", first: 0, second: 5 },
        &TrainingError::Memory {
            gpu: 3,
            samples: 2,
            needed: Bytes(3 << 30),
            capacity: Bytes(1 << 30),
            largest: ("activations", Bytes(2 << 30)),
            remedies: vec!["`fsdp`".to_owned(), "samples of 512 tokens".to_owned()],
        },
        &TrainingError::Memory {
            gpu: 3,
            samples: 1,
            needed: Bytes(3 << 30),
            capacity: Bytes(1 << 30),
            largest: ("weights", Bytes(2 << 30)),
            remedies: Vec::new(),
        },
        &TrainingError::Overlap { way: "fsdp", why: "it gathers" },
    ])
}

fn comparison_error() -> String {
    told(&[
        &ComparisonError::NoJobs,
        &ComparisonError::OfPrograms,
        &ComparisonError::Reference { wanted: "x".to_owned(), known: vec!["y".to_owned()] },
    ])
}
