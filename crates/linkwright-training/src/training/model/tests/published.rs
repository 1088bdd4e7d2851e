//! Reads configurations with the fields and values that were published with the models of each family.

use super::LanguageModel;
use crate::training::model::{Family, Mlp};

/// Lists a family's configuration, the model's count of parameters and, in millions, those of each token.
const PUBLISHED: [(&str, Family, u64, u64); 12] = [
    (
        // meta-llama/Llama-3.1-8B
        r#"{ "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 4096,
        "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072,
        "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": { "factor": 8.0,
        "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
        "rope_type": "llama3" }, "rope_theta": 500000.0, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "transformers_version": "4.43.0.dev0", "use_cache": true,
        "vocab_size": 128256 }"#,
        Family::Llama,
        8_030_261_248,
        8_030,
    ),
    (
        // Qwen/Qwen2.5-7B
        r#"{ "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
        "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02,
        "intermediate_size": 18944, "max_position_embeddings": 131072, "max_window_layers": 28,
        "model_type": "qwen2", "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 131072,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.40.1",
        "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 152064 }"#,
        Family::Qwen,
        7_615_616_512,
        7_615,
    ),
    (
        // Qwen/Qwen3-8B
        r#"{ "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 12288,
        "max_position_embeddings": 40960, "max_window_layers": 36, "model_type": "qwen3",
        "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
        "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
        "use_sliding_window": false, "vocab_size": 151936 }"#,
        Family::Qwen,
        8_190_735_360,
        8_190,
    ),
    (
        // Qwen/Qwen1.5-MoE-A2.7B, whose card says 14.3 and 2.7 billion.
        r#"{ "architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
        "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 5632, "max_position_embeddings": 8192, "max_window_layers": 21,
        "model_type": "qwen2_moe", "num_attention_heads": 16, "num_hidden_layers": 24,
        "num_key_value_heads": 16, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.39.0.dev0",
        "use_cache": true, "use_sliding_window": false, "vocab_size": 151936, "decoder_sparse_step": 1, "qkv_bias": true,
        "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4,
        "num_experts": 60, "norm_topk_prob": false, "output_router_logits": false,
        "router_aux_loss_coef": 0.001 }"#,
        Family::Qwen,
        14_315_784_192,
        2_689,
    ),
    (
        // Qwen/Qwen3-30B-A3B
        r#"{ "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 151643, "decoder_sparse_step": 1, "eos_token_id": 151645, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 6144,
        "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
        "model_type": "qwen3_moe", "moe_intermediate_size": 768, "norm_topk_prob": true,
        "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
        "num_key_value_heads": 4, "output_router_logits": false, "rms_norm_eps": 1e-06,
        "rope_scaling": null, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001, "sliding_window": null,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
        "use_cache": true, "use_sliding_window": false, "vocab_size": 151936 }"#,
        Family::Qwen,
        30_532_122_624,
        3_353,
    ),
    (
        // mistralai/Mistral-7B-v0.1
        r#"{ "architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
        "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
        "sliding_window": 4096, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000 }"#,
        Family::Mistral,
        7_241_732_096,
        7_241,
    ),
    (
        // mistralai/Mixtral-8x7B-v0.1
        r#"{ "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
        "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": false,
        "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": null,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.36.0.dev0",
        "use_cache": true, "vocab_size": 32000 }"#,
        Family::Mixtral,
        46_702_792_704,
        12_879,
    ),
    (
        // openai/gpt-oss-20b
        r#"{ "architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0,
        "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu",
        "hidden_size": 2880, "initial_context_length": 4096, "initializer_range": 0.02,
        "intermediate_size": 2880, "layer_types": ["sliding_attention", "full_attention"],
        "max_position_embeddings": 131072, "model_type": "gpt_oss", "num_attention_heads": 64,
        "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
        "num_local_experts": 32, "output_router_logits": false, "pad_token_id": 199999,
        "quantization_config": { "quant_method": "mxfp4" }, "rms_norm_eps": 1e-05, "rope_scaling": {
        "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
        "rope_type": "yarn", "truncate": false }, "rope_theta": 150000, "router_aux_loss_coef": 0.9,
        "sliding_window": 128, "swiglu_limit": 7.0, "tie_word_embeddings": false,
        "transformers_version": "4.55.0.dev0", "use_cache": true, "vocab_size": 201088 }"#,
        Family::GptOss,
        20_914_757_184,
        4_187,
    ),
    (
        // deepseek-ai/DeepSeek-V2-Lite
        r#"{ "architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "auto_map": { "AutoModel": "modeling_deepseek.DeepseekV2Model" }, "aux_loss_alpha": 0.001,
        "bos_token_id": 100000, "eos_token_id": 100001, "first_k_dense_replace": 1, "hidden_act": "silu",
        "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 10944, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "model_type": "deepseek_v2", "moe_intermediate_size": 1408,
        "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2,
        "norm_topk_prob": false, "num_attention_heads": 16, "num_experts_per_tok": 6,
        "num_hidden_layers": 27, "num_key_value_heads": 16, "pretraining_tp": 1, "q_lora_rank": null,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_scaling": {
        "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
        "original_max_position_embeddings": 4096, "type": "yarn" }, "rope_theta": 10000,
        "routed_scaling_factor": 1.0, "scoring_func": "softmax", "seq_aux": true,
        "tie_word_embeddings": false, "topk_group": 1, "topk_method": "greedy", "torch_dtype": "bfloat16",
        "transformers_version": "4.33.1", "use_cache": true, "v_head_dim": 128, "vocab_size": 102400 }"#,
        Family::DeepSeek,
        15_706_484_224,
        2_661,
    ),
    (
        // deepseek-ai/DeepSeek-V3
        r#"{ "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "auto_map": { "AutoModel": "modeling_deepseek.DeepseekV3Model" }, "aux_loss_alpha": 0.001,
        "bos_token_id": 0, "eos_token_id": 1, "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu",
        "hidden_size": 7168, "initializer_range": 0.02, "intermediate_size": 18432, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
        "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
        "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
        "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
        "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "quantization_config": { "fmt": "e4m3", "weight_block_size": [128, 128] }, "rms_norm_eps": 1e-06,
        "rope_scaling": { "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn" },
        "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "seq_aux": true,
        "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
        "transformers_version": "4.33.1", "use_cache": true, "v_head_dim": 128, "vocab_size": 129280 }"#,
        Family::DeepSeek,
        671_026_419_200,
        37_552,
    ),
    (
        // mosaicml/mpt-7b; places are biased, and it has no trained ones.
        r#"{ "architectures": ["MPTForCausalLM"], "attn_config": { "alibi": true, "alibi_bias_max": 8,
        "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention",
        "attn_uses_sequence_id": false, "clip_qkv": null, "prefix_lm": false, "qk_ln": false,
        "softmax_scale": null }, "auto_map": { "AutoConfig": "configuration_mpt.MPTConfig" },
        "d_model": 4096, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4, "init_config": {
        "name": "kaiming_normal_" }, "init_device": "cpu", "learned_pos_emb": true, "logit_scale": null,
        "max_seq_len": 2048, "model_type": "mpt", "n_heads": 32, "n_layers": 32, "no_bias": true,
        "norm_type": "low_precision_layernorm", "resid_pdrop": 0,
        "tokenizer_name": "EleutherAI/gpt-neox-20b", "torch_dtype": "bfloat16",
        "transformers_version": "4.28.1", "use_cache": false, "verbose": 0, "vocab_size": 50432 }"#,
        Family::Mpt,
        6_649_286_656,
        6_649,
    ),
    (
        // Qwen/Qwen3-0.6B, whose head is its embedding.
        r#"{ "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
        "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
        "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
        "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
        "use_cache": true, "use_sliding_window": false, "vocab_size": 151936 }"#,
        Family::Qwen,
        596_049_920,
        596,
    ),
];

