//! Shortest-path routing on any graph.
//!
//! Each switch sends the packets for a destination by one fixed channel on a way of fewest
//! hops. Order of the virtual channels: a packet enters the next one at every hop, so that
//! none is entered twice and no cycle of buffers can close; a graph needs as many as its
//! longest route has links between switches.

use thiserror::Error;

use crate::topology::interconnect::{ChannelId, End, Interconnect, SwitchId};

use super::{Hop, Load, PacketRoute, Routing};

/// Tables that do not lead every packet to its node.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// A switch that knows no way to another.
    #[error("no links lead from switch {from} to switch {to}; join them")]
    Unreachable {
        /// The switch without a way.
        from: SwitchId,
        /// The switch that it should reach.
        to: SwitchId,
    },
    /// A way that comes back to where it was.
    #[error("the table sends packets for switch {to} round in a loop through switch {through}")]
    Loop {
        /// The switch that they should reach.
        to: SwitchId,
        /// A switch that they pass again and again.
        through: SwitchId,
    },
    /// Routes longer than there are virtual channels.
    #[error("the longest route has {hops} links between switches; at most 32 are possible")]
    TooLong {
        /// How many links it has.
        hops: u32,
    },
}

/// One channel per switch and destination's switch.
#[derive(Debug, Clone)]
pub struct ShortestPath {
    switches: u32,
    /// The switch of each node.
    switch_of: Vec<SwitchId>,
    /// The channel from a switch (row) towards a switch (column).
    next: Vec<ChannelId>,
    virtual_channels: u8,
}

/// The most virtual channels, and so the most links of a route.
const MOST_HOPS: u32 = 32;

impl ShortestPath {
    /// Computes the tables: ways of fewest links, spread over equal ones by destination.
    ///
    /// # Errors
    /// A switch that cannot reach another one which has nodes, or routes of over 32 links.
    pub fn new(interconnect: &Interconnect) -> Result<Self, TableError> {
        let switches = interconnect.switches();
        let mut next = vec![ChannelId::MAX; switches as usize * switches as usize];
        let mut distance = vec![u32::MAX; switches as usize];
        for goal in goals(interconnect) {
            distances(interconnect, goal, &mut distance);
            for at in 0..switches {
                if at != goal && distance[at as usize] == u32::MAX {
                    return Err(TableError::Unreachable { from: at, to: goal });
                }
                let nearer: Vec<_> = interconnect
                    .outgoing(at)
                    .iter()
                    .filter(|channel| match interconnect.channels()[**channel as usize].to {
                        End::Switch(to) => distance[to as usize] < distance[at as usize],
                        End::Node(_) => false,
                    })
                    .collect();
                if !nearer.is_empty() {
                    let index = at as usize * switches as usize + goal as usize;
                    next[index] = *nearer[goal as usize % nearer.len()];
                }
            }
        }
        Self::from_table(interconnect, next)
    }

    /// Takes tables as they are: the channel from each switch (row) towards each other one
    /// (column), `ChannelId::MAX` where there is none.
    ///
    /// # Errors
    /// A way that ends before its goal or runs in a loop, or routes of over 32 links.
    ///
    /// # Panics
    /// For a table that has not one entry per pair of switches.
    pub fn from_table(
        interconnect: &Interconnect,
        next: Vec<ChannelId>,
    ) -> Result<Self, TableError> {
        let switches = interconnect.switches();
        assert_eq!(next.len(), switches as usize * switches as usize);
        let mut longest = 0;
        let mut hops = vec![u32::MAX; switches as usize];
        for goal in goals(interconnect) {
            hops.fill(u32::MAX);
            hops[goal as usize] = 0;
            for start in 0..switches {
                let towards = |at: SwitchId| {
                    let channel = next[at as usize * switches as usize + goal as usize];
                    match interconnect.channels().get(channel as usize).map(|found| found.to) {
                        Some(End::Switch(to)) => Ok(to),
                        _ => Err(TableError::Unreachable { from: at, to: goal }),
                    }
                };
                let mut way = Vec::new();
                let mut at = start;
                while hops[at as usize] == u32::MAX {
                    if way.len() > switches as usize {
                        return Err(TableError::Loop { to: goal, through: at });
                    }
                    way.push(at);
                    at = towards(at)?;
                }
                for (index, at_way) in way.iter().rev().enumerate() {
                    hops[*at_way as usize] = hops[at as usize] + 1 + index as u32;
                }
                longest = longest.max(hops[start as usize]);
            }
        }
        if longest > MOST_HOPS {
            return Err(TableError::TooLong { hops: longest });
        }
        let switch_of =
            (0..interconnect.nodes()).map(|node| interconnect.switch_of(node)).collect();
        let virtual_channels = longest.max(1) as u8;
        Ok(Self { switches, switch_of, next, virtual_channels })
    }
}

/// The switches with nodes, each once.
fn goals(interconnect: &Interconnect) -> Vec<SwitchId> {
    let mut goals: Vec<_> =
        (0..interconnect.nodes()).map(|node| interconnect.switch_of(node)).collect();
    goals.sort_unstable();
    goals.dedup();
    goals
}

/// How many links lie between each switch and a goal; links are walked from their ends.
fn distances(interconnect: &Interconnect, goal: SwitchId, distance: &mut [u32]) {
    distance.fill(u32::MAX);
    distance[goal as usize] = 0;
    let mut frontier = vec![goal];
    while !frontier.is_empty() {
        let mut further = Vec::new();
        for at in frontier {
            for channel in interconnect.outgoing(at) {
                if let End::Switch(to) = interconnect.channels()[*channel as usize].to
                    && distance[to as usize] == u32::MAX
                {
                    distance[to as usize] = distance[at as usize] + 1;
                    further.push(to);
                }
            }
        }
        frontier = further;
    }
}

impl Routing for ShortestPath {
    fn virtual_channels(&self) -> u8 {
        self.virtual_channels
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut impl Load) -> Hop {
        let goal = self.switch_of[packet.destination as usize];
        if at == goal {
            let channel = Interconnect::ejection(packet.destination);
            return Hop { channel, virtual_channel: 0 };
        }
        let channel = self.next[at as usize * self.switches as usize + goal as usize];
        Hop { channel, virtual_channel: packet.hops }
    }
}
