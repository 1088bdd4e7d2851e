//! Places the code of kernels, and says where instructions lie and how wavefronts come by them.
//!
//! It represents kernels that lie in the memory of each GPU, or once in the memory that all share.
//! A wavefront reads its kernel line by line, one line under way at a time, and keeps its buffer of
//! instructions full. It reads through a cache of instructions that neighbouring compute units
//! share, and the second level. At the first instruction of a line that has not come it waits.
//! Lines in the cache cost no time: reading one takes less than doing its instructions. A loop
//! finds all that has been read. Code never changes, so no kernel's end empties these caches, and
//! no protocol keeps them. It leaves out branches over lines, arguments, and the content of a
//! launch's packet.

use super::address::{AddressMap, Distribution, LINE, OutOfMemory, Pages};
use super::cache::{Lines, Mshrs, NONE};
use super::compute_unit::Waits;
use super::kernel::{KernelCode, KernelWorkload, Scope, WavefrontOperation};
use super::protocol::{Ask, CoherenceProtocol};
use super::requests::{First, Kind, Request};
use super::run::GpuOptions;
use super::statistics::CacheCounts;
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Hierarchy;
use crate::units::{Bytes, Picoseconds};

/// Gives the alignment of code in bytes. Code starts at multiples of it, as the header before it is
/// this long (LLVM, "User Guide for AMDGPU Backend": `amd_kernel_code_t`).
const ALIGNMENT: u64 = 256;

/// Places the code of a launch's kernel.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Names its first line, among those of a copy.
    first: u64,
    code: KernelCode,
}

impl Place {
    /// How many lines it has.
    const fn lines(&self) -> u32 {
        self.code.size.0.div_ceil(LINE) as u32
    }

    /// Returns the line of an instruction, by its number among those that a wavefront issues.
    fn line_of(&self, instruction: u64) -> u32 {
        let byte = instruction * self.code.size.0 / u64::from(self.code.instructions.max(1));
        (byte / LINE).min(u64::from(self.lines()) - 1) as u32
    }

    /// The first instruction that is in no line before this one, which is not the first.
    fn first_of(&self, line: u32) -> u64 {
        if line >= self.lines() {
            return u64::MAX;
        }
        (u64::from(line) * LINE * u64::from(self.code.instructions)).div_ceil(self.code.size.0)
    }
}

/// How far a wavefront is in its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// Instructions that it has issued, until it has read all.
    issued: u64,
    /// Lines that it has read, from the first on.
    lines: u32,
    /// The line that it reads up to.
    wanted: u32,
    /// Stands for it where it waits for a line, or is [`NONE`].
    fetch: u32,
    /// Keeps the part of an operation that waits for its code.
    rest: Option<WavefrontOperation>,
}

impl Default for Reading {
    fn default() -> Self {
        Self { issued: 0, lines: 0, wanted: 0, fetch: NONE, rest: None }
    }
}

impl Reading {
    /// Takes what of an operation has waited for its code.
    #[inline]
    pub(super) fn take_rest(&mut self) -> Option<WavefrontOperation> {
        self.rest.take()
    }
}

/// A wavefront that waits for a line.
#[derive(Debug, Clone, Copy)]
struct Fetch {
    /// The wavefront, or [`NONE`] if it has ended.
    wavefront: u32,
    /// The one that waits behind it.
    next: u32,
    since: u64,
}

/// Where code lies, the caches that hold it, and who waits for it.
#[derive(Debug)]
pub(super) struct Code {
    places: Vec<Place>,
    /// Gives the first line of each GPU's copy.
    copies: Vec<u64>,
    /// Lines that a wavefront holds beside that of the instruction that it is at.
    ahead: u32,
    lines: Lines<()>,
    mshrs: Mshrs,
    fetches: Vec<Fetch>,
    free: Vec<u32>,
    /// Names the first and the last that found no register, of each cache.
    stalled: Vec<(u32, u32)>,
    /// Counts the answers of each cache.
    counts: Vec<CacheCounts>,
    directory: u64,
    latency: u64,
}

