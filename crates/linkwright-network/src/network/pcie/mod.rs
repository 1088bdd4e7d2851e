//! The PCIe bus that tenants share: traffic classes, virtual channels, and who goes first.
//!
//! What it represents: every message over a server's host channels belongs to a traffic class, TC =
//! `N_T` x `ID_D` + `ID_T`, where `ID_D` is the index of its GPU among those below its root, and `ID_T` is 0
//! of requests (writes, and what asks for a read) and 1 of responses; its virtual channel is TC mod 8.
//! Each virtual channel has a queue and credits of its own, in bytes, at every port and where copies
//! are injected. Copies to a GPU are writes; copies to a host are read by it: requests go one way,
//! and the data comes back as responses. The payload of a packet, its header and the encoding of the
//! link are settings. An arbiter says which virtual channel a link serves: in turn
//! ([`PcieArbitration::RoundRobin`]), the one with fewest bytes left first
//! ([`PcieArbitration::Throughput`]), or that, but those first whose deadline would pass
//! ([`PcieArbitration::Qos`]).
//!
//! The classes keep their buffers: what a new command remaps is which of them counts as virtual
//! channel 7, 6, ..., so that packets under way never pass those of their own class. As with the
//! [routing](super::routing)'s own virtual channels, which fabrics keep: a channel has either, and a
//! packet that goes from one to the other changes.
//!
//! What it leaves out: acknowledgements and flow-control packets on the link, replays, ordering rules
//! between writes and responses, reads by network interfaces (their data goes as responses that
//! nobody asked for), and the driver's time to remap.
//!
//! After C. Li et al., "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU Systems", IEEE
//! Computer Architecture Letters 18(2), 2019.

mod alone;
pub mod arbiter;
mod classes;
mod command;
mod schedule;
mod settings;

pub(in crate::network) use classes::{PacketType, Roots};
pub use classes::{VIRTUAL_CHANNELS, traffic_class, virtual_channel};
pub(in crate::network) use command::{Command, OfServer, command};
pub(in crate::network) use schedule::{Deadline, Schedule};
pub use settings::{Encoding, First, PcieArbitration, PcieSettings, thousandths};
