//! Tells the bandwidth that passes the middle of a fabric.
//!
//! The nodes are in two halves, equal or one apart, divided so that the least passes between them in one
//! direction. By maximum flow and minimum cut (Ford and Fulkerson, 1956) a set of switches tells it. Its
//! links to others count, and the links of nodes that are in the other half than their switch. All sets of a
//! small fabric are tried. Of a large one the shape says which to try. It leaves out which way packets
//! take.

mod bounds;
mod dragonfly;
mod exact;
mod fat_tree;
mod refine;
mod torus;

use crate::system::fabric::{End, Fabric, FabricShape, SwitchId};
use crate::units::Bandwidth;

/// A fabric whose nodes are to be halved.
struct Halves {
    /// How many nodes each switch has.
    nodes: Vec<u64>,
    /// Lists the nodes, those of the slowest links first: each with its link's rate and its switch.
    links: Vec<(u64, SwitchId)>,
    /// For each switch the others that a link joins it to, each with the link's rate.
    neighbours: Vec<Vec<(SwitchId, u64)>>,
}

impl Halves {
    fn new(fabric: &Fabric) -> Self {
        let switches = fabric.switches() as usize;
        let (mut nodes, mut neighbours) = (vec![0; switches], vec![Vec::new(); switches]);
        let mut links = Vec::with_capacity(fabric.nodes() as usize);
        for channel in fabric.channels() {
            match (channel.from, channel.to) {
                (End::Node(_), End::Switch(switch)) => {
                    nodes[switch as usize] += 1;
                    links.push((channel.bandwidth.0, switch));
                }
                (End::Switch(from), End::Switch(to)) => {
                    neighbours[from as usize].push((to, channel.bandwidth.0));
                }
                (_, End::Node(_)) => {}
            }
        }
        links.sort_unstable();
        Self { nodes, links, neighbours }
    }

    /// How many nodes the smaller half has.
    fn half(&self) -> u64 {
        self.links.len() as u64 / 2
    }

    /// How many of a number of nodes are not in the half that they are nearest to.
    fn misplaced(&self, nodes: u64) -> u64 {
        let (half, all) = (self.half(), self.links.len() as u64);
        nodes.abs_diff(half).min(nodes.abs_diff(all - half))
    }

    /// Adds up the links of the nodes that are on the wrong side of a set of switches. It has `nodes`
    /// nodes; those of the slowest links change sides.
    fn of_misplaced(&self, inside: &[bool], nodes: u64) -> u64 {
        let all = self.links.len() as u64;
        let slowest = |of: bool, count: u64| -> u64 {
            let side = self.links.iter().filter(|(_, switch)| inside[*switch as usize] == of);
            side.take(count as usize).map(|(rate, _)| *rate).sum()
        };
        let halves = [self.half(), all - self.half()];
        let costs = halves.map(|half| match nodes.checked_sub(half) {
            Some(surplus) => slowest(true, surplus),
            None => slowest(false, half - nodes),
        });
        costs[0].min(costs[1])
    }

    /// Returns the bandwidth between the halves that a set of switches makes.
    fn passing(&self, inside: &[bool]) -> u64 {
        let held = |switch: usize| if inside[switch] { self.nodes[switch] } else { 0 };
        let nodes = (0..inside.len()).map(held).sum();
        let leaves = self.neighbours.iter().enumerate().filter(|(switch, _)| inside[*switch]);
        let leaving = leaves.flat_map(|(_, to)| to).filter(|(to, _)| !inside[*to as usize]);
        leaving.map(|(_, rate)| *rate).sum::<u64>() + self.of_misplaced(inside, nodes)
    }

    /// Returns the bandwidth that half of the nodes send.
    fn of_half(&self) -> u64 {
        self.links[..self.half() as usize].iter().map(|(rate, _)| *rate).sum()
    }
}

/// Returns the least bandwidth that passes in one direction between two halves of the nodes.
///
/// It is known of every kind, and of graphs of up to 20 switches; None of others. Of a dragonfly of over
/// 20 switches it is the least of the divisions that were looked at.
#[must_use]
pub fn bisection_bandwidth(fabric: &Fabric) -> Option<Bandwidth> {
    let halves = Halves::new(fabric);
    let by_shape = of_shape(fabric, &halves);
    let searched = exact::least(&halves);
    let found = by_shape.into_iter().chain(searched).min()?;
    Some(Bandwidth(found.min(halves.of_half())))
}

