//! Data that goes from one rank to another, directly or through others.

use super::super::builder::ScheduleBuilder;
use super::super::collective::Collective;
use super::super::schedule::{Channel, Schedule, Slice, Transport};

/// Part of what one rank has for another, and the ranks that it passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The ranks in order; the first has the data, the last gets it.
    pub ranks: Vec<usize>,
    /// How many chunks of the shard go this way.
    pub chunks: u32,
}

/// The all-to-all whose shards go these ways; those of one pair share its shard in order.
///
/// # Panics
/// If the ways of some pair do not carry `chunks` chunks together, or a way has one rank.
#[must_use]
pub fn schedule_of_ways(
    name: &str,
    gpus: &[usize],
    ways: &[Way],
    chunks: u32,
    transport: Transport,
) -> Schedule {
    let ranks = gpus.len();
    let mut builder = ScheduleBuilder::new(name, Collective::AllToAll, gpus.to_vec(), chunks);
    let channel = builder.channel(Channel { transport, relays: Vec::new() });
    for rank in 0..ranks {
        let shard = rank as u32 * chunks;
        builder.copy(rank, channel, Slice::input(shard), Slice::output(shard), chunks, &[]);
    }
    let mut sent = vec![0; ranks * ranks];
    for way in ways {
        let (from, to) = (way.ranks[0], way.ranks[way.ranks.len() - 1]);
        let start = sent[from * ranks + to];
        sent[from * ranks + to] += way.chunks;
        let source = Slice::input(to as u32 * chunks + start);
        let destination = Slice::output(from as u32 * chunks + start);
        forward(&mut builder, channel, &way.ranks, source, destination, way.chunks);
    }
    let whole = |pair: usize| pair / ranks == pair % ranks || sent[pair] == chunks;
    assert!((0..ranks * ranks).all(whole), "the ways of a pair carry its whole shard");
    builder.finish()
}

/// From the first rank of a way to its last, through the scratch buffers between.
pub(super) fn forward(
    builder: &mut ScheduleBuilder,
    channel: usize,
    ranks: &[usize],
    source: Slice,
    destination: Slice,
    count: u32,
) {
    builder.send(ranks[0], channel, ranks[1], source, count, &[]);
    for hop in ranks.windows(3) {
        let room = builder.scratch(hop[1], count);
        let ends = (hop[0], hop[2]);
        builder.receive_and_send(hop[1], channel, ends, None, None, room, count, &[]);
    }
    let (from, last) = (ranks[ranks.len() - 2], ranks[ranks.len() - 1]);
    builder.receive(last, channel, from, None, destination, count, &[]);
}
