//! Turns one rank's events into operations.

use std::collections::{BTreeMap, BTreeSet};

use super::TraceOptions;
use super::calls::{OpenCalls, call_name, is_call};
use super::collectives::{self, Sizes};
use super::communicators::Communicators;
use super::error::{CallFault, TraceError};
use super::note::{Counts, is_mpi};
use super::steps::{Action, Step, Steps};
use crate::network::RouteClass;
use crate::program::otf2::{
    Archive, CollectiveRecord, EventKind, Location, Members, MessageEnd, Root,
};
use crate::program::{MOST_MESSAGE, Operation, PendingOperation, Rank, RankBuilder, RankProgram};
use crate::units::{Bytes, Picoseconds};

/// The events of a main loop: the first entry, and the last exit if the loop is left.
pub type Body = (usize, Option<usize>);

/// Holds everything that all ranks share.
pub struct Context<'a> {
    pub archive: &'a Archive,
    pub communicators: &'a Communicators,
    pub sizes: &'a Sizes,
    /// Gives the index of each kept region by its id.
    pub region_ids: BTreeMap<u32, u32>,
}

/// Finds the main loop of each rank.
///
/// # Errors
/// A named loop that a rank lacks or that a request crosses.
pub fn bodies(
    archive: &Archive,
    options: &TraceOptions,
    steps: &[Steps],
    counts: &mut Counts,
) -> Result<Vec<Option<Body>>, TraceError> {
    let region = super::main_loop(archive, options);
    let mut bodies = Vec::new();
    for (rank, steps) in steps.iter().enumerate() {
        let location = &archive.locations[archive.ranks[rank]];
        let body = body(archive, location, region);
        if body.is_none() && options.main_loop.is_some() {
            let known = entered(archive, location);
            let region = region.to_owned();
            return Err(TraceError::NoLoop { rank: rank as Rank, region, known });
        }
        let crossing = body.and_then(|body| crossing(steps, body));
        if let Some((start, event)) = crossing {
            let region = region.to_owned();
            if options.main_loop.is_none() {
                counts.not_marked = Some((region, rank as Rank));
                return Ok(vec![None; archive.ranks.len()]);
            }
            let call = call_name(archive, rank, event);
            let rank = rank as Rank;
            return Err(TraceError::RequestAcrossLoop { rank, start, event, call, region });
        }
        bodies.push(body);
    }
    Ok(bodies)
}

fn body(archive: &Archive, location: &Location, name: &str) -> Option<Body> {
    let named = |region: &u32| {
        let region = &archive.regions[region];
        &*region.name == name && !is_call(region)
    };
    let (mut body, mut open): (Option<Body>, usize) = (None, 0);
    for (index, event) in location.events.iter().enumerate() {
        match event.kind {
            EventKind::Enter { region } if named(&region) => {
                body = Some((body.map_or(index, |(first, _)| first), None));
                open += 1;
            }
            EventKind::Leave { region } if open > 0 && named(&region) => {
                open -= 1;
                if open == 0 {
                    body = body.map(|(first, _)| (first, Some(index)));
                }
            }
            _ => {}
        }
    }
    body
}

/// The names of the regions that a location enters, but for MPI calls.
fn entered(archive: &Archive, location: &Location) -> Vec<String> {
    let regions: BTreeSet<u32> = (location.events.iter())
        .filter_map(|event| match event.kind {
            EventKind::Enter { region } => Some(region),
            _ => None,
        })
        .collect();
    let regions = regions.iter().map(|region| &archive.regions[region]);
    regions.filter(|region| !is_call(region)).map(|region| region.name.to_string()).collect()
}

/// Finds the first request with only its start or only its end in the loop.
fn crossing(steps: &Steps, (first, last): Body) -> Option<(usize, usize)> {
    let inside = |event: usize| event > first && last.is_none_or(|last| event < last);
    steps.iter().find_map(|(event, step)| match step {
        Step::Complete(start) if inside(start) != inside(event) => Some((start, event)),
        _ => None,
    })
}

/// The time that a rank has computed, and how much of it is written.
struct Clock {
    ticks_per_second: u64,
    /// Up to when the rank's time is accounted for, in ticks of its clock.
    until: u64,
    ticks: u64,
    written: u64,
    recording: bool,
}

impl Clock {
    /// Goes on to a time. The time between is computation, or else nothing.
    fn advance(&mut self, time: u64, computing: bool) {
        if computing && self.recording {
            self.ticks += time.saturating_sub(self.until);
        }
        self.until = self.until.max(time);
    }

