//! Adds the PCIe links of a topology file, and doubts the speed of some uplinks.
//!
//! An idle bridge shows a lower speed than it has, and that of a virtual machine a made-up one. So
//! a warning tells of an uplink that is slower than a link below it, at a lower rate of its lanes.
//! The option `pcie` states it.

use super::NcclXmlOptions;
use super::attributes::PcieLink;
use super::tree::{Found, Tree};
use crate::system::error::SystemError;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{DeviceId, Link, ServerBuilder};
use crate::units::Bandwidth;

const LANES: u32 = 16;

/// Describes a whole PCIe link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate {
    kind: LinkKind,
    lanes: u32,
}

impl Rate {
    fn bandwidth(self) -> Bandwidth {
        Bandwidth(self.kind.data_sheet().bandwidth.0 / u64::from(LANES) * u64::from(self.lanes))
    }

    /// Tells whether it is slower than another at a rate that its lanes do not explain.
    fn is_doubtful_above(self, below: Self) -> bool {
        let rate = |link: Self| link.kind.data_sheet().bandwidth;
        rate(self) < rate(below) && self.bandwidth() < below.bandwidth()
    }
}

/// Adds the PCIe link above each device. A GPU that has other links to its CPU, `to_host`, and no
/// word of its PCIe has none.
pub(super) fn add(
    builder: &mut ServerBuilder,
    tree: &Tree,
    ids: &[DeviceId],
    options: &NcclXmlOptions,
    to_host: impl Fn(usize) -> bool,
) -> Result<(), SystemError> {
    let default = options.pcie.unwrap_or(LinkKind::Pcie3);
    let rate = |device: &Found| {
        let PcieLink { kind, lanes } = device.link?;
        Some(Rate { kind: kind.unwrap_or(default), lanes: lanes.unwrap_or(LANES) })
    };
    let mut rates: Vec<Option<Rate>> = tree.devices.iter().map(rate).collect();
    let doubtful = doubtful(tree, &rates);
    for (uplink, below) in &doubtful {
        let Some(stated) = options.pcie else { continue };
        let lanes = rates[*uplink].map_or(LANES, |link| link.lanes.max(below.lanes));
        rates[*uplink] = Some(Rate { kind: stated, lanes });
    }
    let mut unknown = Vec::new();
    for (index, device) in tree.devices.iter().enumerate() {
        let Some(parent) = device.parent else { continue };
        let (a, b) = (ids[index], ids[parent]);
        let Some((said, rate)) = device.link.zip(rates[index]) else {
            builder.data_sheet_link(a, b, LinkKind::OnDie, 1)?;
            continue;
        };
        let silent = PcieLink { kind: None, lanes: None };
        if said == silent && to_host(index) {
            continue;
        }
        if said.kind.is_none() || said.lanes.is_none() {
            unknown.push(device.name.as_str());
        }
        let (kind, bandwidth) = (rate.kind, rate.bandwidth());
        let latency = kind.data_sheet().latency;
        let (discipline, flits, measured) = (None, None, None);
        builder.link(Link {
            a,
            b,
            kind,
            count: 1,
            bandwidth,
            latency,
            discipline,
            flits,
            measured,
        })?;
    }
    if !unknown.is_empty() {
        builder.assume(format!(
            "The file does not give the whole PCIe link above {}; the rest is taken to be {} and 16 \
             lanes (option `pcie`).",
            unknown.join(", "),
            default.name()
        ));
    }
    tell(builder, tree, options.pcie, &doubtful, &rates);
    Ok(())
}

/// Finds the switches with a doubtful uplink, each with the fastest link anywhere below it.
fn doubtful(tree: &Tree, rates: &[Option<Rate>]) -> Vec<(usize, Rate)> {
    let mut fastest: Vec<Option<Rate>> = vec![None; rates.len()];
    let mut found = Vec::new();
    // Devices below another follow it in the file.
    for (index, device) in tree.devices.iter().enumerate().rev() {
        let says_speed = device.link.is_some_and(|link| link.kind.is_some());
        let is_switch = device.kind == DeviceKind::PcieSwitch && says_speed;
        let is_doubtful = |(own, below): &(Rate, Rate)| own.is_doubtful_above(*below);
        let both = rates[index].zip(fastest[index]);
        found.extend(
            both.filter(|it| is_switch && is_doubtful(it)).map(|(_, below)| (index, below)),
        );
        let Some(parent) = device.parent else { continue };
        let known = [fastest[parent], fastest[index], rates[index]].into_iter().flatten();
        fastest[parent] = known.max_by_key(|link| link.bandwidth());
    }
    found.reverse();
    found
}

fn tell(
    builder: &mut ServerBuilder,
    tree: &Tree,
    stated: Option<LinkKind>,
    doubtful: &[(usize, Rate)],
    rates: &[Option<Rate>],
) {
    let Some((first, below)) = doubtful.first() else { return };
    let names: Vec<&str> =
        doubtful.iter().map(|(uplink, _)| tree.devices[*uplink].name.as_str()).collect();
    let names = names.join(", ");
    let Some(own) = rates[*first] else { return };
    match stated {
        Some(kind) => builder.assume(format!(
            "The PCIe uplinks of {names} are taken to be {}, and not what the file says (option \
             `pcie`).",
            kind.name()
        )),
        None => builder.warn(format!(
            "The PCIe uplink of {names} is slower than a link below it: {} with {} lanes above {} \
             with {}. Idle bridges, and those of virtual machines, show such speeds. It is \
             taken to carry {} in each direction; give the option `pcie`, such as `{}`, if it is \
             faster.",
            own.kind.name(),
            own.lanes,
            below.kind.name(),
            below.lanes,
            own.bandwidth(),
            below.kind.name()
        )),
    }
}
