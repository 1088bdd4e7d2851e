//! Gives the results of a run of GPUs as columns.

use super::access_trace::AccessRecord;
use super::address::LINE;
use super::driver::DriverStep;
use super::kernel::KernelWorkload;
use super::kernel::benchmarks::Benchmark;
use super::kernel::recorded::LoadedWords;
use super::litmus::{LITMUS_TESTS, Litmus, Observed};
use super::protocol::Access;
use super::run::GpuRun;
use super::statistics::CacheCounts;
use super::timeline::GroupSpan;
use crate::diagnostic::Named;
use crate::table::Table;
use crate::units::{Bytes, Picoseconds};

/// Gives one row for each benchmark: its name, its work, and the unit and multiple of its size. Two
/// further columns give a size that runs within seconds, and the size of Table 3.2's footprint.
#[must_use]
pub fn benchmarks() -> Table {
    let all: Vec<(&str, Benchmark)> = Benchmark::NAMED.to_vec();
    let text = |of: fn(Benchmark) -> &'static str| {
        all.iter().map(|(_, benchmark)| of(*benchmark).to_owned()).collect::<Vec<_>>()
    };
    let number = |of: fn(Benchmark) -> u64| {
        all.iter().map(|(_, benchmark)| of(*benchmark)).collect::<Vec<_>>()
    };
    Table::new()
        .with("name", "", all.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>())
        .with("what", "", text(Benchmark::what))
        .with("size", "", text(Benchmark::size))
        .with("multiple", "", number(Benchmark::multiple))
        .with("small_size", "", number(Benchmark::small_size))
        .with("full_size", "", number(Benchmark::full_size))
}

/// Gives one row for each step of a run, in order: its kind, its buffer or kernel, and how long it
/// took.
#[must_use]
pub fn steps(workload: &KernelWorkload, run: &GpuRun) -> Table {
    let told = |step: &DriverStep| match *step {
        DriverStep::CopyIn(buffer) => ("copy in", &*workload.buffers[buffer].name),
        DriverStep::Kernel(launch) => ("kernel", &*workload.launches[launch].name),
        DriverStep::WriteBack => ("write back", ""),
        DriverStep::CopyOut(buffer) => ("copy out", &*workload.buffers[buffer].name),
    };
    let told: Vec<_> = run.steps.iter().map(|(step, _)| told(step)).collect();
    let times = run.steps.iter().map(|(_, time)| time.as_seconds());
    Table::new()
        .with("step", "", told.iter().map(|(step, _)| (*step).to_owned()).collect::<Vec<_>>())
        .with("of", "", told.iter().map(|(_, of)| (*of).to_owned()).collect::<Vec<_>>())
        .with("time", "s", times.collect::<Vec<_>>())
}

/// Gives one row for each cache: its kind, GPU and number there, and its answers, by lines. The
/// latency is the mean over the answers, and no number where there are none.
#[must_use]
pub fn caches(run: &GpuRun, gpus: u32) -> Table {
    let kinds = [
        ("L1 vector", &run.vector),
        ("L1 scalar", &run.scalar),
        ("L1 instruction", &run.instruction),
        ("L2", &run.second),
    ];
    let mut names = Vec::new();
    let (mut gpu, mut number) = (Vec::new(), Vec::new());
    let mut all: Vec<CacheCounts> = Vec::new();
    for (kind, counts) in kinds {
        let each = (counts.len() / gpus as usize).max(1);
        for (index, count) in counts.iter().enumerate() {
            names.push(kind.to_owned());
            gpu.push((index / each) as u64);
            number.push((index % each) as u64);
            all.push(*count);
        }
    }
    let column = |of: fn(&CacheCounts) -> u64| all.iter().map(of).collect::<Vec<_>>();
    let latency = |counts: &CacheCounts| match counts.answered {
        0 => f64::NAN,
        answered => counts.time as f64 / answered as f64 / 1e12,
    };
    Table::new()
        .with("cache", "", names)
        .with("gpu", "", gpu)
        .with("number", "", number)
        .with("hits", "", column(|counts| counts.hits))
        .with("merged", "", column(|counts| counts.merged))
        .with("misses", "", column(|counts| counts.misses))
        .with("evictions", "", column(|counts| counts.evictions))
        .with("write_backs", "", column(|counts| counts.write_backs))
        .with("answers", "", column(|counts| counts.answered))
        .with("latency", "s", all.iter().map(latency).collect::<Vec<_>>())
}

