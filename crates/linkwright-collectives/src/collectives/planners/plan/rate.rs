//! Finds the rate that a schedule reaches when its data is long.

use crate::network::Routes;
use crate::system::{DeviceKind, Wiring};
use crate::units::Bandwidth;

use crate::collectives::schedule::Schedule;
use crate::collectives::schedule::time::{TimeError, link_bytes, resources};

/// Returns size over time when every chunk's latency is hidden. For each link it divides the peak
/// by the load for one byte of size. The least of these counts.
///
/// # Errors
/// As the timing, where a connection has no route.
pub(super) fn steady_rate(schedule: &Schedule, wiring: &Wiring) -> Result<Bandwidth, TimeError> {
    rate_on(schedule, &Routes::at_peak(wiring))
}

/// The same with what long transfers reach of the links' peak, as the timing has it.
///
/// # Errors
/// Fails as [`steady_rate`] does.
pub(super) fn reached_rate(schedule: &Schedule, wiring: &Wiring) -> Result<Bandwidth, TimeError> {
    rate_on(schedule, &resources(wiring))
}

/// Whether some of the data goes over PCIe, or what else leads from a GPU to the host.
///
/// # Errors
/// Fails as [`steady_rate`] does.
pub(super) fn loads_host(schedule: &Schedule, wiring: &Wiring) -> Result<bool, TimeError> {
    let routes = Routes::at_peak(wiring);
    let loads = link_bytes(schedule, &routes)?;
    let is_host = |resource: usize| {
        let (wire, _) = routes.wire(resource);
        let ends = [wire.a, wire.b].map(|end| wiring.devices()[end].kind);
        !wire.is_gpu_fabric() || ends.contains(&DeviceKind::Cpu)
    };
    Ok(loads.iter().enumerate().any(|(resource, load)| *load > 0.0 && is_host(resource)))
}

fn rate_on(schedule: &Schedule, routes: &Routes<'_>) -> Result<Bandwidth, TimeError> {
    let loads = link_bytes(schedule, routes)?;
    let limits = loads.iter().zip(routes.capacities()).filter(|(load, _)| **load > 0.0);
    let slowest = limits.map(|(load, capacity)| capacity.0 as f64 / load).min_by(f64::total_cmp);
    Ok(Bandwidth(slowest.unwrap_or(f64::INFINITY).round() as u64))
}
