//! Who waits for what, when nothing is left to happen.

use crate::program::Collective;
use crate::units::{Bytes, Picoseconds};

use super::call::{Call, Pending, PendingKind};
use super::error::Stalled;
use super::runtime::Replay;

/// How many of each kind an error lists.
const MOST_LISTED: usize = 5;

/// Everything that never completed; `None` where all has. `ranks` have not ended.
pub(super) fn diagnose<T, L, O>(replay: &Replay<'_, T, L, O>, ranks: usize) -> Option<Stalled> {
    let rank_of = |rank: u32| replay.ranks[rank as usize].id.rank;
    let pending = |kind, rank: u32, (call, within): (Call, Option<Collective>)| {
        let id = replay.ranks[rank as usize].id;
        let job = replay.jobs[id.job as usize].name.clone();
        let (peer, tag, size, since) = (None, None, Bytes(0), Picoseconds(0));
        Pending { kind, job, rank: id.rank, call, within, peer, tag, size, since }
    };
    let sends = replay.matcher.unexpected().map(|envelope| {
        let envelope = &replay.envelopes[envelope];
        Pending {
            peer: Some(rank_of(envelope.destination)),
            tag: Some(envelope.tag),
            size: Bytes(envelope.size),
            since: Picoseconds(envelope.since),
            ..pending(PendingKind::Send, envelope.source, (envelope.call, envelope.within))
        }
    });
    let (sends, send_count) = first_few(sends);
    let receives = replay.matcher.posted().map(|posted| Pending {
        peer: posted.source.map(rank_of),
        tag: posted.tag,
        size: Bytes(posted.size),
        since: Picoseconds(posted.since),
        ..pending(PendingKind::Receive, posted.receiver, replay.origin(posted.operation))
    });
    let (receives, receive_count) = first_few(receives);
    let collectives = replay.frames.iter().filter_map(|frame| {
        let collective = frame.collective?;
        let kind = PendingKind::Collective(collective.call.kind);
        let (call, _) = replay.origin(collective.parent);
        Some(Pending {
            size: collective.call.size,
            since: Picoseconds(collective.since),
            ..pending(kind, frame.rank, (call, None))
        })
    });
    let (collectives, collective_count) = first_few(collectives);
    if ranks + send_count + receive_count + collective_count == 0 {
        return None;
    }
    Some(Stalled {
        time: Picoseconds(replay.now),
        ranks,
        sends,
        send_count,
        receives,
        receive_count,
        collectives,
        collective_count,
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
