//! Shows servers and fabrics. Each view is a file of its own and looks only at devices and links.

pub mod bisection;
pub mod dot;
pub mod export;
pub mod fabric_facts;
pub mod gpu_graph;
pub mod in_switch;
pub mod isomorphism;
mod layout;
pub mod listed;
pub mod narrow_interfaces;
pub mod parts;
pub mod places;
pub mod proximity;
mod staged;
pub mod structure;
pub mod svg;
pub mod system_svg;
pub mod tables;
pub mod wiring;
