//! Translation of addresses: two levels of buffers, and walks through the page table.
//!
//! A first-level buffer keeps the pages used last. The GPU's second level is asked for a page that
//! it lacks, and a walk if that lacks it too. Accesses to a page that is asked for wait for it in
//! order. This leaves out walks that hit caches.

use super::cache::{Lines, Mshrs};
use crate::system::gpus::Hierarchy;

/// Holds the buffers of all GPUs.
#[derive(Debug)]
pub struct Translation {
    pages: usize,
    /// The page in each slot of the first-level buffers, plus one, and when it was used.
    slots: Vec<(u64, u64)>,
    clock: u64,
    second: Lines<()>,
    /// Pages that first-level buffers wait for, and pages that are walked for.
    waiting: Mshrs,
    walkers: Vec<u64>,
    walks: usize,
    latency: u64,
    walk: u64,
    per_gpu: u32,
}

/// Says where a request finds the page that it asks for.
#[derive(Debug, Clone, Copy)]
pub enum Found {
    /// Its buffer has the page.
    Here,
    /// It waits behind another request, or behind none.
    Behind(u32),
    /// It waits for the page, which comes at a time; others can wait with it.
    At(u64),
    /// The same, but nobody else can wait.
    Alone(u64),
}

impl Translation {
    /// Makes empty buffers.
    #[must_use]
    pub fn new(hierarchy: &Hierarchy, gpus: u32) -> Self {
        let tlb = &hierarchy.translation;
        let cycle = hierarchy.cycle.0;
        let buffers = tlb.buffers * gpus;
        Self {
            pages: tlb.pages as usize,
            slots: vec![(0, 0); (buffers * tlb.pages) as usize],
            clock: 0,
            second: Lines::new(gpus, u64::from(tlb.sets * tlb.ways) * 64, tlb.ways, false),
            // Every wavefront of the compute units that share a buffer may wait for another page.
            waiting: Mshrs::new(buffers, 1024),
            walkers: vec![0; (gpus * tlb.walks) as usize],
            walks: tlb.walks as usize,
            latency: u64::from(tlb.latency) * cycle,
            walk: u64::from(tlb.walk) * cycle,
            per_gpu: tlb.buffers,
        }
    }

    /// A request asks its first-level buffer for a page at a time.
    #[inline]
    pub fn look_up(&mut self, now: u64, (buffer, page): (u32, u64), request: u32) -> Found {
        if self.knows(buffer, page) {
            return Found::Here;
        }
        if let Some(last) = self.waiting.join(buffer, page, request) {
            return Found::Behind(last);
        }
        let at = self.ask(now, buffer, page);
        if self.waiting.is_full(buffer) {
            return Found::Alone(at);
        }
        self.waiting.take(buffer, page);
        self.waiting.join(buffer, page, request);
        Found::At(at)
    }

    /// A buffer takes in a page: gives the first request that waits for it, or none.
    pub fn came(&mut self, buffer: u32, page: u64) -> u32 {
        self.fill(buffer, page);
        self.waiting.free(buffer, page)
    }

    /// Whether a first-level buffer knows a page.
    #[inline]
    fn knows(&mut self, buffer: u32, page: u64) -> bool {
        self.clock += 1;
        let first = buffer as usize * self.pages;
        let slots = &mut self.slots[first..first + self.pages];
        match slots.iter_mut().find(|(known, _)| *known == page + 1) {
            Some((_, used)) => {
                *used = self.clock;
                true
            }
            None => false,
        }
    }

    /// A buffer asks for a page that it lacks: when it has it.
    fn ask(&mut self, now: u64, buffer: u32, page: u64) -> u64 {
        let gpu = buffer / self.per_gpu;
        let found = now + self.latency;
        if let Some(place) = self.second.find(gpu, page, page) {
            self.second.touch(place);
            return found;
        }
        let first = gpu as usize * self.walks;
        let walkers = &mut self.walkers[first..first + self.walks];
        let Some(walker) = walkers.iter_mut().min() else { return found };
        *walker = found.max(*walker) + self.walk;
        let done = *walker;
        let place = self.second.oldest(gpu, page);
        self.second.put(place, page);
        done
    }

    /// A buffer takes a page in.
    fn fill(&mut self, buffer: u32, page: u64) {
        let first = buffer as usize * self.pages;
        let slots = &mut self.slots[first..first + self.pages];
        if let Some(slot) = slots.iter_mut().min_by_key(|(_, used)| *used) {
            *slot = (page + 1, self.clock);
        }
    }
}
