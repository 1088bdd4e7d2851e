//! The paths of the adaptive routings of a dragonfly, from the documentation alone, where chance
//! has nothing to choose.

use linkwright::system::Fabric;
use linkwright::system::fabric::{
    Dragonfly, DragonflyRates, End, FabricShape, LinkRate, NodeLink, SwitchId, SwitchLink,
    dragonfly,
};
use linkwright::units::{Bandwidth, Picoseconds};

/// Describes a path between two switches.
pub struct Path {
    pub channels: Vec<usize>,
    /// How many links between switches it has at most.
    links: u64,
    detour: bool,
}

/// How far a packet has come.
#[derive(Clone, Copy, Default)]
pub struct Progress {
    /// Counts the local links before its first global one.
    locals: usize,
    globals: usize,
    detoured: bool,
}

/// Makes the choices of UGAL-L, or of progressive adaptive routing.
#[derive(Clone, Copy)]
pub struct Adaptive<'a> {
    pub fabric: &'a Fabric,
    pub shape: Dragonfly,
    pub progressive: bool,
}

impl Adaptive<'_> {
    /// Returns the path that a packet takes from a switch, if the switch is one where that is
    /// decided. It is the minimal path unless its queue is longer than the detour's.
    pub fn decide(
        &self,
        at: SwitchId,
        goal: SwitchId,
        from_node: bool,
        progress: &mut Progress,
        queued: impl Fn(usize) -> u64,
    ) -> Option<Vec<usize>> {
        let leaves = self.shape.group_of(at) != self.shape.group_of(goal);
        let again = self.progressive
            && leaves
            && (progress.locals, progress.globals, progress.detoured) == (1, 0, false);
        if at == goal || !(from_node || again) {
            return None;
        }
        let minimal = self.minimal(at, goal);
        let Some(detour) = self.detour(at, goal) else { return Some(minimal.channels) };
        let [near, far] = [&minimal, &detour].map(|path| queued(path.channels[0]));
        let stays = if self.shape.hop_weights {
            near * minimal.links <= far * detour.links + minimal.links
        } else {
            near <= far
        };
        let taken = if stays { minimal } else { detour };
        progress.detoured = taken.detour;
        Some(taken.channels)
    }

    /// Returns the virtual channel of a packet's next channel, which it then counts as taken.
    pub fn virtual_channel(&self, channel: usize, progress: &mut Progress) -> usize {
        let channel = self.fabric.channels()[channel];
        let (End::Switch(from), End::Switch(to)) = (channel.from, channel.to) else { return 0 };
        if self.shape.group_of(from) != self.shape.group_of(to) {
            progress.globals += 1;
            return progress.globals - 1;
        }
        if progress.globals == 0 {
            progress.locals += 1;
            return progress.locals - 1;
        }
        progress.globals + usize::from(self.progressive)
    }

    fn minimal(&self, at: SwitchId, goal: SwitchId) -> Path {
        if self.shape.group_of(at) == self.shape.group_of(goal) {
            return Path { channels: vec![self.local(at, goal)], links: 1, detour: false };
        }
        let (mut channels, arrived) = self.way_to_group(at, self.shape.group_of(goal));
        let links = channels.len() as u64 + 1;
        channels.extend((arrived != goal).then(|| self.local(arrived, goal)));
        Path { channels, links, detour: false }
    }

    fn detour(&self, at: SwitchId, goal: SwitchId) -> Option<Path> {
        let (here, there) = (self.shape.group_of(at), self.shape.group_of(goal));
        if here == there {
            let size = self.shape.switches_per_group;
            let mut switches = here * size..(here + 1) * size;
            let third = switches.find(|switch| *switch != at && *switch != goal)?;
            let channels = vec![self.local(at, third), self.local(third, goal)];
            return self.shape.intra_group_detours.then_some(Path {
                channels,
                links: 2,
                detour: true,
            });
        }
        let third = (0..self.shape.groups).find(|group| *group != here && *group != there)?;
        let (mut channels, arrived) = self.way_to_group(at, third);
        let links = channels.len() as u64 + 3;
        let onward = self.minimal(arrived, goal);
        channels.extend(onward.channels);
        Some(Path { channels, links, detour: true })
    }

    /// Goes over the switch's own link to a group, else over the link of another switch of its
    /// group.
    fn way_to_group(&self, at: SwitchId, group: u32) -> (Vec<usize>, SwitchId) {
        if let Some((channel, to)) = self.own(at, group) {
            return (vec![channel], to);
        }
        let size = self.shape.switches_per_group;
        let first = self.shape.group_of(at) * size;
        let mut owners = (first..first + size).filter_map(|switch| {
            self.own(switch, group).map(|(channel, to)| (switch, channel, to))
        });
        let (owner, channel, to) = owners.next().unwrap();
        assert!(owners.next().is_none(), "chance would choose");
        (vec![self.local(at, owner), channel], to)
    }

    /// Returns the link from a switch into a group.
    fn own(&self, at: SwitchId, group: u32) -> Option<(usize, SwitchId)> {
        let mut links = self.fabric.outgoing(at).iter().filter_map(|channel| {
            match self.fabric.channels()[*channel as usize].to {
                End::Switch(to) if self.shape.group_of(to) == group => {
                    Some((*channel as usize, to))
                }
                _ => None,
            }
        });
        let found = links.next();
        assert!(links.next().is_none(), "chance would choose");
        found
    }

    fn local(&self, at: SwitchId, to: SwitchId) -> usize {
        let mut channels = self.fabric.outgoing(at).iter();
        let is_it =
            |channel: &&u32| self.fabric.channels()[**channel as usize].to == End::Switch(to);
        *channels.find(is_it).unwrap() as usize
    }
}

/// A dragonfly whose links have bandwidths and latencies of their own.
pub fn irregular(shape: Dragonfly, rates: &[(u64, u64)]) -> Fabric {
    let rate = LinkRate { bandwidth: Bandwidth(1), latency: Picoseconds(1) };
    let regular =
        dragonfly(&shape, &DragonflyRates { node: rate, local: rate, global: rate }).unwrap();
    let mut rates = rates.iter().cycle().enumerate().map(|(index, (bandwidth, latency))| {
        let bandwidth = Bandwidth(bandwidth + 7_919 * index as u64);
        (bandwidth, Picoseconds(latency + 104_729 * index as u64))
    });
    let (mut nodes, mut links) = (Vec::new(), Vec::new());
    for (channel, (bandwidth, latency)) in regular.channels().iter().step_by(2).zip(&mut rates) {
        match (channel.from, channel.to) {
            (End::Switch(a), End::Switch(b)) => {
                links.push(SwitchLink { a, b, bandwidth, latency });
            }
            (End::Node(node), _) | (_, End::Node(node)) => {
                nodes.push(NodeLink { switch: regular.switch_of(node), bandwidth, latency });
            }
        }
    }
    let shape = FabricShape::Dragonfly(shape);
    let irregular = Fabric::new("dragonfly", shape, regular.switches(), &nodes, &links).unwrap();
    let ends = |network: &Fabric| -> Vec<(End, End)> {
        network.channels().iter().map(|channel| (channel.from, channel.to)).collect()
    };
    assert_eq!(ends(&irregular), ends(&regular));
    irregular
}
