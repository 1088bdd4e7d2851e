//! Holds steps by layouts to laws of programs. The runtime's tests play them.

use super::*;
use crate::system::gpus::find;
use crate::training::family::LayerFamily;
use crate::training::kernel_ratios::KernelRatios;
use crate::training::memory::{ModelPrecision, Recompute};
use crate::training::model::LanguageModel;
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;
use crate::training::roofline::{GpuRates, LayerWork};
use crate::training::routing::ExpertRouting;
use crate::training::terms::Terms;
use crate::training::trace::{KernelKind, KernelTrace, TracedKernels, TracedProducts, TracedTime};

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

fn roofline(precision: Precision) -> (Roofline, FrameworkCosts) {
    let (costs, _) = Terms::own().of_default_framework();
    let gpu = GpuRates::of(find("h100-sxm5-80gb").unwrap(), precision).unwrap();
    let FrameworkCosts { kernels, launch, casts_weights, .. } = costs;
    (Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared: None }, costs)
}

/// A dense model's kernels are those of its layers as a network. On plain cores both are timed by families of layers.
#[test]
fn one_gpu_computes_the_layers_of_the_network() {
    let (roofline, costs) = roofline(Precision::Fp32);
    let (order, execution) = (Order::default(), Execution::default());
    for name in ["llama-3.1-8b", "mpt-7b", "qwen2.5-7b"] {
        let model = LanguageModel::find(name).unwrap().with_tokens(2048);
        let eager = ModelTraining { kernels: Kernels::Eager, ..training(&model, "dp=1", 1) };
        let step = LayoutStep::new(&eager, order, execution, &roofline, &costs).unwrap();
        let own = step.work()[0];
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

/// Gives a trace whose kernels take a step's times by ratios: forward, backward, and the update.
fn trace_of(
    step: &LayoutStep,
    products: &[([u64; 3], bool, u64)],
    ratios: [f64; 3],
) -> KernelTrace {
    let work = step.work()[0];
    let scaled = |time: Picoseconds, ratio: f64| {
        Picoseconds((time.0 as f64 * step.micro_batches() as f64 * ratio) as u64)
    };
    let update = Picoseconds((work.update.0 as f64 * ratios[2]) as u64);
    let row =
        |kind, is_backward, time| TracedKernels { kind, is_backward, stream: 7, count: 1, time };
    KernelTrace {
        events: 1,
        steps: 1,
        names_steps: true,
        rank: None,
        ranks: None,
        gpu: String::new(),
        kernels: vec![
            row(KernelKind::Product, false, scaled(work.forward, ratios[0])),
            row(KernelKind::Product, true, scaled(work.backward, ratios[1])),
            row(KernelKind::Optimizer, false, update),
            row(KernelKind::Other, false, Picoseconds(7)),
        ],
        products: products
            .iter()
            .map(|(shape, is_backward, time)| {
                let (shape, is_backward, time) = (*shape, *is_backward, Picoseconds(*time));
                TracedProducts { shape, is_backward, count: 1, time }
            })
            .collect(),
        collectives: Vec::new(),
        unknown: Vec::new(),
        time: TracedTime::default(),
        skipped: Vec::new(),
    }
}

/// Products alone are measured, so that nothing else takes time, under any layout.
#[test]
fn ratios_that_one_layout_was_measured_for_serve_another() {
    let (roofline, costs) = roofline(Precision::Bf16);
    let model = LanguageModel::find("llama-3.1-8b").unwrap().with_tokens(2048);
    let own = training(&model, "dp=1", 1);
    let only = KernelRatios::NOTHING.with_kind(KernelKind::Product, [1.0; 2]).with_update(1.0);
    let modelled = |training: &ModelTraining<'_>, measured| {
        let execution = Execution { measured: Some(measured), ..Execution::default() };
        LayoutStep::new(training, Order::default(), execution, &roofline, &costs).unwrap()
    };
    let (order, execution) = (Order::default(), Execution::default());
    let run = TracedRun { training: &own, order, execution, roofline: &roofline, costs: &costs };
    let trace = trace_of(&modelled(&own, only), &[], [2.0, 3.0, 0.5]);
    let (ratios, rows) = run.ratios(&trace).unwrap();
    assert_eq!(ratios.rest, Picoseconds(7));
    assert!(rows.iter().any(|row| row.name == "product" && row.pass == "backward"));
    for layout in ["dp=1", "tp=8", "fsdp=8"] {
        let other = training(&model, layout, 8);
        let (plain, scaled) =
            (modelled(&other, only).work()[0], modelled(&other, ratios).work()[0]);
        let passes = [(plain.forward, scaled.forward, 2.0), (plain.backward, scaled.backward, 3.0)];
        for (one, more, ratio) in [passes[0], passes[1], (plain.update, scaled.update, 0.5)] {
            let found = more.0 as f64 / one.0 as f64;
            assert!((found / ratio - 1.0).abs() < 1e-3, "{layout}: {found}");
        }
    }
}

/// A product whose shape the trace has gets its own ratio; the others share what is left.
#[test]
fn products_are_matched_by_their_shapes() {
    let (roofline, costs) = roofline(Precision::Bf16);
    let model = LanguageModel::find("llama-3.1-8b").unwrap().with_tokens(2048);
    let own = training(&model, "dp=1", 1);
    let (order, execution) = (Order::default(), Execution::default());
    let time = |ratios: KernelRatios| {
        let execution = Execution { measured: Some(ratios), ..execution };
        LayoutStep::new(&own, order, execution, &roofline, &costs).unwrap().work()[0].forward.0
    };
    let only = KernelRatios::NOTHING.with_kind(KernelKind::Product, [1.0; 2]);
    let whole = LayoutStep::new(
        &own,
        order,
        Execution { measured: Some(only), ..execution },
        &roofline,
        &costs,
    );
    let down = time(KernelRatios::NOTHING.with_product("down", [1.0; 2]));
    let shapes = [([2048, 4096, 14336], false, 5 * down), ([7, 7, 7], false, 1)];
    let trace = trace_of(&whole.unwrap(), &shapes, [2.0, 2.0, 1.0]);
    let run = TracedRun { training: &own, order, execution, roofline: &roofline, costs: &costs };
    let (ratios, _) = run.ratios(&trace).unwrap();
    let [of_down, of_head] =
        ["down", "head"].map(|name| ratios.of(name, LayerFamily::FullyConnected)[0]);
    assert!((of_down - 5.0).abs() < 1e-3, "{of_down}");
    assert!(of_head < 2.0, "{of_head}");
    assert!((time(ratios) as f64 / time(only) as f64 - 2.0).abs() < 1e-3);
}
