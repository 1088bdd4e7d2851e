//! Puts together what NCCL Inspector's files say: each process writes a file of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::inspector::{InspectorRow, InspectorRun};
use super::line::Line;

/// How many operations are held. Where there are more, each second one goes, and once more.
const MOST_OPERATIONS: usize = 1 << 18;

/// How many collectives on communicators, hosts of each, and sizes of each are held.
const MOST_GROUPS: usize = 1 << 10;
const MOST_HOSTS: usize = 1 << 10;
const MOST_SIZES: usize = 1 << 12;

/// Holds what one rank reports of an operation.
pub(in crate::doctor) struct Report<'a> {
    pub communicator: &'a str,
    pub collective: &'a str,
    pub ranks: u32,
    pub nodes: Option<u32>,
    pub host: &'a str,
    pub timing: &'a str,
    /// Holds the least and most bytes of one rank, as NCCL counts them.
    pub bytes: (u64, u64),
    /// Is in seconds.
    pub time: f64,
}

/// Holds operations of one size.
#[derive(Debug, Clone, PartialEq)]
struct Size {
    line: Line,
    /// Holds the fastest rank's time and the number of reports of each operation, by its sequence
    /// number.
    operations: BTreeMap<u64, (f64, u32)>,
    /// The fastest mean, and the number of means, where a file has no operations.
    mean: Option<(f64, u64)>,
}

/// Holds a collective on a communicator.
#[derive(Debug, Clone, PartialEq, Default)]
struct Group {
    nodes: Option<u32>,
    hosts: BTreeSet<String>,
    timing: BTreeSet<String>,
    sizes: BTreeMap<(u64, u64), Size>,
}

/// Holds what was reported so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inspected {
    /// Is keyed by communicator, collective and number of ranks.
    groups: BTreeMap<(String, String, u32), Group>,
    versions: BTreeSet<String>,
    operations: usize,
    /// Keeps operations whose number's hash has this many zero bits.
    thinned: u32,
    /// Counts reports beyond the bounds.
    left_out: u64,
}

impl Inspected {
    /// Whether a version was not met before.
    pub(in crate::doctor) fn is_new_version(&mut self, version: &str) -> bool {
        self.versions.len() < 8 && self.versions.insert(version.chars().take(16).collect())
    }

    /// How many reports were left out, as there were too many collectives or sizes.
    pub(in crate::doctor) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Of this number of operations, one is kept.
    pub(in crate::doctor) const fn one_of(&self) -> u64 {
        1 << self.thinned
    }

    /// Takes the report of an operation.
    pub(in crate::doctor) fn operation(
        &mut self,
        report: &Report<'_>,
        sequence: u64,
        line: impl FnOnce() -> Line,
    ) {
        if !is_kept(sequence, self.thinned) {
            return;
        }
        let Some(size) = self.size(report, line) else { return };
        let mut is_new = false;
        let operation = size.operations.entry(sequence).or_insert_with(|| {
            is_new = true;
            (report.time, 0)
        });
        operation.0 = operation.0.min(report.time);
        operation.1 += 1;
        self.operations += usize::from(is_new);
        if self.operations > MOST_OPERATIONS {
            self.thin();
        }
    }

    /// Takes the mean of a rank's operations.
    pub(in crate::doctor) fn mean(&mut self, report: &Report<'_>, line: impl FnOnce() -> Line) {
        let Some(size) = self.size(report, line) else { return };
        let (least, count) = size.mean.unwrap_or((report.time, 0));
        size.mean = Some((least.min(report.time), count + 1));
    }

    fn size(&mut self, report: &Report<'_>, line: impl FnOnce() -> Line) -> Option<&mut Size> {
        let short = |text: &str| text.chars().take(64).collect::<String>();
        let name = (short(report.communicator), short(report.collective), report.ranks);
        if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&name) {
            self.left_out += 1;
            return None;
        }
        let group = self.groups.entry(name).or_default();
        group.nodes = group.nodes.or(report.nodes);
        for (kept, text, most) in
            [(&mut group.hosts, report.host, MOST_HOSTS), (&mut group.timing, report.timing, 8)]
        {
            if kept.len() < most && !kept.contains(text) {
                kept.insert(short(text));
            }
        }
        // nccl-tests counts what all ranks have.
        let of_all = ["AllGather", "AllGatherV", "ReduceScatter"].contains(&report.collective);
        let factor = if of_all { u64::from(report.ranks) } else { 1 };
        let (least, most) = report.bytes;
        let bytes = (least.saturating_mul(factor), most.saturating_mul(factor));
        if group.sizes.len() >= MOST_SIZES && !group.sizes.contains_key(&bytes) {
            self.left_out += 1;
            return None;
        }
        Some(group.sizes.entry(bytes).or_insert_with(|| Size {
            line: line(),
            operations: BTreeMap::new(),
            mean: None,
        }))
    }

    /// Lets half of the operations go: the same of each rank, whatever the file.
    fn thin(&mut self) {
        self.thinned += 1;
        self.operations = 0;
        for size in self.groups.values_mut().flat_map(|group| group.sizes.values_mut()) {
            size.operations.retain(|sequence, _| is_kept(*sequence, self.thinned));
            self.operations += size.operations.len();
        }
    }

    /// Gives what was measured so far.
    pub(in crate::doctor) fn runs(&self) -> Vec<InspectorRun> {
        let runs = self.groups.iter().map(|((communicator, collective, ranks), group)| {
            let rows = group.sizes.iter().filter_map(|(bytes, size)| row(*bytes, size)).collect();
            InspectorRun {
                collective: collective.clone(),
                communicator: communicator.clone(),
                ranks: *ranks,
                nodes: group.nodes,
                hosts: group.hosts.clone(),
                timing: group.timing.clone(),
                rows,
            }
        });
        runs.filter(|run| !run.rows.is_empty()).collect()
    }
}

fn row((size, most): (u64, u64), found: &Size) -> Option<InspectorRow> {
    let line = found.line.clone();
    if let Some((mean, count)) = found.mean {
        return Some(InspectorRow { size, most, count, time: mean, least: mean, reports: 1, line });
    }
    let mut times: Vec<f64> = found.operations.values().map(|(time, _)| *time).collect();
    times.sort_by(f64::total_cmp);
    let reports = found.operations.values().map(|(_, reports)| *reports).max()?;
    let (least, time) = (*times.first()?, *times.get(times.len() / 2)?);
    Some(InspectorRow { size, most, count: times.len() as u64, time, least, reports, line })
}

/// Whether an operation stays. Sequence numbers are mixed first, as every second operation may be of another size.
fn is_kept(sequence: u64, thinned: u32) -> bool {
    let mixed = sequence.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed.checked_shr(64 - thinned).unwrap_or(0) == 0
}
