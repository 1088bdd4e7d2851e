//! Holds the policies, each in its own file.

mod baseline;
mod greedy;
mod preserve;
mod topology_aware;

pub use baseline::Baseline;
pub use greedy::Greedy;
pub use preserve::Preserve;
pub use topology_aware::TopologyAware;
