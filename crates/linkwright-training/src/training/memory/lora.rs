//! Holds low-rank adaptation: small matrices beside frozen ones (Hu et al., LoRA, 2021).

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnosis, Named, instead_of, shown};
use crate::training::error::TrainingError;
use crate::training::model::{LanguageModel, Matrix, Mlp};

/// Names a matrix that gets a small one beside it, as PEFT or Megatron have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Makes queries.
    Query,
    /// Makes keys.
    Key,
    /// Makes values.
    Value,
    /// Makes queries, keys and values in one.
    Joined,
    /// Takes attention's output.
    Output,
    /// Gates what a perceptron has within.
    Gate,
    /// Makes what a perceptron has within.
    Up,
    /// Makes the gate and what it opens in one.
    Both,
    /// Takes what a perceptron has within.
    Down,
}

impl Named for Target {
    const WHAT: &'static str = "target of LoRA";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("q_proj", Self::Query),
        ("k_proj", Self::Key),
        ("v_proj", Self::Value),
        ("o_proj", Self::Output),
        ("gate_proj", Self::Gate),
        ("up_proj", Self::Up),
        ("down_proj", Self::Down),
        ("linear_qkv", Self::Joined),
        ("linear_proj", Self::Output),
        ("linear_fc1", Self::Both),
        ("linear_fc2", Self::Down),
    ];
}

/// The names that stand for several matrices.
const SEVERAL: [(&str, &[Target]); 2] = [
    ("attention", &[Target::Joined, Target::Output]),
    ("all", &[Target::Joined, Target::Output, Target::Both, Target::Down]),
];

/// Holds a set of matrices; experts that tokens are sent to and routers stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets(u16);

impl Targets {
    /// Lists what [`Targets::read`] knows.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        SEVERAL.iter().map(|(known, _)| *known).chain(Target::names()).collect()
    }

    fn of(each: &[Target]) -> Self {
        Self(each.iter().fold(0, |all, target| all | 1 << *target as u16))
    }

    /// Reads it: `attention`, `all`, or names of matrices joined by `+`, as `q_proj+v_proj`.
    ///
    /// # Errors
    /// A name that there is not.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let mut all = Self(0);
        for name in text.split('+').map(str::trim) {
            let several = SEVERAL.iter().find(|(known, _)| *known == name);
            let own = match several {
                Some((_, each)) => Self::of(each),
                None => Self::of(&[Target::from_name(name).map_err(|_| {
                    let problem = format!("LoRA has no target `{}`", shown(name));
                    let remedy = format!("{}; join names by +", instead_of(name, &Self::names()));
                    TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
                })?]),
            };
            all.0 |= own.0;
        }
        Ok(all)
    }

    /// Says whether a kernel of a block's step has a small one beside it.
    pub(in crate::training) fn adapt(self, kernel: &str) -> bool {
        match kernel {
            "qkv" | "q-down" | "q-up" | "kv-down" | "kv-up" => {
                self.has(&[Target::Query, Target::Key, Target::Value, Target::Joined])
            }
            "projection" => self.has(&[Target::Output]),
            "gate" => self.has(&[Target::Gate, Target::Both]),
            "up" => self.has(&[Target::Up, Target::Both]),
            "shared-up" => self.has(&[Target::Gate, Target::Up, Target::Both]),
            "down" | "shared-down" => self.has(&[Target::Down]),
            _ => false,
        }
    }

    /// Says whether one of these matrices has a small one.
    fn has(self, each: &[Target]) -> bool {
        self.0 & Self::of(each).0 != 0
    }

    /// Says whether the backward pass needs a tensor that a frozen matrix reads.
    pub(super) fn need(self, tensor: &str) -> bool {
        match tensor {
            "first norm" => self.has(&[Target::Query, Target::Key, Target::Value, Target::Joined]),
            "second norm" => self.has(&[Target::Gate, Target::Up, Target::Both]),
            "product" | "shared product" => self.has(&[Target::Down]),
            "experts' tokens" | "experts' product" => false,
            _ => true,
        }
    }
}

/// Says what is trained in the place of all weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lora {
    /// Numbers between both small matrices.
    pub rank: u64,
    /// Names the matrices beside which they stand.
    pub targets: Targets,
}

impl Lora {
    /// Counts trained numbers of a block; tensor parallelism cuts most of them.
    pub(in crate::training) fn parameters(
        &self,
        model: &LanguageModel,
        mlp: &Mlp,
        parts: u64,
    ) -> u64 {
        let small = self.matrices(model, mlp).into_iter().map(|(inputs, outputs)| {
            let numbers = self.rank * (inputs + outputs);
            numbers.div_ceil(parts)
        });
        small.sum()
    }

    /// Lists the inputs and outputs of the matrices beside which small ones stand.
    fn matrices(&self, model: &LanguageModel, mlp: &Mlp) -> Vec<(u64, u64)> {
        let (attention, hidden) = (model.attention, model.hidden);
        let mut found = Vec::new();
        let mut add = |target: Target, inputs: u64, outputs: u64| {
            if self.targets.has(&[target]) {
                found.push((inputs, outputs));
            }
        };
        if attention.latent.is_none() {
            add(Target::Query, hidden, attention.queries());
            add(Target::Key, hidden, attention.keys());
            add(Target::Value, hidden, attention.values());
        }
        add(Target::Output, attention.outputs(), hidden);
        let (inner, gated) = match *mlp {
            Mlp::Dense { inner, gated, .. } => (inner, gated),
            Mlp::Experts(experts) => (experts.shared, true),
        };
        if inner > 0 {
            if gated {
                add(Target::Gate, hidden, inner);
            }
            add(Target::Up, hidden, inner);
            add(Target::Both, hidden, if gated { 2 * inner } else { inner });
            add(Target::Down, inner, hidden);
        }
        let of_queries = [Target::Query, Target::Key, Target::Value, Target::Joined];
        let joined = if attention.latent.is_some() { &of_queries[..] } else { &of_queries[3..] };
        if self.targets.has(joined) {
            // All but the last; those of short vectors are several.
            let matrices = attention.matrices(hidden);
            let before = matrices.iter().take(matrices.len() - 1);
            found.extend(before.map(|Matrix { inputs, outputs, .. }| (*inputs, *outputs)));
        }
        found
    }
}
