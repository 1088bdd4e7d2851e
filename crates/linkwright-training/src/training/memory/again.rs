//! Says what recomputation takes: forward passes of layers that the backward pass does again.

use std::collections::BTreeMap;

use super::recompute::{Module, Recompute};
use crate::training::layer::LayerKind;
use crate::training::network::Network;

impl Recompute {
    /// Gives the share of each layer's forward pass that is computed again, by the layer's place in a network.
    /// [`LanguageModel::network`](crate::training::model::Model::network) gave that; `chunk` counts the blocks in a
    /// row on a stage.
    #[must_use]
    pub fn again(&self, network: &Network, chunk: u64) -> BTreeMap<usize, f64> {
        let mut found = BTreeMap::new();
        for (at, layer) in network.layers.iter().enumerate() {
            let Some((_, name)) = layer.name.split_once('.') else { continue };
            let block = u64::from(layer.unit.saturating_sub(1)) % chunk.max(1);
            let share = match self {
                Self::None => 0.0,
                Self::Full(count) => f64::from(count.is_none_or(|count| block < count)),
                Self::Modules(modules) => {
                    let module = match name {
                        "norm1" | "norm2" => Some(Module::LayerNorm),
                        "attention" => Some(Module::CoreAttention),
                        "up" | "gate" | "silu" | "gelu" | "product" | "down" => Some(Module::Mlp),
                        _ => None,
                    };
                    f64::from(module.is_some_and(|module| modules.contains(&module)))
                }
                Self::SelectiveOperations => match name {
                    // Every second product is made again, and all that is done number by number.
                    "qkv" => keys(network, at),
                    "attention" | "gate" | "down" | "sum2" => 0.0,
                    "up" => f64::from(is_gated(network)),
                    _ => 1.0,
                },
            };
            if share > 0.0 {
                found.insert(at, share);
            }
        }
        found
    }
}

fn is_gated(network: &Network) -> bool {
    network.layers.iter().any(|layer| layer.kind == LayerKind::Multiplication)
}

/// Gives the share of keys in the product of queries, keys and values. Where the three are apart theirs is the
/// second.
fn keys(network: &Network, at: usize) -> f64 {
    match network.layers.get(at + 1).map(|layer| layer.kind) {
        Some(LayerKind::Attention { heads, key_value_heads, rotary: true, .. }) => {
            key_value_heads as f64 / (heads + 2 * key_value_heads) as f64
        }
        _ => 0.0,
    }
}
