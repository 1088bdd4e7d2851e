//! Says what each family's fields mean.

use super::fields::{Fields, MOST_EXPERTS, MOST_HEADS, MOST_LAYERS, MOST_TOKENS, MOST_WIDTH};
use crate::diagnostic::InputError;
use crate::training::model::{Attention, Blocks, Experts, Family, Latent, Mlp, Model, Norm};

/// The longest sequence that is taken where nobody says one: long contexts are trained at the end.
const USUAL_TOKENS: u64 = 8192;

/// Names the fields of a transformer as most families write them.
const COMMON: [&str; 11] = [
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
const WINDOWS: [&str; 4] =
    ["sliding_window", "use_sliding_window", "max_window_layers", "layer_types"];
/// Fields about how a router is trained.
const ROUTER: [&str; 5] = [
    "router_aux_loss_coef",
    "output_router_logits",
    "router_jitter_noise",
    "norm_topk_prob",
    "router_bias_update_rate",
];

/// Reads the same of all: attention by heads, root mean squares, places that turn.
fn plain(fields: &Fields<'_>, family: Family) -> Result<Model, InputError> {
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
    Ok(Model {
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
            rotary: true,
        },
        norm: Norm::RootMeanSquare,
        blocks: Vec::new(),
    })
}

fn gated_by_silu(fields: &Fields<'_>, field: &str) -> Result<(), InputError> {
    match fields.text(field)? {
        None | Some("silu" | "swish") => Ok(()),
        Some(_) => Err(fields.refuse(field, "another function", "write silu")),
    }
}

fn layers(fields: &Fields<'_>) -> Result<u64, InputError> {
    fields.need("num_hidden_layers", MOST_LAYERS)
}

fn dense(fields: &Fields<'_>, bias: bool) -> Result<Mlp, InputError> {
    let inner = fields.need("intermediate_size", MOST_WIDTH)?;
    Ok(Mlp::Dense { inner, gated: true, bias })
}

/// Blocks by what each holds, those alike in a row together.
fn in_rows(each: impl Iterator<Item = Mlp>) -> Vec<Blocks> {
    let mut rows: Vec<Blocks> = Vec::new();
    for mlp in each {
        match rows.last_mut() {
            Some(last) if last.mlp == mlp => last.count += 1,
            _ => rows.push(Blocks { count: 1, mlp }),
        }
    }
    rows
}

/// How many experts there are, and to how many a token goes.
fn router(fields: &Fields<'_>, count: &str, top: &str) -> Result<(u64, u64), InputError> {
    let experts = fields.need(count, MOST_EXPERTS)?;
    let chosen = fields.need(top, MOST_EXPERTS)?;
    if chosen > experts {
        let remedy = format!("take at most the {experts} experts of `{count}`");
        return Err(fields.refuse(top, "impossible value", remedy));
    }
    Ok((experts, chosen))
}