    /// The computation that is not written yet; `None` if there was too much.
    fn take(&mut self) -> Option<Picoseconds> {
        let (ticks, rate) = (u128::from(self.ticks), u128::from(self.ticks_per_second));
        let total = (ticks * 1_000_000_000_000 + rate / 2) / rate;
        let total = u64::try_from(total).ok()?;
        let duration = total - self.written;
        self.written = total;
        Some(Picoseconds(duration))
    }
}

/// Writes the program of one rank.
struct Writer<'a> {
    context: &'a Context<'a>,
    rank: Rank,
    steps: &'a Steps,
    program: RankBuilder,
    clock: Clock,
    calls: OpenCalls,
    /// The steps of the call that is open.
    call: Vec<(usize, Step)>,
    /// The region of the call that is open, as long as it holds no event of MPI.
    silent: Option<u32>,
    /// The operations that were started, by the event that started them.
    requests: BTreeMap<usize, PendingOperation>,
    /// How many collectives each communicator has seen.
    sequences: BTreeMap<u32, usize>,
}

/// Writes the program of a rank.
///
/// # Errors
/// Refuses a collective without its root, and more computation than 64 bits hold.
pub fn write_rank(
    context: &Context,
    rank: Rank,
    steps: &Steps,
    body: Option<Body>,
    counts: &mut Counts,
) -> Result<RankProgram, TraceError> {
    let archive = context.archive;
    let location = &archive.locations[archive.ranks[rank as usize]];
    let clock = Clock {
        ticks_per_second: archive.clock.ticks_per_second,
        until: location.events.first().map_or(0, |event| event.time),
        ticks: 0,
        written: 0,
        recording: true,
    };
    let mut writer = Writer {
        context,
        rank,
        steps,
        program: RankBuilder::default(),
        clock,
        calls: OpenCalls::default(),
        call: Vec::new(),
        silent: None,
        requests: BTreeMap::new(),
        sequences: BTreeMap::new(),
    };
    for (index, event) in location.events.iter().enumerate() {
        writer.clock.advance(event.time, !writer.calls.inside());
        if body.is_some_and(|(first, _)| first == index) {
            writer.compute()?;
            writer.program.begin_body();
        }
        writer.see(location, index, event.kind, counts)?;
        if body.is_some_and(|(_, last)| last == Some(index)) {
            writer.program.end_body();
        }
    }
    writer.finish_call(counts)?;
    writer.compute()?;
    if body.is_some_and(|(_, last)| last.is_none()) {
        writer.program.end_body();
    }
    Ok(writer.program.finish())
}

