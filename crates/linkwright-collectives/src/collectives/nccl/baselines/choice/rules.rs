//! Holds the facts that one release takes as true of the hardware, and their consequences.
//!
//! Bandwidths are GB/s, latencies microseconds. Tables by protocol are in the order LL, LL128,
//! Simple. Tables by servers are for one, two and more. Tables by generation go from Volta (and
//! older) to Blackwell. A release that knew no GPU of a generation has the row of the generation
//! before.

use super::version::Version;
use crate::collectives::nccl::baselines::generation::Generation;
use crate::system::LinkKind;

/// Who makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Stands for NVIDIA's library.
    Nccl,
    /// Stands for AMD's library, which is NCCL's code with numbers of its own.
    Rccl,
}

impl Library {
    /// Returns the library's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nccl => "NCCL",
            Self::Rccl => "RCCL",
        }
    }
}

/// Holds a value for each protocol.
pub type Protocols = [f64; 3];
/// Holds a value for each generation, by the number of servers.
pub type Generations = [[f64; 3]; 4];

/// Holds the constants and rules of a release.
#[derive(Debug)]
pub struct Rules {
    pub library: Library,
    pub version: Version,
    /// Says where the numbers stand.
    pub source: &'static str,
    /// Holds the thresholds that chose before there was a cost model.
    pub thresholds: Option<Thresholds>,
    pub search: Search,
    /// Of trees and of rings, before anything moves.
    pub base: [Protocols; 2],
    /// Gives the latency of a hop over NVLink, over the host and over the network, for trees and
    /// for rings.
    pub hops: [[Protocols; 3]; 2],
    /// How much longer a hop of LL inside a server takes between servers.
    pub ll_hop_between: f64,
    pub rings: Rounds,
    pub bandwidths: Bandwidths,
    /// Gives the share that a tree reaches, by protocol and by powers of two of the size from 64 B.
    pub tree_correction: [&'static [f64]; 3],
    pub plateau: Plateau,
    pub ll128: Ll128,
    pub nvls: Option<Nvls>,
    /// Rates parallel trees, from 2.23 on.
    pub pat: Option<Pat>,
    pub blocks: Blocks,
}

/// Holds the facts that the search for channels uses.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Gives the bandwidth that it counts on from one link: NVLink of Pascal, Volta, Ampere, Hopper
    /// and Blackwell.
    pub nvlink: [f64; 5],
    /// It tries these rates for a channel in one server, highest first: to Ampere, for Hopper, for Blackwell.
    pub rates: [&'static [f64]; 3],
    /// It tries these where there is a network.
    pub between: [&'static [f64]; 3],
    /// How much more of PCIe's bandwidth a transfer takes that passes an Intel host bridge.
    pub intel_overhead: f64,
    /// It counts on this from UPI up to Ice Lake, of Sapphire Rapids, and of Emerald Rapids.
    pub upi: [f64; 3],
    /// It makes this number of channels of one kind at most (half of `MAXCHANNELS`).
    pub most: u32,
    /// This number of GPUs at most has a part where switches reduce (`NCCL_MAX_NVLS_ARITY`).
    pub heads: u32,
    /// Tells whether it raises rings, and the network's part of NVLS, once it has found channels (from 2.19 on).
    pub raises: bool,
}

impl Search {
    /// Returns the bandwidth that it counts on from one link of a kind.
    pub const fn link(&self, kind: LinkKind) -> f64 {
        match kind {
            LinkKind::Nvlink1 => self.nvlink[0],
            LinkKind::Nvlink2 => self.nvlink[1],
            LinkKind::Nvlink4 => self.nvlink[3],
            LinkKind::Nvlink5 => self.nvlink[4],
            // ROCm/rccl, src/graph/topo.h: VEGA_, MI200_, GFX94X_ and GFX95X_XGMI_WIDTH.
            LinkKind::XgmiMi100 => 24.0,
            LinkKind::Xgmi => 36.0,
            LinkKind::XgmiMi300 | LinkKind::XgmiMi350 => 48.0,
            _ => self.nvlink[2],
        }
    }
}

/// How steps around rings through several servers are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Whether an all-reduce crosses the network once more than there are servers less one,
    /// in each of its halves.
    pub one_more: bool,
    /// Says whether each step costs at least the time to post a send.
    pub posting: bool,
    /// Whether servers of one GPU wait as long as a tree does.
    pub alone_as_trees: bool,
}

/// Turns the channels' bandwidth into an algorithm's.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a release's table is never moved")]
pub enum Bandwidths {
    /// NVIDIA's limits.
    Limits(Limits),
    /// Holds AMD's shares.
    Shares(Shares),
}

/// Limits the bandwidth of each protocol.
#[derive(Debug)]
pub struct Limits {
    /// Gives the most of all channels together, by generation.
    pub most: [f64; 4],
    /// The share of rings' LL: where GPUs reduce or there are several servers, and else.
    pub ll: [f64; 2],
    pub ll_most: Generations,
    /// The share of rings' LL128; less where a server has but one GPU.
    pub ll128: f64,
    pub ll128_alone: f64,
    pub ring_ll128_most: ByCollective,
    pub tree: f64,
    pub tree_most: TreeMost,
    /// Gives the share of trees' LL128 within a server, and between servers.
    pub tree_ll128: [f64; 2],
    pub tree_ll128_most: ByCollective,
    /// Trees that come from a server's network by one GPU have this share.
    pub tree_unbalanced: f64,
}

/// Gives the most on one channel.
#[derive(Debug)]
pub enum ByCollective {
    /// Holds a value each for broadcast, reduce, all-gather, reduce-scatter and all-reduce.
    Kinds([f64; 5]),
    Generations(Generations),
}

/// The most that a tree moves.
#[derive(Debug)]
pub enum TreeMost {
    /// Limits the tree in all: up to two servers and beyond, of Ampere's LL128 first.
    Whole([[f64; 2]; 2]),
    /// Limits the tree on one channel.
    Channel(Generations),
}

/// Holds AMD's shares of the links' bandwidth.
#[derive(Debug)]
pub struct Shares {
    /// Trees and rings, up to two servers.
    pub two: [Protocols; 2],
    /// Gives the same of more servers.
    pub more: [Protocols; 2],
    /// Gives the share that a ring through several servers reaches, as `Rules::tree_correction`.
    pub ring_correction: [&'static [f64]; 3],
    /// How much more rings' LL moves of a broadcast or a reduce within a server.
    pub rooted_ll: f64,
    /// Whether trees within one server have Simple.
    pub tree_simple_within: bool,
    /// Gives, for reduce-scatter, all-gather and all-reduce between servers, the most bytes a rank
    /// with LL. Above them Simple runs.
    pub ll_between: [u64; 3],
}

/// Says from which size on a ring's all-reduce over several servers waits longer, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plateau {
    None,
    /// Begins at 4 KiB a rank. `by` is for generations up to Ampere, and from Hopper on.
    Ranks {
        by: [f64; 2],
    },
    /// Begins at 64 B a channel and rank. `by` is for generations up to Volta, and from Ampere on.
    Channels {
        by: [f64; 2],
    },
}

/// Where LL128 is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ll128 {
    /// Counts the generations from Volta on.
    pub generations: usize,
    /// Whether hops may relay through a GPU.
    pub relayed: bool,
}

