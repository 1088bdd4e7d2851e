//! Families of layers, whose kernels libraries write alike, and what these take beside the least.

use serde::{Deserialize, Serialize};

use super::layer::LayerKind;

/// Layers whose kernels are written alike.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum LayerFamily {
    /// Convolutions.
    Convolution,
    /// Products of a matrix with each vector.
    FullyConnected,
    /// Attention, by a fused kernel.
    Attention,
    /// Steps over tokens.
    Recurrent,
    /// Normalization over the batch.
    BatchNorm,
    /// Normalization of each token's vector.
    TokenNorm,
    /// Normalization over neighbouring channels.
    LocalResponseNorm,
    /// The greatest or the mean of windows or of all.
    Pooling,
    /// What is done with each number by itself.
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

    /// The family of a kind.
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

/// What the kernels of a pass through a layer take beside the one kernel that does its work as the peaks allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// For each of its kernels, the starts of so many: of those that copy, cast and change layouts besides, and of
    /// those that a library divides it into.
    pub kernels: f64,
    /// Its work takes so many times as long as arithmetic or memory bounds it: what moves more than once.
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
    /// Forward.
    pub forward: Pass,
    /// Backward.
    pub backward: Pass,
}
