//! Turns a message into a command on the bus. It has a class, is written or read, and may have a
//! deadline.

use super::alone::alone_within;
use super::classes::{PacketType, Roots};
use super::schedule::Deadline;
use super::settings::PcieSettings;
use crate::network::opened::Insides;
use crate::network::paths::Way;
use crate::network::transport::Message;

/// Names a class of traffic in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::network) struct OfServer {
    pub(in crate::network) server: u32,
    pub(in crate::network) root: u32,
    pub(in crate::network) virtual_channel: u8,
}

/// A message as the bus sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::network) struct Command {
    /// Holds its class in its source's server and in its destination's; the same within one.
    pub(in crate::network) ends: [OfServer; 2],
    /// Whether copy engines make its packets, with payloads; else interfaces do, or nothing of it
    /// crosses the bus.
    pub(in crate::network) is_copy: bool,
    /// Whether its destination reads it.
    pub(in crate::network) is_read: bool,
    /// When it has to be there.
    pub(in crate::network) deadline: Option<Deadline>,
}

impl Command {
    /// Gives the roots whose channels it crosses, each once.
    pub(in crate::network) fn roots(&self) -> impl Iterator<Item = u32> + use<> {
        let [own, other] = self.ends.map(|it| it.root);
        std::iter::once(own).chain((own != other).then_some(other))
    }
}

/// Turns a message into its command on the bus from now on.
pub(in crate::network) fn command(
    settings: &PcieSettings,
    roots: &Roots,
    inside: &Insides<'_>,
    (message, way): (&Message, Way),
    now: u64,
) -> Command {
    let system = inside.system;
    let [from, to] = [message.source, message.destination].map(|end| inside.place(end));
    let end = |server, class: Option<(u32, u8)>| {
        let (root, virtual_channel) = class.unwrap_or((roots.first(server), 0));
        OfServer { server, root, virtual_channel }
    };
    let response = roots.class(system, from, PacketType::Response);
    let request = roots.class(system, to, PacketType::Request);
    let Way::Inside(path) = way else {
        let ends = [end(from.server, response), end(to.server, request)];
        return Command { ends, ..Command::default() };
    };
    let channels = inside.channels(from.server, path);
    let links = system.kind_of(from.server).server().links();
    let mut on_bus = channels.iter().map(|channel| links[*channel as usize / 2].kind.is_host_bus());
    let is_copy = on_bus.clone().next().unwrap_or(false);
    let is_read = is_copy && request.is_none() && response.is_some() && on_bus.all(|it| it);
    let ends = [end(from.server, request.or(response)); 2];
    let most = message.class.deadline.filter(|_| is_copy);
    let deadline = most.map(|most| {
        let of = (message.size, is_read);
        let alone = alone_within(settings, system, (from.server, channels), of);
        let span = u128::from(alone.time) * u128::from(most.get()) / 1000;
        let due = now.saturating_add(u64::try_from(span).unwrap_or(u64::MAX));
        Deadline { due, bandwidth: alone.bandwidth, behind: alone.behind }
    });
    Command { ends, is_copy, is_read, deadline }
}
