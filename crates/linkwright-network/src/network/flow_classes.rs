//! Lets flows share the PCIe bus. The flows of the virtual channel that goes first take all that
//! they can of every link, then those of the next.
//!
//! Everything that [`pcie`](super::pcie) leaves out is left out here, too. So is the bound on how
//! long the first packet of a queue waits, as the few packets that it lets pass change little. So
//! are the classes of messages that leave their server, which are the lowest.

use super::flow::{FlowId, FlowNetwork};
use super::pcie::{Command, PcieSettings, Schedule};
use super::transport::MessageIndex;
use crate::units::{Bytes, Picoseconds};

/// How long at least until the deadlines are looked at again.
const SHORTEST_LOOK: u64 = 10_000;

/// A command and the flow that carries it.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    command: Command,
    flow: FlowId,
}

/// Keeps the commands under way, as the classes of their flows.
#[derive(Debug, Clone)]
pub(super) struct FlowClasses {
    schedule: Schedule,
    /// Holds the commands by their indices.
    commands: Vec<Option<UnderWay>>,
}

impl FlowClasses {
    pub(super) fn new(settings: &PcieSettings) -> Self {
        Self { schedule: Schedule::new(settings), commands: Vec::new() }
    }

    /// Starts a flow that carries a given number of bytes of a command, and maps the classes anew.
    pub(super) fn begin(
        &mut self,
        (index, flow): (MessageIndex, FlowId),
        (command, size): (Command, Bytes),
        flows: &mut FlowNetwork,
        now: Picoseconds,
    ) {
        if self.commands.len() <= index as usize {
            self.commands.resize(index as usize + 1, None);
        }
        let root = command.ends[0].root;
        self.correct(root, flows);
        self.commands[index as usize] = Some(UnderWay { command, flow });
        self.schedule.begin_at_both(index, &command, size.0);
        self.set_classes(root, flows, now);
    }

    /// The flow of an index has ended, whatever it carried.
    pub(super) fn end(&mut self, index: MessageIndex) {
        let ended = self.commands.get_mut(index as usize).and_then(Option::take);
        for root in ended.iter().flat_map(|it| it.command.roots()) {
            self.schedule.end(index, root);
        }
    }

    /// Raises the classes whose deadlines would pass; returns when to look again.
    pub(super) fn raise(
        &mut self,
        flows: &mut FlowNetwork,
        now: Picoseconds,
    ) -> Option<Picoseconds> {
        let watched: Vec<u32> = self.schedule.watched().collect();
        let mut next = None;
        for root in watched {
            self.correct(root, flows);
            self.set_classes(root, flows, now);
            let look = self.schedule.next_raise(root, now.0);
            let look = look.map(|look| look.max(now.0.saturating_add(SHORTEST_LOOK)));
            next = next.into_iter().chain(look).min();
        }
        next.map(Picoseconds)
    }

    fn correct(&mut self, root: u32, flows: &FlowNetwork) {
        let under_way = |message: MessageIndex| self.commands.get(message as usize)?.as_ref();
        self.schedule.correct(root, |message| Some(flows.remaining(under_way(message)?.flow).0));
    }

    fn set_classes(&self, root: u32, flows: &mut FlowNetwork, now: Picoseconds) {
        for message in self.schedule.messages(root) {
            if let Some(UnderWay { command, flow }) = self.commands[message as usize] {
                let class = command.ends[0].virtual_channel;
                flows.set_class(flow, self.schedule.level(root, class, now.0));
            }
        }
    }
}
