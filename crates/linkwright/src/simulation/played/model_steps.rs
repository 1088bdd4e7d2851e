//! Gives the steps of a job that trains a language model by a layout, on the GPUs that it got.
//!
//! One rank of each stage is played alone ([`LayoutStep::by_class`]); how long that takes is what the job computes.
//! So parts of layers, sequences and experts exchange as on idle links, in the place that the job got, and so do
//! stages. Replicas' exchanges of weights and gradients within servers are part of that, too. Where replicas of a
//! group are on several servers, they exchange beside other jobs, as all-reduces over all GPUs. An all-gather and a
//! reduce-scatter are half an all-reduce each. Their size is what leaves the server that sends the most. They start
//! where the step has them, and end before the update.
//!
//! It leaves out other jobs on the links of exchanges that count as computing. It leaves out weights that are
//! gathered too late for the block that needs them, where the rest of the step makes up for that. It leaves out which
//! GPUs of the job have the same weights.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::PlanningFault;
use super::iteration::{LEAST_BUCKET, Steps};
use super::speeds::Timed;
use crate::allocation::cluster::leaves;
use crate::collectives::baselines::{GroupTimes, Settings};
use crate::program::CollectiveKind;
use crate::runtime::{MpiProtocol, ProgramJob};
use crate::simulation::cluster::{
    Cluster, ClusterError, CollectiveChoices, CollectiveProtocol, Fidelity,
};
use crate::simulation::error::SimulationError;
use crate::system::System;
use crate::system::fabric::SwitchId;
use crate::training::{ClassTimes, GroupCall, LayoutStep, ModelTask, RankGroup, TrainingError};
use crate::units::{Bytes, Picoseconds};

/// Limits the parts in which a step exchanges weights and gradients; each is planned and played.
const MOST_BUCKETS: u64 = 32;

/// A GPU's site, as far as a step depends on it. It holds its server and leaf by the order in which the job has them,
/// its place and its server's kind.
type Site = (usize, Option<usize>, u32, usize);

/// Why a model's steps cannot be had on some GPUs.
pub(super) enum ModelFault {
    /// They cannot train it.
    Training(TrainingError),
    /// The GPUs of a group have no links.
    Planning(PlanningFault),
    /// They cannot be played.
    Played(ClusterError),
}

impl ModelFault {
    /// Names the job and its model.
    pub(super) fn of_job(self, job: &str, model: &str) -> SimulationError {
        match self {
            Self::Training(error) => SimulationError::TrainingOf {
                job: job.to_owned(),
                network: model.to_owned(),
                error: Box::new(error),
            },
            Self::Planning(fault) => {
                SimulationError::Planning { job: job.to_owned(), fault: Box::new(fault) }
            }
            Self::Played(error) => error.into(),
        }
    }
}

impl From<TrainingError> for ModelFault {
    fn from(error: TrainingError) -> Self {
        Self::Training(error)
    }
}

/// The steps of models' jobs, each once for GPUs that are joined alike.
#[derive(Debug)]
pub(super) struct ModelSteps {
    cluster: Cluster,
    leaves: Vec<Option<SwitchId>>,
    known: BTreeMap<(usize, Vec<Site>), Steps>,
}

impl ModelSteps {
    /// None is known yet.
    pub(super) fn new(cluster: &Cluster) -> Self {
        let collectives = CollectiveChoices {
            protocol: CollectiveProtocol::Nccl,
            ..CollectiveChoices::default()
        };
        let protocol = MpiProtocol::default();
        let fidelity = Fidelity::Flow;
        let leaves = leaves(&cluster.system);
        let cluster = Cluster { collectives, protocol, fidelity, ..cluster.clone() };
        Self { cluster, leaves, known: BTreeMap::new() }
    }

    /// Gives the steps of a task on GPUs, in the order of its ranks.
    pub(super) fn of(
        &mut self,
        task: &Arc<ModelTask>,
        gpus: &[usize],
    ) -> Result<Steps, ModelFault> {
        let key = (Arc::as_ptr(task) as usize, self.sites(gpus));
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let made = steps(task, &self.cluster, gpus)?;
        self.known.insert(key, made.clone());
        Ok(made)
    }

    fn sites(&self, gpus: &[usize]) -> Vec<Site> {
        let system = &self.cluster.system;
        let mut servers = BTreeMap::new();
        let mut leaves = BTreeMap::new();
        let mut site = |gpu: &usize| {
            let own = system.gpu(*gpu as u32);
            let next = servers.len();
            let server = *servers.entry(own.server).or_insert(next);
            let leaf = self.leaves[own.server as usize].map(|leaf| {
                let next = leaves.len();
                *leaves.entry(leaf).or_insert(next)
            });
            (server, leaf, own.index, system.kind_index_of(own.server))
        };
        gpus.iter().map(&mut site).collect()
    }
}

fn steps(task: &ModelTask, cluster: &Cluster, gpus: &[usize]) -> Result<Steps, ModelFault> {
    let system = &*cluster.system;
    let ids: Vec<u32> = gpus.iter().map(|gpu| *gpu as u32).collect();
    task.fitting(system, &ids)?;
    let step = task.step(system, &ids)?;
    let exchange = Exchanged { step: &step, system, gpus };
    let times = exchange.times().map_err(|error| ModelFault::Planning(error.into()))?;
    let whole = played(&step, &times, cluster, &ids).map_err(ModelFault::Played)?;
    let (buckets, update) = exchange.buckets(&times, whole);
    let copied = Bytes(0);
    Ok(Steps { copied, buckets, update, timed: Timed::OnGpus, exchange: None })
}

