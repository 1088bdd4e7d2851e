//! Logs from systems with faults, and what the doctor names: the injected fault, and nothing on sound systems.
//!
//! A fault is injected into the system or the settings, the collective is played there, times get noise, and nccl-tests' and
//! NCCL's lines are written by the forms of four releases.

mod debug_lines;
mod direct;
mod forms;
mod injected;
mod noise;
mod run;
mod said;
mod table_lines;
mod topology_lines;

use linkwright_collectives::collectives::nccl_tests;
use linkwright_doctor::doctor::ask::{Machine, Run as Left, case_of};
use linkwright_doctor::doctor::evidence::DebugLog;
use linkwright_doctor::doctor::judge::{Verdict, judge};

use run::Run;
use said::Said;

fn verdict(run: &Run) -> Verdict {
    let said = Said::of(run);
    let lines = debug_lines::lines(run, &said);
    let text = table_lines::head(run) + &table_lines::table(run);
    let table = nccl_tests::read("log", &text).unwrap();
    let log = if run.is_debugged { direct::debug_log(run, &said, &lines) } else { DebugLog::default() };
    let left = Left { table: Some(table), log };
    let machine = Machine::of(if run.has_dump { injected::described(run) } else { run.sound.clone() });
    judge(&case_of(&left, &machine, &run.gpus, run.collective)).unwrap()
}

#[test]
fn the_first_cause_is_the_injected_one() {
    let mut right = 0;
    let mut table = String::new();
    let faults = injected::all();
    for fault in &faults {
        let start = std::time::Instant::now();
        let run = &fault.run;
        let most = [*run.rows().last().unwrap()];
        let sound = Run { system: run.sound.clone(), slow: None, settings: linkwright_collectives::collectives::baselines::Settings { version: run.settings.version, processes: run.settings.processes, ..Default::default() }, ..run.clone() };
        let cost = run.played_at(&most)[0].time.as_seconds() / sound.played_at(&most)[0].time.as_seconds();
        let verdict = verdict(run);
        let named = verdict.causes.first().map(|it| it.cause);
        let is_right = named == Some(fault.cause);
        right += usize::from(is_right);
        table += &format!(
            "{} {:55} cost {cost:5.2} {:16} named {:?} {:?} {:.2}s\n     {}\n",
            if is_right { "  " } else { "!!" },
            fault.name,
            fault.cause.name(),
            verdict.kind,
            named.map(|it| it.name()),
            start.elapsed().as_secs_f64(),
            verdict.headline,
        );
        for cause in &verdict.causes {
            table += &format!("        {:18} explains {:?} cost {:?} stated {}\n", cause.cause.name(), cause.explains, cause.cost, cause.line.is_some());
        }
    }
    println!("{table}{right} of {}", faults.len());
    panic!();
}
