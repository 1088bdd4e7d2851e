//! Why parts make no fabric.

use thiserror::Error;

use super::{NodeId, SwitchId};
use crate::diagnostic::shown;

/// Nodes, switches and links that make no fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FabricError {
    /// No node at all.
    #[error("a fabric needs at least one node")]
    NoNode,
    /// A parameter that a generator cannot use.
    #[error("`{parameter}` cannot be {value}; {remedy}")]
    Parameter {
        /// Which parameter, as files spell it, such as `nodes-per-switch`.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What would work.
        remedy: String,
    },
    /// Fewer ports than are needed, with what was given.
    #[error(
        "such a {kind} has at most {ports} {}, {} fewer than the {needed} that are needed; {remedy}",
        if *ports == 1 { "port" } else { "ports" }, u64::from(*needed) - ports
    )]
    TooFewPorts {
        /// The kind of fabric.
        kind: &'static str,
        /// Which parameter is to blame, as files spell it; `kind` where none is.
        parameter: &'static str,
        /// The most that can be had; fewer than are needed.
        ports: u64,
        /// How many are needed.
        needed: u32,
        /// What would work.
        remedy: String,
    },
    /// A link names a switch that is not there.
    #[error("{what} names switch {switch}, but there are {switches} switches, from 0")]
    UnknownSwitch {
        /// Which link.
        what: String,
        /// The switch it names.
        switch: SwitchId,
        /// How many there are.
        switches: u32,
    },
    /// A link that leaves and enters one switch.
    #[error("a link joins switch {switch} to itself; remove it")]
    Loop {
        /// The switch.
        switch: SwitchId,
    },
    /// A link that carries nothing.
    #[error("{what} has no bandwidth; give it a positive one")]
    NoBandwidth {
        /// Which link.
        what: String,
    },
    /// Nodes between which nothing can travel.
    #[error(
        "no path of links joins node {a} at switch {} and node {b} at switch {}; add the link \
         that is missing", shown(.at_a), shown(.at_b)
    )]
    NotConnected {
        /// One node.
        a: NodeId,
        /// Its switch's name.
        at_a: String,
        /// The other node.
        b: NodeId,
        /// Its switch's name.
        at_b: String,
    },
    /// More pairs of a switch and a destination than routing tables hold.
    #[error("routing tables of {entries} entries are too large; at most {most} are possible")]
    TableTooLarge {
        /// How many there would be.
        entries: u64,
        /// How many are possible.
        most: u64,
    },
    /// More channels than indices.
    #[error("a fabric of {channels} channels is too large; at most {most} are possible")]
    TooLarge {
        /// How many there would be.
        channels: usize,
        /// How many are possible.
        most: usize,
    },
}

impl FabricError {
    /// The parameter that is to blame, as files spell it, if one is.
    #[must_use]
    pub const fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Parameter { parameter, .. } | Self::TooFewPorts { parameter, .. } => {
                Some(*parameter)
            }
            _ => None,
        }
    }
}