#[test]
fn published_configurations_have_the_parameters_of_their_models() {
    for (text, family, parameters, active) in PUBLISHED {
        let model = LanguageModel::read("config.json", text).unwrap();
        assert_eq!(model.family, family);
        assert_eq!(model.parameters(), parameters, "{text:.60}");
        assert_eq!(model.active_parameters() / 1_000_000, active, "{text:.60}");
    }
}

#[test]
fn first_blocks_are_dense_where_a_configuration_says_so() {
    let of = |at: usize| LanguageModel::read("config.json", PUBLISHED[at].0).unwrap();
    let kinds = |model: &LanguageModel| {
        let blocks = model.blocks.iter();
        blocks.map(|blocks| (blocks.count, blocks.mlp.experts().is_some())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&of(8)), [(1, false), (26, true)]);
    let third = of(9);
    assert_eq!(kinds(&third), [(3, false), (58, true)]);
    assert!(matches!(third.blocks[0].mlp, Mlp::Dense { inner: 18_432, gated: true, bias: false }));
    let experts = third.experts().unwrap();
    assert_eq!((experts.count, experts.top, experts.shared), (256, 8, 2048));
    let latent = third.attention.latent.unwrap();
    assert_eq!((latent.query, latent.key_value, latent.rotary), (Some(1536), 512, 64));
    assert_eq!((third.attention.head, third.attention.value_head), (192, 128));
    assert_eq!(of(8).attention.latent.unwrap().query, None);
}
