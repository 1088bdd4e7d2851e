//! Checks the large configuration: all litmus tests, cold and warm. It checks those of two
//! wavefronts also with copies evicted at any time. It checks all programs of two wavefronts of
//! three steps, and under MGCC of three of two.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;

use linkwright::memory::litmus::LITMUS_TESTS;
use linkwright::memory::protocol::{CoherenceProtocol, GTsc, Hmg, Leases, Mesi, Mgcc};

use super::state::{Consistency, Placement};
use super::suite::{Checked, Setting, all_programs, litmus};

const SEQUENTIALLY: Setting =
    Setting { consistency: Consistency::Sequential, one_gpu: false, evictions: false };

/// Writes a protocol's rows.
fn rows<P: CoherenceProtocol>(name: &str, protocol: P, setting: Setting) -> String {
    let consistency = match setting.consistency {
        Consistency::Sequential => "sequential",
        Consistency::Relaxed => "fences",
    };
    let mut text = String::new();
    let mut row = |program: &str, evictions: bool, checked: Checked| {
        let Checked { machines, states } = checked;
        let evictions = if evictions { "yes" } else { "no" };
        let line = format!("{name},{consistency},{program},{evictions},{machines},{states}");
        eprintln!("{line}");
        writeln!(text, "{line}").expect("a text takes it");
    };
    for test in LITMUS_TESTS {
        for (warm, start) in [(false, "cold"), (true, "warm")] {
            let program = format!("{} {start}", test.name);
            row(&program, false, litmus(protocol, setting, test, warm));
            if test.waves.len() == 2 && !warm {
                let evicting = Setting { evictions: true, ..setting };
                row(&program, true, litmus(protocol, evicting, test, warm));
            }
        }
    }
    let two_banks = Placement::TwoBanks;
    let pair: &[u8] = if setting.one_gpu { &[0, 1] } else { &[0, 2] };
    let checked = all_programs(protocol, setting, pair, two_banks, 3);
    row("all of two wavefronts of three", false, checked);
    if name == "mgcc" && setting.consistency == Consistency::Sequential {
        let checked = all_programs(protocol, setting, &[0, 1, 2], two_banks, 2);
        row("all of three wavefronts of two", false, checked);
    }
    text
}

type Section = Box<dyn FnOnce() -> String + Send>;

/// Returns every protocol under both models of consistency.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let fences = Setting { consistency: Consistency::Relaxed, ..SEQUENTIALLY };
    for setting in [SEQUENTIALLY, fences] {
        let sequential = setting.consistency == Consistency::Sequential;
        // Timestamps of 3 bits in order, of 4 bits with fences.
        let bits: u8 = if sequential { 3 } else { 4 };
        let leases = Leases::new(2, 1, bits.into()).unwrap();
        let mgcc = Mgcc { leases, l1_reads: 2, l2_reads: 1 };
        sections.push(Box::new(move || rows("mgcc", mgcc, setting)));
        let one_gpu = Setting { one_gpu: true, ..setting };
        let g_tsc = GTsc::new(2, bits, 2).unwrap();
        sections.push(Box::new(move || rows("g-tsc", g_tsc, one_gpu)));
        sections.push(Box::new(move || rows("g-tsc-2-gpus", g_tsc, setting)));
        sections.push(Box::new(move || rows("hmg", Hmg { sequential }, setting)));
        sections.push(Box::new(move || rows("mesi", Mesi { sequential }, setting)));
    }
    sections
}

/// `UPDATE_GOLDEN=1` writes what was found.
#[test]
#[ignore = "minutes: make check-coherence"]
fn the_large_configuration_holds() {
    let mut found = vec![String::new(); sections().len()];
    let open = Mutex::new(sections().into_iter().zip(&mut found));
    let next = || open.lock().expect("no section failed").next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some((section, text)) = next() {
                    *text = section();
                }
            });
        }
    });
    let text =
        format!("protocol,consistency,program,evictions,machines,states\n{}", found.concat());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/coherence.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}

/// Compares the rows of the documentation's table: machines and states of each protocol and
/// consistency.
#[test]
fn the_page_has_the_results() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let found = std::fs::read_to_string(format!("{root}/validation/coherence.csv")).unwrap();
    let page = std::fs::read_to_string(format!("{root}/docs/concepts/coherence.md")).unwrap();
    let mut totals: BTreeMap<(&str, &str), [[usize; 2]; 3]> = BTreeMap::new();
    for line in found.lines().skip(1) {
        let fields: Vec<_> = line.split(',').collect();
        let [protocol, consistency, program, evictions, machines, states] = fields[..] else {
            panic!("{line}");
        };
        let column = match (program.starts_with("all of"), evictions) {
            (true, _) => 2,
            (false, "yes") => 1,
            _ => 0,
        };
        let total = &mut totals.entry((protocol, consistency)).or_default()[column];
        total[0] += machines.parse::<usize>().unwrap();
        total[1] += states.parse::<usize>().unwrap();
    }
    assert_eq!(totals.len(), 10);
    for ((protocol, consistency), columns) in totals {
        let cells = columns.map(|[machines, states]| format!("{machines} / {states}"));
        let row = format!("| `{protocol}` | {consistency} | {} |", cells.join(" | "));
        assert!(page.contains(&row), "docs/concepts/coherence.md should have\n{row}");
    }
}
