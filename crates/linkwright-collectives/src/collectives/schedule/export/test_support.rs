//! Schedules for the tests of the formats.

use proptest::prelude::*;

use crate::collectives::{
    Channel, Collective, Protocol, Schedule, ScheduleBuilder, ScheduleStep, Slice, StepId,
    StepOperation,
};

/// Makes a ring all-reduce: reduce-scatter, then all-gather, `chunks` chunks in each rank's part.
pub(super) fn ring_all_reduce(ranks: usize, chunks: u32) -> Schedule {
    let total = ranks as u32 * chunks;
    let mut builder =
        ScheduleBuilder::new("ring", Collective::AllReduce, (0..ranks).collect(), total);
    let channel = builder.channel(Channel::default());
    for rank in 0..ranks {
        let peers = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let part = |back: usize| ((rank + 2 * ranks - back) % ranks) as u32 * chunks;
        builder.send(rank, channel, peers.1, Slice::input(part(0)), chunks, &[]);
        for round in 1..2 * ranks - 2 {
            let place = Slice::output(part(round));
            let source = (round < ranks).then_some(Slice::input(part(round)));
            let kept = (round >= ranks - 1).then_some(place);
            builder.receive_and_send(rank, channel, peers, source, kept, place, chunks, &[]);
        }
        let last = 2 * ranks - 2;
        let source = (last < ranks).then_some(Slice::input(part(last)));
        let place = Slice::output(part(last));
        builder.receive(rank, channel, peers.0, source, place, chunks, &[]);
    }
    builder.finish()
}

/// Makes an all-reduce up and down one tree, given by each rank's parent.
pub(super) fn tree_all_reduce(parents: &[Option<usize>], chunks: u32) -> Schedule {
    let ranks = parents.len();
    let gpus = (0..ranks).collect();
    let mut builder = ScheduleBuilder::new("tree", Collective::AllReduce, gpus, chunks);
    let up = builder.channel(Channel::default());
    let down = builder.channel(Channel::default());
    for rank in 0..ranks {
        let children: Vec<usize> = (0..ranks).filter(|c| parents[*c] == Some(rank)).collect();
        for chunk in 0..chunks {
            let (own, sum) = (Slice::input(chunk), Slice::output(chunk));
            let mut source = own;
            let mut after: Vec<StepId> = Vec::new();
            for child in &children {
                let id = builder.receive(rank, up, *child, Some(source), sum, 1, &after);
                source = sum;
                after = vec![id];
            }
            if let Some(parent) = parents[rank] {
                let sent = builder.send(rank, up, parent, source, 1, &after);
                after = vec![builder.receive(rank, down, parent, None, sum, 1, &[sent])];
            }
            for child in &children {
                builder.send(rank, down, *child, sum, 1, &after);
            }
        }
    }
    builder.finish()
}

/// Makes a broadcast along a chain of the ranks in this order.
pub(super) fn chain_broadcast(order: &[usize], chunks: u32, count: u32) -> Schedule {
    let (root, total) = (order[0], chunks * count);
    let gpus = (0..order.len()).map(|rank| 2 * rank + 1).collect();
    let mut builder = ScheduleBuilder::new("chain", Collective::Broadcast { root }, gpus, total);
    let channel = builder.channel(Channel::default());
    for chunk in (0..total).step_by(count as usize) {
        for (at, rank) in order.iter().enumerate() {
            let place = Slice::output(chunk);
            let next = order.get(at + 1).copied();
            match (at.checked_sub(1).map(|before| order[before]), next) {
                (None, next) => {
                    let source = Slice::input(chunk);
                    let copied = builder.copy(*rank, channel, source, place, count, &[]);
                    if let Some(next) = next {
                        builder.send(*rank, channel, next, place, count, &[copied]);
                    }
                }
                (Some(before), None) => {
                    builder.receive(*rank, channel, before, None, place, count, &[]);
                }
                (Some(before), Some(next)) => {
                    let peers = (before, next);
                    let kept = Some(place);
                    builder.receive_and_send(*rank, channel, peers, None, kept, place, count, &[]);
                }
            }
        }
    }
    builder.finish()
}

