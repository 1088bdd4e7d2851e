//! A schedule played on the runtime, alone on its links.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Connections, Routes};
use crate::program::kernel::{KernelCall, NcclProtocol};
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{Operation, Program, RankBuilder, RankProgram, WORLD};
use crate::runtime::{Job, MpiProtocol, Runtime};
use crate::system::fabric::{ChannelId, Fabric};
use crate::system::{System, Wiring};
use crate::units::{Bytes, Picoseconds};

use super::super::schedule::Schedule;
use super::error::TimeError;
use super::lowered::LoweredSchedule;
use super::ways::resources;

/// What one direction of a bundle of links carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkLoad {
    /// The system's channel.
    pub channel: ChannelId,
    /// The data.
    pub bytes: f64,
    /// The data over what the link could have carried in the run's time.
    pub utilisation: f64,
}

/// How long a schedule takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The data, as nccl-tests counts it.
    pub size: Bytes,
    /// The longest run of bytes that one step moves.
    pub chunk: Bytes,
    /// How many pieces follow one another.
    pub pieces: u64,
    /// From the launch to the last byte's arrival.
    pub time: Picoseconds,
    /// Size over time, GB/s.
    pub algorithm_bandwidth: f64,
    /// nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// What each used link carried: those of servers in their order, then those of their
    /// interfaces.
    pub links: Vec<LinkLoad>,
}

/// Times a schedule that moves `size` bytes in chunks of at most `chunk`.
///
/// `size` is counted as nccl-tests does: the whole buffer, so that a shard of an all-gather,
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
    Player::new(schedule, &wiring_of(schedule, system)?, protocol)?.time(size, chunk)
}

/// What a schedule's GPUs can reach.
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
pub(super) struct Player<'a> {
    schedule: &'a Schedule,
    routes: Routes<'a>,
    lowered: LoweredSchedule,
}

/// The one collective of the job.
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
    pub(super) fn new(
        schedule: &'a Schedule,
        wiring: &'a Wiring,
        protocol: &NcclProtocol,
    ) -> Result<Self, TimeError> {
        let routes = resources(wiring);
        let lowered = LoweredSchedule::new(schedule, &routes, protocol)?;
        Ok(Self { schedule, routes, lowered })
    }

    pub(super) fn time(&self, size: Bytes, chunk: Bytes) -> Result<Timing, TimeError> {
        let Self { schedule, routes, lowered } = self;
        // The signals of a barrier are empty.
        let size = if schedule.collective.may_repeat() { Bytes(0) } else { size };
        let mut network = Connections::over(routes, &schedule.gpus);
        let first_connection = lowered.open(&mut network);
        let call = lowered.call(size, chunk, first_connection)?;
        let pieces = call.pieces;
        let (job, ranks) = (job_of(schedule, size), schedule.ranks());
        let mpi = MpiProtocol::default();
        let runtime = Runtime::new(&mut network, ranks as u32, &[job], mpi, AsKernel(call))?;
        let outcome = runtime.run(&mut |_| ControlFlow::Continue(()))?;
        let ends = outcome.jobs.iter().flat_map(|job| &job.ranks).map(|rank| rank.end);
        // What nobody took has arrived, too.
        let time = ends.max().unwrap_or_default().max(network.last_arrival());
        let algorithm_bandwidth = size.0 as f64 / time.as_seconds() / 1e9;
        let steps = lowered.kernel.steps.iter();
        let runs = steps.map(|linked| pieces.bytes(0, linked.step.start, linked.step.count));
        Ok(Timing {
            size,
            chunk: runs.max().unwrap_or_default(),
            pieces: pieces.count(),
            time,
            algorithm_bandwidth,
            bus_bandwidth: algorithm_bandwidth * schedule.collective.bus_factor(ranks),
            links: self.loads(&network, time),
        })
    }

    fn loads(&self, network: &Connections<'_>, time: Picoseconds) -> Vec<LinkLoad> {
        let capacities = self.routes.capacities();
        let mut bytes = vec![0.0; capacities.len()];
        for (connection, way) in (0..).zip(&self.lowered.ways) {
            let carried = self.lowered.data_of(network.carried(connection));
            for (resource, share) in &way.uses {
                bytes[*resource] += share * carried;
            }
        }
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

/// A job of which every rank calls the schedule's collective once.
fn job_of(schedule: &Schedule, size: Bytes) -> Job {
    let ranks = schedule.ranks() as u32;
    let kind = schedule.collective.kind();
    let root = schedule.collective.root().unwrap_or(0) as u32;
    let mut calls = RankBuilder::default();
    calls.run(Operation::Collective { kind, root, communicator: WORLD, size });
    let program = Program {
        name: schedule.name.clone(),
        communicators: vec![(0..ranks).collect()],
        regions: Vec::new(),
        ranks: vec![calls.finish(); ranks as usize],
    };
    Job::new(&Arc::new(program), (0..ranks).collect())
}
