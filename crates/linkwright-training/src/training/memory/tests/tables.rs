//! Holds what blocks keep to tables worked out by hand.

use super::training;
use crate::training::memory::{Kernels, Lora, ModelPrecision, ModelTraining, Recompute, Targets};
use crate::training::model::LanguageModel;
use crate::training::routing::{ExpertImbalance, ExpertRouting};

/// Mebibytes of each tensor that is kept of a block.
fn kept(training: &ModelTraining<'_>) -> Vec<(&'static str, u64)> {
    let mlp = training.model.blocks[0].mlp;
    let tensors = training.tensors(&mlp, 0).into_iter();
    let kept = tensors.filter(|tensor| training.recompute.keeps(tensor, 0));
    kept.map(|tensor| (tensor.name, tensor.bytes.0 >> 20)).filter(|(_, size)| *size > 0).collect()
}

#[test]
fn a_block_keeps_what_was_worked_out_by_hand() {
    // Llama 3.1 8B has one sequence of 8,192 tokens, with numbers of two bytes. 4,096 numbers of each token
    // take 64 MiB, the 1,024 of keys or values 16, and the 14,336 within the perceptron 224. A number of
    // four bytes of each of 32 heads takes one.
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let of = |recompute: &str, kernels: Kernels| {
        let recompute = Recompute::read(recompute).unwrap();
        kept(&ModelTraining { recompute, kernels, ..training(model, "dp=1", 1) })
    };
    let none = [
        ("input", 64),
        ("first norm", 64),
        ("queries", 64),
        ("keys", 16),
        ("values", 16),
        ("attention's sums", 1),
        ("attention", 64),
        ("sum", 64),
        ("second norm", 64),
        ("gate", 224),
        ("up", 224),
        ("product", 224),
    ];
    assert_eq!(of("none", Kernels::Fused), none);
    let without = |names: &[&str]| {
        none.into_iter().filter(|(name, _)| !names.contains(name)).collect::<Vec<_>>()
    };
    assert_eq!(of("selective", Kernels::Fused), without(&["attention's sums"]));
    let norms = ["first norm", "second norm"];
    assert_eq!(of("layernorm", Kernels::Fused), without(&norms));
    assert_eq!(
        of("layernorm+mlp", Kernels::Fused),
        without(&[&norms[..], &["gate", "up", "product"]].concat())
    );
    assert_eq!(of("full", Kernels::Fused), [("input", 64)]);
    assert_eq!(of("full:1", Kernels::Fused), [("input", 64)]);
    assert_eq!(of("full:0", Kernels::Fused), none);
    // Of seven products the first, third, fifth and seventh, and attention.
    let by_operation = [
        ("input", 64),
        ("queries", 64),
        ("values", 16),
        ("attention's sums", 1),
        ("attention", 64),
        ("gate", 224),
        ("down", 64),
    ];
    assert_eq!(of("selective-op", Kernels::Eager), by_operation);
    assert_eq!(of("none", Kernels::Compiled), without(&[&norms[..], &["product"]].concat()));
    // Eager kernels copy keys and values to 32 heads, and keep the gate before and behind its function.
    let eager: u64 = of("none", Kernels::Eager).iter().map(|(_, size)| size).sum();
    assert_eq!(eager, 8 * 64 + 4 * 224 + 1);
}

#[test]
fn fused_kernels_keep_what_products_read_in_eight_bits() {
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let of = |precision: ModelPrecision, kernels: Kernels| {
        kept(&ModelTraining { precision, kernels, ..training(model, "dp=1", 1) })
    };
    let sizes = of(ModelPrecision::Fp8, Kernels::Fused);
    for (name, size) in
        [("first norm", 32), ("product", 112), ("up", 224), ("attention, narrow", 32)]
    {
        assert!(sizes.contains(&(name, size)), "{sizes:?}");
    }
    assert!(of(ModelPrecision::Mxfp8, Kernels::Fused).contains(&("first norm", 33)));
    assert!(of(ModelPrecision::Nvfp4, Kernels::Fused).contains(&("first norm", 18)));
    let eager = of(ModelPrecision::Bf16, Kernels::Eager);
    assert_eq!(of(ModelPrecision::Fp8, Kernels::Eager), eager);
}

