//! Holds every routing to its contract on a fabric that it takes. Whoever writes one can ask for it.

use std::collections::BTreeSet;

use super::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingKind};
use crate::diagnostic::Registry;
use crate::engine::Random;
use crate::network::transport::Message;
use crate::system::fabric::{ChannelId, End, Fabric, NodeId, SwitchId};
use crate::units::Bytes;

/// A way of as many hops is taken to have no end.
pub const MOST_HOPS: usize = 64;

/// With that many seeds the ways of a routing are drawn.
const SEEDS: u64 = 10;

/// Queues of random lengths, so that adaptive routings take every way they know.
#[derive(Debug, Clone)]
pub struct AnyLoad(pub Random);

impl Load for AnyLoad {
    fn queued(&mut self, _: ChannelId) -> u32 {
        20.try_into().map_or(0, |bound| self.0.below(bound) as u32)
    }
}

/// Asks a kind on a fabric that it takes whether it keeps a promise; the error says what it did, in words.
type Check = fn(&dyn RoutingKind, &Fabric) -> Result<(), String>;

/// Lists what every routing promises, with the check of each.
pub const PROMISES: [(&str, Check); 3] = [
    ("packets arrive, by no more links than it says", packets_arrive),
    ("buffers wait for one another in no cycle", |kind, fabric| {
        buffers_wait_in_no_cycle(kind, fabric, SEEDS)
    }),
    ("packets that stay in order take one way", packets_stay_in_order),
];

/// Asks every kind of a registry for all that this module asks, on each fabric that it takes.
///
/// # Errors
/// The first fault of a routing, in words; or a kind that takes none of the fabrics.
pub fn hold(kinds: &Registry<dyn RoutingKind>, fabrics: &[Fabric]) -> Result<(), String> {
    for kind in kinds.iter() {
        let mut taken = false;
        for fabric in fabrics.iter().filter(|fabric| AnyRouting::new(kind, fabric, 1).is_ok()) {
            PROMISES.iter().try_for_each(|(_, check)| check(kind, fabric))?;
            taken = true;
        }
        if !taken {
            return Err(format!("`{}` takes none of the fabrics", kind.name()));
        }
    }
    Ok(())
}

/// Takes a packet from its source's switch to its node.
///
/// # Errors
/// A hop by a channel that starts elsewhere or in no virtual channel, or another node's end.
pub fn walk(
    fabric: &Fabric,
    routing: &mut AnyRouting,
    load: &mut dyn Load,
    [source, destination]: [NodeId; 2],
) -> Result<Vec<Hop>, String> {
    let mut packet = PacketRoute::new(source, destination);
    routing.start(&mut packet, &Message::new(source, destination, Bytes(1), 0));
    let mut at = fabric.switch_of(source);
    let mut hops = Vec::new();
    loop {
        let hop = routing.route(at, &mut packet, load);
        let channel = fabric.channels().get(hop.channel as usize);
        let channel =
            channel.filter(|channel| channel.from == End::Switch(at)).ok_or_else(|| {
                format!("{source} to {destination}: no channel {} leaves switch {at}", hop.channel)
            })?;
        if hop.virtual_channel >= routing.virtual_channels() || hops.len() == MOST_HOPS {
            return Err(format!("{source} to {destination}: {hop:?} behind {} others", hops.len()));
        }
        packet.hops += 1;
        packet.virtual_channel = hop.virtual_channel;
        hops.push(hop);
        match channel.to {
            End::Switch(switch) => at = switch,
            End::Node(node) if node == destination => return Ok(hops),
            End::Node(node) => return Err(format!("{source} to {destination} ends at {node}")),
        }
    }
}

/// Counts the links between switches that lie between two nodes at least.
fn fewest(fabric: &Fabric, [source, destination]: [NodeId; 2]) -> usize {
    let goal = fabric.switch_of(destination);
    let mut frontier = vec![fabric.switch_of(source)];
    let mut seen = vec![false; fabric.switches() as usize];
    let mut distance = 0;
    while !frontier.is_empty() && !frontier.contains(&goal) {
        let mut further: Vec<SwitchId> = Vec::new();
        for at in frontier {
            for channel in fabric.outgoing(at) {
                if let End::Switch(to) = fabric.channels()[*channel as usize].to
                    && !std::mem::replace(&mut seen[to as usize], true)
                {
                    further.push(to);
                }
            }
        }
        frontier = further;
        distance += 1;
    }
    distance
}

