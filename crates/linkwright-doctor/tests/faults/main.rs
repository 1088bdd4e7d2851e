//! Logs from systems with faults, and what the doctor names: the injected fault, and nothing on sound systems.
//!
//! A fault is injected into the system or the settings, the collective is played there, times get noise, and nccl-tests' and
//! NCCL's lines are written by the forms of four releases.

mod debug_lines;
mod forms;
mod injected;
mod noise;
mod run;
mod said;
mod sound;
mod table_lines;
mod topology_lines;

use linkwright_doctor::doctor::ask::{Machine, case_of};
use linkwright_doctor::doctor::evidence::Evidence;
use linkwright_doctor::doctor::judge::{Cause, Verdict, judge};
use linkwright_doctor::doctor::read::read_file;

use injected::Fault;
use run::Run;
use said::Said;

/// What a run's files say, as one text.
fn text(run: &Run) -> String {
    let mut text = table_lines::head(run);
    if run.is_debugged {
        for line in debug_lines::lines(run, &Said::of(run)) {
            text += &line.text;
            text.push('\n');
        }
    }
    text + &table_lines::table(run)
}

/// What the doctor says of a run's files.
fn verdict(run: &Run) -> Verdict {
    verdict_of(run, &text(run))
}

fn verdict_of(run: &Run, text: &str) -> Verdict {
    let mut evidence = Evidence::default();
    read_file("job.log", text.as_bytes(), &mut evidence).unwrap();
    let [left] = &evidence.runs[..] else { panic!("{} jobs", evidence.runs.len()) };
    let machine = Machine::of(run.asked());
    judge(&case_of(left, &machine, &run.gpus, run.collective)).unwrap()
}

/// What a fault costs at the largest size.
fn cost(fault: &Fault) -> f64 {
    let most = [*fault.run.rows().last().unwrap()];
    let mut sound = fault.run.sound();
    if fault.cause == Cause::OldVersion {
        sound.settings.version = None;
    }
    let time = |run: &Run| run.played_at(&most)[0].time.as_seconds();
    time(&fault.run) / time(&sound)
}

/// Whether the first cause is the injected one. Times alone do not tell one slow server from all; then both are named.
fn is_right(fault: &Fault, verdict: &Verdict) -> bool {
    let Some(first) = verdict.causes.first() else { return false };
    let networks = [Cause::SlowServer, Cause::SlowNetwork];
    let is_either = networks.contains(&fault.cause)
        && networks.contains(&first.cause)
        && verdict.headline.contains("times do not tell");
    first.cause == fault.cause || is_either
}

fn causes(verdict: &Verdict) -> String {
    let part = |it: &linkwright_doctor::doctor::judge::JudgedCause| {
        let explains = it.explains.map_or_else(String::new, |part| format!("{part:.2}"));
        let mark = if it.line.is_some() { "=" } else { "~" };
        format!("{mark}{} {explains}", it.cause.name())
    };
    verdict.causes.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_first_cause_is_the_injected_one() {
    let faults = injected::all();
    let (mut right, mut table) = (0, String::new());
    for fault in &faults {
        let (cost, verdict) = (cost(fault), verdict(&fault.run));
        let is_right = is_right(fault, &verdict);
        right += usize::from(is_right);
        let mark = if is_right { "  " } else { "!!" };
        let (name, cause) = (&fault.name, fault.cause.name());
        table += &format!("{mark} {name:58} x {cost:6.2} {cause:17} {}\n", causes(&verdict));
        table += &format!("      {}\n", verdict.headline);
        if cost < 1.15 { table += "!! cheap\n"; }
    }
    println!("{table}{right} of {}", faults.len());
    assert!(10 * right >= 9 * faults.len(), "{right} of {}:\n{table}", faults.len());
}

#[test]
fn sound_systems_are_healthy() {
    for mut run in sound::all() {
        for is_debugged in [true, false] {
            run.is_debugged = is_debugged;
            let verdict = verdict(&run);
            let of = format!("{} {} {}", run.sound.name(), run.release(), run.collective.name());
            println!("{of} {is_debugged} {:?} {} {}", verdict.kind, verdict.headline, causes(&verdict));
        }
    }
}
#[test]
fn dbg() {
    for f in injected::all() { if f.run.has_dump {
        let m = Machine::of(f.run.asked());
        println!("{} narrow {:?} kinds {} ", f.name, m.narrow, m.described.kinds().len());
        if f.name.contains("rtx") { let s = m.described.kind_of(0).server(); for l in s.links() { println!("  {} {} {:?} {}", s.devices()[l.a].name, s.devices()[l.b].name, l.kind, l.total_bandwidth().as_gigabytes_per_second()); } 
        let s = f.run.system.kind_of(0).server(); for l in s.links() { println!(" own {} {} {:?} {}", s.devices()[l.a].name, s.devices()[l.b].name, l.kind, l.total_bandwidth().as_gigabytes_per_second()); } }
    } }
}
