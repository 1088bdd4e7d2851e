//! Chooses one way to each destination, of the many that tables allow.
//!
//! Destinations are taken one after another. Each gets one path from every switch. The paths cross
//! the channels that carry the fewest paths so far, added up along the path. Then the channels
//! count the paths of all nodes that come to them. Passes follow. Each takes away the paths to one
//! destination after another and lays them anew, where a channel costs the square of its load. The
//! pass whose most loaded channel carries least is kept. A choice by the destination's number would
//! repeat itself from switch to switch. The destinations whose packets come to a switch have in
//! common the remainder by which it would choose. They would all take one of its channels.
//!
//! Source: Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand
//! Networks", HOTI 2009, with the fewest links first, as the tables have it.

use crate::system::fabric::{ChannelId, End, Fabric, NodeId, RoutingTables, SwitchId};

/// The most entries; a larger network has one path for several nodes of a switch.
const MOST_ENTRIES: u64 = 1 << 23;

/// Paths are laid anew up to this number of times, and over at most [`MOST_LAID`] entries in all.
const MOST_PASSES: u64 = 8;
const MOST_LAID: u64 = 1 << 22;

/// Holds the channel that packets for each node take from each switch.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    switches: u32,
    /// Which row serves each node.
    row_of_node: Vec<u32>,
    /// The channels, row by row; [`ChannelId::MAX`] where no packet comes by.
    next: Vec<ChannelId>,
}

/// Searches for the ways to one node after another, and holds the state of the search.
struct Search<'a> {
    fabric: &'a Fabric,
    tables: &'a RoutingTables,
    /// How many nodes each switch has.
    nodes: Vec<u64>,
    /// Counts the paths that cross each channel so far.
    load: Vec<u64>,
    /// Counts the ways to the node that come by each switch.
    flow: Vec<u64>,
    /// Counts the paths that cross the channels from each switch to the node.
    cost: Vec<u64>,
    /// Lists the switches on the ways to the node, those nearer to it before others.
    order: Vec<SwitchId>,
    seen: Vec<bool>,
}

impl Paths {
    /// Chooses among the paths that tables of this fabric allow.
    pub(super) fn spread(fabric: &Fabric, tables: &RoutingTables) -> Self {
        let switches = fabric.switches();
        let mut search = Search::new(fabric, tables);
        let of_one = u64::from(tables.rows().max(1)) * u64::from(switches.max(1));
        let most = (MOST_ENTRIES / of_one).max(1) as usize;
        let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); tables.rows() as usize];
        let mut served = vec![0; tables.rows() as usize];
        let mut paths = Self { switches, row_of_node: Vec::new(), next: Vec::new() };
        let mut rows = 0;
        let mut node_of_row: Vec<NodeId> = Vec::new();
        for node in 0..fabric.nodes() {
            let row = tables.row(node) as usize;
            let among = &mut rows_of[row];
            if among.len() < most {
                paths.next.resize(paths.next.len() + switches as usize, ChannelId::MAX);
                search.lay(node, paths.row_mut(rows), node, |load| load);
                node_of_row.push(node);
                among.push(rows);
                rows += 1;
            }
            paths.row_of_node.push(among[served[row] % among.len()]);
            served[row] += 1;
        }
        paths.evened(&mut search, &node_of_row)
    }

    /// Lays all rows anew as long as that may help, and keeps the most even.
    fn evened(mut self, search: &mut Search<'_>, node_of_row: &[NodeId]) -> Self {
        let passes = (MOST_LAID / (self.next.len() as u64).max(1)).min(MOST_PASSES) as u32;
        let mut best = (search.unevenness(), self.next.clone());
        for pass in 0..passes {
            for (row, node) in (0..).zip(node_of_row) {
                search.take_away(*node, self.row_mut(row));
                let turn = node.wrapping_add(pass);
                search.lay(*node, self.row_mut(row), turn, |load| load.saturating_mul(load));
            }
            let unevenness = search.unevenness();
            if unevenness < best.0 {
                best = (unevenness, self.next.clone());
            }
        }
        Self { next: best.1, ..self }
    }

    fn row_mut(&mut self, row: u32) -> &mut [ChannelId] {
        let switches = self.switches as usize;
        &mut self.next[row as usize * switches..][..switches]
    }

    /// Returns the channel from a switch towards a node of another one.
    pub(super) fn next(&self, at: SwitchId, destination: NodeId) -> ChannelId {
        let row = self.row_of_node[destination as usize] as usize;
        self.next[row * self.switches as usize + at as usize]
    }
}

impl<'a> Search<'a> {
    fn new(fabric: &'a Fabric, tables: &'a RoutingTables) -> Self {
        let switches = fabric.switches() as usize;
        let mut nodes = vec![0; switches];
        for node in 0..fabric.nodes() {
            nodes[fabric.switch_of(node) as usize] += 1;
        }
        Self {
            fabric,
            tables,
            nodes,
            load: vec![0; fabric.channels().len()],
            flow: vec![0; switches],
            cost: vec![0; switches],
            order: Vec::with_capacity(switches),
            seen: vec![false; switches],
        }
    }

