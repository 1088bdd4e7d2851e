//! Errors of plans, schedules and what NCCL does.

use linkwright::collectives::baselines::{ChoiceError, MatrixError, VersionError};
use linkwright::collectives::calibration::CalibrateError;
use linkwright::collectives::certificate::Refusal;
use linkwright::collectives::check::{Cause, StepPlace, Wait};
use linkwright::collectives::export::ExportError;
use linkwright::collectives::link_graph::LinkGraphError;
use linkwright::collectives::mpi::{MpiAlgorithm, MpiError};
use linkwright::collectives::plan::PlanError;
use linkwright::collectives::source::TooManyRanks;
use linkwright::collectives::time::TimeError;
use linkwright::collectives::{Buffer, ExecuteError, Placement, ScheduleFault, StepOperation};
use linkwright::graph::arborescences::ArborescenceError;
use linkwright::program::CollectiveKind;
use linkwright::system::NoReducingSwitch;
use linkwright::units::Bytes;

use super::told;

pub fn all() -> String {
    [
        arborescence_error(),
        certificate_refusal(),
        choice_error(),
        execute_error(),
        export_error(),
        link_graph_error(),
        mpi_error(),
        plan_error(),
        schedule_fault(),
        time_error(),
    ]
    .concat()
}

fn arborescence_error() -> String {
    told(&[
        &ArborescenceError::TooFewTerminals(1),
        &ArborescenceError::UnknownVertex { vertex: 3, vertices: 3 },
        &ArborescenceError::RepeatedTerminal(3),
        &ArborescenceError::RootIsSwitch(3),
        &ArborescenceError::UnbalancedSwitch { switch: 3, entering: 4, leaving: 5 },
        &ArborescenceError::Unreachable { from: 3, to: 4 },
        &ArborescenceError::TooLarge,
    ])
}

fn certificate_refusal() -> String {
    told(&[
        &Refusal::Other("y"),
        &Refusal::Gpus,
        &Refusal::Kind("y"),
        &Refusal::Device(3),
        &Refusal::Twice(3),
        &Refusal::Improper,
        &Refusal::Missing(3, 4),
        &Refusal::Extra(3, 4),
        &Refusal::Bandwidth { from: 3, to: 4, is: 5, listed: 6 },
        &Refusal::Weight(3, 4),
        &Refusal::Distance(3, 4),
        &Refusal::Capacity,
        &Refusal::Need,
        &Refusal::Bound,
        &Refusal::Optimum { bound: 3, optimum: 4 },
        &Refusal::Rate,
    ])
}

fn choice_error() -> String {
    told(&[
        &ChoiceError::Unavailable {
            what: "x".to_owned(),
            why: "x".to_owned(),
            remedy: "x".to_owned(),
        },
        &ChoiceError::Bandwidth("x".to_owned()),
        &ChoiceError::CollNet,
        &VersionError("x".to_owned()),
        &MatrixError::Rows { rows: 3, ranks: 4 },
        &MatrixError::Row { row: 3, values: 3, ranks: 4 },
        &MatrixError::TooMany { row: 3, column: 4, bytes: 1 << 60 },
        &CalibrateError::ServersDiffer(3),
        &CalibrateError::NothingTold { reasons: "x".to_owned() },
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
        &ExecuteError::Placement { name: "x".to_owned(), placement: Placement::InPlace },
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
        &MpiError::Unfit { kind: CollectiveKind::Barrier, algorithm: MpiAlgorithm::Ring },
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
        &PlanError::OtherServers { algorithm: "y", wanted: "y" },
        &PlanError::NoReducingSwitch(NoReducingSwitch::Alone),
        &PlanError::Helper { gpu: 3, why: "y" },
        &TooManyRanks { ranks: 3 },
    ])
}

fn schedule_fault() -> String {
    let place = StepPlace { rank: 1, block: 2, step: 3 };
    let other = StepPlace { rank: 4, block: 5, step: 6 };
    let (operation, buffer) = (StepOperation::ReceiveCopySend, Buffer::Output);
    let placement = Placement::OutOfPlace;
    let waits = |causes: &[Cause]| {
        let wait = |cause: &Cause| Wait { step: place, waits_for: other, cause: *cause };
        causes.iter().map(wait).collect::<Vec<_>>()
    };
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
        &ScheduleFault::NoPeer { place, operation, direction: "receive from" },
        &ScheduleFault::NoSlice { place, operation, what: "source" },
        &ScheduleFault::NoChunks { place, operation },
        &ScheduleFault::OutOfBuffer { place, buffer, offset: 3, last: 4, length: 3 },
        &ScheduleFault::UnknownDependency { place, block: 3, step: 3 },
        &ScheduleFault::Unmatched { place, problem: "x".to_owned(), channel: 3, number: 3 },
        &ScheduleFault::CountsDiffer { send: place, sent: 3, receive: place, received: 4 },
        &ScheduleFault::DependencyCycle(waits(&[Cause::Block, Cause::After])),
        &ScheduleFault::Deadlock(waits(&[Cause::Message, Cause::Room])),
        &ScheduleFault::WritesInput { place, placement },
        &ScheduleFault::Overlap { place, placement },
        &ScheduleFault::Race {
            first: place,
            first_writes: true,
            second: place,
            second_writes: false,
            buffer,
            chunk: 3,
            placement,
        },
        &ScheduleFault::Unwritten { place, buffer, chunk: 3, placement },
        &ScheduleFault::CountedTwice { place, rank: 3, chunk: 3, placement },
        &ScheduleFault::MixedChunks { place, first: 3, second: 4, placement },
        &ScheduleFault::WrongOutput {
            rank: 3,
            chunk: 3,
            expected: "x".to_owned(),
            found: "x".to_owned(),
            writer: Some(place),
            placement,
        },
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
        &TimeError::NoReducingSwitch(NoReducingSwitch::Alone),
        &TimeError::TooManyTransfers {
            size: Bytes(1 << 30),
            chunk: Bytes(1 << 10),
            transfers: 3,
            limit: 3,
        },
    ])
}