#[test]
fn a_block_of_experts_keeps_what_was_worked_out_by_hand() {
    // DeepSeek V3 has one sequence of 4,096 tokens. Its 7,168 numbers of each take 56 MiB. The 1,536 of queries' short
    // vector take 12, and the 512 of keys' and values' 4. 128 heads have queries and keys of
    // 192 numbers, 192 MiB, and values of 128, 128 MiB; a sum of four bytes each takes 2. Scores and shares of 256
    // experts take 8. A token goes to eight: 448 MiB; each has 2,048 numbers within, 128, and twice as many before
    // them, 256. The shared one has 16 and 32.
    let model = LanguageModel::find("deepseek-v3").unwrap().with_tokens(4096);
    let mlp = model.blocks[1].mlp;
    let of = |recompute: &str| {
        let recompute = Recompute::read(recompute).unwrap();
        let training = ModelTraining { recompute, ..training(&model, "dp=8,ep=8", 8) };
        let tensors = training.tensors(&mlp, 3).into_iter();
        let kept = tensors.filter(|tensor| training.keeps(tensor));
        let sizes = kept.map(|tensor| (tensor.name, tensor.bytes.0 >> 20));
        sizes.filter(|(_, size)| *size > 0).collect::<Vec<_>>()
    };
    let none = [
        ("input", 56),
        ("first norm", 56),
        ("queries' short vector", 12),
        ("queries' short vector, normed", 12),
        ("keys' short vector", 4),
        ("keys' short vector, normed", 4),
        ("queries", 192),
        ("keys", 192),
        ("values", 128),
        ("attention's sums", 2),
        ("attention", 128),
        ("sum", 56),
        ("second norm", 56),
        ("router's scores", 8),
        ("experts' tokens", 448),
        ("experts' gate and up", 256),
        ("experts' product", 128),
        ("shared gate and up", 32),
        ("shared product", 16),
    ];
    assert_eq!(of("none"), none);
    let norms = ["first norm", "second norm"];
    let attention = ["queries", "keys", "values"];
    let shared = ["shared gate and up", "shared product"];
    let routed = ["router's scores", "experts' tokens", "experts' gate and up", "experts' product"];
    let both = [&norms[..], &["experts' product"]].concat();
    let moe = [&routed[..], &shared].concat();
    for (recompute, gone) in [
        ("selective", &["attention's sums"][..]),
        ("layernorm", &norms),
        ("moe_act", &["experts' product"]),
        ("layernorm+moe_act", &both),
        ("mla_up_proj", &attention),
        ("shared_experts", &shared),
        ("moe", &moe),
        // A block with experts has no other perceptron.
        ("mlp", &[]),
    ] {
        let left: Vec<_> = none.into_iter().filter(|(name, _)| !gone.contains(name)).collect();
        assert_eq!(of(recompute), left, "{recompute}");
    }
    assert_eq!(of("full"), [("input", 56)]);
    assert_eq!(of("full:1"), [("input", 56)]);
    let by_operation = [
        ("input", 56),
        ("queries' short vector", 12),
        ("keys' short vector", 4),
        ("queries", 192),
        ("keys", 192),
        ("values", 128),
        ("attention's sums", 2),
        ("attention", 128),
    ];
    assert_eq!(of("selective-op"), by_operation);
}

