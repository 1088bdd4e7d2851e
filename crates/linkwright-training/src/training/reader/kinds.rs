//! Reads the kind of layer that an entry of a file describes.

use super::source::{Keys, Numbers};
use crate::diagnostic::{InputError, Named, instead_of};
use crate::training::layer::{Activation, LayerKind, Window};
use crate::training::shape::MOST_EXTENT;

/// Limits sizes, from the least to the most.
const SIZE: (u64, u64) = (1, MOST_EXTENT);
/// Limits a window, and how far it moves, from the least to the most.
const WINDOW: (u64, u64) = (1, 1024);
/// Limits a filter's padding, from the least to the most.
const PADDING: (u64, u64) = (0, 1024);

/// The keys that every layer has besides those of its kind.
const COMMON: [&str; 5] = ["name", "kind", "from", "then", "split"];

/// Lists every kind with its own keys.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    ("convolution", &["channels", "kernel", "stride", "padding", "groups", "bias"]),
    ("fully-connected", &["width", "bias", "tied"]),
    ("max-pooling", &["kernel", "stride", "padding", "ceiling"]),
    ("average-pooling", &["kernel", "stride", "padding", "ceiling"]),
    ("global-average-pooling", &[]),
    ("relu", &[]),
    ("tanh", &[]),
    ("sigmoid", &[]),
    ("gelu", &[]),
    ("silu", &[]),
    ("batch-norm", &[]),
    ("layer-norm", &["bias"]),
    ("rms-norm", &[]),
    ("local-response-norm", &["size"]),
    ("dropout", &[]),
    ("softmax", &[]),
    ("concat", &[]),
    ("add", &[]),
    ("multiply", &[]),
    ("embedding", &["vocabulary", "width"]),
    ("position-embedding", &["positions"]),
    ("lstm", &["width", "biases"]),
    ("attention", &["heads", "key_value_heads", "rotary", "causal"]),
    ("subsampling", &["channels", "stride"]),
];

/// Returns a kind that needs no keys, by its name. `then` lists such names.
pub(super) fn plain(name: &str) -> Option<LayerKind> {
    Some(match name {
        "batch-norm" => LayerKind::BatchNormalization,
        "layer-norm" => LayerKind::LayerNormalization { bias: true },
        "rms-norm" => LayerKind::RootMeanSquareNormalization,
        "global-average-pooling" => LayerKind::GlobalAveragePooling,
        "dropout" => LayerKind::Dropout,
        "softmax" => LayerKind::Softmax,
        activation => LayerKind::Activation(Activation::from_name(activation).ok()?),
    })
}

/// Lists the kinds that need no keys.
pub(super) fn plain_names() -> Vec<&'static str> {
    KINDS.iter().map(|(name, _)| *name).filter(|name| plain(name).is_some()).collect()
}

/// Reads the kind of a layer.
///
/// # Errors
/// A kind that there is none of, a key that it has not, one that it needs, a value out of range.
pub(super) fn kind(keys: &Keys<'_>, numbers: &Numbers) -> Result<LayerKind, InputError> {
    let Some((name, span)) = keys.text("kind")? else {
        let remedy = "write `kind = \"convolution\"` or another, or `use = \"BLOCK\"`";
        return Err(keys.refuse(keys.span(), "a layer without a kind", remedy));
    };
    let Some((_, own)) = KINDS.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        return Err(keys.refuse(span, "there is no kind of layer", instead_of(name, &known)));
    };
    let known: Vec<&str> = COMMON.iter().chain(*own).copied().collect();
    keys.check(&format!("a layer of kind {name}"), &known)?;
    let need = |key: &str, bounds| {
        keys.number(key, numbers, bounds)?.ok_or_else(|| {
            let problem = format!("a layer of kind {name} needs `{key}`");
            keys.refuse(keys.span(), problem, format!("write {key} = a whole number"))
        })
    };
    let window = |pooling: bool| window(keys, numbers, pooling);
    Ok(match name {
        "convolution" => LayerKind::Convolution {
            channels: need("channels", SIZE)?,
            window: window(false)?,
            groups: keys.number("groups", numbers, SIZE)?.unwrap_or(1),
            bias: keys.flag("bias", true)?,
        },
        "fully-connected" => LayerKind::FullyConnected {
            width: need("width", SIZE)?,
            bias: keys.flag("bias", true)?,
            tied: keys.flag("tied", false)?,
        },
        "max-pooling" => LayerKind::MaxPooling(window(true)?),
        "average-pooling" => LayerKind::AveragePooling(window(true)?),
        "layer-norm" => LayerKind::LayerNormalization { bias: keys.flag("bias", true)? },
        "local-response-norm" => {
            LayerKind::LocalResponseNormalization { size: need("size", WINDOW)? }
        }
        "concat" => LayerKind::Concatenation,
        "add" => LayerKind::Addition,
        "multiply" => LayerKind::Multiplication,
        "embedding" => LayerKind::Embedding {
            vocabulary: need("vocabulary", SIZE)?,
            width: need("width", SIZE)?,
        },
        "position-embedding" => {
            LayerKind::PositionEmbedding { positions: need("positions", SIZE)? }
        }
        "lstm" => LayerKind::LongShortTermMemory {
            width: need("width", SIZE)?,
            biases: keys.number("biases", numbers, (0, 2))?.unwrap_or(2),
        },
        "attention" => {
            let heads = need("heads", SIZE)?;
            LayerKind::Attention {
                heads,
                key_value_heads: keys.number("key_value_heads", numbers, SIZE)?.unwrap_or(heads),
                rotary: keys.flag("rotary", false)?,
                causal: keys.flag("causal", true)?,
            }
        }
        "subsampling" => LayerKind::Subsampling {
            channels: need("channels", SIZE)?,
            stride: need("stride", WINDOW)?,
        },
        plain_name => match plain(plain_name) {
            Some(kind) => kind,
            None => return Err(keys.refuse(span, "there is no kind of layer", "take another")),
        },
    })
}

/// The window of a convolution or of pooling, which moves by its own size unless told otherwise.
fn window(keys: &Keys<'_>, numbers: &Numbers, pooling: bool) -> Result<Window, InputError> {
    let Some(kernel) = keys.both_ways("kernel", numbers, WINDOW)? else {
        let remedy = "write kernel = 3, or height and width: [1, 7]";
        return Err(keys.refuse(keys.span(), "the layer needs `kernel`", remedy));
    };
    let alone = if pooling { kernel } else { [1, 1] };
    let stride = keys.both_ways("stride", numbers, WINDOW)?.unwrap_or(alone);
    let padding = keys.both_ways("padding", numbers, PADDING)?.unwrap_or([0, 0]);
    if padding[0] >= kernel[0] || padding[1] >= kernel[1] {
        let problem = "padding as wide as the kernel gives windows of nothing";
        let span = keys.get("padding").map_or(keys.span(), toml::Spanned::span);
        return Err(keys.refuse(span, problem, "take less padding than the kernel is wide"));
    }
    let ceiling = pooling && keys.flag("ceiling", false)?;
    Ok(Window { kernel, stride, padding, ceiling })
}
