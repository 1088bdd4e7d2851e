//! Builds one-dimensional dragonflies: their global links are spread over groups and over switches.
//!
//! Groups of switches are joined all-to-all, and global links join every pair of groups (Kim et
//! al., "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008). The model leaves out
//! groups that are themselves grids, as in Cray's Cascade. It leaves out the 1D dragonflies of that
//! name with several links between two switches.
//!
//! Two choices say where the links go. Between groups it is the relative arrangement of Hastings et
//! al. ("Comparing Global Link Arrangements for Dragonfly Networks", CLUSTER 2015). A group's
//! links, in order, lead to the groups 1, 2, 3, … ahead of it. Here they start over where there are
//! more links than other groups. Within a group it is the arrangement that Alzaid et al. ("Global
//! Link Arrangement for Practical Dragonfly", ICS 2020,
//! <https://doi.org/10.1145/3392717.3392756>) call the per-router arrangement, by which the
//! links of one switch are given their groups. Here they go to as many groups as it has links, so
//! that neither a switch favours a group nor a group a switch. The public summary of that paper
//! names the choice but not its algorithm. The study does not say which of its schemes it took:
//! this one is ours.

use std::ops::Range;

use super::links::{LinkRate, numberable, positive, product, refuse};
use super::{ChannelId, Fabric, FabricError, FabricShape, NodeId, SwitchId, SwitchLink};

/// Describes a one-dimensional dragonfly: groups of fully connected switches, joined by global
/// links.
///
/// Switches are numbered group by group, nodes switch by switch. Each pair of groups has the
/// quotient of a·h and g-1 in links, rounded down or up. Where a·h·g is odd, one port of one group
/// remains free.
///
/// Behind the channels of nodes follow those of local links, group by group and in a group by the
/// pair of switches, lower first. Then follow those of global links, round by round, where one
/// round joins every pair of groups once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dragonfly {
    /// Counts the nodes of a switch (p).
    pub nodes_per_switch: u32,
    /// Switches of a group (a).
    pub switches_per_group: u32,
    /// Counts the global links of a switch (h).
    pub global_links_per_switch: u32,
    /// Groups (g), at most a·h + 1.
    pub groups: u32,
    /// Whether a routing may lead a packet over a third switch of its own group.
    pub intra_group_detours: bool,
    /// Says whether adaptive routings multiply queues by the links of the ways behind them.
    pub hop_weights: bool,
}

/// Holds the rates of a dragonfly's links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DragonflyRates {
    /// Gives the rate between a node and its switch.
    pub node: LinkRate,
    /// Gives the rate between two switches of a group.
    pub local: LinkRate,
    /// Gives the rate between two groups.
    pub global: LinkRate,
}

/// Holds the link that a pair gets in a round that joins only some pairs of groups, seen from one
/// of its groups.
struct Extra {
    /// Says which of the group's ports it takes in this round.
    port: u32,
    /// Says which of the round's links it is.
    link: u32,
}

