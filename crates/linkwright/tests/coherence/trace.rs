//! Tells a way to a failure, in words.

use linkwright::memory::litmus::LitmusStep;
use linkwright::memory::protocol::CoherenceProtocol;

use super::state::{Event, Machine, Stage, State};

/// Tells the events on the way, a line each. Events that only carry a message on are left out.
pub fn told<P: CoherenceProtocol>(machine: &Machine<P>, events: &[Event]) -> String {
    let mut state = machine.start();
    let mut lines = Vec::new();
    for event in events {
        let after = machine.after(&state, *event).expect("the way was gone");
        lines.extend(line(machine, &state, &after, *event));
        state = after;
    }
    // Who spins does the same again and again.
    lines.dedup_by(|one, other| one == other && one.ends_with("goes on"));
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn line<P: CoherenceProtocol>(
    machine: &Machine<P>,
    before: &State<P>,
    after: &State<P>,
    event: Event,
) -> Option<String> {
    let Event::Go { wave, step } = event else { return Some(format!("{event:?}")) };
    let (index, number) = (usize::from(wave), usize::from(step));
    let doing = machine.programs[index][number];
    let name = |address: u8| ["x", "y"][usize::from(address)];
    let cu = machine.cus[index];
    let who = format!("GPU {} CU {}", cu / machine.cus_per_gpu, cu % machine.cus_per_gpu);
    let stage = |state: &State<P>| state.operations[index][number].stage;
    if stage(after) != Stage::Done {
        let starts = stage(before) == Stage::Waiting && stage(after) != Stage::Waiting;
        return match doing {
            LitmusStep::Spin(address, _) if stage(after) == Stage::Waiting => {
                Some(format!("{who} reads {} as it was, and goes on", name(address)))
            }
            LitmusStep::Write(address, _) if starts => {
                Some(format!("{who} sends its write of {}", name(address)))
            }
            LitmusStep::Read(address) | LitmusStep::Add(address, _) if starts => {
                Some(format!("{who} asks for {}", name(address)))
            }
            _ => None,
        };
    }
    let own = &after.l1[usize::from(cu)].own;
    Some(match doing {
        LitmusStep::Read(address) | LitmusStep::Add(address, _) => {
            let value = after.operations[index][number].value;
            format!("{who} reads {} = {value}; {own:?}", name(address))
        }
        LitmusStep::Write(address, value) => {
            format!("{who} has written {} = {value}; {own:?}", name(address))
        }
        LitmusStep::Spin(address, value) => {
            format!("{who} sees {} = {value}; {own:?}", name(address))
        }
        LitmusStep::Fence => format!("{who} passes a fence"),
        LitmusStep::Barrier => format!("{who} and all others pass a barrier"),
    })
}
