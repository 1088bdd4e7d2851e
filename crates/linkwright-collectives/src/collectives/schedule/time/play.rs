//! Plays a schedule on the runtime, alone on its links.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Connections, Routes};
use crate::program::kernel::{KernelCall, NcclProtocol, Pieces};
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{Operation, Program, RankBuilder, RankProgram, WORLD};
use crate::runtime::{MpiProtocol, ProgramJob, Runtime};
use crate::system::fabric::{ChannelId, Fabric};
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};

use super::alike::{Alike, alike};
use super::binding::binding;
use super::error::TimeError;
use super::known::{Found, Key};
use super::loads_of;
use super::lowered::LoweredSchedule;
use super::paths::resources;
use crate::collectives::schedule::{Pacing, Schedule};

/// Holds the load of one direction of a bundle of links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkLoad {
    /// Names the system's channel.
    pub channel: ChannelId,
    /// Counts the data.
    pub bytes: f64,
    /// The data over what the link could have carried in the run's time.
    pub utilisation: f64,
}

/// How long a schedule takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Counts the data, as nccl-tests does.
    pub size: Bytes,
    /// The longest run of bytes that one step moves.
    pub chunk: Bytes,
    /// Counts the pieces that follow one another.
    pub pieces: u64,
    /// Measures the time from the launch to the last byte's arrival.
    pub time: Picoseconds,
    /// Divides size by time, GB/s.
    pub algorithm_bandwidth: f64,
    /// Gives nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// Holds the load of each used link: the links of servers in their order, then those of their
    /// interfaces.
    pub links: Vec<LinkLoad>,
}

/// Times a schedule that moves `size` bytes in chunks of at most `chunk`.
///
/// `size` is counted as nccl-tests does. It is the whole buffer, so that a shard of an all-gather,
/// reduce-scatter, gather, scatter or all-to-all is its part of one rank.
///
/// # Errors
/// [`TimeError`] where the system has no way for a connection, the schedule waits for ever,
/// or the chunks are too many.
pub fn time(
    schedule: &Schedule,
    system: &System,
    size: Bytes,
    chunk: Bytes,
    protocol: &NcclProtocol,
) -> Result<Timing, TimeError> {
    let wiring = wiring_of(schedule, system)?;
    Player::on(schedule, &resources(&wiring), protocol)?.time(size, chunk)
}

/// Returns the wiring that a schedule's GPUs can reach.
pub(super) fn wiring_of(schedule: &Schedule, system: &System) -> Result<Wiring, TimeError> {
    let count = system.gpus() as usize;
    if let Some((rank, gpu)) = schedule.gpus.iter().enumerate().find(|(_, gpu)| **gpu >= count) {
        let machine = system.name().to_owned();
        return Err(TimeError::UnknownGpu { rank, gpu: *gpu, machine, count });
    }
    Ok(Wiring::of_gpus(system, &schedule.gpus))
}

/// A schedule that is ready to be played with any size and chunk: a job whose ranks call one
/// collective.
pub(in crate::collectives) struct Player<'a> {
    schedule: &'a Schedule,
    routes: &'a Routes<'a>,
    lowered: LoweredSchedule,
    /// Holds the smaller schedule that is played in its place, once it is.
    reduced: OnceCell<Reduced>,
}

/// A schedule that takes as long as another, in less to play.
enum Reduced {
    /// With what behaves alike as one, where anything does.
    Alike(Alike),
    /// In whole, on the links that can slow it.
    Whole(LoweredSchedule),
}

/// Holds the result of playing a schedule.
struct Played {
    time: Picoseconds,
    pieces: Pieces,
    /// Counts the bytes that each connection carried.
    carried: Vec<Bytes>,
}

/// Lowers the one collective of the job, which is a kernel.
struct AsKernel(KernelCall);

impl Lowering for AsKernel {
    fn lower(&self, _: &CollectiveCall) -> RankProgram {
        RankProgram::default()
    }

    fn kernel(&self, _: &CollectiveCall) -> Option<KernelCall> {
        Some(self.0.clone())
    }
}

