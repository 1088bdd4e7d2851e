//! Lists errors of memory inside GPUs, of heat and of training.

use linkwright::diagnostic::Diagnosis;
use linkwright::memory::kernel::benchmarks::SizeError;
use linkwright::memory::kernel::recorded::RecordedError;
use linkwright::memory::protocol::ProtocolError;
use linkwright::memory::{GpuRunError, OutOfMemory, RemoteError};
use linkwright::system::gpus::GpuError;
use linkwright::thermal::ThermalError;
use linkwright::training::{SampleSize, Shape, TrainingError};
use linkwright::units::{Bytes, Picoseconds};

use super::told;

pub fn all() -> String {
    [gpu_run_error(), protocol_error(), recorded_error(), thermal_error(), training_error()]
        .concat()
}

fn gpu_run_error() -> String {
    let size_error = |size: i128| SizeError { benchmark: "x", size, multiple: 4, most: 64 };
    let too_long = |is_coherent: bool| GpuRunError::TooLong {
        kernel: "x".to_owned(),
        limit: Picoseconds(5),
        shown: "y".to_owned(),
        is_coherent,
    };
    told(&[
        &GpuRunError::Stuck { kernel: "x".to_owned(), wavefronts: 3, shown: "y".to_owned() },
        &too_long(true),
        &too_long(false),
        &GpuRunError::Gpus { gpus: 99 },
        &GpuRunError::Data { asked: Bytes(1 << 40) },
        &GpuRunError::Group { kernel: "x".to_owned(), needs: "y".to_owned() },
        &OutOfMemory { asked: Bytes(3 << 30), capacity: Bytes(2 << 30) },
        &RemoteError::Distribution { distribution: "x" },
        &RemoteError::Alone,
        &RemoteError::Memory { memory: "x", own: vec!["y"] },
        &size_error(99),
        &size_error(0),
        &size_error(5),
        &GpuRunError::Pages { memory: "x", protocol: "y" },
        &GpuRunError::Order { memory: "x", protocol: "y" },
        &GpuRunError::NoSharedMemory { memory: "x" },
    ])
}

fn protocol_error() -> String {
    told(&[
        &ProtocolError::NoLease { what: "y", lease: 0 },
        &ProtocolError::Width { bits: 3 },
        &ProtocolError::LongLease { what: "y", lease: 3, most: 3 },
    ])
}

fn recorded_error() -> String {
    let (nothing, known) = (Vec::new(), vec!["y".to_owned()]);
    let (name, what) = ("x".to_owned(), "y");
    told(&[
        &RecordedError::Name { name: name.clone() },
        &RecordedError::Taken { name: name.clone() },
        &RecordedError::NoBuffer { name: name.clone(), known: nothing.clone() },
        &RecordedError::NoBuffer { name: name.clone(), known: known.clone() },
        &RecordedError::Range { what, value: 3, least: 1, most: 2 },
        &RecordedError::NoWord { what, bytes: 3 },
        &RecordedError::Count { listed: 3, wanted: 4 },
        &RecordedError::Outside { buffer: name.clone(), size: Bytes(64), offset: 60, bytes: 8 },
        &RecordedError::NoLoad { name: name.clone(), known: nothing },
        &RecordedError::NoLoad { name: name.clone(), known },
        &RecordedError::ExpectedAlready { name: name.clone() },
        &RecordedError::NotCopied { name },
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
        &TrainingError::Samples { network: "x".to_owned(), input: Shape::Vector { width: 3 } },
        &TrainingError::SampleSize {
            network: "x".to_owned(),
            size: SampleSize { points: Some(0), channels: Some(3), tokens: None },
        },
        &TrainingError::Precision {
            error: GpuError::Nothing { what: "z" },
            instead: vec!["fp16", "fp32"],
        },
        &TrainingError::NoModel { gpu: "x".to_owned(), server: "y".to_owned() },
        &TrainingError::Apart { way: "tsm", first: 0, second: 8 },
        &TrainingError::NoSharedMemory,
        &TrainingError::TooManyStages { stages: 8, blocks: 4 },
        &TrainingError::NoSplit { network: "x".to_owned() },
        &TrainingError::Batch { batch: 30, parts: 8, of: "GPUs" },
        &TrainingError::Batch { batch: 3, parts: 8, of: "GPUs" },
        &TrainingError::ModelLayout(Diagnosis::of("a layout").remedy("w")),
        &TrainingError::Kernel(Diagnosis::of("a kernel").remedy("w")),
        &TrainingError::Trace(Diagnosis::of("a trace").remedy("w")),
        &TrainingError::TooLarge(Diagnosis::of("a size").remedy("w")),
    ])
}
