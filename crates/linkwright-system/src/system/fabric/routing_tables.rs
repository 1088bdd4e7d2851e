//! Routing tables: where a packet may go next, for each switch and each destination.
//!
//! A table serves networks without a shape that a routing algorithm could compute with. Which
//! of several ways a packet takes is the algorithm's choice; the table holds all that are
//! allowed, in a fixed order.

use super::{ChannelId, End, Fabric, FabricError, NodeId, SwitchId};

/// Lists, for each destination node and each switch, the channels that lead on.
///
/// Nodes to which all ways are the same share one row. Where ways are shortest ones, the nodes of
/// one switch do. Following any channels of a row ends at the destination's switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingTables {
    switches: u32,
    /// Which row serves each node.
    row_of_node: Vec<u32>,
    /// Where the channels of each row and switch start; one more than there are of both.
    start: Vec<u32>,
    channels: Vec<ChannelId>,
    longest: u32,
}

/// The most entries, so that a table stays below a gigabyte.
const MOST_ENTRIES: u64 = 1 << 27;

impl RoutingTables {
    /// The tables of all shortest paths by number of links; a path's parallel links are in it
    /// all, by index.
    ///
    /// # Errors
    /// Refuses nodes that no path of links joins. Refuses more than 2^27 pairs of a switch and a
    /// destination switch, and more than 2^27 channels.
    pub fn shortest(fabric: &Fabric) -> Result<Self, FabricError> {
        fabric.check_connected()?;
        let switches = fabric.switches();
        let (row_of_node, destinations) = rows(fabric);
        check_entries(destinations.len() as u64 * u64::from(switches))?;
        let mut tables = Self::with_room(switches, row_of_node, destinations.len());
        let mut search = Search::new(fabric);
        for destination in destinations {
            search.from(destination);
            let hops = &search.hops;
            for at in 0..switches {
                let here = hops[at as usize];
                if here != u32::MAX && here > 0 {
                    tables.longest = tables.longest.max(here);
                    let nearer =
                        neighbours(fabric, at).filter(|(_, next)| hops[*next as usize] + 1 == here);
                    tables.channels.extend(nearer.map(|(channel, _)| channel));
                }
                tables.close_entry()?;
            }
        }
        Ok(tables)
    }

    /// Returns a number of links that the longest path in the tables of shortest paths has at
    /// least. It is found from one destination, and so at once, however large the tables would be.
    #[must_use]
    pub fn least_longest(fabric: &Fabric) -> u32 {
        let mut search = Search::new(fabric);
        search.from(fabric.switch_of(0));
        search.hops.into_iter().filter(|hops| *hops < u32::MAX).max().unwrap_or(0)
    }

    /// Makes tables whose entries follow, row by row and in a row switch by switch.
    pub(super) fn with_room(switches: u32, row_of_node: Vec<u32>, rows: usize) -> Self {
        let mut start = Vec::with_capacity(rows * switches as usize + 1);
        start.push(0);
        Self { switches, row_of_node, start, channels: Vec::new(), longest: 0 }
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, channels: &[ChannelId]) -> Result<(), FabricError> {
        self.channels.extend(channels);
        self.close_entry()
    }

    fn close_entry(&mut self) -> Result<(), FabricError> {
        check_entries(self.channels.len() as u64)?;
        self.start.push(self.channels.len() as u32);
        Ok(())
    }

    /// Says how many links the longest way of a row has.
    pub(super) fn note_length(&mut self, links: u32) {
        self.longest = self.longest.max(links);
    }

    /// The channels that lead from a switch on to a node: none at the node's own switch, whose
    /// [`Fabric::ejection`] leads to it.
    ///
    /// # Panics
    /// For a switch or a node that is not there.
    #[must_use]
    pub fn next(&self, at: SwitchId, destination: NodeId) -> &[ChannelId] {
        let row = self.row_of_node[destination as usize] as usize;
        let entry = row * self.switches as usize + at as usize;
        &self.channels[self.start[entry] as usize..self.start[entry + 1] as usize]
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        ((self.start.len() - 1) / self.switches as usize) as u32
    }

    /// The row that serves a node: nodes of one row have the same channels at every switch.
    ///
    /// # Panics
    /// For a node that is not there.
    #[must_use]
    pub fn row(&self, destination: NodeId) -> u32 {
        self.row_of_node[destination as usize]
    }

    /// Links between switches on the longest way: as many virtual channels, one for each link
    /// of a way in turn, exclude deadlock.
    #[must_use]
    pub fn longest(&self) -> u32 {
        self.longest
    }
}

/// Counts the links between each switch and one of them.
struct Search<'a> {
    fabric: &'a Fabric,
    /// Of each switch; `u32::MAX` where no way leads.
    hops: Vec<u32>,
    queue: Vec<SwitchId>,
}

impl<'a> Search<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let switches = fabric.switches() as usize;
        let (hops, queue) = (vec![u32::MAX; switches], Vec::with_capacity(switches));
        Self { fabric, hops, queue }
    }

    fn from(&mut self, destination: SwitchId) {
        self.hops.fill(u32::MAX);
        self.hops[destination as usize] = 0;
        self.queue.clear();
        self.queue.push(destination);
        let mut head = 0;
        while let Some(at) = self.queue.get(head).copied() {
            head += 1;
            for (_, next) in neighbours(self.fabric, at) {
                if self.hops[next as usize] == u32::MAX {
                    self.hops[next as usize] = self.hops[at as usize] + 1;
                    self.queue.push(next);
                }
            }
        }
    }
}

/// Refuses more than a table can hold.
pub(super) fn check_entries(entries: u64) -> Result<(), FabricError> {
    if entries <= MOST_ENTRIES {
        return Ok(());
    }
    Err(FabricError::TableTooLarge { entries, most: MOST_ENTRIES })
}

/// Lists the channels from a switch to others, with where they lead.
pub(super) fn neighbours(
    fabric: &Fabric,
    switch: SwitchId,
) -> impl Iterator<Item = (ChannelId, SwitchId)> + '_ {
    fabric.outgoing(switch).iter().filter_map(|channel| {
        match fabric.channels()[*channel as usize].to {
            End::Switch(next) => Some((*channel, next)),
            End::Node(_) => None,
        }
    })
}

/// One row for each switch that has nodes: which serves each node, and the switches in turn.
pub(super) fn rows(fabric: &Fabric) -> (Vec<u32>, Vec<SwitchId>) {
    let mut row_of_switch = vec![u32::MAX; fabric.switches() as usize];
    let mut destinations = Vec::new();
    let row_of_node = (0..fabric.nodes()).map(|node| {
        let switch = fabric.switch_of(node);
        let row = &mut row_of_switch[switch as usize];
        if *row == u32::MAX {
            *row = destinations.len() as u32;
            destinations.push(switch);
        }
        *row
    });
    let row_of_node = row_of_node.collect();
    (row_of_node, destinations)
}
