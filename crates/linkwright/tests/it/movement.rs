//! Sets what moves data in a step of training against what moves them for kernels inside GPUs.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::diagnostic::Named;
use linkwright::memory::kernel::{KernelWorkload, Launch, Layout, Wavefront};
use linkwright::memory::{
    Distribution, DriverStep, GpuOptions, GpuRun, memory_system, memory_systems, run,
};
use linkwright::network::packet::NicPolicy;
use linkwright::network::routing::{AnyRouting, Nowhere};
use linkwright::network::{FlowTransport, RouteClass, wires};
use linkwright::program::lowering::CollectiveCall;
use linkwright::program::{CopyDirection, Operation, Program, RankBuilder, RankProgram, WORLD};
use linkwright::runtime::{MpiProtocol, ProgramJob, Runtime};
use linkwright::system::gpus::{Hierarchy, find};
use linkwright::system::movement::{mechanisms, page_moves};
use linkwright::system::presets::preset;
use linkwright::system::{LinkKind, System};
use linkwright::training::Way;
use linkwright::units::{Bytes, Picoseconds};

use crate::packet_settings::deep_buffers;

/// Sizes from some pages to thousands.
const SIZES: [u64; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
const MACHINES: [&str; 3] = ["dgx1-v100", "pcie4-tree-4", "hgx-h100"];
/// Counts the bytes of a line of a cache.
const LINE: u64 = 64;

fn machine(name: &str) -> System {
    System::of_server(Arc::new(preset(name).unwrap()))
}

fn inside() -> &'static Hierarchy {
    find("r9-nano").and_then(|model| model.hierarchy()).unwrap()
}

/// Gives how long operations of ranks take, as a step of training has them.
fn trained(system: &System, gpus: &[u32], write: impl Fn(u32, &mut RankBuilder)) -> Picoseconds {
    let of_rank = |rank: u32| {
        let mut builder = RankBuilder::default();
        write(rank, &mut builder);
        builder.finish()
    };
    let world: Vec<u32> = (0..gpus.len() as u32).collect();
    let ranks = world.iter().map(|rank| of_rank(*rank)).collect();
    let (name, regions) = ("moves".to_owned(), Vec::new());
    let program = Arc::new(Program { name, communicators: vec![world], regions, ranks });
    let job = ProgramJob::new(&program, gpus.to_vec());
    let jobs = std::slice::from_ref(&job);
    let (nic, routing) = (NicPolicy::FCFS, AnyRouting::of(Nowhere));
    let mut network = FlowTransport::new(system, deep_buffers(), routing, nic).unwrap();
    let nothing = |_: &CollectiveCall| RankProgram::default();
    // Software costs stand on the framework.
    let none = Picoseconds(0);
    let protocol = MpiProtocol {
        send_overhead: none,
        receive_overhead: none,
        copy_per_byte: none,
        rendezvous_delay: none,
        ..MpiProtocol::default()
    };
    let runtime = Runtime::new(&mut network, system.gpus(), jobs, protocol, nothing).unwrap();
    let outcome = runtime.run(&mut |_| ControlFlow::Continue(())).unwrap();
    outcome.jobs[0].ranks.iter().map(|rank| rank.end).max().unwrap()
}

fn copied(system: &System, size: u64) -> Picoseconds {
    trained(system, &[0], |_, rank| {
        let (direction, route) = (CopyDirection::HostToDevice, RouteClass::Any);
        rank.run(Operation::Copy { direction, size: Bytes(size), route });
    })
}

/// Makes a kernel that reads bytes once, of the first GPU's memory or of the second's.
fn reads(size: u64, is_remote: bool) -> KernelWorkload {
    let mut layout = Layout::new(inside().page);
    let data = layout.input("data", size / 4, |_| 0);
    let kernel = move |wavefront: Wavefront| async move {
        let loaded = wavefront.load(4, |lane| Some(data + 16 * wavefront.item(lane))).await;
        wavefront.arrived(loaded).await;
    };
    let mut workload = KernelWorkload {
        name: "reads".to_owned(),
        buffers: layout.buffers(),
        launches: vec![Launch::new("reads", (size / 1024, 1), kernel)],
        check: Box::new(|_| Ok(())),
    };
    workload.buffers[0].is_remote = is_remote;
    workload
}

/// Runs that kernel on GPUs of a machine.
fn kernel(system: &System, gpus: &[u32], (memory, size): (&str, u64)) -> GpuRun {
    let wires = wires::between(system, gpus).unwrap().wires;
    let options = GpuOptions {
        gpus: gpus.len() as u32,
        between: Some(&wires),
        memory: memory_system(memory).unwrap(),
        distribution: Distribution::First,
        with_data: false,
        with_code: false,
        ..GpuOptions::default()
    };
    run(inside(), &reads(size, gpus.len() > 1), &options, None).unwrap()
}

