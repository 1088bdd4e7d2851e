//! Describes a collective as a kernel: the steps of the thread blocks of every rank, piece after
//! piece.
//!
//! The form is NCCL's. A rank runs blocks side by side, each on a stream of its own. A block takes
//! its steps one after the other. It sends over at most one connection and receives over at most
//! one. At its end it begins again with the next piece of the data. So blocks form a pipeline, in
//! which each may be at another piece. A kernel says neither how long its data is ([`Pieces`]) nor
//! the cost of anything ([`NcclProtocol`]).
//!
//! The model leaves out the bytes themselves, and where in a rank's buffers they lie.

mod pieces;
mod protocol;

pub use pieces::Pieces;
pub use protocol::{NcclProtocol, Reach};

use std::sync::Arc;

/// Describes one step of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelStep {
    /// Whether it sends a run of chunks, once it has what it receives.
    pub sends: bool,
    /// Says whether it takes the data that has come next over its block's connection. The data
    /// keeps its slot until the step has ended, so that data that is passed on has left by then.
    pub receives: bool,
    /// How many chunks it sends or takes.
    pub count: u32,
    /// Whether it writes them to its own GPU's memory alone, and sends none.
    pub copies: bool,
}

/// A step with those that it waits for and those that may wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedStep {
    /// Sends, receives or copies a run of chunks.
    pub step: KernelStep,
    /// Gives its range of [`Kernel::waits`].
    pub waits: (u32, u32),
    /// Gives its range of [`Kernel::wakes`].
    pub wakes: (u32, u32),
    /// Whether nothing that its block does next needs what it copies, so that the block goes on while
    /// that is written.
    pub is_behind: bool,
}

/// Describes one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelBlock {
    /// The rank that runs it.
    pub rank: u32,
    /// Gives its range of [`Kernel::steps`].
    pub steps: (u32, u32),
    /// Where it sends: an index of [`Kernel::connections`].
    pub outgoing: Option<u32>,
    /// Where it receives: another.
    pub incoming: Option<u32>,
}

/// Describes one directed connection between two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelConnection {
    /// The block that sends.
    pub sender: u32,
    /// The block that receives.
    pub receiver: u32,
    /// It shares links with the other connections of its lane.
    pub lane: u32,
    /// Whether it opens only when peer access has been switched off.
    pub is_late: bool,
}

/// Holds the work of every rank's blocks in a collective.
///
/// ```
/// use linkwright_runtime::program::kernel::{Kernel, KernelStep};
///
/// let mut kernel = Kernel::default();
/// let sends = KernelStep { sends: true, receives: false, count: 1, copies: false };
/// let receives = KernelStep { sends: false, receives: true, count: 1, copies: true };
/// for step in [sends, receives] {
///     kernel.begin_rank();
///     kernel.begin_block();
///     kernel.step(step, []);
/// }
/// kernel.connect((0, 0), (1, 0), 0, false);
/// assert_eq!(kernel.finished().ranks(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Whether its blocks do one thing after another: none goes on while what it copies is written.
    is_in_order: bool,
    /// Gives the first block of each rank.
    first_block: Vec<u32>,
    /// Holds every block, rank after rank.
    pub blocks: Vec<KernelBlock>,
    /// Holds every step that is written, block after block.
    pub steps: Vec<LinkedStep>,
    /// Steps that a step waits for; until the kernel is finished, as block and step of its rank.
    waits_named: Vec<(u32, u32)>,
    /// The same when it is finished, as indices of [`Kernel::steps`].
    pub waits: Vec<u32>,
    /// Blocks that a step's end may set going.
    pub wakes: Vec<u32>,
    /// Holds every connection, in the order in which they were made.
    pub connections: Vec<KernelConnection>,
    /// Lists the blocks that send over the connections of each lane.
    pub lanes: Vec<Vec<u32>>,
}

impl Kernel {
    /// An empty kernel, whose blocks may be told to do one thing after another.
    #[must_use]
    pub fn new(is_in_order: bool) -> Self {
        Self { is_in_order, ..Self::default() }
    }

