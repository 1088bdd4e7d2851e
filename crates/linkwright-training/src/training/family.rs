//! Sorts layers into families, whose kernels libraries write alike, and gives their costs beyond
//! the least.

use serde::{Deserialize, Serialize};

use super::layer::LayerKind;

/// Layers whose kernels are written alike.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum LayerFamily {
    /// It has convolutions.
    Convolution,
    /// It takes products of a matrix with each vector.
    FullyConnected,
    /// It is attention, by a fused kernel.
    Attention,
    /// Steps over tokens.
    Recurrent,
    /// It is normalization over the batch.
    BatchNorm,
    /// It is normalization of each token's vector.
    TokenNorm,
    /// It is normalization over neighbouring channels.
    LocalResponseNorm,
    /// It takes the greatest or the mean of windows or of all.
    Pooling,
    /// It works on each number by itself.
    #[default]
    Elementwise,
    /// Sums of layers, and layers behind one another.
    Join,
    /// Vectors that are looked up.
    Embedding,
    /// Shares that sum to one, and the loss.
    Softmax,
}

impl LayerFamily {
    /// How many there are.
    pub const COUNT: usize = Self::Softmax as usize + 1;

    /// Returns the family of a kind.
    #[must_use]
    pub const fn of(kind: &LayerKind) -> Self {
        match kind {
            LayerKind::Convolution { .. } => Self::Convolution,
            LayerKind::FullyConnected { .. } => Self::FullyConnected,
            LayerKind::Attention { .. } => Self::Attention,
            LayerKind::LongShortTermMemory { .. } => Self::Recurrent,
            LayerKind::BatchNormalization => Self::BatchNorm,
            LayerKind::LayerNormalization { .. } | LayerKind::RootMeanSquareNormalization => {
                Self::TokenNorm
            }
            LayerKind::LocalResponseNormalization { .. } => Self::LocalResponseNorm,
            LayerKind::MaxPooling(_)
            | LayerKind::AveragePooling(_)
            | LayerKind::GlobalAveragePooling => Self::Pooling,
            LayerKind::Concatenation | LayerKind::Addition => Self::Join,
            LayerKind::Embedding { .. } => Self::Embedding,
            LayerKind::Softmax => Self::Softmax,
            LayerKind::Activation(_)
            | LayerKind::Dropout
            | LayerKind::Multiplication
            | LayerKind::PositionEmbedding { .. }
            | LayerKind::Subsampling { .. } => Self::Elementwise,
        }
    }
}

/// Holds the costs of the kernels of a pass through a layer. They come beside the one kernel that
/// does its work as the peaks allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// Counts the starts for each of its kernels. Some start kernels that copy, cast and change
    /// layouts besides. Others start the kernels that a library divides it into.
    pub kernels: f64,
    /// Multiplies the time that arithmetic or memory allows for its work: some data moves more than
    /// once.
    pub times: f64,
}

impl Default for Pass {
    fn default() -> Self {
        Self { kernels: 1.0, times: 1.0 }
    }
}

/// The passes of a family's layers, with numbers of one width.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Passes {
    /// Holds the forward pass.
    pub forward: Pass,
    /// Holds the backward pass.
    pub backward: Pass,
}
