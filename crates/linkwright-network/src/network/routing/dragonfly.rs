//! Chooses the routes of packets in dragonflies.
//!
//! Minimal routes take at most one local, one global and one local channel. Detours lead over a
//! third group chosen by chance (Valiant), or over a third switch where both ends are in one group.
//! Every route ascends along an order of the channels. For local channels L and global ones G, with
//! their virtual channel behind, it is L0 G0 L1 G1 L2. Progressive routing may take a second local
//! channel before it leaves its group: its order is L0 L1 G0 L2 G1 L3.
//!
//! A dragonfly without detours inside its groups goes the direct way there, and one without
//! weights of hops compares queues as they are. Both is how CODES, with which the TraceR-CODES
//! study was made, routes its dragonflies.
//!
//! Minimal, Valiant and UGAL-L routing are from Kim, Dally, Scott and Abts, "Technology-Driven,
//! Highly-Scalable Dragonfly Topology", ISCA 2008. Progressive routing is from Jiang, Kim and
//! Dally, "Indirect Adaptive Routing on Large Scale Interconnection Networks", ISCA 2009. A further
//! source is `dragonfly-dally` of CODES,
//! <https://github.com/codes-org/codes>, with its default score and threshold.

use crate::engine::Random;
use crate::system::fabric::{Fabric, SwitchId};

use super::dragonfly_links::DragonflyLinks;
use super::{AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind, random_of};
use crate::diagnostic::Registered;

/// By how many packets the queue of a minimal route may be longer before a detour is taken,
/// where hops have weight.
pub const UGAL_BIAS: u32 = 1;

/// Stands for no waypoint or detour.
const NONE: u32 = u32::MAX;

// A packet's phase holds these bits.
const GLOBALS: u8 = 0b0011;
const LOCAL: u8 = 0b0100;
const DETOURED: u8 = 0b1000;

/// How every dragonfly routing moves packets once their way is chosen.
#[derive(Debug, Clone)]
struct Walker {
    links: DragonflyLinks,
    random: Random,
    /// Whether a route may take a second local channel before its first global one.
    progressive: bool,
}

/// Describes a way on from a switch. It holds the waypoint and detour to write into the packet,
/// where it leads first, and how many channels it takes in all.
#[derive(Clone, Copy)]
struct Candidate {
    waypoint: u32,
    detour: u32,
    first: u32,
    length: u32,
}

impl Walker {
    fn new(fabric: &Fabric, random: Random, progressive: bool) -> Option<Self> {
        Some(Self { links: DragonflyLinks::new(fabric)?, random, progressive })
    }

    /// Finds the way over one global channel, or inside the group.
    fn minimal(&mut self, at: SwitchId, goal: SwitchId) -> Candidate {
        let shape = self.links.shape;
        let (here, there) = (shape.group_of(at), shape.group_of(goal));
        if here == there {
            let first = shape.local_channel(at, goal);
            return Candidate { waypoint: NONE, detour: NONE, first, length: 1 };
        }
        let link = self.links.global(at, there, &mut self.random);
        let first =
            if link.owner == at { link.channel } else { shape.local_channel(at, link.owner) };
        let length = 2 + u32::from(link.owner != at);
        Candidate { waypoint: link.link, detour: NONE, first, length }
    }

    /// A way over a third group or switch; where there is none, another minimal one.
    fn detour(&mut self, at: SwitchId, goal: SwitchId) -> Candidate {
        let shape = self.links.shape;
        let (here, there) = (shape.group_of(at), shape.group_of(goal));
        if here == there {
            if shape.intra_group_detours
                && let Some(over) = self.links.third_switch(at, goal, &mut self.random)
            {
                let first = shape.local_channel(at, over);
                return Candidate { waypoint: NONE, detour: over, first, length: 2 };
            }
            return self.minimal(at, goal);
        }
        let Some(over) = self.links.third_group(here, there, &mut self.random) else {
            return self.minimal(at, goal);
        };
        let link = self.links.global(at, over, &mut self.random);
        let first =
            if link.owner == at { link.channel } else { shape.local_channel(at, link.owner) };
        let length = 4 + u32::from(link.owner != at);
        Candidate { waypoint: link.link, detour: over, first, length }
    }

