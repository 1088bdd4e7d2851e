//! Derives a layer's output and work from its inputs: nothing of this is ever typed in.
//!
//! A multiply-add is one product and the sum that takes it. Of other work a sum, product,
//! comparison, division, exponential or tangent is one operation each. Attention is counted as
//! fused kernels do it. Causal attention counts only the pairs where one token sees the other.

use super::layer::{Activation, LayerKind, Window};
use super::shape::{MOST_EXTENT, Shape};
use crate::diagnostic::Diagnosis;

/// The most of anything that a layer takes for one sample, so that sums stay within 64 bits.
const MOST: u128 = 1 << 50;

/// Counts the operations of a logistic function: an exponential, a sum, a division.
const SIGMOID: u64 = 3;
/// Counts the operations of a softmax, each number: the greatest, a difference, an exponential, the
/// sum, a division.
const SOFTMAX: u64 = 5;

/// Holds the work of one sample's forward pass; see the fields of [`Layer`](super::Layer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Derived {
    pub output: Shape,
    pub parameters: u64,
    pub multiply_adds: u64,
    pub elementwise: u64,
    pub read: u64,
    pub steps: u32,
}

/// Says which parts of a layer's forward pass the backward pass needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// It needs the inputs.
    pub inputs: bool,
    /// It needs the output.
    pub output: bool,
    /// Elements that it makes for itself.
    pub own: u64,
}

/// Describes an input of a layer: its shape, and its name in errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub name: &'a str,
    pub shape: Shape,
}

/// Sums and products that do not wrap, until they are held against [`MOST`].
#[derive(Clone, Copy, Default)]
struct Counts {
    parameters: u128,
    multiply_adds: u128,
    elementwise: u128,
}

fn product(factors: &[u64]) -> u128 {
    factors.iter().fold(1, |product, factor| product.saturating_mul((*factor).into()))
}