impl Code {
    /// Makes empty caches, and places for the code of a workload behind its buffers.
    ///
    /// # Errors
    /// A memory that is full.
    pub(super) fn new(
        hierarchy: &Hierarchy,
        workload: &KernelWorkload,
        options: &GpuOptions,
        (map, pages): (&mut AddressMap, Pages),
    ) -> Result<Self, OutOfMemory> {
        let (of, gpus) = (&hierarchy.instruction, options.gpus);
        let caches = gpus * of.count;
        let (places, size) = places(workload, options.with_code);
        let ahead = (hierarchy.compute.instruction_buffer.0 / LINE - 1) as u32;
        let mut copies = vec![0; gpus as usize];
        if size > 0 {
            // The bytes that are read ahead of the last instruction are memory, too.
            let size = Bytes(size + u64::from(ahead) * LINE);
            let mut shared = None;
            for (gpu, copy) in (0..gpus).zip(&mut copies) {
                *copy = match (pages, shared) {
                    (Pages::Own, _) => map.place_in(size, gpu)?,
                    (Pages::Shared, Some(first)) => first,
                    _ => map.place(size, Distribution::Unified)?,
                } / LINE;
                shared = Some(*copy * LINE);
            }
        }
        let cycle = hierarchy.cycle.0;
        let directory = u64::from(of.directory) * cycle;
        Ok(Self {
            places,
            copies,
            ahead,
            lines: Lines::new(caches, of.size.0, of.ways, false),
            mshrs: Mshrs::new(caches, of.mshrs),
            fetches: Vec::new(),
            free: Vec::new(),
            stalled: vec![(NONE, NONE); caches as usize],
            counts: vec![CacheCounts::default(); caches as usize],
            directory,
            latency: directory + u64::from(of.bank) * cycle,
        })
    }

    /// The pages of each GPU's copy, where each has its own.
    pub(super) fn pages(&self, map: &AddressMap) -> impl Iterator<Item = (u32, u64)> {
        let size = self.places.iter().map(|place| place.first + u64::from(place.lines())).max();
        let end = size.filter(|size| *size > 0).map_or(0, |size| size + u64::from(self.ahead));
        let pages = self.copies.iter().map(|first| (map.page(*first), map.page(first + end)));
        let pages: Vec<_> = if end == 0 { Vec::new() } else { pages.collect() };
        (0..).zip(pages).flat_map(|(gpu, (first, last))| (first..=last).map(move |at| (gpu, at)))
    }

    /// A wavefront that waits, as one that nobody waits behind.
    fn wait(&mut self, wavefront: u32, since: u64) -> u32 {
        let fetch = Fetch { wavefront, next: NONE, since };
        if let Some(index) = self.free.pop() {
            self.fetches[index as usize] = fetch;
            return index;
        }
        self.fetches.push(fetch);
        (self.fetches.len() - 1) as u32
    }

    /// Puts a wavefront behind those that found no register of a cache.
    fn stall(&mut self, cache: u32, fetch: u32) {
        let (first, last) = &mut self.stalled[cache as usize];
        match *last {
            NONE => *first = fetch,
            before => self.fetches[before as usize].next = fetch,
        }
        *last = fetch;
    }

    /// A wavefront has ended that was this far.
    pub(super) fn forget(&mut self, reading: &Reading) {
        if reading.fetch != NONE {
            self.fetches[reading.fetch as usize].wavefront = NONE;
        }
    }

    /// Gives what each cache has answered.
    pub(super) fn into_counts(self) -> Vec<CacheCounts> {
        self.counts
    }
}

/// The place of each launch's code in a copy of all, and the bytes of a copy; no code where none is
/// read.
fn places(workload: &KernelWorkload, with_code: bool) -> (Vec<Place>, u64) {
    let mut places: Vec<Place> = Vec::new();
    let mut end = 0;
    for (at, launch) in workload.launches.iter().enumerate() {
        let code = if with_code { launch.code } else { KernelCode::default() };
        let same = workload.launches[..at].iter().position(|other| other.name == launch.name);
        let place = same.map_or(Place { first: end / LINE, code }, |same| places[same]);
        if same.is_none() {
            end = (end + code.size.0).next_multiple_of(ALIGNMENT);
        }
        places.push(place);
    }
    (places, end)
}

