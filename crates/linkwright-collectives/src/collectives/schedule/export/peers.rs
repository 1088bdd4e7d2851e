//! Connections spread over channels, where an executor takes few peers on each.
//!
//! A star of 72 GPUs has 71 peers on its channel. The channel that a connection uses matters in two
//! ways only. Both of its ends name it, and no other connection of the two ranks uses it. So
//! connections move to channels over the same links that have room, old ones first.

use std::collections::{BTreeMap, BTreeSet};

use crate::collectives::schedule::Schedule;

/// Blocks that must share a channel, since each has an end of another's connection.
struct Group {
    channel: usize,
    /// Names rank and block.
    blocks: Vec<(usize, usize)>,
    /// Names the sender and receiver of each connection.
    connections: Vec<(usize, usize)>,
}

/// How much of a channel is taken.
#[derive(Default)]
struct Taken {
    sends: BTreeMap<usize, usize>,
    receives: BTreeMap<usize, usize>,
    connections: BTreeSet<(usize, usize)>,
}

impl Taken {
    fn add(&mut self, group: &Group) {
        for (from, to) in &group.connections {
            *self.sends.entry(*from).or_default() += 1;
            *self.receives.entry(*to).or_default() += 1;
            self.connections.insert((*from, *to));
        }
    }

    fn has_room(&self, group: &Group, most: usize) -> bool {
        let (mut sends, mut receives) = (BTreeMap::new(), BTreeMap::new());
        for (from, to) in &group.connections {
            *sends.entry(*from).or_insert(0) += 1;
            *receives.entry(*to).or_insert(0) += 1;
        }
        let fits = |taken: &BTreeMap<usize, usize>, more: BTreeMap<usize, usize>| {
            more.iter().all(|(rank, more)| taken.get(rank).unwrap_or(&0) + more <= most)
        };
        fits(&self.sends, sends)
            && fits(&self.receives, receives)
            && !group.connections.iter().any(|pair| self.connections.contains(pair))
    }

    fn is_over(&self, most: usize) -> bool {
        self.sends.values().chain(self.receives.values()).any(|count| *count > most)
    }
}

/// Moves connections of channels on which a rank has more than `most` senders or receivers to
/// others, as far as `most_channels` have room. Returns how many it moved.
pub(super) fn spread_peers(schedule: &mut Schedule, most: usize, most_channels: usize) -> usize {
    let groups = groups(schedule);
    let mut taken: Vec<Taken> = schedule.channels.iter().map(|_| Taken::default()).collect();
    groups.iter().for_each(|group| taken[group.channel].add(group));
    let is_over: Vec<bool> = taken.iter().map(|taken| taken.is_over(most)).collect();
    if !is_over.contains(&true) {
        return 0;
    }
    let (mut open, settled): (Vec<Group>, Vec<Group>) =
        groups.into_iter().partition(|group| is_over[group.channel]);
    taken.iter_mut().for_each(|taken| *taken = Taken::default());
    settled.iter().for_each(|group| taken[group.channel].add(group));
    // Connections as far apart around the ranks are as many at every rank.
    let ranks = schedule.ranks();
    let apart = |group: &Group| {
        let ends = group.connections.first().copied().unwrap_or_default();
        let distance = (ends.1 + ranks - ends.0) % ranks;
        distance.min(ranks - distance)
    };
    open.sort_by_key(|group| (apart(group), group.channel));
    let mut moved = 0;
    for group in open {
        let links = schedule.channels[group.channel].clone();
        let others = (0..schedule.channels.len()).filter(|at| *at != group.channel);
        let mut order = std::iter::once(group.channel).chain(others);
        let fits =
            |at: &usize| schedule.channels[*at] == links && taken[*at].has_room(&group, most);
        let found = order.find(fits);
        let to = found.unwrap_or_else(|| {
            if schedule.channels.len() >= most_channels {
                return group.channel;
            }
            schedule.channels.push(links);
            taken.push(Taken::default());
            schedule.channels.len() - 1
        });
        taken[to].add(&group);
        moved += usize::from(to != group.channel) * group.connections.len();
        for (rank, block) in &group.blocks {
            schedule.programs[*rank].blocks[*block].channel = to;
        }
    }
    moved
}