    /// Whether its blocks do one thing after another.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.is_in_order
    }

    /// Begins the next rank.
    pub fn begin_rank(&mut self) {
        self.first_block.push(self.blocks.len() as u32);
    }

    /// Begins the next block of the last rank.
    pub fn begin_block(&mut self) {
        let at = self.steps.len() as u32;
        let rank = self.first_block.len().saturating_sub(1) as u32;
        self.blocks.push(KernelBlock { rank, steps: (at, at), outgoing: None, incoming: None });
    }

    /// Begins the next block of the last rank, with the steps of another block. That block is
    /// written and waits for no other block. The steps stand once for both.
    ///
    /// # Panics
    /// Where that block is not there.
    pub fn begin_block_like(&mut self, other: (u32, u32)) {
        let steps = self.blocks[self.block(other) as usize].steps;
        let rank = self.first_block.len().saturating_sub(1) as u32;
        self.blocks.push(KernelBlock { rank, steps, outgoing: None, incoming: None });
    }

    /// The blocks whose steps are not those of an earlier one, with their indices.
    pub fn written_blocks(&self) -> impl Iterator<Item = (u32, &KernelBlock)> {
        let mut written = 0;
        (0..).zip(&self.blocks).filter(move |(_, block)| {
            let is_new = block.steps.0 >= written;
            written = written.max(block.steps.1);
            is_new
        })
    }

    /// The same with steps of its own for each block, without which it cannot be played; None where
    /// each has them.
    #[must_use]
    pub fn in_full(&self) -> Option<Self> {
        if self.written_blocks().count() == self.blocks.len() {
            return None;
        }
        let mut full = Self { steps: Vec::new(), ..self.clone() };
        for block in &mut full.blocks {
            let from = full.steps.len() as u32;
            let steps = block.steps.0 as usize..block.steps.1 as usize;
            full.steps.extend_from_slice(&self.steps[steps]);
            block.steps = (from, full.steps.len() as u32);
        }
        Some(full)
    }

    /// Adds a step to the last block. It waits until the steps in `after` have ended for the same
    /// piece. Each of these is of its rank, and named by its block and its place there.
    ///
    /// # Panics
    /// Where no block was begun.
    pub fn step(&mut self, step: KernelStep, after: impl IntoIterator<Item = (u32, u32)>) {
        let from = self.waits_named.len() as u32;
        self.waits_named.extend(after);
        let waits = (from, self.waits_named.len() as u32);
        self.steps.push(LinkedStep { step, waits, wakes: (0, 0), is_behind: false });
        self.blocks.last_mut().expect("a block was begun").steps.1 += 1;
    }

    /// Connects a block, by its rank and its place there, to another that receives from it.
    /// Connections of one lane share links, and may take turns on them. A late one opens only when
    /// peer access has been switched off. Returns the connection's index.
    ///
    /// # Panics
    /// Where a block is not there.
    pub fn connect(
        &mut self,
        sender: (u32, u32),
        receiver: (u32, u32),
        lane: u32,
        is_late: bool,
    ) -> u32 {
        let index = self.connections.len() as u32;
        let [sender, receiver] = [sender, receiver].map(|block| self.block(block));
        self.blocks[sender as usize].outgoing = Some(index);
        self.blocks[receiver as usize].incoming = Some(index);
        if self.lanes.len() <= lane as usize {
            self.lanes.resize(lane as usize + 1, Vec::new());
        }
        self.lanes[lane as usize].push(sender);
        self.connections.push(KernelConnection { sender, receiver, lane, is_late });
        index
    }

    /// The kernel, when all is said: who waits for whom is looked up.
    ///
    /// # Panics
    /// Where a step waits for one that is not there.
    #[must_use]
    pub fn finished(mut self) -> Self {
        let mut woken: Vec<Vec<u32>> = vec![Vec::new(); self.steps.len()];
        let written: Vec<(u32, KernelBlock)> =
            self.written_blocks().map(|(index, block)| (index, *block)).collect();
        for (index, block) in &written {
            for step in &self.steps[block.steps.0 as usize..block.steps.1 as usize] {
                for at in step.waits.0..step.waits.1 {
                    let (other, place) = self.waits_named[at as usize];
                    let other = self.blocks[self.block((block.rank, other)) as usize];
                    let id = other.steps.0 + place;
                    self.waits.push(id);
                    woken[id as usize].push(*index);
                }
            }
        }
        for (step, mut blocks) in self.steps.iter_mut().zip(woken) {
            blocks.dedup();
            let from = self.wakes.len() as u32;
            self.wakes.extend(blocks);
            step.wakes = (from, self.wakes.len() as u32);
        }
        for (_, block) in &written {
            let mut next_copies = true;
            for step in self.steps[block.steps.0 as usize..block.steps.1 as usize].iter_mut().rev()
            {
                let is_awaited = step.wakes.0 < step.wakes.1;
                step.is_behind =
                    step.step.copies && next_copies && !is_awaited && !self.is_in_order;
                next_copies = step.step.copies;
            }
        }
        self
    }

    /// Counts the ranks that take part.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.first_block.len() as u32
    }

    /// Returns the blocks of a rank.
    pub(crate) fn blocks_of(&self, rank: u32) -> std::ops::Range<u32> {
        let first = |rank: u32| self.first_block.get(rank as usize).copied();
        let end = self.blocks.len() as u32;
        first(rank).unwrap_or(end)..first(rank + 1).unwrap_or(end)
    }

    /// How many steps of all blocks send.
    #[must_use]
    pub fn sends(&self) -> u64 {
        self.steps.iter().filter(|linked| linked.step.sends).count() as u64
    }

    fn block(&self, (rank, block): (u32, u32)) -> u32 {
        self.first_block[rank as usize] + block
    }
}

/// A collective that is played as a kernel.
#[derive(Debug, Clone)]
pub struct KernelCall {
    /// Holds the work of its ranks; as many ranks as take part in the collective.
    pub kernel: Arc<Kernel>,
    /// How its data is cut.
    pub pieces: Pieces,
    /// Holds its costs.
    pub protocol: NcclProtocol,
    /// Gives the network's number of the first connection; the others follow in their order.
    pub first_connection: u32,
}
