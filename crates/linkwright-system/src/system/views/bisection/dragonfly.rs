//! Divides a dragonfly.
//!
//! Whole groups are on one side. Where their number is odd, one of them is divided, each of its
//! switches as its global links want. Where all pairs of groups have as many links, it does not
//! matter which groups are together. Where some pairs have one more, all divisions of few groups are
//! tried. Of many groups, neighbours on the ring are together, and perhaps those opposite each other.

use super::Halves;
use super::refine::refined;
use crate::system::fabric::Dragonfly;

/// Up to this number of groups every division is tried.
const MOST_SEARCHED: u32 = 16;

/// Holds the groups and the links between them.
struct Groups<'a> {
    shape: &'a Dragonfly,
    halves: &'a Halves,
    /// Holds the bandwidth between two groups, row by row.
    between: Vec<u64>,
}

/// Returns the least over such divisions, and over those that moves of single switches make of them.
pub(super) fn least(shape: &Dragonfly, halves: &Halves) -> u64 {
    let groups = Groups::new(shape, halves);
    let count = shape.groups;
    let together = count / 2;
    let (mut least, mut best) = (u64::MAX, Vec::new());
    let mut look = |inside: &[bool]| {
        let whole = groups.passing(inside);
        let outside = (0..count).filter(|group| !inside[*group as usize]);
        let found = match count.is_multiple_of(2) {
            true => Some((whole, Vec::new())),
            false => outside.map(|it| groups.divided(inside, whole, it)).min(),
        };
        if let Some((found, joined)) = found.filter(|(found, _)| *found < least) {
            let of_groups = |switch: u32| inside[shape.group_of(switch) as usize];
            least = found;
            best = (0..shape.switches()).map(of_groups).collect();
            joined.iter().for_each(|switch| best[*switch as usize] = true);
        }
    };
    if count <= MOST_SEARCHED {
        for set in (0_u32..1 << count).filter(|set| set.count_ones() == together) {
            let inside: Vec<bool> = (0..count).map(|group| set >> group & 1 != 0).collect();
            look(&inside);
        }
    } else {
        for opposite in [0, together / 2] {
            // Two arcs of neighbours: the second begins opposite the first.
            let mut inside = vec![false; count as usize];
            (0..together - opposite).for_each(|group| inside[group as usize] = true);
            let second = (0..opposite).map(|group| (count / 2 + group) % count);
            second.for_each(|group| inside[group as usize] = true);
            look(&inside);
        }
    }
    // Where many links join two groups, a half of each is on one side.
    let size = shape.switches_per_group;
    let of_each = [size / 2, size.div_ceil(2)].map(|lower| {
        let all = 0..shape.switches();
        all.map(|switch| switch % size < lower).collect::<Vec<bool>>()
    });
    let starts = of_each.into_iter().chain([best]);
    starts.map(|start| refined(halves, start)).fold(least, u64::min)
}

impl<'a> Groups<'a> {
    fn new(shape: &'a Dragonfly, halves: &'a Halves) -> Self {
        let count = shape.groups as usize;
        let mut between = vec![0; count * count];
        for (switch, links) in halves.neighbours.iter().enumerate() {
            let from = shape.group_of(switch as u32) as usize;
            for (to, rate) in links {
                between[from * count + shape.group_of(*to) as usize] += rate;
            }
        }
        Self { shape, halves, between }
    }

    /// Returns the bandwidth between groups and the others.
    fn passing(&self, inside: &[bool]) -> u64 {
        let rows = self.between.chunks(inside.len()).zip(inside).filter(|(_, inside)| **inside);
        let crossing = rows.flat_map(|(row, _)| row.iter().zip(inside).filter(|(_, to)| !**to));
        crossing.map(|(rate, _)| *rate).sum()
    }

    /// Returns the bandwidth where a group outside is divided as is best, and its switches that join the
    /// set. Where none does the bandwidth is `whole`.
    fn divided(&self, inside: &[bool], whole: u64, divided: u32) -> (u64, Vec<u32>) {
        let shape = self.shape;
        let (size, first) = (shape.switches_per_group, divided * shape.switches_per_group);
        // Without it, then of each of its switches what it sends to the set, and to the others.
        let count = inside.len();
        let row = &self.between[divided as usize * count..][..count];
        let to_set: u64 =
            row.iter().zip(inside).filter(|(_, it)| **it).map(|(rate, _)| *rate).sum();
        let rest = whole - to_set;
        let mut local = 0;
        let mut switches: Vec<(u64, u64, u32)> = Vec::new();
        for switch in first..first + size {
            let (mut set, mut others) = (0, 0);
            for (to, rate) in &self.halves.neighbours[switch as usize] {
                match shape.group_of(*to) {
                    group if group == divided => local = *rate,
                    group if inside[group as usize] => set += rate,
                    _ => others += rate,
                }
            }
            switches.push((set, others, switch));
        }
        // Those first that send more to the set than to the others.
        switches.sort_by_key(|(set, others, _)| i128::from(*others) - i128::from(*set));
        let nodes = inside.iter().filter(|it| **it).count() as u64
            * u64::from(size)
            * u64::from(shape.nodes_per_switch);
        let of_node = self.halves.links.first().map_or(0, |(rate, _)| *rate);
        let cost = |joined: usize| {
            let (with, without) = switches.split_at(joined);
            let global = with.iter().map(|(_, others, _)| others).sum::<u64>()
                + without.iter().map(|(set, ..)| set).sum::<u64>();
            let inner = local * (joined as u64) * (switches.len() - joined) as u64;
            let held = nodes + joined as u64 * u64::from(shape.nodes_per_switch);
            rest + global + inner + self.halves.misplaced(held) * of_node
        };
        let joined = (0..=switches.len()).min_by_key(|joined| cost(*joined)).unwrap_or(0);
        (cost(joined), switches[..joined].iter().map(|(.., switch)| *switch).collect())
    }
}
