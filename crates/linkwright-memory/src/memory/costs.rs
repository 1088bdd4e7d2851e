//! Lists the costs of a memory system before anything runs: bytes of its messages, and of its
//! stored state.

use super::address::LINE;
use super::memory_system::MemorySystem;
use super::protocol::{Leases, Stored};
use crate::system::gpus::Hierarchy;
use crate::table::Table;
use crate::units::Bytes;

/// Counts the entries that timestamp storage units have for a GPU. Where nothing else is said, they
/// are as many as the lines of its second level (section 4.2.6 of the dissertation).
pub(super) fn entries(hierarchy: &Hierarchy) -> u64 {
    let lines = hierarchy.second.size.0 / LINE * u64::from(hierarchy.second.banks);
    hierarchy.tsu.entries.map_or(lines, u64::from)
}

/// Gives one row for each kind of message, with its bytes and how many of them are the protocol's.
/// Further rows hold the bytes kept for a GPU by an L1, a bank of L2, all caches' clocks and the
/// timestamp storage units. A system that is not coherent has none of these.
///
/// Where what is kept grows with what is shared, as in a directory, those rows are left out.
#[must_use]
pub fn costs(hierarchy: &Hierarchy, memory: &dyn MemorySystem, leases: Leases) -> Table {
    let rows = rows(hierarchy, memory, leases);
    let column = |of: fn(&(&str, u64, u64)) -> u64| rows.iter().map(of).collect::<Vec<_>>();
    Table::new()
        .with("what", "", rows.iter().map(|row| row.0.to_owned()).collect::<Vec<_>>())
        .with("bytes", "B", column(|row| row.1))
        .with("added", "B", column(|row| row.2))
}

fn rows(
    hierarchy: &Hierarchy,
    memory: &dyn MemorySystem,
    leases: Leases,
) -> Vec<(&'static str, u64, u64)> {
    let mut rows: Vec<_> = messages(hierarchy, memory).into();
    if let Some(stored) = memory.protocol().stored(leases) {
        rows.extend(kept(hierarchy, stored).map(|(what, Bytes(kept))| (what, kept, kept)));
    }
    rows
}

/// Gives the messages of reading and writing a line: the bytes of each, and how many of them are the protocol's.
pub(super) fn messages(
    hierarchy: &Hierarchy,
    memory: &dyn MemorySystem,
) -> [(&'static str, u64, u64); 4] {
    let (sizes, added) = (&hierarchy.messages, memory.protocol().overhead());
    let line = if added.write_response_has_data { LINE } else { 0 };
    [
        ("read request", sizes.request, u64::from(added.read_request)),
        ("write request", sizes.write, u64::from(added.write_request)),
        ("read response", sizes.response, u64::from(added.read_response)),
        ("write response", sizes.acknowledgement, line + u64::from(added.write_response)),
    ]
    .map(|(what, plain, added)| (what, u64::from(plain) + added, added))
}

fn kept(hierarchy: &Hierarchy, stored: Stored) -> [(&'static str, Bytes); 4] {
    let Hierarchy { vector, second, compute, .. } = hierarchy;
    let bytes = |bits: u32, times: u64| Bytes((u64::from(bits) * times).div_ceil(8));
    let clocks = bytes(stored.l1, compute.units.into()).0 + bytes(stored.l2, second.banks.into()).0;
    [
        ("lines of an L1", bytes(stored.line, vector.size.0 / LINE)),
        ("lines of a bank of L2", bytes(stored.line, second.size.0 / LINE)),
        ("clocks of a GPU", Bytes(clocks)),
        ("timestamp storage units, for a GPU", bytes(stored.entry, entries(hierarchy))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::kernel::benchmarks::Benchmark;
    use crate::memory::{GpuOptions, memory_system, run};
    use crate::system::gpus;
    use crate::table::Column;

    fn r9_nano() -> &'static Hierarchy {
        gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known")
    }

    fn column(memory: &str, leases: Leases, name: &str) -> Vec<u64> {
        let memory = memory_system(memory).unwrap();
        match costs(r9_nano(), memory, leases).column(name).map(|column| &column.values) {
            Some(Column::UInt64(values)) => values.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn storage_is_that_of_the_fields() {
        let kept = |memory, leases| column(memory, leases, "added")[4..].to_vec();
        let printed = kept("tsm-wt-c-rc-printed", Leases::default());
        // Section 4.2.7, where a bank of L2 has 8 KB for twice as many bits.
        assert_eq!(printed, [1024, 16 << 10, 576, 64 << 10]);
        let mended = kept("tsm-wt-c-rc", Leases::default());
        assert_eq!(mended, [1280, 20 << 10, 536, 128 << 10]);
        let narrow = kept("tsm-wt-c-rc-printed", Leases::new(2, 1, 8).unwrap());
        assert_eq!(narrow[0], 512, "half the bits");
        assert_eq!(kept("tsm-wt-nc-rc", Leases::default()), [0; 4]);
    }

    #[test]
    fn messages_are_those_that_links_carry() {
        for memory in ["tsm-wt-c-rc-printed", "tsm-wt-c-rc"] {
            let workload = Benchmark::Relu.workload(r9_nano().page, 64, 1).unwrap();
            let system = memory_system(memory).unwrap();
            let options = GpuOptions {
                memory: system,
                with_data: false,
                with_code: false,
                ..GpuOptions::default()
            };
            let run = run(r9_nano(), &workload, &options, None).unwrap();
            let carried = |up: bool| {
                let links = run.links.iter().filter(|(name, _)| name.starts_with("GPU") == up);
                links.map(|(_, carried)| carried.bytes).sum::<u64>()
            };
            let sizes = column(memory, Leases::default(), "bytes");
            // Four lines are read and four written; a link of a bank, and one of a controller.
            let (asked, answered) = (4 * (sizes[0] + sizes[1]), 4 * (sizes[2] + sizes[3]));
            assert_eq!(carried(true) + carried(false), 2 * (asked + answered));
        }
    }
}