/// Computes the work of a layer of a kind.
///
/// # Errors
/// Inputs that the kind cannot take, or that do not meet; more than a network may take.
pub(super) fn derive(kind: &LayerKind, given: &[Given<'_>]) -> Result<Derived, Diagnosis> {
    let first = check_inputs(kind, given)?;
    let output = output(kind, given)?;
    let counts = counts(kind, first, output, given.len() as u64);
    let fits = |count: u128| u64::try_from(count).ok().filter(|_| count <= MOST);
    let fitting = (fits(counts.parameters), fits(counts.multiply_adds), fits(counts.elementwise));
    let (Some(parameters), Some(multiply_adds), Some(elementwise), true) =
        (fitting.0, fitting.1, fitting.2, output.is_possible())
    else {
        let problem = format!("its output of {output} takes more than is possible");
        let remedy = format!("keep to {MOST_EXTENT} each way, and 2^40 numbers in all");
        return Err(Diagnosis::of(problem).remedy(remedy));
    };
    let steps = match kind {
        LayerKind::LongShortTermMemory { .. } => {
            u32::try_from(first.positions()).unwrap_or(u32::MAX)
        }
        _ => 1,
    };
    let read = given.iter().map(|input| input.shape.elements()).sum();
    Ok(Derived { output, parameters, multiply_adds, elementwise, read, steps })
}

/// Refuses inputs of another number or form than the kind takes; the first one's shape otherwise.
fn check_inputs(kind: &LayerKind, given: &[Given<'_>]) -> Result<Shape, Diagnosis> {
    use LayerKind as Kind;
    let joins = matches!(kind, Kind::Concatenation | Kind::Addition | Kind::Multiplication);
    let Some(first) = given.first().filter(|_| joins == (given.len() > 1)) else {
        let many = given.len();
        let problem = format!("it has {many} input{}", if many == 1 { "" } else { "s" });
        let remedy = if joins { "name two or more in `from`" } else { "name one in `from`" };
        return Err(Diagnosis::of(problem).remedy(remedy));
    };
    let wants = match kind {
        Kind::Convolution { .. }
        | Kind::MaxPooling(_)
        | Kind::AveragePooling(_)
        | Kind::GlobalAveragePooling
        | Kind::LocalResponseNormalization { .. }
        | Kind::Subsampling { .. } => Some("channels, height and width"),
        Kind::Embedding { .. }
        | Kind::PositionEmbedding { .. }
        | Kind::LongShortTermMemory { .. }
        | Kind::Attention { .. } => Some("tokens"),
        _ => None,
    };
    let has = match first.shape {
        Shape::Image { .. } => "channels, height and width",
        Shape::Tokens { .. } => "tokens",
        Shape::Vector { .. } => "a width alone",
    };
    match wants {
        Some(wants) if wants != has => {
            let Given { name, shape } = first;
            let problem = format!("it takes {wants}, and `{name}` gives {shape}, {has}");
            Err(Diagnosis::of(problem).remedy("put it behind a layer that gives what it takes"))
        }
        _ => Ok(first.shape),
    }
}

/// Refuses two inputs that do not match each other.
fn apart(first: Given<'_>, other: Given<'_>) -> Diagnosis {
    Diagnosis::of(format!(
        "its inputs do not meet: `{}` gives {}, `{}` gives {}",
        first.name, first.shape, other.name, other.shape
    ))
    .remedy("give both the same shape")
}

/// The shape that a layer writes; its inputs have been looked at.
fn output(kind: &LayerKind, given: &[Given<'_>]) -> Result<Shape, Diagnosis> {
    use LayerKind as Kind;
    let first = given[0];
    Ok(match (*kind, first.shape) {
        (
            Kind::Convolution { channels, window, groups, .. },
            Shape::Image { channels: own, .. },
        ) => {
            if !own.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
                let name = first.name;
                let problem = format!(
                    "{groups} groups divide not both the {own} channels of `{name}` and its own \
                     {channels}"
                );
                return Err(Diagnosis::of(problem).remedy("take groups that divide both"));
            }
            moved(window, channels, first)?
        }
        (
            Kind::MaxPooling(window) | Kind::AveragePooling(window),
            Shape::Image { channels, .. },
        ) => moved(window, channels, first)?,
        (Kind::GlobalAveragePooling, Shape::Image { channels, .. }) => {
            Shape::Image { channels, height: 1, width: 1 }
        }
        (Kind::Subsampling { channels, stride }, Shape::Image { channels: own, height, width }) => {
            if channels < own {
                let problem = format!("its {channels} channels are fewer than the {own} given");
                return Err(Diagnosis::of(problem).remedy("a shortcut only adds channels"));
            }
            Shape::Image {
                channels,
                height: height.div_ceil(stride),
                width: width.div_ceil(stride),
            }
        }
        (Kind::Concatenation, _) => concatenated(given)?,
        (Kind::Addition | Kind::Multiplication, shape) => {
            match given.iter().find(|other| other.shape != shape) {
                Some(other) => return Err(apart(first, *other)),
                None => shape,
            }
        }
        (Kind::Embedding { width, .. }, Shape::Tokens { tokens, width: one }) => {
            if one != 1 {
                let (name, shape) = (first.name, first.shape);
                let problem = format!("it takes token numbers, and `{name}` gives {shape}");
                return Err(Diagnosis::of(problem).remedy("give it tokens of width 1"));
            }
            Shape::Tokens { tokens, width }
        }
        (Kind::PositionEmbedding { positions }, Shape::Tokens { tokens, .. })
            if tokens > positions =>
        {
            let problem = format!("it has {positions} positions for {tokens} tokens");
            return Err(Diagnosis::of(problem).remedy("take fewer tokens or more positions"));
        }
        (Kind::FullyConnected { width, .. }, Shape::Tokens { tokens, .. })
        | (Kind::LongShortTermMemory { width, .. }, Shape::Tokens { tokens, .. }) => {
            Shape::Tokens { tokens, width }
        }
        (Kind::FullyConnected { width, .. }, _) => Shape::Vector { width },
        (Kind::Attention { heads, key_value_heads, .. }, Shape::Tokens { tokens, width }) => {
            let all = heads + 2 * key_value_heads;
            if !width.is_multiple_of(all) || !heads.is_multiple_of(key_value_heads) {
                let problem = format!(
                    "{heads} heads of queries and {key_value_heads} each of keys and values do not \
                     divide the width {width} of `{}`",
                    first.name
                );
                let remedy = format!(
                    "take key_value_heads that divide heads, and a width that is a multiple of {all}"
                );
                return Err(Diagnosis::of(problem).remedy(remedy));
            }
            Shape::Tokens { tokens, width: width / all * heads }
        }
        (_, shape) => shape,
    })
}

/// The output of a window that moves over a picture.
fn moved(window: Window, channels: u64, input: Given<'_>) -> Result<Shape, Diagnosis> {
    let Given { name, shape } = input;
    let Shape::Image { height, width, .. } = shape else { return Ok(shape) };
    match (window.places(height, 0), window.places(width, 1)) {
        (Some(height), Some(width)) => Ok(Shape::Image { channels, height, width }),
        _ => {
            let [tall, wide] = window.kernel;
            let problem = format!(
                "its window of {tall} x {wide} does not fit the {shape} that `{name}` gives"
            );
            Err(Diagnosis::of(problem).remedy("take a smaller kernel, padding, or a larger input"))
        }
    }
}

/// Puts all inputs behind one another.
fn concatenated(given: &[Given<'_>]) -> Result<Shape, Diagnosis> {
    let first = given[0];
    let mut whole = first.shape;
    for other in &given[1..] {
        whole = match (whole, other.shape) {
            (Shape::Vector { width }, Shape::Vector { width: more }) => {
                Shape::Vector { width: width + more }
            }
            (Shape::Tokens { tokens, width }, Shape::Tokens { tokens: same, width: more })
                if tokens == same =>
            {
                Shape::Tokens { tokens, width: width + more }
            }
            (
                Shape::Image { channels, height, width },
                Shape::Image { channels: more, height: tall, width: wide },
            ) if height == tall && width == wide => {
                Shape::Image { channels: channels + more, height, width }
            }
            _ => return Err(apart(first, *other)),
        };
    }
    Ok(whole)
}

/// Counts the work of a layer's one sample, from an input and an output that belong together.
fn counts(kind: &LayerKind, input: Shape, output: Shape, inputs: u64) -> Counts {
    use LayerKind as Kind;
    let (read, written) = (input.elements(), output.elements());
    let positions = input.positions();
    let of_each = |operations: u64| Counts {
        elementwise: product(&[operations, written]),
        ..Counts::default()
    };
    // A normalization trains numbers of each channel, or of each place of a vector.
    let channels = match input {
        Shape::Image { channels, .. } => channels,
        Shape::Tokens { width, .. } | Shape::Vector { width } => width,
    };
    match *kind {
        Kind::Convolution { channels: own, window, groups, bias } => {
            let filter = [channels / groups, window.kernel[0], window.kernel[1]];
            Counts {
                parameters: product(&filter).saturating_mul(own.into())
                    + u128::from(if bias { own } else { 0 }),
                multiply_adds: product(&filter).saturating_mul(written.into()),
                elementwise: u128::from(if bias { written } else { 0 }),
            }
        }
        Kind::FullyConnected { width, bias, tied } => {
            let matrix = product(&[read / positions, width]);
            Counts {
                parameters: if tied { 0 } else { matrix }
                    + u128::from(if bias { width } else { 0 }),
                multiply_adds: matrix.saturating_mul(positions.into()),
                elementwise: u128::from(if bias { written } else { 0 }),
            }
        }
        Kind::MaxPooling(window) | Kind::AveragePooling(window) => Counts {
            elementwise: product(&[written, window.kernel[0], window.kernel[1]]),
            ..Counts::default()
        },
        Kind::GlobalAveragePooling => Counts { elementwise: read.into(), ..Counts::default() },
        Kind::Activation(activation) => of_each(match activation {
            Activation::Relu | Activation::Tanh => 1,
            Activation::Sigmoid => SIGMOID,
            Activation::Silu => SIGMOID + 1,
            // Three for the cube, two to add it, the scale, the tangent, and two to apply it.
            Activation::Gelu => 9,
        }),
        // Mean, variance, and one product and sum that normalize, scale and shift.
        Kind::BatchNormalization => Counts { parameters: product(&[2, channels]), ..of_each(6) },
        Kind::LayerNormalization { bias } => Counts {
            parameters: product(&[1 + u64::from(bias), channels]),
            ..of_each(7 + u64::from(bias))
        },
        Kind::RootMeanSquareNormalization => Counts { parameters: channels.into(), ..of_each(4) },
        // The square, the neighbours' sum, its scale and shift, the power, the product.
        Kind::LocalResponseNormalization { size } => of_each(size + 5),
        Kind::Dropout => of_each(2),
        Kind::Softmax => of_each(SOFTMAX),
        Kind::Concatenation | Kind::Subsampling { .. } => Counts::default(),
        Kind::Addition | Kind::Multiplication => of_each(inputs - 1),
        Kind::Embedding { vocabulary, width } => {
            Counts { parameters: product(&[vocabulary, width]), ..Counts::default() }
        }
        Kind::PositionEmbedding { positions } => {
            Counts { parameters: product(&[positions, channels]), ..of_each(1) }
        }
        Kind::LongShortTermMemory { width, biases } => {
            let matrices = product(&[4, width, channels + width]);
            Counts {
                parameters: matrices.saturating_add(product(&[4, width, biases])),
                multiply_adds: matrices.saturating_mul(positions.into()),
                // Of four gates the sum of both products, biases and function; the cell's three
                // operations, its tangent and the product with it.
                ..of_each(4 + 4 * biases + 3 * SIGMOID + 1 + 5)
            }
        }
        Kind::Attention { heads, key_value_heads, rotary, causal } => {
            let pairs = if causal {
                product(&[positions, positions + 1]) / 2
            } else {
                product(&[positions, positions])
            };
            let turned = if rotary {
                read / (heads + 2 * key_value_heads) * (heads + key_value_heads)
            } else {
                0
            };
            Counts {
                parameters: 0,
                // Queries by keys, and shares by values.
                multiply_adds: pairs.saturating_mul(product(&[2, written / positions])),
                elementwise: pairs
                    .saturating_mul(product(&[heads, SOFTMAX + 1]))
                    .saturating_add(product(&[3, turned])),
            }
        }
    }
}

/// Says which data a layer's backward pass needs, from an input and an output that belong together.
/// Functions that are not done in place leave their input behind, too.
pub(super) fn kept(kind: &LayerKind, input: Shape, output: Shape, in_place: bool) -> Kept {
    use LayerKind as Kind;
    let (inputs, from_output, own) = match *kind {
        Kind::Convolution { .. } | Kind::FullyConnected { .. } | Kind::Embedding { .. } => {
            (true, false, 0)
        }
        // As cuDNN takes them.
        Kind::MaxPooling(_) => (true, true, 0),
        Kind::Activation(Activation::Gelu | Activation::Silu) => (true, false, 0),
        Kind::Activation(_) => (!in_place, true, 0),
        Kind::Softmax => (false, true, 0),
        // Mean and variance are of the whole batch.
        Kind::BatchNormalization => (true, false, 0),
        Kind::LayerNormalization { .. } => (true, false, 2 * input.positions()),
        Kind::RootMeanSquareNormalization => (true, false, input.positions()),
        // The divisor of each number.
        Kind::LocalResponseNormalization { .. } => (true, true, output.elements()),
        // Which numbers were set to zero.
        Kind::Dropout => (false, false, output.elements()),
        Kind::Multiplication => (true, false, 0),
        // Four gates and the cell.
        Kind::LongShortTermMemory { .. } => (true, true, 5 * output.elements()),
        // The softmax's sum for each head and token.
        Kind::Attention { heads, .. } => (true, true, heads * input.positions()),
        Kind::AveragePooling(_)
        | Kind::GlobalAveragePooling
        | Kind::Concatenation
        | Kind::Addition
        | Kind::PositionEmbedding { .. }
        | Kind::Subsampling { .. } => (false, false, 0),
    };
    Kept { inputs, output: from_output, own }
}
