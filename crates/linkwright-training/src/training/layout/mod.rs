//! Layouts: how a model's training is divided over GPUs.
//!
//! It represents replicas (`dp`) and replicas that share one copy of their state (`fsdp`). It has parts of
//! each layer (`tp`), stages of a pipeline (`pp`) with chunks (`vp`), and parts of each sequence (`cp`).
//! Experts are divided (`ep`), and each of them, too (`etp`). Replicas of `fsdp` lie within
//! those of `dp`, as hybrid sharding has it.
//!
//! [`ModelLayout::read`] reads one, [`AskedLayout::check`] says whether a model, a batch and GPUs can have it,
//! and [`Order::groups`] says which ranks meet in which group.

mod groups;
mod keys;
mod nearest;
mod order;
mod ranks;
mod sound;
mod stages;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use groups::LayoutGroup;
pub(in crate::training) use nearest::divisors;
pub use order::Order;
pub use ranks::RankGroup;
pub use sound::AskedLayout;
pub(in crate::training) use stages::MOST_FEWER;
pub use stages::Stages;

/// The most GPUs that a layout may have.
pub const MOST_RANKS: u64 = 1 << 20;

/// A way to divide a model's training over GPUs, by how many parts each kind of division has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModelLayout {
    /// Replicas that each keep all that their shards do not divide.
    pub dp: u64,
    /// Replicas over which weights, gradients and the optimizer's state may be divided.
    pub fsdp: u64,
    /// Counts parts of each layer.
    pub tp: u64,
    /// Counts stages of a pipeline.
    pub pp: u64,
    /// Chunks of layers that each stage has.
    pub vp: u64,
    /// Counts parts of each sequence.
    pub cp: u64,
    /// Counts parts of a block's experts.
    pub ep: u64,
    /// Parts of each expert; none where it is as `tp`, as Megatron has it.
    pub etp: Option<u64>,
}

impl Default for ModelLayout {
    fn default() -> Self {
        Self { dp: 1, fsdp: 1, tp: 1, pp: 1, vp: 1, cp: 1, ep: 1, etp: None }
    }
}

impl ModelLayout {
    /// Counts the GPUs.
    #[must_use]
    pub const fn gpus(&self) -> u64 {
        let Self { dp, fsdp, tp, pp, cp, .. } = *self;
        dp.saturating_mul(fsdp).saturating_mul(tp).saturating_mul(pp).saturating_mul(cp)
    }

    /// Counts the replicas; each trains on samples of its own.
    #[must_use]
    pub const fn replicas(&self) -> u64 {
        self.dp * self.fsdp
    }

    /// Counts parts of each expert.
    #[must_use]
    pub fn expert_parts(&self) -> u64 {
        self.etp.unwrap_or(self.tp)
    }

    /// Counts the GPUs of a stage.
    #[must_use]
    pub const fn of_stage(&self) -> u64 {
        self.dp * self.fsdp * self.tp * self.cp
    }

    /// Counts the GPUs that keep the same part of the same experts.
    #[must_use]
    pub fn expert_replicas(&self) -> u64 {
        (self.of_stage() / (self.ep * self.expert_parts()).max(1)).max(1)
    }

    /// Counts the GPUs that may divide what replicas keep: those of `fsdp`, or of `dp` where there are none.
    /// Parts of sequences have the same weights, and count, too.
    #[must_use]
    pub const fn shards(&self) -> u64 {
        if self.fsdp > 1 { self.fsdp * self.cp } else { self.dp * self.cp }
    }

    /// Gives the same for experts.
    #[must_use]
    pub fn expert_shards(&self) -> u64 {
        let all = self.shards() * self.tp;
        (all / (self.ep * self.expert_parts()).max(1)).max(1)
    }

    /// The one way to divide that it has, with its number of parts, where it has one only.
    #[must_use]
    pub fn single(&self) -> Option<(&'static str, u64)> {
        let parts = [("dp", self.dp), ("fsdp", self.fsdp), ("tp", self.tp), ("pp", self.pp)];
        let others = self.vp > 1 || self.cp > 1 || self.ep > 1;
        let mut divided = parts.into_iter().filter(|(_, count)| *count > 1);
        let first = divided.next().unwrap_or(("dp", 1));
        (divided.next().is_none() && !others).then_some(first)
    }

    fn parts(&self) -> [(&'static str, u64); 7] {
        let Self { dp, fsdp, tp, pp, vp, cp, ep, .. } = *self;
        let names = ["dp", "fsdp", "tp", "pp", "vp", "cp", "ep"];
        let counts = [dp, fsdp, tp, pp, vp, cp, ep];
        std::array::from_fn(|at| (names[at], counts[at]))
    }
}

impl fmt::Display for ModelLayout {
    /// Writes the text that [`ModelLayout::read`] reads, without parts that are one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut each: Vec<String> = Vec::new();
        for (name, count) in self.parts() {
            if count > 1 {
                each.push(format!("{name}={count}"));
            }
        }
        each.extend(self.etp.map(|count| format!("etp={count}")));
        if each.is_empty() { f.write_str("dp=1") } else { f.write_str(&each.join(",")) }
    }
}
