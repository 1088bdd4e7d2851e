//! Several GPUs with caches and memory, as one model of events.
//!
//! What it represents: wavefronts on compute units run kernels, through first-level caches of
//! vectors, scalars and instructions, a second level by banks, and channels of memory; PCIe or a
//! switch of shared memory joins the GPUs. A [`CoherenceProtocol`] decides what each cache and home does with a line; time,
//! queues and data are here. What it leaves out: the LDS's bank conflicts, and what a work-group's registers keep from running beside others.

use super::address::{AddressMap, LINE, Pages};
use super::code::Code;
use super::compute_unit::{Group, Load, Running, Units};
use super::consistency::Consistency;
use super::dispatch::Dispatcher;
use super::dram::Channels;
use super::driver::Phases;
use super::error::{GpuRunError, MOST_DATA};
use super::fabric::{self, MemoryLinks};
use super::home::Homes;
use super::kernel::{Image, KernelWorkload};
use super::levels::{Caches, Shape};
use super::migration::Migration;
use super::protocol::{CachePath, CoherenceProtocol, TimestampStorageUnit};
use super::requests::Requests;
use super::run::GpuOptions;
use super::statistics::InstructionCounts;
use super::timeline::Timeline;
use super::tlb::Translation;
use crate::engine::{Model, Scheduler};
use crate::system::gpus::{FirstLevel, Hierarchy};
use crate::units::{Bytes, Picoseconds};

/// What is to happen in GPUs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A wavefront goes on.
    Resume(u32),
    /// A wavefront issues the next line of its access.
    Issue(u32),
    /// A buffer has a page that it lacked.
    Translated { buffer: u32, page: u64 },
    /// A request whose page nobody else could wait for has it.
    TranslatedOne(u32),
    /// The driver has taken in the faults of pages.
    Faults,
    /// A request crosses its next link.
    Cross(u32),
    /// A request is where it goes.
    Arrive(u32),
    /// Memory has served a request.
    Served(u32),
    /// A load or store is done.
    Done(u32),
    /// The driver goes on.
    Phase,
}

/// How many of everything there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub gpus: u32,
    /// Compute units of a GPU.
    pub units: u32,
    /// Vector units of a compute unit.
    pub simds: u32,
    /// Scalar caches of a GPU.
    pub scalars: u32,
    /// Instruction caches of a GPU.
    pub instructions: u32,
    /// Banks of a GPU's second level.
    pub banks: u32,
    /// Translation buffers of a GPU, and those of them for vectors.
    pub buffers: u32,
    pub vector_buffers: u32,
    /// Picoseconds of a cycle.
    pub cycle: u64,
    /// Picoseconds from the first level to the second.
    pub crossbar: u64,
}

impl Counts {
    /// The scalar cache of a compute unit.
    #[inline]
    pub(super) fn scalar_cache(&self, unit: u32) -> u32 {
        let (gpu, within) = (unit / self.units, unit % self.units);
        gpu * self.scalars + within * self.scalars / self.units
    }

    /// The instruction cache of a compute unit.
    #[inline]
    pub(super) fn instruction_cache(&self, unit: u32) -> u32 {
        let (gpu, within) = (unit / self.units, unit % self.units);
        gpu * self.instructions + within * self.instructions / self.units
    }

    fn of(hierarchy: &Hierarchy, gpus: u32) -> Self {
        let cycle = hierarchy.cycle.0;
        let buffers = hierarchy.translation.buffers;
        let others = hierarchy.scalar.count + hierarchy.instruction.count;
        Self {
            gpus,
            units: hierarchy.compute.units,
            simds: hierarchy.compute.simds,
            scalars: hierarchy.scalar.count,
            instructions: hierarchy.instruction.count,
            banks: hierarchy.second.banks,
            buffers,
            vector_buffers: buffers.saturating_sub(others).max(1),
            cycle,
            crossbar: u64::from(hierarchy.second.crossbar) * cycle,
        }
    }
}

