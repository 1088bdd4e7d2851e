//! A coherence protocol, and a memory system that plays a protocol in another way.

use linkwright::diagnostic::Named as _;
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::litmus::{Litmus, Played, Verdict};
use linkwright::memory::{self, CacheCounts, GpuOptions, GpuRun, MemorySystem, run};
use linkwright::system::gpus::{self, Hierarchy};
use linkwright::units::Picoseconds;
use linkwright_recipes::memory_systems;

use crate::stands_in_one_file_and_one_line;

fn r9_nano() -> &'static Hierarchy {
    gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
}

fn named(name: &str) -> GpuOptions<'static> {
    let memory = memory_systems().get(name).unwrap();
    GpuOptions { gpus: 2, memory, limit: Picoseconds(10_000_000_000), ..GpuOptions::default() }
}

/// A run of a benchmark, and whether its answer is a CPU's.
fn played(name: &str, benchmark: Benchmark, size: u64) -> (GpuRun, bool) {
    let workload = benchmark.workload(r9_nano().page, size, 2).unwrap();
    let run = run(r9_nano(), &workload, &named(name), None).unwrap();
    let is_right = (workload.check)(run.image.as_ref().unwrap()).is_ok();
    (run, is_right)
}

#[test]
fn a_protocol_is_chosen_by_name() {
    let (run, is_right) = played("uncached", Benchmark::MatrixTranspose, 128);
    assert!(is_right);
    let CacheCounts { hits, merged, misses, .. } = GpuRun::sum(&run.vector);
    assert!(hits == 0 && misses > 0, "{hits} hits, {merged} merged, {misses} misses");
    // So a reader sees the flag that another GPU has set, which it does not under `rdma`.
    let told = |name| played(name, Benchmark::Message, 256).1;
    assert_eq!([told("uncached"), told("rdma")], [true, false]);
    stands_in_one_file_and_one_line("uncached");
}

#[test]
fn a_memory_system_is_chosen_by_name() {
    let [(ordered, is_right), (hmg, _)] =
        ["ordered-hmg", "hmg"].map(|name| played(name, Benchmark::MatrixTranspose, 128));
    assert!(is_right && ordered.kernel_time() > hmg.kernel_time());
    // Its litmus tests have no fences, and show nothing that no order gives.
    let passing = &Litmus::from_name("message-passing").unwrap();
    let played = Played::new(r9_nano(), passing, false, &named("ordered-hmg")).unwrap();
    let found = played.outcomes(0..4, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    assert!(found.iter().all(|seen| seen.verdict == Verdict::Allowed), "{found:?}");
    stands_in_one_file_and_one_line("ordered_hmg");
}

#[test]
fn where_they_are_not_registered_their_names_are_unknown() {
    for name in ["uncached", "ordered-hmg"] {
        assert!(memory_systems().names().contains(&name));
        let error = memory::memory_system(name).err().unwrap().to_string();
        assert!(error.starts_with(&format!("there is no memory system `{name}`")), "{error}");
    }
}

/// Plays a protocol in order that only fences keep in agreement.
struct Impossible;

impl linkwright::diagnostic::Registered for Impossible {
    fn name(&self) -> &'static str {
        "impossible"
    }
}

impl MemorySystem for Impossible {
    fn protocol(&self) -> &dyn memory::AnyProtocol {
        &memory::protocol::HostPages::PINNED
    }

    fn consistency(&self) -> memory::Consistency {
        memory::Consistency::Sequential
    }
}

#[test]
fn what_a_protocol_cannot_keep_is_refused() {
    let workload = Benchmark::Relu.workload(r9_nano().page, 64, 2).unwrap();
    let options = GpuOptions { memory: &Impossible, ..named("rdma") };
    let error = run(r9_nano(), &workload, &options, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "`impossible` keeps accesses in order, but `zero-copy` needs fences for that; use relaxed \
         consistency, or a protocol that has an `in_order`"
    );
}
