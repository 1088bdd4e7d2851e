//! How many channels the search finds, and how fast each is.
//!
//! Source: NCCL's `src/graph/search.cc` (`ncclTopoCompute`, `ncclTopoCompareGraphs`, `ncclTopoDupChannels`). It tries rates
//! from high to low, and at each how many channels fit. Of two solutions that with more bandwidth in all stays, and it stops
//! at rates below half of the best. Fast channels are split in two. Then it raises trees inside a server, while that is
//! below twice the rate between servers. Of NVLS it raises the rate between.
//!
//! It leaves out which GPU each channel begins at, and counts links as if they were dealt evenly.

use super::rules::Search;
use crate::collectives::nccl::baselines::generation::Generation;

/// Names a shape of channels, with the number that NCCL prints for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// A chain runs in each server, whose first two GPUs share the network.
    BalancedTree = 1,
    /// A chain runs in each server, whose first GPU has the network.
    Tree = 3,
    Ring = 4,
    /// GPUs take what is reduced in the switches.
    Nvls = 5,
}

/// How far a channel's hops go, by the names that NCCL prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Loc,
    Nvl,
    Nvb,
    Pix,
    Pxb,
    Pxn,
    Phb,
    Sys,
}

impl Reach {
    /// Gives NCCL's name (`topoPathTypeStr`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loc => "LOC",
            Self::Nvl => "NVL",
            Self::Nvb => "NVB",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Pxn => "PXN",
            Self::Phb => "PHB",
            Self::Sys => "SYS",
        }
    }
}

/// Holds the channels of one shape that the search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub pattern: Pattern,
    pub channels: u32,
    /// Each carries these GB/s inside a server, and those between servers.
    pub intra: f64,
    pub inter: f64,
    pub reach_intra: Reach,
    pub reach_inter: Reach,
    /// Whether all channels have one order.
    pub same_channels: bool,
}

impl Found {
    /// Sums the GB/s of all channels inside a server.
    pub fn whole(&self) -> f64 {
        f64::from(self.channels) * self.intra
    }

    /// Sums the GB/s that the cost model takes: up to two servers those inside (`ncclTopoTuneModel`).
    pub fn counted(&self, servers: usize) -> f64 {
        f64::from(self.channels) * if servers <= 2 { self.intra } else { self.inter }
    }
}

/// Describes a network interface near the job's GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interface {
    /// It has these GB/s, by its port and its slot.
    pub bandwidth: f64,
    /// It is nearest to this number of the job's GPUs.
    pub near: usize,
    /// They are as far as this.
    pub reach: Reach,
}

/// Says how one server's GPUs are linked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Links {
    /// One GPU has no links to others.
    None,
    /// Each GPU has these GB/s to `NVSwitches`.
    Switched(f64),
    /// There are N rings over links of these GB/s.
    Lanes(u32, f64),
    /// One ring goes over the host, with these GB/s.
    Host(f64),
}

/// Holds the question of a search.
#[derive(Debug)]
pub struct Searched<'a> {
    pub search: &'a Search,
    pub generation: Generation,
    /// The server has this number of GPUs.
    pub gpus: usize,
    pub links: Links,
    pub reach: Reach,
    /// These join the network; there are none within one server.
    pub interfaces: Vec<Interface>,
}

/// NCCL rounds what is left of a link to thousandths.
const ROUNDING: f64 = 5e-4;