/// The model: see the [module](self).
pub(super) struct Gpus<'w, P: CoherenceProtocol> {
    pub protocol: P,
    pub path: CachePath,
    pub pages: Pages,
    pub migration: Option<Migration>,
    pub counts: Counts,
    pub hierarchy: &'w Hierarchy,
    pub workload: &'w KernelWorkload,
    pub map: AddressMap,
    pub image: Option<Image>,
    pub requests: Requests<P::Stamp>,
    pub loads: Vec<Load>,
    pub free_loads: Vec<u32>,
    pub units: Units,
    pub running: Vec<Option<Running>>,
    pub free_running: Vec<u32>,
    pub groups: Vec<Group>,
    pub free_groups: Vec<u32>,
    pub dispatcher: Dispatcher,
    pub phases: Phases,
    pub code: Code,
    /// First-level caches of data, by kind.
    pub first: [Caches<P>; 2],
    pub second: Caches<P>,
    /// Timestamps beside the controllers of shared memory.
    pub stamps: Vec<TimestampStorageUnit<P>>,
    /// Homes that ask caches before they serve, or are caches themselves.
    pub homes: Homes<P>,
    pub translation: Translation,
    pub memory: Channels,
    pub pcie: MemoryLinks,
    /// To and from the controllers of shared memory.
    pub shared: [MemoryLinks; 2],
    pub done: InstructionCounts,
    /// A line of which it is told who stored a byte last: the line, and the byte's bit.
    pub watched: Option<(u64, u64)>,
    pub stored_by: Option<u32>,
    pub limit: Picoseconds,
    /// Whether who spins sees what others write.
    pub is_coherent: bool,
    pub timeline: Option<Box<Timeline>>,
    /// When the next interval of the timeline ends; never without one.
    pub sample_at: u64,
    pub consistency: Consistency,
}

fn shape(of: &FirstLevel, cycle: u64) -> Shape {
    Shape {
        size: of.size.0,
        ways: of.ways,
        mshrs: of.mshrs,
        directory: u64::from(of.directory) * cycle,
        bank: u64::from(of.bank) * cycle,
    }
}

