//! Holds the search to all layouts, tried one by one, and its bounds to one another.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::training::layout::{AskedLayout, Order};
use crate::training::layout_step::{ExchangeTimes, Execution, FreeExchanges};
use crate::training::memory::{Kernels, ModelPrecision};
use crate::training::model::{Blocks, LanguageModel};
use crate::training::optimizer::Optimizer;
use crate::training::precision::Precision;
use crate::training::roofline::{GpuRates, Roofline};
use crate::training::routing::ExpertRouting;
use crate::training::terms::{FrameworkCosts, Terms};

const GIB: u64 = 1 << 30;

/// HGX H100s with eight interfaces of 400 Gb/s each, and steps as Megatron runs them.
fn machine(gpus: u64) -> SearchedMachine {
    let (costs, _) = Terms::own().of_default_framework();
    let model = crate::system::gpus::find("h100-sxm5-80gb").unwrap();
    let gpu = GpuRates::of(model, Precision::Bf16).unwrap();
    let FrameworkCosts { kernels, launch, casts_weights, .. } = costs;
    let roofline = Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared: None };
    SearchedMachine {
        rooflines: vec![roofline],
        costs,
        peaks: LinkPeaks::regular(gpus, 8, [500e9, 400e9]),
        order: Order::default(),
        execution: Execution::default(),
    }
}

fn search<'a>(
    model: &'a LanguageModel,
    machine: &'a SearchedMachine,
    gpus: u64,
    batch: u64,
) -> LayoutSearch<'a> {
    let training = ModelTraining {
        model,
        layout: ModelLayout::default(),
        batch,
        micro_batch: 1,
        precision: ModelPrecision::Bf16,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Adam,
        zero: 0,
        recompute: Recompute::None,
        kernels: Kernels::Fused,
        sequence_parallel: false,
        lora: None,
        narrow_weights: false,
        narrow_activations: false,
        routing: ExpertRouting::default(),
    };
    LayoutSearch {
        training,
        gpus,
        micro_batch: None,
        zero: None,
        recompute: None,
        capacity: Some(Bytes(80 * GIB)),
        context: Bytes(892 << 20),
        machine,
    }
}

/// Gives a model with fewer blocks.
fn cut(name: &str, layers: u64) -> LanguageModel {
    let model = LanguageModel::find(name).unwrap();
    let first = Blocks { count: layers, ..model.blocks[0] };
    LanguageModel { blocks: vec![first], ..model.clone() }
}

