//! Reads a location's event file.

use super::archive::Archive;
use super::bytes::File;
use super::event::{CollectiveOperation, CollectiveRecord, Event, EventKind, MessageEnd, Root};
use super::local::{LocalDefinitions, Mapped};
use super::records::{Content, Record, Records, TIMESTAMP};
use crate::diagnostic::InputError;
use crate::units::Bytes;

/// Marks the record of attributes that belong to the next event.
const ATTRIBUTES: u8 = 6;
/// The roots of collectives that are no ranks.
const ROOT_NONE: u32 = u32::MAX;
const ROOT_THIS_RANK: u32 = u32::MAX - 1;
const ROOT_THIS_GROUP: u32 = u32::MAX - 2;
const MEASUREMENT_ON: u8 = 1;
const MEASUREMENT_OFF: u8 = 2;

/// Resolves the references of a location's events: it holds their meaning.
struct Reader<'a> {
    local: &'a LocalDefinitions,
    archive: &'a Archive,
}

/// Reads an event file; the archive has its global definitions already.
pub(super) fn read(
    file: File,
    chunk_size: u64,
    local: &LocalDefinitions,
    archive: &Archive,
) -> Result<Vec<Event>, InputError> {
    let reader = Reader { local, archive };
    let mut records = Records::new(file, Content::Events, chunk_size)?;
    let mut events = Vec::new();
    let mut now = None;
    while let Some(mut record) = records.next()? {
        match (record.kind, now) {
            (TIMESTAMP, before) => {
                let time = record.body.fixed(8, "a timestamp")?;
                if before.is_some_and(|before| before > time) {
                    let problem = "the time is before that of the event before";
                    return Err(record.refuse(problem, &time.to_string()));
                }
                now = Some(time);
            }
            (ATTRIBUTES, _) => {}
            (_, Some(time)) => events.push(Event { time, kind: reader.event(&mut record)? }),
            (_, None) => {
                let problem = "an event comes before the first time";
                return Err(record.refuse(problem, &record.kind.to_string()));
            }
        }
    }
    Ok(events)
}

