//! Holds memory to measured steps and to the words of refusals. Tables by hand and laws of any layout have files of
//! their own.

mod laws;
mod tables;

use super::{Kernels, Lora, ModelPrecision, ModelTraining, Recompute, Targets};
use crate::training::layout::ModelLayout;
use crate::training::model::{Blocks, LanguageModel};
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;
use crate::training::routing::ExpertRouting;
use crate::units::Bytes;

const GIB: f64 = (1_u64 << 30) as f64;

fn training<'a>(model: &'a LanguageModel, layout: &str, batch: u64) -> ModelTraining<'a> {
    ModelTraining {
        model,
        layout: ModelLayout::read(layout).unwrap(),
        batch,
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

/// Gives the first blocks of a model with one dense block at most, as SimuMax cut models.
fn cut(model: &LanguageModel, layers: u64) -> LanguageModel {
    let is_mixed = model.blocks.len() > 1;
    let counts = if is_mixed { vec![1, layers - 1] } else { vec![layers] };
    let blocks = model.blocks.iter().zip(counts);
    let blocks = blocks.map(|(blocks, count)| Blocks { count, ..*blocks }).collect();
    LanguageModel { blocks, ..model.clone() }
}

#[test]
fn steps_take_the_memory_that_was_measured() {
    let text = include_str!("../../../../../validation/training-memory.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    assert!(lines.next().unwrap().starts_with("model,layers"));
    let mut wrong = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<u64>().unwrap();
        let mut model = LanguageModel::find(cells[0]).unwrap().with_tokens(number(5));
        if !cells[1].is_empty() {
            model = cut(&model, number(1));
        }
        if !cells[2].is_empty() {
            model.attention.key_value_heads = number(2);
        }
        let layout = cells[3].replace(' ', ",");
        let training = ModelTraining {
            zero: number(4) as u8,
            micro_batch: number(6),
            recompute: Recompute::read(cells[8]).unwrap(),
            kernels: crate::diagnostic::Named::from_name(cells[9]).unwrap(),
            ..training(&model, &layout, number(7))
        };
        let own = training.memory().unwrap()[number(10) as usize];
        let gibibytes = |size: Bytes| size.0 as f64 / GIB;
        let (allocated, reserved) = (gibibytes(own.allocated()), gibibytes(own.reserved()));
        let mut held = |what: &str, own: f64, measured: &str, most: f64| {
            let Ok(measured) = measured.parse::<f64>() else { return };
            let off = own / measured - 1.0;
            if off.abs() > most {
                wrong.push(format!("{what}: {own:.2} for {line}"));
            }
        };
        held("allocated", allocated, cells[11], 0.03);
        let most = if cells[11].is_empty() { 0.06 } else { 0.025 };
        held("reserved", reserved, cells[12], most);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn steps_that_were_run_on_a_gpu_fit_into_it() {
    // Rows of llm-foundry's table of throughputs (scripts/train/benchmarking), those with the fullest memory.
    for (name, gpus, capacity, tokens, micro_batch, recompute, pure) in [
        ("mpt-1b", 64, 80, 2048, 20, "none", false),
        ("mpt-760m", 8, 80, 16_384, 3, "none", false),
        ("mpt-3b", 8, 80, 8192, 3, "none", false),
        ("mpt-350m", 8, 80, 65_536, 1, "none", false),
        ("mpt-3b", 8, 80, 32_768, 3, "full", false),
        ("mpt-13b", 8, 80, 16_384, 3, "full", false),
        ("mpt-7b", 8, 80, 65_536, 1, "full", false),
        ("mpt-13b", 32, 40, 2048, 14, "full", true),
        ("mpt-3b", 64, 40, 2048, 6, "none", true),
        ("mpt-1b", 32, 40, 2048, 10, "none", true),
        ("mpt-350m", 16, 40, 2048, 18, "none", true),
        ("mpt-125m", 8, 40, 1024, 52, "none", true),
    ] {
        let model = LanguageModel::find(name).unwrap().with_tokens(tokens);
        let gradients = if pure { Precision::Bf16 } else { Precision::Fp32 };
        let layout = format!("fsdp={gpus}");
        let training = ModelTraining {
            zero: 3,
            micro_batch,
            gradients,
            recompute: Recompute::read(recompute).unwrap(),
            kernels: Kernels::Eager,
            ..training(&model, &layout, gpus * micro_batch)
        };
        let fitting = training.fitting(Bytes(capacity << 30), Bytes(892 << 20));
        assert!(fitting.is_ok(), "{name} {micro_batch} {}", fitting.unwrap_err());
    }
}

#[test]
fn stages_have_begun_more_the_earlier_they_are() {
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let begun = |layout: &str, batch: u64| {
        let training = training(model, layout, batch);
        (0..4).map(|stage| training.begun(stage)).collect::<Vec<_>>()
    };
    assert_eq!(begun("pp=4", 8), [[4], [3], [2], [1]]);
    assert_eq!(begun("pp=4", 2), [[2], [2], [2], [1]]);
    // Warm-up of Megatron's interleaved schedule: twice the stages behind it, and the chunks before the last.
    assert_eq!(begun("pp=4,vp=2", 8), [[7, 4], [5, 4], [4, 3], [4, 1]].map(|it| it.to_vec()));
}

#[test]
fn frozen_weights_have_neither_gradients_nor_state() {
    let model = LanguageModel::find("llama-2-70b").unwrap();
    let whole = training(model, "tp=8", 1);
    let lora = |target| {
        let targets = Targets::read(target).unwrap();
        ModelTraining { lora: Some(Lora { rank: 16, targets }), ..whole.clone() }
    };
    let of = |training: &ModelTraining<'_>| training.memory().unwrap()[0];
    let (all, small) = (of(&whole), of(&lora("attention")));
    // 16 x (8,192 + 10,240 + 8,192 + 8,192) numbers of each of 80 blocks, of 16 bytes, over eight GPUs.
    assert_eq!(small.gradients.0 + small.optimizer.0, 80 * 16 * 34_816 / 8 * 16);
    assert!(
        small.weights < Bytes(all.weights.0 + (1 << 24)) && small.activations < all.activations
    );
    assert!(of(&lora("all")).activations > small.activations);
}

#[test]
fn more_tokens_than_any_memory_has_are_refused() {
    let model = LanguageModel::find("deepseek-v3").unwrap().with_tokens(1 << 28);
    let micro_batch = 1 << 24;
    let large = ModelTraining { micro_batch, ..training(&model, "dp=1", micro_batch) };
    assert!(large.fitting(Bytes(1 << 40), Bytes(0)).is_err());
}

#[test]
fn a_refusal_names_what_fits() {
    let model = LanguageModel::find("llama-3.1-8b").unwrap();
    let eager = ModelTraining {
        zero: 3,
        micro_batch: 2,
        kernels: Kernels::Eager,
        recompute: Recompute::SelectiveOperations,
        ..training(model, "fsdp=8", 16)
    };
    let (capacity, context) = (Bytes(80 << 30), Bytes(1 << 30));
    let error = eager.fitting(capacity, context).unwrap_err().to_string();
    assert!(error.contains("the largest part is activations"), "{error}");
    assert!(error.contains("recompute full, or micro-batches of 1"), "{error}");
    let changed = ModelTraining { recompute: Recompute::Full(None), ..eager };
    assert!(changed.fitting(capacity, context).is_ok());
    // LoRA of one replica on each GPU with 179 GiB, as MLPerf's rows on B200s are.
    let large = LanguageModel::find("llama-2-70b").unwrap().with_tokens(8192);
    let targets = Targets::read("attention").unwrap();
    let lora = ModelTraining {
        precision: ModelPrecision::Fp8,
        lora: Some(Lora { rank: 16, targets }),
        ..training(&large, "dp=8", 8)
    };
    let error = lora.fitting(Bytes(179 << 30), context).unwrap_err().to_string();
    assert!(error.contains("fp8 activations"), "{error}");
    assert!(!error.contains("fp8 weights"), "{error}");
    let large = LanguageModel::find("llama-3.1-405b").unwrap();
    let error = training(large, "dp=64", 64).fitting(capacity, context).unwrap_err().to_string();
    assert!(error.contains("take more GPUs"), "{error}");
}
