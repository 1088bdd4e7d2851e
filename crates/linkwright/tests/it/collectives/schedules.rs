//! Schedules written by hand, one of each way in which steps can depend on each other.

use linkwright::collectives::{
    Channel, Collective, Schedule, ScheduleBuilder, Slice, StepOperation,
};

fn builder(name: &str, collective: Collective, ranks: usize, chunks: u32) -> ScheduleBuilder {
    let mut builder = ScheduleBuilder::new(name, collective, (0..ranks).collect(), chunks);
    builder.channel(Channel::default());
    builder
}

/// All-reduce around a ring: every chunk goes round once to be summed and once to be spread.
/// Each rank has `loops` chunks of its own.
pub fn ring_all_reduce(ranks: usize, loops: usize) -> Schedule {
    let chunks = (ranks * loops) as u32;
    let mut builder = builder("ring", Collective::AllReduce, ranks, chunks);
    for rank in 0..ranks {
        let (from, to) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        for turn in 0..loops {
            let chunk = |back: usize| (turn * ranks + (rank + 2 * ranks - back) % ranks) as u32;
            builder.send(rank, 0, to, Slice::input(chunk(0)), 1, &[]);
            for hop in 1..ranks {
                let source = Slice::input(chunk(hop));
                let kept = (hop == ranks - 1).then(|| Slice::output(chunk(hop)));
                let room = Slice::output(chunk(hop));
                builder.receive_and_send(rank, 0, (from, to), Some(source), kept, room, 1, &[]);
            }
            for hop in ranks..2 * ranks - 2 {
                let place = Slice::output(chunk(hop));
                builder.receive_and_send(rank, 0, (from, to), None, Some(place), place, 1, &[]);
            }
            let last = Slice::output(chunk(2 * ranks - 2));
            builder.receive(rank, 0, from, None, last, 1, &[]);
        }
    }
    builder.finish()
}

/// Makes a broadcast down a chain from rank 0, chunk by chunk.
pub fn chain_broadcast(ranks: usize, chunks: u32) -> Schedule {
    let root = Collective::Broadcast { root: 0 };
    let mut builder = builder("chain", root, ranks, chunks);
    builder.copy(0, 0, Slice::input(0), Slice::output(0), chunks, &[]);
    for chunk in 0..chunks {
        builder.send(0, 0, 1, Slice::input(chunk), 1, &[]);
        let place = Slice::output(chunk);
        for rank in 1..ranks - 1 {
            let ends = (rank - 1, rank + 1);
            builder.receive_and_send(rank, 0, ends, None, Some(place), place, 1, &[]);
        }
        builder.receive(ranks - 1, 0, ranks - 2, None, place, 1, &[]);
    }
    builder.finish()
}

/// All-to-all in which every rank sends to every other at once.
pub fn one_hop_all_to_all(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("one-hop", Collective::AllToAll, ranks, chunks);
    for rank in 0..ranks {
        let shard = |other: usize| other as u32 * chunks;
        let (own, place) = (Slice::input(shard(rank)), Slice::output(shard(rank)));
        builder.copy(rank, 0, own, place, chunks, &[]);
        for other in (0..ranks).filter(|other| *other != rank) {
            builder.send(rank, 0, other, Slice::input(shard(other)), chunks, &[]);
            builder.receive(rank, 0, other, None, Slice::output(shard(other)), chunks, &[]);
        }
    }
    builder.finish()
}

/// Reduce to rank 0, which takes one rank after the other into its output.
pub fn star_reduce(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("star", Collective::Reduce { root: 0 }, ranks, chunks);
    let place = Slice::output(0);
    let mut last = builder.copy(0, 0, Slice::input(0), place, chunks, &[]);
    for rank in 1..ranks {
        builder.send(rank, 0, 0, Slice::input(0), chunks, &[]);
        last = builder.receive(0, 0, rank, Some(place), place, chunks, &[last]);
    }
    builder.finish()
}