    /// Takes the minimal way, unless its queue is longer than the detour's by more than a bias.
    /// Where hops have weight, each queue counts times the length of its way.
    fn balanced(
        &mut self,
        at: SwitchId,
        minimal: Candidate,
        goal: SwitchId,
        load: &mut dyn Load,
    ) -> Candidate {
        let detour = self.detour(at, goal);
        if detour.first == minimal.first {
            return minimal;
        }
        let queues = [minimal, detour].map(|way| load.queued(way.first));
        let near = if self.links.shape.hop_weights {
            queues[0] * minimal.length <= queues[1] * detour.length + UGAL_BIAS * minimal.length
        } else {
            queues[0] <= queues[1]
        };
        if near { minimal } else { detour }
    }

    fn take(packet: &mut PacketRoute, way: Candidate) {
        packet.waypoint = way.waypoint;
        packet.detour = way.detour;
        if way.detour != NONE {
            packet.phase |= DETOURED;
        }
    }

    /// The next hop of a packet whose way is chosen.
    fn follow(&mut self, at: SwitchId, packet: &mut PacketRoute) -> Hop {
        let shape = self.links.shape;
        let goal = shape.switch_of(packet.destination);
        if at == goal {
            let channel = Fabric::ejection(packet.destination);
            return Hop { channel, virtual_channel: 0 };
        }
        let (here, there) = (shape.group_of(at), shape.group_of(goal));
        let globals = packet.phase & GLOBALS;
        if here == there && (globals > 0 || packet.waypoint == NONE) {
            // A detour inside the group has been made once a local channel is behind.
            let over = packet.detour != NONE && globals == 0 && packet.phase & LOCAL == 0;
            return self.local(at, if over { packet.detour } else { goal }, packet);
        }
        let towards = if globals == 0 && packet.detour != NONE { packet.detour } else { there };
        let link = match packet.waypoint {
            NONE => self.links.global(at, towards, &mut self.random),
            link => self.links.between(here, towards, link),
        };
        if link.owner != at {
            packet.waypoint = link.link;
            return self.local(at, link.owner, packet);
        }
        packet.waypoint = NONE;
        packet.phase = (packet.phase & !LOCAL) + 1;
        Hop { channel: link.channel, virtual_channel: globals }
    }

    fn local(&self, at: SwitchId, to: SwitchId, packet: &mut PacketRoute) -> Hop {
        let globals = packet.phase & GLOBALS;
        let second = u8::from(globals == 0 && packet.phase & LOCAL != 0);
        let shifted = u8::from(self.progressive && globals > 0);
        packet.phase |= LOCAL;
        Hop {
            channel: self.links.shape.local_channel(at, to),
            virtual_channel: globals + second + shifted,
        }
    }
}

/// Takes always a way over at most one global channel.
#[derive(Debug, Clone)]
pub struct DragonflyMinimal(Walker);

/// Goes always over a third group chosen by chance.
#[derive(Debug, Clone)]
pub struct DragonflyValiant(Walker);

/// Takes the shorter of a minimal way and a detour, by the queues at the source's switch (UGAL-L).
#[derive(Debug, Clone)]
pub struct DragonflyUgal(Walker);

/// As UGAL-L, but a packet on its minimal way may still turn to a detour at the switch where it
/// would leave its group.
#[derive(Debug, Clone)]
pub struct DragonflyProgressive(Walker);

impl DragonflyMinimal {
    /// Makes the routing of a dragonfly; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric, random: Random) -> Option<Self> {
        Some(Self(Walker::new(fabric, random, false)?))
    }
}

impl DragonflyValiant {
    /// Makes the routing of a dragonfly; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric, random: Random) -> Option<Self> {
        Some(Self(Walker::new(fabric, random, false)?))
    }
}

impl DragonflyUgal {
    /// Makes the routing of a dragonfly; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric, random: Random) -> Option<Self> {
        Some(Self(Walker::new(fabric, random, false)?))
    }
}

