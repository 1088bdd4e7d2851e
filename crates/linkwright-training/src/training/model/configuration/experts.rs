//! Reads families of models with experts.

use super::families::{COMMON, WINDOWS, dense, layers, plain};
use super::fields::{Fields, MOST_EXPERTS, MOST_LAYERS, MOST_WIDTH};
use crate::diagnostic::InputError;
use crate::training::model::{Blocks, Experts, Family, LanguageModel, Latent, Mlp};

/// Fields about how a router is trained.
const ROUTER: [&str; 5] = [
    "router_aux_loss_coef",
    "output_router_logits",
    "router_jitter_noise",
    "norm_topk_prob",
    "router_bias_update_rate",
];

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

pub(super) fn mixtral(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
    let own = ["num_local_experts", "num_experts_per_tok"];
    fields.check(&[&COMMON[..], &own].concat(), &[&WINDOWS[..], &ROUTER].concat())?;
    let mut model = plain(fields, Family::Mixtral)?;
    let (count, top) = router(fields, "num_local_experts", "num_experts_per_tok")?;
    let inner = fields.need("intermediate_size", MOST_WIDTH)?;
    let mlp = Mlp::Experts(Experts { count, top, inner, ..Experts::plain() });
    model.blocks = vec![Blocks { count: layers(fields)?, mlp }];
    Ok(model)
}

pub(super) fn gpt_oss(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
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

pub(super) fn qwen(fields: &Fields<'_>, kind: &str) -> Result<LanguageModel, InputError> {
    let own = [
        "attention_bias",
        "qkv_bias",
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
        "shared_expert_intermediate_size",
        "decoder_sparse_step",
        "mlp_only_layers",
    ];
    let read = if kind.ends_with("moe") { &own[..] } else { &own[..2] };
    fields.check(&[&COMMON[..], read].concat(), &[&WINDOWS[..], &ROUTER].concat())?;
    let mut model = plain(fields, Family::Qwen)?;
    let is_third = kind.starts_with("qwen3");
    model.attention.head_norms = is_third;
    let bias = fields.flag("qkv_bias", fields.flag("attention_bias", !is_third)?)?;
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

pub(super) fn deepseek(fields: &Fields<'_>) -> Result<LanguageModel, InputError> {
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
