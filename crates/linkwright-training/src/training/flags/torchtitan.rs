//! Writes flags of torchtitan, which are the keys of its TOML files, too.

use super::{Dealt, FrameworkFlags};
use crate::diagnostic::Named;
use crate::training::layout::Order;
use crate::training::memory::{Kernels, ModelPrecision, ModelTraining, Recompute};
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;

impl ModelTraining<'_> {
    pub(super) fn torchtitan(&self, order: &Order) -> FrameworkFlags {
        let mut flags = FrameworkFlags::default();
        let layout = &self.layout;
        flags.add("--parallelism.data_parallel_replicate_degree", layout.dp);
        flags.add("--parallelism.data_parallel_shard_degree", layout.fsdp);
        flags.add("--parallelism.tensor_parallel_degree", layout.tp);
        flags.add("--parallelism.pipeline_parallel_degree", layout.pp);
        flags.add("--parallelism.context_parallel_degree", layout.cp);
        if self.model.experts().is_some() {
            flags.add("--parallelism.expert_parallel_degree", layout.ep);
            let parts = layout.expert_parts();
            flags.add("--parallelism.expert_tensor_parallel_degree", parts);
            if parts != 1 && parts != layout.tp {
                flags.leave("torchtitan divides each expert as layers are, or not at all");
            }
        }
        if layout.tp > 1 && !self.sequence_parallel {
            flags.leave("torchtitan always divides by tokens what tensor parallelism leaves whole");
        }
        let is = |name: &str| Order::read(name).is_ok_and(|known| known == *order);
        if !is("torchtitan") {
            flags.leave("torchtitan orders ranks as torchtitan only");
        }
        self.torchtitan_stages(&mut flags);
        self.torchtitan_shards(&mut flags);
        self.torchtitan_again(&mut flags);
        self.torchtitan_numbers(&mut flags);
        match self.kernels {
            Kernels::Eager => {}
            Kernels::Compiled => flags.switch("--compile.enable"),
            Kernels::Fused => flags.leave(
                "torchtitan runs eager or compiled kernels; memory and time are of fused ones",
            ),
        }
        if self.lora.is_some() {
            flags.leave("torchtitan has no flag for LoRA");
        }
        flags
    }

    /// Chunks of layers, and the samples of a step: a pipeline takes all of a replica's at once, in micro-batches.
    fn torchtitan_stages(&self, flags: &mut FrameworkFlags) {
        let layout = &self.layout;
        let mut local = self.micro_batch;
        if layout.pp > 1 {
            local = self.batch / layout.replicas();
            flags.add("--parallelism.pipeline_parallel_microbatch_size", self.micro_batch);
            let schedule = if layout.vp > 1 { "Interleaved1F1B" } else { "1F1B" };
            flags.add("--parallelism.pipeline_parallel_schedule", schedule);
            match self.dealt() {
                Dealt::Even { embedding, loss } => {
                    let places = self.model.layers() + embedding + loss;
                    let each = places / (layout.pp * layout.vp);
                    flags.add("--parallelism.pipeline_parallel_layers_per_stage", each);
                    let first = "--parallelism.pipeline_parallel_first_stage_less_layers";
                    flags.add(first, embedding);
                    let last = "--parallelism.pipeline_parallel_last_stage_less_layers";
                    flags.add(last, loss);
                }
                Dealt::Uneven(layers) => {
                    let each: Vec<String> = layers.iter().map(u64::to_string).collect();
                    flags.leave(format!(
                        "no flag of torchtitan deals {} layers to the stages; name them in module_fqns_per_model_part",
                        each.join(", ")
                    ));
                }
            }
        }
        flags.add("--training.local_batch_size", local);
        flags.add("--training.global_batch_size", self.batch);
        flags.add("--training.seq_len", self.model.tokens);
    }

    fn torchtitan_shards(&self, flags: &mut FrameworkFlags) {
        let layout = &self.layout;
        let is_divided = layout.fsdp * layout.cp > 1;
        match self.zero {
            0 if !is_divided && layout.dp > 1 && layout.gpus() > layout.dp => {
                flags.leave("torchtitan replicates (dp) beside tp or pp with fsdp or cp only");
            }
            0 if !is_divided => {}
            0 | 1 => flags.leave(format!(
                "torchtitan divides gradients wherever it divides state; zero {} is none of its",
                self.zero
            )),
            _ if !is_divided => {
                flags.leave(format!(
                    "torchtitan divides over fsdp and cp; zero {} has neither",
                    self.zero
                ));
            }
            2 => flags.add("--parallelism.fsdp_reshard_after_forward", "never"),
            _ => flags.add("--parallelism.fsdp_reshard_after_forward", "always"),
        }
    }

    fn torchtitan_again(&self, flags: &mut FrameworkFlags) {
        match &self.recompute {
            Recompute::None => flags.add("--activation_checkpoint.mode", "none"),
            Recompute::Full(None) => flags.add("--activation_checkpoint.mode", "full"),
            Recompute::SelectiveOperations => {
                flags.add("--activation_checkpoint.mode", "selective");
                flags.add("--activation_checkpoint.selective_ac_option", "op");
            }
            other => flags.leave(format!(
                "torchtitan computes again nothing, all, or by operation; not {}",
                other.name()
            )),
        }
    }

    fn torchtitan_numbers(&self, flags: &mut FrameworkFlags) {
        match self.precision {
            ModelPrecision::Fp32 => flags.add("--training.mixed_precision_param", "float32"),
            ModelPrecision::Bf16 => flags.add("--training.mixed_precision_param", "bfloat16"),
            ModelPrecision::Fp8 => {
                flags.add("--training.mixed_precision_param", "bfloat16");
                flags.add("--model.converters", "quantize.linear.float8");
            }
            ModelPrecision::Mxfp8 => {
                flags.add("--training.mixed_precision_param", "bfloat16");
                flags.add("--model.converters", "quantize.linear.mx");
            }
            other => {
                flags.leave(format!("torchtitan has no flag for products in {}", other.name()))
            }
        }
        match self.gradients {
            Precision::Fp32 => flags.add("--training.mixed_precision_reduce", "float32"),
            other => {
                flags.leave(format!(
                    "torchtitan reduces gradients in fp32, not in {}",
                    other.name()
                ));
            }
        }
        match self.optimizer {
            Optimizer::Adam => flags.add("--optimizer.name", "AdamW"),
            Optimizer::Momentum | Optimizer::Sgd => {
                flags.leave("torchtitan has Adam and AdamW only");
            }
        }
    }
}