/// Gives the time of a kernel without its launch, which a framework's costs have in training.
fn read(run: &GpuRun) -> f64 {
    let launch = u64::from(inside().driver.launch) * inside().cycle.0;
    (run.kernel_time().0 - launch) as f64
}

/// Gives the bytes on a link for each of data, in packets of single lines beside full ones.
fn of_lines(kind: LinkKind) -> f64 {
    let format = kind.packet_format();
    let answer = u64::from(inside().messages.response);
    let each = |bytes: u64, data: u64| format.on_the_wire(bytes) as f64 / data as f64;
    each(answer, LINE) / each(format.payload, format.payload)
}

fn agree(told: &str, a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 0.1, "{told}: {:.3} and {:.3} µs", a * 1e-6, b * 1e-6);
}

#[test]
fn copies_from_the_host_agree() {
    for name in MACHINES {
        let system = machine(name);
        for size in SIZES {
            let run = kernel(&system, &[0], ("rdma", size));
            let (step, time) = run.steps[0];
            assert_eq!(step, DriverStep::CopyIn(0));
            // The driver's time before the first byte is the framework's in training.
            let moved = time.0 - u64::from(inside().driver.copy_in) * inside().cycle.0;
            agree(&format!("{name}, {size}"), moved as f64, copied(&system, size).0 as f64);
        }
    }
}

#[test]
fn pages_that_move_agree() {
    for name in MACHINES {
        let system = machine(name);
        for size in SIZES {
            let run = kernel(&system, &[0], ("unified", size));
            assert_eq!(run.migrations, size / page_moves().page.0);
            let served = page_moves().service_of(Bytes(size));
            let told = (served.0 + copied(&system, size).0) as f64;
            agree(&format!("{name}, {size}"), read(&run), told);
        }
    }
}

/// Lines of 64 bytes have a header each, where a step of training reads by full packets. Large reads agree
/// once that is counted; small ones wait for the way there and back.
#[test]
fn lines_of_the_host_agree_but_for_their_headers() {
    for (name, kind) in [("dgx1-v100", LinkKind::Pcie3), ("pcie4-tree-4", LinkKind::Pcie4)] {
        let system = machine(name);
        for size in [4 << 20, 16 << 20] {
            let run = kernel(&system, &[0], ("zero-copy", size));
            let told = copied(&system, size).0 as f64 * of_lines(kind);
            agree(&format!("{name}, {size}"), read(&run), told);
        }
    }
}

#[test]
fn lines_of_another_gpu_agree_but_for_their_headers() {
    for (name, kind) in [("dgx1-v100", LinkKind::Nvlink2), ("dgx-a100", LinkKind::Nvlink3)] {
        let system = machine(name);
        for size in [4 << 20, 16 << 20] {
            let sent = trained(&system, &[0, 3], |rank, builder| {
                let (size, tag, communicator) = (Bytes(size), 1, WORLD);
                builder.run(match rank {
                    0 => Operation::Receive { from: Some(1), tag: Some(tag), communicator, size },
                    _ => {
                        let route = RouteClass::Any;
                        Operation::Send { to: 0, tag, communicator, size, route }
                    }
                });
            });
            let run = kernel(&system, &[0, 3], ("rdma", size));
            let told = sent.0 as f64 * of_lines(kind);
            agree(&format!("{name}, {size}"), read(&run), told);
        }
    }
}

#[test]
fn both_sides_name_the_same_mechanisms() {
    let all = || mechanisms().iter();
    for way in all().flat_map(|it| &it.training) {
        assert!(Way::NAMED.iter().any(|(name, _)| name == way), "{way}");
    }
    for (name, way) in Way::NAMED.iter().filter(|(_, way)| !way.joins_servers()) {
        assert_eq!(
            all().filter(|it| it.training.iter().any(|it| it == name)).count(),
            1,
            "{way:?}"
        );
    }
    for memory in memory_systems().iter() {
        let its = all().find(|it| it.kernels.iter().any(|name| name == memory.name()));
        assert_eq!(its.map(|it| it.pages), Some(memory.pages()), "{}", memory.name());
    }
    for name in all().flat_map(|it| &it.kernels) {
        assert!(memory_system(name).is_ok(), "{name}");
    }
}

#[test]
fn the_page_has_the_table() {
    let page = include_str!("../../../../docs/concepts/data-movement.md");
    let code = |names: &[String]| {
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        if listed.is_empty() { "the driver's copies".to_owned() } else { listed.join(", ") }
    };
    for it in mechanisms() {
        let (training, kernels) = (code(&it.training), code(&it.kernels));
        let row = format!(
            "| {} | {} | {} | {} | {training} | {kernels} |",
            it.name, it.lives, it.caches, it.moves
        );
        assert!(page.contains(&row), "{row}");
    }
    let moves = page_moves();
    for value in [moves.page.to_string(), moves.batch.to_string(), "30 µs".to_owned()] {
        assert!(page.contains(&value), "{value}");
    }
    assert_eq!(moves.service, Picoseconds(30_000_000));
}
