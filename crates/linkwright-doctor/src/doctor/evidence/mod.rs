//! Holds what files say of a job, each fact with the line that says it.

mod connection;
mod debug;
mod line;

pub use connection::{Connection, Connections, Transport};
pub use debug::{
    Channels, Choice, DebugLog, DirectRefusal, Interfaces, Place, SearchedGraph, TopologyLine,
    Warning,
};
pub use line::Line;
