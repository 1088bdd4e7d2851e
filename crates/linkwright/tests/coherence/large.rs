//! The large configuration: all litmus tests, cold and warm, with copies evicted at any time, and
//! all programs of three wavefronts.

use std::fmt::Write as _;

use linkwright::memory::litmus::LITMUS_TESTS;
use linkwright::memory::protocol::{GTsc, Hmg, Leases, Mesi, Mgcc, Protocol};

use super::state::{Consistency, Placement};
use super::suite::{Checked, Setting, all_programs, litmus};

const SEQUENTIALLY: Setting =
    Setting { consistency: Consistency::Sequential, one_gpu: false, evictions: false };

/// Adds a protocol's rows: consistency, program, evictions, machines, states.
fn rows<P: Protocol>(text: &mut String, name: &str, protocol: P, setting: Setting) {
    let consistency = match setting.consistency {
        Consistency::Sequential => "sequential",
        Consistency::Relaxed => "fences",
    };
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
            if test.waves.len() < 4 && !(warm && test.waves.len() > 2) {
                let evicting = Setting { evictions: true, ..setting };
                row(&program, true, litmus(protocol, evicting, test, warm));
            }
        }
    }
    let cus: [&[u8]; 2] =
        if setting.one_gpu { [&[0, 1], &[0, 1, 2]] } else { [&[0, 2], &[0, 1, 2]] };
    for placement in [Placement::OneBank, Placement::TwoBanks] {
        let checked = all_programs(protocol, setting, cus[0], placement, 3);
        row(&format!("all of two waves of three {placement:?}"), false, checked);
        let checked = all_programs(protocol, setting, cus[1], placement, 2);
        row(&format!("all of three waves of two {placement:?}"), false, checked);
    }
}

/// Of each protocol the same; `UPDATE_GOLDEN=1` writes what was found.
#[test]
#[ignore = "minutes with all optimisations: make check-coherence"]
fn the_large_configuration_holds() {
    let mut text = "protocol,consistency,program,evictions,machines,states\n".to_owned();
    let fences = Setting { consistency: Consistency::Relaxed, ..SEQUENTIALLY };
    for setting in [SEQUENTIALLY, fences] {
        let sequential = setting.consistency == Consistency::Sequential;
        for (name, bits) in [("mgcc of 3 bits", 3), ("mgcc of 4 bits", 4)] {
            let leases = Leases::new(2, 1, bits).unwrap();
            rows(&mut text, name, Mgcc { leases, l1_reads: 2, l2_reads: 1 }, setting);
        }
        let one_gpu = Setting { one_gpu: true, ..setting };
        rows(&mut text, "g-tsc of 3 bits", GTsc::new(2, 3, 2).unwrap(), one_gpu);
        rows(&mut text, "hmg", Hmg { sequential }, setting);
        rows(&mut text, "mesi", Mesi { sequential }, setting);
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/coherence.csv");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}
