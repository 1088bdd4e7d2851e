//! What a schedule reaches when its data is long.

use crate::network::Routes;
use crate::topology::Machine;
use crate::units::Bandwidth;

use super::super::schedule::Schedule;
use super::super::time::{TimeError, link_bytes};

/// Size over time when every chunk's latency is hidden: the links' peak over what each has to
/// carry for one byte of size, at the link where that is least.
///
/// # Errors
/// As the timing, where a connection has no route.
pub(super) fn steady_rate(schedule: &Schedule, machine: &Machine) -> Result<Bandwidth, TimeError> {
    let routes = Routes::new(machine, |_| 1.0).expect("one is an efficiency");
    let loads = link_bytes(schedule, machine, &routes)?;
    let limits = loads.iter().zip(routes.capacities()).filter(|(load, _)| **load > 0.0);
    let slowest = limits.map(|(load, capacity)| capacity.0 as f64 / load).min_by(f64::total_cmp);
    Ok(Bandwidth(slowest.unwrap_or(f64::INFINITY).round() as u64))
}
