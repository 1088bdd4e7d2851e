//! Runs of whole workloads: answers, counts, and that data do not change time.

mod code;
mod controller;
mod machine;
mod settings;
mod wiring;

use super::kernel::benchmarks::Benchmark;
use super::kernel::{
    AtomicOperation, KernelWorkload, LANES, Launch, Layout, Mismatch, Scope, Wavefront, flat,
};
use super::*;
use crate::diagnostic::Named as _;
use crate::engine::{Hook, Progress};
use crate::system::gpus::{self, Hierarchy};
use crate::units::Picoseconds;

/// Each benchmark at a size that a test can wait for.
const SMALL: [(Benchmark, u64); 13] = [
    (Benchmark::Aes, 4096),
    (Benchmark::Atax, 256),
    (Benchmark::BreadthFirstSearch, 1024),
    (Benchmark::Bicg, 256),
    (Benchmark::Convolution, 64),
    (Benchmark::Fir, 2048),
    (Benchmark::MatrixMultiplication, 64),
    (Benchmark::MatrixTranspose, 128),
    (Benchmark::Relu, 4096),
    (Benchmark::KMeans, 512),
    (Benchmark::MaxPooling, 128),
    (Benchmark::Chase, 256),
    (Benchmark::Stream, 4096),
];

fn r9_nano() -> &'static Hierarchy {
    gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
}

fn options(memory: &str) -> GpuOptions<'static> {
    let memory = memory_system(memory).unwrap();
    let limit = Picoseconds(Picoseconds::SECOND.0 / 100);
    GpuOptions { gpus: 4, memory, limit, ..GpuOptions::default() }
}

fn play(benchmark: Benchmark, size: u64, options: &GpuOptions) -> Result<GpuRun, GpuRunError> {
    let workload = benchmark.workload(r9_nano().page, size, options.gpus).unwrap();
    run(r9_nano(), &workload, options, None)
}

fn benchmark_of(benchmark: Benchmark, size: u64) -> KernelWorkload {
    benchmark.workload(r9_nano().page, size, 4).unwrap()
}

/// Whether the run's answer is a CPU's.
fn is_right(benchmark: Benchmark, size: u64, options: &GpuOptions) -> bool {
    let workload = benchmark.workload(r9_nano().page, size, options.gpus).unwrap();
    let run = run(r9_nano(), &workload, options, None).unwrap();
    (workload.check)(&run.image.unwrap()).is_ok()
}

#[test]
fn flat_memory_gives_a_cpus_answers() {
    for (benchmark, size) in SMALL {
        let workload = benchmark_of(benchmark, size);
        let image = flat::run(&workload, 8 << 20);
        assert_eq!((workload.check)(&image), Ok(()), "{}", workload.name);
    }
}

/// But for MGCC as printed, which does not let a launch see what the one before has written.
#[test]
fn every_memory_system_gives_a_cpus_answers() {
    for (benchmark, size) in SMALL {
        let workload = benchmark_of(benchmark, size);
        for name in memory_systems().names() {
            let image = run(r9_nano(), &workload, &options(name), None).unwrap().image.unwrap();
            let reads_old =
                name.ends_with("-printed") && benchmark == Benchmark::BreadthFirstSearch;
            let found = (workload.check)(&image);
            assert_eq!(found.is_err(), reads_old, "{} under {name}: {found:?}", workload.name);
        }
    }
}

#[test]
fn data_do_not_change_time() {
    // One memory system for each way to a line's home.
    let systems = ["rdma", "tsm-wt-c-rc", "hmg", "unified"];
    for (benchmark, size) in SMALL {
        let workload = benchmark_of(benchmark, size);
        for memory in systems {
            let play = |with_data| {
                let options = GpuOptions { with_data, ..options(memory) };
                let run = run(r9_nano(), &workload, &options, None).unwrap();
                assert_eq!(run.image.is_some(), with_data);
                (run.time, run.events, run.instructions, run.vector)
            };
            assert_eq!(play(true), play(false), "{} under {memory:?}", workload.name);
        }
    }
}

