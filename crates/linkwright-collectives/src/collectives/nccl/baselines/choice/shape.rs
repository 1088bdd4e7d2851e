//! How many channels and threads a size is worth, and into which chunks it is cut.
//!
//! The source is `src/enqueue.cc` of each release (`getAlgoInfo`, `computeColl` and, from 2.22 on,
//! `calcCollChunking` and `scheduleCollTasksToPlan`). `src/include/collectives.h` and the ring
//! loops of `src/collectives/device` are sources, too.

use super::graph::Graph;
use super::model::Model;
use super::rules::{Blocks, LastChunk, Rules};
use crate::collectives::nccl::baselines::constants::{Hop, PCIE3_BANDWIDTH};
use crate::collectives::nccl::baselines::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::schedule::Protocol;
use crate::collectives::schedule::collective::Collective;
use crate::units::Bytes;

/// Describes how a library cuts data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunking {
    /// Counts the bytes of each part of a ring's data that a channel hands on at a time.
    pub chunk: Bytes,
    /// Parts of a chunk that are sent before the whole is there.
    pub slices: u32,
    /// Counts how often all channels go round.
    pub loops: u64,
    /// Gives the chunk of the last time.
    pub last: Bytes,
}

/// Counts the steps of a connection's buffer (`NCCL_STEPS`).
const STEPS: u64 = 8;
/// Counts the bytes of a connection's buffer for Simple (`DEFAULT_BUFFSIZE`).
const SIMPLE_BUFFER: u64 = 4 << 20;
/// Lines of 8 bytes of data that a thread of LL has in a step (`NCCL_LL_LINES_PER_THREAD`).
const LL_LINES: u64 = 8;
/// Words that a thread of LL128 has in a step, flags among them (`NCCL_LL128_ELEMS_PER_THREAD`),
/// and the share of a line that is data.
const LL128_WORDS: u64 = 120;
const LL128_DATA: (u64, u64) = (15, 16);
/// Gives the unit of chunks, by protocol (`ncclProtoGrainSize`), where the last chunk is cut to 16
/// bytes. Chunks are whole multiples of it.
const GRAINS: [u64; 3] = [16, 1920, 512];
/// Gives the bytes of a step of a send between pairs: over NVLink, and otherwise
/// (`P2P_NVL_CHUNKSIZE`, `P2P_PCI_CHUNKSIZE`).
const PAIR_CHUNKS: [u64; 2] = [512 << 10, 128 << 10];
/// Gives the most threads of a block (`NCCL_MAX_NTHREADS`), and the fewest (three warps).
pub const MOST_THREADS: u32 = 640;
const LEAST_WARPS: u32 = 3;
/// Gives the most bytes to each other rank up to which sends between pairs take LL
/// (`P2P_LL_THRESHOLD`).
pub const PAIRS_LL_MOST: u64 = 16_384;

/// Describes the operation that is cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut<'a> {
    pub rules: &'a Rules,
    pub graph: &'a Graph,
    pub collective: Collective,
    pub algorithm: ExpectedAlgorithm,
    pub protocol: Protocol,
    pub size: u64,
}