/// Every rank sends every other its shard, directly.
pub(super) fn direct(collective: Collective, ranks: usize, chunks: u32) -> Schedule {
    let mut builder = ScheduleBuilder::new("direct", collective, (0..ranks).collect(), chunks);
    let channel = builder.channel(Channel::default());
    let shard = |rank: usize| rank as u32 * chunks;
    let scattered = collective == Collective::AllToAll;
    for rank in 0..ranks {
        let own = Slice::input(if scattered { shard(rank) } else { 0 });
        builder.copy(rank, channel, own, Slice::output(shard(rank)), chunks, &[]);
        for peer in (0..ranks).filter(|peer| *peer != rank) {
            let source = Slice::input(if scattered { shard(peer) } else { 0 });
            builder.send(rank, channel, peer, source, chunks, &[]);
            let place = Slice::output(shard(peer));
            builder.receive(rank, channel, peer, None, place, chunks, &[]);
        }
    }
    builder.finish()
}

/// A reduce-scatter in which every rank reduces its own shard from its scratch.
pub(super) fn gathered_reduce_scatter(ranks: usize, chunks: u32) -> Schedule {
    let gpus = (0..ranks).collect();
    let mut builder = ScheduleBuilder::new("local", Collective::ReduceScatter, gpus, chunks);
    let channel = builder.channel(Channel::default());
    let mut reductions = Vec::new();
    for rank in 0..ranks {
        let own = Slice::input(rank as u32 * chunks);
        let copied = builder.copy(rank, channel, own, Slice::output(0), chunks, &[]);
        for peer in (0..ranks).filter(|peer| *peer != rank) {
            let source = Slice::input(peer as u32 * chunks);
            builder.send(rank, channel, peer, source, chunks, &[]);
            let room = builder.scratch(rank, chunks);
            let arrived = builder.receive(rank, channel, peer, None, room, chunks, &[]);
            reductions.push((rank, copied.block as usize, room, arrived));
        }
    }
    let mut schedule = builder.finish();
    for (rank, block, room, arrived) in reductions {
        schedule.programs[rank].blocks[block].steps.push(ScheduleStep {
            operation: StepOperation::Reduce,
            source: Some(room),
            destination: Some(Slice::output(0)),
            count: chunks,
            after: vec![arrived],
        });
    }
    schedule
}

/// Makes schedules of every shape above.
pub(super) fn any_schedule() -> impl Strategy<Value = Schedule> {
    let protocols = prop::sample::select(Protocol::ALL.to_vec());
    let tree = prop::collection::vec(any::<prop::sample::Index>(), 1..8).prop_map(|choices| {
        let parents = choices.iter().enumerate().map(|(rank, choice)| Some(choice.index(rank + 1)));
        std::iter::once(None).chain(parents).collect::<Vec<_>>()
    });
    let order =
        (2..8_usize).prop_flat_map(|ranks| Just((0..ranks).collect::<Vec<_>>()).prop_shuffle());
    let collective = prop::sample::select(vec![Collective::AllGather, Collective::AllToAll]);
    let shape = prop_oneof![
        (2..9_usize, 1..4_u32).prop_map(|(ranks, chunks)| ring_all_reduce(ranks, chunks)),
        (tree, 1..5_u32).prop_map(|(parents, chunks)| tree_all_reduce(&parents, chunks)),
        (order, 1..5_u32, 1..4_u32)
            .prop_map(|(order, chunks, count)| chain_broadcast(&order, chunks, count)),
        (collective, 2..7_usize, 1..4_u32)
            .prop_map(|(collective, ranks, chunks)| direct(collective, ranks, chunks)),
        (2..6_usize, 1..4_u32).prop_map(|(ranks, chunks)| gathered_reduce_scatter(ranks, chunks)),
    ];
    (shape, protocols).prop_map(|(mut schedule, protocol)| {
        schedule.protocol = protocol;
        schedule
    })
}