#[test]
fn a_timeline_changes_no_time_and_holds_all_that_happened() {
    for memory in memory_systems().names() {
        let play = |timeline| {
            let options = GpuOptions { timeline, ..options(memory) };
            play(Benchmark::MatrixTranspose, 128, &options).unwrap()
        };
        let (without, with) = (play(None), play(Some(usize::MAX)));
        assert_eq!(without.timeline, None);
        assert_eq!((without.time, without.events), (with.time, with.events), "{memory:?}");
        assert_eq!(without.steps, with.steps);
        let timeline = with.timeline.as_ref().unwrap();
        // Groups of 16 by 16 work-items, with four words of four rows each.
        assert_eq!(timeline.group_count, 4);
        let groups: std::collections::BTreeSet<u32> =
            timeline.groups.iter().map(|span| span.group).collect();
        assert_eq!(groups.len(), 4);
        assert!(timeline.groups.iter().all(|span| span.start < span.end && span.end <= with.time));
        let spans = timeline.intervals() as u64 * timeline.interval.0;
        assert!(spans >= with.time.0 && spans - with.time.0 < timeline.interval.0);
        // The sums of links and memories over all intervals equal their totals.
        for (number, (name, carried)) in with.links.iter().enumerate() {
            let rises: Vec<u64> = timeline.rises(number).collect();
            assert_eq!(rises.iter().sum::<u64>(), carried.busy.0, "{name}");
            assert!(rises.iter().all(|rise| *rise <= timeline.interval.0), "{name}");
        }
        let sum = with.memory_sum();
        let lines: u64 = (with.links.len()..)
            .map(|number| timeline.rises(number).sum::<u64>())
            .take(2 * with.memory.len() / 8)
            .sum();
        assert_eq!(lines, sum.reads + sum.writes, "{memory:?}");
        assert_eq!(play(Some(3)).timeline.unwrap().groups, timeline.groups[..3]);
    }
}

#[test]
fn long_runs_have_longer_intervals() {
    let options = GpuOptions { timeline: Some(0), ..options("rdma") };
    let run = play(Benchmark::Chase, 65_536, &options).unwrap();
    let timeline = run.timeline.unwrap();
    assert!(run.time.0 > 1024 * 64_000, "{}", run.time);
    assert!((512..=1024).contains(&timeline.intervals()));
    assert!(timeline.groups.is_empty() && timeline.group_count > 0);
}

#[test]
fn counts_are_those_of_the_open_simulator() {
    // MGPUSim's counts, 4 GPUs, unified: hits and misses of vector caches, remote accesses. The last
    // are our lines of memory, read and written, with the host's copies: those of the
    // documentation's table, beside MGPUSim's.
    let counted = [
        (Benchmark::Relu, 65_536, (0, 8_192), 6_144, (8_216, 8_192)),
        (Benchmark::MatrixTranspose, 256, (0, 8_192), 6_144, (8_252, 8_192)),
        (Benchmark::Fir, 16_384, (19_136, 2_112), 1_584, (1_054, 1_026)),
        (Benchmark::MatrixMultiplication, 128, (0, 9_216), 6_912, (3_212, 3_072)),
    ];
    for (benchmark, size, caches, remote, lines) in counted {
        let options = GpuOptions { with_data: false, ..options("rdma") };
        let run = play(benchmark, size, &options).unwrap();
        let sum = GpuRun::sum(&run.vector);
        assert_eq!((sum.hits + sum.merged, sum.misses), caches, "{}", benchmark.name());
        // The misses of scalar caches are remote too.
        let scalar = GpuRun::sum(&run.scalar).misses;
        let near = remote..=remote + scalar;
        assert!(near.contains(&run.instructions.remote), "{}", benchmark.name());
        let memory = run.memory_sum();
        let found = (memory.reads + memory.copied_out, memory.writes + memory.copied_in);
        assert_eq!(found, lines, "{}", benchmark.name());
    }
}

#[test]
fn what_others_write_while_a_kernel_runs_needs_coherence() {
    // Data that only its own unit writes needs no coherence.
    assert!(is_right(Benchmark::Xtreme1, 192, &options("tsm-wt-nc-rc")));
    let shared = [(Benchmark::Xtreme2, 192), (Benchmark::Xtreme3, 192)];
    for (benchmark, size) in shared {
        for memory in memory_systems().iter() {
            let name = memory.name();
            let right = is_right(benchmark, size, &options(name));
            assert_eq!(right, memory.is_coherent(), "{} under {name}", benchmark.name());
        }
    }
}

