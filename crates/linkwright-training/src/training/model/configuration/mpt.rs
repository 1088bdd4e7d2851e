//! Reads MPT, whose fields have names of their own.

use super::fields::{Fields, MOST_HEADS, MOST_LAYERS, MOST_TOKENS, MOST_WIDTH};
use crate::diagnostic::InputError;
use crate::training::model::{Attention, Blocks, Family, LanguageModel, Mlp, Norm};

pub(super) fn read(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
    let read = [
        "d_model",
        "n_heads",
        "n_layers",
        "expansion_ratio",
        "max_seq_len",
        "vocab_size",
        "no_bias",
        "learned_pos_emb",
        "attn_config",
        "tie_word_embeddings",
        "norm_type",
    ];
    let unread = [
        "emb_pdrop",
        "embedding_fraction",
        "fc_type",
        "ffn_config",
        "init_config",
        "init_device",
        "is_encoder_decoder",
        "logit_scale",
        "resid_pdrop",
        "tokenizer_name",
        "use_pad_tok_in_ffn",
        "verbose",
    ];
    fields.check(&read, &unread)?;
    let hidden = fields.need("d_model", MOST_WIDTH)?;
    let heads = fields.need("n_heads", MOST_HEADS)?;
    if !hidden.is_multiple_of(heads) {
        let remedy = format!("take a divisor of `d_model`, {hidden}");
        return Err(fields.refuse("n_heads", "impossible value", remedy));
    }
    if !matches!(fields.text("norm_type")?, None | Some("low_precision_layernorm" | "layernorm")) {
        let remedy = "write low_precision_layernorm or layernorm";
        return Err(fields.refuse("norm_type", "another norm", remedy));
    }
    let bias = !fields.flag("no_bias", false)?;
    let (mut alibi, mut rotary, mut key_value_heads) = (false, false, heads);
    let mut triton = false;
    if let Some(own) = fields.table("attn_config")? {
        alibi = own.flag("alibi", false)?;
        rotary = own.flag("rope", false)?;
        triton = alibi || own.text("attn_impl")? == Some("triton");
        key_value_heads = match own.text("attn_type")? {
            Some("multiquery_attention") => 1,
            Some("grouped_query_attention") => own.need("kv_n_heads", heads)?,
            _ => heads,
        };
        if !heads.is_multiple_of(key_value_heads) {
            let remedy = format!("take a divisor of the {heads} heads of `n_heads`");
            return Err(own.refuse("kv_n_heads", "impossible value", remedy));
        }
        if own.flag("qk_ln", false)? {
            return Err(own.refuse("qk_ln", "norms of queries and keys", "write false"));
        }
    }
    let tokens = fields.need("max_seq_len", MOST_TOKENS)?;
    let is_learned = fields.flag("learned_pos_emb", true)? && !alibi && !rotary;
    let inner = hidden * fields.number("expansion_ratio", (1, 64))?.unwrap_or(4);
    let head = hidden / heads;
    Ok(LanguageModel {
        name: String::new(),
        source: String::new(),
        family: Family::Mpt,
        hidden,
        vocabulary: fields.need("vocab_size", 1 << 24)?,
        tied: fields.flag("tie_word_embeddings", true)?,
        positions: if is_learned { tokens } else { 0 },
        tokens,
        attention: Attention {
            heads,
            key_value_heads,
            head,
            value_head: head,
            latent: None,
            bias,
            output_bias: bias,
            head_norms: false,
            sinks: false,
            rotary,
            triton,
        },
        norm: Norm::Layer { bias },
        blocks: vec![Blocks {
            count: fields.need("n_layers", MOST_LAYERS)?,
            mlp: Mlp::Dense { inner, gated: false, bias },
        }],
    })
}