impl<'a> Player<'a> {
    /// Plays on the links that the routes give.
    ///
    /// # Errors
    /// [`TimeError`] where a connection has no route or no other end.
    pub(in crate::collectives) fn on(
        schedule: &'a Schedule,
        routes: &'a Routes<'a>,
        protocol: &NcclProtocol,
    ) -> Result<Self, TimeError> {
        Ok(Self::of(schedule, routes, LoweredSchedule::new(schedule, routes, protocol)?))
    }

    /// Of an outline, whose steps of rank 0 are those of all ranks.
    ///
    /// # Errors
    /// Fails as [`Self::on`] does.
    pub(in crate::collectives) fn on_outline(
        outline: &'a Schedule,
        routes: &'a Routes<'a>,
        protocol: &NcclProtocol,
    ) -> Result<Self, TimeError> {
        let lowered = LoweredSchedule::of_outline(outline, routes, protocol)?;
        Ok(Self::of(outline, routes, lowered))
    }

    /// How the schedule wants its data cut.
    pub(super) const fn pacing(&self) -> Pacing {
        self.schedule.pacing
    }

    /// Returns its least time, in chunks as [`choose_chunk`](super::choose_chunk) tries them.
    pub(in crate::collectives) fn least(&self, size: Bytes) -> Picoseconds {
        self.lowered.least(size, self.pacing(), self.routes.capacities())
    }

    /// Returns the bytes that each resource carries for one byte of the collective's size.
    pub(in crate::collectives) fn link_bytes(&self) -> Vec<f64> {
        loads_of(&self.lowered, self.routes)
    }

    fn of(schedule: &'a Schedule, routes: &'a Routes<'a>, lowered: LoweredSchedule) -> Self {
        Self { schedule, routes, lowered, reduced: OnceCell::new() }
    }

    fn reduced(&self) -> &Reduced {
        self.reduced.get_or_init(|| {
            let capacities = self.routes.capacities();
            let on_binding = |of: &LoweredSchedule| {
                of.with(Arc::clone(&of.kernel), binding(&of.paths, capacities))
            };
            match alike(&self.lowered, capacities) {
                Some(alike) => {
                    Reduced::Alike(Alike { lowered: on_binding(&alike.lowered), ..alike })
                }
                None => Reduced::Whole(on_binding(&self.lowered)),
            }
        })
    }

    /// With all of it played, on all links.
    #[cfg(test)]
    pub(in crate::collectives) fn in_whole(&self) -> Self {
        let reduced = OnceCell::from(Reduced::Whole(self.lowered.clone()));
        Self { reduced, ..Self::of(self.schedule, self.routes, self.lowered.clone()) }
    }

    /// How many blocks there are for each that is played.
    #[cfg(test)]
    pub(super) fn fold(&self) -> f64 {
        let (Reduced::Alike(Alike { lowered: played, .. }) | Reduced::Whole(played)) =
            self.reduced();
        self.lowered.kernel.blocks.len() as f64 / played.kernel.blocks.len() as f64
    }

    /// Plays `size` bytes in chunks of at most `chunk`.
    ///
    /// # Errors
    /// [`TimeError`] where the chunks are too many or the schedule waits for ever.
    pub(in crate::collectives) fn time(
        &self,
        size: Bytes,
        chunk: Bytes,
    ) -> Result<Timing, TimeError> {
        let size = self.moved(size);
        let played = match self.reduced() {
            Reduced::Whole(whole) => self.play(&whole.in_full(), size, chunk)?,
            Reduced::Alike(alike) => match self.play(&alike.lowered, size, chunk) {
                Ok(played) => {
                    let carried = |connection: &u32| played.carried[*connection as usize];
                    Played { carried: alike.connections.iter().map(carried).collect(), ..played }
                }
                // An error tells of the whole schedule.
                Err(_) => self.play(&self.lowered.in_full(), size, chunk)?,
            },
        };
        Ok(self.timing(size, played))
    }

    /// How many pieces `size` bytes in chunks of at most `chunk` are.
    pub(super) fn pieces(&self, size: Bytes, chunk: Bytes) -> u128 {
        self.lowered.count(self.moved(size), chunk)
    }