/// How many instructions of code an operation is.
const fn instructions(operation: WavefrontOperation) -> u32 {
    match operation {
        WavefrontOperation::Compute(count) | WavefrontOperation::Lds(count) => count,
        WavefrontOperation::Nothing
        | WavefrontOperation::Arrived(_)
        | WavefrontOperation::Barrier(Scope::Launch) => 0,
        WavefrontOperation::Load
        | WavefrontOperation::LoadScalar
        | WavefrontOperation::Store
        | WavefrontOperation::Atomic(_)
        | WavefrontOperation::Fence
        | WavefrontOperation::Barrier(Scope::Group) => 1,
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Returns the part of an operation that a wavefront may begin, for which it has the code. The
    /// wavefront keeps the rest, and waits for it if that is all.
    pub(super) fn with_code(
        &mut self,
        index: u32,
        operation: WavefrontOperation,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Option<WavefrontOperation> {
        let place = self.code.places[self.phases.launch()];
        let lines = place.lines();
        let asked = u64::from(instructions(operation));
        let running = self.wavefronts.get_mut(index)?;
        if lines == 0 || asked == 0 || running.reading.lines == lines + self.code.ahead {
            return Some(operation);
        }
        let first = running.reading.issued;
        self.fetch(index, place.line_of(first + asked - 1) + self.code.ahead, scheduler);
        let running = self.wavefronts.get_mut(index)?;
        let there = place.first_of(running.reading.lines).saturating_sub(first).min(asked);
        running.reading.issued += there;
        let left = (asked - there) as u32;
        let (now, rest) = match operation {
            _ if left == 0 => (Some(operation), None),
            _ if there == 0 => (None, Some(operation)),
            WavefrontOperation::Lds(_) => {
                (Some(WavefrontOperation::Lds(there as u32)), Some(WavefrontOperation::Lds(left)))
            }
            _ => (
                Some(WavefrontOperation::Compute(there as u32)),
                Some(WavefrontOperation::Compute(left)),
            ),
        };
        running.reading.rest = rest;
        if now.is_none() {
            running.waits = Waits::ForCode;
        }
        now
    }

    /// A wavefront reads lines of its code up to one, or to the first that is not in its cache.
    fn fetch(&mut self, index: u32, last: u32, scheduler: &mut impl Scheduler<Event>) {
        let place = self.code.places[self.phases.launch()];
        let Some(running) = self.wavefronts.get_mut(index) else { return };
        let reading = &mut running.reading;
        reading.wanted = reading.wanted.max(last);
        let unit = running.unit;
        let gpu = unit / self.counts.units;
        let cache = self.counts.instruction_cache(unit);
        while reading.fetch == NONE && reading.lines <= reading.wanted {
            let line = self.code.copies[gpu as usize] + place.first + u64::from(reading.lines);
            let physical = self.map.physical(line);
            let counts = &mut self.code.counts[cache as usize];
            if let Some(at) = self.code.lines.find(cache, physical, line) {
                self.code.lines.touch(at);
                counts.hits += 1;
                counts.answered += 1;
                counts.time += self.code.latency;
                reading.lines += 1;
                continue;
            }
            let fetch = self.code.wait(index, scheduler.now().0);
            reading.fetch = fetch;
            let counts = &mut self.code.counts[cache as usize];
            if let Some(last) = self.code.mshrs.join(cache, line, fetch) {
                counts.merged += 1;
                if last != NONE {
                    self.code.fetches[last as usize].next = fetch;
                }
            } else if self.code.mshrs.is_full(cache) {
                self.code.stall(cache, fetch);
            } else {
                counts.misses += 1;
                self.code.mshrs.take(cache, line);
                self.code.mshrs.join(cache, line, fetch);
                let first = First { kind: Kind::Instruction, cache };
                let now = scheduler.now().0;
                // Whoever waits is known by the line: nothing of a load waits for the request.
                let request = Request { load: 0, first, ..Request::new(line, physical, now, gpu) };
                let request = self.requests.add(request);
                self.translate(request, scheduler);
                return;
            }
        }
    }

    /// A line of code that a cache lacks has its page: it is asked of the second level.
    pub(super) fn ask_for_code(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let request = self.requests.get_mut(index);
        (request.ask, request.first_ask) = (Ask::Read, Ask::Read);
        let at = scheduler.now().0 + self.code.directory;
        self.send_to_second(index, at, scheduler);
    }

    /// A line of code is at its cache: who waits for it goes on.
    pub(super) fn code_came(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { line, physical, first: First { cache, .. }, .. } = *self.requests.get(index);
        self.requests.remove(index);
        self.leave(line, scheduler);
        let at = self.code.lines.oldest(cache, physical);
        let gone = self.code.lines.line(at).is_some();
        self.code.counts[cache as usize].evictions += u64::from(gone);
        self.code.lines.put(at, line);
        let now = scheduler.now();
        let mut waiting = self.code.mshrs.free(cache, line);
        while waiting != NONE {
            let Fetch { wavefront, next, since } = self.code.fetches[waiting as usize];
            self.code.free.push(waiting);
            let counts = &mut self.code.counts[cache as usize];
            counts.answered += 1;
            counts.time += now.0 - since;
            if let Some(running) = self.wavefronts.get_mut(wavefront) {
                running.reading.lines += 1;
                self.has_line(wavefront, scheduler);
            }
            waiting = next;
        }
        let (mut stalled, _) =
            std::mem::replace(&mut self.code.stalled[cache as usize], (NONE, NONE));
        while stalled != NONE {
            let Fetch { wavefront, next, .. } = self.code.fetches[stalled as usize];
            self.code.free.push(stalled);
            self.has_line(wavefront, scheduler);
            stalled = next;
        }
    }

    /// A wavefront that waited for a line of code has it, or may ask again.
    fn has_line(&mut self, wavefront: u32, scheduler: &mut impl Scheduler<Event>) {
        let Some(running) = self.wavefronts.get_mut(wavefront) else { return };
        running.reading.fetch = NONE;
        if running.waits == Waits::ForCode {
            running.waits = Waits::ForItself;
            scheduler.schedule_in(Picoseconds(0), Event::Resume(wavefront));
        }
        self.fetch(wavefront, 0, scheduler);
    }
}