pub(super) fn llama(fields: &Fields<'_>) -> Result<Model, InputError> {
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

pub(super) fn mistral(fields: &Fields<'_>) -> Result<Model, InputError> {
    fields.check(&COMMON, &WINDOWS)?;
    let mut model = plain(fields, Family::Mistral)?;
    model.blocks = vec![Blocks { count: layers(fields)?, mlp: dense(fields, false)? }];
    Ok(model)
}

pub(super) fn mixtral(fields: &Fields<'_>) -> Result<Model, InputError> {
    let own = ["num_local_experts", "num_experts_per_tok"];
    fields.check(&[&COMMON[..], &own].concat(), &[&WINDOWS[..], &ROUTER].concat())?;
    let mut model = plain(fields, Family::Mixtral)?;
    let (count, top) = router(fields, "num_local_experts", "num_experts_per_tok")?;
    let inner = fields.need("intermediate_size", MOST_WIDTH)?;
    let mlp = Mlp::Experts(Experts { count, top, inner, ..Experts::plain() });
    model.blocks = vec![Blocks { count: layers(fields)?, mlp }];
    Ok(model)
}

pub(super) fn gpt_oss(fields: &Fields<'_>) -> Result<Model, InputError> {
    let own = ["num_local_experts", "num_experts_per_tok", "experts_per_token", "attention_bias"];
    let unread = ["swiglu_limit", "initial_context_length"];
    let unread = [&WINDOWS[..], &ROUTER, &unread].concat();
    fields.check(&[&COMMON[..], &own].concat(), &unread)?;
    let mut model = plain(fields, Family::GptOss)?;
    let top = if fields.get("num_experts_per_tok").is_some() {
        "num_experts_per_tok"
    } else {
        "experts_per_token"
    };
    let (count, top) = router(fields, "num_local_experts", top)?;
    let bias = fields.flag("attention_bias", true)?;
    model.attention.bias = bias;
    model.attention.output_bias = bias;
    model.attention.sinks = true;
    let inner = fields.need("intermediate_size", MOST_WIDTH)?;
    let experts = Experts { count, top, inner, router_bias: true, bias: true, ..Experts::plain() };
    model.blocks = vec![Blocks { count: layers(fields)?, mlp: Mlp::Experts(experts) }];
    Ok(model)
}

pub(super) fn qwen(fields: &Fields<'_>, kind: &str) -> Result<Model, InputError> {
    let own = [
        "attention_bias",
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
        "shared_expert_intermediate_size",
        "decoder_sparse_step",
        "mlp_only_layers",
    ];
    let read = if kind.ends_with("moe") { &own[..] } else { &own[..1] };
    fields.check(&[&COMMON[..], read].concat(), &[&WINDOWS[..], &ROUTER].concat())?;
    let mut model = plain(fields, Family::Qwen)?;
    let is_third = kind.starts_with("qwen3");
    model.attention.head_norms = is_third;
    let bias = fields.flag("attention_bias", !is_third)?;
    model.attention.bias = bias;
    model.attention.output_bias = bias && is_third;
    let count = layers(fields)?;
    if !kind.ends_with("moe") {
        model.blocks = vec![Blocks { count, mlp: dense(fields, false)? }];
        return Ok(model);
    }
    let (experts, top) = router(fields, "num_experts", "num_experts_per_tok")?;
    let inner = fields.need("moe_intermediate_size", MOST_WIDTH)?;
    let shared = fields.number("shared_expert_intermediate_size", (0, MOST_WIDTH))?.unwrap_or(0);
    let shared_gate = shared > 0;
    let made = Experts { count: experts, top, inner, shared, shared_gate, ..Experts::plain() };
    let step = fields.number("decoder_sparse_step", (1, MOST_LAYERS))?.unwrap_or(1);
    let dense_ones = fields.numbers("mlp_only_layers", MOST_LAYERS)?;
    let is_dense = |at: u64| dense_ones.contains(&at) || !(at + 1).is_multiple_of(step);
    let other = if (0..count).any(is_dense) { Some(dense(fields, false)?) } else { None };
    let each = (0..count).map(|at| other.filter(|_| is_dense(at)).unwrap_or(Mlp::Experts(made)));
    model.blocks = in_rows(each);
    Ok(model)
}

pub(super) fn deepseek(fields: &Fields<'_>) -> Result<Model, InputError> {
    let own = [
        "q_lora_rank",
        "kv_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "n_routed_experts",
        "num_experts_per_tok",
        "n_shared_experts",
        "moe_intermediate_size",
        "first_k_dense_replace",
        "moe_layer_freq",
        "topk_method",
        "attention_bias",
    ];
    let unread = [
        "aux_loss_alpha",
        "ep_size",
        "n_group",
        "num_nextn_predict_layers",
        "qk_head_dim",
        "routed_scaling_factor",
        "scoring_func",
        "seq_aux",
        "topk_group",
    ];
    fields.check(&[&COMMON[..], &own].concat(), &[&ROUTER[..], &unread].concat())?;
    if fields.flag("attention_bias", false)? {
        return Err(fields.refuse("attention_bias", "biases", "write false"));
    }
    let mut model = plain(fields, Family::DeepSeek)?;
    let unturned = fields.need("qk_nope_head_dim", MOST_WIDTH)?;
    let rotary = fields.need("qk_rope_head_dim", MOST_WIDTH)?;
    model.attention.head = unturned + rotary;
    model.attention.value_head = fields.need("v_head_dim", MOST_WIDTH)?;
    model.attention.key_value_heads = model.attention.heads;
    model.attention.latent = Some(Latent {
        query: fields.number("q_lora_rank", (1, MOST_WIDTH))?,
        key_value: fields.need("kv_lora_rank", MOST_WIDTH)?,
        rotary,
    });
    let count = layers(fields)?;
    let (experts, top) = router(fields, "n_routed_experts", "num_experts_per_tok")?;
    let inner = fields.need("moe_intermediate_size", MOST_WIDTH)?;
    let shared = fields.number("n_shared_experts", (0, MOST_EXPERTS))?.unwrap_or(0);
    // Version 3 balances experts by a number of each that is added to its score.
    let router_bias = fields.text("topk_method")? == Some("noaux_tc");
    let shared = shared * inner;
    let made = Experts { count: experts, top, inner, shared, router_bias, ..Experts::plain() };
    let first = fields.number("first_k_dense_replace", (0, MOST_LAYERS))?.unwrap_or(0);
    let step = fields.number("moe_layer_freq", (1, MOST_LAYERS))?.unwrap_or(1);
    let is_dense = |at: u64| at < first || !at.is_multiple_of(step);
    let other = if (0..count).any(is_dense) { Some(dense(fields, false)?) } else { None };
    let each = (0..count).map(|at| other.filter(|_| is_dense(at)).unwrap_or(Mlp::Experts(made)));
    model.blocks = in_rows(each);
    Ok(model)
}

pub(super) fn mpt(fields: &Fields<'_>) -> Result<Model, InputError> {
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
    if let Some(own) = fields.table("attn_config")? {
        alibi = own.flag("alibi", false)?;
        rotary = own.flag("rope", false)?;
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
    Ok(Model {
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
        },
        norm: Norm::Layer { bias },
        blocks: vec![Blocks {
            count: fields.need("n_layers", MOST_LAYERS)?,
            mlp: Mlp::Dense { inner, gated: false, bias },
        }],
    })
}
