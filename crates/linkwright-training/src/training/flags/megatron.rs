//! Writes flags of Megatron-LM.

use super::{Dealt, FrameworkFlags};
use crate::diagnostic::Named;
use crate::training::layout::Order;
use crate::training::memory::{Kernels, ModelPrecision, ModelTraining, Module, Recompute};
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;

impl ModelTraining<'_> {
    pub(super) fn megatron(&self, order: &Order) -> FrameworkFlags {
        let mut flags = FrameworkFlags::default();
        let layout = &self.layout;
        flags.add("--tensor-model-parallel-size", layout.tp);
        flags.add("--pipeline-model-parallel-size", layout.pp);
        flags.add("--context-parallel-size", layout.cp);
        if self.model.experts().is_some() {
            flags.add("--expert-model-parallel-size", layout.ep);
            flags.add("--expert-tensor-parallel-size", layout.expert_parts());
            flags.add("--moe-token-dispatcher-type", "alltoall");
        }
        if self.sequence_parallel && layout.tp > 1 {
            flags.switch("--sequence-parallel");
        }
        self.megatron_order(order, &mut flags);
        self.megatron_stages(&mut flags);
        flags.add("--micro-batch-size", self.micro_batch);
        flags.add("--global-batch-size", self.batch);
        flags.add("--seq-length", self.model.tokens);
        self.megatron_shards(&mut flags);
        self.megatron_again(&mut flags);
        self.megatron_numbers(&mut flags);
        if self.kernels != Kernels::Fused {
            let own = self.kernels.name();
            flags.leave(format!(
                "Megatron-LM runs fused kernels; memory and time are of {own} ones"
            ));
        }
        if self.lora.is_some() {
            flags.leave("Megatron-LM has no flag for LoRA");
        }
        flags
    }

    fn megatron_order(&self, order: &Order, flags: &mut FrameworkFlags) {
        let is = |name: &str| Order::read(name).is_ok_and(|known| known == *order);
        if is("megatron-tp-pp-dp") && self.layout.pp > 1 {
            flags.switch("--use-tp-pp-dp-mapping");
        } else if !is("megatron") && !is("megatron-tp-pp-dp") {
            flags.leave("Megatron-LM orders ranks as megatron or megatron-tp-pp-dp only");
        }
    }

    fn megatron_stages(&self, flags: &mut FrameworkFlags) {
        match self.dealt() {
            Dealt::Even { embedding: embedding @ 0..=1, loss: loss @ 0..=1 } => {
                if self.layout.vp > 1 {
                    flags.add("--num-virtual-stages-per-pipeline-rank", self.layout.vp);
                }
                if embedding > 0 {
                    flags.switch("--account-for-embedding-in-pipeline-split");
                }
                if loss > 0 {
                    flags.switch("--account-for-loss-in-pipeline-split");
                }
            }
            // Its text says how many chunks there are, so that no other flag may.
            Dealt::Even { .. } | Dealt::Uneven(_) => {
                let layers = |count: u64| match count {
                    0 => String::new(),
                    1 => "t".to_owned(),
                    count => format!("t*{count}"),
                };
                let chunks: Vec<String> = self.layers_of_chunks().into_iter().map(layers).collect();
                let layout = format!("E{}L", chunks.join("|"));
                flags.add("--pipeline-model-parallel-layout", layout);
            }
        }
    }

    fn megatron_shards(&self, flags: &mut FrameworkFlags) {
        let layout = &self.layout;
        match self.zero {
            0 => {}
            1 => flags.switch("--use-distributed-optimizer"),
            zero => {
                flags.switch("--use-megatron-fsdp");
                flags.switch("--use-distributed-optimizer");
                let strategy = if zero == 2 { "optim_grads" } else { "optim_grads_params" };
                flags.add("--data-parallel-sharding-strategy", strategy);
                flags.add("--ckpt-format", "fsdp_dtensor");
            }
        }
        if self.zero > 0 && layout.fsdp > 1 && layout.dp > 1 {
            flags.add("--num-distributed-optimizer-instances", layout.dp);
        }
        if layout.shards() * layout.dp > 1 {
            flags.switch("--overlap-grad-reduce");
            if self.zero > 0 {
                flags.switch("--overlap-param-gather");
            }
        }
    }

    fn megatron_again(&self, flags: &mut FrameworkFlags) {
        match &self.recompute {
            Recompute::None => {}
            Recompute::Full(count) => {
                flags.add("--recompute-granularity", "full");
                let method = if count.is_some() { "block" } else { "uniform" };
                flags.add("--recompute-method", method);
                flags.add("--recompute-num-layers", count.unwrap_or(1));
            }
            Recompute::Modules(modules) => {
                flags.add("--recompute-granularity", "selective");
                let names: Vec<&str> =
                    modules.iter().map(|module: &Module| module.name()).collect();
                flags.add("--recompute-modules", names.join(" "));
            }
            Recompute::SelectiveOperations => {
                flags.leave("Megatron-LM does not compute again by operation (selective-op)");
            }
        }
    }

    fn megatron_numbers(&self, flags: &mut FrameworkFlags) {
        match self.precision {
            ModelPrecision::Fp32 => {}
            ModelPrecision::Tf32 => flags.leave(
                "Megatron-LM has no flag for tf32; set torch.backends.cuda.matmul.allow_tf32",
            ),
            ModelPrecision::Fp16 => flags.switch("--fp16"),
            ModelPrecision::Bf16 => flags.switch("--bf16"),
            ModelPrecision::Fp8 => {
                flags.switch("--bf16");
                flags.add("--fp8-format", "hybrid");
            }
            ModelPrecision::Mxfp8 => {
                flags.switch("--bf16");
                flags.add("--fp8-format", "e4m3");
                flags.add("--fp8-recipe", "mxfp8");
            }
            ModelPrecision::Nvfp4 => {
                flags.switch("--bf16");
                flags.add("--fp4-format", "e2m1");
            }
        }
        let wide = self.precision.numbers().bytes() > Precision::Bf16.bytes();
        match self.gradients {
            Precision::Bf16 if !wide => flags.switch("--grad-reduce-in-bf16"),
            Precision::Fp32 => {}
            other => {
                let name = other.name();
                flags.leave(format!("Megatron-LM keeps no gradients in {name}"));
            }
        }
        match self.optimizer {
            Optimizer::Adam => flags.add("--optimizer", "adam"),
            Optimizer::Momentum => flags.add("--optimizer", "sgd"),
            Optimizer::Sgd => {
                flags.add("--optimizer", "sgd");
                flags.add("--sgd-momentum", 0);
            }
        }
    }
}
