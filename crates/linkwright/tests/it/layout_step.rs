//! Steps by layouts, played: one rank for each stage must take what all ranks with all their exchanges take.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::collectives::baselines::{GroupTimes, Settings};
use linkwright::program::{CollectiveKind, Program};
use linkwright::runtime::{MpiProtocol, ProgramJob};
use linkwright::simulation::cluster::{Cluster, CollectiveChoices, CollectiveProtocol, Fidelity};
use linkwright::training::{
    ClassTimes, Execution, ExpertImbalance, ExpertRouting, FrameworkCosts, GpuRates, Kernels,
    LanguageModel, LayoutStep, ModelLayout, ModelPrecision, ModelTraining, Optimizer, Order,
    Precision, RankGroup, Recompute, Roofline, Terms, model_of,
};
use linkwright::units::Picoseconds;
use proptest::prelude::*;

use super::played::cluster;

/// A model whose step is quick to play: a few wide layers, with experts or without.
pub fn model(layers: u64, experts: bool) -> LanguageModel {
    let experts = if experts {
        "\"model_type\": \"mixtral\", \"num_local_experts\": 8, \"num_experts_per_tok\": 2,"
    } else {
        "\"model_type\": \"llama\","
    };
    let text = format!(
        "{{{experts} \"hidden_size\": 4096, \"num_hidden_layers\": {layers}, \"num_attention_heads\": 32,
         \"num_key_value_heads\": 8, \"intermediate_size\": 14336, \"vocab_size\": 32000,
         \"max_position_embeddings\": 4096, \"rms_norm_eps\": 1e-5, \"rope_theta\": 1e6}}"
    );
    LanguageModel::read("small.json", &text).unwrap().with_tokens(4096)
}

pub fn training<'a>(
    model: &'a LanguageModel,
    layout: &str,
    micro_batches: u64,
) -> ModelTraining<'a> {
    let layout = ModelLayout::read(layout).unwrap();
    ModelTraining {
        model,
        layout,
        batch: layout.replicas() * micro_batches,
        micro_batch: 1,
        precision: ModelPrecision::Bf16,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Adam,
        zero: if layout.fsdp > 1 { 3 } else { 1 },
        recompute: Recompute::None,
        kernels: Kernels::Fused,
        sequence_parallel: layout.tp > 1,
        lora: None,
        narrow_weights: false,
        narrow_activations: false,
        routing: ExpertRouting::default(),
    }
}

pub fn on(text: &str) -> Cluster {
    let collectives =
        CollectiveChoices { protocol: CollectiveProtocol::Nccl, ..CollectiveChoices::default() };
    let protocol = MpiProtocol {
        send_overhead: Picoseconds(0),
        copy_per_byte: Picoseconds(0),
        rendezvous_delay: Picoseconds(0),
        ..MpiProtocol::default()
    };
    Cluster { collectives, protocol, ..cluster(text, Fidelity::Flow) }
}

pub fn roofline(cluster: &Cluster, training: &ModelTraining<'_>) -> (FrameworkCosts, Roofline) {
    let (costs, _) = Terms::own().of_default_framework();
    let model = model_of(&cluster.system, 0).unwrap();
    let gpu = GpuRates::of(model, training.precision.numbers()).unwrap();
    let reach = costs.kernels.on(&gpu);
    let launch = costs.launch;
    (costs, Roofline { gpu, reach, launch, casts_weights: false, shared: None })
}

pub fn step(cluster: &Cluster, training: &ModelTraining<'_>, execution: Execution) -> LayoutStep {
    let (costs, roofline) = roofline(cluster, training);
    LayoutStep::new(training, Order::default(), execution, &roofline, &costs).unwrap()
}

pub fn times(cluster: &Cluster, step: &LayoutStep) -> ClassTimes {
    let mut known = GroupTimes::new(&cluster.system, Settings::default());
    let found = step.class_times(|groups, kind: CollectiveKind, sizes| {
        let of_group = |ranks: &Vec<u64>| ranks.iter().map(|rank| *rank as usize).collect();
        let groups: Vec<Vec<usize>> = groups.iter().map(of_group).collect();
        known.times(&groups, kind, sizes)
    });
    found.unwrap()
}

