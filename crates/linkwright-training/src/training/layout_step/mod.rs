//! Writes a step of training a language model by a layout, as a program.
//!
//! Kernels of a block follow from the model and from how it is divided; exchanges stand between them. A stage's turns
//! follow from the pipeline. Replicas gather and reduce beside that what they divide. All ranks of a stage do the
//! same, and a step is a program for each stage. [`LayoutStep::by_rank`] writes it for every rank, with its groups.
//! [`LayoutStep::by_class`] writes it for one rank of each stage; there an exchange lasts as long as all ranks take
//! at once. The runtime plays both.
//!
//! It leaves out the sum of a tied embedding's gradients over the first and the last stage. It leaves out norms of
//! gradients, norms of queries and keys head by head, and heads that predict several tokens.

mod actions;
mod beside;
mod blocks;
mod classes;
mod exchange_times;
mod execution;
mod floor;
mod kernel_times;
mod launches;
mod modelled;
mod pieces;
mod rows;
mod spread;
#[cfg(test)]
mod tests;
mod turn_times;
mod turns;
mod units;
mod variation;
mod works;
mod writer;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use classes::{ClassTimes, Exchanges, PipelineSend};
pub use exchange_times::{BesideTimes, ExchangeTimes, FreeExchanges, TakenShare};
pub use execution::{ContextExchange, Execution};
pub use modelled::TracedRun;
pub use pieces::GroupCall;
pub use spread::StageSpread;
pub use variation::{Variation, VariedStep};

use self::actions::computed;
use self::turns::Pipe;
use self::units::{Chunk, Maker};
use self::writer::Writer;
use super::error::TrainingError;
use super::layout::{ModelLayout, Order, RankGroup};
use super::memory::{Kernels, ModelTraining, Numbers};
use super::roofline::{GpuRates, Roofline};
use super::terms::FrameworkCosts;
use crate::program::RankProgram;
use crate::units::{Bytes, Picoseconds};

/// A token's number and its label have these bytes where frameworks hand them over.
const BYTES_OF_TOKEN: u64 = 2 * 8;
/// Gradients that PyTorch's DDP reduces at once (`bucket_cap_mb`).
const BUCKET_OF_PYTORCH: u64 = 25 << 20;
/// Numbers that Megatron-LM reduces at once, at least, and the least for each replica (`DistributedDataParallelConfig`).
const BUCKET_OF_MEGATRON: [u64; 2] = [40_000_000, 1_000_000];

/// The computing that the ranks of a stage do, whatever they exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageWork {
    /// One micro-batch forward through all chunks.
    pub forward: Picoseconds,
    /// The same backward, with what is computed again.
    pub backward: Picoseconds,
    /// The backward pass spends this on computing again.
    pub again: Picoseconds,
    /// The update of the weights takes this long.
    pub update: Picoseconds,
}

/// Describes a step by a layout.
#[derive(Debug, Clone)]
pub struct LayoutStep {
    name: String,
    layout: ModelLayout,
    order: Order,
    execution: Execution,
    zero: u8,
    micro_batches: u64,
    /// Each stage has its chunks.
    stages: Vec<Vec<Chunk>>,
    /// Each stage has its update.
    updates: Vec<Picoseconds>,
    framework: Picoseconds,
    cost_of_collective: Picoseconds,
    /// A rank copies this much from its host.
    input: Bytes,
    /// The next stage gets this much from a stage.
    handed: Bytes,
    /// Gradients that are reduced at once.
    bucket: Bytes,
    /// A weight has this many bytes, and a gradient the next.
    number: u64,
    gradient: u64,
    gpu: GpuRates,
    /// Whether kernels wait until the host has launched them.
    is_launched: bool,
    /// A rank of each stage does this; it is written once it is asked for.
    programs: OnceLock<Vec<RankProgram>>,
}

