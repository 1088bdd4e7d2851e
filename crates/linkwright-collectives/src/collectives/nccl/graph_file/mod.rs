//! The file of rings and trees that NCCL takes and writes: `NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`.
//!
//! It has the number and speed of each shape of channels. Each channel has the network interface by which
//! data enters a server, the GPUs in their order, and the interface by which data leaves. The rules stand in NCCL 2.30.7, in `src/graph/search.cc` (lines 891 to 1034). Its parser stands in
//! `src/graph/xml.cc` (lines 43 to 230):
//!
//! - Each rank reads the file for its own server. A GPU is known by its number there. Where it has a
//!   rank of the job, too, that counts alone: a file for several servers names none.
//! - A shape that the file lacks is searched for as ever.
//! - Numbers of GPUs and interfaces are hexadecimal (decimal up to NCCL 2.20). An interface's number
//!   is its place in NCCL's own list.
//! - There is no XML declaration; the attributes of an element stand on one line, a space before each.
//!
//! Two things that NCCL misreads are refused here. Channels that the file lacks go through rank 0 alone
//! there, and a third interface of a channel is written over another channel's.

mod read;
mod write;

#[cfg(test)]
mod tests;

pub use read::read;
pub use write::write;

/// A shape has at most this many channels (`MAXCHANNELS` from NCCL 2.25 on; 32 before).
pub const MOST_CHANNELS: usize = 64;

/// The names of paths that the file has (`kvDictLinkType`; P2C came with NCCL 2.27).
pub const PATHS: [&str; 9] = ["LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"];

/// This shape reduces in switches, and its channels name one GPU alone.
pub const SWITCHES: u32 = 3;

/// Holds a file's shapes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GraphFile {
    /// The file has them in this order.
    pub graphs: Vec<ChannelGraph>,
}

/// Holds channels of one shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelGraph {
    /// It is for this: 0 rings, 1 trees, 2 chains of `CollNet`, 3 reduction in switches, 4 `CollNet` itself.
    pub id: u32,
    /// The form, by NCCL's number: 1 and 2 are trees over two GPUs, 3 trees, 4 rings, 5 switches, 6 `CollNet`.
    pub pattern: u32,
    /// It is 1 where channels change interfaces in a server, else 0.
    pub cross_nic: u32,
    /// Each channel carries these GB/s inside a server.
    pub speed_intra: f32,
    /// Each channel carries these GB/s between servers.
    pub speed_inter: f32,
    /// The interfaces' latency in microseconds; zero where the file does not say.
    pub latency_inter: f32,
    /// Hops inside a server go as far as this, one of [`PATHS`].
    pub type_intra: &'static str,
    /// GPUs are as far from their interfaces, one of [`PATHS`].
    pub type_inter: &'static str,
    /// Whether all channels have one order.
    pub same_channels: bool,
    /// It has these channels.
    pub channels: Vec<GraphChannel>,
}

/// Holds one channel on a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GraphChannel {
    /// The interfaces by which data enters and leaves, by NCCL's numbers; none within one server.
    pub nets: Option<[u64; 2]>,
    /// It goes through these GPUs in turn.
    pub gpus: Vec<GraphGpu>,
}

/// Names a GPU of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphGpu {
    /// Its number on its server; the number of the server within a joined rack is in the upper bits.
    pub device: u64,
    /// Its rank in the job, which a dump names.
    pub rank: Option<u32>,
}