impl Dragonfly {
    /// How many switches there are.
    #[must_use]
    pub const fn switches(&self) -> u32 {
        self.groups * self.switches_per_group
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn nodes(&self) -> u32 {
        self.switches() * self.nodes_per_switch
    }

    /// Returns the switch of a node.
    #[must_use]
    pub const fn switch_of(&self, node: NodeId) -> SwitchId {
        node / self.nodes_per_switch
    }

    /// Returns the group of a switch.
    #[must_use]
    pub const fn group_of(&self, switch: SwitchId) -> u32 {
        switch / self.switches_per_group
    }

    /// Counts the global ports of a group (a·h).
    const fn ports(&self) -> u32 {
        self.switches_per_group * self.global_links_per_switch
    }

    /// Rounds in which every pair of groups gets a link.
    const fn full_rounds(&self) -> u32 {
        if self.groups < 2 { 0 } else { self.ports() / (self.groups - 1) }
    }

    /// Counts the ports of a group that full rounds leave, for one more round among some pairs.
    const fn left_over(&self) -> u32 {
        if self.groups < 2 { 0 } else { self.ports() % (self.groups - 1) }
    }

    /// How far ahead of a group another lies, around the ring of groups.
    const fn ahead(&self, from: u32, to: u32) -> u32 {
        (to + self.groups - from) % self.groups
    }

    /// The link of the last round between two groups, if it gives them one.
    ///
    /// It joins every group with those up to r/2 ahead and behind, for r ports left over. If r is
    /// odd, one more link each goes to the group opposite. With an odd number of groups that is the
    /// nearest to opposite, paired along the ring that steps of (g-1)/2 make.
    const fn extra(&self, from: u32, to: u32) -> Option<Extra> {
        let (groups, rest) = (self.groups, self.left_over());
        let half = rest / 2;
        let ahead = self.ahead(from, to);
        if ahead <= half {
            return Some(Extra { port: ahead - 1, link: (ahead - 1) * groups + from });
        }
        let behind = groups - ahead;
        if behind <= half {
            return Some(Extra { port: rest - behind, link: (behind - 1) * groups + to });
        }
        if rest % 2 == 0 {
            return None;
        }
        let (lower, upper) = if from < to { (from, to) } else { (to, from) };
        if groups % 2 == 0 {
            let opposite = ahead == groups / 2;
            let extra = Extra { port: half, link: half * groups + lower };
            return if opposite { Some(extra) } else { None };
        }
        let (first, second) = (place(lower, groups), place(upper, groups));
        let low = if first < second { first } else { second };
        let paired = first.abs_diff(second) == 1 && low % 2 == 0;
        let extra = Extra { port: half, link: half * groups + low / 2 };
        if paired { Some(extra) } else { None }
    }

    /// Counts the global links that join two groups; none join a group to itself.
    #[must_use]
    pub const fn links_between(&self, from: u32, to: u32) -> u32 {
        if from == to {
            return 0;
        }
        self.full_rounds() + self.extra(from, to).is_some() as u32
    }

    /// How many global links there are.
    #[must_use]
    pub const fn global_links(&self) -> u32 {
        if self.groups < 2 {
            return 0;
        }
        let rest = self.left_over();
        let last = rest / 2 * self.groups + rest % 2 * (self.groups / 2);
        self.full_rounds() * self.links_per_round() + last
    }

    const fn links_per_round(&self) -> u32 {
        (self.groups as u64 * (self.groups as u64 - 1) / 2) as u32
    }

    /// The switch of one group that owns its end of a global link to another, for `link` below
    /// [`Dragonfly::links_between`].
    #[must_use]
    pub const fn global_switch(&self, from: u32, to: u32, link: u32) -> SwitchId {
        let rounds = self.full_rounds();
        let port = match self.extra(from, to) {
            Some(extra) if link == rounds => rounds * (self.groups - 1) + extra.port,
            _ => link * (self.groups - 1) + self.ahead(from, to) - 1,
        };
        from * self.switches_per_group + port / self.global_links_per_switch
    }

    /// Which of the global links to another group are a switch's own.
    #[must_use]
    pub const fn global_links_of(&self, switch: SwitchId, to: u32) -> Range<u32> {
        let from = self.group_of(switch);
        if from == to {
            return 0..0;
        }
        let first = switch % self.switches_per_group * self.global_links_per_switch;
        let behind = first + self.global_links_per_switch;
        self.links_below(from, to, first)..self.links_below(from, to, behind)
    }

    /// Counts the global links from one group to another at ports below `port`. A link's port is
    /// the higher, the higher its number.
    const fn links_below(&self, from: u32, to: u32, port: u32) -> u32 {
        let (rounds, step, first) = (self.full_rounds(), self.groups - 1, self.ahead(from, to) - 1);
        let below = port.saturating_sub(first).div_ceil(step);
        if below < rounds {
            return below;
        }
        match self.extra(from, to) {
            Some(extra) if rounds * step + extra.port < port => rounds + 1,
            _ => rounds,
        }
    }

    /// Returns the channel of a global link from one group to another, for `link` below
    /// [`Dragonfly::links_between`]. It starts at the [`Dragonfly::global_switch`] of that
    /// direction and ends at the one of the other.
    #[must_use]
    pub const fn global_channel(&self, from: u32, to: u32, link: u32) -> ChannelId {
        let (ahead, behind) = (self.ahead(from, to), self.ahead(to, from));
        let owned = ahead < behind || (ahead == behind && from < to);
        let (owner, distance) = if owned { (from, ahead) } else { (to, behind) };
        let rounds = self.full_rounds();
        let in_round = match self.extra(from, to) {
            Some(extra) if link == rounds => extra.link,
            _ => (distance - 1) * self.groups + owner,
        };
        let before = self.nodes() + self.groups * self.local_links_per_group();
        2 * (before + link * self.links_per_round() + in_round) + !owned as u32
    }

    /// Lists the channels of all global links from one group to another.
    pub fn global_channels(&self, from: u32, to: u32) -> impl Iterator<Item = ChannelId> + use<> {
        let shape = *self;
        (0..shape.links_between(from, to)).map(move |link| shape.global_channel(from, to, link))
    }

    const fn local_links_per_group(&self) -> u32 {
        let switches = self.switches_per_group as u64;
        (switches * (switches - 1) / 2) as u32
    }

    /// Returns the channel between two different switches of one group.
    #[must_use]
    pub const fn local_channel(&self, from: SwitchId, to: SwitchId) -> ChannelId {
        let (group, size) = (self.group_of(from), self.switches_per_group);
        let (from, to) = (from % size, to % size);
        let (low, high) = if from < to { (from, to) } else { (to, from) };
        let pairs = low as u64 * (2 * size as u64 - low as u64 - 1) / 2;
        let pair = pairs as u32 + high - low - 1;
        let before = self.nodes() + group * self.local_links_per_group();
        2 * (before + pair) + (from > to) as u32
    }

    /// Refuses counts of zero, more groups than a group has global ports for, and networks too
    /// large to number.
    fn check(&self) -> Result<(), FabricError> {
        positive("nodes-per-switch", self.nodes_per_switch)?;
        positive("switches-per-group", self.switches_per_group)?;
        positive("groups", self.groups)?;
        let ports = product(&[self.switches_per_group, self.global_links_per_switch]);
        let most = ports.unwrap_or(u64::MAX).saturating_add(1);
        if u64::from(self.groups) > most {
            let remedy = format!("a group of {} global links reaches at most {most}", most - 1);
            return refuse("groups", self.groups, remedy);
        }
        let (p, a, h, g) = (
            self.nodes_per_switch,
            self.switches_per_group,
            self.global_links_per_switch,
            self.groups,
        );
        let terms = [product(&[g, a, p]), product(&[g, a, a]), product(&[g, a, h])];
        let sum = terms.iter().try_fold(0_u64, |sum, term| sum.checked_add((*term)?));
        numberable(sum)
    }
}

/// Returns where a group stands on the ring that steps of (g-1)/2 make of an odd number of groups.
/// The inverse of that step is g-2, so that group v stands at -2v.
const fn place(group: u32, groups: u32) -> u32 {
    (2 * (groups as u64 - group as u64) % groups as u64) as u32
}

/// Makes the fabric of a dragonfly.
///
/// # Errors
/// Refuses counts of zero, more than a·h + 1 groups, links without bandwidth, and more than 2^24
/// links. Here a group counts a² local links.
pub fn dragonfly(shape: &Dragonfly, rates: &DragonflyRates) -> Result<Fabric, FabricError> {
    shape.check()?;
    let nodes: Vec<_> =
        (0..shape.nodes()).map(|node| rates.node.to_node(shape.switch_of(node))).collect();
    let local = shape.groups * shape.local_links_per_group();
    let mut links = Vec::with_capacity((local + shape.global_links()) as usize);
    for group in 0..shape.groups {
        let switches = group * shape.switches_per_group..(group + 1) * shape.switches_per_group;
        for low in switches.clone() {
            links.extend((low + 1..switches.end).map(|high| rates.local.between(low, high)));
        }
    }
    for round in 0..=shape.full_rounds() {
        add_round(shape, rates.global, round, &mut links);
    }
    let name = format!("dragonfly-{}", shape.nodes());
    Fabric::new(&name, FabricShape::Dragonfly(*shape), shape.switches(), &nodes, &links)
}

/// Appends one round of global links, in the order in which they are numbered.
fn add_round(shape: &Dragonfly, rate: LinkRate, round: u32, links: &mut Vec<SwitchLink>) {
    let groups = shape.groups;
    let mut add = |from: u32, to: u32| {
        let a = shape.global_switch(from, to, round);
        links.push(rate.between(a, shape.global_switch(to, from, round)));
    };
    if round < shape.full_rounds() {
        for distance in 1..=groups / 2 {
            let owners = if 2 * distance == groups { groups / 2 } else { groups };
            (0..owners).for_each(|owner| add(owner, (owner + distance) % groups));
        }
        return;
    }
    let rest = shape.left_over();
    for distance in 1..=rest / 2 {
        (0..groups).for_each(|owner| add(owner, (owner + distance) % groups));
    }
    if rest.is_multiple_of(2) {
        return;
    }
    if groups.is_multiple_of(2) {
        (0..groups / 2).for_each(|owner| add(owner, owner + groups / 2));
        return;
    }
    let step = u64::from(groups / 2);
    let group_at = |place: u32| (u64::from(place) * step % u64::from(groups)) as u32;
    for pair in 0..groups / 2 {
        // The second lies (g-1)/2 ahead of the first, which therefore owns the link.
        add(group_at(2 * pair), group_at(2 * pair + 1));
    }
}
