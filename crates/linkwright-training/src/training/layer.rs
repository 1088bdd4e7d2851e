//! Describes layers: their kinds, and the work of one sample's forward pass through them.

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::diagnostic::Named;

/// A window that moves over a picture: heights first, then widths, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// How large it is.
    pub kernel: [u64; 2],
    /// How far it moves at a time.
    pub stride: [u64; 2],
    /// Counts the points of zeros around the picture, on each side.
    pub padding: [u64; 2],
    /// Whether a last window that reaches beyond the padding counts, as Caffe's pooling has it.
    pub ceiling: bool,
}

impl Window {
    /// How many places a window has along an extent; `None` where it does not fit at all. `axis`
    /// is 0 for heights and 1 for widths.
    #[must_use]
    pub fn places(&self, extent: u64, axis: usize) -> Option<u64> {
        let [kernel, stride, padding] =
            [self.kernel, self.stride, self.padding].map(|both| both[axis]);
        let room = (extent + 2 * padding).checked_sub(kernel)?;
        if !self.ceiling {
            return Some(room / stride + 1);
        }
        let places = room.div_ceil(stride) + 1;
        // No window starts in the padding behind the picture.
        Some(if (places - 1) * stride >= extent + padding { places - 1 } else { places })
    }
}

/// Applies a function to each number by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// The number where it is above zero, zero elsewhere.
    Relu,
    /// It is the hyperbolic tangent.
    Tanh,
    /// It is the logistic function.
    Sigmoid,
    /// It is the number times the normal distribution's, by its approximation with a tangent.
    Gelu,
    /// It is the number times its logistic function.
    Silu,
}

impl Named for Activation {
    const WHAT: &'static str = "activation";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("relu", Self::Relu),
        ("tanh", Self::Tanh),
        ("sigmoid", Self::Sigmoid),
        ("gelu", Self::Gelu),
        ("silu", Self::Silu),
    ];
}

/// Says which function a layer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// It is a convolution of a picture.
    Convolution {
        /// Counts the channels of the output.
        channels: u64,
        /// Gives the filter's window.
        window: Window,
        /// Into how many groups channels are cut that do not see one another.
        groups: u64,
        /// Whether a trained number is added to each channel.
        bias: bool,
    },
    /// A matrix times each token's vector, or times all numbers of a sample without tokens.
    FullyConnected {
        /// Numbers of the output.
        width: u64,
        /// Whether a trained number is added to each.
        bias: bool,
        /// Whether the matrix is an embedding's, which is counted there.
        tied: bool,
    },
    /// Takes the greatest number of each window.
    MaxPooling(Window),
    /// Takes the mean of each window.
    AveragePooling(Window),
    /// Takes the mean of each channel.
    GlobalAveragePooling,
    /// Applies a function to each number by itself.
    Activation(Activation),
    /// It is normalization of each channel over the batch, with a trained scale and shift.
    BatchNormalization,
    /// It is normalization of each token's vector, with a trained scale and, with a bias, shift.
    LayerNormalization {
        /// Whether a trained shift is added.
        bias: bool,
    },
    /// Divides each token's vector by its root mean square, with a trained scale.
    RootMeanSquareNormalization,
    /// Division by what neighbouring channels have at the same point.
    LocalResponseNormalization {
        /// How many channels are neighbours.
        size: u64,
    },
    /// Numbers set to zero by chance.
    Dropout,
    /// Shares that sum to one, with the loss where it is a network's end.
    Softmax,
    /// Puts channels, or a token's numbers, of all inputs behind one another.
    Concatenation,
    /// Returns the sum of all inputs.
    Addition,
    /// Returns the product of all inputs, number by number.
    Multiplication,
    /// Holds a trained vector for each token number.
    Embedding {
        /// How many token numbers there are.
        vocabulary: u64,
        /// Numbers of a vector.
        width: u64,
    },
    /// Adds a trained vector at each place of a sequence.
    PositionEmbedding {
        /// Places that have one.
        positions: u64,
    },
    /// It is long short-term memory. It steps over tokens, each waiting for the one before it.
    LongShortTermMemory {
        /// Counts the units, and the numbers of each token's output.
        width: u64,
        /// Biases of each gate: two as cuDNN has it, of input and of state, or one.
        biases: u64,
    },
    /// Both products of attention and the softmax between them, by one fused kernel. Its input
    /// holds each token's queries, keys and values behind one another.
    Attention {
        /// Heads of queries.
        heads: u64,
        /// Heads of keys and values.
        key_value_heads: u64,
        /// Whether queries and keys are turned by their places.
        rotary: bool,
        /// Whether a token sees only those before it and itself.
        causal: bool,
    },
    /// Takes every second point (or so), and puts channels of zeros behind: a shortcut without
    /// parameters.
    Subsampling {
        /// Counts the channels of the output.
        channels: u64,
        /// From each how many points, each way, one is taken.
        stride: u64,
    },
}