impl Searched<'_> {
    fn rates(&self) -> &'static [f64] {
        let row = match self.generation {
            Generation::Pascal | Generation::Volta | Generation::Ampere => 0,
            Generation::Hopper => 1,
            Generation::Blackwell => 2,
        };
        if self.is_between() { self.search.between[row] } else { self.search.rates[row] }
    }

    fn is_between(&self) -> bool {
        !self.interfaces.is_empty()
    }

    /// Sums the GB/s of all links of a GPU.
    fn total(&self) -> f64 {
        match self.links {
            Links::None => f64::INFINITY,
            Links::Switched(total) | Links::Host(total) => total,
            Links::Lanes(rings, lane) => f64::from(rings) * lane,
        }
    }

    /// Finds the highest rate of one channel that is worth a try.
    fn highest(&self) -> f64 {
        let widest = self.interfaces.iter().map(|it| it.bandwidth).fold(0.0, f64::max);
        match self.links {
            _ if self.is_between() => widest,
            Links::Lanes(_, lane) => lane,
            _ => self.total(),
        }
    }

    /// Tells whether N channels of a rate fit on the links inside the server.
    fn fits_inside(&self, pattern: Pattern, channels: u32, rate: f64) -> bool {
        let gpus = self.gpus as u32;
        match self.links {
            Links::None => true,
            Links::Switched(total) => {
                let used = match pattern {
                    // Its own part crosses a GPU's links twice.
                    Pattern::Nvls => channels + 1,
                    Pattern::Ring if !self.is_between() => channels,
                    // A chain ends at some GPU, which does not send on. Where it has no interface, none does.
                    _ if self.is_between() && self.interfaces.len() < self.gpus => channels,
                    _ => channels - channels / gpus,
                };
                f64::from(used) * rate <= total + ROUNDING
            }
            Links::Lanes(rings, lane) => {
                channels <= rings * ((lane + ROUNDING) / rate).floor() as u32
            }
            Links::Host(total) => f64::from(channels) * rate <= total + ROUNDING,
        }
    }

    /// Counts the channels of a rate that the interfaces carry; NVLS has one head at each.
    fn on_interfaces(&self, pattern: Pattern, rate: f64) -> u32 {
        if !self.is_between() {
            return u32::MAX;
        }
        let carry = |it: &Interface| ((it.bandwidth + ROUNDING) / rate).floor() as u32;
        let each = self.interfaces.iter().map(carry);
        match pattern {
            Pattern::Nvls => each.map(|channels| channels.min(1)).sum(),
            _ => each.sum(),
        }
    }

    /// Finds the most channels of a rate, up to a bound.
    fn hold(&self, pattern: Pattern, rate: f64, most: u32) -> u32 {
        let most = most.min(self.on_interfaces(pattern, rate));
        let fits = |channels: &u32| self.fits_inside(pattern, *channels, rate);
        (1..=most).rev().find(fits).unwrap_or(0)
    }

    /// Finds the rings.
    pub fn rings(&self) -> Found {
        let mut found = self.channels_of(Pattern::Ring, 1, self.search.most);
        if found.channels == 0 {
            // Where none fits, there is one ring of what links and network carry.
            let network: f64 = self.interfaces.iter().map(|it| it.bandwidth).sum();
            let rate = if self.is_between() { self.total().min(network) } else { self.total() };
            (found.channels, found.intra, found.inter) = (1, rate, rate);
        }
        self.split(&mut found, self.search.most);
        if self.search.raises {
            self.raise(&mut found);
        }
        found
    }

    /// Finds the trees, of as many channels as there are rings.
    pub fn trees(&self, rings: &Found) -> Found {
        let pattern = self.pattern_of_trees();
        let mut found = self.channels_of(pattern, rings.channels, rings.channels);
        if found.channels == 0 {
            return Found { pattern, ..*rings };
        }
        self.raise(&mut found);
        found
    }

    /// Finds the channels of reduction in switches; None where none of the rates fits.
    pub fn nvls(&self) -> Option<Found> {
        let most = (self.gpus as u32).min(self.search.heads);
        let least = if self.is_between() { 1 } else { most };
        let mut found = self.channels_of(Pattern::Nvls, least, most);
        if found.channels == 0 {
            return None;
        }
        if self.search.raises {
            self.raise(&mut found);
        }
        Some(found)
    }

    /// From Hopper on a tree that finds its interface at one GPU alone is not balanced over two.
    fn pattern_of_trees(&self) -> Pattern {
        let apart = self.interfaces.iter().any(|it| it.near < 2);
        let alone = self.gpus == 1;
        if alone || self.is_between() && self.generation >= Generation::Hopper && apart {
            Pattern::Tree
        } else {
            Pattern::BalancedTree
        }
    }

    /// Takes of all rates that with the most bandwidth.
    fn channels_of(&self, pattern: Pattern, least: u32, most: u32) -> Found {
        let mut best = Found {
            pattern,
            channels: 0,
            intra: 0.0,
            inter: 0.0,
            reach_intra: self.reach,
            reach_inter: self.reach_inter(pattern),
            same_channels: pattern != Pattern::Nvls && self.interfaces.len() < 2,
        };
        let gpus = self.gpus as f64;
        let open = pattern != Pattern::Ring && self.gpus > 1;
        let total = self.total() * if open { gpus / (gpus - 1.0) } else { 1.0 };
        let starts = |rate: &f64| {
            *rate <= self.highest() + ROUNDING && rate * f64::from(least) <= total + ROUNDING
        };
        for rate in self.rates().iter().copied().skip_while(|rate| !starts(rate)) {
            if best.channels > 0 && rate / best.inter <= 0.49 {
                break;
            }
            let channels = self.hold(pattern, rate, most);
            let is_more = f64::from(channels) * rate > f64::from(best.channels) * best.inter;
            let is_better = is_more || pattern == Pattern::Nvls && channels > best.channels;
            if channels >= least && is_better {
                (best.channels, best.intra, best.inter) = (channels, rate, rate);
            }
            if best.channels == most || f64::from(best.channels) * best.inter >= self.total() {
                break;
            }
        }
        best
    }

    /// Splits fast channels in two, up to a bound.
    fn split(&self, found: &mut Found, most: u32) {
        let is_newer = self.generation >= Generation::Hopper;
        if found.intra < 25.0 || is_newer && found.intra < 50.0 && found.channels > 4 {
            return;
        }
        let channels = (2 * found.channels).min(most);
        let parts = f64::from(channels.div_ceil(found.channels));
        (found.channels, found.intra, found.inter) =
            (channels, found.intra / parts, found.inter / parts);
    }

    /// Raises the rates that the search raises at the end.
    fn raise(&self, found: &mut Found) {
        let rates = self.rates();
        let at = rates.iter().position(|rate| *rate <= found.inter).unwrap_or(rates.len());
        for rate in rates[..at].iter().rev().copied() {
            let inside = self.fits_inside(found.pattern, found.channels, rate);
            let outside = self.on_interfaces(found.pattern, rate) >= found.channels;
            match found.pattern {
                Pattern::Ring if inside && outside => (found.intra, found.inter) = (rate, rate),
                Pattern::Ring => {}
                Pattern::Nvls if found.inter < 2.0 * found.intra && outside => found.inter = rate,
                Pattern::BalancedTree | Pattern::Tree
                    if found.intra < 2.0 * found.inter && inside =>
                {
                    found.intra = rate;
                }
                _ => return,
            }
        }
    }

    /// Tells how far a GPU is from the channel's interface. One that no interface is near sends over a GPU that is (PXN).
    fn reach_inter(&self, pattern: Pattern) -> Reach {
        let nearest = self.interfaces.iter().map(|it| it.reach).max().unwrap_or(Reach::Pix);
        let comes_back = matches!(pattern, Pattern::Ring | Pattern::BalancedTree);
        let apart = self.interfaces.iter().any(|it| it.near < 2) && self.gpus > 1;
        if comes_back && apart && nearest < Reach::Pxn && self.reach <= Reach::Nvb {
            Reach::Pxn
        } else {
            nearest
        }
    }
}
