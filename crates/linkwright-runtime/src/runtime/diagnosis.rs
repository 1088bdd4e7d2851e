//! Who waits for what, when nothing is left to happen.

use std::collections::BTreeMap;

use crate::program::CollectiveKind;
use crate::units::{Bytes, Picoseconds};

use super::call::{Call, Pending, PendingKind};
use super::communicators::HalfEntered;
use super::messages::Envelope;
use super::protocols::ProtocolCall;
use super::stalled::{Absence, Stalled, WaitingJob};
use super::state::Runtime;

/// Limits how many of each kind an error lists.
const MOST_LISTED: usize = 5;

/// Everything that never completed; `None` where all has.
pub(super) fn diagnose<T, L, O>(runtime: &Runtime<'_, T, L, O>) -> Option<Stalled> {
    let (ranks, unstarted) = runtime.shared.jobs.unfinished();
    let rank_of = |rank: u32| runtime.shared.ranks.id(rank).rank;
    let pending = |kind, rank: u32, (call, within): (Call, Option<CollectiveKind>)| {
        let id = runtime.shared.ranks.id(rank);
        let job = runtime.shared.jobs.name(id.job).to_owned();
        let (peer, tag, size, since) = (None, None, Bytes(0), Picoseconds(0));
        Pending { kind, job, rank: id.rank, call, within, peer, tag, size, since }
    };
    let send = |envelope: &Envelope| Pending {
        peer: Some(rank_of(envelope.destination)),
        tag: Some(envelope.tag),
        size: Bytes(envelope.size),
        since: Picoseconds(envelope.since),
        ..pending(PendingKind::Send, envelope.source, (envelope.call, envelope.within))
    };
    let (sends, send_count) = first_few(runtime.shared.messages.unexpected().map(send));
    let circle: Vec<Pending> = circle(runtime).into_iter().map(send).collect();
    let largest = circle.iter().map(|send| send.size).max().unwrap_or_default();
    let receives = runtime.shared.messages.posted().map(|posted| Pending {
        peer: posted.source.map(rank_of),
        tag: posted.tag,
        size: Bytes(posted.size),
        since: Picoseconds(posted.since),
        ..pending(
            PendingKind::Receive,
            posted.receiver,
            runtime.shared.frames.origin(posted.operation),
        )
    });
    let (receives, receive_count) = first_few(receives);
    let collectives = runtime.shared.frames.collectives().map(|(rank, collective)| {
        let kind = PendingKind::Collective(collective.call.kind);
        let (call, _) = runtime.shared.frames.origin(collective.parent);
        Pending {
            size: collective.call.size,
            since: Picoseconds(collective.since),
            ..pending(kind, rank, (call, None))
        }
    });
    let of_protocols = runtime.protocols.iter().flat_map(|protocol| protocol.waiting());
    let of_protocols = of_protocols.map(|ProtocolCall { call, since, operation, .. }| {
        let rank = runtime.shared.frames.rank_of(operation);
        let (kind, size) = (PendingKind::Collective(call.kind), call.size);
        let (call, _) = runtime.shared.frames.origin(operation);
        Pending { size, since, ..pending(kind, rank, (call, None)) }
    });
    let (collectives, collective_count) = first_few(collectives.chain(of_protocols));
    if ranks + send_count + receive_count + collective_count == 0 {
        return None;
    }
    let absences: Vec<Absence> = absences(runtime).collect();
    let name = |job: u32| runtime.shared.jobs.name(job).to_owned();
    let behind = |(job, gpu, first)| WaitingJob { job: name(job), gpu, behind: name(first) };
    Some(Stalled {
        time: Picoseconds(runtime.shared.now),
        ranks: ranks - unstarted,
        jobs: runtime.shared.jobs.waiting().take(MOST_LISTED).map(behind).collect(),
        job_count: runtime.shared.jobs.waiting().count(),
        circle_count: circle.len(),
        circle: circle.into_iter().take(MOST_LISTED).collect(),
        eager: (runtime.shared.messages.eager_limit(), largest),
        absence_count: absences.len(),
        absences: absences.into_iter().take(MOST_LISTED).collect(),
        sends,
        send_count,
        receives,
        receive_count,
        collectives,
        collective_count,
    })
}

/// Finds a circle of large sends that wait for one another. Each is from a rank that waits for
/// nothing else, to the rank of the next. The last goes to the rank of the first. Empty where there
/// is no such circle.
fn circle<'r, T, L, O>(runtime: &'r Runtime<'_, T, L, O>) -> Vec<&'r Envelope> {
    let mut waiting: BTreeMap<u32, &Envelope> = BTreeMap::new();
    for envelope in runtime.shared.messages.unexpected() {
        if envelope.eager || envelope.within.is_some() {
            continue;
        }
        let since = |envelope: &Envelope| (envelope.since, envelope.call);
        let first = waiting.entry(envelope.source).or_insert(envelope);
        if since(envelope) < since(first) {
            *first = envelope;
        }
    }
    let receivers = runtime.shared.messages.posted().map(|posted| posted.receiver);
    let members = runtime.shared.frames.collectives().map(|(rank, _)| rank);
    let of_protocols = runtime.protocols.iter().flat_map(|protocol| protocol.waiting());
    let of_protocols = of_protocols.map(|call| runtime.shared.frames.rank_of(call.operation));
    for rank in receivers.chain(members).chain(of_protocols) {
        waiting.remove(&rank);
    }
    // In which walk each rank was passed.
    let mut passed: BTreeMap<u32, u32> = BTreeMap::new();
    for start in waiting.keys() {
        let (mut way, mut at) = (Vec::new(), *start);
        while let Some(send) = waiting.get(&at) {
            match passed.get(&at) {
                // This closes the circle: the ranks before this one only lead to it.
                Some(walk) if walk == start => {
                    let begins = |send: &&Envelope| send.source == at;
                    return way.split_off(way.iter().position(begins).unwrap_or(0));
                }
                Some(_) => break,
                None => _ = passed.insert(at, *start),
            }
            way.push(*send);
            at = send.destination;
        }
    }
    Vec::new()
}

/// The first collective of each communicator that only some of its ranks have called.
fn absences<T, L, O>(runtime: &Runtime<'_, T, L, O>) -> impl Iterator<Item = Absence> {
    runtime.shared.communicators.half_entered().map(|half| {
        let HalfEntered { job, id: communicator, kind, ranks, mut absent } = half;
        let absent_count = absent.len();
        absent.truncate(MOST_LISTED);
        let job = runtime.shared.jobs.name(job).to_owned();
        Absence { job, communicator, kind, ranks, absent, absent_count }
    })
}

/// The first few in the order of time, and how many there are.
fn first_few(pending: impl Iterator<Item = Pending>) -> (Vec<Pending>, usize) {
    let mut all: Vec<_> = pending.collect();
    let count = all.len();
    all.sort_by(|a, b| {
        let key = |pending: &Pending| (pending.since, pending.rank, pending.call);
        key(a).cmp(&key(b)).then_with(|| a.job.cmp(&b.job))
    });
    all.truncate(MOST_LISTED);
    (all, count)
}