#[test]
fn every_sound_layout_is_tried() {
    let machine = machine(16);
    for (model, batch) in [(cut("llama-3.1-8b", 6), 16), (cut("mixtral-8x7b", 4), 8)] {
        let search = search(&model, &machine, 16, batch);
        let mut tried = BTreeSet::new();
        for space in search.spaces() {
            tried.extend(space.trainings.iter().map(|it| (it.layout, it.micro_batch)));
        }
        let mut sound = BTreeSet::new();
        let parts = [1, 2, 4, 8, 16];
        let etps = if model.experts().is_some() { vec![None, Some(1)] } else { vec![None] };
        for dp in parts {
            for fsdp in parts {
                for tp in parts {
                    for pp in parts {
                        for cp in parts.into_iter().filter(|cp| dp * fsdp * tp * pp * cp == 16) {
                            for (vp, ep) in (1..=8).flat_map(|vp| parts.map(|ep| (vp, ep))) {
                                for etp in etps.iter().filter(|etp| etp.is_none() || tp > 1) {
                                    let layout =
                                        ModelLayout { dp, fsdp, tp, pp, vp, cp, ep, etp: *etp };
                                    for micro_batch in parts {
                                        let asked = AskedLayout {
                                            model: &model,
                                            gpus: 16,
                                            batch,
                                            micro_batch,
                                            sequence_parallel: tp > 1,
                                        };
                                        if asked.sound(&layout).is_ok() {
                                            sound.insert((layout, micro_batch));
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(sound.len() > 200, "{}", sound.len());
        assert_eq!(tried, sound);
    }
}

/// Of a layout the first of each chain is found that fits; those behind it compute more again.
#[test]
fn no_more_is_computed_again_than_must_be() {
    let (model, machine) = (cut("llama-3.1-70b", 16), machine(8));
    let mut search = search(&model, &machine, 8, 8);
    let mut others = BTreeSet::new();
    for capacity in [30, 40, 50, 60] {
        search.capacity = Some(Bytes(capacity * GIB));
        let found = search.candidates();
        for space in search.spaces() {
            for training in &space.trainings {
                for chain in search.chains(&space) {
                    let of = |again: &Recompute| LayoutCandidate {
                        recompute: again.clone(),
                        ..LayoutCandidate::of(training, Bytes(0))
                    };
                    let fits = |again: &&Recompute| {
                        let own = search.training(&of(again));
                        search.needs(&own, &space.stages, &mut FoundLayouts::default()).unwrap().1
                    };
                    let Some(first) = chain.iter().find(fits) else { continue };
                    let wanted = of(first);
                    let is_found = found.candidates.iter().any(|it| {
                        (it.layout, it.micro_batch, it.zero, &it.recompute)
                            == (wanted.layout, wanted.micro_batch, wanted.zero, first)
                    });
                    assert!(is_found, "{} {}", wanted.layout, first.name());
                    others.insert(first.name());
                }
            }
        }
    }
    assert!(others.contains("layernorm") && others.contains("full:2"), "{others:?}");
}

#[test]
fn where_nothing_fits_it_is_said_what_would() {
    let model = LanguageModel::find("llama-3.1-405b").unwrap();
    let machine = machine(64);
    let search = search(model, &machine, 64, 64);
    let error = search.fitting(8).unwrap_err().to_string();
    for part in
        ["sound layouts of llama-3.1-405b on 64 GPUs fits", "zero 3 and recompute full", "GiB"]
    {
        assert!(error.contains(part), "{error}");
    }
    let enough = search.wanting(8).enough.unwrap();
    assert!(error.ends_with(&format!("{} GPUs are enough, as {}", enough.0, enough.1)), "{error}");
    let on = |gpus: u64| {
        let training = ModelTraining { batch: gpus, ..search.training.clone() };
        LayoutSearch { gpus, training, ..search.clone() }.candidates().candidates.len()
    };
    assert!(on(enough.0) > 0);
    assert_eq!(on(enough.0 - 8), 0);
    let odd = LayoutSearch { gpus: 131, ..search };
    let error = odd.fitting(8).unwrap_err().to_string();
    assert!(error.contains("no layout of 131 GPUs is sound"), "{error}");
}

#[test]
fn a_large_pod_is_searched_in_time() {
    let (model, machine) = (LanguageModel::find("llama-3.1-8b").unwrap(), machine(1024));
    let found = search(model, &machine, 1024, 1024).candidates();
    assert!(found.sound > 20_000 && found.candidates.len() > 20_000, "{}", found.sound);
    assert!(found.candidates.is_sorted_by_key(|it| it.least));
}

/// Exchanges in proportion to their bytes.
struct Proportional(u64);

impl ExchangeTimes for Proportional {
    fn call(&mut self, _: u64, call: &crate::training::layout_step::GroupCall) -> Picoseconds {
        Picoseconds(call.size.0 * self.0)
    }

    fn send(&mut self, send: &crate::training::layout_step::PipelineSend) -> Picoseconds {
        Picoseconds(send.size.0 * self.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The closed form is never above the turns, and slower exchanges never make a step shorter.
    #[test]
    fn the_floor_is_below_the_turns(
        layers in 3_u64..9, experts in any::<bool>(), batch in 2_u32..5, at in any::<prop::sample::Index>(),
        per_byte in 0_u64..40, gib in 20_u64..80,
    ) {
        let model = cut(if experts { "mixtral-8x7b" } else { "llama-3.1-8b" }, layers);
        let model = model.with_tokens(2048);
        let machine = machine(8);
        let mut search = search(&model, &machine, 8, 1 << batch);
        search.capacity = Some(Bytes(gib * GIB));
        let found = search.candidates();
        if found.candidates.is_empty() {
            return Ok(());
        }
        let own = search.training(at.get(&found.candidates));
        let step = machine.step(&own).unwrap().unwrap();
        let turns = step.by_turns(&mut Proportional(per_byte));
        prop_assert!(step.floor(&mut Proportional(per_byte)) <= turns);
        prop_assert!(step.by_turns(&mut FreeExchanges) <= turns);
        prop_assert!(step.busiest().1 <= turns);
        prop_assert!(turns <= step.by_turns(&mut Proportional(per_byte + 1)));
    }

    /// The same question has the same answer, and more memory never gives a slower best.
    #[test]
    fn more_memory_is_never_slower(gib in 12_u64..80, more in 1_u64..40, layers in 2_u64..8) {
        let (model, machine) = (cut("llama-3.1-70b", layers), machine(8));
        let mut search = search(&model, &machine, 8, 8);
        search.capacity = Some(Bytes(gib * GIB));
        let before = search.candidates();
        prop_assert_eq!(&before, &search.candidates());
        search.capacity = Some(Bytes((gib + more) * GIB));
        let after = search.candidates();
        if let Some(best) = before.candidates.first() {
            prop_assert!(after.candidates[0].least <= best.least);
        }
    }
}