/// Takes packets between all nodes, by no more links than the kind says.
///
/// # Errors
/// A packet that does not arrive, or by too many links.
pub fn packets_arrive(kind: &dyn RoutingKind, fabric: &Fabric) -> Result<(), String> {
    let mut routing = AnyRouting::new(kind, fabric, 3).map_err(|error| error.to_string())?;
    let mut load = AnyLoad(Random::new(1));
    for ends in pairs(fabric) {
        let hops = walk(fabric, &mut routing, &mut load, ends).map_err(|fault| of(kind, &fault))?;
        let fewest = fewest(fabric, ends);
        // The last hop leads to the node.
        let links = hops.len() - 1;
        if !(fewest..=kind.most_links(fewest)).contains(&links) {
            let fault = format!("{ends:?} by {links} links on {}, {fewest} do", fabric.name());
            return Err(of(kind, &fault));
        }
    }
    Ok(())
}

/// Looks over the ways between all nodes, with that many seeds, for buffers that wait for one another.
///
/// A packet in the buffer behind a channel may wait for a place behind the next one. Over the ways of
/// all pairs, under loads of every kind, these waits must order the buffers (Dally and Seitz, 1987).
///
/// # Errors
/// Fails with a cycle of buffers that wait for one another.
pub fn buffers_wait_in_no_cycle(
    kind: &dyn RoutingKind,
    fabric: &Fabric,
    seeds: u64,
) -> Result<(), String> {
    let mut edges = BTreeSet::new();
    let mut channels = 0;
    for seed in 0..seeds {
        let mut routing = AnyRouting::new(kind, fabric, seed).map_err(|error| error.to_string())?;
        let mut load = AnyLoad(Random::new(seed));
        channels = usize::from(routing.virtual_channels());
        for ends in pairs(fabric) {
            let hops = walk(fabric, &mut routing, &mut load, ends);
            let hops = hops.map_err(|fault| of(kind, &fault))?;
            let buffer =
                |hop: &Hop| hop.channel as usize * channels + usize::from(hop.virtual_channel);
            let buffers: Vec<_> = hops.iter().map(buffer).collect();
            edges.extend(buffers.windows(2).map(|pair| (pair[0], pair[1])));
        }
    }
    if has_cycle(fabric.channels().len() * channels, &edges) {
        let fault = format!("buffers wait for one another on {}", fabric.name());
        return Err(of(kind, &fault));
    }
    Ok(())
}

/// Checks of a routing in order that all packets between two nodes take one way, however busy channels are.
///
/// # Errors
/// Holds two ways.
pub fn packets_stay_in_order(kind: &dyn RoutingKind, fabric: &Fabric) -> Result<(), String> {
    let mut routing = AnyRouting::new(kind, fabric, 3).map_err(|error| error.to_string())?;
    if !routing.in_order() {
        return Ok(());
    }
    let mut load = AnyLoad(Random::new(1));
    for ends in pairs(fabric) {
        let [first, second] = [0, 1].map(|_| walk(fabric, &mut routing, &mut load, ends));
        let (first, second) = (first?, second?);
        if first != second {
            let fault = format!("{ends:?} by {first:?}, then by {second:?} on {}", fabric.name());
            return Err(of(kind, &fault));
        }
    }
    Ok(())
}

/// Tells whether the edges close a cycle: vertices without incoming edges are taken off until none is.
#[must_use]
pub fn has_cycle(vertices: usize, edges: &BTreeSet<(usize, usize)>) -> bool {
    let mut incoming = vec![0; vertices];
    let mut outgoing = vec![Vec::new(); vertices];
    for (from, to) in edges {
        incoming[*to] += 1;
        outgoing[*from].push(*to);
    }
    let mut free: Vec<_> = (0..vertices).filter(|vertex| incoming[*vertex] == 0).collect();
    let mut taken = 0;
    while let Some(vertex) = free.pop() {
        taken += 1;
        for to in &outgoing[vertex] {
            incoming[*to] -= 1;
            if incoming[*to] == 0 {
                free.push(*to);
            }
        }
    }
    taken < vertices
}

fn pairs(fabric: &Fabric) -> impl Iterator<Item = [NodeId; 2]> {
    let nodes = fabric.nodes();
    (0..nodes).flat_map(move |source| (0..nodes).map(move |destination| [source, destination]))
}

fn of(kind: &dyn RoutingKind, fault: &str) -> String {
    format!("`{}`: {fault}", kind.name())
}