impl DragonflyProgressive {
    /// Makes the routing of a dragonfly; `None` for any other shape.
    #[must_use]
    pub fn new(fabric: &Fabric, random: Random) -> Option<Self> {
        Some(Self(Walker::new(fabric, random, true)?))
    }
}

/// Stands for [`DragonflyMinimal`]: `minimal`.
pub const MINIMAL: &dyn RoutingKind = &Kind::Minimal;
/// Stands for [`DragonflyValiant`]: `valiant`.
pub const VALIANT: &dyn RoutingKind = &Kind::Valiant;
/// Stands for [`DragonflyUgal`]: `ugal`.
pub const UGAL: &dyn RoutingKind = &Kind::Ugal;
/// Stands for [`DragonflyProgressive`]: `progressive`.
pub const PROGRESSIVE: &dyn RoutingKind = &Kind::Progressive;

#[derive(Debug)]
enum Kind {
    Minimal,
    Valiant,
    Ugal,
    Progressive,
}

impl Registered for Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Valiant => "valiant",
            Self::Ugal => "ugal",
            Self::Progressive => "progressive",
        }
    }
}

impl RoutingKind for Kind {
    fn wanted(&self) -> &'static str {
        "dragonflies"
    }

    fn make(&self, fabric: &Fabric, seed: u64) -> Result<Option<AnyRouting>, RoutingError> {
        let random = random_of(seed);
        Ok(match self {
            Self::Minimal => DragonflyMinimal::new(fabric, random).map(AnyRouting::of),
            Self::Valiant => DragonflyValiant::new(fabric, random).map(AnyRouting::of),
            Self::Ugal => DragonflyUgal::new(fabric, random).map(AnyRouting::of),
            Self::Progressive => DragonflyProgressive::new(fabric, random).map(AnyRouting::of),
        })
    }

    fn most_links(&self, fewest: usize) -> usize {
        match self {
            // A local, a global, a local; the fewest may be less where a group has several links.
            Self::Minimal => fewest.max(3),
            // Local, global, local, global, local.
            Self::Valiant | Self::Ugal => 5,
            // One more local link in the source's group.
            Self::Progressive => 6,
        }
    }
}

impl Routing for DragonflyMinimal {
    fn virtual_channels(&self) -> u8 {
        2
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        self.0.follow(at, packet)
    }
}

impl Routing for DragonflyValiant {
    fn virtual_channels(&self) -> u8 {
        3
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, _load: &mut dyn Load) -> Hop {
        let goal = self.0.links.shape.switch_of(packet.destination);
        if packet.hops == 0 && at != goal {
            let way = self.0.detour(at, goal);
            Walker::take(packet, way);
        }
        self.0.follow(at, packet)
    }
}

impl Routing for DragonflyUgal {
    fn virtual_channels(&self) -> u8 {
        3
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop {
        let goal = self.0.links.shape.switch_of(packet.destination);
        if packet.hops == 0 && at != goal {
            let minimal = self.0.minimal(at, goal);
            let way = self.0.balanced(at, minimal, goal, load);
            Walker::take(packet, way);
        }
        self.0.follow(at, packet)
    }
}

impl Routing for DragonflyProgressive {
    fn virtual_channels(&self) -> u8 {
        4
    }

    fn in_order(&self) -> bool {
        false
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop {
        let shape = self.0.links.shape;
        let goal = shape.switch_of(packet.destination);
        if packet.hops == 0 && at != goal {
            let minimal = self.0.minimal(at, goal);
            let way = self.0.balanced(at, minimal, goal, load);
            Walker::take(packet, way);
        } else if packet.phase == LOCAL && shape.group_of(at) != shape.group_of(goal) {
            let waypoint = packet.waypoint;
            let here = shape.group_of(at);
            let first = self.0.links.between(here, shape.group_of(goal), waypoint).channel;
            let minimal = Candidate { waypoint, detour: NONE, first, length: 2 };
            let way = self.0.balanced(at, minimal, goal, load);
            Walker::take(packet, way);
        }
        self.0.follow(at, packet)
    }
}
