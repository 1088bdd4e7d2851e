//! Makes copies between GPUs and hosts, and keeps the other facts that are needed of a rank's GPU.
//!
//! Each of a GPU's copy engines makes one copy at a time, while the GPU computes and its messages
//! travel. With two and more, the first takes copies into the GPU, and the second those out of it.
//! Any other takes whichever has waited longest. A single engine, or several that work in one
//! direction at a time, are one engine for both. An engine is free again when the last byte is
//! there. A copy to a peer needs an engine of the GPU that it leaves, none of the other.
//!
//! The model leaves out the time to start a copy, and memory that is not pinned.

use std::collections::VecDeque;

use crate::engine::{Scheduler, Within};
use crate::network::packet::serialisation;
use crate::network::{DeviceIndex, GpuSite, Message, RouteClass, TrafficClass, Transport};
use crate::program::lowering::Lowering;
use crate::program::{CopyDirection, Operation, WORLD};
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::error::RuntimeError;
use super::event::RuntimeEvent;
use super::frames::OperationRef;
use super::job::ProgramJob;
use super::lanes::{PROCESSOR, Work, WorkKind};
use super::observer::{CopyRecord, Observer};
use super::plan::STARTED;
use super::shared::Shared;
use super::slab::{NONE, Slab};
use super::token::{COPY, token};

/// More engines than this do nothing more.
const MOST_ENGINES: u32 = 32;
/// The engine of copies into the GPU, and that of copies out of it.
const INTO: usize = 0;
const OUT_OF: usize = 1;

/// The GPU of a rank that copies or reduces.
#[derive(Debug, Clone)]
struct RankGpu {
    site: GpuSite,
    /// How many engines work side by side; one of them in both directions if it is alone.
    engines: u32,
    /// Which of them do, as bits.
    busy: u32,
    /// The copies that wait for one, into the GPU and out of it.
    waiting: [VecDeque<u32>; 2],
}

impl RankGpu {
    fn new(site: GpuSite) -> Self {
        let engines = if site.copy_directions < 2 { 1 } else { site.copy_engines };
        let waiting = [VecDeque::new(), VecDeque::new()];
        Self { site, engines: engines.clamp(1, MOST_ENGINES), busy: 0, waiting }
    }

    /// Takes a free engine for a direction.
    fn take(&mut self, way: usize) -> Option<u32> {
        let own = if self.engines == 1 { 0 } else { way as u32 };
        let engine = std::iter::once(own).chain(2..self.engines);
        let free = engine.into_iter().find(|engine| self.busy >> engine & 1 == 0)?;
        self.busy |= 1 << free;
        Some(free)
    }

    /// An engine is free; which copy it takes next, of those that wait: the first of the two
    /// directions, by the order of their calls.
    fn next(&mut self, engine: u32, order: impl Fn(u32) -> u64) -> Option<u32> {
        let both = self.engines == 1 || engine >= 2;
        let ways = if both { INTO..OUT_OF + 1 } else { engine as usize..engine as usize + 1 };
        let first = |way: &usize| self.waiting[*way].front().map(|copy| order(*copy));
        let way = ways.filter(|way| first(way).is_some()).min_by_key(first);
        let next = way.and_then(|way| self.waiting[way].pop_front());
        if next.is_none() {
            self.busy &= !(1 << engine);
        }
        next
    }
}

/// Is a copy from its call to its end.
#[derive(Debug, Clone, Copy)]
struct CopyUnderWay {
    operation: OperationRef,
    rank: u32,
    ends: [DeviceIndex; 2],
    direction: CopyDirection,
    size: Bytes,
    route: RouteClass,
    /// Which copy was called before which.
    order: u64,
    engine: u32,
    /// Says when its engine took it.
    start: u64,
    /// Counts the occurrences that the network still owes for it.
    owed: u8,
}

/// The copies of all ranks, and the GPUs of those that copy or reduce.
#[derive(Debug)]
pub(super) struct Copies {
    /// Holds each at its rank's place.
    gpus: Vec<Option<Box<RankGpu>>>,
    under_way: Slab<CopyUnderWay>,
}

impl Copies {
    pub(super) const fn new() -> Self {
        Self { gpus: Vec::new(), under_way: Slab::new() }
    }

    /// A rank will copy or reduce on its GPU.
    pub(super) fn add_gpu(&mut self, rank: u32, site: GpuSite) {
        let rank = rank as usize;
        if self.gpus.len() <= rank {
            self.gpus.resize_with(rank + 1, || None);
        }
        self.gpus[rank] = Some(Box::new(RankGpu::new(site)));
    }

    fn gpu(&self, rank: u32) -> Option<&RankGpu> {
        self.gpus.get(rank as usize)?.as_deref()
    }

    /// A copy is called; tells it and the engine that takes it at once, unless it waits for one.
    fn begin(&mut self, copy: CopyUnderWay, way: usize) -> Option<(u32, u32)> {
        let index = self.under_way.insert(copy);
        let gpu = self.gpus[copy.rank as usize].as_mut()?;
        let engine = gpu.take(way);
        if engine.is_none() {
            gpu.waiting[way].push_back(index);
        }
        Some((index, engine?))
    }

    /// A copy has ended: which its engine takes next.
    fn next(&mut self, ended: &CopyUnderWay) -> Option<u32> {
        let Self { gpus, under_way } = self;
        let gpu = gpus[ended.rank as usize].as_mut()?;
        gpu.next(ended.engine, |copy| under_way[copy].order)
    }

    /// One occurrence less is owed for a copy, which is forgotten after the last.
    fn hear(&mut self, index: u32) {
        self.under_way[index].owed -= 1;
        if self.under_way[index].owed == 0 {
            self.under_way.release(index);
        }
    }

