//! Tests which inputs of kernels and settings of memory systems matter, and which do not.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::*;
use crate::memory::protocol::Leases;
use crate::units::Bandwidth;

/// Every read must be used: whatever buffer holds other words than it should, the answer shows it.
#[test]
fn wrong_words_in_any_input_make_the_answer_wrong() {
    for (benchmark, size) in SMALL {
        let inputs = benchmark_of(benchmark, size).buffers.len();
        for number in 0..inputs {
            let mut workload = benchmark_of(benchmark, size);
            let buffer = &mut workload.buffers[number];
            let Some(initial) = buffer.initial.take() else { continue };
            let name = buffer.name.clone();
            // Other signs and sizes of numbers, other bytes, other nodes.
            buffer.initial = Some(Rc::new(move |word| initial(word) ^ 0x3F80_0401));
            let image = flat::run(&workload, 8 << 20);
            assert!((workload.check)(&image).is_err(), "{name} of {}", workload.name);
        }
    }
}

#[test]
fn links_have_names_of_their_own() {
    for name in memory_systems().names() {
        let run = play(Benchmark::Relu, 256, &options(name)).unwrap();
        let names: BTreeSet<&str> = run.links.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), run.links.len(), "{name}");
    }
}

/// Tests a run with one setting changed, for each of those that not all memory systems heed.
#[test]
fn settings_change_times_where_they_are_heeded_and_nowhere_else() {
    let leases = |read, write, bits| Leases::new(read, write, bits).unwrap();
    for memory in memory_systems().iter() {
        let name = memory.name();
        let plain = GpuOptions { with_data: false, ..options(name) };
        let shared_bandwidth = Bandwidth::gigabytes_per_second(8);
        let changed = [
            ("shared_bandwidth", GpuOptions { shared_bandwidth, ..plain }),
            ("read_lease", GpuOptions { leases: leases(30_000, 5, 16), ..plain }),
            ("write_lease", GpuOptions { leases: leases(10, 50, 16), ..plain }),
            ("timestamp_bits", GpuOptions { leases: leases(10, 5, 4), ..plain }),
        ];
        let time =
            |options: &GpuOptions| play(Benchmark::BreadthFirstSearch, 256, options).unwrap().time;
        let before = time(&plain);
        for (setting, options) in changed {
            let heeds = memory.heeds().contains(&setting);
            assert_eq!(time(&options) != before, heeds, "{setting} under {name}");
        }
    }
}

#[test]
fn who_never_ends_is_told_with_the_line_of_its_text() {
    let text = "buffer a 256 in\n0 wait\n0 load a 4\n0 spin a+8 4 = 1\n";
    let kernel = std::sync::Arc::new(crate::memory::kernel::recorded::read("own", text).unwrap());
    let (workload, _) = kernel.workload(r9_nano().page);
    let error = run(r9_nano(), &workload, &options("tsm-wt-c-rc"), None).unwrap_err();
    let told = "(compute unit 0 of GPU 0) ";
    let last = ", its last access a load from byte 8 of a (line 4); allow more time, or check \
        that something writes the words on which it spins";
    let error = error.to_string();
    assert!(error.contains(told) && error.ends_with(last), "{error}");
}
