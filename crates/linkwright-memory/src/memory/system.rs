//! Holds several GPUs with caches and memory, as one model of events.
//!
//! Wavefronts on compute units run kernels. They go through first-level caches of vectors, scalars
//! and instructions, a second level by banks, and channels of memory. PCIe, a machine's links or a
//! switch of shared memory join the GPUs. A [`CoherenceProtocol`] decides how each cache and home
//! treats a line; time, queues and data are here. The model leaves out the LDS's bank conflicts. It
//! also leaves out that a work-group's registers may keep others from running beside it.

use super::access_trace::AccessTrace;
use super::address::{AddressMap, LINE, Pages};
use super::code::Code;
use super::compute_unit::{Units, Wavefronts};
use super::controller::Memories;
use super::crossing::Links;
use super::dispatch::Dispatcher;
use super::dram::Channels;
use super::driver::Phases;
use super::error::{GpuRunError, MOST_DATA};
use super::first_level::FirstLevel;
use super::home::Homes;
use super::issue::Watch;
use super::kernel::KernelWorkload;
use super::loads::Loads;
use super::migration::Migration;
use super::protocol::{CachePath, CoherenceProtocol};
use super::requests::Requests;
use super::run::GpuOptions;
use super::second_level::SecondLevel;
use super::timeline::Recorder;
use super::tlb::Translation;
use super::tracker::Tracker;
use crate::engine::{Model, Scheduler};
use crate::system::gpus::Hierarchy;
use crate::units::{Bytes, Picoseconds};

/// Names the next events in GPUs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A wavefront goes on.
    Resume(u32),
    /// Lets a wavefront issue the next line of its access.
    Issue(u32),
    /// A buffer has a page that it lacked.
    Translated { buffer: u32, page: u64 },
    /// A request whose page nobody else could wait for has it.
    TranslatedOne(u32),
    /// The driver has taken in the faults of pages.
    Faults,
    /// Sends a request over its next link.
    Cross(u32),
    /// A request is where it goes.
    Arrive(u32),
    /// A request is through its controller's tracker.
    Tracked(u32),
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
    /// Counts the compute units of a GPU.
    pub units: u32,
    /// Counts the vector units of a compute unit.
    pub simds: u32,
    /// Counts the scalar caches of a GPU.
    pub scalars: u32,
    /// Counts the instruction caches of a GPU.
    pub instructions: u32,
    /// Counts the banks of a GPU's second level.
    pub banks: u32,
    /// Counts the translation buffers of a GPU, and those of them for vectors.
    pub buffers: u32,
    pub vector_buffers: u32,
    /// Counts the picoseconds of a cycle.
    pub cycle: u64,
    /// Counts the picoseconds from the first level to the second.
    pub crossbar: u64,
}

impl Counts {
    /// Returns the scalar cache of a compute unit.
    #[inline]
    pub(super) fn scalar_cache(&self, unit: u32) -> u32 {
        let (gpu, within) = (unit / self.units, unit % self.units);
        gpu * self.scalars + within * self.scalars / self.units
    }

    /// Returns the instruction cache of a compute unit.
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

/// Holds the model: see the [module](self).
///
/// The run's inputs come first, and never change. Then each state has an owner, whose file alone
/// knows its inside.
pub(super) struct Gpus<'w, P: CoherenceProtocol> {
    pub protocol: P,
    pub path: CachePath,
    pub pages: Pages,
    pub counts: Counts,
    pub hierarchy: &'w Hierarchy,
    pub workload: &'w KernelWorkload,
    pub options: &'w GpuOptions<'w>,

    pub requests: Requests<P::Stamp>,
    pub phases: Phases,
    pub dispatcher: Dispatcher,
    pub wavefronts: Wavefronts,
    pub loads: Loads,
    pub units: Units,
    pub code: Code,
    pub map: AddressMap,
    pub translation: Translation,
    pub migration: Option<Migration>,
    pub first: FirstLevel<P>,
    pub second: SecondLevel<P>,
    pub homes: Homes<P>,
    pub memory: Memories,
    pub tracker: Option<Tracker>,
    pub links: Links,
    pub watch: Watch,
    pub recorder: Recorder,
    pub accesses: Option<Box<AccessTrace>>,
}

impl<'w, P: CoherenceProtocol> Gpus<'w, P> {
    /// Makes GPUs at rest, with places for a workload's buffers in their memory.
    ///
    /// # Errors
    /// Buffers that the memory does not hold.
    pub(super) fn new(
        protocol: P,
        hierarchy: &'w Hierarchy,
        workload: &'w KernelWorkload,
        options: &'w GpuOptions<'w>,
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
        let mut migration =
            (pages == Pages::Migrating).then(|| Migration::new(map.size(), hierarchy));
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
        let (gpus, with_data) = (options.gpus, options.with_data);
        let (channels, at_once) =
            if is_shared { (counts.banks, gpus) } else { (gpus * counts.banks, 1) };
        let entries = super::costs::entries(hierarchy) * u64::from(gpus);
        let ways = u64::from(hierarchy.tsu.ways);
        let sets = (entries / ways / u64::from(counts.banks)).max(1) as usize;
        let units = if is_shared && !P::CONFIRMS { counts.banks } else { 0 };
        let has_tracker = pages == Pages::Shared && !P::CONFIRMS;
        let tracker =
            hierarchy.tracker.as_ref().filter(|_| has_tracker).map(|of| {
                Tracker::new(of, options.memory.is_sequential(), counts.banks, counts.cycle)
            });
        let lines = if P::CONFIRMS || path == CachePath::HomeL2 { map.size() / LINE } else { 0 };
        let memory = Channels::new(hierarchy, options.dram, channels, at_once);
        Ok(Self {
            protocol,
            path,
            pages,
            counts,
            hierarchy,
            workload,
            options,
            requests: Requests::new(with_data),
            phases: Phases::of(workload, pages == Pages::Own),
            dispatcher: Dispatcher::new(&hierarchy.compute, gpus, options.distribution),
            wavefronts: Wavefronts::default(),
            loads: Loads::default(),
            units: Units::new(&hierarchy.compute, counts.cycle, gpus),
            code,
            map,
            translation: Translation::new(hierarchy, gpus),
            migration,
            first: FirstLevel::new(hierarchy, &counts, with_data),
            second: SecondLevel::new(hierarchy, &counts, with_data),
            homes: Homes::new(
                lines,
                channels,
                hierarchy.second.mshrs,
                (units, sets, ways as usize),
            ),
            memory: Memories::new(memory),
            tracker,
            links: Links::new(hierarchy, options),
            watch: Watch::new(options.watched),
            recorder: Recorder::IDLE,
            accesses: options.accesses.map(|asked| Box::new(AccessTrace::new(asked))),
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
        if self.recorder.is_due(scheduler.now()) {
            self.sample(scheduler.now());
        }
        match event {
            // Whoever never ends goes on again and again.
            Event::Resume(_) if scheduler.now() > self.options.limit => return Err(self.too_long()),
            Event::Resume(wavefront) => self.resume(wavefront, scheduler),
            Event::Issue(wavefront) => self.issue_line(wavefront, scheduler),
            Event::Translated { buffer, page } => self.translated(buffer, page, scheduler),
            Event::TranslatedOne(request) => self.enter(request, scheduler),
            Event::Faults => self.faults_served(scheduler),
            Event::Cross(request) => self.cross(request, scheduler),
            Event::Arrive(request) => self.arrive(request, scheduler),
            Event::Tracked(request) => self.tracked(request, scheduler),
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
        (self.dispatcher.ended(), 0)
    }
}
