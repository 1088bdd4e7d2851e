//! Turns operations on memory into steps of a schedule.
//!
//! A `put` and the signal behind it are a step that sends. The wait for that signal is a step that
//! receives, to where the data has landed. Where only the operation behind the wait reads what
//! lands, both are one step. Then the place where it landed is no longer needed.

use std::collections::BTreeMap;

use super::blocks::{Channel, Joined, Line, far, signals, waits};
use super::json::Source;
use super::landings::Touched;
use super::raw::{Op, Plan, Run, Side};
use crate::collectives::schedule::{Slice, StepOperation};
use crate::diagnostic::InputError;

/// A step, before its block is known.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) operation: StepOperation,
    pub(super) source: Option<Slice>,
    pub(super) destination: Option<Slice>,
    pub(super) count: u32,
    /// Lines and their steps that must have ended.
    pub(super) after: Vec<(usize, usize)>,
    /// The connection that it receives on, by its sending end.
    pub(super) receives: Option<Channel>,
    /// The channel that it sends on.
    pub(super) sends: Option<Channel>,
}

/// A run that has landed and not been read yet.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    place: Slice,
    count: u32,
    channel: Channel,
}

/// Names a semaphore that a line acquires before a step.
struct Acquired {
    line: usize,
    step: usize,
    semaphore: (usize, usize),
}

/// The steps of every line; `apart` keeps what is sent and what is received in steps of their own.
pub(super) fn steps(
    source: &Source,
    plan: &Plan,
    joined: &Joined,
    apart: bool,
) -> Result<Vec<Vec<Step>>, InputError> {
    let touched = Touched::of(plan, joined);
    let mut lines = Vec::with_capacity(joined.lines.len());
    let mut releases: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    let mut acquires: Vec<Acquired> = Vec::new();
    for (at, line) in joined.lines.iter().enumerate() {
        let may_fuse = !apart && joined.has_one_peer_each_way(line);
        let mut writer = Writer::new((source, plan), joined, &touched[line.rank], line, may_fuse);
        let mut ops = line.ops.iter().peekable();
        while let Some(op) = ops.next() {
            if writer.write(op, ops.peek())? {
                ops.next();
            }
            let step = writer.steps.len();
            for id in &op.semaphores {
                let semaphore = (line.rank, *id);
                if op.name == "sem_release" {
                    releases.entry(semaphore).or_default().push((at, step));
                } else if op.name == "sem_acquire" {
                    acquires.push(Acquired { line: at, step, semaphore });
                }
            }
        }
        writer.land();
        lines.push(writer.steps);
    }
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for Acquired { line, step, semaphore } in acquires {
        let given = releases.get(&semaphore).map_or(&[][..], Vec::as_slice);
        let nth = counts.entry(semaphore).or_default();
        *nth += 1;
        let initial = plan.gpus[semaphore.0].semaphores[semaphore.1] as usize;
        let from_one = given.iter().all(|(other, _)| *other == given[0].0);
        // Of several lines that release, all have once as many were acquired, and none for sure before.
        let ended: &[(usize, usize)] = match nth.checked_sub(initial) {
            Some(taken) if taken > 0 && from_one => given.get(taken - 1..taken).unwrap_or(&[]),
            Some(taken) if taken == given.len() => given,
            _ => &[],
        };
        let ended = ended.iter().filter(|(other, steps)| *other != line && *steps > 0);
        let ended: Vec<(usize, usize)> = ended.map(|(other, steps)| (*other, steps - 1)).collect();
        if let Some(step) = lines[line].get_mut(step) {
            step.after.extend(ended);
        }
    }
    Ok(lines)
}

/// Writes the steps of one line.
struct Writer<'w, 'a, 'n> {
    source: &'w Source<'w>,
    plan: &'w Plan<'n>,
    joined: &'w Joined<'a, 'n>,
    touched: &'w Touched,
    rank: usize,
    may_fuse: bool,
    steps: Vec<Step>,
    arrivals: Vec<Arrival>,
    /// Steps whose signal is still to come, with the rank that they send to.
    unsignalled: Vec<(usize, usize)>,
    /// How often each channel was waited on.
    seen: BTreeMap<Channel, usize>,
}

impl<'w, 'a, 'n> Writer<'w, 'a, 'n> {
    fn new(
        (source, plan): (&'w Source<'w>, &'w Plan<'n>),
        joined: &'w Joined<'a, 'n>,
        touched: &'w Touched,
        line: &Line,
        may_fuse: bool,
    ) -> Self {
        let (steps, arrivals, unsignalled, seen) = Default::default();
        let rank = line.rank;
        Self { source, plan, joined, touched, rank, may_fuse, steps, arrivals, unsignalled, seen }
    }

