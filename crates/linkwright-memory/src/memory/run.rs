//! A run: GPUs, a memory system, a workload; and what is known of it afterwards.

use std::convert::Infallible;

use super::access_trace::{AccessTrace, AccessesAsked};
use super::address::{Distribution, Pages};
use super::dram::DramTiming;
use super::driver::DriverStep;
use super::error::{GpuRunError, MOST_GPUS};
use super::kernel::benchmarks::Benchmark;
use super::kernel::{Image, KernelWorkload};
use super::memory_system::MemorySystem;
use super::placement;
use super::protocol::{CoherenceProtocol, Leases, NonCoherent};
use super::statistics::{CacheCounts, InstructionCounts, MemoryCounts};
use super::stepped::{Stepped, SteppedRun};
use super::system::{Event, Gpus};
use super::timeline::Timeline;
use crate::engine::{Engine, Hook, Scheduler};
use crate::network::wires::{Carried, Wires};
use crate::system::gpus::Hierarchy;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// Holds the options of a run, beside its workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuOptions<'a> {
    /// Counts the GPUs.
    pub gpus: u32,
    /// Joins the GPUs and the host, which is the last end
    /// ([`wires::between`](crate::network::wires::between)), or GPUs and a memory that they share
    /// ([`shared_of`](super::shared_of)). Their file says what joins them where absent.
    pub between: Option<&'a Wires>,
    /// Says how they share memory: an entry of [`memory_systems`](super::memory_systems), or one of
    /// one's own.
    pub memory: &'static dyn MemorySystem,
    /// Which GPU's memory holds what.
    pub distribution: Distribution,
    /// Whether kernels work on real data; timing is the same to the last bit either way.
    pub with_data: bool,
    /// Says whether wavefronts read their kernels' code, or know it.
    pub with_code: bool,
    /// How memory is timed.
    pub dram: DramTiming,
    /// Gives the bandwidth of each GPU's second level to shared memory, all banks together, each
    /// way.
    pub shared_bandwidth: Bandwidth,
    /// How long copies may be read, and the bits of a timestamp, where a protocol leases lines.
    pub leases: Leases,
    /// Names a byte. The run tells who stored it last.
    pub watched: Option<u64>,
    /// After which time a run is given up.
    pub limit: Picoseconds,
    /// How many work-groups a timeline is to hold at most; none where there is to be none.
    pub timeline: Option<usize>,
    /// Which accesses to lines are kept; none where absent.
    pub accesses: Option<AccessesAsked>,
}

impl Default for GpuOptions<'_> {
    fn default() -> Self {
        Self {
            gpus: 1,
            between: None,
            memory: &NonCoherent::RDMA,
            distribution: Distribution::default(),
            with_data: true,
            with_code: true,
            dram: DramTiming::default(),
            // Section 3.2.1: as much as PCIe 4.0 gives each GPU.
            shared_bandwidth: Bandwidth::gigabytes_per_second(32),
            leases: Leases::default(),
            watched: None,
            limit: Picoseconds::SECOND,
            timeline: None,
            accesses: None,
        }
    }
}

/// Holds the results of a run.
#[derive(Debug, Clone)]
pub struct GpuRun {
    /// Measures the time from the first copy to the last.
    pub time: Picoseconds,
    /// Each step with its time: copies, kernels.
    pub steps: Vec<(DriverStep, Picoseconds)>,
    /// Gives the length of one cycle.
    pub cycle: Picoseconds,
    /// Counts instructions.
    pub instructions: InstructionCounts,
    /// Counts for first-level caches of vectors, by compute unit.
    pub vector: Vec<CacheCounts>,
    /// Counts for first-level caches of scalars.
    pub scalar: Vec<CacheCounts>,
    /// Counts for first-level caches of instructions.
    pub instruction: Vec<CacheCounts>,
    /// Counts for banks of the second level.
    pub second: Vec<CacheCounts>,
    /// Counts for channels of memory.
    pub memory: Vec<MemoryCounts>,
    /// Counts the traffic of each link, by its name.
    pub links: Vec<(String, Carried)>,
    /// Counts the pages that came to a GPU because it touched them.
    pub migrations: u64,
    /// The GPU, and its compute unit, that stored the byte that was watched last.
    pub stored_by: Option<(u32, u32)>,
    /// Holds memory at the end, with the lines that caches held last. It is none for a run without
    /// data.
    pub image: Option<Image>,
    /// Counts the events of the model.
    pub events: u64,
    /// Records when things happened, where that was asked for.
    pub timeline: Option<Timeline>,
    /// The accesses to lines, where these were asked for.
    pub accesses: Option<AccessTrace>,
}

