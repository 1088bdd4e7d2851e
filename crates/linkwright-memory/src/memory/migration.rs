//! Moves pages to the GPU that touches them, which is unified memory.
//!
//! A page is on the host first, and on one GPU at a time. An access to a page that is elsewhere is
//! a fault. The driver serves faults by batches, one after another, each after a fixed time. A page
//! that leaves a GPU waits for the accesses that are under way to it. The second level writes back
//! the lines that it holds of the page, and then the page crosses PCIe. This leaves out pages that
//! are fetched ahead, and copies to read on several GPUs. It leaves out GPUs whose memory is full,
//! and the refilling of translation buffers.

use std::collections::BTreeMap;

use super::protocol::CoherenceProtocol;
use super::requests::{Request, Stage};
use super::system::{Event, Gpus};
use crate::engine::Scheduler;
use crate::system::gpus::Hierarchy;
use crate::system::movement::page_moves;
use crate::units::Picoseconds;

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Gpu(u32),
    /// Is on its way from one end to another, or waits to leave.
    Leaving {
        from: u32,
        to: u32,
    },
}

/// Says where all pages are, and which requests wait for them.
#[derive(Debug)]
pub(super) struct Migration {
    places: Vec<Place>,
    /// Accesses under way to each page.
    under_way: Vec<u32>,
    /// Queues the requests for each page that is elsewhere.
    waiting: BTreeMap<u64, Vec<u32>>,
    /// Pages whose faults no batch has taken in.
    faulted: Vec<u64>,
    /// Pages of the batch that have not come.
    coming: usize,
    /// Whether the driver is at a batch.
    is_busy: bool,
    /// Picoseconds that a batch takes before its first page moves.
    service: u64,
    /// Faults that the driver takes in at once.
    batch: usize,
    /// Pages that have come to a GPU.
    moved: u64,
}

impl Migration {
    /// Puts all pages of a memory on the host. A GPU's file may have a time for a batch of faults that is its own.
    pub(super) fn new(size: u64, hierarchy: &Hierarchy) -> Self {
        let moves = page_moves();
        let pages = size / hierarchy.page.0;
        let own = hierarchy.driver.fault.map(|cycles| u64::from(cycles) * hierarchy.cycle.0);
        Self {
            places: vec![Place::Host; pages as usize],
            under_way: vec![0; pages as usize],
            waiting: BTreeMap::new(),
            faulted: Vec::new(),
            coming: 0,
            is_busy: false,
            service: own.unwrap_or(moves.service.0),
            batch: moves.faults(hierarchy.page) as usize,
            moved: 0,
        }
    }

    /// Gives how many pages have come to a GPU.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// A page is on a GPU from the start.
    pub(super) fn begin_on(&mut self, page: u64, gpu: u32) {
        self.places[page as usize] = Place::Gpu(gpu);
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// An access knows its page's place: it goes to its first level, once the page is on its GPU.
    pub(super) fn enter(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        if self.migration.is_some() && !self.has_page(index, scheduler) {
            return;
        }
        self.at_first(index, scheduler);
    }

    /// Whether an access's page is on its GPU; else it is a fault, and waits.
    fn has_page(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) -> bool {
        let Some(migration) = &mut self.migration else { return true };
        let request = self.requests.get_mut(index);
        let page = self.map.page(request.line);
        if migration.places[page as usize] == Place::Gpu(u32::from(request.gpu)) {
            migration.under_way[page as usize] += 1;
            request.physical = self.map.physical(request.line);
            return true;
        }
        let waiting = migration.waiting.entry(page).or_default();
        waiting.push(index);
        if waiting.len() == 1 {
            migration.faulted.push(page);
        }
        self.serve_faults(scheduler);
        false
    }

    /// An access to a page is done: the last may let the page go.
    pub(super) fn leave(&mut self, line: u64, scheduler: &mut impl Scheduler<Event>) {
        let Some(migration) = &mut self.migration else { return };
        let page = self.map.page(line);
        let under_way = &mut migration.under_way[page as usize];
        *under_way -= 1;
        if *under_way == 0 && matches!(migration.places[page as usize], Place::Leaving { .. }) {
            self.send_page(page, scheduler);
        }
    }

    /// The driver begins with a batch of faults, if it is at none.
    fn serve_faults(&mut self, scheduler: &mut impl Scheduler<Event>) {
        let Some(migration) = &mut self.migration else { return };
        if !migration.is_busy && !migration.faulted.is_empty() {
            migration.is_busy = true;
            scheduler.schedule_in(Picoseconds(migration.service), Event::Faults);
        }
    }

    /// The driver moves the pages of a batch.
    pub(super) fn faults_served(&mut self, scheduler: &mut impl Scheduler<Event>) {
        let Some(migration) = &mut self.migration else { return };
        let taken = migration.faulted.len().min(migration.batch);
        let batch: Vec<u64> = migration.faulted.drain(..taken).collect();
        migration.coming = batch.len();
        for page in batch {
            let Some(migration) = &mut self.migration else { return };
            // Whoever faulted waits until the page has come.
            let to = u32::from(self.requests.get(migration.waiting[&page][0]).gpu);
            let from = match migration.places[page as usize] {
                Place::Gpu(gpu) => gpu,
                Place::Host | Place::Leaving { .. } => self.counts.gpus,
            };
            migration.places[page as usize] = Place::Leaving { from, to };
            if migration.under_way[page as usize] == 0 {
                self.send_page(page, scheduler);
            }
        }
    }

    /// Sends a page that nobody uses on its way. First, the lines that caches hold of it are
    /// written back.
    fn send_page(&mut self, page: u64, scheduler: &mut impl Scheduler<Event>) {
        let Some(migration) = &mut self.migration else { return };
        let Place::Leaving { from, to } = migration.places[page as usize] else { return };
        let (first, lines) = self.map.lines(page);
        if from < self.counts.gpus {
            for line in first..first + lines {
                let physical = self.map.physical(line);
                let bank = from * self.counts.banks + self.map.bank(physical);
                let set = self.map.within_bank(physical);
                self.give_up(bank, (set, line), scheduler);
            }
        }
        let now = scheduler.now();
        let request = self.requests.add(Request {
            stage: Stage::Page,
            path: self.links.between(from, to),
            bytes: self.hierarchy.page.0 as u32,
            ..Request::new(first, self.map.physical(first), now.0, to)
        });
        scheduler.schedule(now, Event::Cross(request));
    }

    /// Goes on with a page that is on its GPU: the requests that waited for it there go on, and
    /// others fault again.
    pub(super) fn page_came(&mut self, index: u32, scheduler: &mut impl Scheduler<Event>) {
        let Request { line, gpu, .. } = *self.requests.get(index);
        self.requests.remove(index);
        let page = self.map.page(line);
        let Some(migration) = &mut self.migration else { return };
        self.map.move_page(page, u32::from(gpu));
        migration.places[page as usize] = Place::Gpu(u32::from(gpu));
        migration.moved += 1;
        migration.coming -= 1;
        if migration.coming == 0 {
            migration.is_busy = false;
        }
        for waiting in migration.waiting.remove(&page).unwrap_or_default() {
            self.enter(waiting, scheduler);
        }
        self.serve_faults(scheduler);
    }
}
