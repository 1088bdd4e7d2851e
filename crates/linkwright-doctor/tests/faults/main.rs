//! Writes logs from systems with faults, and checks what the doctor names. It names the injected
//! fault, and nothing on sound systems.
//!
//! A fault is injected into the system or the settings, and the collective is played there. Times
//! get noise. The lines of nccl-tests and NCCL are written by the forms of four releases.

mod debug_lines;
mod forms;
mod injected;
mod noise;
mod run;
mod said;
mod sound;
mod table_lines;
mod topology_lines;

use std::collections::BTreeSet;
use std::sync::Arc;

use linkwright_collectives::collectives::baselines::Settings;
use linkwright_doctor::doctor::ask::{Machine, Subject};
use linkwright_doctor::doctor::evidence::Evidence;
use linkwright_doctor::doctor::judge::{RunVerdict, SlowCause, VerdictKind, judge};
use linkwright_doctor::doctor::read::read_file;

use forms::place;
use injected::Fault;
use run::Run;
use said::Said;

/// Gives what a run's files say, as one text.
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

/// Gives what the doctor says of a run's files.
fn verdict(run: &Run) -> RunVerdict {
    verdict_of(run, &text(run))
}

fn verdict_of(run: &Run, text: &str) -> RunVerdict {
    let mut evidence = Evidence::default();
    read_file("job.log", text.as_bytes(), &mut evidence).unwrap();
    let [left] = &evidence.runs[..] else { panic!("{} jobs", evidence.runs.len()) };
    let subject = Subject::from(left.clone());
    let (machine, asked) = (Machine::of(Arc::new(run.asked())), Settings::default());
    judge(&subject.case(&machine, &run.gpus, run.collective, &asked)).unwrap()
}

/// Gives what a fault costs at the largest size.
fn cost(fault: &Fault) -> f64 {
    let most = [*fault.run.rows().last().unwrap()];
    let mut sound = fault.run.sound();
    if fault.cause == SlowCause::OldVersion {
        sound.settings.version = None;
    }
    let time = |run: &Run| run.played_at(&most)[0].time.as_seconds();
    time(&fault.run) / time(&sound)
}

/// Whether the first cause is the injected one. Times alone do not tell one slow server from all; then both are named.
fn is_right(fault: &Fault, verdict: &RunVerdict) -> bool {
    let Some(first) = verdict.causes.first() else { return false };
    let networks = [SlowCause::SlowServer, SlowCause::SlowNetwork];
    let is_either = networks.contains(&fault.cause)
        && networks.contains(&first.cause)
        && verdict.headline.contains("times do not tell");
    first.cause == fault.cause || is_either
}

fn causes(verdict: &RunVerdict) -> String {
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
        assert!(cost >= 1.15, "{} costs a factor of {cost:.2}", fault.name);
        let is_right = is_right(fault, &verdict);
        right += usize::from(is_right);
        let mark = if is_right { "  " } else { "!!" };
        let (name, cause) = (&fault.name, fault.cause.name());
        table += &format!("{mark} {name:58} x {cost:6.2} {cause:17} {}\n", causes(&verdict));
        table += &format!("      {}\n", verdict.headline);
    }
    println!("{table}{right} of {}", faults.len());
    assert!(10 * right >= 9 * faults.len(), "{right} of {}:\n{table}", faults.len());
}

#[test]
fn sound_systems_are_healthy_by_their_tables_alone_too() {
    let runs = sound::all();
    assert!(runs.len() >= 20);
    for mut run in runs {
        for is_debugged in [true, false] {
            run.is_debugged = is_debugged;
            let verdict = verdict(&run);
            let of = format!("{} {} {}", run.sound.name(), run.release(), run.collective.name());
            assert_eq!(
                verdict.kind,
                VerdictKind::Healthy,
                "{of} {is_debugged}: {}",
                verdict.headline
            );
        }
    }
}

#[test]
fn what_the_model_lacks_gets_no_verdict() {
    let rank = "node-0:41200:41203 [0] NCCL INFO ";
    let lacking = [
        ("2.23.4", "via-collnet", "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA", "CollNet"),
        (
            "2.30.7",
            "symmetric",
            "AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLLMC_R nchannels 8 nthreads 512 nWorks 1",
            "[Symmetric]",
        ),
        ("2.23.4", "tuner", "TUNER/Plugin: Using tuner plugin Special", "Special"),
        ("2.30.7", "tuner", "TUNER/Plugin: Using Special (v5)", "Special"),
    ];
    for (release, form, line, reason) in lacking {
        assert_ne!(place(form, release), "-", "{release} prints {line}");
        let run = Run::of("hgx-h100", 1, release, 7);
        let whole = text(&run);
        let (head, rest) = whole.split_at(whole.find("#\n# ").unwrap());
        let (first, rest) = rest.split_once('\n').unwrap();
        let text = format!("{head}{first}\n{rank}{line}\n{rest}");
        let verdict = verdict_of(&run, &text);
        assert_eq!(verdict.kind, VerdictKind::NoVerdict, "{line}: {}", verdict.headline);
        assert!(verdict.headline.contains(reason), "{}", verdict.headline);
    }
}

#[test]
fn each_line_has_a_form_and_each_connection_is_read() {
    let mut seen = BTreeSet::new();
    for mut run in [Run::of("hgx-h100", 2, "2.18.5", 1), Run::of("dgx1-v100", 2, "2.30.7", 2)] {
        (run.shows_graph, run.shows_choices) = (true, true);
        let said = Said::of(&run);
        let lines = debug_lines::lines(&run, &said);
        for line in &lines {
            assert_ne!(place(line.form, &run.release()), "-", "{}", line.text);
            seen.insert(line.form);
        }
        let mut evidence = Evidence::default();
        read_file("job.log", text(&run).as_bytes(), &mut evidence).unwrap();
        let log = &evidence.runs[0].debug;
        let read: u32 = log.connections.values().map(|(count, _)| count).sum();
        assert_eq!(read as usize, said.connections.len(), "{}", run.sound.name());
        assert_eq!(log.rings.len(), said.rings.len());
        assert_eq!(log.ranks, Some(run.gpus.len() as u32));
        assert_eq!(evidence.files[0].skipped, 0, "{:?}", evidence.files[0].notes);
    }
    assert!(seen.len() >= 18, "{seen:?}");
}