/// Reduce to rank 0, which collects in scratch and reduces afterwards.
pub fn scratch_reduce(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("scratch", Collective::Reduce { root: 0 }, ranks, chunks);
    let mut program = Vec::new();
    for rank in 1..ranks {
        builder.send(rank, 0, 0, Slice::input(0), chunks, &[]);
        let room = builder.scratch(0, chunks);
        program.push((room, builder.receive(0, 0, rank, None, room, chunks, &[])));
    }
    builder.copy(0, 0, Slice::input(0), Slice::output(0), chunks, &[]);
    let mut schedule = builder.finish();
    let local = schedule.programs[0].blocks.last_mut().expect("the copy has a block");
    let copy = local.steps[0].clone();
    for (room, received) in program {
        local.steps.push(linkwright::collectives::ScheduleStep {
            operation: linkwright::collectives::StepOperation::Reduce,
            source: Some(room),
            after: vec![received],
            ..copy.clone()
        });
    }
    schedule
}

/// Reduce-scatter in which every rank takes its shard from every other.
pub fn one_hop_reduce_scatter(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("one-hop", Collective::ReduceScatter, ranks, chunks);
    for rank in 0..ranks {
        let own = Slice::input(rank as u32 * chunks);
        let place = Slice::output(0);
        let mut last = builder.copy(rank, 0, own, place, chunks, &[]);
        for other in (0..ranks).filter(|other| *other != rank) {
            let theirs = Slice::input(other as u32 * chunks);
            builder.send(rank, 0, other, theirs, chunks, &[]);
            last = builder.receive(rank, 0, other, Some(place), place, chunks, &[last]);
        }
    }
    builder.finish()
}

/// Makes an all-gather around a ring.
pub fn ring_all_gather(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("ring", Collective::AllGather, ranks, chunks);
    for rank in 0..ranks {
        let (from, to) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let shard = |back: usize| Slice::output(((rank + ranks - back) % ranks) as u32 * chunks);
        builder.copy(rank, 0, Slice::input(0), shard(0), chunks, &[]);
        builder.send(rank, 0, to, Slice::input(0), chunks, &[]);
        for hop in 1..ranks - 1 {
            let place = shard(hop);
            builder.receive_and_send(rank, 0, (from, to), None, Some(place), place, chunks, &[]);
        }
        builder.receive(rank, 0, from, None, shard(ranks - 1), chunks, &[]);
    }
    builder.finish()
}

/// Makes a gather to rank 0, straight from every rank.
pub fn star_gather(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("star", Collective::Gather { root: 0 }, ranks, chunks);
    builder.copy(0, 0, Slice::input(0), Slice::output(0), chunks, &[]);
    for rank in 1..ranks {
        builder.send(rank, 0, 0, Slice::input(0), chunks, &[]);
        let place = Slice::output(rank as u32 * chunks);
        builder.receive(0, 0, rank, None, place, chunks, &[]);
    }
    builder.finish()
}

/// Makes a scatter from the last rank, straight to every rank.
pub fn star_scatter(ranks: usize, chunks: u32) -> Schedule {
    let root = ranks - 1;
    let mut builder = builder("star", Collective::Scatter { root }, ranks, chunks);
    let own = Slice::input(root as u32 * chunks);
    builder.copy(root, 0, own, Slice::output(0), chunks, &[]);
    for rank in 0..root {
        builder.send(root, 0, rank, Slice::input(rank as u32 * chunks), chunks, &[]);
        builder.receive(rank, 0, root, None, Slice::output(0), chunks, &[]);
    }
    builder.finish()
}

/// Makes an all-reduce through switches, with one part of the data for each rank. The rank reads it
/// reduced and writes it to all. Each rank has `loops` chunks of its own.
pub fn switch_all_reduce(ranks: usize, loops: usize) -> Schedule {
    let chunks = (ranks * loops) as u32;
    let mut builder = builder("switch", Collective::AllReduce, ranks, chunks);
    // One channel for all heads, so that each pair has all four kinds of connection on it.
    let channel = builder.channel(Channel::through_switch(0..ranks));
    for turn in 0..loops {
        for head in 0..ranks {
            let chunk = (turn * ranks + head) as u32;
            let (from, to) = (Slice::input(chunk), Slice::output(chunk));
            for other in (0..ranks).filter(|other| *other != head) {
                builder.send(other, channel, head, from, 1, &[]);
                builder.receive(other, channel, head, None, to, 1, &[]);
            }
            let both = StepOperation::SwitchReduceMulticast;
            builder.in_switch(head, channel, both, from, to, 1, &[]);
        }
    }
    builder.finish()
}