#[test]
fn a_flag_tells_of_what_was_written_before_it_where_caches_agree() {
    for memory in memory_systems().iter().filter(|memory| memory.is_coherent()) {
        let name = memory.name();
        assert!(is_right(Benchmark::Message, 256, &options(name)), "{name}");
    }
    assert!(!is_right(Benchmark::Message, 256, &options("rdma")));
    // A reader that spins on its old copy never sees the flag: the watchdog says who.
    for memory in ["tsm-wt-c-rc-printed", "tsm-wt-nc-rc"] {
        let error = play(Benchmark::Message, 256, &options(memory)).unwrap_err().to_string();
        let told = "message has not ended after 10 ms: wavefront 0 of group 3 (compute unit 0 of \
                    GPU 3) ";
        assert!(error.starts_with(told), "{error}");
        assert!(error.contains(", its last access a load from byte 0 of flag; allow"), "{error}");
        assert!(error.contains("use a coherent memory such as tsm-wt-c-rc"), "{error}");
    }
}

#[test]
fn requests_allocate_nothing() {
    for name in memory_systems().names() {
        let allocated = |workload: &KernelWorkload| {
            let options = GpuOptions { with_data: false, ..options(name) };
            let run = || run(r9_nano(), workload, &options, None).unwrap();
            allocation_counter::measure(|| drop(run())).count_total
        };
        // One wavefront makes one load after the other, each of another line. Pages that fault are
        // told one by one, and 3,072 lines have 48 more of them.
        let [few, many] = [1024, 4096].map(|size| allocated(&benchmark_of(Benchmark::Chase, size)));
        assert!(many - few < 150, "{name}: {few} and {many} allocations of chase");
        // Four wavefronts of each of four groups, and of each of 16: 48 wavefronts and 96 pages more,
        // and 6,144 lines.
        let [few, many] =
            [128, 256].map(|size| allocated(&benchmark_of(Benchmark::MatrixTranspose, size)));
        assert!(many - few < 2000, "{name}: {few} and {many} allocations of mt");
        // The same wavefronts, and 24,576 accesses to lines more.
        let [few, many] = [16, 64].map(|turns| allocated(&counting(turns)));
        assert!(many - few < 200, "{name}: {few} and {many} allocations of atomics");
    }
}

#[test]
fn a_gpu_takes_less_than_a_hundred_megabytes() {
    for name in memory_systems().names() {
        let options = GpuOptions { with_data: false, ..options(name) };
        let workload = benchmark_of(Benchmark::MatrixTranspose, 256);
        let run = || drop(run(r9_nano(), &workload, &options, None).unwrap());
        let each = allocation_counter::measure(run).bytes_max / u64::from(options.gpus);
        assert!(each < 100_000_000, "{name}: {each} bytes of a GPU");
    }
}

/// Runs eight wavefronts whose work-items each add to a word of their own line, turn by turn.
fn counting(turns: u32) -> KernelWorkload {
    bare((8, 1), move |wavefront| async move {
        for _ in 0..turns {
            let word = |lane: usize| Some(64 * lane as u64);
            let added = wavefront.atomic(AtomicOperation::Add, word, |_| 1).await;
            wavefront.arrived(added).await;
        }
    })
}

#[test]
fn banks_of_memory_change_times_and_no_answers() {
    let time = |benchmark, size, dram| {
        let options = GpuOptions { dram, ..options("tsm-wb-nc-rc") };
        let workload = benchmark_of(benchmark, size);
        let run = run(r9_nano(), &workload, &options, None).unwrap();
        assert_eq!((workload.check)(&run.image.unwrap()), Ok(()));
        run.time
    };
    let ratio = |benchmark, size| {
        let [ideal, banked] =
            [DramTiming::Ideal, DramTiming::Hbm2].map(|dram| time(benchmark, size, dram).0 as f64);
        banked / ideal
    };
    // A stream opens each row once and keeps it. So only refresh makes rows cost more than the
    // ideal.
    assert!((0.9..1.2).contains(&ratio(Benchmark::Stream, 16_384)));
    assert!((0.8..1.5).contains(&ratio(Benchmark::MatrixTranspose, 128)));
}

#[test]
fn pages_go_to_who_touches_them() {
    let migrations = |memory, gpus| {
        let options = GpuOptions { gpus, with_data: false, ..options(memory) };
        let run = play(Benchmark::Stream, 4096, &options).unwrap();
        (run.migrations, run.instructions.remote)
    };
    // There are two vectors of 16 KiB. One GPU alone reads or writes each of their pages.
    assert_eq!(migrations("unified", 4), (8, 0));
    assert_eq!(migrations("unified", 1), (8, 0));
    assert_eq!(migrations("rdma", 1), (0, 0));
    // Each line is read or written once, over PCIe.
    assert_eq!(migrations("zero-copy", 4), (0, 512));
    // A flag and what it tells of go from GPU to GPU and back.
    let run = play(Benchmark::Message, 256, &options("unified")).unwrap();
    assert!(run.migrations > 3 && run.instructions.remote == 0, "{}", run.migrations);
}