/// Gives one row for each channel of memory. It names the GPU whose it is, or none where all share
/// it. It counts lines read and written, for caches and by copies to and from the host, and
/// timestamps forgotten for lack of room.
#[must_use]
pub fn memory(run: &GpuRun, gpus: u32) -> Table {
    let banks = (run.second.len() / gpus as usize).max(1);
    let is_shared = run.memory.len() == banks && gpus > 1;
    let column =
        |of: fn(&super::MemoryCounts) -> u64| run.memory.iter().map(of).collect::<Vec<_>>();
    let gpu = (0..run.memory.len()).map(|channel| match is_shared {
        true => "shared".to_owned(),
        false => (channel / banks).to_string(),
    });
    Table::new()
        .with("gpu", "", gpu.collect::<Vec<_>>())
        .with(
            "channel",
            "",
            (0..run.memory.len()).map(|at| (at % banks) as u64).collect::<Vec<_>>(),
        )
        .with("reads", "", column(|counts| counts.reads))
        .with("writes", "", column(|counts| counts.writes))
        .with("copied_in", "", column(|counts| counts.copied_in))
        .with("copied_out", "", column(|counts| counts.copied_out))
        .with("timestamp_evictions", "", column(|counts| counts.timestamp_evictions))
}

/// Gives one row for each link between caches, GPUs and memory that carried something. It counts
/// messages, and bytes without those that the link adds. It gives the share of the run for which
/// the link was busy, and how long a message waited for those before it, at most.
#[must_use]
pub fn links(run: &GpuRun) -> Table {
    let used: Vec<_> = run.links.iter().filter(|(_, carried)| carried.messages > 0).collect();
    let whole = run.time.0.max(1) as f64;
    Table::new()
        .with("link", "", used.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
        .with("messages", "", used.iter().map(|(_, carried)| carried.messages).collect::<Vec<_>>())
        .with("bytes", "B", used.iter().map(|(_, carried)| carried.bytes).collect::<Vec<_>>())
        .with(
            "utilisation",
            "",
            used.iter().map(|(_, carried)| carried.busy.0 as f64 / whole).collect::<Vec<_>>(),
        )
        .with(
            "longest_wait",
            "s",
            used.iter().map(|(_, carried)| carried.longest_wait.as_seconds()).collect::<Vec<_>>(),
        )
}

/// Gives one row for each work-group that a run's timeline holds, in the order in which they ended.
/// It holds the kernel, the number in the launch, where it ran, and from when to when. It is empty
/// without a timeline.
#[must_use]
pub fn groups(workload: &KernelWorkload, run: &GpuRun, gpus: u32) -> Table {
    let spans = run.timeline.as_ref().map_or(&[][..], |timeline| &timeline.groups);
    let units = (run.vector.len() / gpus as usize).max(1) as u64;
    let number = |of: &dyn Fn(&GroupSpan) -> u64| spans.iter().map(of).collect::<Vec<_>>();
    let time = |of: fn(&GroupSpan) -> Picoseconds| {
        spans.iter().map(|span| of(span).as_seconds()).collect::<Vec<_>>()
    };
    let kernels = spans.iter().map(|span| workload.launches[span.launch].name.to_string());
    Table::new()
        .with("kernel", "", kernels.collect::<Vec<_>>())
        .with("launch", "", number(&|span| span.launch as u64))
        .with("group", "", number(&|span| span.group.into()))
        .with("gpu", "", number(&|span| u64::from(span.unit) / units))
        .with("unit", "", number(&|span| u64::from(span.unit) % units))
        .with("start", "s", time(|span| span.start))
        .with("end", "s", time(|span| span.end))
}

/// Gives one row for each interval of a run's timeline and each link and memory that was active in
/// the run. The rows go interval by interval: the name, from when, and how much. It is empty
/// without a timeline.
///
/// For a link it gives the share of the interval for which it was busy. For a memory it gives the
/// reads and writes of caches in bytes a second, as their requests came.
#[must_use]
pub fn samples(run: &GpuRun, gpus: u32) -> Table {
    let Some(timeline) = &run.timeline else { return sample_columns(Vec::new()) };
    let interval = timeline.interval.0;
    let starts: Vec<u64> = (0..timeline.intervals() as u64).map(|at| at * interval).collect();
    let span = |start: u64| (start + interval).min(run.time.0).saturating_sub(start).max(1) as f64;
    let banks = (run.second.len() / gpus as usize).max(1);
    let memories = run.memory.len() / banks;
    let told = |memory: usize| match memories {
        1 if gpus > 1 => "shared memory".to_owned(),
        _ => format!("memory of GPU {memory}"),
    };
    let links = run.links.iter().map(|(name, _)| (name.clone(), "busy", 1.0));
    // Lines, and seconds in picoseconds.
    let rate = LINE as f64 * Picoseconds::SECOND.0 as f64;
    let of_memories =
        (0..memories).flat_map(|memory| ["read", "written"].map(|what| (told(memory), what, rate)));
    let mut rows = Vec::new();
    for (number, (name, what, scale)) in links.chain(of_memories).enumerate() {
        let rises: Vec<u64> = timeline.rises(number).collect();
        if rises.iter().any(|rise| *rise > 0) {
            rows.extend(starts.iter().zip(rises).map(|(start, rise)| Sample {
                of: name.clone(),
                what,
                start: *start,
                value: scale * rise as f64 / span(*start),
            }));
        }
    }
    rows.sort_by_key(|row| row.start);
    sample_columns(rows)
}

struct Sample {
    of: String,
    what: &'static str,
    start: u64,
    value: f64,
}

fn sample_columns(rows: Vec<Sample>) -> Table {
    let starts = rows.iter().map(|row| Picoseconds(row.start).as_seconds());
    Table::new()
        .with("of", "", rows.iter().map(|row| row.of.clone()).collect::<Vec<_>>())
        .with("what", "", rows.iter().map(|row| row.what.to_owned()).collect::<Vec<_>>())
        .with("start", "s", starts.collect::<Vec<_>>())
        .with("value", "", rows.iter().map(|row| row.value).collect::<Vec<_>>())
}

/// One row for each litmus test: its name, its program, and how many wavefronts and addresses it
/// has.
#[must_use]
pub fn litmus_tests() -> Table {
    let number = |of: fn(&Litmus) -> u64| LITMUS_TESTS.iter().map(of).collect::<Vec<_>>();
    let text = |of: fn(&Litmus) -> String| LITMUS_TESTS.iter().map(of).collect::<Vec<_>>();
    Table::new()
        .with("name", "", text(|litmus| litmus.name.to_owned()))
        .with("program", "", text(Litmus::program))
        .with("wavefronts", "", number(|litmus| litmus.waves.len() as u64))
        .with("addresses", "", number(|litmus| litmus.addresses.into()))
}

/// Gives one row for each outcome of a litmus test: the values that the wavefronts have read, and
/// how that is judged. It counts the seeds that it came from, and names the first of these.
#[must_use]
pub fn litmus(litmus: &Litmus, found: &[Observed]) -> Table {
    let number = |of: fn(&Observed) -> u64| found.iter().map(of).collect::<Vec<_>>();
    let told = found.iter().map(|seen| litmus.told(&seen.outcome));
    let verdicts = found.iter().map(|seen| seen.verdict.told().to_owned());
    Table::new()
        .with("outcome", "", told.collect::<Vec<_>>())
        .with("verdict", "", verdicts.collect::<Vec<_>>())
        .with("count", "", number(|seen| seen.count))
        .with("seed", "", number(|seen| seen.seed))
}

/// Gives one row for each access to a line that a run kept, in the order of their answers.
///
/// Says which part of the system a device is.
#[must_use]
pub fn accesses(run: &GpuRun, buffers: &[(String, u64, Bytes)]) -> Table {
    let kept = run.accesses.as_ref().map_or(&[][..], |trace| &trace.records);
    let buffer = |line: u64| {
        let found =
            buffers.iter().find(|(_, start, size)| line + LINE > *start && line < start + size.0);
        found.map(|(name, start, _)| (name.clone(), line.saturating_sub(*start)))
    };
    let place = |it: &AccessRecord| {
        let of = if it.is_scalar { "scalar" } else { "vector" };
        format!("GPU {} L1 {of} {}", it.gpu, it.cache)
    };
    let kind = |access| match access {
        Access::Read => "read",
        Access::Write | Access::Overwrite => "write",
        Access::Atomic => "atomic",
    };
    let buffers = || kept.iter().map(|it| buffer(it.line));
    Table::new()
        .with("time", "s", kept.iter().map(|it| it.time.as_seconds()).collect::<Vec<_>>())
        .with("place", "", kept.iter().map(place).collect::<Vec<_>>())
        .with("kind", "", kept.iter().map(|it| kind(it.access).to_owned()).collect::<Vec<_>>())
        .with("size", "B", kept.iter().map(|it| u64::from(it.size)).collect::<Vec<_>>())
        .with("level", "", kept.iter().map(|it| it.served.name().to_owned()).collect::<Vec<_>>())
        .with("hops", "", kept.iter().map(|it| u64::from(it.hops)).collect::<Vec<_>>())
        .with("latency", "s", kept.iter().map(|it| it.latency.as_seconds()).collect::<Vec<_>>())
        .with(
            "buffer",
            "",
            buffers().map(|it| it.map(|it| it.0).unwrap_or_default()).collect::<Vec<_>>(),
        )
        .with("offset", "B", buffers().map(|it| it.map(|it| it.1)).collect::<Vec<_>>())
}

/// Gives one row for each load of a kernel of one's own under a name, in the order in which wavefronts took them.
///
/// `issued` is when the wavefront gave the instruction. `latency` says how long its last word took from then on, and
/// `cycles` the same in cycles.
#[must_use]
pub fn timed_loads(loads: &[LoadedWords], cycle: Picoseconds) -> Table {
    let column = |of: fn(&LoadedWords) -> u64| loads.iter().map(of).collect::<Vec<_>>();
    let latencies = || loads.iter().map(|load| load.arrived.0 - load.issued.0);
    Table::new()
        .with("load", "", loads.iter().map(|load| load.name.clone()).collect::<Vec<_>>())
        .with("launch", "", column(|load| load.launch as u64))
        .with("group", "", column(|load| load.place.group.into()))
        .with("wavefront", "", column(|load| load.place.wavefront.into()))
        .with("gpu", "", column(|load| load.place.gpu.into()))
        .with("issued", "s", loads.iter().map(|load| load.issued.as_seconds()).collect::<Vec<_>>())
        .with(
            "latency",
            "s",
            latencies().map(|it| Picoseconds(it).as_seconds()).collect::<Vec<_>>(),
        )
        .with("cycles", "", latencies().map(|it| it / cycle.0).collect::<Vec<_>>())
}

/// One row for each word that loads of a kernel of one's own have read, and keep under a name.
#[must_use]
pub fn loads(loads: &[LoadedWords]) -> Table {
    let rows = || loads.iter().flat_map(|load| load.words.iter().map(move |word| (load, *word)));
    let column = |of: fn(&LoadedWords, (u32, u32, u32)) -> u64| {
        rows().map(|(load, word)| of(load, word)).collect::<Vec<_>>()
    };
    Table::new()
        .with("load", "", rows().map(|(load, _)| load.name.clone()).collect::<Vec<_>>())
        .with("launch", "", column(|load, _| load.launch as u64))
        .with("group", "", column(|load, _| load.place.group.into()))
        .with("wavefront", "", column(|load, _| load.place.wavefront.into()))
        .with("gpu", "", column(|load, _| load.place.gpu.into()))
        .with("lane", "", column(|_, (lane, _, _)| lane.into()))
        .with("word", "", column(|_, (_, word, _)| word.into()))
        .with("value", "", column(|_, (_, _, value)| value.into()))
}