impl LayoutStep {
    /// The step of a training, on GPUs whose kernels take what `roofline` says. Of GPUs with different experts it is that of
    /// the one whose experts get the most tokens of each block, for which the others wait.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub fn new(
        training: &ModelTraining<'_>,
        order: Order,
        execution: Execution,
        roofline: &Roofline,
        costs: &FrameworkCosts,
    ) -> Result<Self, TrainingError> {
        let maker = Maker { training, execution, roofline, expert_place: None };
        Self::made(&maker, order, costs)
    }

    /// Makes the step of the GPUs at one place of each expert group.
    ///
    /// # Errors
    /// A layout that is not sound.
    pub fn of_expert_place(
        training: &ModelTraining<'_>,
        order: Order,
        execution: Execution,
        (roofline, costs): (&Roofline, &FrameworkCosts),
        place: u64,
    ) -> Result<Self, TrainingError> {
        let maker = Maker { training, execution, roofline, expert_place: Some(place) };
        Self::made(&maker, order, costs)
    }

    fn made(
        maker: &Maker<'_>,
        order: Order,
        costs: &FrameworkCosts,
    ) -> Result<Self, TrainingError> {
        let Maker { training, execution, roofline, .. } = *maker;
        let layout = training.layout;
        let stages = maker.stages()?;
        let micro_batches = training.asked().micro_batches(&layout);
        let gradient = training.gradients.bytes();
        let bucket = execution.bucket.unwrap_or_else(|| {
            let [least, each] = BUCKET_OF_MEGATRON;
            match training.kernels {
                Kernels::Fused => Bytes(least.max(each.saturating_mul(layout.shards())) * gradient),
                Kernels::Eager | Kernels::Compiled => Bytes(BUCKET_OF_PYTORCH),
            }
        });
        let handed = training.own_tokens().saturating_mul(training.model.hidden);
        let number = training.number();
        let rest = execution.measured.map_or(0, |measured| measured.rest.0);
        let mut step = Self {
            name: format!("{} by {layout}", training.model.name),
            layout,
            order,
            execution,
            zero: training.zero,
            micro_batches,
            stages,
            updates: Vec::new(),
            framework: Picoseconds(costs.iteration.0 + costs.gpu.0 + rest),
            cost_of_collective: costs.collective,
            input: Bytes(training.tokens() * micro_batches * BYTES_OF_TOKEN),
            handed: Bytes(handed.saturating_mul(number)),
            bucket,
            number,
            gradient,
            gpu: roofline.gpu,
            is_launched: false,
            programs: OnceLock::new(),
        };
        let state = training.optimizer.state();
        step.updates = (0..layout.pp).map(|stage| step.update_of(stage, state, roofline)).collect();
        Ok(step)
    }

    fn update_of(&self, stage: u64, state: u64, roofline: &Roofline) -> Picoseconds {
        let units = self.stages[stage as usize].iter().flatten();
        let all = units.fold(Numbers::default(), |all, unit| Numbers {
            plain: all.plain + unit.trained.plain,
            experts: all.experts + unit.trained.experts,
            ends: 0,
        });
        let whole = [all.plain, all.experts];
        let parted = self.parted(all).into_iter().zip(whole);
        let own = parted.map(|((_, part, _), whole)| if self.zero > 0 { part } else { whole });
        let update = roofline.update(own.sum(), state);
        self.execution.measured.map_or(update, |measured| measured.update(update))
    }

    /// Says how much of some numbers each rank has where replicas divide them, and which ranks do.
    fn parted(&self, numbers: Numbers) -> [(RankGroup, u64, u64); 2] {
        let (plain, experts) = (self.layout.shards(), self.layout.expert_replicas());
        [
            (RankGroup::Shards, numbers.plain.div_ceil(plain), plain),
            (RankGroup::ExpertShards, numbers.experts.div_ceil(experts), experts),
        ]
    }

    fn pipe(&self) -> Pipe {
        let ModelLayout { pp, vp, .. } = self.layout;
        Pipe { stages: pp, chunks: vp, micro_batches: self.micro_batches }
    }

    /// Numbers the queue in which a group's collectives wait for one another. Parts of weights are gathered and reduced in
    /// one, whether they are of experts or not, as frameworks have it.
    const fn queue(group: RankGroup) -> usize {
        match group {
            RankGroup::ExpertShards => RankGroup::Shards as usize,
            other => other as usize,
        }
    }

    /// Gives the communicator of a group in a stage's program.
    const fn communicator(group: RankGroup) -> u32 {
        1 + group as u32
    }

    /// Gives the layout.
    #[must_use]
    pub const fn layout(&self) -> &ModelLayout {
        &self.layout
    }

    /// Gives the computing of each stage's ranks: no step is shorter than its busiest stage computes.
    #[must_use]
    pub fn work(&self) -> Vec<StageWork> {
        let of_stage = |(chunks, update): (&Vec<Chunk>, &Picoseconds)| {
            let units = || chunks.iter().flatten();
            let forward = units().map(|unit| computed(&unit.actions.forward).0).sum();
            let backward = units().map(|unit| computed(&unit.actions.backward).0).sum();
            let again = units().map(|unit| unit.actions.again.0).sum();
            let [forward, backward, again] = [forward, backward, again].map(Picoseconds);
            StageWork { forward, backward, again, update: *update }
        };
        self.stages.iter().zip(&self.updates).map(of_stage).collect()
    }

    /// The longest that a stage computes, and which: no step is shorter.
    #[must_use]
    pub fn busiest(&self) -> (u64, Picoseconds) {
        let all = (0..).zip(self.work()).map(|(stage, work)| {
            let passes = (work.forward.0 + work.backward.0).saturating_mul(self.micro_batches);
            (stage, Picoseconds(passes.saturating_add(work.update.0)))
        });
        all.max_by_key(|(stage, time)| (*time, std::cmp::Reverse(*stage))).unwrap_or_default()
    }

    /// Gives the framework's work on the host, with which every step begins.
    #[must_use]
    pub const fn framework(&self) -> Picoseconds {
        self.framework
    }

    /// Counts the micro-batches of a replica.
    #[must_use]
    pub const fn micro_batches(&self) -> u64 {
        self.micro_batches
    }

    /// Gives the program of a rank of each stage, with stages in the places of ranks and kinds of groups in those of
    /// communicators.
    fn programs(&self) -> &[RankProgram] {
        let write = |stage| Writer::write(self, stage, None);
        let write = || (0..self.layout.pp).map(write).collect();
        self.programs.get_or_init(write)
    }

    /// The calls of collectives that a rank of each stage makes, and how often.
    #[must_use]
    pub fn calls(&self) -> Vec<BTreeMap<GroupCall, u64>> {
        self.programs().iter().map(classes::calls_of).collect()
    }
}
