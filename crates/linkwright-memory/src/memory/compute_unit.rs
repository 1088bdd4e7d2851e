//! Runs compute units: wavefronts take turns on vector units, and each waits for its own events.

use std::rc::Rc;

use super::code::Reading;
use super::kernel::{Scope, WavefrontOperation, WavefrontProgram, WavefrontState};
use crate::system::gpus::Compute;

/// Says why a wavefront waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Nothing that another has to do: it has an event of its own.
    ForItself,
    /// Waits for a load.
    ForLoad(u32),
    /// The line of code that it is at.
    ForCode,
    /// All that it asked of memory, before it starts another access.
    ToAccess(WavefrontOperation),
    /// Waits for all that it asked of memory, after a fence.
    AtFence,
    /// Waits for the others of its work-group.
    AtBarrier,
    /// Waits for all others of the launch.
    AtLaunchBarrier,
    /// All that it asked of memory, before it is at a barrier.
    ToBarrier(Scope),
    /// All that it asked of memory; its program has ended.
    ToEnd,
}

impl Waits {
    /// Says why it waits, as a part of a sentence.
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

/// Describes a wavefront on a compute unit.
pub struct Running {
    /// Holds the state that stands between it and its kernel.
    pub state: Rc<WavefrontState>,
    /// Holds the rest of its kernel.
    pub program: WavefrontProgram,
    /// Names its compute unit, over all GPUs.
    pub unit: u32,
    /// Names its vector unit, over all GPUs.
    pub simd: u32,
    /// Names its work-group, among those that run.
    pub group: u32,
    /// Loads and stores under way.
    pub under_way: u32,
    /// Says why it waits.
    pub waits: Waits,
    /// Holds the operation of its last access, if it had any.
    pub accessed: WavefrontOperation,
    /// The access that it issues, and how many of its lines are issued.
    pub issuing: (u32, u32),
    /// How far it is in its code.
    pub reading: Reading,
}

/// The wavefronts that run; numbers are given again.
#[derive(Default)]
pub struct Wavefronts {
    running: Vec<Option<Running>>,
    free: Vec<u32>,
}

impl Wavefronts {
    /// Takes a wavefront in.
    pub fn start(&mut self, running: Running) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.running.push(None);
            (self.running.len() - 1) as u32
        });
        self.running[slot as usize] = Some(running);
        slot
    }

    /// Gives the wavefront of a number, if it runs.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Running> {
        self.running.get(index as usize)?.as_ref()
    }

    /// Gives the same to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Running> {
        self.running.get_mut(index as usize)?.as_mut()
    }

    /// Lets a wavefront go.
    pub fn end(&mut self, index: u32) -> Option<Running> {
        let running = self.running[index as usize].take()?;
        self.free.push(index);
        Some(running)
    }

    /// Gives all that run, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Running> {
        self.running.iter().flatten()
    }

    /// Gives the numbers below which all lie.
    pub fn numbers(&self) -> std::ops::Range<u32> {
        0..self.running.len() as u32
    }
}

/// The vector units of all GPUs, by when they are free.
#[derive(Debug)]
pub struct Units {
    free: Vec<u64>,
    /// When each compute unit may issue the next access to memory.
    memory_free: Vec<u64>,
    instruction: u64,
    latency: u64,
    cycle: u64,
    /// Instructions that wavefronts have done.
    done: u64,
}

impl Units {
    /// Makes all units idle.
    #[must_use]
    pub fn new(compute: &Compute, cycle: u64, gpus: u32) -> Self {
        let units = compute.units * gpus;
        Self {
            free: vec![0; (units * compute.simds) as usize],
            memory_free: vec![0; units as usize],
            instruction: u64::from(compute.instruction) * cycle,
            latency: u64::from(compute.latency) * cycle,
            cycle,
            done: 0,
        }
    }

    /// Counts an instruction that takes no vector unit's time.
    #[inline]
    pub fn count_one(&mut self) {
        self.done += 1;
    }

    /// Gives how many instructions wavefronts have done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns when a wavefront has done `instructions` instructions, one after another, on its
    /// vector unit. The unit takes each for as long as it needs. The wavefront takes no less than
    /// their latencies.
    #[inline]
    pub fn compute(&mut self, now: u64, simd: u32, instructions: u32) -> u64 {
        self.done += u64::from(instructions);
        let free = &mut self.free[simd as usize];
        *free = now.max(*free) + u64::from(instructions) * self.instruction;
        (*free).max(now + u64::from(instructions) * self.latency)
    }

    /// Returns from when on a compute unit issues the lines of an access, one each cycle.
    #[inline]
    pub fn issue(&mut self, now: u64, unit: u32, lines: u64) -> u64 {
        let free = &mut self.memory_free[unit as usize];
        let start = (now + self.cycle).max(*free);
        *free = start + lines * self.cycle;
        start
    }
}
