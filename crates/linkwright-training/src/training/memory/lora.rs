//! Holds low-rank adaptation: small matrices beside frozen ones (Hu et al., LoRA, 2021).

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;
use crate::training::model::{LanguageModel, Mlp};

/// Names the matrices that get a small one beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Means those of attention.
    #[default]
    Attention,
    /// Those of attention and of perceptrons; experts stay as they are.
    All,
}

impl Named for Target {
    const WHAT: &'static str = "target of LoRA";
    const NAMED: &'static [(&'static str, Self)] =
        &[("attention", Self::Attention), ("all", Self::All)];
}

/// Says what is trained in the place of all weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lora {
    /// Numbers between both small matrices.
    pub rank: u64,
    /// Names the matrices beside which they stand.
    pub target: Target,
}

impl Lora {
    /// Counts trained numbers of a block; tensor parallelism cuts most of them.
    pub(in crate::training) fn parameters(
        &self,
        model: &LanguageModel,
        mlp: &Mlp,
        parts: u64,
    ) -> u64 {
        let mut matrices = model.attention.matrices(model.hidden);
        if self.target == Target::All {
            matrices.extend(mlp.matrices(model.hidden));
        }
        let small = matrices.iter().map(|it| self.rank * (it.inputs + it.outputs));
        small.map(|numbers| numbers.div_ceil(parts)).sum()
    }
}