#[test]
fn more_gpus_and_more_bandwidth_are_no_slower() {
    let time = |gpus, gigabytes| {
        let shared_bandwidth = crate::units::Bandwidth::gigabytes_per_second(gigabytes);
        let memory = "tsm-wt-nc-rc";
        let options = GpuOptions { gpus, shared_bandwidth, with_data: false, ..options(memory) };
        play(Benchmark::Relu, 65_536, &options).unwrap().time
    };
    assert!(time(4, 32) < time(2, 32) && time(2, 32) < time(1, 32));
    assert!(time(4, 128) < time(4, 32));
}

/// Makes a workload of one launch, without buffers.
fn bare<F: Future<Output = ()> + 'static>(
    shape: (u64, u32),
    kernel: impl Fn(Wavefront) -> F + 'static,
) -> KernelWorkload {
    let mut layout = Layout::new(r9_nano().page);
    layout.output("words", 1024, false);
    KernelWorkload {
        name: "bare".to_owned(),
        buffers: layout.buffers(),
        launches: vec![Launch::new("bare", shape, kernel)],
        check: Box::new(|_| Ok::<(), Mismatch>(())),
    }
}

#[test]
fn work_items_of_an_atomic_take_turns() {
    // Each work-item adds one to the only word, and stores what was there.
    let mut layout = Layout::new(r9_nano().page);
    let counter = layout.input("counter", 16, |_| 0);
    let (groups, wavefronts) = (8, 2);
    let all = u64::from(wavefronts) * groups * LANES as u64;
    let seen = layout.output("seen", all, true);
    let kernel = move |wavefront: Wavefront| async move {
        let place = wavefront.place();
        let number = u64::from(place.group * place.wavefronts + place.wavefront);
        let add = wavefront.atomic(AtomicOperation::Add, |_| Some(counter), |_| 1).await;
        let before = wavefront.arrived(add).await;
        let own = |lane: usize| Some(seen + 4 * (number * LANES as u64 + lane as u64));
        wavefront.store(1, own, |lane, _| before.word(lane, 0)).await;
    };
    let workload = KernelWorkload {
        name: "count".to_owned(),
        buffers: layout.buffers(),
        launches: vec![Launch::new("count", (groups, wavefronts), kernel)],
        check: Box::new(|_| Ok::<(), Mismatch>(())),
    };
    for name in memory_systems().names() {
        let image = run(r9_nano(), &workload, &options(name), None).unwrap().image.unwrap();
        let mut words: Vec<u32> = (0..all).map(|at| image.word(seen + 4 * at)).collect();
        words.sort_unstable();
        assert!(words.iter().copied().eq(0..all as u32), "{name}");
        assert_eq!(image.word(counter), all as u32, "{name}");
    }
}

#[test]
fn wavefronts_that_wait_for_ever_are_told() {
    let workload = bare((2, 2), |wavefront| async move {
        if wavefront.place().wavefront == 0 {
            wavefront.barrier(Scope::Launch).await;
        } else {
            wavefront.barrier(Scope::Group).await;
        }
    });
    // Nor does a timeline keep the run going.
    let options = GpuOptions { timeline: Some(9), ..options("rdma") };
    let error = run(r9_nano(), &workload, &options, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "4 wavefronts of bare wait forever: wavefront 0 of group 0 (compute unit 0 of \
         GPU 0) waits at a barrier for all others of the launch; wavefront 1 of group 0 (compute \
         unit 0 of GPU 0) waits at a barrier for the others of its group; wavefront 0 of group 1 \
         (compute unit 0 of GPU 1) waits at a barrier for all others of the launch; wavefront 1 of \
         group 1 (compute unit 0 of GPU 1) waits at a barrier for the others of its group; make all wavefronts of the group or launch reach the barrier"
    );
}

#[test]
fn instructions_take_turns_on_a_vector_unit() {
    let time = |wavefronts| {
        let workload = bare((1, wavefronts), |wavefront| async move {
            wavefront.compute(100).await;
        });
        run(r9_nano(), &workload, &options("tsm-wb-nc-rc"), None).unwrap().time
    };
    // Alone each instruction waits for the last; two share the unit's gaps, more take longer.
    let one = time(1);
    assert!(time(8).0 - one.0 < 20_000);
    assert!((790_000..=800_000).contains(&(time(16).0 - time(8).0)));
}