impl LayerKind {
    /// Returns the kind's name, as files write it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Convolution { .. } => "convolution",
            Self::FullyConnected { .. } => "fully-connected",
            Self::MaxPooling(_) => "max-pooling",
            Self::AveragePooling(_) => "average-pooling",
            Self::GlobalAveragePooling => "global-average-pooling",
            Self::Activation(activation) => activation.name(),
            Self::BatchNormalization => "batch-norm",
            Self::LayerNormalization { .. } => "layer-norm",
            Self::RootMeanSquareNormalization => "rms-norm",
            Self::LocalResponseNormalization { .. } => "local-response-norm",
            Self::Dropout => "dropout",
            Self::Softmax => "softmax",
            Self::Concatenation => "concat",
            Self::Addition => "add",
            Self::Multiplication => "multiply",
            Self::Embedding { .. } => "embedding",
            Self::PositionEmbedding { .. } => "position-embedding",
            Self::LongShortTermMemory { .. } => "lstm",
            Self::Attention { .. } => "attention",
            Self::Subsampling { .. } => "subsampling",
        }
    }

    /// Whether it has numbers of its own, trained or shared with another layer.
    #[must_use]
    pub const fn is_trained(&self) -> bool {
        matches!(
            self,
            Self::Convolution { .. }
                | Self::FullyConnected { .. }
                | Self::BatchNormalization
                | Self::LayerNormalization { .. }
                | Self::RootMeanSquareNormalization
                | Self::Embedding { .. }
                | Self::PositionEmbedding { .. }
                | Self::LongShortTermMemory { .. }
        )
    }

    /// How many arrays frameworks keep its own numbers in: matrices and biases, scales and shifts apart.
    #[must_use]
    pub fn arrays(&self) -> u64 {
        match *self {
            Self::Convolution { bias, .. } | Self::LayerNormalization { bias } => {
                1 + u64::from(bias)
            }
            Self::FullyConnected { bias, tied, .. } => u64::from(!tied) + u64::from(bias),
            Self::BatchNormalization => 2,
            Self::RootMeanSquareNormalization
            | Self::Embedding { .. }
            | Self::PositionEmbedding { .. } => 1,
            Self::LongShortTermMemory { biases, .. } => 2 + biases,
            _ => 0,
        }
    }

    /// Whether its work is products of matrices, which matrix units do where a GPU has them.
    #[must_use]
    pub const fn is_matrix(&self) -> bool {
        matches!(
            self,
            Self::Convolution { .. }
                | Self::FullyConnected { .. }
                | Self::LongShortTermMemory { .. }
                | Self::Attention { .. }
        )
    }
}

/// Says how tensor parallelism cuts a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Each GPU makes some of the outputs, from all inputs.
    Columns,
    /// Each GPU takes some of the inputs; an all-reduce of the output follows.
    Rows,
}

impl Named for Split {
    const WHAT: &'static str = "split";
    const NAMED: &'static [(&'static str, Self)] =
        &[("columns", Self::Columns), ("rows", Self::Rows)];
}

/// Describes a layer of a network. Its work is of one sample, so that a batch multiplies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name, which no other layer of the network has.
    pub name: String,
    /// Gives the layer's function.
    pub kind: LayerKind,
    /// Lists its inputs: earlier layers by their place in
    /// [`Network::layers`](super::Network::layers), or `None` for the network's own input.
    pub inputs: Vec<Option<usize>>,
    /// The shape of what it writes.
    pub output: Shape,
    /// Counts the trained numbers.
    pub parameters: u64,
    /// Counts the multiply-adds of the forward pass.
    pub multiply_adds: u64,
    /// Counts other operations of the forward pass: sums, products, comparisons, exponentials, each
    /// as one.
    pub elementwise: u64,
    /// Counts the elements of all inputs.
    pub read: u64,
    /// Counts the elements that are kept for the backward pass. These are the output, where this or
    /// a later layer needs it, and elements that only this layer needs.
    pub saved: u64,
    /// Counts the kernels of the forward pass that wait for one another in a row: the time steps of
    /// an LSTM, otherwise one.
    pub steps: u32,
    /// Gives the repeated block that it lies in, from zero. A block is gathered at once where
    /// parameters are spread over GPUs. Layers between blocks make blocks of their own.
    pub unit: u32,
    /// Says how tensor parallelism cuts it; none where every GPU does all of it. A layer between
    /// one cut by columns and one cut by rows is cut by columns, too.
    pub split: Option<Split>,
}

impl Layer {
    /// Trained numbers that it works with: its own, and a matrix that is an embedding's.
    #[must_use]
    pub fn weights(&self) -> u64 {
        let shared = match self.kind {
            LayerKind::FullyConnected { tied: true, .. } => {
                self.multiply_adds / self.output.positions().max(1)
            }
            _ => 0,
        };
        self.parameters + shared
    }
}
