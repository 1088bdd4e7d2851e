//! Says what is computed again in the backward pass instead of kept.

use serde::{Deserialize, Serialize};

use super::Tensor;
use crate::diagnostic::{Diagnosis, Named, instead_of, shown};
use crate::training::error::TrainingError;

/// A part of a block that is computed again by itself, as Megatron names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Module {
    /// Says what attention has between its queries, keys and values and its output.
    CoreAttention,
    /// Means both norms of a block.
    LayerNorm,
    /// Means the function between an expert's products.
    MoeActivation,
    /// Queries, keys and values that are made of short vectors.
    LatentUp,
    /// Means the perceptron of a block without experts.
    Mlp,
    /// The router, the experts and what brings tokens to them.
    Moe,
    /// Experts that every token goes to.
    SharedExperts,
}

impl Named for Module {
    const WHAT: &'static str = "recomputation";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("core_attn", Self::CoreAttention),
        ("layernorm", Self::LayerNorm),
        ("moe_act", Self::MoeActivation),
        ("mla_up_proj", Self::LatentUp),
        ("mlp", Self::Mlp),
        ("moe", Self::Moe),
        ("shared_experts", Self::SharedExperts),
    ];
}

/// Says what is computed again in the backward pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recompute {
    /// Means nothing.
    #[default]
    None,
    /// All but attention's output and that of every second product, as torchtitan has it.
    SelectiveOperations,
    /// Blocks whole: of each only its input is kept. A number says how many of each chunk.
    Full(Option<u64>),
    /// Means parts of blocks.
    Modules(Vec<Module>),
}

/// Says what is asked for where activations are moved to the host.
const OFFLOADED: [&str; 2] = ["offload", "cpu"];
/// The names that are no modules.
const WHOLE: [&str; 5] = ["none", "selective", "selective-op", "full", "full:N"];

impl Recompute {
    /// Reads it: `none`, `selective`, `selective-op`, `full`, `full:N`, or modules joined by `+`.
    ///
    /// # Errors
    /// A name that there is not.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let refuse = |name: &str| {
            let names: Vec<&str> = WHOLE.into_iter().chain(Module::names()).collect();
            let problem = format!("there is no recomputation `{}`", shown(name));
            let remedy = format!("{}; join modules by +", instead_of(name, &names));
            TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
        };
        if OFFLOADED.iter().any(|name| text.contains(name)) {
            let problem = format!("`{}`: activations stay on the GPU", shown(text));
            let told = Diagnosis::of(problem);
            let remedy = "moving them to the host is not represented; take full, or full:N";
            return Err(TrainingError::ModelLayout(told.remedy(remedy)));
        }
        Ok(match text {
            "none" => Self::None,
            "selective" => Self::Modules(vec![Module::CoreAttention]),
            "selective-op" => Self::SelectiveOperations,
            "full" => Self::Full(None),
            _ => match text.strip_prefix("full:") {
                Some(count) => Self::Full(Some(count.parse().map_err(|_| refuse(text))?)),
                None => {
                    let of = |name: &str| Module::from_name(name).map_err(|_| refuse(name));
                    Self::Modules(text.split('+').map(of).collect::<Result<_, _>>()?)
                }
            },
        })
    }

    /// The text that [`Recompute::read`] reads.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::SelectiveOperations => "selective-op".to_owned(),
            Self::Full(None) => "full".to_owned(),
            Self::Full(Some(count)) => format!("full:{count}"),
            Self::Modules(modules) if modules[..] == [Module::CoreAttention] => {
                "selective".to_owned()
            }
            Self::Modules(modules) => {
                let names: Vec<&str> = modules.iter().map(|module| module.name()).collect();
                names.join("+")
            }
        }
    }

    /// The place of a block in its chunk, as far as it matters: those behind the last that is computed again are alike.
    pub(in crate::training) fn place(&self, at: u64) -> u64 {
        match self {
            Self::Full(Some(count)) => at.min(*count),
            _ => 0,
        }
    }

    /// Whether a tensor is kept; `at` is the place of its block in its chunk.
    pub(super) fn keeps(&self, tensor: &Tensor, at: u64) -> bool {
        match self {
            Self::None => true,
            Self::SelectiveOperations => tensor.is_input || tensor.is_operation,
            Self::Full(count) => tensor.is_input || count.is_some_and(|count| at >= count),
            Self::Modules(modules) => {
                tensor.is_input || !tensor.modules.iter().flatten().any(|it| modules.contains(it))
            }
        }
    }
}