/// Holds what is known of the bandwidth between the halves: both bounds, equal where it is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bisection {
    /// No division passes less.
    pub least: Bandwidth,
    /// A division passes this.
    pub most: Bandwidth,
}

impl Bisection {
    /// Tells whether both bounds meet.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.least == self.most
    }
}

/// Returns the bisection of any fabric of two nodes or more, exact or within bounds.
///
/// Exact are single switches, fat-trees and tori, by theory. Fabrics of up to 20 switches are, by a
/// search through all divisions. Others are where their bounds meet.
#[must_use]
pub fn bisection(fabric: &Fabric) -> Option<Bisection> {
    if fabric.nodes() < 2 {
        return None;
    }
    let by_theory = matches!(
        fabric.shape(),
        FabricShape::SingleSwitch | FabricShape::FatTree(_) | FabricShape::Torus(_)
    );
    let told = bisection_bandwidth(fabric);
    if let Some(exact) = told
        && (by_theory || fabric.switches() <= exact::MOST_SWITCHES as u32)
    {
        return Some(Bisection { least: exact, most: exact });
    }
    let bounds = bisection_by_halves(fabric);
    Some(met(bounds.least.0, told.map_or(bounds.most.0, |told| told.0.min(bounds.most.0))))
}

/// Returns bounds of the bisection of any fabric of two nodes or more, as large ones have them.
#[must_use]
pub fn bisection_by_halves(fabric: &Fabric) -> Bisection {
    let halves = Halves::new(fabric);
    met(bounds::from_below(fabric, &halves), bounds::from_above(fabric, &halves))
}

/// Takes bounds that only rounding keeps apart for one number.
fn met(least: u64, most: u64) -> Bisection {
    let is_one = (most.saturating_sub(least)) as f64 <= most as f64 * 1e-6;
    Bisection {
        least: Bandwidth(if is_one { most } else { least.min(most) }),
        most: Bandwidth(most),
    }
}

/// Returns the least of the divisions that a shape suggests.
fn of_shape(fabric: &Fabric, halves: &Halves) -> Option<u64> {
    match fabric.shape() {
        FabricShape::SingleSwitch => Some(halves.of_half()),
        FabricShape::FatTree(tree) => Some(fat_tree::least(tree, fabric, halves)),
        FabricShape::Dragonfly(fly) => Some(dragonfly::least(fly, halves)),
        FabricShape::Torus(torus) => Some(torus::least(torus, halves)),
        FabricShape::Graph => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fabric::FabricSpecification;

    /// Compares the divisions that a shape suggests with a search through all of them.
    #[test]
    fn the_divisions_of_every_shape_are_the_least_of_all() {
        let mut looked_at = 0;
        let mut check = |text: &str| {
            let specification: FabricSpecification = toml::from_str(text).unwrap();
            let Ok(fabric) = specification.build() else { return };
            // A search takes twice as long for each switch more.
            if fabric.switches() > 14 {
                return;
            }
            let halves = Halves::new(&fabric);
            let exact = exact::least(&halves).unwrap();
            let told = of_shape(&fabric, &halves).unwrap().min(halves.of_half());
            assert_eq!(told, exact.min(halves.of_half()), "{text}");
            looked_at += 1;
        };
        for nodes in 1..4 {
            for (a, h, groups) in
                (1..5).flat_map(|a| (1..4).flat_map(move |h| (1..8).map(move |g| (a, h, g))))
            {
                check(&format!(
                    "kind = 'dragonfly'\nnodes-per-switch = {nodes}\nswitches-per-group = {a}\n\
                     global-links-per-switch = {h}\ngroups = {groups}"
                ));
            }
            for sizes in
                ["1", "2", "5", "2, 2", "2, 3", "3, 3", "3, 4", "3, 5", "2, 2, 3", "2, 3, 3"]
            {
                check(&format!(
                    "kind = 'torus'\nnodes-per-switch = {nodes}\ndimensions = [{sizes}]"
                ));
            }
        }
        for tapering in 1..4 {
            for (radix, parts) in
                [4, 6, 8].into_iter().flat_map(|radix| (1..9).map(move |it| (radix, it)))
            {
                let of = format!("kind = 'fat-tree'\nradix = {radix}\ntapering = {tapering}");
                check(&format!("{of}\npods = {parts}"));
                check(&format!("{of}\nlevels = 2\nleaves = {parts}"));
                check(&format!("{of}\npods = {parts}\nnode-bandwidth = '50 GB/s'"));
            }
        }
        assert!(looked_at > 150, "{looked_at}");
    }
}