/// Rates parallel trees over servers of one GPU each, for all-gathers and reduce-scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pat {
    /// Gives the share of a tree's channels that it reaches.
    pub share: f64,
    /// Takes this before anything moves, in microseconds.
    pub base: f64,
    /// Divides the time of a hop between servers; there is one for each power of two.
    pub overlap: f64,
    /// Takes this for each rank, in microseconds.
    pub each: f64,
}

/// Rates reduction in the switches: it holds its latency, share and channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nvls {
    pub latency: f64,
    pub share: NvlsShare,
    /// Says what all-gathers and reduce-scatters have of it.
    pub halves: Halves,
    /// Counts the channels on Hopper, on Blackwell within a server, and on Blackwell between servers.
    pub channels: [u32; 3],
    /// Takes this number of GPUs of a server at least (`ncclNvlsInit`).
    pub least: usize,
    /// Says what trees between servers add.
    pub tree: Option<NvlsTree>,
}

/// Says how much of reduction in switches all-gathers and reduce-scatters have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halves {
    /// They do it without.
    None,
    /// They have the share of an all-reduce.
    Share,
    /// They have all that the channels carry.
    Whole,
    /// They have the part of the channels that other GPUs have.
    Parts,
}

/// Rates reduction in the switches of several servers, whose GPUs are joined by trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NvlsTree {
    /// Takes a hop between servers, in microseconds.
    pub hop: f64,
    /// Has the most of a channel: rows Hopper and Blackwell, columns two servers and more.
    pub most: [[f64; 2]; 2],
    /// Tells whether it goes from server to server, by as many hops, which 2.18 rates by itself.
    pub in_turn: bool,
    /// Tells whether Blackwell beside an x86 host reaches no more of it than a tree's Simple does of a size.
    pub corrected: bool,
    /// Tells whether Blackwell's channels and chunks go by its network (`ncclNvlsTreeSm100Tuning`, from 2.30 on).
    pub tuned: bool,
}

