//! The state of all jobs, and how it is set up.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::network::Transport;
use crate::program::lowering::Lowering;
use crate::program::{Collective, Operation};
use crate::units::Picoseconds;

use super::call::{Call, RankId};
use super::collectives::{Communicator, Plans};
use super::envelope::Envelope;
use super::error::RuntimeError;
use super::frame::{Frame, OperationRef};
use super::job::Job;
use super::lane::Work;
use super::matching::{Matcher, class_bit};
use super::observer::Observer;
use super::occupancy::Occupancy;
use super::pairs::Pairs;
use super::plan::Plan;
use super::protocol::Protocol;
use super::rank::RankState;
use super::slab::Slab;
use super::validate::validate;

/// Jobs that run over a network.
///
/// The transport stays the caller's, who may ask it afterwards how busy its links were.
/// Without an observer nothing is spent on watching.
#[derive(Debug)]
pub struct Runtime<'a, T, L, O = ()> {
    pub(super) transport: &'a mut T,
    pub(super) lowering: &'a L,
    pub(super) observer: O,
    pub(super) protocol: Protocol,
    pub(super) jobs: &'a [Job<'a>],
    pub(super) occupancy: Occupancy,
    /// When each job started.
    pub(super) started: Vec<Picoseconds>,
    /// How many ranks of each job have not ended.
    pub(super) running: Vec<u32>,
    /// Jobs whose ranks have all ended, and which still have their GPUs.
    pub(super) ended: Vec<u32>,
    /// The first rank of each job, and its first communicator.
    pub(super) first: Vec<(u32, u32)>,
    pub(super) ranks: Vec<RankState>,
    pub(super) communicators: Vec<Communicator<'a>>,
    pub(super) plans: Plans<'a>,
    pub(super) frames: Vec<Frame>,
    pub(super) free_frames: Vec<u32>,
    pub(super) envelopes: Slab<Envelope>,
    pub(super) works: Slab<Work>,
    pub(super) matcher: Matcher,
    pub(super) pairs: Pairs,
    /// Operations that have nothing to wait for any more.
    pub(super) ready: VecDeque<OperationRef>,
    pub(super) next_context: u32,
    pub(super) now: u64,
    /// How many ranks have not ended.
    pub(super) unfinished: usize,
    /// Operations of the programs completed, of all; and those played, collectives' included.
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) played: u64,
}

impl<'a, T: Transport, L: Lowering> Runtime<'a, T, L> {
    /// Jobs on a network of that many GPUs, which is at time zero.
    ///
    /// # Errors
    /// A mapping that does not fit the program or the network, or puts two of its ranks on one GPU;
    /// a negative or infinite scale; iterations without a loop; a program whose communicators
    /// or operations name what is not there.
    pub fn new(
        transport: &'a mut T,
        gpus: u32,
        jobs: &'a [Job<'a>],
        protocol: Protocol,
        lowering: &'a L,
    ) -> Result<Self, RuntimeError> {
        Self::observed(transport, gpus, jobs, protocol, lowering, ())
    }
}

impl<'a, T: Transport, L: Lowering, O: Observer> Runtime<'a, T, L, O> {
    /// As [`Runtime::new`], watched.
    ///
    /// # Errors
    /// As [`Runtime::new`].
    pub fn observed(
        transport: &'a mut T,
        gpus: u32,
        jobs: &'a [Job<'a>],
        protocol: Protocol,
        lowering: &'a L,
        observer: O,
    ) -> Result<Self, RuntimeError> {
        validate(jobs, gpus)?;
        let mut runtime = Self {
            transport,
            lowering,
            observer,
            protocol,
            jobs,
            occupancy: Occupancy::new(gpus, jobs.len()),
            started: jobs.iter().map(|job| job.start).collect(),
            running: jobs.iter().map(|job| job.mapping.len() as u32).collect(),
            ended: Vec::new(),
            first: Vec::new(),
            ranks: Vec::new(),
            communicators: Vec::new(),
            plans: Plans::new(),
            frames: Vec::new(),
            free_frames: Vec::new(),
            envelopes: Slab::new(),
            works: Slab::new(),
            matcher: Matcher::new(),
            pairs: Pairs::new(),
            ready: VecDeque::new(),
            next_context: 0,
            now: 0,
            unfinished: 0,
            done: 0,
            total: 0,
            played: 0,
        };
        // Jobs that run one program share its plans.
        let mut planned: Vec<(*const _, u32)> = Vec::new();
        for (index, job) in (0..).zip(jobs) {
            let program: *const _ = job.program;
            let known = planned.iter().find(|(other, _)| *other == program);
            let first_plan = known.map_or_else(|| runtime.plan(job), |(_, first)| *first);
            planned.push((program, first_plan));
            runtime.add(index, job, first_plan);
        }
        runtime.next_context = runtime.communicators.len() as u32;
        runtime.unfinished = runtime.ranks.len();
        Ok(runtime)
    }

    /// Plans the program of each rank; returns the first plan.
    fn plan(&mut self, job: &Job<'a>) -> u32 {
        let plans = job.program.ranks.iter().map(|program| Plan::new(Cow::Borrowed(program)));
        let indices: Vec<u32> = plans.map(|plan| self.plans.push(plan)).collect();
        indices.first().copied().unwrap_or(0)
    }

    fn add(&mut self, index: u32, job: &'a Job<'a>, first_plan: u32) {
        self.first.push((self.ranks.len() as u32, self.communicators.len() as u32));
        for (id, members) in (0..).zip(&job.program.communicators) {
            self.communicators.push(Communicator::new(index, id, members));
        }
        for (rank, gpu) in (0..).zip(&job.mapping) {
            let device = self.transport.gpu_device(*gpu);
            let plan = first_plan + rank;
            let of_plan = &self.plans[plan];
            let mut state = RankState::new(RankId { job: index, rank }, device);
            for operation in of_plan.operations() {
                if let Operation::Receive { from, tag, .. } = *operation {
                    state.classes |= class_bit(from, tag);
                }
            }
            let body = of_plan.body().len() as u64;
            let iterations = if body == 0 { 1 } else { job.iterations.get() };
            let left = of_plan.operations().len() as u64 + body * u64::from(iterations - 1);
            let waits = of_plan.waits().to_vec();
            let rank = self.ranks.len() as u32;
            self.total += left;
            self.ranks.push(state);
            let (collective, iteration) = (None, 0);
            self.frames.push(Frame { rank, plan, collective, waits, iteration, iterations, left });
        }
    }
}

impl<T, L, O> Runtime<'_, T, L, O> {
    /// The call of a rank's program that an operation belongs to, and the collective that it
    /// is part of.
    pub(super) fn origin(&self, operation: OperationRef) -> (Call, Option<Collective>) {
        let collective = self.frames[operation.frame as usize].collective;
        let named = collective.map_or(operation, |collective| collective.parent);
        let call = Call { operation: named.operation, iteration: named.iteration };
        (call, collective.map(|collective| collective.call.kind))
    }
}