impl Reader<'_> {
    fn event(&self, record: &mut Record) -> Result<EventKind, InputError> {
        Ok(match record.kind {
            10 => EventKind::BufferFlush { stop: record.body.fixed(8, "the end of a flush")? },
            11 => EventKind::MeasurementOnOff { on: measurement_on(record)? },
            12 => EventKind::Enter { region: self.region(record)? },
            13 => EventKind::Leave { region: self.region(record)? },
            14 => EventKind::MpiSend(self.message(record)?),
            15 => {
                let message = self.message(record)?;
                EventKind::MpiIsend { message, request: request(record)? }
            }
            16 => EventKind::MpiIsendComplete { request: request(record)? },
            17 => EventKind::MpiIrecvRequest { request: request(record)? },
            18 => EventKind::MpiRecv(self.message(record)?),
            19 => {
                let message = self.message(record)?;
                EventKind::MpiIrecv { message, request: request(record)? }
            }
            20 => EventKind::MpiRequestTest { request: request(record)? },
            21 => EventKind::MpiRequestCancelled { request: request(record)? },
            22 => EventKind::MpiCollectiveBegin,
            23 => EventKind::MpiCollectiveEnd(self.collective(record)?),
            32 => {
                let parameter = self.parameter(record)?;
                EventKind::ParameterString { parameter, string: self.string(record)? }
            }
            33 => {
                let parameter = self.parameter(record)?;
                EventKind::ParameterInt { parameter, value: record.body.i64("a parameter")? }
            }
            34 => {
                let parameter = self.parameter(record)?;
                let value = record.body.u64("a parameter")?;
                EventKind::ParameterUnsignedInt { parameter, value }
            }
            85 => EventKind::NonBlockingCollectiveRequest { request: request(record)? },
            86 => {
                let call = self.collective(record)?;
                EventKind::NonBlockingCollectiveComplete { call, request: request(record)? }
            }
            89 => self.probe(record)?,
            90 => EventKind::MpiMrecv { message: probed(record)?, length: length(record)? },
            91 => {
                let message = probed(record)?;
                EventKind::MpiImrecvRequest { message, request: request(record)? }
            }
            92 => EventKind::MpiImrecv { request: request(record)?, length: length(record)? },
            other => EventKind::Other { record: other },
        })
    }

    /// The global id of the next reference, which must be one that is defined.
    fn reference(
        &self,
        record: &mut Record,
        of: Mapped,
        what: &str,
        is_defined: impl Fn(u32) -> bool,
    ) -> Result<u32, InputError> {
        let global = self.local.global(of, record.body.u32(what)?);
        match u32::try_from(global).ok().filter(|id| is_defined(*id)) {
            Some(id) => Ok(id),
            None => {
                let problem = format!("an event refers to {what} that is not defined");
                Err(record.refuse(&problem, &global.to_string()))
            }
        }
    }

    fn region(&self, record: &mut Record) -> Result<u32, InputError> {
        let is_defined = |id| self.archive.regions.contains_key(&id);
        self.reference(record, Mapped::REGION, "a region", is_defined)
    }

    fn communicator(&self, record: &mut Record) -> Result<u32, InputError> {
        let is_defined = |id| self.archive.communicators.contains_key(&id);
        self.reference(record, Mapped::COMMUNICATOR, "a communicator", is_defined)
    }

    fn parameter(&self, record: &mut Record) -> Result<u32, InputError> {
        let is_defined = |id| self.archive.parameters.contains_key(&id);
        self.reference(record, Mapped::PARAMETER, "a parameter", is_defined)
    }

    fn string(&self, record: &mut Record) -> Result<u32, InputError> {
        let is_defined = |id| self.archive.strings.contains_key(&id);
        self.reference(record, Mapped::STRING, "a string", is_defined)
    }

    /// Refuses a rank that the communicator, which is defined, does not have.
    fn check_rank(&self, record: &Record, communicator: u32, rank: u32) -> Result<(), InputError> {
        let size = self.archive.communicators[&communicator].members.most_peers();
        if (rank as usize) < size {
            return Ok(());
        }
        let problem = format!("the communicator {communicator} has {size} ranks, not this one");
        Err(record.refuse(&problem, &rank.to_string()))
    }

    fn message(&self, record: &mut Record) -> Result<MessageEnd, InputError> {
        let peer = record.body.u32("a message's peer")?;
        let communicator = self.communicator(record)?;
        self.check_rank(record, communicator, peer)?;
        let tag = record.body.u32("a message's tag")?;
        Ok(MessageEnd { peer, communicator, tag, length: length(record)? })
    }

    fn probe(&self, record: &mut Record) -> Result<EventKind, InputError> {
        let sender = record.body.u32("a message's sender")?;
        let communicator = self.communicator(record)?;
        self.check_rank(record, communicator, sender)?;
        let tag = record.body.u32("a message's tag")?;
        Ok(EventKind::MpiProbe { sender, communicator, tag, message: probed(record)? })
    }

    fn collective(&self, record: &mut Record) -> Result<CollectiveRecord, InputError> {
        let operation = CollectiveOperation::of(record.body.byte("a collective's operation")?);
        let communicator = self.communicator(record)?;
        let root = match record.body.u32("a collective's root")? {
            ROOT_NONE => Root::None,
            ROOT_THIS_RANK => Root::ThisRank,
            ROOT_THIS_GROUP => Root::ThisGroup,
            rank => {
                self.check_rank(record, communicator, rank)?;
                Root::Rank(rank)
            }
        };
        let sent = Bytes(record.body.u64("the bytes that a collective sent")?);
        let received = Bytes(record.body.u64("the bytes that a collective received")?);
        Ok(CollectiveRecord { operation, communicator, root, sent, received })
    }
}

fn request(record: &mut Record) -> Result<u64, InputError> {
    record.body.u64("a request's number")
}

fn probed(record: &mut Record) -> Result<u64, InputError> {
    record.body.u64("a probed message's number")
}

fn length(record: &mut Record) -> Result<Bytes, InputError> {
    record.body.u64("a message's length").map(Bytes)
}

fn measurement_on(record: &mut Record) -> Result<bool, InputError> {
    match record.body.byte("whether the recording is on")? {
        MEASUREMENT_ON => Ok(true),
        MEASUREMENT_OFF => Ok(false),
        other => Err(record.refuse("the recording is neither on nor off", &other.to_string())),
    }
}