impl Writer<'_> {
    fn see(
        &mut self,
        location: &Location,
        index: usize,
        kind: EventKind,
        counts: &mut Counts,
    ) -> Result<(), TraceError> {
        let regions = &self.context.archive.regions;
        match kind {
            EventKind::Enter { region } if is_call(&regions[&region]) => {
                let outermost = !self.calls.inside();
                let cut = self.calls.enter(location, index, region);
                if cut {
                    self.finish_call(counts)?;
                }
                if cut || outermost {
                    self.silent = Some(region);
                }
            }
            EventKind::Leave { region } if is_call(&regions[&region]) => {
                if self.calls.leave(region) {
                    self.finish_call(counts)?;
                }
            }
            EventKind::Enter { region } => {
                if let Some(region) = self.context.region_ids.get(&region) {
                    self.compute()?;
                    self.program.run(Operation::Enter { region: *region });
                }
            }
            EventKind::Leave { region } => {
                if let Some(region) = self.context.region_ids.get(&region) {
                    self.compute()?;
                    self.program.run(Operation::Leave { region: *region });
                }
            }
            EventKind::MeasurementOnOff { on } => self.clock.recording = on,
            EventKind::BufferFlush { stop } => self.clock.advance(stop, false),
            _ => {
                if is_mpi(kind) {
                    self.silent = None;
                }
                if let Some(step) = self.steps.get(index) {
                    self.call.push((index, step));
                    if !self.calls.inside() {
                        self.finish_call(counts)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the computation up to now.
    fn compute(&mut self) -> Result<(), TraceError> {
        let rank = self.rank;
        let ticks_per_second = self.clock.ticks_per_second;
        let duration = self.clock.take().ok_or(TraceError::TooLong { rank, ticks_per_second })?;
        if duration.0 > 0 {
            self.program.run(Operation::Compute { duration });
        }
        Ok(())
    }

    /// Writes what the call that ends did.
    fn finish_call(&mut self, counts: &mut Counts) -> Result<(), TraceError> {
        if let Some(region) = self.silent.take() {
            let name = self.context.archive.regions[&region].name.to_string();
            *counts.silent.entry(name).or_default() += 1;
        }
        let mut actions = Vec::new();
        let mut completed = Vec::new();
        for (event, step) in std::mem::take(&mut self.call) {
            match step {
                Step::Blocking(action) => {
                    if let Some(operation) = self.operation(event, &action)? {
                        actions.push((None, operation));
                    }
                }
                Step::Start(action) => {
                    if let Some(operation) = self.operation(event, &action)? {
                        actions.push((Some(event), operation));
                    }
                }
                Step::Complete(start) => completed.push(start),
            }
        }
        // A collective of one rank is no operation, and nobody waits for it.
        completed.retain(|start| {
            let now = actions.iter().any(|(event, _)| *event == Some(*start));
            now || self.requests.contains_key(start)
        });
        if actions.is_empty() && completed.is_empty() {
            return Ok(());
        }
        self.compute()?;
        if let ([(None, only)], []) = (&actions[..], &completed[..]) {
            self.program.run(*only);
            return Ok(());
        }
        // Receives are posted before sends: that is how MPI_Sendrecv and MPI_Startall are made.
        actions.sort_by_key(|(_, operation)| !matches!(operation, Operation::Receive { .. }));
        let mut waits: Vec<PendingOperation> = Vec::new();
        for (start, operation) in actions {
            let request = self.program.start(operation);
            match start {
                Some(event) => drop(self.requests.insert(event, request)),
                None => waits.push(request),
            }
        }
        waits.extend(completed.iter().filter_map(|start| self.requests.remove(start)));
        if !waits.is_empty() {
            self.program.wait(&waits);
        }
        Ok(())
    }

    /// Returns the operation of an action; none for a collective of one rank.
    fn operation(
        &mut self,
        event: usize,
        action: &Action,
    ) -> Result<Option<Operation>, TraceError> {
        if let Action::Send(message) | Action::Receive(message) = action {
            self.check_size(event, message.length)?;
        }
        match action {
            Action::Send(message) => Ok(Some(Operation::Send {
                to: self.peer(message),
                tag: message.tag,
                communicator: self.context.communicators.id(message.communicator),
                size: message.length,
                route: RouteClass::Any,
            })),
            Action::Receive(message) => Ok(Some(Operation::Receive {
                from: Some(self.peer(message)),
                tag: Some(message.tag),
                communicator: self.context.communicators.id(message.communicator),
                size: message.length,
            })),
            Action::Collective(call) => self.collective(event, call),
        }
    }

    /// Refuses what no rank has the memory to send.
    fn check_size(&self, event: usize, size: Bytes) -> Result<(), TraceError> {
        if size <= MOST_MESSAGE {
            return Ok(());
        }
        let call = call_name(self.context.archive, self.rank as usize, event);
        Err(TraceError::Call { rank: self.rank, event, call, fault: CallFault::TooLarge { size } })
    }

    /// The other end of a message, as a rank of the program. The reader has checked that there
    /// is such a rank, and the communicators that they hold this one.
    fn peer(&self, message: &MessageEnd) -> Rank {
        match self.context.archive.communicators[&message.communicator].members {
            Members::Itself => self.rank,
            _ => self.context.communicators.members(message.communicator)[message.peer as usize],
        }
    }

    fn collective(
        &mut self,
        event: usize,
        call: &CollectiveRecord,
    ) -> Result<Option<Operation>, TraceError> {
        let Context { archive, communicators, sizes, .. } = self.context;
        let sequence = self.sequences.entry(call.communicator).or_default();
        let size = sizes.get(call, *sequence);
        *sequence += 1;
        let members = communicators.members(call.communicator);
        let alone = archive.communicators[&call.communicator].members == Members::Itself;
        if alone || members.len() == 1 {
            return Ok(None);
        }
        self.check_size(event, size)?;
        let kind = collectives::kind(call.operation);
        let root = match call.root {
            Root::Rank(place) => members.get(place as usize).copied(),
            Root::None | Root::ThisRank | Root::ThisGroup => None,
        };
        if kind.has_root() && root.is_none() {
            let call = call_name(archive, self.rank as usize, event);
            let fault = CallFault::NoRoot;
            return Err(TraceError::Call { rank: self.rank, event, call, fault });
        }
        let communicator = communicators.id(call.communicator);
        let root = if kind.has_root() { root.unwrap_or(0) } else { 0 };
        Ok(Some(Operation::Collective { kind, root, communicator, size }))
    }
}
