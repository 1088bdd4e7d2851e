//! The PCIe bus that tenants share: traffic classes, virtual channels, and who goes first.
//!
//! Every message over a server's host channels belongs to a traffic class, TC = `N_T` x `ID_D` +
//! `ID_T`. `ID_D` is the index of its GPU among those below its root. `ID_T` is 0 for requests
//! (writes, and packets that ask for a read) and 1 for responses. Its virtual channel is TC mod 8.
//! Each virtual channel has a queue and credits of its own, in bytes, at every port and where
//! copies are injected. Copies to a GPU are writes. A host reads copies to itself: requests go one
//! way, and the data comes back as responses. The payload of a packet, its header and the encoding
//! of the link are settings. An arbiter says which virtual channel a link serves.
//! [`PcieArbitration::RoundRobin`] serves them in turn, [`PcieArbitration::Throughput`] the one
//! with fewest bytes left first. [`PcieArbitration::Qos`] does the latter, but goes first to those
//! whose deadline would pass.
//!
//! The classes keep their buffers. A new command only remaps which of them counts as virtual
//! channel 7, 6, .... So packets under way never pass those of their own class. The
//! [routing](super::routing)'s own virtual channels stay with the fabrics. A channel has either
//! kind, and a packet that goes from one to the other changes.
//!
//! The model leaves out acknowledgements and flow-control packets on the link, replays, and
//! ordering rules between writes and responses. It leaves out reads by network interfaces: their
//! data goes as responses that nobody asked for. It leaves out the driver's time to remap, too.
//!
//! The model follows C. Li et al., "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU
//! Systems", IEEE Computer Architecture Letters 18(2), 2019.

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