impl<'w, P: CoherenceProtocol> Gpus<'w, P> {
    /// GPUs at rest, with places for a workload's buffers in their memory.
    ///
    /// # Errors
    /// Buffers that the memory does not hold.
    pub(super) fn new(
        protocol: P,
        hierarchy: &'w Hierarchy,
        workload: &'w KernelWorkload,
        options: &GpuOptions,
    ) -> Result<Self, GpuRunError> {
        let counts = Counts::of(hierarchy, options.gpus);
        let path = protocol.path();
        let is_shared = path == CachePath::OwnL2;
        let pages = options.memory.pages();
        let mut map = AddressMap::new(hierarchy, options.gpus, pages);
        for buffer in &workload.buffers {
            if buffer.is_remote {
                map.place_in(buffer.size, 1)?;
            } else {
                map.place(buffer.size, options.distribution)?;
            }
        }
        if options.with_data && map.size() > MOST_DATA.0 {
            return Err(GpuRunError::Data { asked: Bytes(map.size()) });
        }
        let code = Code::new(hierarchy, workload, options, (&mut map, pages))?;
        let mut migration = (pages == Pages::Migrating).then(|| {
            let service = u64::from(hierarchy.driver.fault) * counts.cycle;
            Migration::new(map.size() / hierarchy.page.0, service)
        });
        let copies: Vec<_> = match pages {
            Pages::Own | Pages::Shared => Vec::new(),
            Pages::Pinned | Pages::Migrating => code.pages(&map).collect(),
        };
        for (gpu, page) in copies {
            // The memory of number 0 is the host's where it has all that kernels work on.
            map.move_page(page, if pages == Pages::Pinned { gpu + 1 } else { gpu });
            if let Some(migration) = &mut migration {
                migration.begin_on(page, gpu);
            }
        }
        let (gpus, cycle, with_data) = (options.gpus, counts.cycle, options.with_data);
        let second = Shape {
            size: hierarchy.second.size.0,
            ways: hierarchy.second.ways,
            mshrs: hierarchy.second.mshrs,
            directory: u64::from(hierarchy.second.directory) * cycle,
            bank: u64::from(hierarchy.second.bank) * cycle,
        };
        let (channels, at_once) =
            if is_shared { (counts.banks, gpus) } else { (gpus * counts.banks, 1) };
        // As many entries as second levels have lines, over the controllers, in sets of 8.
        let entries = super::costs::entries(hierarchy) * u64::from(gpus);
        let sets = (entries / 8 / u64::from(counts.banks)).max(1) as usize;
        let units = if is_shared && !P::CONFIRMS { counts.banks } else { 0 };
        let lines = if P::CONFIRMS || path == CachePath::HomeL2 { map.size() / LINE } else { 0 };
        Ok(Self {
            protocol,
            path,
            pages,
            migration,
            counts,
            hierarchy,
            workload,
            image: None,
            map,
            requests: Requests::new(with_data),
            loads: Vec::new(),
            free_loads: Vec::new(),
            code,
            units: Units::new(&hierarchy.compute, cycle, gpus),
            running: Vec::new(),
            free_running: Vec::new(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            dispatcher: Dispatcher::new(&hierarchy.compute, gpus, options.distribution),
            phases: Phases::of(workload, pages == Pages::Own),
            first: [(counts.units, &hierarchy.vector), (counts.scalars, &hierarchy.scalar)]
                .map(|(each, of)| Caches::new(gpus * each, shape(of, cycle), with_data)),
            second: Caches::new(gpus * counts.banks, second, with_data),
            stamps: (0..units).map(|_| TimestampStorageUnit::new(sets, 8)).collect(),
            homes: Homes::new(lines, channels, hierarchy.second.mshrs),
            translation: Translation::new(hierarchy, gpus),
            memory: Channels::new(hierarchy, options.dram, channels, at_once),
            pcie: fabric::pcie(hierarchy, gpus),
            shared: fabric::shared(hierarchy, gpus, options.shared_bandwidth),
            done: InstructionCounts::default(),
            watched: options.watched.map(|byte| (byte / LINE, 1 << (byte % LINE))),
            stored_by: None,
            limit: options.limit,
            is_coherent: options.memory.is_coherent(),
            timeline: None,
            sample_at: u64::MAX,
            consistency: options.memory.consistency(),
        })
    }
}

impl<P: CoherenceProtocol> Model for Gpus<'_, P> {
    type Event = Event;
    type Error = GpuRunError;
    const SETTLES: bool = false;

    #[inline]
    fn handle(
        &mut self,
        event: Event,
        scheduler: &mut impl Scheduler<Event>,
    ) -> Result<(), GpuRunError> {
        if scheduler.now().0 >= self.sample_at {
            self.sample(scheduler.now());
        }
        match event {
            // Whoever never ends goes on again and again.
            Event::Resume(_) if scheduler.now() > self.limit => return Err(self.too_long()),
            Event::Resume(wavefront) => self.resume(wavefront, scheduler),
            Event::Issue(wavefront) => self.issue_line(wavefront, scheduler),
            Event::Translated { buffer, page } => self.translated(buffer, page, scheduler),
            Event::TranslatedOne(request) => self.enter(request, scheduler),
            Event::Faults => self.faults_served(scheduler),
            Event::Cross(request) => self.cross(request, scheduler),
            Event::Arrive(request) => self.arrive(request, scheduler),
            Event::Served(request) => self.served(request, scheduler),
            Event::Done(load) => self.load_done(load, scheduler),
            Event::Phase => return self.next_phase(scheduler),
        }
        Ok(())
    }

    fn at_rest(&self, _now: Picoseconds) -> Result<(), GpuRunError> {
        if self.phases.are_over() { Ok(()) } else { Err(self.stuck()) }
    }

    fn done(&self) -> (u64, u64) {
        (self.dispatcher.ended, 0)
    }
}
