//! Holds steps by layouts to laws of programs. The runtime's tests play them.

use super::*;
use crate::system::gpus::find;
use crate::training::memory::{ModelPrecision, Recompute};
use crate::training::model::LanguageModel;
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;
use crate::training::roofline::{GpuRates, LayerWork};
use crate::training::routing::ExpertRouting;
use crate::training::terms::Terms;

fn training<'a>(model: &'a LanguageModel, layout: &str, batch: u64) -> ModelTraining<'a> {
    let layout = ModelLayout::read(layout).unwrap();
    ModelTraining {
        model,
        layout,
        batch,
        micro_batch: 1,
        precision: ModelPrecision::Bf16,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Adam,
        zero: if layout.fsdp > 1 { 3 } else { 0 },
        recompute: Recompute::None,
        kernels: Kernels::Fused,
        sequence_parallel: layout.tp > 1,
        lora: None,
        narrow_weights: false,
        narrow_activations: false,
        routing: ExpertRouting::default(),
    }
}

fn roofline() -> (Roofline, FrameworkCosts) {
    let (costs, _) = Terms::own().of_default_framework();
    let gpu = GpuRates::of(find("h100-sxm5-80gb").unwrap(), Precision::Bf16).unwrap();
    let FrameworkCosts { kernels, launch, casts_weights, .. } = costs;
    (Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared: None }, costs)
}

fn step(model: &LanguageModel, layout: &str, batch: u64) -> LayoutStep {
    let (roofline, costs) = roofline();
    let training = training(model, layout, batch);
    LayoutStep::new(&training, Order::default(), Execution::default(), &roofline, &costs).unwrap()
}

/// A dense model's kernels are those of its layers as a network.
#[test]
fn one_gpu_computes_the_layers_of_the_network() {
    let (roofline, _) = roofline();
    for name in ["llama-3.1-8b", "mpt-7b", "qwen2.5-7b"] {
        let model = LanguageModel::find(name).unwrap().with_tokens(2048);
        let own = step(&model, "dp=1", 1).work()[0];
        let network = model.network().unwrap();
        let [mut forward, mut backward] = [0, 0];
        for layer in &network.layers {
            let time = roofline.layer(&LayerWork::of(layer), 1, 2);
            forward += time.forward.0;
            backward += time.backward.0;
        }
        for (own, other) in [(own.forward.0, forward), (own.backward.0, backward)] {
            let ratio = own as f64 / other as f64;
            assert!((ratio - 1.0).abs() < 1e-3, "{name}: {ratio}");
        }
    }
}
