//! Tells what a GPU does of a layer: numbers that are multiplied, read and written.

use crate::training::family::LayerFamily;
use crate::training::fast::UnitStride;
use crate::training::layer::{Layer, LayerKind, Split};
use crate::training::shape::Shape;

/// Counts the work of one GPU in a layer for one sample, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerWork {
    /// How its kernels are written.
    pub family: LayerFamily,
    /// Trained numbers that are its own, which it updates.
    pub parameters: u64,
    /// Trained numbers that it reads, and that its backward pass has gradients of: its own, and a matrix that it shares.
    pub weights: u64,
    /// Counts those of the forward pass.
    pub multiply_adds: u64,
    /// Counts the numbers of its inputs.
    pub read: u64,
    /// Counts the numbers of its output.
    pub written: u64,
    /// Counts numbers that are kept for the backward pass.
    pub saved: u64,
    /// Channels, or numbers of a vector, that one product writes.
    pub columns: u64,
    /// Those that it reads, which are the columns of the gradients of its inputs.
    pub columns_read: u64,
    /// Counts the matrices that share the weights and the samples.
    pub matrices: u64,
    /// Counts kernels that wait for each other.
    pub steps: u32,
    /// Whether these are time steps, each with kernels beside its products.
    pub is_recurrent: bool,
    /// Says whether it multiplies matrices.
    pub is_matrix: bool,
    /// Whether it reads the network's input alone, which has no gradients.
    pub is_first: bool,
    /// The points of a convolution whose window moves by one.
    pub unit_stride: Option<UnitStride>,
}

impl LayerWork {
    /// Gives that of a whole layer.
    #[must_use]
    pub fn of(layer: &Layer) -> Self {
        let output = match layer.output {
            Shape::Image { channels, .. } => channels,
            Shape::Tokens { width, .. } | Shape::Vector { width } => width,
        };
        let depth = layer.multiply_adds / layer.output.elements().max(1);
        let (columns, columns_read) = match layer.kind {
            LayerKind::Convolution { groups, window, .. } => {
                let [height, width] = window.kernel;
                (output / groups.max(1), depth / (height * width).max(1))
            }
            // Four gates, from the input and from the state of the step before.
            LayerKind::LongShortTermMemory { width, .. } => (4 * width, depth / 4),
            // Keys by queries, and values by both.
            LayerKind::Attention { heads, .. } => {
                let head = output / heads.max(1);
                (head, head)
            }
            _ => (output, depth),
        };
        Self {
            family: LayerFamily::of(&layer.kind),
            parameters: layer.parameters,
            weights: layer.weights(),
            multiply_adds: layer.multiply_adds,
            read: layer.read,
            written: layer.output.elements(),
            saved: layer.saved,
            columns: columns.max(1),
            columns_read: columns_read.max(1),
            matrices: 1,
            steps: layer.steps,
            is_recurrent: matches!(layer.kind, LayerKind::LongShortTermMemory { .. }),
            is_matrix: layer.kind.is_matrix(),
            is_first: layer.inputs.iter().all(Option::is_none),
            unit_stride: UnitStride::of(&layer.kind, layer.output),
        }
    }

    /// Gives the part of a layer that one of several GPUs does under tensor parallelism. The last parts may be smaller.
    #[must_use]
    pub fn part(self, split: Option<Split>, parts: u64) -> Self {
        let Self { read, written, columns, columns_read, .. } = self;
        let part = |whole: u64| whole.div_ceil(parts.max(1));
        let of_both = Self {
            parameters: part(self.parameters),
            weights: part(self.weights),
            multiply_adds: part(self.multiply_adds),
            saved: part(self.saved),
            ..self
        };
        match split {
            None => self,
            // Layers between have a part of their inputs, too. The first of them has all, and reads them once.
            Some(Split::Columns) => Self {
                read: if self.is_matrix { read } else { part(read) },
                written: part(written),
                columns: part(columns),
                ..of_both
            },
            Some(Split::Rows) => {
                Self { read: part(read), columns_read: part(columns_read), ..of_both }
            }
        }
    }
}