impl GpuRun {
    /// Sums equal caches' counts.
    #[must_use]
    pub fn sum(counts: &[CacheCounts]) -> CacheCounts {
        counts.iter().fold(CacheCounts::default(), |sum, one| CacheCounts {
            hits: sum.hits + one.hits,
            misses: sum.misses + one.misses,
            merged: sum.merged + one.merged,
            evictions: sum.evictions + one.evictions,
            write_backs: sum.write_backs + one.write_backs,
            answered: sum.answered + one.answered,
            time: sum.time + one.time,
        })
    }

    /// Returns the time of kernels alone.
    #[must_use]
    pub fn kernel_time(&self) -> Picoseconds {
        let kernels = self.steps.iter().filter(|(step, _)| matches!(step, DriverStep::Kernel(_)));
        Picoseconds(kernels.map(|(_, time)| time.0).sum())
    }

    /// Sums all channels' counts.
    #[must_use]
    pub fn memory_sum(&self) -> MemoryCounts {
        self.memory.iter().fold(MemoryCounts::default(), |sum, one| MemoryCounts {
            reads: sum.reads + one.reads,
            writes: sum.writes + one.writes,
            copied_out: sum.copied_out + one.copied_out,
            copied_in: sum.copied_in + one.copied_in,
            timestamp_evictions: sum.timestamp_evictions + one.timestamp_evictions,
        })
    }
}

/// Makes a benchmark at a size, over pages of a given number of bytes, for a number of GPUs. It
/// works as [`Benchmark::workload`]; the hook can end it.
///
/// # Errors
/// Refuses a size that the work-groups do not divide, and fails where the hook ends it.
pub fn build(
    benchmark: Benchmark,
    (page, size, gpus): (Bytes, u64, u32),
    hook: Hook<'_>,
) -> Result<KernelWorkload, GpuRunError> {
    let mut engine = Engine::new(hook);
    let tick = || Ok(Scheduler::<Event>::tick(&mut engine, (0, 0))?);
    benchmark.watched(page, size, gpus, tick)
}

/// Runs a workload. Its answer is not compared with a CPU's: that is
/// [`KernelWorkload::check`](super::kernel::Workload::check) on the image.
///
/// # Errors
/// Refuses GPUs that cannot be, and buffers that memory does not hold. Fails for kernels that never
/// end, and where the hook ends the run.
pub fn run(
    hierarchy: &Hierarchy,
    workload: &KernelWorkload,
    options: &GpuOptions<'_>,
    hook: Option<Hook<'_>>,
) -> Result<GpuRun, GpuRunError> {
    check(hierarchy, workload, options)?;
    let memory = options.memory;
    memory.protocol().play(memory.consistency(), Play { hierarchy, workload, options, hook })
}

/// Begins a run whose messages another network carries, on that network's clock.
///
/// # Errors
/// Fails as [`run`] does, and for memory that all GPUs share, to which no machine's links lead.
pub fn step<'a>(
    hierarchy: &'a Hierarchy,
    workload: &'a KernelWorkload,
    options: &'a GpuOptions<'a>,
) -> Result<Box<dyn SteppedRun + 'a>, GpuRunError> {
    let memory = options.memory;
    if memory.pages() == Pages::Shared {
        return Err(GpuRunError::NoSharedMemory { memory: memory.name() });
    }
    check(hierarchy, workload, options)?;
    let play = Play { hierarchy, workload, options, hook: None };
    memory.protocol().begin(memory.consistency(), play)
}

/// A run that lacks only the states of its protocol.
pub struct Play<'a, 'h> {
    hierarchy: &'a Hierarchy,
    workload: &'a KernelWorkload,
    options: &'a GpuOptions<'a>,
    hook: Option<Hook<'h>>,
}