pub fn play(cluster: &Cluster, program: Program, gpus: Vec<u32>) -> f64 {
    let job = ProgramJob::new(&Arc::new(program), gpus);
    let outcome = cluster.replay(&[job], &mut (), &mut |_| ControlFlow::Continue(())).unwrap();
    outcome.jobs.jobs[0].end.as_seconds()
}

fn by_class(cluster: &Cluster, step: &LayoutStep, in_full: bool) -> f64 {
    let times = times(cluster, step);
    let program = if in_full { step.by_class_in_full(&times) } else { step.by_class(&times) };
    let gpus = (0..step.layout().pp).map(|stage| step.peers(0, stage)[0].1 as u32).collect();
    play(cluster, program, gpus)
}

#[test]
fn a_rank_for_each_stage_takes_what_all_ranks_take() {
    let server = "machine = \"hgx-h100\"";
    let pod =
        |servers| format!("kind = \"single-switch\"\nservers = {servers}\nmachine = \"hgx-h100\"");
    let (dense, experts) = (model(8, false), model(4, true));
    let cases: [(&LanguageModel, &str, u64, String); 11] = [
        (&dense, "dp=8", 2, server.to_owned()),
        (&dense, "fsdp=8", 1, server.to_owned()),
        (&dense, "tp=8", 1, server.to_owned()),
        (&dense, "tp=2,pp=4", 8, server.to_owned()),
        (&dense, "tp=2,pp=4,vp=2", 8, server.to_owned()),
        (&experts, "dp=8,ep=8", 1, server.to_owned()),
        (&experts, "dp=8,ep=4,tp=2,etp=1", 1, pod(2)),
        (&dense, "fsdp=16", 1, pod(2)),
        (&dense, "tp=8,pp=2,vp=2,dp=2", 4, pod(4)),
        (&dense, "tp=8,dp=4", 2, pod(4)),
        (&dense, "fsdp=8,tp=8", 1, pod(8)),
    ];
    for (model, layout, micro_batches, system) in cases {
        let [class, whole] = both(model, layout, micro_batches, &system);
        assert!(
            (class / whole - 1.0).abs() < 0.01,
            "{layout}: {class} by classes, {whole} by ranks"
        );
    }
}

/// The GPU whose experts get the most tokens of a block decides how long the block takes, which is another in each block.
#[test]
fn the_busiest_experts_decide_for_all() {
    let cluster = on("machine = \"hgx-h100\"");
    let experts = model(4, true);
    let imbalance = ExpertImbalance::read("zipf:0.5").unwrap();
    let routing = ExpertRouting { imbalance, seed: 7, ..ExpertRouting::default() };
    let training = ModelTraining { routing, ..training(&experts, "dp=8,ep=8", 1) };
    let (costs, roofline) = roofline(&cluster, &training);
    let (order, execution) = (Order::default(), Execution::default());
    let of_place = |place| {
        let costs = (&roofline, &costs);
        LayoutStep::of_expert_place(&training, order, execution, costs, place).unwrap().by_rank()
    };
    let places: Vec<Program> = (0..8).map(of_place).collect();
    let ranks = (0..8).map(|rank| places[rank].ranks[rank].clone()).collect();
    let whole = play(&cluster, Program { ranks, ..places[0].clone() }, (0..8).collect());
    let busiest = step(&cluster, &training, execution);
    let class = by_class(&cluster, &busiest, false);
    assert!((class / whole - 1.0).abs() < 0.01, "{class} by classes, {whole} by ranks");
    let even = ModelTraining { routing: ExpertRouting::default(), ..training };
    let even = by_class(&cluster, &step(&cluster, &even, execution), false);
    assert!(class > 1.05 * even, "{class} where experts are uneven, {even} where they are even");
}

/// Where gradients are reduced over the links that tensor parallelism waits for, both go on at half their speed meanwhile,
/// which classes do not see.
#[test]
fn classes_miss_little_where_two_kinds_of_groups_share_links() {
    let dense = model(8, false);
    let pod = "kind = \"single-switch\"\nservers = 4\nmachine = \"hgx-h100\"";
    let server = "machine = \"hgx-h100\"";
    for (layout, system) in [("tp=4,dp=2", server), ("tp=2,cp=4", server), ("cp=2,tp=8,dp=2", pod)]
    {
        let [class, whole] = both(&dense, layout, 1, system);
        assert!(
            class < whole && class > 0.96 * whole,
            "{layout}: {class} by classes, {whole} by ranks"
        );
    }
}

