//! Writes schedules in the formats of others: MSCCL XML, MSCCL++ JSON and Graphviz DOT.
//!
//! - [`normal`] has the part that every format shares. It gives a schedule without `nop` steps and
//!   without dependencies that say nothing, checked for the rules that the formats rely on
//! - [`pieces`] has a schedule cut into pieces, for executors that run it only once
//! - [`msccl_xml`] writes the files that MSCCL's executors load
//! - [`msccl_xml_import`] reads the same
//! - [`mscclpp_json`] writes the plans that the MSCCL++ executor loads
//! - [`mscclpp_import`] reads the same
//! - [`mod@dot`] draws pictures
//! - `rounded`: a schedule whose shares are rounded, for executors that take few counts of chunks
//! - `written`: how long a schedule takes in the form that a file has
//!
//! A format's limit is never passed in silence: a schedule is split, or refused with the
//! limit and a remedy.

pub mod dot;
mod fold;
pub mod msccl_xml;
pub mod msccl_xml_import;
pub mod mscclpp_import;
pub mod mscclpp_json;
mod peers;
pub mod pieces;
mod rounded;
mod written;

pub mod normal;
#[cfg(test)]
mod test_support;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

use crate::collectives::schedule::ChannelTransport;
use crate::collectives::schedule::collective::Collective;

pub use dot::{to_dot, trees_to_dot};
pub use msccl_xml::{MscclOptions, to_msccl_xml};
pub use msccl_xml_import::read_msccl_xml;
pub use mscclpp_import::{MscclppPlan, read_mscclpp_json};
pub use mscclpp_json::{MscclppOptions, TakenSizes, to_fastest_mscclpp_json, to_mscclpp_json};
pub use pieces::in_pieces;
pub use written::to_timed_msccl_xml;

pub use normal::normalise;

/// Holds a schedule in another format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Holds the file's whole text. The same schedule and options give the same bytes.
    pub text: String,
    /// Lists the facts that the format could not say and its user must know, each a sentence.
    pub notes: Vec<String>,
}

/// Why a schedule cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ExportError {
    /// The executor would refuse the file, or read past its arrays.
    Limit {
        /// Names the format.
        format: &'static str,
        /// Names the thing that there is too much of.
        what: &'static str,
        /// Says where.
        place: String,
        /// How many there are.
        count: u64,
        /// How many there may be.
        most: u64,
        /// Tells the user's remedy.
        remedy: &'static str,
    },
    /// The format has no such collective.
    NoCollective {
        /// Names the format.
        format: &'static str,
        /// Names the collective.
        collective: Collective,
        /// Tells the user's remedy.
        remedy: &'static str,
    },
    /// The format has no word for what a switch does.
    NoOperation {
        /// Names the format.
        format: &'static str,
        /// Names the operation of the step.
        operation: &'static str,
        /// Names the step.
        place: String,
        /// Tells the user's remedy.
        remedy: &'static str,
    },
    /// The schedule breaks a rule of schedules.
    Broken {
        /// Says where the fault is: a rank, a block, a step.
        place: String,
        /// Names the fault.
        problem: String,
    },
    /// An option has a value that the format cannot hold.
    BadOption {
        /// Names the option.
        option: &'static str,
        /// Gives its value.
        value: u64,
        /// Tells a value that works.
        remedy: &'static str,
    },
}

impl Diagnose for ExportError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Limit { format, what, place, count, most, remedy } => Diagnosis::of(format!(
                "{place} has {count} {what}, but {format} allows at most {most}"
            ))
            .remedy(*remedy),
            Self::NoCollective { format, collective, remedy } => {
                Diagnosis::of(format!("{format} has no {}", collective.name())).remedy(*remedy)
            }
            Self::NoOperation { format, operation, place, remedy } => {
                Diagnosis::of(format!("{place} is {operation}, which {format} does not have"))
                    .remedy(*remedy)
            }
            Self::Broken { place, problem } => {
                Diagnosis::of(format!("the schedule is broken: {place} {problem}"))
                    .remedy("check the schedule, then plan it again")
            }
            Self::BadOption { option, value, remedy } => {
                Diagnosis::of(format!("the option `{option}` is {value}")).remedy(*remedy)
            }
        }
    }
}

/// Refuses a schedule where a switch does some steps.
fn refuse_in_switch(
    schedule: &crate::collectives::Schedule,
    format: &'static str,
    remedy: &'static str,
) -> Result<(), ExportError> {
    let Some((rank, block, step)) = schedule.first_in_switch() else { return Ok(()) };
    let operation = schedule.programs[rank].blocks[block].steps[step].operation.name();
    let place = normal::place(rank, block, Some(step));
    Err(ExportError::NoOperation { format, operation, place, remedy })
}

/// The notes on what no format says: which GPU a rank is, and which links a channel uses.
fn placement_notes(schedule: &crate::collectives::Schedule, executor: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if schedule.gpus.iter().enumerate().any(|(rank, gpu)| rank != *gpu) {
        let gpus: Vec<String> = schedule.gpus.iter().map(usize::to_string).collect();
        let gpus = gpus.join(",");
        notes.push(format!(
            "The file names ranks only: start the job so that its ranks are GPUs {gpus}, such \
             as by CUDA_VISIBLE_DEVICES={gpus}."
        ));
    }
    for (index, channel) in schedule.channels.iter().enumerate() {
        if matches!(channel.transport, ChannelTransport::Host | ChannelTransport::Memory) {
            notes.push(format!(
                "Channel {index} is planned over PCIe and the host; {executor} chooses the \
                 links itself and takes NVLink where two GPUs have it."
            ));
        }
        if !channel.relays.is_empty() {
            let pairs: Vec<String> = channel
                .relays
                .iter()
                .map(|relay| format!("{} to {} by GPU {}", relay.from, relay.to, relay.through))
                .collect();
            notes.push(format!(
                "Channel {index} relays through other GPUs (ranks {}); {executor} chooses the \
                 links itself.",
                pairs.join(", ")
            ));
        }
    }
    let crosses = schedule.channels.iter().any(|channel| !channel.crossings.is_empty());
    if crosses || !schedule.routes.is_empty() {
        notes.push(format!(
            "Between servers the plan chooses the network interfaces; {executor} chooses them \
             itself, so that the rate may be another."
        ));
    }
    if let Some(root) = schedule.collective.root() {
        notes.push(format!(
            "The file cannot name the root: use it for calls with root {root} only."
        ));
    }
    notes
}