    /// How many are under way.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.under_way.kept().count()
    }
}

/// Whether a rank that does this needs its GPU known.
pub(super) fn needs_gpu(operation: &Operation) -> bool {
    matches!(operation, Operation::Copy { .. } | Operation::Reduce { .. })
}

/// Refuses copies and reductions that the GPUs of a checked job cannot make.
pub(super) fn check_gpus(transport: &impl Transport, job: &ProgramJob) -> Result<(), RuntimeError> {
    for (rank, program) in (0..).zip(&job.program.ranks) {
        let gpu = job.mapping[rank as usize];
        let mut known: Option<GpuSite> = None;
        for (operation, what) in (0..).zip(program.operations()) {
            if !needs_gpu(what) {
                continue;
            }
            let site = *known.get_or_insert_with(|| transport.gpu_site(gpu));
            let problem = match *what {
                Operation::Reduce { rate: None, .. } if site.memory_bandwidth.is_none() => {
                    format!(
                        "reduces as fast as its GPU's memory, whose bandwidth is not known of GPU \
                         {gpu}; state a rate, or name the GPU's model"
                    )
                }
                Operation::Copy { direction: CopyDirection::Peer(peer), .. } => {
                    let other = job.mapping[peer as usize];
                    if transport.gpu_site(other).server == site.server {
                        continue;
                    }
                    format!(
                        "copies to rank {peer}, but GPU {gpu} and GPU {other} are in two servers; \
                         send a message"
                    )
                }
                Operation::Copy { .. } if site.host.is_none() => format!(
                    "copies to or from its host, but GPU {gpu} has none (no link leads to a \
                     CPU); play it on a server such as `dgx1-v100`"
                ),
                _ => continue,
            };
            let job = job.name.clone();
            return Err(RuntimeError::Operation { job, rank, operation, problem });
        }
    }
    Ok(())
}

impl<T: Transport, L: Lowering, O: Observer> Shared<'_, T, L, O> {
    /// Adds what has come to what the GPU holds.
    pub(super) fn reduce(
        &mut self,
        at: OperationRef,
        size: Bytes,
        rate: Option<Bandwidth>,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let gpu = self.copies.gpu(self.frames.rank_of(at));
        let memory = || gpu.and_then(|gpu| gpu.site.memory_bandwidth);
        // Two reads and a write.
        let crossing = if rate.is_some() { size.0 } else { size.0.saturating_mul(3) };
        let rate = rate.or_else(memory).unwrap_or(Bandwidth(u64::MAX));
        let duration = serialisation(crossing, rate);
        self.frames.propagate(at, STARTED);
        let work = Work { kind: WorkKind::Compute, operation: at, duration, next: NONE };
        self.occupy(PROCESSOR, work, scheduler)
    }

    /// A copy is called: it goes as soon as an engine is free.
    pub(super) fn copy(
        &mut self,
        at: OperationRef,
        (direction, size, route): (CopyDirection, Bytes, RouteClass),
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let rank = self.frames.rank_of(at);
        let peer = match direction {
            CopyDirection::Peer(peer) => Some(self.resolve(at, peer, WORLD).0),
            CopyDirection::HostToDevice | CopyDirection::DeviceToHost => None,
        };
        let peer = peer.map(|peer| self.ranks.device(peer));
        let Some(gpu) = self.copies.gpu(rank) else { return };
        let (own, host) = (gpu.site.device, gpu.site.host);
        let (way, ends) = match direction {
            CopyDirection::HostToDevice => (INTO, [host.unwrap_or(own), own]),
            CopyDirection::DeviceToHost => (OUT_OF, [own, host.unwrap_or(own)]),
            CopyDirection::Peer(_) => (OUT_OF, [own, peer.unwrap_or(own)]),
        };
        let (order, engine, start, owed) = (self.frames.played(), NONE, self.now, 0);
        let operation = at;
        let copy = CopyUnderWay {
            operation,
            rank,
            ends,
            direction,
            size,
            route,
            order,
            engine,
            start,
            owed,
        };
        if let Some((index, engine)) = self.copies.begin(copy, way) {
            self.start_copy(index, engine, scheduler);
        }
        self.frames.propagate(at, STARTED);
    }

    fn start_copy(
        &mut self,
        index: u32,
        engine: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let copy = &mut self.copies.under_way[index];
        (copy.engine, copy.start, copy.owed) = (engine, self.now, 2);
        let ([from, to], size, route) = (copy.ends, copy.size, copy.route);
        let job = self.ranks.id(copy.rank).job;
        let (priority, deadline) = (self.jobs.priority(job), self.jobs.deadline(job));
        let class = TrafficClass { priority, deadline, ..TrafficClass::default() };
        let token = token(COPY, u64::from(index));
        let of_size = Message::new(from, to, size, token);
        let message = Message { class, route, by_copy_engine: true, ..of_size };
        self.transport.send(message, &mut Within::<_, RuntimeEvent<T::Event>>::new(scheduler));
    }

    /// The last byte of a copy has left.
    pub(super) fn copy_left(&mut self, index: u64) {
        self.copies.hear(index as u32);
    }

    /// The last byte of a copy is there: its engine takes the next.
    pub(super) fn copy_arrived(
        &mut self,
        index: u64,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) {
        let index = index as u32;
        let copy = self.copies.under_way[index];
        if let Some(next) = self.copies.next(&copy) {
            self.start_copy(next, copy.engine, scheduler);
        }
        let CopyUnderWay { direction, size, start, .. } = copy;
        let record = CopyRecord {
            rank: self.ranks.id(copy.rank),
            direction,
            size,
            start: Picoseconds(start),
        };
        self.observer.copied(&record, Picoseconds(self.now));
        self.copies.hear(index);
        self.complete_communication(copy.operation, 0);
    }
}
