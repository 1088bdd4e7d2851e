//! The contract that every interconnect keeps, and the sizes and cuts that theory gives.

mod dragonfly;
mod fat_tree;
mod support;
mod torus;
