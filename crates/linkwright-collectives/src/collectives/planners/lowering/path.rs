//! Data that goes from one rank to another, directly or through others.

use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, ChannelTransport, Schedule, Slice};

/// Part of what one rank has for another, and the ranks that it passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankPath {
    /// The ranks in order; the first has the data, the last gets it.
    pub ranks: Vec<usize>,
    /// Counts the chunks of the shard that go this way.
    pub chunks: u32,
    /// Names the channel: blocks of different channels work side by side.
    pub channel: usize,
}

/// Returns the scatter, gather or all-to-all whose shards take these paths. The paths of one pair
/// share its shard in order.
///
/// # Panics
/// If the paths of some pair do not carry `chunks` chunks together, a path has one rank, or the
/// collective is another one.
#[must_use]
pub fn schedule_of_paths(
    name: &str,
    collective: Collective,
    gpus: &[usize],
    paths: &[RankPath],
    chunks: u32,
    transport: ChannelTransport,
) -> Schedule {
    let ranks = gpus.len();
    // Which shard of its sender's input a pair's is, and which of its receiver's output.
    let shards = |from: usize, to: usize| match collective {
        Collective::AllToAll => (to, from),
        Collective::Scatter { root } if root == from => (to, 0),
        Collective::Gather { root } if root == to => (0, from),
        other => panic!("{other} has nothing to move from rank {from} to rank {to}"),
    };
    let mut builder = ScheduleBuilder::new(name, collective, gpus.to_vec(), chunks);
    let most = paths.iter().map(|path| path.channel).max().unwrap_or(0);
    let channels: Vec<usize> =
        (0..=most).map(|_| builder.channel(Channel::over(transport))).collect();
    let places = |from: usize, to: usize, start: u32| {
        let (input, output) = shards(from, to);
        let source = Slice::input(input as u32 * chunks + start);
        (source, Slice::output(output as u32 * chunks + start))
    };
    for rank in collective.root().map_or(0..ranks, |root| root..root + 1) {
        // The blocks of all channels copy the part that a rank keeps.
        let at = |place: usize| (place as u64 * u64::from(chunks) / channels.len() as u64) as u32;
        for (place, channel) in channels.iter().enumerate() {
            let (source, destination) = places(rank, rank, at(place));
            let count = at(place + 1) - at(place);
            if count > 0 {
                builder.copy(rank, *channel, source, destination, count, &[]);
            }
        }
    }
    let mut sent = vec![0; ranks * ranks];
    for path in paths {
        let (from, to) = (path.ranks[0], path.ranks[path.ranks.len() - 1]);
        let (source, destination) = places(from, to, sent[from * ranks + to]);
        sent[from * ranks + to] += path.chunks;
        let channel = channels[path.channel];
        forward(&mut builder, channel, &path.ranks, source, destination, path.chunks);
    }
    let moves = |from: usize, to: usize| match collective {
        Collective::Scatter { root } => from == root,
        Collective::Gather { root } => to == root,
        _ => true,
    };
    let whole = |pair: usize| {
        let (from, to) = (pair / ranks, pair % ranks);
        from == to || !moves(from, to) || sent[pair] == chunks
    };
    assert!((0..ranks * ranks).all(whole), "the paths of a pair carry its whole shard");
    builder.finish()
}

/// Forwards data from the first rank of a way to its last, which goes through the scratch buffers
/// between.
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