#[test]
fn what_cannot_run_is_refused() {
    let rdma = options("rdma");
    let refused = |workload: &KernelWorkload, options: &GpuOptions| {
        run(r9_nano(), workload, options, None).unwrap_err().to_string()
    };
    let wide = bare((1, 41), |_| async {});
    assert!(refused(&wide, &rdma).contains("it needs 41 wavefronts of at most 40"));
    let none = GpuOptions { gpus: 0, ..rdma };
    assert_eq!(
        refused(&bare((1, 1), |_| async {}), &none),
        "a run cannot have 0 GPUs; use 1 to 32"
    );
    let error = Benchmark::MatrixMultiplication.workload(r9_nano().page, 100, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a size of 100 does not divide into the work-groups of mm; use a multiple of 32 up to \
         65536, such as 96"
    );
    let error = Benchmark::Relu.workload(r9_nano().page, 1 << 40, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a size of 1099511627776 is too large for relu; use a multiple of 64 up to 4294967296, \
         such as 4294967296"
    );
    let error = Benchmark::Relu.checked(-1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a size of -1 is too small for relu; use a multiple of 64 up to 4294967296, such as 64"
    );
    let large = Benchmark::Relu.workload(r9_nano().page, 1 << 30, 1).unwrap();
    let one = GpuOptions { gpus: 1, with_data: false, ..rdma };
    assert!(
        refused(&large, &one).contains("more than the memory of 4 GiB"),
        "{}",
        refused(&large, &one)
    );
    let many = GpuOptions { gpus: 4, with_data: true, ..rdma };
    assert_eq!(
        refused(&large, &many),
        "the buffers hold 8 GiB of data, but a run moves at most 1 GiB; run it without data, \
         which gives the same times"
    );
}

#[test]
fn the_caller_can_end_a_run() {
    let workload = Benchmark::Relu.workload(r9_nano().page, 65_536, 4).unwrap();
    let mut hook = |_| std::ops::ControlFlow::Break(());
    let hook: Hook<'_> = &mut hook;
    let error = run(r9_nano(), &workload, &options("rdma"), Some(hook)).unwrap_err();
    assert!(matches!(error, GpuRunError::Engine(_)), "{error}");
    // Nor does it wait for buffers to be filled.
    let large = Benchmark::Relu.workload(r9_nano().page, 1 << 27, 4).unwrap();
    let mut asked = 0;
    let mut hook = |progress: Progress| {
        asked += 1;
        assert_eq!((progress.done, progress.events), (0, 0));
        std::ops::ControlFlow::Break(())
    };
    let hook: Hook<'_> = &mut hook;
    run(r9_nano(), &large, &options("rdma"), Some(hook)).unwrap_err();
    assert_eq!(asked, 1);
}

#[test]
fn the_caller_can_end_the_making_of_a_graph() {
    let nodes = 1 << 20;
    let asked = |most| {
        let mut asked = 0;
        let mut hook = |_: Progress| {
            asked += 1;
            if asked < most {
                std::ops::ControlFlow::Continue(())
            } else {
                std::ops::ControlFlow::Break(())
            }
        };
        let hook: Hook<'_> = &mut hook;
        let built = build(Benchmark::BreadthFirstSearch, (r9_nano().page, nodes, 4), hook);
        (built.is_ok(), asked)
    };
    // Once for 65,536 nodes, as they are made and as they are found.
    assert_eq!(asked(1), (false, 1));
    assert_eq!(asked(20), (false, 20));
    let (is_built, all) = asked(u32::MAX);
    assert!(is_built && (30..=32).contains(&all), "{all}");
}

#[test]
fn lanes_without_an_address_take_no_part() {
    let workload = bare((1, 1), |wavefront| async move {
        let loaded = wavefront.load(1, |_| None).await;
        wavefront.arrived(loaded).await;
        let loaded = wavefront.load(1, |lane| (lane + 1 == LANES).then_some(0)).await;
        wavefront.arrived(loaded).await;
    });
    let run = run(r9_nano(), &workload, &options("tsm-wt-c-rc"), None).unwrap();
    assert_eq!(GpuRun::sum(&run.vector).misses, 1);
}
