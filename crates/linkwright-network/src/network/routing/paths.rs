//! One way to each destination, of the many that tables allow.
//!
//! Destinations are taken one after another. Each gets the paths, one from every switch, that
//! cross the channels which carry the fewest paths so far, added up along the path; then the
//! channels count the paths of all nodes that come to them. A choice by the destination's number
//! would repeat itself from switch to switch: those whose packets come to a switch have the
//! remainder in common by which it would choose, and take one of its channels all.
//!
//! Source: Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand
//! Networks", HOTI 2009, with the fewest links first, as the tables have it.

use crate::system::fabric::{ChannelId, End, Fabric, NodeId, RoutingTables, SwitchId};

/// The most entries; a larger network has one path for several nodes of a switch.
const MOST_ENTRIES: u64 = 1 << 23;

/// The channel that packets for each node take from each switch.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    switches: u32,
    /// Which row serves each node.
    row_of_node: Vec<u32>,
    /// The channels, row by row; [`ChannelId::MAX`] where no packet comes by.
    next: Vec<ChannelId>,
}

/// The search for the ways to one node after another.
struct Search<'a> {
    fabric: &'a Fabric,
    tables: &'a RoutingTables,
    /// How many nodes each switch has.
    nodes: Vec<u64>,
    /// How many paths cross each channel so far.
    load: Vec<u64>,
    /// How many ways to the node come by each switch.
    flow: Vec<u64>,
    /// How many paths cross the channels from each switch to the node.
    cost: Vec<u64>,
    /// The switches on the ways to the node, those nearer to it before others.
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
        for node in 0..fabric.nodes() {
            let row = tables.row(node) as usize;
            let among = &mut rows_of[row];
            if among.len() < most {
                search.add(node, &mut paths.next);
                among.push(rows);
                rows += 1;
            }
            paths.row_of_node.push(among[served[row] % among.len()]);
            served[row] += 1;
        }
        paths
    }

    /// The channel from a switch towards a node of another one.
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

    /// Appends the row of a node.
    fn add(&mut self, node: NodeId, next: &mut Vec<ChannelId>) {
        let goal = self.fabric.switch_of(node);
        self.sort(node, goal);
        let first = next.len();
        next.resize(first + self.seen.len(), ChannelId::MAX);
        let next = &mut next[first..];
        self.cost[goal as usize] = 0;
        for at in &self.order {
            let allowed = self.tables.next(*at, node);
            // Ties go to another channel for each node.
            let (before, from) = allowed.split_at(node as usize % allowed.len());
            let mut best = (u64::MAX, ChannelId::MAX);
            for channel in from.iter().chain(before) {
                let onward = switch_behind(self.fabric, *channel);
                let cost = self.load[*channel as usize] + self.cost[onward as usize];
                if cost < best.0 {
                    best = (cost, *channel);
                }
            }
            (self.cost[*at as usize], next[*at as usize]) = best;
        }
        for at in self.order.iter().rev() {
            let channel = next[*at as usize];
            let paths = std::mem::take(&mut self.flow[*at as usize]) + self.nodes[*at as usize];
            self.load[channel as usize] += paths;
            let onward = switch_behind(self.fabric, channel);
            self.flow[onward as usize] += paths;
        }
        self.flow[goal as usize] = 0;
    }

    /// Puts the switches on the ways to a node into an order in which each comes behind all
    /// that its channels lead to; the goal is not among them.
    fn sort(&mut self, node: NodeId, goal: SwitchId) {
        self.order.clear();
        self.seen.fill(false);
        self.seen[goal as usize] = true;
        let mut open: Vec<(SwitchId, usize)> = Vec::new();
        for start in 0..self.seen.len() as u32 {
            if self.nodes[start as usize] == 0 || self.seen[start as usize] {
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