impl Cut<'_> {
    /// Returns the channels, and the threads of each channel's block.
    pub fn blocks(&self) -> (u32, u32) {
        match self.algorithm {
            ExpectedAlgorithm::Nvls | ExpectedAlgorithm::NvlsTree => {
                (self.nvls_channels(), MOST_THREADS)
            }
            ExpectedAlgorithm::Pairs => {
                (self.pair_channels(), MOST_THREADS.min(self.most_threads()))
            }
            // A block of parallel trees has all threads, and there are as many blocks as of trees.
            ExpectedAlgorithm::Pat => (self.reduced().0, MOST_THREADS),
            ExpectedAlgorithm::Ring | ExpectedAlgorithm::Tree => self.reduced(),
        }
    }

    fn most_threads(&self) -> u32 {
        self.rules.blocks.threads.into_iter().max().unwrap_or(MOST_THREADS)
    }

    fn nvls_channels(&self) -> u32 {
        let all = Model { rules: self.rules, graph: self.graph }.nvls_channels();
        self.with_traffic(all)
    }

    /// Counts the channels that carry one pair's message. There are two for each link between the pair, four of AMD's
    /// MI300, and two over the host or the network (`ncclTopoGetNchannels`). They come in powers of two
    /// (`ncclTopoComputeP2pChannels`). All pairs of a rank go side by side, which leaves fewer for each
    /// (`scheduleP2pTasksToPlan`). A short message takes fewer still, and a long one more (`addP2pToPlan`).
    fn pair_channels(&self) -> u32 {
        let graph = self.graph;
        let each = if self.rules.blocks.warp == 64 { 4 } else { 2 };
        let all = graph.built.next_power_of_two();
        let most = (each * graph.between.max(1)).next_power_of_two().min(all);
        let mut fewest = most;
        while fewest > 1 && fewest as usize * graph.ranks > all as usize {
            fewest /= 2;
        }
        let step = self.pair_chunk();
        let (least_part, most_part) =
            if graph.servers > 1 { (step / 2, step) } else { (step / 8, step * 32) };
        let message = self.size.div_ceil(self.messages());
        let mut channels = u64::from(fewest).min(message.div_ceil(least_part).max(1));
        while message.div_ceil(channels).max(least_part) > most_part
            && channels * 2 <= u64::from(most)
        {
            channels *= 2;
        }
        channels as u32
    }

    /// Returns the bytes of a step of a send between pairs.
    fn pair_chunk(&self) -> u64 {
        PAIR_CHUNKS[usize::from(self.graph.hop != Hop::Nvlink || self.graph.servers > 1)]
    }

    /// Rings and trees with less data a thread than is worth it: channels go first, then
    /// threads.
    fn reduced(&self) -> (u32, u32) {
        let Blocks { threads, thread_bytes, warp, beside, tree_has_all, .. } = self.rules.blocks;
        let (ring, index) = (self.algorithm == ExpectedAlgorithm::Ring, self.protocol as usize);
        let slow = self.graph.rings.whole() <= PCIE3_BANDWIDTH;
        let mut block = threads[index];
        if ring && self.protocol == Protocol::Simple && slow {
            block = block.min(256);
        }
        let by_rank =
            if ring && self.protocol == Protocol::LL { self.graph.ranks as u64 } else { 1 };
        let least = thread_bytes[index] * by_rank;
        let mut channels = self.graph.built;
        while self.size < u64::from(channels) * u64::from(block) * least {
            if channels >= 2 {
                channels -= 1;
            } else if block % 128 == 0 {
                block /= 2;
            } else {
                break;
            }
        }
        if self.protocol == Protocol::Simple {
            block += beside[usize::from(!ring)];
        }
        block = block.max(LEAST_WARPS * warp);
        if !ring && tree_has_all {
            block = MOST_THREADS;
        }
        (self.with_traffic(channels), block)
    }

    /// No more channels than each gets its least traffic.
    fn with_traffic(&self, channels: u32) -> u32 {
        let least = self.rules.blocks.least_traffic;
        if least == 0 {
            return channels;
        }
        let times = if self.collective == Collective::AllReduce { 2 } else { 1 };
        let enough = (self.size * times).div_ceil(least).max(1);
        u64::from(channels).min(enough) as u32
    }

    /// Returns the bytes of data in a step of the protocol's buffer.
    fn step(&self) -> u64 {
        let threads = |protocol: Protocol| u64::from(self.rules.blocks.threads[protocol as usize]);
        match self.protocol {
            Protocol::LL => LL_LINES * threads(Protocol::LL) * 8,
            Protocol::LL128 => {
                let (data, line) = LL128_DATA;
                LL128_WORDS * threads(Protocol::LL128) * 8 / line * data
            }
            Protocol::Simple => SIMPLE_BUFFER / STEPS,
        }
    }

    /// Returns how the data is cut for this number of channels and threads.
    pub fn chunking(&self, channels: u32, threads: u32) -> Chunking {
        let graph = self.graph;
        let ring = self.algorithm == ExpectedAlgorithm::Ring;
        let simple = self.protocol == Protocol::Simple;
        let circles = matches!(
            self.collective,
            Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter
        );
        let (steps, slices) = if ring && simple && circles { (4, 2) } else { (1, 1) };
        let mut chunk = self.step() * steps;
        match self.algorithm {
            ExpectedAlgorithm::Tree => chunk = self.shrunk_for_tree(chunk, channels),
            ExpectedAlgorithm::Nvls => chunk = self.shrunk_for_nvls(chunk, channels),
            ExpectedAlgorithm::NvlsTree => chunk = self.shrunk_for_nvls_trees(channels),
            ExpectedAlgorithm::Pat => chunk = self.shrunk_for_pat(chunk, channels),
            ExpectedAlgorithm::Pairs => {
                chunk = self.pair_chunk();
                if !simple {
                    chunk = chunk.min(self.step());
                }
            }
            ExpectedAlgorithm::Ring => {}
        }
        let last_cut = self.rules.blocks.last;
        if last_cut == LastChunk::Sixteen {
            let grain = GRAINS[self.protocol as usize];
            chunk = chunk / grain * grain;
        }
        let parts = match self.algorithm {
            ExpectedAlgorithm::Ring if circles => graph.ranks as u64,
            ExpectedAlgorithm::Nvls | ExpectedAlgorithm::NvlsTree => self.heads(),
            ExpectedAlgorithm::Pat => graph.ranks as u64,
            // Each pair cuts its own message.
            ExpectedAlgorithm::Pairs => self.messages(),
            ExpectedAlgorithm::Ring | ExpectedAlgorithm::Tree => 1,
        };
        let at_once = u64::from(channels) * parts;
        let loops = self.size.div_ceil(at_once * chunk).max(1);
        let left = self.size - (loops - 1) * at_once * chunk;
        let each = left.div_ceil(at_once);
        let align = match last_cut {
            LastChunk::Sixteen => 16,
            LastChunk::Threads if self.protocol == Protocol::LL128 => u64::from(threads) * 30,
            LastChunk::Threads if simple && ring => {
                u64::from(threads - self.rules.blocks.beside[0]) * 8
            }
            LastChunk::Threads => u64::from(threads) * 8,
        };
        let last = each.div_ceil(align).saturating_mul(align).min(chunk);
        Chunking { chunk: Bytes(chunk), slices, loops, last: Bytes(last) }
    }

    /// How many messages of equal size the size is of.
    fn messages(&self) -> u64 {
        self.graph.ranks as u64
    }

    fn shrunk_for_tree(&self, chunk: u64, channels: u32) -> u64 {
        let (graph, channels) = (self.graph, u64::from(channels));
        let (ranks, servers) = (graph.ranks as u64, graph.servers as u64);
        let mut chunk = chunk;
        let mut shrink = |fewest: f64, least: u64| {
            while ((self.size / (channels * chunk)) as f64) < fewest && chunk > least {
                chunk /= 2;
            }
        };
        match self.protocol {
            Protocol::Simple if self.rules.blocks.tree_shrinks => {
                let classic = u64::from(self.rules.thresholds.is_some());
                let depth = ranks / servers + u64::from(servers.ilog2()) + classic - 1;
                shrink(depth as f64 * 8.0, 131_072);
                shrink(depth as f64 * 4.0, 65_536);
                shrink(depth as f64, 32_768);
            }
            Protocol::LL128 => {
                let each = ranks as f64 / servers as f64;
                let steps = 1.0 + f64::from(servers.ilog2()) + 0.1 * each;
                shrink(steps * 64.0 / each, 131_072);
                shrink(steps * 16.0 / each, 32_768);
            }
            Protocol::LL | Protocol::Simple => {}
        }
        chunk
    }

    /// Counts the GPUs for which the switches reduce a part.
    fn heads(&self) -> u64 {
        u64::from(self.graph.heads().max(1))
    }

    fn shrunk_for_nvls(&self, chunk: u64, channels: u32) -> u64 {
        let at_once = u64::from(channels) * self.heads();
        let mut chunk = chunk.min(131_072);
        for (times, to) in [(64, 65_536), (8, 32_768), (2, 16_384)] {
            if self.size < times * at_once * chunk {
                chunk = chunk.min(to);
            }
        }
        chunk
    }

    /// NVLSTree has shorter chunks from four servers on, and for little data.
    fn shrunk_for_nvls_trees(&self, channels: u32) -> u64 {
        let at_once = u64::from(channels) * self.heads();
        let usual = if self.graph.servers >= 4 { 65_536 } else { 131_072 };
        let tuned = Model { rules: self.rules, graph: self.graph }.tuned_trees();
        let mut chunk = tuned.map_or(usual, |(_, chunk)| chunk);
        for (times, to) in [(16, 131_072), (4, 65_536), (1, 32_768)] {
            if self.size < times * at_once * chunk {
                chunk = chunk.min(to);
            }
        }
        chunk
    }

    fn shrunk_for_pat(&self, chunk: u64, channels: u32) -> u64 {
        let times = if self.collective == Collective::AllGather { 32 } else { 16 };
        let mut chunk = chunk;
        while chunk * u64::from(channels) * times > self.size && chunk > 65_536 {
            chunk /= 2;
        }
        chunk
    }
}
