//! How bytes move between devices, and how long that takes.
//!
//! Over a whole system, messages go from GPU to GPU: [`packet`] and [`FlowTransport`] are two models
//! of it behind one [`Transport`]. Within servers both take the same paths, and both ask a
//! [`routing`] for the way through the fabric. Messages of caches take fixed paths, [`wires`].
//!
//! On one server, its links become resources, one per direction ([`route::Routes`]). A route says
//! which resources a transfer uses, and which part of it each carries. [`flow`] shares the
//! resources fairly among the transfers of the moment and tells when each of them ends.
//! [`Connections`] is the [`Transport`] over them.

mod channel_shares;
mod connection_bus;
mod connections;
pub mod flow;
mod flow_bus;
mod flow_classes;
mod flow_transport;
mod host_channels;
mod link_loads;
mod opened;
mod outstanding;
pub mod packet;
mod paths;
pub mod pcie;
mod pipes;
pub mod route;
pub mod routing;
mod sampled;
mod site;
pub mod synthetic;
pub mod traffic;
pub mod transport;
pub mod wires;

pub use channel_shares::{ChannelShares, InnerCounts};
pub use connections::{Arrival, Connections, TransferCount};
pub use flow::{FlowId, FlowNetwork};
pub use flow_transport::{FlowEvent, FlowTransport};
pub use host_channels::HostChannels;
pub use link_loads::{LinkLoads, LoadHistory, SPANS};
pub use packet::{PacketNetwork, PacketSettings};
pub use paths::{PathError, gpu_sites};
pub use pcie::PcieSettings;
pub use route::{Route, RouteClass, RouteError, Routes};
pub use routing::{AnyRouting, Routing, RoutingKind};
pub use sampled::{CountsLoads, Sampled};
pub use site::GpuSite;
pub use traffic::Traffic;
pub use transport::{
    ConnectionIndex, DeviceIndex, GpuIndex, MemoryClass, Message, Occurrence, Stuck, TrafficClass,
    Transport, TransportError,
};

/// The index of a resource: one direction of one bundle of links, or whatever else a caller
/// gives a capacity.
pub type ResourceId = usize;
