//! The contract that every fabric keeps, and the sizes and cuts that theory gives.

mod bisection;
mod contract;
mod dot;
mod dragonfly;
mod fat_tree;
mod graph;
mod page;
mod routing;
mod single_switch;
mod sizes;
mod support;
mod torus;
