//! Finds the meaning of each event of a rank once its request is known from beginning to end.

use std::collections::BTreeMap;

use super::note::Counts;
use crate::program::otf2::{CollectiveRecord, Event, EventKind, MessageEnd};

/// Describes a message or a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends a message.
    Send(MessageEnd),
    /// Receives a message.
    Receive(MessageEnd),
    /// Takes part in a collective.
    Collective(CollectiveRecord),
}

/// Describes the effect of an event on the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The call goes on until the action is complete.
    Blocking(Action),
    /// The action starts.
    Start(Action),
    /// The call goes on until the action that started in this event is complete.
    Complete(usize),
}

/// The events of a rank that do something, by index.
#[derive(Debug, Default)]
pub struct Steps {
    steps: BTreeMap<usize, Step>,
}

/// A request that is open.
struct Open {
    start: usize,
    kind: OpenKind,
}

enum OpenKind {
    Send,
    Receive,
    /// Receives a probed message.
    Matched(MessageEnd),
    Collective,
}

/// Keeps the requests of a rank as its events go by.
#[derive(Default)]
struct Scan {
    steps: BTreeMap<usize, Step>,
    requests: BTreeMap<u64, Open>,
    /// Messages that a probe found, by their number; their length comes with the receive.
    probed: BTreeMap<u64, MessageEnd>,
}

impl Steps {
    /// Finds the steps of a rank's events.
    pub fn of(events: &[Event], counts: &mut Counts) -> Self {
        let mut scan = Scan::default();
        for (index, event) in events.iter().enumerate() {
            scan.see(index, event.kind, counts);
        }
        for open in scan.requests.into_values() {
            count_unfinished(&open, counts);
        }
        Self { steps: scan.steps }
    }

    /// Returns the step of an event, if it makes one.
    pub fn get(&self, event: usize) -> Option<Step> {
        self.steps.get(&event).copied()
    }

    /// The events that do something, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Step)> {
        self.steps.iter().map(|(event, step)| (*event, *step))
    }

    /// Lists the actions in the order in which they start.
    pub fn actions(&self) -> impl Iterator<Item = (usize, Action)> {
        self.iter().filter_map(|(event, step)| match step {
            Step::Blocking(action) | Step::Start(action) => Some((event, action)),
            Step::Complete(_) => None,
        })
    }
}

fn count_unfinished(open: &Open, counts: &mut Counts) {
    match open.kind {
        OpenKind::Send => counts.unwaited += 1,
        OpenKind::Receive | OpenKind::Matched(_) | OpenKind::Collective => counts.open += 1,
    }
}

impl Scan {
    fn see(&mut self, index: usize, kind: EventKind, counts: &mut Counts) {
        match kind {
            EventKind::MpiSend(message) => self.block(index, Action::Send(message)),
            EventKind::MpiRecv(message) => self.block(index, Action::Receive(message)),
            EventKind::MpiCollectiveEnd(call) => self.block(index, Action::Collective(call)),
            EventKind::MpiMrecv { message, length } => {
                if let Some(probed) = self.probed.remove(&message) {
                    self.block(index, Action::Receive(MessageEnd { length, ..probed }));
                } else {
                    counts.open += 1;
                }
            }
            EventKind::MpiIsend { message, request } => {
                self.steps.insert(index, Step::Start(Action::Send(message)));
                self.open(index, request, OpenKind::Send, counts);
            }
            EventKind::MpiIrecvRequest { request } => {
                self.open(index, request, OpenKind::Receive, counts);
            }
            EventKind::MpiImrecvRequest { message, request } => {
                match self.probed.remove(&message) {
                    Some(probed) => {
                        self.open(index, request, OpenKind::Matched(probed), counts);
                    }
                    None => counts.open += 1,
                }
            }
            EventKind::NonBlockingCollectiveRequest { request } => {
                self.open(index, request, OpenKind::Collective, counts);
            }
            EventKind::MpiIsendComplete { request } => match self.requests.remove(&request) {
                Some(Open { start, kind: OpenKind::Send }) => {
                    self.steps.insert(index, Step::Complete(start));
                }
                Some(open) => count_unfinished(&open, counts),
                // It was sent before the recording began: there is nothing to wait for.
                None => {}
            },
            EventKind::MpiIrecv { message, request } => {
                self.complete(index, request, Action::Receive(message), counts);
            }
            EventKind::MpiImrecv { request, length } => {
                if let Some(Open { kind: OpenKind::Matched(probed), .. }) =
                    self.requests.get(&request)
                {
                    let action = Action::Receive(MessageEnd { length, ..*probed });
                    self.complete(index, request, action, counts);
                }
            }
            EventKind::NonBlockingCollectiveComplete { call, request } => {
                self.complete(index, request, Action::Collective(call), counts);
            }
            EventKind::MpiRequestCancelled { request } => {
                counts.cancelled += 1;
                if let Some(open) = self.requests.remove(&request) {
                    self.steps.remove(&open.start);
                }
            }
            EventKind::MpiProbe { sender, communicator, tag, message } => {
                let length = crate::units::Bytes(0);
                let probed = MessageEnd { peer: sender, communicator, tag, length };
                self.probed.insert(message, probed);
            }
            EventKind::Enter { .. }
            | EventKind::Leave { .. }
            | EventKind::MpiRequestTest { .. }
            | EventKind::MpiCollectiveBegin
            | EventKind::MeasurementOnOff { .. }
            | EventKind::BufferFlush { .. }
            | EventKind::ParameterString { .. }
            | EventKind::ParameterInt { .. }
            | EventKind::ParameterUnsignedInt { .. }
            | EventKind::Other { .. } => {}
        }
    }

    fn block(&mut self, index: usize, action: Action) {
        self.steps.insert(index, Step::Blocking(action));
    }

    /// Notes a request. Where its number is in use, the older one was freed and is never found
    /// complete.
    fn open(&mut self, start: usize, request: u64, kind: OpenKind, counts: &mut Counts) {
        if let Some(freed) = self.requests.insert(request, Open { start, kind }) {
            count_unfinished(&freed, counts);
        }
    }

    /// Completes a receive or a collective, which is known only now.
    fn complete(&mut self, index: usize, request: u64, action: Action, counts: &mut Counts) {
        let open = self.requests.remove(&request);
        let fits = |kind: &OpenKind| match action {
            Action::Collective(_) => matches!(kind, OpenKind::Collective),
            _ => matches!(kind, OpenKind::Receive | OpenKind::Matched(_)),
        };
        match open {
            Some(open) if fits(&open.kind) => {
                self.steps.insert(open.start, Step::Start(action));
                self.steps.insert(index, Step::Complete(open.start));
            }
            other => {
                counts.late += 1;
                other.iter().for_each(|open| count_unfinished(open, counts));
                self.block(index, action);
            }
        }
    }
}
