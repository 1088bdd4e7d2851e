//! Holds what files say of a job, each fact with the line that says it.

mod connection;
mod debug;
mod file;
mod inspected;
mod inspector;
mod line;
mod merge;

pub use connection::{Connection, LoggedConnections, LoggedTransport};
pub use debug::{
    ChannelCounts, DebugLog, DirectRefusal, Interfaces, LoggedChoice, RankPlace, SearchedGraph,
    TopologyLine, Warning,
};
pub use file::{Evidence, Format, LoggedRun, PairMatrices, ReadFile};
pub use inspected::Inspected;
pub(in crate::doctor) use inspected::Report;
pub use inspector::{InspectorRow, InspectorRun};
pub use line::Line;
