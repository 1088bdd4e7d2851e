//! Describes a job that is written down by itself: it says more than every job of a list does.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::played::IterationSettings;
use crate::allocation::ChosenPolicy;
use crate::program::Program;
use crate::training::{ModelTask, TrainingTask};

/// Says what a job runs that is no workload under the choices of all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Its workload, whose iterations are made by settings of its own.
    Workload(IterationSettings),
    /// A step of training in each iteration; its program follows from the GPUs that it gets.
    Training(Arc<TrainingTask>),
    /// Each iteration is a step of training a language model by a layout.
    Model(Arc<ModelTask>),
    /// A program, a rank on each of its GPUs. Nobody knows how long it takes.
    Program(Arc<Program>),
}

/// Holds what a job that is written down by itself says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenJob {
    /// Says what it runs.
    pub task: Task,
    /// The system's GPUs that it asks for, in the order of its ranks; as many as it has by a policy where absent.
    pub gpus: Option<Arc<[u32]>>,
    /// Names its own policy; that of all where absent.
    pub policy: Option<ChosenPolicy>,
    /// Multiplies the durations of a program's computation: 0.5 computes twice as fast.
    pub computation_scale: f64,
    /// Gives the priority of its messages, where the network heeds it; the higher first.
    pub priority: u8,
    /// How long each of its copies may take, in thousandths of its time on an idle bus, where the network heeds it.
    pub deadline: Option<NonZeroU32>,
}

impl WrittenJob {
    /// Puts a task on GPUs by the policy of all, with nothing else said of it.
    #[must_use]
    pub const fn new(task: Task) -> Self {
        Self { task, gpus: None, policy: None, computation_scale: 1.0, priority: 0, deadline: None }
    }
}
