//! Puts parallel channels together, so that each pair of ends has one fixed path.
//!
//! Represented: a hop of a route may have several channels side by side, as to each of several
//! NVSwitches. Hardware spreads lines evenly over them. They are one channel of their joint
//! bandwidth, a gang, wherever all paths that use one of them use all of them. A GPU may lack the link
//! to one switch. Then gangs are the channels that all paths have in common, and a pair takes the
//! widest.
//!
//! Gangs are found by colour refinement. Channels of one gang serve the same hops of the same pairs.
//! They lead to the same gangs there, and come from the same.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers a channel of a system.
type ChannelId = u32;

/// Lists the hops of a route, each with its parallel channels.
pub(super) type Hops = Vec<Vec<ChannelId>>;

/// Says where a channel starts and ends, and how fast it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChannelEnds {
    pub from: usize,
    pub to: usize,
    pub bandwidth: u64,
}

/// Lists gangs, each with its channels, and the path of each route over them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gangs {
    pub gangs: Vec<Vec<ChannelId>>,
    pub paths: Vec<Vec<u32>>,
}

/// Says in which route a channel stands, and at which hop.
type Place = (usize, usize);

/// Finds the gangs of routes, and a path of gangs for each.
pub(super) fn gangs(routes: &[Hops], ends: &BTreeMap<ChannelId, ChannelEnds>) -> Gangs {
    let colours = refined(routes, ends);
    let count = colours.values().max().map_or(0, |last| last + 1);
    let mut gangs = vec![Vec::new(); count as usize];
    for (channel, colour) in &colours {
        gangs[*colour as usize].push(*channel);
    }
    let widths: Vec<u64> =
        gangs.iter().map(|gang| gang.iter().map(|channel| ends[channel].bandwidth).sum()).collect();
    let paths = routes.iter().map(|hops| widest(hops, &colours, ends, &widths)).collect();
    Gangs { gangs, paths }
}

/// Colours channels until no colour holds two that differ. Colours are numbered by their first channel.
fn refined(routes: &[Hops], ends: &BTreeMap<ChannelId, ChannelEnds>) -> BTreeMap<ChannelId, u32> {
    let mut places: BTreeMap<ChannelId, Vec<Place>> = BTreeMap::new();
    for (route, hops) in routes.iter().enumerate() {
        for (hop, channels) in hops.iter().enumerate() {
            for channel in channels {
                places.entry(*channel).or_default().push((route, hop));
            }
        }
    }
    let mut colours = numbered(places.iter().map(|(channel, of)| (*channel, of)));
    loop {
        let signatures = places.iter().map(|(channel, of)| {
            let at = ends[channel];
            let beside = |(route, hop): Place| {
                let colours_of = |hop: Option<usize>, joins: &dyn Fn(ChannelEnds) -> bool| {
                    let channels = hop.and_then(|hop| routes[route].get(hop));
                    let joined = channels.into_iter().flatten().filter(|it| joins(ends[it]));
                    joined.map(|it| colours[it]).collect::<BTreeSet<u32>>()
                };
                let before = colours_of(hop.checked_sub(1), &|other| other.to == at.from);
                let behind = colours_of(Some(hop + 1), &|other| other.from == at.to);
                (before, behind)
            };
            let beside: Vec<_> = of.iter().map(|place| beside(*place)).collect();
            (*channel, (colours[channel], beside))
        });
        let finer = numbered(signatures);
        if finer == colours {
            return colours;
        }
        colours = finer;
    }
}

/// Numbers channels by what they have in common, in the order of the channels.
fn numbered<T: Ord>(signatures: impl Iterator<Item = (ChannelId, T)>) -> BTreeMap<ChannelId, u32> {
    let mut numbers: BTreeMap<T, u32> = BTreeMap::new();
    let mut colours = BTreeMap::new();
    for (channel, signature) in signatures {
        let next = numbers.len() as u32;
        colours.insert(channel, *numbers.entry(signature).or_insert(next));
    }
    colours
}

/// Gives the path of gangs whose narrowest is the widest; of equal ones the first.
fn widest(
    hops: &Hops,
    colours: &BTreeMap<ChannelId, u32>,
    ends: &BTreeMap<ChannelId, ChannelEnds>,
    widths: &[u64],
) -> Vec<u32> {
    // The best way to each gang of the hop: how wide, and over which.
    let mut ways: BTreeMap<u32, (u64, Vec<u32>)> = BTreeMap::new();
    for (hop, channels) in hops.iter().enumerate() {
        let mut next: BTreeMap<u32, (u64, Vec<u32>)> = BTreeMap::new();
        for channel in channels {
            let colour = colours[channel];
            let width = widths[colour as usize];
            if next.contains_key(&colour) {
                continue;
            }
            let way = if hop == 0 {
                Some((width, vec![colour]))
            } else {
                let joined = hops[hop - 1].iter().filter(|it| ends[it].to == ends[channel].from);
                let from = joined.filter_map(|it| ways.get(&colours[it]));
                let best = from.reduce(|a, b| if b.0 > a.0 { b } else { a });
                best.map(|(narrowest, way)| {
                    let mut way = way.clone();
                    way.push(colour);
                    (width.min(*narrowest), way)
                })
            };
            if let Some(way) = way {
                next.insert(colour, way);
            }
        }
        ways = next;
    }
    let best = ways.into_values().reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.map(|(_, way)| way).unwrap_or_default()
}
