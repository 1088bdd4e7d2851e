//! Writes a model's training as flags of the frameworks that run it.
//!
//! It writes the layout, the batch, what replicas divide, what is computed again and the numbers. It leaves
//! out what says which model is trained, its data and its learning rate. A sentence says
//! each thing that a framework cannot do.

mod megatron;
#[cfg(test)]
mod tests;
mod torchtitan;

use super::layout::{MOST_FEWER, Order, Stages};
use super::memory::ModelTraining;
use crate::diagnostic::Named;

/// Names the frameworks whose flags are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlagsOf {
    /// Means Megatron-LM, as of its release core_v0.19.0 (`megatron/training/arguments.py`).
    Megatron,
    /// Means torchtitan, as of its release v0.2.2 (`torchtitan/config/job_config.py`).
    Torchtitan,
}

impl Named for FlagsOf {
    const WHAT: &'static str = "framework with flags";
    const NAMED: &'static [(&'static str, Self)] =
        &[("megatron", Self::Megatron), ("torchtitan", Self::Torchtitan)];
    const ELSEWHERE: &'static [(&'static str, Self)] =
        &[("megatronlm", Self::Megatron), ("mcore", Self::Megatron), ("titan", Self::Torchtitan)];
}

/// Holds flags in order, with sentences on the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameworkFlags {
    /// Each flag with its value, which is empty where the flag alone says it.
    pub flags: Vec<(String, String)>,
    /// Sentences on what the framework cannot do, or what no flag says.
    pub left_out: Vec<String>,
}

impl FrameworkFlags {
    fn add(&mut self, name: &str, value: impl ToString) {
        self.flags.push((name.to_owned(), value.to_string()));
    }

    fn switch(&mut self, name: &str) {
        self.add(name, "");
    }

    fn leave(&mut self, what: impl Into<String>) {
        self.left_out.push(what.into());
    }
}

/// Says how layers are dealt to chunks. The embedding and the loss may fill places of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Dealt {
    /// Every chunk has as many places. These counts say how many the embedding and the loss fill.
    Even { embedding: u64, loss: u64 },
    /// Chunks have these layers.
    Uneven(Vec<u64>),
}

impl ModelTraining<'_> {
    /// Writes it as flags.
    #[must_use]
    pub fn flags(&self, framework: FlagsOf, order: &Order) -> FrameworkFlags {
        match framework {
            FlagsOf::Megatron => self.megatron(order),
            FlagsOf::Torchtitan => self.torchtitan(order),
        }
    }

    fn dealt(&self) -> Dealt {
        let layers = self.model.layers();
        let all = self.layout.pp * self.layout.vp;
        // As many places as stages take that are dealt evenly.
        let most = if self.layout.vp > 1 { MOST_FEWER } else { 2 };
        let fewer = layers.next_multiple_of(all) - layers;
        if fewer <= most {
            return Dealt::Even { embedding: fewer / 2, loss: fewer.div_ceil(2) };
        }
        Dealt::Uneven(self.layers_of_chunks())
    }

    /// Counts the layers of each chunk, in the order of the model.
    fn layers_of_chunks(&self) -> Vec<u64> {
        let stages = Stages::of(self.model.layers(), &self.layout);
        let mut each: Vec<_> = stages.iter().flat_map(Stages::all).cloned().collect();
        each.sort_by_key(|chunk| (chunk.start, chunk.end));
        each.into_iter().map(|chunk| chunk.end - chunk.start).collect()
    }
}
