//! Reads the fields that most families have, and families without experts.

use super::fields::{Fields, MOST_HEADS, MOST_LAYERS, MOST_TOKENS, MOST_WIDTH};
use crate::diagnostic::InputError;
use crate::training::model::{Attention, Blocks, Family, LanguageModel, Mlp, Norm};

/// The longest sequence that is taken where nobody says one: long contexts are trained at the end.
const USUAL_TOKENS: u64 = 8192;

/// Names the fields of a transformer as most families write them.
pub(super) const COMMON: [&str; 11] = [
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "tie_word_embeddings",
    "max_position_embeddings",
    "hidden_act",
    "rope_scaling",
];
/// Fields about which tokens see which, by which memory and counts do not change.
pub(super) const WINDOWS: [&str; 5] =
    ["sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "use_mrope"];

/// Reads the same of all: attention by heads, root mean squares, places that turn.
pub(super) fn plain(fields: &Fields<'_>, family: Family) -> Result<LanguageModel, InputError> {
    let hidden = fields.need("hidden_size", MOST_WIDTH)?;
    let heads = fields.need("num_attention_heads", MOST_HEADS)?;
    let key_value_heads = fields.number("num_key_value_heads", (1, MOST_HEADS))?.unwrap_or(heads);
    if !heads.is_multiple_of(key_value_heads) {
        let remedy = format!("take a divisor of the {heads} heads of `num_attention_heads`");
        return Err(fields.refuse("num_key_value_heads", "impossible value", remedy));
    }
    let head = match fields.number("head_dim", (1, MOST_WIDTH))? {
        Some(head) => head,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            let remedy = format!("take a divisor of `hidden_size`, {hidden}, or add `head_dim`");
            return Err(fields.refuse("num_attention_heads", "impossible value", remedy));
        }
    };
    gated_by_silu(fields, "hidden_act")?;
    let most = fields.number("max_position_embeddings", (1, MOST_TOKENS))?;
    let first = match fields.table("rope_scaling")? {
        Some(scaling) => {
            scaling.number("original_max_position_embeddings", (1, MOST_TOKENS)).unwrap_or(None)
        }
        None => None,
    };
    Ok(LanguageModel {
        name: String::new(),
        source: String::new(),
        family,
        hidden,
        vocabulary: fields.need("vocab_size", 1 << 24)?,
        tied: fields.flag("tie_word_embeddings", false)?,
        positions: 0,
        tokens: first.or(most).unwrap_or(USUAL_TOKENS).min(USUAL_TOKENS),
        attention: Attention {
            heads,
            key_value_heads,
            head,
            value_head: head,
            latent: None,
            bias: false,
            output_bias: false,
            head_norms: false,
            sinks: false,
            triton: false,
            rotary: true,
        },
        norm: Norm::RootMeanSquare,
        blocks: Vec::new(),
    })
}

pub(super) fn gated_by_silu(fields: &Fields<'_>, field: &str) -> Result<(), InputError> {
    match fields.text(field)? {
        None | Some("silu" | "swish") => Ok(()),
        Some(_) => Err(fields.refuse(field, "another function", "write silu")),
    }
}

pub(super) fn layers(fields: &Fields<'_>) -> Result<u64, InputError> {
    fields.need("num_hidden_layers", MOST_LAYERS)
}

pub(super) fn dense(fields: &Fields<'_>, bias: bool) -> Result<Mlp, InputError> {
    let inner = fields.need("intermediate_size", MOST_WIDTH)?;
    Ok(Mlp::Dense { inner, gated: true, bias })
}

pub(super) fn llama(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
    let own = ["attention_bias", "mlp_bias"];
    fields.check(&[&COMMON[..], &own].concat(), &[])?;
    let mut model = plain(fields, Family::Llama)?;
    let bias = fields.flag("attention_bias", false)?;
    model.attention.bias = bias;
    model.attention.output_bias = bias;
    let mlp = dense(fields, fields.flag("mlp_bias", false)?)?;
    model.blocks = vec![Blocks { count: layers(fields)?, mlp }];
    Ok(model)
}

pub(super) fn mistral(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
    fields.check(&COMMON, &WINDOWS)?;
    let mut model = plain(fields, Family::Mistral)?;
    model.blocks = vec![Blocks { count: layers(fields)?, mlp: dense(fields, false)? }];
    Ok(model)
}
