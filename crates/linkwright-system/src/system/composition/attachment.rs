//! Which network interface is at which port of the fabric.

use super::ServerKind;
use super::numbers::{Counts, Numbers};
use crate::diagnostic::Named;
use crate::system::fabric::{Fabric, NodeId};

/// Orders the network interfaces as they take the ports of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PortOrder {
    /// Goes server by server: all interfaces of the first, then those of the second.
    #[default]
    Plain,
    /// Goes rail by rail: the first interface of every server, then every second, so that
    /// interfaces of one rail share the fabric's first switches.
    Rails,
}

impl Named for PortOrder {
    const WHAT: &'static str = "order of ports";
    const NAMED: &'static [(&'static str, Self)] =
        &[("plain", Self::Plain), ("rails", Self::Rails)];
}

/// Through which network interface of its server a GPU sends to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum InterfaceRule {
    /// The one nearest to it on the host; of equally near ones the wider, then the one that fewer
    /// GPUs before it have.
    #[default]
    Nearest,
    /// GPU `i` through interface `i` modulo their number, wherever it is.
    InTurn,
    /// All through the first, as where one cable is plugged in.
    First,
}

impl Named for InterfaceRule {
    const WHAT: &'static str = "rule for interfaces";
    const NAMED: &'static [(&'static str, Self)] =
        &[("nearest", Self::Nearest), ("in-turn", Self::InTurn), ("first", Self::First)];
}

/// Counts the interfaces that lie on rails before one, of all servers.
fn on_rails_before(numbers: &Numbers, rail: u32) -> u32 {
    numbers.rows().map(|(_, count, each)| count * each.nics.min(rail)).sum()
}

/// Returns the port of an interface.
pub(super) fn port_of(order: PortOrder, numbers: &Numbers, nic: u32) -> NodeId {
    if order == PortOrder::Plain {
        return nic;
    }
    let at = numbers.place(nic, |counts| counts.nics);
    let before_in_rail: u32 = numbers
        .rows()
        .filter(|(first, _, each)| *first <= at.server && each.nics > at.index)
        .map(|(first, count, _)| count.min(at.server - first))
        .sum();
    on_rails_before(numbers, at.index) + before_in_rail
}

/// Returns the interface at a port.
pub(super) fn nic_of(order: PortOrder, numbers: &Numbers, port: NodeId) -> Option<u32> {
    if port >= numbers.total().nics {
        return None;
    }
    if order == PortOrder::Plain {
        return Some(port);
    }
    let most = numbers.rows().map(|(_, _, each)| each.nics).max()?;
    let rail = (0..most).rev().find(|rail| on_rails_before(numbers, *rail) <= port)?;
    let mut left = port - on_rails_before(numbers, rail);
    for (first, count, each) in numbers.rows().filter(|(_, _, each)| each.nics > rail) {
        if left < count {
            return Some(numbers.first(first, |it| it.nics) + left * each.nics + rail);
        }
        left -= count;
    }
    None
}

/// Names servers on a fabric for people: `4xdgx1-v100 on fat-tree-16`.
pub(super) fn name(kinds: &[ServerKind], rows: &[(u32, u32, Counts)], fabric: &Fabric) -> String {
    let servers: Vec<String> = rows
        .iter()
        .map(|(kind, count, _)| {
            let name = kinds[*kind as usize].server().name();
            if *count == 1 { name.to_owned() } else { format!("{count}x{name}") }
        })
        .collect();
    format!("{} on {}", servers.join("+"), fabric.name())
}