    /// Lays the row of a node over the channels that cost least; ties go to another channel in each turn.
    fn lay(
        &mut self,
        node: NodeId,
        next: &mut [ChannelId],
        turn: u32,
        cost_of: impl Fn(u64) -> u64,
    ) {
        let goal = self.fabric.switch_of(node);
        self.sort(node, goal);
        self.cost[goal as usize] = 0;
        for at in &self.order {
            let allowed = self.tables.next(*at, node);
            let (before, from) = allowed.split_at(turn as usize % allowed.len());
            let mut best = (u64::MAX, ChannelId::MAX);
            for channel in from.iter().chain(before) {
                let onward = switch_behind(self.fabric, *channel);
                let own = cost_of(self.load[*channel as usize]);
                let cost = own.saturating_add(self.cost[onward as usize]).min(u64::MAX - 1);
                if cost < best.0 {
                    best = (cost, *channel);
                }
            }
            (self.cost[*at as usize], next[*at as usize]) = best;
        }
        self.count(goal, next, u64::wrapping_add);
    }

    /// Takes the paths of a row off the channels.
    fn take_away(&mut self, node: NodeId, next: &[ChannelId]) {
        let goal = self.fabric.switch_of(node);
        self.sort(node, goal);
        self.count(goal, next, u64::wrapping_sub);
    }

    /// Adds the paths of a row to the loads, or subtracts them, in the order of [`Self::sort`].
    fn count(&mut self, goal: SwitchId, next: &[ChannelId], change: fn(u64, u64) -> u64) {
        for at in self.order.iter().rev() {
            let channel = next[*at as usize];
            let paths = std::mem::take(&mut self.flow[*at as usize]) + self.nodes[*at as usize];
            let load = &mut self.load[channel as usize];
            *load = change(*load, paths);
            let onward = switch_behind(self.fabric, channel);
            self.flow[onward as usize] += paths;
        }
        self.flow[goal as usize] = 0;
    }

    /// Tells the paths over the most loaded channel, and the sum of all loads' squares.
    fn unevenness(&self) -> (u64, u128) {
        let squares = self.load.iter().map(|load| u128::from(*load) * u128::from(*load));
        (self.load.iter().copied().max().unwrap_or(0), squares.sum())
    }

    /// Puts the switches on the ways to a node into an order. Each comes behind all switches that
    /// its channels lead to; the goal is not among them.
    fn sort(&mut self, node: NodeId, goal: SwitchId) {
        self.order.clear();
        self.seen.fill(false);
        self.seen[goal as usize] = true;
        let mut open: Vec<(SwitchId, usize)> = Vec::new();
        for start in 0..self.seen.len() as u32 {
            let is_cut_off = || self.tables.next(start, node).is_empty();
            if self.nodes[start as usize] == 0 || self.seen[start as usize] || is_cut_off() {
                continue;
            }
            self.seen[start as usize] = true;
            open.push((start, 0));
            while let Some((at, tried)) = open.last_mut() {
                let Some(channel) = self.tables.next(*at, node).get(*tried) else {
                    self.order.push(*at);
                    open.pop();
                    continue;
                };
                *tried += 1;
                let onward = switch_behind(self.fabric, *channel);
                if !std::mem::replace(&mut self.seen[onward as usize], true) {
                    open.push((onward, 0));
                }
            }
        }
    }
}

/// The switch to which a channel between switches leads.
fn switch_behind(fabric: &Fabric, channel: ChannelId) -> SwitchId {
    match fabric.channels()[channel as usize].to {
        End::Switch(switch) => switch,
        End::Node(node) => fabric.switch_of(node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fabric::read_fabric;

    /// Returns the least, the most and the mean of the paths over a channel between switches, all to all.
    fn spread(text: &str) -> (u64, u64, f64) {
        let fabric = read_fabric("graph", text).unwrap();
        let tables = RoutingTables::shortest(&fabric).unwrap();
        let paths = Paths::spread(&fabric, &tables);
        let mut load = vec![0_u64; fabric.channels().len()];
        for source in 0..fabric.nodes() {
            for destination in 0..fabric.nodes() {
                let mut at = fabric.switch_of(source);
                while at != fabric.switch_of(destination) {
                    let channel = paths.next(at, destination);
                    load[channel as usize] += 1;
                    at = switch_behind(&fabric, channel);
                }
            }
        }
        let between = &load[2 * fabric.nodes() as usize..];
        let mean = between.iter().sum::<u64>() as f64 / between.len() as f64;
        (*between.iter().min().unwrap(), *between.iter().max().unwrap(), mean)
    }

    /// A torus as a graph of its links, which no routing of tori may use.
    fn torus(sizes: &[u32]) -> String {
        let text = format!("kind = 'torus'\ndimensions = {sizes:?}");
        crate::system::fabric::fabric_dot(&read_fabric("torus", &text).unwrap())
    }

    #[test]
    fn all_to_all_loads_the_channels_of_a_torus_evenly() {
        let (least, most, mean) = spread(&torus(&[4, 4, 4]));
        assert!((mean - 32.0).abs() < 1e-9);
        assert!(least >= 26 && most <= 38, "{least} to {most}");
        let (least, most, mean) = spread(&torus(&[4, 4]));
        assert!(least >= 6 && most <= 10, "{least} to {most}, {mean}");
    }

    #[test]
    fn all_to_all_loads_the_channels_of_a_hyperx_evenly() {
        let mut text = String::from(
            "graph hyperx { edge [bandwidth=\"1 GB/s\", latency=\"1 ns\"] node [nodes=4]\n",
        );
        for (a, b) in (0..9).flat_map(|a| (a + 1..9).map(move |b| (a, b))) {
            if a / 3 == b / 3 || a % 3 == b % 3 {
                text += &format!("{a} -- {b}\n");
            }
        }
        let (least, most, mean) = spread(&(text + "}"));
        assert!(most as f64 <= 1.1 * mean && least as f64 >= 0.9 * mean, "{least} {most} {mean}");
    }
}