/// The time of a step by classes and by ranks; with exchanges folded into computing and without, the former is one.
fn both(model: &LanguageModel, layout: &str, micro_batches: u64, system: &str) -> [f64; 2] {
    let cluster = on(system);
    let training = training(model, layout, micro_batches);
    let step = step(&cluster, &training, Execution::default());
    let gpus = (0..training.layout.gpus() as u32).collect();
    let whole = play(&cluster, step.by_rank(), gpus);
    let class = by_class(&cluster, &step, false);
    let in_full = by_class(&cluster, &step, true);
    assert!((class / in_full - 1.0).abs() < 1e-6, "{layout}: {class} folded, {in_full} in full");
    [class, whole]
}

/// Holds a step to the laws that every step keeps.
fn laws(model: &LanguageModel, layout: &str, micro_batches: u64) {
    let pod = |speed| {
        let text = format!(
            "kind = \"single-switch\"\nservers = 2\nmachine = \"hgx-h100\"\nbandwidth = \"{speed} Gb/s\""
        );
        on(&text)
    };
    let [slow, fast] = [pod(100), pod(400)];
    let own = training(model, layout, micro_batches);
    let execution = Execution::default();
    let time = |cluster: &Cluster, training: &ModelTraining<'_>| {
        by_class(cluster, &step(cluster, training, execution), false)
    };
    let whole = time(&fast, &own);
    // Bandwidth and bytes.
    assert!(time(&slow, &own) >= whole, "{layout}: more bandwidth slows a step");
    let narrow = ModelTraining { gradients: Precision::Bf16, ..own.clone() };
    assert!(time(&slow, &narrow) <= time(&slow, &own), "{layout}: fewer bytes slow a step");
    // Recomputation adds its own time.
    let again = |text| ModelTraining { recompute: Recompute::read(text).unwrap(), ..own.clone() };
    let more = ["selective", "full:1", "full"].map(|text| time(&fast, &again(text)));
    assert!(more.iter().all(|more| *more >= whole), "{layout}: recomputation speeds a step up");
    assert!(more[2] >= more[0] && more[2] >= more[1], "{layout}: {more:?}");
    // The longest chain: the busiest stage's computing, and one micro-batch through all stages.
    let step = step(&fast, &own, execution);
    assert!(whole >= step.busiest().1.as_seconds(), "{layout}: shorter than a stage computes");
    let once: u64 = step.work().iter().map(|it| it.forward.0 + it.backward.0).sum();
    assert!(whole >= Picoseconds(once).as_seconds(), "{layout}: shorter than a micro-batch takes");
    // The busiest link: no rank sends more than its links carry.
    let times = times(&fast, &step);
    for (calls, known) in step.calls().iter().zip(&times.calls) {
        let mut groups: BTreeMap<RankGroup, f64> = BTreeMap::new();
        for (call, count) in calls {
            *groups.entry(call.group).or_default() += known[call].as_seconds() * *count as f64;
        }
        assert!(groups.values().all(|busy| *busy <= whole), "{layout}: {groups:?} of {whole}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn more_of_a_system_never_slows_a_step_and_more_work_never_speeds_it_up(
        parts in prop::sample::select(vec![
            (1, 1, 1, 16), (2, 1, 1, 8), (4, 2, 1, 2), (8, 2, 1, 1), (2, 4, 2, 2), (1, 2, 2, 8),
            (4, 1, 1, 4), (1, 4, 1, 4),
        ]),
        is_sharded in any::<bool>(),
        has_experts in any::<bool>(),
        rounds in 1_u64..3,
    ) {
        let (tp, pp, vp, replicas) = parts;
        let kind = if is_sharded { "fsdp" } else { "dp" };
        let experts = if has_experts && tp == 1 && replicas >= 8 { ",ep=8" } else { "" };
        let layout = format!("{kind}={replicas},tp={tp},pp={pp},vp={vp}{experts}");
        laws(&model(8, has_experts), &layout, rounds * pp);
    }
}