impl<'a> Play<'a, '_> {
    /// Gives how long copies may be read.
    pub(super) fn leases(&self) -> Leases {
        self.options.leases
    }

    /// Plays it.
    pub(super) fn with<P: CoherenceProtocol>(self, protocol: P) -> Result<GpuRun, GpuRunError> {
        let Self { hierarchy, workload, options, hook } = self;
        let mut gpus = Gpus::<P>::new(protocol, hierarchy, workload, options)?;
        let mut engine = hook.map_or_else(Engine::unwatched, Engine::new);
        if options.with_data {
            let tick = || Scheduler::<Event>::tick(&mut engine, (0, 0));
            gpus.memory.fill(Image::filled(gpus.map.size(), &workload.buffers, tick)?);
        }
        if let Some(most_groups) = options.timeline {
            gpus.record(most_groups);
        }
        engine.schedule(Picoseconds(0), Event::Phase);
        engine.run(&mut gpus)?;
        Ok(gpus.result(engine.now(), engine.events()))
    }

    /// Begins it for whoever has the clock and the network.
    pub(super) fn begin<P: CoherenceProtocol + 'a>(
        self,
        protocol: P,
    ) -> Result<Box<dyn SteppedRun + 'a>, GpuRunError> {
        let Self { hierarchy, workload, options, .. } = self;
        let mut gpus = Gpus::<P>::new(protocol, hierarchy, workload, options)?;
        gpus.links = gpus.links.carried_by_others();
        if options.with_data {
            let filled = Image::filled(gpus.map.size(), &workload.buffers, || Ok(()));
            gpus.memory.fill(filled.unwrap_or_else(|never: Infallible| match never {}));
        }
        Ok(Box::new(Stepped::new(gpus)))
    }
}

fn check(
    hierarchy: &Hierarchy,
    workload: &KernelWorkload,
    options: &GpuOptions<'_>,
) -> Result<(), GpuRunError> {
    if options.gpus == 0 || options.gpus > MOST_GPUS {
        return Err(GpuRunError::Gpus { gpus: options.gpus });
    }
    options.memory.check()?;
    let is_shared = options.memory.pages() == Pages::Shared;
    let (ends, banks) = (u64::from(options.gpus) + 1, u64::from(hierarchy.second.banks));
    let paths = if is_shared { 2 * u64::from(options.gpus) * banks } else { ends * ends };
    if options.between.is_some_and(|wires| is_shared && wires.paths() as u64 != paths) {
        return Err(GpuRunError::NoSharedMemory { memory: options.memory.name() });
    }
    placement::check(workload, options)?;
    let compute = &hierarchy.compute;
    let wavefronts = compute.simds * compute.wavefronts;
    for launch in &workload.launches {
        if launch.wavefronts > wavefronts || launch.lds > compute.lds {
            return Err(GpuRunError::Group {
                kernel: launch.name.to_string(),
                needs: format!(
                    "it needs {} wavefronts of at most {wavefronts}, and {} of at most {}",
                    launch.wavefronts, launch.lds, compute.lds
                ),
            });
        }
    }
    Ok(())
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    pub(super) fn result(mut self, time: Picoseconds, events: u64) -> GpuRun {
        let timeline = self.recorded(time);
        let carried = self.links.used().carried();
        let links = carried.map(|(name, carried)| (name.to_owned(), carried)).collect();
        let [vector, scalar] = self.first.into_counts();
        let mut memory = self.memory.counts().to_vec();
        // Who leases nothing has no timestamps.
        if !self.protocol.heeds().is_empty() {
            for (channel, evictions) in memory.iter_mut().zip(self.homes.evictions()) {
                channel.timestamp_evictions = evictions;
            }
        }
        let mut image = self.memory.into_image();
        // A reader of memory would see in the end the lines that second levels hold last.
        if let Some(image) = &mut image {
            self.second.settle(image);
        }
        let units = self.counts.units;
        GpuRun {
            time,
            steps: self.phases.timed().collect(),
            cycle: Picoseconds(self.counts.cycle),
            instructions: InstructionCounts {
                instructions: self.units.done(),
                remote: self.links.remote(),
            },
            links,
            vector,
            scalar,
            instruction: self.code.into_counts(),
            second: self.second.into_counts(),
            memory,
            stored_by: self.watch.stored_by().map(|unit| (unit / units, unit % units)),
            migrations: self.migration.map_or(0, |migration| migration.moved()),
            image,
            events,
            timeline,
            accesses: self.accesses.map(|trace| *trace),
        }
    }
}