    /// Writes an operation; whether the next one is written with it.
    fn write(&mut self, op: &Op, next: Option<&&&Op>) -> Result<bool, InputError> {
        if matches!(op.name, "sem_release" | "sem_acquire") {
            self.land();
        }
        if waits(op) {
            self.wait(op);
        }
        let mut is_next_written = false;
        if matches!(op.name, "put" | "pws" | "pwsf" | "copy" | "re" | "res") {
            let runs = self.runs(op)?;
            is_next_written = self.together(op, &runs, next).unwrap_or(false);
            if !is_next_written && !self.alone(op, &runs) {
                self.land();
                self.apart(op, &runs);
            }
        } else if !matches!(op.name, "nop" | "flush" | "pipeline" | "sem_release" | "sem_acquire")
            && !signals(op)
            && !waits(op)
        {
            let problem = format!("the executor knows `{}`, and it is not read here", op.name);
            let remedy = "write the plan with put, copy, re, res, signal, wait and semaphores";
            return Err(self.source.refuse(op.node, problem, remedy));
        }
        if signals(op) {
            let Some(way) = op.way else { return Ok(is_next_written) };
            for index in &op.channels {
                let peer = self.plan.gpus[self.rank].peers[way as usize][*index];
                let sent = self.unsignalled.iter().filter(|(_, to)| *to == peer);
                for (step, _) in sent {
                    self.steps[*step].sends = Some((self.rank, way, *index));
                }
                self.unsignalled.retain(|(_, to)| *to != peer);
            }
        }
        Ok(is_next_written)
    }

    /// Takes what has come with the signals that an operation waits for.
    fn wait(&mut self, op: &Op) {
        let Some(way) = op.way else { return };
        for index in &op.channels {
            let own = (self.rank, way, *index);
            let Some(channel) = self.joined.ends.get(&own).copied() else { continue };
            let nth = self.seen.entry(own).or_default();
            let message = self.joined.messages.get(&channel).and_then(|all| all.get(*nth));
            *nth += 1;
            self.arrivals.extend(message.into_iter().flatten().map(|(buffer, offset, count)| {
                let place = Slice { buffer: *buffer, offset: *offset };
                Arrival { place, count: *count, channel }
            }));
        }
    }

    /// Gives the runs of an operation. There must be as many as the kernel takes, and all alike.
    fn runs(&self, op: &Op) -> Result<Runs, InputError> {
        let refuse =
            |problem: &str, remedy: &str| Err(self.source.refuse(op.node, problem, remedy));
        let mut runs = Runs::default();
        for run in &op.sources {
            match run.side {
                Side::Own(buffer) => runs.sources.push(Slice { buffer, offset: run.index }),
                _ => return refuse("it reads what is not its rank's", "read own buffers only"),
            }
        }
        for run in &op.destinations {
            match (far(run), run.side) {
                (Some((rank, _)), _) => runs.peers.push(rank),
                (None, Side::Own(buffer)) => {
                    runs.kept.push(Slice { buffer, offset: run.index });
                }
                _ => return refuse("it writes through a switch", "write `glres` for that"),
            }
        }
        let (sources, kept, peers) = (runs.sources.len(), runs.kept.len(), runs.peers.len());
        let fits = match op.name {
            "copy" => (sources, kept, peers) == (1, 1, 0),
            "re" => sources >= 2 && kept == 1 && peers == 0,
            "res" => {
                let first_is_own = op.destinations.first().is_some_and(|run| far(run).is_none());
                sources >= 2 && kept == 1 && peers >= 1 && first_is_own
            }
            _ => sources == peers && kept == 0 && peers >= 1,
        };
        if !fits {
            let problem = "the kernel takes another number of `src_buff` and `dst_buff`";
            return refuse(problem, "give copy one of each, re two or more and one, put pairs");
        }
        let all: Vec<&Run> = op.sources.iter().chain(&op.destinations).collect();
        if all.iter().any(|run| run.size != all[0].size) {
            return refuse("its runs have different sizes", "give all the same `size`");
        }
        if op.name == "put" && op.sources.iter().any(|run| run.side != op.sources[0].side) {
            return refuse("the kernel reads all from one buffer", "give each its own put");
        }
        if matches!(op.name, "pws" | "pwsf") && op.way != Some(super::raw::Way::Port) {
            return refuse("on memory channels the kernel sends no signal here", "put and signal");
        }
        if op.share.is_some_and(|(_, blocks)| blocks > 1) {
            return refuse(
                "a group of blocks that divides this is not read here",
                "leave out `tbg_info`",
            );
        }
        runs.count = all[0].size;
        Ok(runs)
    }