    /// The timing of a run that was found before.
    pub(super) fn timing_of(&self, size: Bytes, found: Found) -> Timing {
        let (size, lowered) = (self.moved(size), &self.lowered);
        let pieces = Pieces::new(Bytes(size.0 / lowered.shards), lowered.chunks, found.pieces);
        let carried = lowered.carried(pieces);
        self.timing(size, Played { time: found.time, pieces, carried })
    }

    /// The key of everything that decides its time in the chunks that suit it.
    pub(super) fn key(&self, size: Bytes) -> Key {
        let (Reduced::Whole(played) | Reduced::Alike(Alike { lowered: played, .. })) =
            self.reduced();
        let manner = format!("{:?} {:?}", self.pacing(), self.schedule.collective.kind());
        Key::of(played, self.moved(size), self.routes.capacities(), &manner)
    }

    /// The signals of a barrier are empty.
    fn moved(&self, size: Bytes) -> Bytes {
        if self.schedule.collective.may_repeat() { Bytes(0) } else { size }
    }

    fn timing(&self, size: Bytes, Played { time, pieces, carried }: Played) -> Timing {
        let collective = self.schedule.collective;
        let algorithm_bandwidth = size.0 as f64 / time.as_seconds() / 1e9;
        let steps = self.lowered.kernel.steps.iter();
        let longest = steps.map(|linked| linked.step.count).max().unwrap_or(0);
        Timing {
            size,
            chunk: pieces.bytes(0, longest),
            pieces: pieces.count(),
            time,
            algorithm_bandwidth,
            bus_bandwidth: algorithm_bandwidth * collective.bus_factor(self.schedule.ranks()),
            links: self.loads(&carried, time),
        }
    }

    fn play(
        &self,
        lowered: &LoweredSchedule,
        size: Bytes,
        chunk: Bytes,
    ) -> Result<Played, TimeError> {
        let mut network = Connections::over(self.routes, &self.schedule.gpus);
        let first_connection = lowered.open(&mut network);
        let call = lowered.call(size, chunk, first_connection)?;
        let (pieces, ranks) = (call.pieces, lowered.kernel.ranks());
        let (job, mpi) = (job_of(self.schedule, ranks, size), MpiProtocol::default());
        let runtime = Runtime::new(&mut network, ranks, &[job], mpi, AsKernel(call))?;
        let outcome = runtime.run(&mut |_| ControlFlow::Continue(()))?;
        let ends = outcome.jobs.iter().flat_map(|job| &job.ranks).map(|rank| rank.end);
        // Data that nobody took has arrived, too.
        let time = ends.max().unwrap_or_default().max(network.last_arrival());
        let connections = 0..lowered.paths.len() as u32;
        let carried = connections.map(|at| network.carried(first_connection + at)).collect();
        Ok(Played { time, pieces, carried })
    }

    fn loads(&self, carried: &[Bytes], time: Picoseconds) -> Vec<LinkLoad> {
        let capacities = self.routes.capacities();
        let mut bytes = vec![0.0; capacities.len()];
        self.lowered.add_loads(carried, &mut bytes);
        let used = bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0.0);
        used.filter_map(|(resource, bytes)| {
            let forwards = self.routes.wire(resource).0.channel?;
            let channel = if resource % 2 == 0 { forwards } else { Fabric::reverse(forwards) };
            let utilisation = bytes / (capacities[resource].0 as f64 * time.as_seconds());
            Some(LinkLoad { channel, bytes: *bytes, utilisation })
        })
        .collect()
    }
}

/// Makes a job of `ranks` ranks. Each rank calls the schedule's collective once.
fn job_of(schedule: &Schedule, ranks: u32, size: Bytes) -> ProgramJob {
    let kind = schedule.collective.kind();
    // Who is the root is said by the kernel.
    let root = 0;
    let mut calls = RankBuilder::default();
    calls.run(Operation::Collective { kind, root, communicator: WORLD, size });
    let program = Program {
        name: schedule.name.clone(),
        communicators: vec![(0..ranks).collect()],
        regions: Vec::new(),
        ranks: vec![calls.finish(); ranks as usize],
    };
    ProgramJob::new(&Arc::new(program), (0..ranks).collect())
}
