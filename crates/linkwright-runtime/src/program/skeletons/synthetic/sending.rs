//! Writes what a rank sends and receives of synthetic traffic.

use super::super::exchange::{compute, receive, send};
use crate::program::{Operation, PendingOperation, Rank, RankBuilder, RankProgram, Tag};
use crate::units::{Bytes, Picoseconds};

/// Names the regions of a program with a warm-up.
pub(super) const REGIONS: [&str; 2] = ["warm-up", "window"];
/// Marks the tags of answers, which have those of their messages beside.
const ANSWER: Tag = 1 << 30;
/// Begins the tags of messages of the warm-up.
const WARM_UP: Tag = 1 << 29;

/// Says when and where a rank sends: how long it waits before each message, and to whom that goes.
pub(super) type Sends = Vec<(Picoseconds, Rank)>;

/// Holds what all ranks send in the warm-up or in an iteration.
pub(super) struct Part<'a> {
    sends: Vec<&'a Sends>,
    /// Lists who sends to each rank, and the tag of each message.
    arriving: Vec<Vec<(Rank, Tag)>>,
    /// Begins the tags.
    first: Tag,
    region: u32,
}

impl<'a> Part<'a> {
    /// Takes one of both parts that each rank has.
    pub(super) fn of(drawn: &'a [[Sends; 2]], part: usize) -> Self {
        let sends: Vec<&Sends> = drawn.iter().map(|both| &both[part]).collect();
        let first = if part == 0 { WARM_UP } else { 0 };
        let mut arriving = vec![Vec::new(); sends.len()];
        for (rank, of) in (0..).zip(&sends) {
            for (number, (_, to)) in (first..).zip(of.iter()) {
                arriving[*to as usize].push((rank, number));
            }
        }
        Self { sends, arriving, first, region: part as u32 }
    }

    fn is_empty(&self) -> bool {
        self.sends.iter().all(|sends| sends.is_empty())
    }
}

/// Says how ranks send.
pub(super) struct Traffic {
    pub(super) size: Bytes,
    /// How many messages are under way, in a closed loop.
    pub(super) in_flight: Option<u32>,
}

impl Traffic {
    /// Writes what a rank does.
    pub(super) fn program(&self, rank: Rank, warm_up: &Part<'_>, window: &Part<'_>) -> RankProgram {
        let mut builder = RankBuilder::default();
        let is_warmed = !warm_up.is_empty();
        let before =
            if is_warmed { self.part(&mut builder, rank, warm_up, true) } else { Vec::new() };
        builder.begin_body();
        let under_way = self.part(&mut builder, rank, window, is_warmed);
        builder.wait(&under_way);
        builder.end_body();
        if is_warmed {
            builder.wait(&before);
        }
        builder.finish()
    }

    /// Writes a part; returns what has to complete before it has ended.
    fn part(
        &self,
        builder: &mut RankBuilder,
        rank: Rank,
        part: &Part<'_>,
        in_region: bool,
    ) -> Vec<PendingOperation> {
        let region = part.region;
        if in_region {
            builder.run(Operation::Enter { region });
        }
        let arriving = &part.arriving[rank as usize];
        let requests: Vec<PendingOperation> = arriving
            .iter()
            .map(|(from, tag)| builder.start(receive(*from, *tag, self.size)))
            .collect();
        let sends = part.sends[rank as usize];
        let all = match self.in_flight {
            None => self.send_in_turn(builder, sends, part.first, requests),
            Some(most) => {
                self.send_as_answered(builder, sends, (part, rank, most, in_region), requests)
            }
        };
        if in_region {
            builder.run(Operation::Leave { region });
        }
        all
    }

    fn send_in_turn(
        &self,
        builder: &mut RankBuilder,
        sends: &Sends,
        first: Tag,
        mut requests: Vec<PendingOperation>,
    ) -> Vec<PendingOperation> {
        for (tag, (gap, to)) in (first..).zip(sends) {
            compute(builder, *gap);
            requests.push(builder.start(send(*to, tag, self.size)));
        }
        requests
    }

    /// Sends a message when that as many messages before has been answered, each in a stream of its own with its
    /// predecessors.
    fn send_as_answered(
        &self,
        builder: &mut RankBuilder,
        sends: &Sends,
        (part, rank, most, in_region): (&Part<'_>, Rank, u32, bool),
        received: Vec<PendingOperation>,
    ) -> Vec<PendingOperation> {
        let streams = most.min(sends.len() as u32);
        let mut all = Vec::new();
        let mut last = Vec::new();
        for stream in 0..streams {
            builder.on_stream(1 + stream);
            let mut answer = None;
            let own = (part.first..).zip(sends).skip(stream as usize).step_by(most as usize);
            for (tag, (_, to)) in own {
                all.push(builder.start(send(*to, tag, self.size)));
                answer = Some(builder.run(receive(*to, ANSWER | tag, Bytes(0))));
            }
            last.extend(answer);
        }
        let arriving = &part.arriving[rank as usize];
        for (number, (request, (from, tag))) in (0..).zip(received.iter().zip(arriving)) {
            // An answer waits for its message and for nothing else.
            builder.on_stream(1 + most + 2 * number + part.region);
            all.push(builder.start_after(send(*from, ANSWER | tag, Bytes(0)), &[*request]));
        }
        builder.on_stream(0);
        if in_region {
            // The region ends when the loop has come round for the last time.
            builder.wait(&last);
        }
        all.extend(last);
        all.extend(received);
        all
    }
}
