//! Lets the flows of a [`FlowTransport`](super::FlowTransport) share the PCIe bus of servers, by
//! [classes](super::flow_classes).

use super::flow::{FlowId, FlowNetwork};
use super::flow_classes::FlowClasses;
use super::opened::Insides;
use super::outstanding::Transfer;
use super::paths::Way;
use super::pcie::{PcieSettings, Roots, command};
use super::transport::MessageIndex;
use crate::system::composition::ServerPlace;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Holds the bus of all servers.
#[derive(Debug, Clone)]
pub(super) struct FlowBus {
    settings: PcieSettings,
    roots: Roots,
    /// Keeps the commands by the index of their messages.
    pub(super) classes: FlowClasses,
}

impl FlowBus {
    pub(super) fn new(settings: PcieSettings, inside: &Insides<'_>) -> Self {
        let (roots, classes) = (inside.roots(), FlowClasses::new(&settings));
        Self { settings, roots, classes }
    }

    /// Gives the data that a channel of a server carries in a second; None for a channel outside
    /// the bus.
    pub(super) fn data_rate(&self, inside: &Insides<'_>, at: ServerPlace) -> Option<Bandwidth> {
        let link = inside.link(at)?;
        link.kind.is_host_bus().then(|| self.settings.data_rate(link))
    }

    /// Gives the bytes of data in the first packet of a copy.
    pub(super) fn first_packet(&self, size: Bytes) -> u64 {
        size.0.min(self.settings.payload.0)
    }

    /// A flow starts: where it carries a copy over the bus, the classes are mapped anew. Returns
    /// whether its destination has to ask for it.
    pub(super) fn begin(
        &mut self,
        started: (MessageIndex, FlowId),
        transfer: &Transfer<Way>,
        (inside, flows): (&Insides<'_>, &mut FlowNetwork),
        now: Picoseconds,
    ) -> bool {
        let of = (&transfer.message, transfer.progress);
        let command = command(&self.settings, &self.roots, inside, of, now.0);
        if command.is_copy {
            self.classes.begin(started, (command, transfer.message.size), flows, now);
        }
        command.is_copy && command.is_read
    }
}
