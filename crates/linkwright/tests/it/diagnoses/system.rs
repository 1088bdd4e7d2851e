//! Lists errors of servers, fabrics and inputs in general.

use linkwright::diagnostic::{InputError, Named as _, Position, UnknownName};
use linkwright::engine::{EngineError, PastEvent, Progress};
use linkwright::system::composition::{NodeError, PartError};
use linkwright::system::gpus::GpuError;
use linkwright::system::{ExportFormat, FabricError, NoReducingSwitch, ServerError, SystemError};
use linkwright::units::{Bandwidth, Bytes, Picoseconds, Power, UnitError};

use super::told;

pub fn all() -> String {
    [
        engine_error(),
        fabric_error(),
        gpu_error(),
        input_error(),
        no_reducing_switch(),
        node_error(),
        part_error(),
        server_error(),
        system_error(),
    ]
    .concat()
}

fn engine_error() -> String {
    let past = PastEvent { time: Picoseconds(3), now: Picoseconds(5) };
    let progress = Progress { done: 3, total: 4, time: Picoseconds(5), events: 6 };
    told(&[
        &past,
        &EngineError::Past(past),
        &EngineError::TooLong { now: Picoseconds(5) },
        &EngineError::Interrupted(progress),
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
        &GpuError::NoModel { gpu: "x".to_owned() },
        &GpuError::Nothing { what: "y" },
        &GpuError::TooLittlePower {
            model: "x".to_owned(),
            power: Power(20_000),
            rest: Power(50_000),
        },
    ])
}

fn input_error() -> String {
    let error = |value: &str| InputError {
        file: "x.toml".to_owned(),
        position: Position { line: 3, column: 4 },
        problem: "y".to_owned(),
        value: value.to_owned(),
        remedy: "z".to_owned(),
    };
    let unit = |error: UnitError| error;
    told(&[
        &error("x"),
        &error(""),
        &UnknownName { what: "y", name: "x".to_owned(), instead: "z".to_owned() },
        &unit("x".parse::<Bytes>().unwrap_err()),
        &unit("x".parse::<Bandwidth>().unwrap_err()),
        &unit("x".parse::<Picoseconds>().unwrap_err()),
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

fn node_error() -> String {
    told(&[
        &NodeError::Gpus { gpus: 3 },
        &NodeError::Nics { nics: 3, gpus: 2 },
        &NodeError::Bandwidth,
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
        &ServerError::Faster {
            a: "x".to_owned(),
            b: "x".to_owned(),
            measured: Bandwidth(3_000_000_000),
            peak: Bandwidth(2_000_000_000),
        },
    ])
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
        &SystemError::UnevenPorts { ports: 9, nics: 2 },
    ])
}
