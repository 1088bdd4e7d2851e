//! How long a schedule takes in the form that a file has.
//!
//! A file may hold another form than was planned. Chunks are merged, connections spread over other
//! channels or folded into one, steps cut. Executors choose the links themselves, NVLink wherever
//! two GPUs have it. So the written form is timed, read back where there is a reader.

use super::msccl_xml_import::read_msccl_xml;
use super::{Export, ExportError, MscclOptions, to_msccl_xml};
use crate::collectives::schedule::time::{TimeError, Timing, choose_chunk, protocol_of};
use crate::collectives::schedule::{Channel, ChannelTransport, Schedule};
use crate::system::System;
use crate::units::Bytes;

/// Returns the same on the links that an executor takes. The work of switches stays theirs.
pub(super) fn as_executed(form: Schedule) -> Schedule {
    let chosen = |channel: &Channel| match channel.transport {
        ChannelTransport::Switch => channel.clone(),
        ChannelTransport::Best | ChannelTransport::Host | ChannelTransport::Memory => {
            Channel::default()
        }
    };
    let channels = form.channels.iter().map(chosen).collect();
    Schedule { channels, routes: Vec::new(), ..form }
}

/// How long a schedule takes with the chunk that suits it.
pub(super) fn time_of(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
) -> Result<Timing, TimeError> {
    let costs = protocol_of(schedule, system)?;
    Ok(choose_chunk(schedule, system, size, &costs)?.0)
}

/// The timing of an export, as a sentence: of what was written, and of what was planned.
pub(super) fn note(what: &str, written: &Timing, planned: &Timing) -> String {
    let time = |timing: &Timing| timing.time.as_seconds() * 1e6;
    format!(
        "By the time model {what} takes {:.1} us at {}, which is {:.2} GB/s, and the schedule as \
         planned {:.1} us, {:.2} GB/s.",
        time(written),
        written.size,
        written.algorithm_bandwidth,
        time(planned),
        planned.algorithm_bandwidth
    )
}

/// Writes a schedule as MSCCL XML. Where the system can carry both, a note tells how long the
/// written form takes beside the schedule itself.
///
/// # Errors
/// Fails as [`to_msccl_xml`] does.
pub fn to_timed_msccl_xml(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    options: &MscclOptions,
) -> Result<Export, ExportError> {
    let mut export = to_msccl_xml(schedule, options)?;
    let read = read_msccl_xml("the export", &export.text).map_err(|error| ExportError::Broken {
        place: "its file".to_owned(),
        problem: format!("cannot be read back ({error})"),
    })?;
    let written = as_executed(Schedule { gpus: schedule.gpus.clone(), ..read });
    let times = (time_of(&written, system, size), time_of(schedule, system, size));
    if let (Ok(written), Ok(planned)) = times {
        export.notes.push(note("the form in the file", &written, &planned));
    }
    Ok(export)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Collective;
    use crate::collectives::planners::plan::{Packing, Question, plan, plan_hybrid};
    use crate::collectives::schedule::export::{MscclppOptions, to_fastest_mscclpp_json};
    use crate::system::test_support::alone;
    use crate::units::Picoseconds;

    /// Returns the times of a note, us: of the file, and of the plan.
    fn times(export: &Export) -> (f64, f64) {
        let note = export.notes.iter().find(|note| note.starts_with("By the time model")).unwrap();
        let words: Vec<&str> = note.split_whitespace().collect();
        let mut times = (0..words.len())
            .filter(|at| words.get(at + 1) == Some(&"us") || words.get(at + 1) == Some(&"us,"));
        let mut next = || words[times.next().unwrap()].parse::<f64>().unwrap();
        (next(), next())
    }

    #[test]
    fn a_file_that_says_it_all_takes_as_long_as_the_plan() {
        let (machine, size) = (alone("dgx1-v100"), Bytes(64 << 20));
        let packing = &Packing;
        let plan =
            plan(packing, &Question::new(&machine, &[1, 4, 5, 6], Collective::AllReduce)).unwrap();
        let options = MscclOptions::default();
        let export = to_timed_msccl_xml(&plan.schedule, &machine, size, &options).unwrap();
        let (written, planned) = times(&export);
        assert_eq!(written, planned);
    }

    #[test]
    fn what_a_file_cannot_say_is_timed_without() {
        let (machine, size) = (alone("dgx1-v100"), Bytes(1 << 30));
        let gpus: Vec<usize> = (0..8).collect();
        let (packing, whole) = (&Packing, Collective::AllReduce);
        let hybrid =
            plan_hybrid(packing, &Question::new(&machine, &gpus, whole), size, Picoseconds(0))
                .unwrap();
        assert!(hybrid.schedule.channels.iter().any(|channel| *channel != Channel::default()));
        // Executors take NVLink for what was planned over PCIe, which is then in the others' way.
        let options = MscclOptions { step_limit: 256, ..MscclOptions::default() };
        let export = to_timed_msccl_xml(&hybrid.schedule, &machine, size, &options).unwrap();
        let (written, planned) = times(&export);
        assert!(written > planned * 1.01, "{written} and {planned}");
        let options = MscclppOptions::default();
        let export = to_fastest_mscclpp_json(&hybrid.schedule, &machine, size, &options).unwrap();
        let (written, planned) = times(&export);
        assert!(written > planned * 1.01, "{written} and {planned}");
    }
}
