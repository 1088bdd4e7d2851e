//! Says why parts make no fabric.

use thiserror::Error;

use super::{NodeId, SwitchId};
use crate::diagnostic::{Diagnose, Diagnosis, shown};

/// Refuses nodes, switches and links that make no fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum FabricError {
    /// Refuses a fabric with no node at all.
    NoNode,
    /// A parameter that a generator cannot use.
    Parameter {
        /// Names the parameter as files spell it, such as `nodes-per-switch`.
        parameter: &'static str,
        /// Holds its value.
        value: String,
        /// Says what would work.
        remedy: String,
    },
    /// Parameters that do not go with one that nobody set.
    Unset {
        /// The first of the parameters that were given.
        given: &'static str,
        /// All that were given, with their values.
        all: String,
        /// The parameter that has its kind's own value.
        parameter: &'static str,
        /// Shows that value.
        value: String,
        /// Says how to mend it.
        remedy: String,
    },
    /// Fewer ports than are needed, with what was given.
    TooFewPorts {
        /// Names the kind of fabric.
        kind: &'static str,
        /// Which parameter is to blame, as files spell it; `kind` where none is.
        parameter: &'static str,
        /// The most that can be had; fewer than are needed.
        ports: u64,
        /// How many are needed.
        needed: u32,
        /// Says what would work.
        remedy: String,
    },
    /// A link names a switch that is not there.
    UnknownSwitch {
        /// Describes the link in words.
        what: String,
        /// The switch it names.
        switch: SwitchId,
        /// How many there are.
        switches: u32,
    },
    /// A link that leaves and enters one switch.
    Loop {
        /// Gives the number of the switch.
        switch: SwitchId,
    },
    /// A link that carries nothing.
    NoBandwidth {
        /// Describes the link in words.
        what: String,
    },
    /// Nodes between which nothing can travel.
    NotConnected {
        /// Gives one node.
        a: NodeId,
        /// Names its switch.
        at_a: String,
        /// Gives the other node.
        b: NodeId,
        /// Names its switch.
        at_b: String,
    },
    /// Refuses more pairs of a switch and a destination than routing tables hold.
    TableTooLarge {
        /// How many there would be.
        entries: u64,
        /// How many are possible.
        most: u64,
    },
    /// Refuses more channels than indices.
    TooLarge {
        /// How many there would be.
        channels: usize,
        /// How many are possible.
        most: usize,
    },
}

impl Diagnose for FabricError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoNode => {
                Diagnosis::of("the network has no nodes").remedy("give it at least one node")
            }
            Self::Parameter { parameter, value, remedy } => {
                Diagnosis::of(format!("`{parameter}` cannot be {value}")).remedy(remedy)
            }
            Self::Unset { all, parameter, value, remedy, .. } => Diagnosis::of(format!(
                "{all} cannot go with `{parameter}`, whose default is {value}"
            ))
            .remedy(format!("set `{parameter}`, too ({remedy}), or change the others")),
            Self::TooFewPorts { kind, ports, needed, remedy, .. } => Diagnosis::of(format!(
                "a {kind} of this size has at most {ports} {}, {} fewer than the {needed} needed",
                if *ports == 1 { "port" } else { "ports" },
                u64::from(*needed) - ports
            ))
            .remedy(remedy),
            Self::UnknownSwitch { what, switch, switches } => Diagnosis::of(format!(
                "{what} names switch {switch}, but there are {switches} switches, counted from 0"
            )),
            Self::Loop { switch } => {
                Diagnosis::of(format!("a link joins switch {switch} to itself")).remedy(
                    "remove \
                    this link",
                )
            }
            Self::NoBandwidth { what } => Diagnosis::of(format!("{what} has a bandwidth of 0"))
                .remedy(
                    "give a bandwidth \
                    above 0",
                ),
            Self::NotConnected { a, at_a, b, at_b } => Diagnosis::of(format!(
                "no path of links joins node {a} at switch {} and node {b} at switch {}",
                shown(at_a),
                shown(at_b)
            ))
            .remedy("add the missing link"),
            Self::TableTooLarge { entries, most } => Diagnosis::of(format!(
                "the routing tables have {entries} entries, which is too \
                    many"
            ))
            .remedy(format!("use a network that needs at most {most}")),
            Self::TooLarge { channels, most } => {
                Diagnosis::of(format!("the network has {channels} channels, which is too many"))
                    .remedy(format!(
                        "use a network that needs at most {most}: take fewer servers, or \
                smaller sizes"
                    ))
            }
        }
    }
}

impl FabricError {
    /// The parameter that is to blame, as files spell it, if one is.
    #[must_use]
    pub const fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Parameter { parameter, .. } | Self::TooFewPorts { parameter, .. } => {
                Some(*parameter)
            }
            Self::Unset { given, .. } => Some(*given),
            _ => None,
        }
    }
}
