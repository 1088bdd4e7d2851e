//! Holds flags to those of the frameworks' releases.

use super::{FlagsOf, FrameworkFlags};
use crate::training::layout::{ModelLayout, Order};
use crate::training::memory::{Kernels, ModelPrecision, ModelTraining, Recompute};
use crate::training::model::LanguageModel;
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;
use crate::training::routing::ExpertRouting;

fn training<'a>(name: &'a str, layout: &str) -> ModelTraining<'a> {
    ModelTraining {
        model: LanguageModel::find(name).unwrap(),
        layout: ModelLayout::read(layout).unwrap(),
        batch: 256,
        micro_batch: 1,
        precision: ModelPrecision::Bf16,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Adam,
        zero: 1,
        recompute: Recompute::None,
        kernels: Kernels::Fused,
        sequence_parallel: true,
        lora: None,
        narrow_weights: false,
        narrow_activations: false,
        routing: ExpertRouting::default(),
    }
}

fn of(flags: &FrameworkFlags, name: &str) -> Option<String> {
    let found = flags.flags.iter().find(|(flag, _)| flag == name);
    found.map(|(_, value)| value.clone())
}

#[test]
fn a_training_is_written_as_megatron_reads_it() {
    let order = Order::default();
    let own = ModelTraining {
        recompute: Recompute::read("layernorm+mlp").unwrap(),
        precision: ModelPrecision::Fp8,
        ..training("llama-3.1-405b", "dp=4,tp=8,pp=8,vp=8,cp=2")
    };
    let flags = own.flags(FlagsOf::Megatron, &order);
    for (name, value) in [
        ("--tensor-model-parallel-size", "8"),
        ("--pipeline-model-parallel-size", "8"),
        ("--num-virtual-stages-per-pipeline-rank", "8"),
        ("--context-parallel-size", "2"),
        ("--sequence-parallel", ""),
        ("--account-for-embedding-in-pipeline-split", ""),
        ("--account-for-loss-in-pipeline-split", ""),
        ("--micro-batch-size", "1"),
        ("--global-batch-size", "256"),
        ("--seq-length", "8192"),
        ("--use-distributed-optimizer", ""),
        ("--recompute-granularity", "selective"),
        ("--recompute-modules", "layernorm mlp"),
        ("--bf16", ""),
        ("--fp8-format", "hybrid"),
    ] {
        assert_eq!(of(&flags, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(of(&flags, "--expert-model-parallel-size"), None);
    assert!(flags.left_out.is_empty(), "{:?}", flags.left_out);

    let uneven = training("llama-3.1-8b", "dp=2,pp=5").flags(FlagsOf::Megatron, &order);
    let stages = of(&uneven, "--pipeline-model-parallel-layout");
    assert_eq!(stages.as_deref(), Some("Et*6|t*6|t*7|t*7|t*6L"));

    // 61 layers lie in 64 places: the first chunk has one fewer, and the last two.
    let deep = training("deepseek-v3", "pp=4,vp=4").flags(FlagsOf::Megatron, &order);
    let stages = of(&deep, "--pipeline-model-parallel-layout").unwrap();
    assert!(stages.starts_with("Et*3|t*4|t*4|") && stages.ends_with("|t*4|t*2L"), "{stages}");
    assert_eq!(of(&deep, "--num-virtual-stages-per-pipeline-rank"), None);

    let hybrid = ModelTraining {
        zero: 3,
        recompute: Recompute::Full(Some(3)),
        kernels: Kernels::Eager,
        ..training("mixtral-8x7b", "dp=2,fsdp=4,tp=2,ep=8,etp=1")
    };
    let flags = hybrid.flags(FlagsOf::Megatron, &order);
    for (name, value) in [
        ("--expert-model-parallel-size", "8"),
        ("--expert-tensor-parallel-size", "1"),
        ("--use-megatron-fsdp", ""),
        ("--data-parallel-sharding-strategy", "optim_grads_params"),
        ("--num-distributed-optimizer-instances", "2"),
        ("--recompute-method", "block"),
        ("--recompute-num-layers", "3"),
    ] {
        assert_eq!(of(&flags, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(flags.left_out.len(), 1, "{:?}", flags.left_out);
}

#[test]
fn a_training_is_written_as_torchtitan_reads_it() {
    let order = Order::read("torchtitan").unwrap();
    let own = ModelTraining {
        zero: 3,
        kernels: Kernels::Compiled,
        recompute: Recompute::SelectiveOperations,
        ..training("llama-3.1-405b", "fsdp=8,tp=8,pp=8,vp=2")
    };
    let flags = own.flags(FlagsOf::Torchtitan, &order);
    for (name, value) in [
        ("--parallelism.data_parallel_replicate_degree", "1"),
        ("--parallelism.data_parallel_shard_degree", "8"),
        ("--parallelism.tensor_parallel_degree", "8"),
        ("--parallelism.pipeline_parallel_degree", "8"),
        ("--parallelism.pipeline_parallel_schedule", "Interleaved1F1B"),
        ("--parallelism.pipeline_parallel_layers_per_stage", "8"),
        ("--parallelism.pipeline_parallel_microbatch_size", "1"),
        ("--training.local_batch_size", "32"),
        ("--training.global_batch_size", "256"),
        ("--parallelism.fsdp_reshard_after_forward", "always"),
        ("--activation_checkpoint.mode", "selective"),
        ("--activation_checkpoint.selective_ac_option", "op"),
        ("--compile.enable", ""),
    ] {
        assert_eq!(of(&flags, name).as_deref(), Some(value), "{name}");
    }
    assert!(flags.left_out.is_empty(), "{:?}", flags.left_out);
    // It says each thing once that it cannot do.
    let other = ModelTraining {
        recompute: Recompute::Full(Some(2)),
        optimizer: Optimizer::Sgd,
        gradients: Precision::Bf16,
        precision: ModelPrecision::Fp16,
        sequence_parallel: false,
        ..training("llama-3.1-8b", "dp=2,tp=2,pp=5,cp=2")
    };
    let left =
        other.flags(FlagsOf::Torchtitan, &Order::read("megatron-tp-pp-dp").unwrap()).left_out;
    assert_eq!(left.len(), 9, "{left:#?}");
}