fn groups(schedule: &Schedule) -> Vec<Group> {
    let programs = schedule.programs.iter().enumerate();
    let blocks: Vec<(usize, usize)> = programs
        .flat_map(|(rank, program)| (0..program.blocks.len()).map(move |block| (rank, block)))
        .collect();
    let mut above: Vec<usize> = (0..blocks.len()).collect();
    let mut holders: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    for (at, (rank, block)) in blocks.iter().enumerate() {
        let block = &schedule.programs[*rank].blocks[*block];
        let sends = block.send.map(|to| (block.channel, *rank, to));
        let receives = block.receive.map(|from| (block.channel, from, *rank));
        for connection in sends.into_iter().chain(receives) {
            if let Some(other) = holders.insert(connection, at) {
                let (a, b) = (top(&mut above, at), top(&mut above, other));
                above[a.max(b)] = a.min(b);
            }
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (at, (rank, block)) in blocks.into_iter().enumerate() {
        let held = &schedule.programs[rank].blocks[block];
        let group = groups.entry(top(&mut above, at)).or_insert_with(|| Group {
            channel: held.channel,
            blocks: Vec::new(),
            connections: Vec::new(),
        });
        group.blocks.push((rank, block));
        group.connections.extend(held.send.map(|to| (rank, to)));
    }
    groups.into_values().collect()
}

/// The first of the blocks that a block is joined to.
fn top(above: &mut [usize], mut at: usize) -> usize {
    while above[at] != at {
        above[at] = above[above[at]];
        at = above[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::check;
    use crate::collectives::planners::plan::{Packing, Question, plan};
    use crate::collectives::schedule::export::{MscclOptions, read_msccl_xml, to_msccl_xml};
    use std::sync::Arc;

    use crate::collectives::{Collective, Relay, Schedule};
    use crate::system::{DeviceKind, LinkKind, ServerBuilder, System};

    /// Builds a system of `gpus` GPUs on one NVSwitch.
    fn switched(gpus: usize) -> System {
        let mut builder = ServerBuilder::new("switched", "the test");
        let switch = builder.device("NVSW0", DeviceKind::NvSwitch, None).unwrap();
        for gpu in 0..gpus {
            let gpu = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
            builder.data_sheet_link(gpu, switch, LinkKind::Nvlink4, 18).unwrap();
        }
        System::of_server(Arc::new(builder.build().unwrap()))
    }

    fn planned(gpus: usize, collective: Collective) -> Schedule {
        let ids: Vec<usize> = (0..gpus).collect();
        let machine = switched(gpus);
        plan(&Packing, &Question::new(&machine, &ids, collective)).unwrap().schedule
    }

    #[test]
    fn seventy_two_gpus_leave_as_msccl_xml() {
        for collective in [Collective::AllReduce, Collective::AllGather] {
            let schedule = planned(72, collective);
            let options = MscclOptions { step_limit: 1024, ..MscclOptions::default() };
            let export = to_msccl_xml(&schedule, &options).unwrap();
            assert!(export.notes.iter().any(|note| note.contains("other channels")));
            let read = read_msccl_xml("72.xml", &export.text).unwrap();
            check(&read).unwrap();
            let again = to_msccl_xml(&read, &options).unwrap();
            assert_eq!(again.text, export.text, "nothing is left to spread");
        }
    }

    #[test]
    fn every_rank_has_few_peers_on_every_channel() {
        for most in [1, 2, 3, 7] {
            let mut schedule = planned(8, Collective::AllReduce);
            let moved = spread_peers(&mut schedule, most, 64);
            assert!((moved > 0) == (most < 7));
            check(&schedule).unwrap();
            let mut taken: BTreeMap<(usize, usize, bool), usize> = BTreeMap::new();
            for (rank, program) in schedule.programs.iter().enumerate() {
                for block in &program.blocks {
                    *taken.entry((rank, block.channel, true)).or_default() +=
                        usize::from(block.send.is_some());
                    *taken.entry((rank, block.channel, false)).or_default() +=
                        usize::from(block.receive.is_some());
                }
            }
            assert!(taken.values().all(|count| *count <= most), "{most}");
        }
    }

    #[test]
    fn where_channels_are_too_few_it_stays_as_it_is() {
        let mut schedule = planned(8, Collective::AllGather);
        let before = schedule.clone();
        schedule.channels.iter_mut().enumerate().for_each(|(at, channel)| {
            // Links of its own for each, so that none takes another's connections.
            channel.relays = vec![Relay { from: at, to: at, through: at }];
        });
        let before = Schedule { channels: schedule.channels.clone(), ..before };
        assert_eq!(spread_peers(&mut schedule, 3, 1), 0);
        assert_eq!(schedule, before);
    }
}
