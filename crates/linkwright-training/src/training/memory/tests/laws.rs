//! Holds memory to laws of any layout.

use proptest::prelude::*;

use super::training;
use crate::training::layout::ModelLayout;
use crate::training::memory::{Kernels, ModelTraining, Recompute, StageMemory};
use crate::training::model::LanguageModel;
use crate::training::routing::{ExpertImbalance, ExpertRouting};

/// Gives the stage that needs the most, buffers of collectives apart.
fn fullest(stages: Vec<StageMemory>) -> StageMemory {
    stages.into_iter().max_by_key(without_buffers).unwrap()
}

fn without_buffers(stage: &StageMemory) -> u64 {
    stage.allocated().0 - stage.collectives.0
}

proptest! {
    #[test]
    fn dividing_more_never_needs_more(
        name in prop::sample::select(vec!["llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "mpt-7b", "gpt-oss-20b"]),
        recompute in prop::sample::select(vec!["none", "selective", "selective-op", "full", "layernorm+moe_act"]),
        kernels in prop::sample::select(vec![Kernels::Fused, Kernels::Eager, Kernels::Compiled]),
        fsdp in 0_u32..3, tp in 0_u32..2, pp in 0_u32..3, cp in 0_u32..2, ep in 0_u32..2, zero in 0_u8..4,
        more in 0_usize..6,
    ) {
        let model = LanguageModel::find(name).unwrap();
        let parts = |power: u32| 1_u64 << power;
        let ep = if model.experts().is_some() { parts(ep) } else { 1 };
        let layout = ModelLayout { fsdp: parts(fsdp + 1), tp: parts(tp), pp: parts(pp), cp: parts(cp), ep, ..ModelLayout::default() };
        let larger = match more {
            0 => ModelLayout { fsdp: layout.fsdp * 2, ..layout },
            1 => ModelLayout { tp: layout.tp * 2, ..layout },
            2 => ModelLayout { cp: layout.cp * 2, ..layout },
            3 => ModelLayout { pp: layout.pp * 2, ..layout },
            4 if model.experts().is_some() => ModelLayout { ep: layout.ep * 2, ..layout },
            _ => ModelLayout { dp: layout.dp * 2, ..layout },
        };
        let of = |layout: ModelLayout, zero: u8| {
            let base = training(model, "dp=1", 64);
            let recompute = Recompute::read(recompute).unwrap();
            let own = ModelTraining { layout, zero, recompute, kernels, ..base };
            own.memory().map(fullest)
        };
        if let (Ok(before), Ok(after)) = (of(layout, zero), of(larger, zero)) {
            // Parts of sequences keep their outputs once more.
            let parted = if layout.cp == 1 && larger.cp > 1 { before.activations.0 } else { 0 };
            prop_assert!(without_buffers(&after) <= without_buffers(&before) + parted, "{before:?} {after:?}");
        }
        if zero < 3 && let (Ok(before), Ok(after)) = (of(layout, zero), of(layout, zero + 1)) {
            prop_assert!(without_buffers(&after) <= without_buffers(&before));
        }
    }

    #[test]
    fn computing_more_again_never_needs_more(
        name in prop::sample::select(vec!["llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "mpt-7b", "gpt-oss-20b"]),
        pair in prop::sample::select(vec![
            ("none", "selective"), ("none", "layernorm"), ("none", "selective-op"), ("none", "full:1"),
            ("layernorm", "layernorm+moe_act"), ("layernorm+moe_act", "layernorm+moe"), ("layernorm+moe_act", "full"),
            ("layernorm+mlp", "full"), ("selective", "full"), ("selective-op", "full"), ("full:1", "full:4"),
            ("full:4", "full"), ("mla_up_proj", "mla_up_proj+shared_experts"),
        ]),
        kernels in prop::sample::select(vec![Kernels::Fused, Kernels::Eager, Kernels::Compiled]),
        layout in prop::sample::select(vec!["dp=1", "tp=2", "fsdp=4", "pp=4", "pp=4,vp=2", "cp=2", "tp=2,pp=2"]),
        micro_batch in prop::sample::select(vec![1_u64, 2, 4]),
        sequence_parallel: bool, uneven: bool,
    ) {
        let model = LanguageModel::find(name).unwrap();
        let imbalance = if uneven { ExpertImbalance::Zipf(1.0) } else { ExpertImbalance::Uniform };
        let routing = if model.experts().is_some() { ExpertRouting { imbalance, seed: 7, capacity: None } } else { ExpertRouting::default() };
        let of = |recompute: &str| {
            let recompute = Recompute::read(recompute).unwrap();
            let base = training(model, layout, 64);
            let own = ModelTraining { recompute, kernels, micro_batch, sequence_parallel, routing, ..base };
            own.memory().map(fullest)
        };
        // Compilers choose what they compute again by size, and keep less than a list of operations.
        let is_chosen = kernels == Kernels::Compiled && pair.1 == "selective-op";
        if !is_chosen && let (Ok(before), Ok(after)) = (of(pair.0), of(pair.1)) {
            prop_assert!(without_buffers(&after) <= without_buffers(&before), "{before:?} {after:?}");
        }
    }

    #[test]
    fn parts_sum_to_the_total(
        name in prop::sample::select(vec!["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3"]),
        layout in prop::sample::select(vec!["dp=8", "fsdp=8", "dp=2,tp=4", "dp=2,pp=4", "tp=2,cp=2,dp=2"]),
        zero in 0_u8..4,
    ) {
        let model = LanguageModel::find(name).unwrap();
        let own = ModelTraining { zero, ..training(model, layout, 64) };
        for stage in own.memory().into_iter().flatten() {
            let StageMemory { weights, gradients, optimizer, activations, passing, collectives, reserve, .. } = stage;
            let parts = [weights, gradients, optimizer, activations, passing, collectives];
            let total: u64 = parts.iter().map(|part| part.0).sum();
            prop_assert_eq!(stage.allocated().0, total);
            prop_assert_eq!(stage.reserved().0, total + reserve.0);
        }
    }
}