/// Reduce-scatter through switches: each rank reads its shard.
pub fn switch_reduce_scatter(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("switch-scatter", Collective::ReduceScatter, ranks, chunks);
    for head in 0..ranks {
        let channel = builder.channel(Channel::through_switch(0..ranks));
        let from = Slice::input(head as u32 * chunks);
        for other in (0..ranks).filter(|other| *other != head) {
            builder.send(other, channel, head, from, chunks, &[]);
        }
        let reduce = StepOperation::SwitchReduce;
        builder.in_switch(head, channel, reduce, from, Slice::output(0), chunks, &[]);
    }
    builder.finish()
}

/// All-gather through switches: each rank writes its shard to all.
pub fn switch_all_gather(ranks: usize, chunks: u32) -> Schedule {
    let mut builder = builder("switch-gather", Collective::AllGather, ranks, chunks);
    let channel = builder.channel(Channel::through_switch(0..ranks));
    for head in 0..ranks {
        let to = Slice::output(head as u32 * chunks);
        let copy = StepOperation::Multicast;
        builder.in_switch(head, channel, copy, Slice::input(0), to, chunks, &[]);
        for other in (0..ranks).filter(|other| *other != head) {
            builder.receive(other, channel, head, None, to, chunks, &[]);
        }
    }
    builder.finish()
}

/// Makes an all-reduce through groups that share a rank with the next. The last of each reads the
/// group's reduction and contributes it to the next group, and the results come back the same way.
/// Groups are runs of `order`, each longer by its entry of `lengths`. Each chunk is a step of its
/// own.
pub fn switch_chain(order: &[usize], lengths: &[usize], chunks: u32) -> Schedule {
    let ranks = order.len();
    let mut builder = builder("switch-chain", Collective::AllReduce, ranks, chunks);
    let (mut groups, mut at) = (Vec::new(), 0);
    for length in lengths {
        groups.push(&order[at..=at + length]);
        at += length;
    }
    assert_eq!(at + 1, ranks, "all ranks are in a group");
    let through = |group: &&[usize]| Channel::through_switch(group.iter().copied());
    let channels: Vec<usize> = groups.iter().map(|group| builder.channel(through(group))).collect();
    let rooms: Vec<Slice> = (0..ranks).map(|rank| builder.scratch(rank, chunks)).collect();
    for chunk in 0..chunks {
        let (from, to) = (Slice::input(chunk), Slice::output(chunk));
        let room = |rank: usize| Slice { offset: rooms[rank].offset + chunk, ..rooms[rank] };
        let mut carried = None;
        for (number, (group, channel)) in groups.iter().zip(&channels).enumerate() {
            let head = group[group.len() - 1];
            for other in &group[..group.len() - 1] {
                let so_far = carried.filter(|_| *other == group[0]);
                let (source, after) = so_far.map_or((from, None), |id| (room(*other), Some(id)));
                builder.send(*other, *channel, head, source, 1, after.as_slice());
            }
            let (operation, place) = if number + 1 == groups.len() {
                (StepOperation::SwitchReduceMulticast, to)
            } else {
                (StepOperation::SwitchReduce, room(head))
            };
            carried = Some(builder.in_switch(head, *channel, operation, from, place, 1, &[]));
        }
        let mut arrived = None;
        for (number, (group, channel)) in groups.iter().zip(&channels).enumerate().rev() {
            let head = group[group.len() - 1];
            if number + 1 < groups.len() {
                let copy = StepOperation::Multicast;
                builder.in_switch(head, *channel, copy, to, to, 1, arrived.as_slice());
            }
            for other in &group[..group.len() - 1] {
                let received = builder.receive(*other, *channel, head, None, to, 1, &[]);
                arrived = if *other == group[0] { Some(received) } else { arrived };
            }
        }
    }
    builder.finish()
}

/// Makes one of each for that many ranks (two at least), with more than one chunk.
pub fn all(ranks: usize) -> Vec<Schedule> {
    vec![
        ring_all_reduce(ranks, 1),
        ring_all_reduce(ranks, 2),
        chain_broadcast(ranks, 4),
        one_hop_all_to_all(ranks, 2),
        star_reduce(ranks, 2),
        scratch_reduce(ranks, 2),
        one_hop_reduce_scatter(ranks, 2),
        ring_all_gather(ranks, 2),
        star_gather(ranks, 3),
        star_scatter(ranks, 3),
        switch_all_reduce(ranks, 2),
        switch_reduce_scatter(ranks, 2),
        switch_all_gather(ranks, 2),
        switch_chain(&(0..ranks).collect::<Vec<_>>(), &vec![1; ranks - 1], 2),
    ]
}