    /// Gives the arrival at a place that only `touches` operations touch, if it is the next of its
    /// channel.
    fn arrival(&self, place: Slice, count: u32, touches: usize) -> Option<usize> {
        let at = self.arrivals.iter().position(|it| (it.place, it.count) == (place, count))?;
        let channel = self.arrivals[at].channel;
        let is_first = !self.arrivals[..at].iter().any(|it| it.channel == channel);
        let is_alone = self.touched.times(place, count) == Some(touches);
        (is_first && is_alone).then_some(at)
    }

    fn push(&mut self, operation: StepOperation, sides: [Option<Slice>; 2], count: u32) {
        let [source, destination] = sides;
        let (after, receives, sends) = (Vec::new(), None, None);
        self.steps.push(Step { operation, source, destination, count, after, receives, sends });
    }

    /// As [`Self::push`], of what has landed.
    fn push_arrived(
        &mut self,
        at: usize,
        operation: StepOperation,
        sides: [Option<Slice>; 2],
        to: Option<usize>,
    ) {
        let arrival = self.arrivals.remove(at);
        if let Some(to) = to {
            self.unsignalled.push((self.steps.len(), to));
        }
        self.push(operation, sides, arrival.count);
        if let Some(step) = self.steps.last_mut() {
            step.receives = Some(arrival.channel);
        }
    }

    /// Data that has landed is sent on and kept, by two operations.
    fn together(&mut self, op: &Op, runs: &Runs, next: Option<&&&Op>) -> Option<bool> {
        let next = next.filter(|next| next.name == "copy" && op.name == "put" && self.may_fuse)?;
        let then = self.runs(next).ok()?;
        let (&[from], &[to]) = (&runs.sources[..], &runs.peers[..]) else { return None };
        if then.sources != [from] || then.count != runs.count {
            return None;
        }
        let at = self.arrival(from, runs.count, 3)?;
        let sides = [None, Some(then.kept[0])];
        self.push_arrived(at, StepOperation::ReceiveCopySend, sides, Some(to));
        Some(true)
    }

    /// One operation on what has landed, as one step; whether it is.
    fn alone(&mut self, op: &Op, runs: &Runs) -> bool {
        let landed = runs.sources.last().and_then(|place| self.arrival(*place, runs.count, 2));
        let Some(at) = landed else { return false };
        let place = self.arrivals[at].place;
        let kept = runs.kept.first().copied();
        let (operation, sides) = match (op.name, &runs.sources[..], &runs.peers[..]) {
            ("copy", ..) => (StepOperation::Receive, [None, kept]),
            ("re", [own, _], _) if kept != Some(place) => {
                (StepOperation::ReceiveReduceCopy, [Some(*own), kept])
            }
            ("res", [own, _], [_]) if self.may_fuse && kept == Some(place) => {
                (StepOperation::ReceiveReduceSend, [Some(*own), None])
            }
            ("res", [own, _], [_]) if self.may_fuse => {
                (StepOperation::ReceiveReduceCopySend, [Some(*own), kept])
            }
            _ => return false,
        };
        self.push_arrived(at, operation, sides, runs.peers.first().copied());
        true
    }

    /// Steps of their own for what an operation does within the rank and for what it sends.
    fn apart(&mut self, op: &Op, runs: &Runs) {
        let count = runs.count;
        if let (Some(kept), [first, rest @ ..]) = (runs.kept.first().copied(), &runs.sources[..]) {
            // Data that is already there need not be copied, only the others added.
            let others: Vec<Slice> = if runs.sources.contains(&kept) {
                let at = runs.sources.iter().position(|source| *source == kept);
                let others = runs.sources.iter().enumerate();
                others.filter(|(other, _)| Some(*other) != at).map(|(_, it)| *it).collect()
            } else {
                self.push(StepOperation::Copy, [Some(*first), Some(kept)], count);
                rest.to_vec()
            };
            for other in others {
                self.push(StepOperation::Reduce, [Some(other), Some(kept)], count);
            }
        }
        for (nth, to) in runs.peers.iter().enumerate() {
            let from = if op.name == "res" { runs.kept.first() } else { runs.sources.get(nth) };
            self.unsignalled.push((self.steps.len(), *to));
            self.push(StepOperation::Send, [from.copied(), None], count);
        }
    }

    /// Steps that receive all that has landed and was not taken with another step.
    fn land(&mut self) {
        while let Some(arrival) = self.arrivals.first().copied() {
            self.push_arrived(0, StepOperation::Receive, [None, Some(arrival.place)], None);
        }
    }
}

/// Where an operation reads and writes.
#[derive(Default)]
struct Runs {
    sources: Vec<Slice>,
    /// Names places in the rank's own buffers.
    kept: Vec<Slice>,
    /// The ranks that it writes to.
    peers: Vec<usize>,
    count: u32,
}
