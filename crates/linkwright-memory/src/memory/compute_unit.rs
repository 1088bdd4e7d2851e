//! Compute units: wavefronts that take turns on vector units, and what each waits for.

use std::rc::Rc;

use super::cache::NONE;
use super::kernel::{Lanes, Scope, Values, WavefrontOperation, WavefrontProgram, WavefrontState};
use crate::system::gpus::Compute;
use crate::units::Picoseconds;

/// What a wavefront waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Nothing that another has to do: it has an event of its own.
    ForItself,
    /// A load.
    ForLoad(u32),
    /// The line of code that it is at.
    ForCode,
    /// All that it asked of memory, before it starts another access.
    ToAccess(WavefrontOperation),
    /// All that it asked of memory, after a fence.
    AtFence,
    /// The others of its work-group.
    AtBarrier,
    /// All others of the launch.
    AtLaunchBarrier,
    /// All that it asked of memory, before it is at a barrier.
    ToBarrier(Scope),
    /// All that it asked of memory; its program has ended.
    ToEnd,
}

impl Waits {
    /// What it waits for, as a part of a sentence.
    pub fn told(self) -> &'static str {
        match self {
            Self::ForItself => "goes on with its next instruction",
            Self::ForLoad(_) => "waits for a load",
            Self::ForCode => "waits for its code",
            Self::ToAccess(_) => "waits to start an access",
            Self::AtFence => "waits at a fence for its accesses",
            Self::AtBarrier => "waits at a barrier for the others of its group",
            Self::AtLaunchBarrier => "waits at a barrier for all others of the launch",
            Self::ToBarrier(_) => "waits for its accesses before a barrier",
            Self::ToEnd => "waits for its last accesses",
        }
    }
}

/// A wavefront on a compute unit.
pub struct Running {
    /// What stands between it and its kernel.
    pub state: Rc<WavefrontState>,
    /// The rest of its kernel.
    pub program: WavefrontProgram,
    /// Its compute unit, over all GPUs.
    pub unit: u32,
    /// Its vector unit, over all GPUs.
    pub simd: u32,
    /// Its work-group, among those that run.
    pub group: u32,
    /// Loads and stores under way.
    pub under_way: u32,
    /// What it waits for.
    pub waits: Waits,
    /// What its last access does, if it had any.
    pub accessed: WavefrontOperation,
    /// The access that it issues, and how many of its lines are issued.
    pub issuing: (u32, u32),
    /// How far it is in its code.
    pub reading: Reading,
}

/// How far a wavefront is in its code.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Instructions that it has issued, until it has read all.
    pub issued: u64,
    /// Lines that it has read, from the first on.
    pub lines: u32,
    /// The line that it reads up to.
    pub wanted: u32,
    /// What stands for it where it waits for a line, or [`NONE`].
    pub fetch: u32,
    /// What of an operation waits for its code.
    pub rest: Option<WavefrontOperation>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { issued: 0, lines: 0, wanted: 0, fetch: NONE, rest: None }
    }
}

/// A work-group on a compute unit.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Its number in the launch.
    pub number: u32,
    /// Its compute unit.
    pub unit: u32,
    /// When the compute unit took it in.
    pub start: Picoseconds,
    /// Its wavefronts that have not ended.
    pub left: u32,
    /// Those of them at the barrier.
    pub at_barrier: u32,
    /// The running wavefronts.
    pub wavefronts: Vec<u32>,
}

/// A load or store of a wavefront.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// The wavefront.
    pub wavefront: u32,
    /// Lines that are under way, and one more while lines are issued.
    pub pending: u32,
    /// When the last of the lines that were here is read.
    pub ready: u64,
    /// Whether it is done.
    pub done: bool,
    /// What it does.
    pub operation: WavefrontOperation,
    /// What it touches, and the words so far: in a run with data.
    pub words: Option<Box<(Lanes, Values)>>,
}

/// The vector units of all GPUs, by when they are free.
#[derive(Debug)]
pub struct Units {
    free: Vec<u64>,
    /// When each compute unit may issue the next access to memory.
    pub memory_free: Vec<u64>,
    instruction: u64,
    latency: u64,
    /// One cycle.
    pub cycle: u64,
}

impl Units {
    /// All units idle.
    #[must_use]
    pub fn new(compute: &Compute, cycle: u64, gpus: u32) -> Self {
        let units = compute.units * gpus;
        Self {
            free: vec![0; (units * compute.simds) as usize],
            memory_free: vec![0; units as usize],
            instruction: u64::from(compute.instruction) * cycle,
            latency: u64::from(compute.latency) * cycle,
            cycle,
        }
    }

    /// When a wavefront has done so many instructions, one after another, on its vector unit:
    /// that takes each for as long as it needs, and the wavefront no less than their latencies.
    #[inline]
    pub fn compute(&mut self, now: u64, simd: u32, instructions: u32) -> u64 {
        let free = &mut self.free[simd as usize];
        *free = now.max(*free) + u64::from(instructions) * self.instruction;
        (*free).max(now + u64::from(instructions) * self.latency)
    }

    /// From when on a compute unit issues the lines of an access, one each cycle.
    #[inline]
    pub fn issue(&mut self, now: u64, unit: u32, lines: u64) -> u64 {
        let free = &mut self.memory_free[unit as usize];
        let start = (now + self.cycle).max(*free);
        *free = start + lines * self.cycle;
        start
    }
}
