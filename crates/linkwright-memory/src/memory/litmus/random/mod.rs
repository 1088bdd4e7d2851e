//! Random litmus runs: classic shapes and random programs, on GPUs whose caches hold four lines.
//!
//! A seed draws a program, where and when its wavefronts run, where its addresses lie, and the GPUs.
//! A package's wiring, PCIe, a DGX-1V's links or an NVSwitch server's join them.
//! One sequential order must give all reads and the memory at the end.

mod programs;
mod settings;
#[cfg(test)]
mod tests;
mod wirings;

use std::num::NonZeroU64;

use self::wirings::Wiring;
use super::played::{Draw, workload};
use super::sequential::{Point, ends};
use super::{LitmusStep, Reads};
use crate::engine::Random;
use crate::memory::memory_system::MemorySystem;
use crate::memory::run::{GpuOptions, GpuRun, run};
use crate::memory::{GpuRunError, protocol::Leases};
use crate::system::gpus::Hierarchy;

/// Counts the addresses: x, y and z.
const ADDRESSES: u8 = 3;

/// Draws an integer below a bound.
fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(NonZeroU64::new(bound).expect("a bound is above 0"))
}

/// Draws an integer from one bound to another, both included.
fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + below(random, most - least + 1)
}

/// Draws one of some values.
fn one_of<T: Copy>(random: &mut Random, values: &[T]) -> T {
    *random.choose(values).expect("there are values")
}

/// Holds all that a seed draws for a memory system.
#[derive(Debug, Clone)]
struct LitmusRun {
    name: &'static str,
    programs: Vec<Vec<LitmusStep>>,
    hierarchy: Hierarchy,
    options: GpuOptions<'static>,
    draw: Draw,
    /// Names the machine whose links join the GPUs.
    machine: Option<&'static str>,
}

/// Holds what was read, and the end of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    reads: Reads,
    memory: Vec<u8>,
}

impl LitmusRun {
    /// Draws a run; the same for all memory systems, but that relaxed ones have fences.
    fn new(seed: u64, memory: &'static dyn MemorySystem) -> Self {
        Self::with_fences(seed, memory, !memory.is_sequential())
    }

    /// Draws a run with fences or without, whatever the memory system needs.
    fn with_fences(seed: u64, memory: &'static dyn MemorySystem, fences: bool) -> Self {
        let random = &mut Random::new(seed);
        let (name, programs) = programs::draw(random, fences);
        let (hierarchy, options) = settings::draw(random, memory);
        let draw = settings::places(random, &programs, (&hierarchy, options.gpus));
        let wiring = wirings::draw(random, options.gpus, memory);
        let options = GpuOptions { between: wiring.map(Wiring::wires), ..options };
        let machine = wiring.map(|wiring| wiring.machine);
        Self { name, programs, hierarchy, options, draw, machine }
    }

    /// Plays it; gives nothing where it never ends.
    fn play(&self) -> Option<(Outcome, GpuRun)> {
        let of = (&self.hierarchy, self.options.gpus);
        let (workload, reads) = workload(self.name, of, &self.programs, &self.draw);
        let run = match run(&self.hierarchy, &workload, &self.options, None) {
            Ok(run) => run,
            Err(GpuRunError::TooLong { .. }) => return None,
            Err(error) => panic!("{error}: {self:?}"),
        };
        let image = run.image.as_ref().expect("the run has data");
        let word = |place: &u64| image.word(workload.buffers[0].address + place);
        let memory = self.draw.places.iter().map(|place| word(place) as u8).collect();
        Some((Outcome { reads: reads.take(), memory }, run))
    }

    /// Whether a sequential order of all accesses gives an outcome.
    fn allows(&self, outcome: &Outcome) -> bool {
        let accesses = |program: &Vec<LitmusStep>| {
            program.iter().copied().filter(|step| *step != LitmusStep::Fence).collect()
        };
        let programs: Vec<Vec<LitmusStep>> = self.programs.iter().map(accesses).collect();
        let all_read = programs.iter().zip(&outcome.reads).all(|(program, reads)| {
            program.iter().filter(|step| step.reads()).count() == reads.len()
        });
        let fits = |so_far: &Reads| {
            so_far.iter().zip(&outcome.reads).all(|(some, all)| all.starts_with(some))
        };
        let found = ends(&programs, |point| fits(&point.reads));
        // Addresses that no program uses stay 0.
        let is_same = |end: &Point| {
            let all = end.memory.iter().copied().chain(std::iter::repeat(0));
            all.take(outcome.memory.len()).eq(outcome.memory.iter().copied())
        };
        all_read && found.iter().any(is_same)
    }

    /// Says what is wrong with what it gives, if anything is.
    fn wrong(&self) -> Option<String> {
        let outcome = self.play().map(|(outcome, _)| outcome);
        let is_right = outcome.as_ref().is_some_and(|outcome| self.allows(outcome));
        // The channels of links say nothing that the machine's name does not.
        let told =
            || Self { options: GpuOptions { between: None, ..self.options }, ..self.clone() };
        (!is_right).then(|| format!("{outcome:?} of {:?}", told()))
    }
}

/// Gives the first of some seeds at which a memory system is wrong, and how.
fn first_wrong(
    memory: &'static dyn MemorySystem,
    mut seeds: std::ops::Range<u64>,
) -> Option<(u64, String)> {
    seeds.find_map(|seed| Some((seed, LitmusRun::new(seed, memory).wrong()?)))
}
