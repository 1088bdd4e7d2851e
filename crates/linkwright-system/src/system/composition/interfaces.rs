//! The network interfaces of a server that lists none.

use std::sync::Arc;

use crate::system::error::SystemError;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Server};

/// Returns a server that a fabric can join, and the assumptions about it. It is the server itself
/// where it lists interfaces. Else it gets one for each of its CPUs on 16 lanes of its fastest
/// PCIe.
///
/// # Errors
/// Refuses a server with a network of its own, and one with neither interfaces nor CPUs.
pub(super) fn with_interfaces(
    server: &Arc<Server>,
) -> Result<(Arc<Server>, Option<String>), SystemError> {
    let refuse = |problem, remedy| SystemError::NotAServer {
        machine: server.name().to_owned(),
        problem,
        remedy,
    };
    let of_kind = |kind: DeviceKind| -> Vec<DeviceId> {
        let devices = server.devices().iter().enumerate();
        devices.filter(|(_, device)| device.kind == kind).map(|(id, _)| id).collect()
    };
    let joined = server.links().iter().any(|link| link.kind.is_network());
    if joined || !of_kind(DeviceKind::NetworkSwitch).is_empty() {
        return Err(refuse("has a network of its own", "give a machine without one"));
    }
    if !of_kind(DeviceKind::Nic).is_empty() {
        return Ok((Arc::clone(server), None));
    }
    let sockets = of_kind(DeviceKind::Cpu);
    if sockets.is_empty() {
        let remedy = "add a device of kind \"nic\" and its link";
        return Err(refuse("has neither a network interface nor a CPU to put one on", remedy));
    }
    let pcie = server.links().iter().map(|link| link.kind).filter(|kind| kind.is_pcie());
    let pcie = pcie.max_by_key(|kind| kind.data_sheet().bandwidth).unwrap_or(LinkKind::Pcie3);
    let mut builder = server.to_builder();
    for (index, socket) in sockets.into_iter().enumerate() {
        let interface = builder.device(&format!("NIC{index}"), DeviceKind::Nic, None)?;
        builder.data_sheet_link(interface, socket, pcie, 1)?;
    }
    let assumption = format!(
        "{} lists no network interface; each of its CPUs has one, on 16 lanes of {}",
        server.name(),
        pcie.name()
    );
    Ok((Arc::new(builder.build()?), Some(assumption)))
}