#[test]
fn weights_have_copies_that_products_of_eight_bits_take() {
    // A block's matrices have 218,103,808 numbers, and its norms 8,192. The embedding and the head stay in 16 bits.
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let of = |precision: ModelPrecision, narrow_weights: bool| {
        let own = ModelTraining { precision, narrow_weights, ..training(model, "dp=1", 1) };
        own.memory().unwrap()[0].weights.0
    };
    let ends = 2 * (2 * 128_256 * 4096 + 4096);
    let blocks = 32 * (218_103_808 + 8192);
    assert_eq!(of(ModelPrecision::Bf16, false), ends + 2 * blocks);
    // By rows and by columns.
    assert_eq!(of(ModelPrecision::Fp8, false), ends + 4 * blocks);
    assert_eq!(of(ModelPrecision::Fp8, true), ends + 2 * blocks);
    assert_eq!(of(ModelPrecision::Mxfp8, true), ends + 2 * 33 * blocks / 32);
    let wrong = ModelTraining { narrow_weights: true, ..training(model, "dp=1", 1) };
    assert!(wrong.memory().unwrap_err().to_string().contains("bf16"));
}

#[test]
fn a_function_may_read_eight_bits() {
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let precision = ModelPrecision::Fp8;
    let own = ModelTraining { precision, narrow_activations: true, ..training(model, "dp=1", 1) };
    let sizes = kept(&own);
    assert!(sizes.contains(&("gate", 112)) && sizes.contains(&("up", 112)), "{sizes:?}");
}

#[test]
fn the_gpu_whose_experts_get_the_most_tokens_decides() {
    let model = LanguageModel::find("mixtral-8x7b").unwrap();
    let of = |routing: ExpertRouting| {
        let own = ModelTraining { routing, ..training(model, "dp=8,ep=8", 8) };
        own.memory().unwrap()[0]
    };
    let even = of(ExpertRouting::default());
    let imbalance = ExpertImbalance::read("zipf:1").unwrap();
    let uneven = of(ExpertRouting { imbalance, seed: 7, capacity: None });
    assert!(uneven.activations > even.activations && uneven.collectives > even.collectives);
    assert_eq!(uneven.weights, even.weights);
    // No expert takes more than 1.25 even shares, and one that gets as many in each block is hardly there.
    let bound = ExpertRouting { imbalance, seed: 7, capacity: None }.with_capacity(1.25).unwrap();
    let bound = of(bound);
    assert!(bound.activations < uneven.activations);
    assert!(bound.collectives.0 <= even.collectives.0 * 5 / 4 + 1);
    // Where one GPU has all experts it gets every token.
    let alone = ModelTraining {
        routing: ExpertRouting { imbalance, seed: 7, capacity: None },
        ..training(model, "dp=8", 8)
    };
    assert_eq!(alone.memory().unwrap()[0], training(model, "dp=8", 8).memory().unwrap()[0]);
    let dense = LanguageModel::find("llama-3.1-8b").unwrap();
    let wrong = ModelTraining { routing: alone.routing, ..training(dense, "dp=1", 1) };
    assert!(wrong.memory().unwrap_err().to_string().contains("no experts"));
}

#[test]
fn small_matrices_stand_beside_those_that_are_named() {
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let of = |targets: &str| {
        let targets = Targets::read(targets).unwrap();
        let own =
            ModelTraining { lora: Some(Lora { rank: 8, targets }), ..training(model, "dp=1", 1) };
        // Gradients of 32 bits.
        let trained = own.memory().unwrap()[0].gradients.0 / 4 / 32 / 8;
        (trained, kept(&own).iter().any(|(name, _)| *name == "first norm"))
    };
    // 4,096 numbers of each token, 1,024 of keys or values, 14,336 within the perceptron.
    assert_eq!(of("q_proj"), (4096 + 4096, true));
    assert_eq!(of("q_proj+v_proj"), (2 * 4096 + 4096 + 1024, true));
    assert_eq!(of("linear_qkv"), (4096 + 6144, true));
    assert_eq!(of("attention"), (4096 + 6144 + 2 * 4096, true));
    assert_eq!(of("gate_proj+up_proj+down_proj"), (3 * (4096 + 14_336), false));
    assert_eq!(of("linear_fc1+linear_fc2"), (4096 + 2 * 14_336 + 14_336 + 4096, false));
    let error = Targets::read("q_proj+w_proj").unwrap_err().to_string();
    assert!(error.contains("`w_proj`") && error.contains("join names by +"), "{error}");
}
