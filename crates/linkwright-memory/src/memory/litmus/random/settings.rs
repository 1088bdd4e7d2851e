//! Draws GPUs, wirings, leases, and where and when wavefronts run.

use super::super::played::PAGES;
use super::{
    ADDRESSES, Draw, GpuOptions, Hierarchy, Leases, LitmusStep, MemorySystem, below, between,
    one_of,
};
use crate::engine::Random;
use crate::memory::address::LINE;
use crate::memory::{Distribution, DramTiming};
use crate::system::gpus::{
    self, LeasedLines, Merging, PackageWiring, RequestTracker, TimestampStorage, WiringShape,
};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Counts the lines of each cache.
const LINES: u64 = 4;

/// Draws a number of cycles, a third of them none to speak of.
fn cycles(random: &mut Random, most: u64) -> u32 {
    let most = one_of(random, &[1, most / 4 + 1, most]);
    between(random, 1, most) as u32
}

/// Draws GPUs whose caches hold four lines, in one to four sets, and a run on them.
pub(super) fn draw(
    random: &mut Random,
    memory: &'static dyn MemorySystem,
) -> (Hierarchy, GpuOptions<'static>) {
    let found = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let mut gpu = found.clone();
    gpu.page = Bytes(512);
    gpu.interleaving = Bytes(LINE << below(random, 4));
    gpu.compute.units = between(random, 1, 3) as u32;
    for first in [&mut gpu.vector, &mut gpu.scalar] {
        first.size = Bytes(LINES * LINE);
        first.ways = 1 << below(random, 3);
        first.mshrs = one_of(random, &[1, 2, 16]);
        first.bank = cycles(random, 60);
    }
    (gpu.scalar.count, gpu.instruction.count) = (1, 1);
    gpu.second.banks = 1 << below(random, 2);
    gpu.second.size = Bytes(LINES * LINE);
    gpu.second.ways = 1 << below(random, 3);
    gpu.second.mshrs = one_of(random, &[1, 2, 16]);
    gpu.second.bank = cycles(random, 60);
    gpu.second.crossbar = cycles(random, 60);
    gpu.second.evicts_first = below(random, 2) == 0;
    gpu.memory.latency = cycles(random, 200);
    gpu.pcie.switch = cycles(random, 140);
    gpu.leases = LeasedLines { spared: below(random, 2) == 0, locked: below(random, 2) == 0 };
    gpu.tsu = TimestampStorage {
        latency: cycles(random, 60),
        ways: one_of(random, &[1, 2, 8]),
        entries: Some(one_of(random, &[1, 4, 64])),
    };
    let merging = one_of(random, &[Merging::Never, Merging::Sequential, Merging::Always]);
    let depth = one_of(random, &[1, 2, 64]);
    let tracker = RequestTracker { depth, latency: cycles(random, 60), merging };
    gpu.tracker = (below(random, 2) == 0).then_some(tracker);
    let shape = one_of(random, &[None, Some(WiringShape::Ring), Some(WiringShape::Mesh)]);
    let link = cycles(random, 100);
    let wire = |shape| PackageWiring { shape, link, bandwidth: None, middle: None, between: None };
    gpu.wiring = shape.map(wire);
    let options = GpuOptions {
        gpus: one_of(random, &[1, 2, 4]),
        memory,
        distribution: one_of(random, &[Distribution::Unified, Distribution::Discrete]),
        dram: one_of(random, &[DramTiming::Ideal, DramTiming::Hbm2]),
        shared_bandwidth: Bandwidth::gigabytes_per_second(one_of(random, &[4, 32, 512])),
        leases: leases(random),
        limit: Picoseconds(1_000_000_000),
        ..GpuOptions::default()
    };
    (gpu, options)
}

/// Draws timestamps of 2 to 16 bits, and leases that these hold, half of them long.
fn leases(random: &mut Random) -> Leases {
    let bits = between(random, 2, 16);
    let lease = |random: &mut Random| {
        let most = one_of(random, &[5, 50]).min((1 << bits) - 1);
        i128::from(between(random, 1, most))
    };
    Leases::new(lease(random), lease(random), bits.into()).expect("timestamps hold them")
}

/// Draws the unit of each wavefront, when it starts and where it pauses, and where the addresses lie.
///
/// A wavefront runs on the unit of the one before, or on any. An address lies in the line of the one
/// before, in a set with it, or in any line.
pub(super) fn places(
    random: &mut Random,
    programs: &[Vec<LitmusStep>],
    (gpu, gpus): (&Hierarchy, u32),
) -> Draw {
    let all = u64::from(gpus * gpu.compute.units);
    let mut units: Vec<u32> = Vec::new();
    for _ in programs {
        let last = units.last().filter(|_| below(random, 4) == 0);
        units.push(last.map_or_else(|| below(random, all) as u32, |last| *last));
    }
    let latest = one_of(random, &[40, 500, 2_000]);
    let starts = programs.iter().map(|_| between(random, 0, latest)).collect();
    let mut pauses = |program: &Vec<LitmusStep>| {
        let often = one_of(random, &[1, 4, 16]);
        let mut pause = || match below(random, often) {
            0 => cycles(random, 500),
            _ => 0,
        };
        program.iter().map(|_| pause()).collect()
    };
    let pauses = programs.iter().map(&mut pauses).collect();
    let lines = PAGES * gpu.page.0 / LINE;
    let mut line = below(random, lines);
    let mut places = Vec::new();
    for address in 0..u64::from(ADDRESSES) {
        line = match below(random, 4) {
            0 => line,
            1 => (line + 32 * between(random, 1, 3)) % lines,
            _ => below(random, lines),
        };
        // Each has a word of its own in whichever line.
        places.push(line * LINE + 4 * address);
    }
    Draw { units, starts, pauses, places }
}
