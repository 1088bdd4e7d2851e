//! How long a schedule takes on a machine's links.
//!
//! Every transfer is a flow on the links of its route and shares them max-min fairly with the
//! others ([`crate::network`]). A thread block starts a step when its data has arrived, the steps
//! that it waits for have ended and the receiver has room. It is busy while it sends. Data arrives
//! one hop's latency after its last byte is sent. Data is cut into pieces that follow one another
//! through the blocks, so that a long path fills like a pipeline. A block writes the data that it
//! takes and does not send on to its own GPU's memory, which takes time, too. Each term has a cause
//! and a source ([`CollectiveTerms`]). The model leaves out that a GPU's blocks share its memory,
//! and other traffic on the links.

mod alike;
mod binding;
mod demand;
mod error;
mod known;
mod least;
mod lowered;
mod miad;
mod paths;
mod peers;
mod play;
mod switch;
mod terms;
#[cfg(test)]
mod tests;

pub use crate::program::kernel::NcclProtocol;
pub use demand::LinkDemand;
pub use error::TimeError;
pub use known::KnownTimes;
pub use lowered::LoweredSchedule;
pub use miad::{ChunkTrial, choose_chunk};
pub(in crate::collectives) use miad::{choose_chunk_on, fastest_by};
pub use paths::resources;
pub(in crate::collectives) use peers::Peers;
pub(in crate::collectives) use play::Player;
pub use play::{LinkLoad, Timing, time};
pub use terms::{
    CollectiveTerms, GPUS_OF_A_HOST, KernelSetting, Processes, protocol_as, protocol_launched,
    protocol_of,
};
pub(in crate::collectives) use terms::{protocol_for, protocol_on};

use crate::network::Routes;

use crate::collectives::schedule::Schedule;

/// Returns the bytes that each resource of `routes` carries for one byte of the collective's size.
///
/// # Errors
/// [`TimeError`] where a connection has no route or no other end.
pub fn link_bytes(schedule: &Schedule, routes: &Routes<'_>) -> Result<Vec<f64>, TimeError> {
    let costs = protocol_on(schedule, routes.wiring());
    Ok(loads_of(&LoweredSchedule::new(schedule, routes, &costs)?, routes))
}

/// As [`link_bytes`], of an outline, whose steps of rank 0 are those of all ranks.
pub(in crate::collectives) fn outline_bytes(
    outline: &Schedule,
    routes: &Routes<'_>,
) -> Result<Vec<f64>, TimeError> {
    let costs = protocol_on(outline, routes.wiring());
    Ok(loads_of(&LoweredSchedule::of_outline(outline, routes, &costs)?, routes))
}

fn loads_of(lowered: &LoweredSchedule, routes: &Routes<'_>) -> Vec<f64> {
    let chunks = lowered.chunks_of_longest() as f64;
    let mut loads = vec![0.0; routes.capacities().len()];
    for (connection, sent) in lowered.sent() {
        for (resource, share) in &lowered.paths[connection as usize].uses {
            loads[*resource] += share * sent / chunks;
        }
    }
    loads
}
