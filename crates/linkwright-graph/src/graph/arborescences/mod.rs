//! The most spanning arborescences that a directed graph holds, exactly.
//!
//! A broadcast moves data down trees from one root. In an all-gather every terminal is the root of
//! trees that carry its own share. The model has directed arcs with capacities, which any number of
//! trees share. It has switches, which are vertices that forward without needing the data. It
//! leaves out latency, and limits on how much one vertex can handle. The plan attains the highest
//! rate that the cuts of the graph allow. A fixed list of orders leads to several plans. The one
//! that the caller's [`Preference`] puts first is taken. No smallest number of trees is proved.
//!
//! 1. `rate` finds the rate by cuts, as a fraction that then scales the capacities.
//! 2. `reduce` takes switches together that act as one.
//! 3. `switches` replaces arcs through each switch by arcs past it.
//! 4. `pack` grows the trees on what is left.
//!
//! It follows "ForestColl" (Zhao et al. 2024) in its order of steps.

mod dense_flow;
mod pack;
mod plan;
mod rate;
mod reduce;
mod switches;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};

use super::greatest_common_divisor;

pub use plan::{pack_from_every_root, pack_from_root, rate_from_every_root};

/// A directed graph whose vertices `0..vertices` are terminals or switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectedGraph {
    /// How many vertices there are.
    pub vertices: usize,
    /// Those that hold or need data. All others are switches, which only forward: as much
    /// capacity must leave each as enters it.
    pub terminals: Vec<usize>,
    /// Lists from, to, and capacity in any unit. Parallel arcs add up.
    pub arcs: Vec<(usize, usize, u64)>,
}

/// Holds a nonnegative fraction in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fraction {
    /// Stands above the line.
    pub numerator: u64,
    /// Stands below the line, and is never zero.
    pub denominator: u64,
}

/// Says which plans of the highest rate to prefer. Each tree costs a channel or a thread block;
/// each step of depth costs latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preference {
    /// Takes the fewest trees, then the least depth, then the least depth in all.
    #[default]
    FewTrees,
    /// Takes the least depth, then the fewest trees, then the least depth in all.
    LowDepth,
}

/// Holds a tree from one root to every other terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arborescence {
    /// Where the data comes from.
    pub root: usize,
    /// Parent and child, both terminals; a parent is the root or an earlier arc's child.
    pub arcs: Vec<(usize, usize)>,
    /// Gives the tree's rate: in the capacities' unit over the packing's denominator.
    pub weight: u64,
}

/// Holds a way from one terminal to another through switches alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchRoute {
    /// Lists the vertices, both terminals included.
    pub path: Vec<usize>,
    /// How much goes this way: in the capacities' unit over the packing's denominator.
    pub units: u64,
}

/// Holds the flow of the trees from one terminal to another, and the ways that it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalArc {
    /// Names the parent.
    pub from: usize,
    /// Names the child.
    pub to: usize,
    /// Lists the ways. Their units add up to the weights of the trees that use the arc.
    pub routes: Vec<SwitchRoute>,
}

/// Trees that together attain the highest rate.
///
/// The weights of each root's trees add up to `rate` times `denominator`. The flow over one of the
/// graph's arcs, over all routes, is at most its capacity times `denominator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArborescencePacking {
    /// Gives the rate of each root, in the capacities' unit.
    pub rate: Fraction,
    /// Divides weights and units, to turn them into rates.
    pub denominator: u64,
    /// Holds the trees, by root.
    pub trees: Vec<Arborescence>,
    /// The arcs that the trees use, by their ends.
    pub logical_arcs: Vec<LogicalArc>,
}

/// Why nothing can be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum ArborescenceError {
    /// A broadcast needs someone to send to.
    TooFewTerminals(usize),
    /// A terminal, a root or an end of an arc is not a vertex.
    UnknownVertex {
        /// Gives the vertex that was named.
        vertex: usize,
        /// How many there are.
        vertices: usize,
    },
    /// A terminal is listed twice.
    RepeatedTerminal(usize),
    /// The root holds no data.
    RootIsSwitch(usize),
    /// Refuses a switch whose capacity in differs from its capacity out.
    UnbalancedSwitch {
        /// Names the switch.
        switch: usize,
        /// Gives the capacity into it.
        entering: u128,
        /// Gives the capacity out of it.
        leaving: u128,
    },
    /// There is no way between two terminals.
    Unreachable {
        /// Where no way begins.
        from: usize,
        /// Where none ends.
        to: usize,
    },
    /// Exact numbers would not fit 64 bits.
    TooLarge,
}

impl Diagnose for ArborescenceError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::TooFewTerminals(count) => Diagnosis::of(format!(
                "trees need at least two terminals, but the number given is {count}"
            ))
            .remedy("name at least two terminals"),
            Self::UnknownVertex { vertex, vertices } => Diagnosis::of(format!(
                "there is no vertex {vertex}: the graph has {vertices} vertices, counted from 0"
            )),
            Self::RepeatedTerminal(vertex) => {
                Diagnosis::of(format!("vertex {vertex} is listed as a terminal twice"))
                    .remedy("list each terminal once")
            }
            Self::RootIsSwitch(vertex) => Diagnosis::of(format!(
                "vertex {vertex} is a switch, so \
                it cannot be the root"
            ))
            .remedy("name a terminal as the root"),
            Self::UnbalancedSwitch { switch, entering, leaving } => Diagnosis::of(format!(
                "links into switch {switch} carry {entering}, but links out \
                    of it carry {leaving}"
            ))
            .remedy("give the switch's links the same bandwidth both ways"),
            Self::Unreachable { from, to } => {
                Diagnosis::of(format!("no path leads from terminal {from} to terminal {to}"))
                    .remedy("add links that join them")
            }
            Self::TooLarge => Diagnosis::of("the capacities do not fit exact 64-bit arithmetic")
                .remedy("round them to a common unit, such as 1 MB/s"),
        }
    }
}