/// How long one rank of each stage takes.
fn played(
    step: &LayoutStep,
    times: &ClassTimes,
    cluster: &Cluster,
    ids: &[u32],
) -> Result<Picoseconds, ClusterError> {
    let stages = 0..step.layout().pp;
    let mapping = stages.map(|stage| ids[step.peers(0, stage)[0].1 as usize]).collect();
    let job = ProgramJob {
        iterations: NonZeroU32::MIN,
        ..ProgramJob::new(&Arc::new(step.by_class(times)), mapping)
    };
    let outcome = cluster.replay(&[job], &mut (), &mut |_| ControlFlow::Continue(()))?;
    Ok(outcome.jobs.jobs[0].time())
}

/// Ranks of a step exchange these on GPUs, in the order of the ranks.
struct Exchanged<'a> {
    step: &'a LayoutStep,
    system: &'a System,
    gpus: &'a [usize],
}

impl Exchanged<'_> {
    fn server(&self, rank: u64) -> u32 {
        self.system.gpu(self.gpus[rank as usize] as u32).server
    }

    /// Says whether replicas of a stage exchange in such groups between servers.
    fn is_between(&self, stage: u64, group: RankGroup) -> bool {
        let spans =
            |ranks: &Vec<u64>| ranks.iter().any(|rank| self.server(*rank) != self.server(ranks[0]));
        group.is_of_replicas() && self.step.groups(stage, group).iter().any(spans)
    }

    /// Times of what counts as computing.
    fn times(&self) -> Result<ClassTimes, crate::collectives::baselines::ExpectError> {
        let mut known = GroupTimes::new(self.system, Settings::default());
        let counts = |stage, group| !self.is_between(stage, group);
        self.step.class_times_of(counts, |groups, kind, sizes| {
            let of_group =
                |ranks: &Vec<u64>| ranks.iter().map(|it| self.gpus[*it as usize]).collect();
            let groups: Vec<Vec<usize>> = groups.iter().map(of_group).collect();
            known.times(&groups, kind, sizes)
        })
    }

    /// Gives each all-reduce's computing before it and its size, and the update; `whole` is how long all of it takes
    /// without them.
    fn buckets(
        &self,
        times: &ClassTimes,
        whole: Picoseconds,
    ) -> (Vec<(Picoseconds, Bytes)>, Picoseconds) {
        let mut sent: BTreeMap<u32, f64> = BTreeMap::new();
        let mut busiest: Option<(f64, u64)> = None;
        let mut moves: BTreeMap<(u64, RankGroup), bool> = BTreeMap::new();
        for (stage, calls) in (0..).zip(self.step.calls()) {
            let mut of_stage = 0.0;
            for (call, count) in calls {
                let is_between = moves
                    .entry((stage, call.group))
                    .or_insert_with(|| self.is_between(stage, call.group));
                if !*is_between {
                    continue;
                }
                for ranks in self.step.groups(stage, call.group) {
                    let bytes = reduced(&call, ranks.len()) * count as f64;
                    of_stage += bytes;
                    let mut servers: Vec<u32> = ranks.iter().map(|it| self.server(*it)).collect();
                    servers.sort_unstable();
                    servers.dedup();
                    for server in servers {
                        *sent.entry(server).or_default() += bytes;
                    }
                }
            }
            if of_stage > 0.0 && busiest.is_none_or(|(most, _)| of_stage > most) {
                busiest = Some((of_stage, stage));
            }
        }
        let Some((_, stage)) = busiest else { return (Vec::new(), whole) };
        let spread = self.step.spread(stage, times);
        let gpus = self.gpus.len() as f64;
        let most = sent.into_values().fold(0.0, f64::max) * gpus / (gpus - 1.0);
        let calls: Vec<(Picoseconds, f64)> = spread
            .calls
            .iter()
            .filter(|(_, call)| moves.get(&(stage, call.group)) == Some(&true))
            .map(|(before, call)| {
                let groups = self.step.groups(stage, call.group);
                (*before, groups.iter().map(|ranks| reduced(call, ranks.len())).sum())
            })
            .collect();
        // The time beside computing and the framework's work is waiting for other stages: it lies among the rest.
        let begun = self.step.framework().0;
        let rest = whole.0.saturating_sub(begun + spread.update.0);
        let scale = rest as f64 / spread.computed.0.max(1) as f64;
        let ready = |computed: Picoseconds| begun + (computed.0 as f64 * scale) as u64;
        let most_parts = (most as u64 / LEAST_BUCKET.0).clamp(1, MOST_BUCKETS);
        let count = (calls.len() as u64).clamp(1, most_parts);
        let size = Bytes((most / count as f64) as u64);
        let all: f64 = calls.iter().map(|(_, bytes)| bytes).sum();
        let mut buckets = Vec::with_capacity(count as usize);
        let (mut at, mut held, mut before) = (0, 0.0, 0);
        for bucket in 1..=count {
            let wanted = all * bucket as f64 / count as f64;
            while at < calls.len() && held + calls[at].1 <= wanted * (1.0 + 1e-9) {
                held += calls[at].1;
                at += 1;
            }
            let last = calls.get(at.saturating_sub(usize::from(held >= wanted * (1.0 - 1e-9))));
            let until = match last {
                Some((computed, _)) if bucket < count => ready(*computed).max(before),
                _ => begun + rest,
            };
            buckets.push((Picoseconds(until - before), size));
            before = until;
        }
        (buckets, spread.update)
    }
}

/// The all-reduce of how many bytes over the same ranks moves as much as a call, without what a rank keeps to itself.
fn reduced(call: &GroupCall, ranks: usize) -> f64 {
    let (size, ranks) = (call.size.0 as f64, ranks as f64);
    let whole = match call.kind {
        CollectiveKind::AllGather => size * ranks / 2.0,
        CollectiveKind::ReduceScatter => size / 2.0,
        _ => size,
    };
    whole * (ranks - 1.0) / ranks
}