/// Says which share of its channels it reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NvlsShare {
    /// Counts as a share of the rings' bandwidth, as bandwidth of size.
    OfRings(f64),
    /// Counts as a share of its own channels, as bandwidth of size.
    Size(f64),
    /// Counts on the links, of Hopper and of Blackwell.
    Links([f64; 2]),
}

/// Describes a channel's thread block, and how data is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Limits the number of channels.
    pub most: u32,
    /// Fast channels between servers are doubled once more from this generation on, and up to this number.
    pub doubled_from: Generation,
    pub doubled_to: u32,
    /// Gives the threads of a ring or tree by protocol.
    pub threads: [u32; 3],
    /// Bytes a thread below which channels, then threads, are taken away, by protocol. That of
    /// rings' LL counts for each rank.
    pub thread_bytes: [u64; 3],
    /// Gives the unit in which threads come: a warp, or a wavefront.
    pub warp: u32,
    /// Counts the threads beside those for a ring's Simple, and for a tree's.
    pub beside: [u32; 2],
    /// Whether trees always have all threads (640).
    pub tree_has_all: bool,
    /// Bytes that cross a channel at least, else there are fewer; zero where none are.
    pub least_traffic: u64,
    pub last: LastChunk,
    /// Says whether trees' Simple shrinks its chunks for little data.
    pub tree_shrinks: bool,
}

/// Names the unit of the last loop's chunks. They are whole multiples of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastChunk {
    /// Takes 8 bytes for each thread. For LL128 it takes the bytes that its threads hold at once.
    Threads,
    /// Takes 16 bytes.
    Sixteen,
}

/// Says how NCCL 2.4 chose: a tree up to a size that its latencies and bandwidths give, LL up to
/// another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Gives the GB/s of a channel over NVLink, and of all channels otherwise.
    pub channel: f64,
    /// Gives the latency of a ring's hop.
    pub ring_between: f64,
    /// Gives the latency of a tree's hop within a server, and between servers.
    pub tree_within: f64,
    pub tree_between: f64,
    /// Gives the share of the rings' bandwidth that a tree reaches, with NVLink and without. It is
    /// doubled with two servers and NVLink.
    pub tree_share: [f64; 2],
    /// Bytes a thread from which LL takes another channel.
    pub ll_thread_bytes: u64,
    /// Bytes a thread up to which it is LL: from Volta on and before; four times for trees, twice
    /// for several servers.
    pub thread_bytes: u64,
    pub older_thread_bytes: u64,
    /// Gives the fewest and the most threads of LL.
    pub ll_threads: [u32; 2],
}
