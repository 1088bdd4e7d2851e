//! Jobs that could not run are refused before anything happens.

use std::collections::BTreeMap;

use crate::network::{GpuIndex, RouteClass};
use crate::program::{CollectiveKind, CopyDirection, Operation, Program, Rank};
use crate::units::Bandwidth;

use super::error::RuntimeError;
use super::job::ProgramJob;

/// Checks that a job can start on that many GPUs and that every operation names what there is, as
/// [`Runtime::new`](super::Runtime::new) does.
///
/// # Errors
/// Fails with the first fault.
pub fn validate(job: &ProgramJob, gpus: u32) -> Result<(), RuntimeError> {
    let name = || job.name.clone();
    let ranks = job.program.ranks.len();
    if job.mapping.len() != ranks {
        return Err(RuntimeError::Mapping { job: name(), ranks, gpus: job.mapping.len() });
    }
    if !(job.computation_scale.is_finite() && job.computation_scale >= 0.0) {
        return Err(RuntimeError::Scale { job: name(), scale: job.computation_scale });
    }
    check_mapping(job, gpus)?;
    check_communicators(job)?;
    check_operations(job)
}

fn check_mapping(job: &ProgramJob, gpus: u32) -> Result<(), RuntimeError> {
    let mut owner: BTreeMap<GpuIndex, Rank> = BTreeMap::new();
    for (rank, gpu) in (0..).zip(job.mapping.iter().copied()) {
        let job = || job.name.clone();
        if gpu >= gpus {
            return Err(RuntimeError::UnknownGpu { job: job(), rank, gpu, gpus });
        }
        if let Some(first) = owner.insert(gpu, rank) {
            return Err(RuntimeError::SharedGpu { gpu, job: job(), ranks: [first, rank] });
        }
    }
    Ok(())
}

fn check_communicators(job: &ProgramJob) -> Result<(), RuntimeError> {
    let ranks = job.program.ranks.len();
    let fault = |communicator: usize, problem: String| {
        let communicator = communicator as u32;
        Err(RuntimeError::Communicator { job: job.name.clone(), communicator, problem })
    };
    let mut seen = vec![usize::MAX; ranks];
    for (communicator, members) in job.program.communicators.iter().enumerate() {
        for member in members {
            match seen.get_mut(*member as usize) {
                None => {
                    let problem = format!("names rank {member}; there are {ranks}, from 0");
                    return fault(communicator, problem);
                }
                Some(last) if *last == communicator => {
                    let problem = format!("names rank {member} twice; name it once");
                    return fault(communicator, problem);
                }
                Some(last) => *last = communicator,
            }
        }
    }
    match job.program.communicators.first() {
        Some(world) if world.len() == ranks => Ok(()),
        Some(world) => {
            fault(0, format!("holds {} of {ranks} ranks; the first has to hold all", world.len()))
        }
        None => fault(0, "is missing; the first has to hold all ranks".to_owned()),
    }
}

fn check_operations(job: &ProgramJob) -> Result<(), RuntimeError> {
    let program = &job.program;
    // Which ranks each communicator holds, as sorted lists: a member is found in few steps.
    let mut sorted = program.communicators.clone();
    for members in &mut sorted {
        members.sort_unstable();
    }
    for (rank, of_rank) in (0..).zip(&program.ranks) {
        let loops = of_rank.body().is_some_and(|(start, end)| start < end);
        if job.iterations.get() > 1 && !loops {
            let iterations = job.iterations.get();
            return Err(RuntimeError::NoLoop { job: job.name.clone(), rank, iterations });
        }
        for (operation, what) in (0..).zip(of_rank.operations()) {
            let lacks_kernel = matches!(what, Operation::Kernel) && job.kernel.is_none();
            let lacks_kernel =
                lacks_kernel.then(|| "runs a kernel, and the job has none".to_owned());
            let problem = lacks_kernel.or_else(|| problem(program, &sorted, rank, what));
            if let Some(problem) = problem {
                let job = job.name.clone();
                return Err(RuntimeError::Operation { job, rank, operation, problem });
            }
        }
    }
    Ok(())
}

/// Finds the fault of an operation, if it has one.
fn problem(
    program: &Program,
    sorted: &[Vec<Rank>],
    rank: Rank,
    operation: &Operation,
) -> Option<String> {
    let (communicator, peer) = match *operation {
        Operation::Compute { .. }
        | Operation::Delay { .. }
        | Operation::Kernel
        | Operation::Join => return None,
        Operation::Reduce { rate, .. } => {
            let stands = rate == Some(Bandwidth(0));
            return stands.then(|| "reduces 0 bytes in a second; state a rate above".to_owned());
        }
        Operation::Copy { direction, route, .. } => {
            return copy_problem(program, rank, direction, route);
        }
        Operation::Send { to, communicator, .. } => (communicator, Some(to)),
        Operation::Receive { from, communicator, .. } => (communicator, from),
        Operation::Collective { kind, root, communicator, .. } => {
            (communicator, has_root(kind).then_some(root))
        }
        Operation::Timed { communicator, .. } => (communicator, None),
        Operation::Enter { region } | Operation::Leave { region } => {
            let regions = program.regions.len();
            let unknown = region as usize >= regions;
            return unknown.then(|| format!("names region {region} of {regions}, from 0"));
        }
    };
    let Some(members) = sorted.get(communicator as usize) else {
        let communicators = sorted.len();
        return Some(format!("names communicator {communicator} of {communicators}, from 0"));
    };
    let mut named = [Some(rank), peer].into_iter().flatten();
    let absent = named.find(|rank| members.binary_search(rank).is_err())?;
    Some(format!("names communicator {communicator}, which does not hold rank {absent}"))
}

/// Finds the fault of a copy, whatever GPUs there are.
fn copy_problem(
    program: &Program,
    rank: Rank,
    direction: CopyDirection,
    route: RouteClass,
) -> Option<String> {
    let ranks = program.ranks.len();
    match direction {
        _ if route.is_network() => Some(
            "copies over the network, but copies stay within a server; let it take any links, or \
             send a message"
                .to_owned(),
        ),
        CopyDirection::Peer(peer) if peer == rank => {
            Some(format!("copies to rank {peer}, which is itself; name another"))
        }
        CopyDirection::Peer(peer) if peer as usize >= ranks => {
            Some(format!("copies to rank {peer} of {ranks}, from 0"))
        }
        CopyDirection::Peer(_) | CopyDirection::HostToDevice | CopyDirection::DeviceToHost => None,
    }
}

/// Whether one rank of the collective is special.
pub(super) fn has_root(kind: CollectiveKind) -> bool {
    match kind {
        CollectiveKind::Broadcast
        | CollectiveKind::Reduce
        | CollectiveKind::Gather
        | CollectiveKind::Scatter => true,
        CollectiveKind::Barrier
        | CollectiveKind::AllReduce
        | CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::Scan => false,
    }
}
