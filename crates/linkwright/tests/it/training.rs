//! Tests steps of training, played: the contract of every way to communicate.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use linkwright::diagnostic::Named;
use linkwright::program::{CollectiveKind, Operation, Program, RankBuilder, WORLD};
use linkwright::runtime::{MpiProtocol, Outcome, ProgramJob};
use linkwright::simulation::cluster::{
    Cluster, ClusterOutcome, CollectiveChoices, CollectiveProtocol, Fidelity,
};
use linkwright::system::gpus::gpu_models;
use linkwright::system::{System, toml_format};
use linkwright::training::{
    LayerTime, Network, Optimizer, Precision, Representatives, SharedMemories, SharedMemory, Terms,
    Training, TrainingError, Way, collectives_of, model_of,
};
use linkwright::units::Picoseconds;
use proptest::prelude::*;

use super::played::cluster;

const TEXT: &str = r#"
name = "small"
source = "a test"
input = { channels = 3, height = 32, width = 32 }
layers = [
    { name = "first", kind = "convolution", channels = 64, kernel = 3, padding = 1 },
    { name = "relu", kind = "relu" },
    { name = "pool", kind = "max-pooling", kernel = 2 },
    { name = "wide", kind = "fully-connected", width = 512, split = "columns" },
    { name = "narrow", kind = "fully-connected", width = 10, split = "rows" },
]
"#;

fn small() -> Network {
    Network::read("small.toml", TEXT).unwrap()
}

fn training(network: &Network, way: Way, batch: u64) -> Training<'_> {
    static NONE: BTreeMap<usize, LayerTime> = BTreeMap::new();
    static LINKS: LazyLock<SharedMemories> = LazyLock::new(|| {
        let links = SharedMemory { read: [1e-11; 2], written: [1e-11; 2] };
        gpu_models().names().into_iter().map(|name| (name.to_owned(), links)).collect()
    });
    Training {
        network,
        batch,
        precision: Precision::Fp32,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Momentum,
        terms: Terms::own(),
        costs: Terms::own().framework("mxnet-18-04").unwrap(),
        way,
        overlaps: true,
        micro_batches: 4,
        copies_samples: true,
        measured: &NONE,
        shared: &LINKS,
    }
}

fn ways() -> impl Iterator<Item = Way> {
    Way::NAMED.iter().map(|(_, way)| *way)
}

fn on(text: &str) -> Cluster {
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

fn play(
    training: &Training<'_>,
    cluster: &Cluster,
    gpus: &[u32],
    iterations: u32,
) -> Result<ClusterOutcome, TrainingError> {
    let program = training.program(&cluster.system, gpus)?;
    Ok(play_program(cluster, program, gpus, iterations))
}

fn play_program(
    cluster: &Cluster,
    program: Program,
    gpus: &[u32],
    iterations: u32,
) -> ClusterOutcome {
    let iterations = NonZeroU32::new(iterations).unwrap();
    let job = ProgramJob { iterations, ..ProgramJob::new(&Arc::new(program), gpus.to_vec()) };
    cluster.replay(&[job], &mut (), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn time(outcome: &Outcome) -> u64 {
    outcome.jobs[0].end.0
}

#[test]
fn every_way_comes_to_its_end_and_no_step_is_shorter_than_what_a_gpu_computes() {
    let network = small();
    let cluster = on("machine = \"dgx1-v100\"");
    for way in ways() {
        for gpus in [1_u32, 2, 4, 8] {
            let gpus: Vec<u32> = (0..gpus).collect();
            let training = training(&network, way, 64);
            let step = match play(&training, &cluster, &gpus, 1) {
                Ok(step) => step,
                // Three layers with weights are no eight stages.
                Err(TrainingError::TooManyStages { .. }) => {
                    assert!(way == Way::Pipeline && gpus.len() > 3);
                    continue;
                }
                // NVLinks join GPU 0 with the next four, and nothing with the others.
                Err(TrainingError::NoPeerAccess { first: 0, second: 5, .. }) => {
                    assert!(matches!(way, Way::DirectAccess | Way::SharedMemory));
                    continue;
                }
                Err(error) => panic!("{way:?} {error}"),
            };
            let model = model_of(&cluster.system, 0).unwrap();
            let layers = training.layers(model, gpus.len()).unwrap();
            let computed: u64 = layers.iter().map(|it| it.forward.0 + it.backward.0).sum();
            let of_one =
                if way == Way::Pipeline { 4 * computed / gpus.len() as u64 } else { computed };
            assert!(time(&step.jobs) >= of_one, "{way:?} on {} GPUs", gpus.len());
            let busiest = step.inside.iter().map(|(channel, carried)| {
                carried.data.0 as f64 / cluster.system.channel(*channel).bandwidth.0 as f64
            });
            let busiest = busiest.fold(0.0, f64::max);
            let seconds = Picoseconds(time(&step.jobs)).as_seconds();
            assert!(seconds >= busiest, "{way:?} on {} GPUs: {seconds} {busiest}", gpus.len());
        }
    }
}

#[test]
fn one_gpu_communicates_nothing() {
    let network = small();
    let cluster = on("machine = \"dgx1-v100\"");
    for way in ways() {
        let program = training(&network, way, 16).program(&cluster.system, &[0]).unwrap();
        let is_between = |operation: &&Operation| {
            matches!(
                operation,
                Operation::Send { .. } | Operation::Receive { .. } | Operation::Collective { .. }
            )
        };
        let [rank] = &program.ranks[..] else { panic!("{} ranks", program.ranks.len()) };
        assert_eq!(rank.operations().iter().find(is_between), None, "{way:?}");
    }
}

#[test]
fn gradients_move_in_their_own_numbers_and_weights_in_theirs() {
    let network = small();
    let cluster = on("machine = \"dgx1-v100\"");
    let moved = |way, precision, gradients, kind| -> u64 {
        let training = Training { precision, gradients, ..training(&network, way, 16) };
        let program = training.program(&cluster.system, &[0, 1]).unwrap();
        let calls = collectives_of(&program);
        let own = calls.into_iter().filter(|((of, _), _)| *of == kind);
        own.map(|((_, size), count)| size.0 * count).sum()
    };
    let (long, short) = (Precision::Fp32, Precision::Fp16);
    let numbers = network.parameters();
    for (way, kind) in [
        (Way::AllReduce, CollectiveKind::AllReduce),
        (Way::ReduceBroadcast, CollectiveKind::Reduce),
    ] {
        assert_eq!(moved(way, short, short, kind), 2 * numbers);
        assert_eq!(moved(way, short, long, kind), 4 * numbers);
        assert_eq!(moved(way, long, short, kind), 2 * numbers);
    }
    let weights = moved(Way::ReduceBroadcast, short, long, CollectiveKind::Broadcast);
    assert_eq!(weights, 2 * numbers);
}

#[test]
fn iterations_repeat() {
    let network = small();
    let cluster = on("machine = \"dgx1-v100\"");
    for way in ways().filter(|way| *way != Way::Pipeline) {
        let training = training(&network, way, 64);
        let times = [1, 2, 3]
            .map(|count| time(&play(&training, &cluster, &[0, 1, 2, 3], count).unwrap().jobs));
        // Blocks that a rate bounds meet on links in another order, a four-thousandth apart at most.
        let (second, third) = (times[1] - times[0], times[2] - times[1]);
        assert!(second.abs_diff(third) < second / 4_000, "{way:?}: {second} {third}");
    }
}

/// One server's step, with the time that each collective takes by itself, equals the step of all.
#[test]
fn servers_that_stand_for_others_take_as_long_as_all() {
    let network = small();
    let cluster = on("kind = \"single-switch\"\nservers = 2\nmachine = \"dgx1-v100\"");
    let gpus: Vec<u32> = (0..16).collect();
    for (way, stands_for) in [
        (Way::AllReduce, 2),
        (Way::FullySharded, 2),
        (Way::TensorParallel, 2),
        (Way::ReduceBroadcast, 1),
    ] {
        let training = training(&network, way, 64);
        let program = training.program(&cluster.system, &gpus).unwrap();
        let whole = play_program(&cluster, program.clone(), &gpus, 1);
        let time_of = |kind, size| {
            let mut rank = RankBuilder::default();
            rank.run(Operation::Collective { kind, root: 0, communicator: WORLD, size });
            let lone = Program {
                name: "lone".to_owned(),
                communicators: vec![gpus.clone()],
                regions: Vec::new(),
                ranks: vec![rank.finish(); 16],
            };
            Picoseconds(time(&play_program(&cluster, lone, &gpus, 1).jobs))
        };
        assert!(!collectives_of(&program).is_empty());
        let Representatives { program, ranks, servers } =
            Representatives::of(&program, &cluster.system, &gpus, time_of).unwrap();
        // GPU 0 alone updates where weights are broadcast, so that its server is like no other.
        let played = 0..16 / stands_for;
        let alike = if stands_for == 2 { vec![vec![0, 1]] } else { vec![vec![0], vec![1]] };
        assert_eq!(servers, alike, "{way:?}");
        assert_eq!(ranks, played.map(|rank| (rank, stands_for)).collect::<Vec<_>>(), "{way:?}");
        let some = play_program(&cluster, program, &gpus[..ranks.len()], 1);
        let [some, whole] = [some, whole].map(|it| time(&it.jobs) as f64);
        assert!((some / whole - 1.0).abs() < 0.02, "{way:?}: {some} for all, {whole} by all");
    }
    let copies = training(&network, Way::PeerCopies, 64);
    let (program, none) = (copies.program(&cluster.system, &gpus[..8]).unwrap(), Picoseconds(0));
    let found = Representatives::of(&program, &cluster.system, &gpus[..8], |_, _| none);
    assert_eq!(found, None);
}

#[test]
fn gpus_of_two_servers_copy_nothing_and_reduce_all_the_same() {
    let network = small();
    let cluster = on("kind = \"single-switch\"\nservers = 2\nmachine = \"dgx1-v100\"");
    let gpus: Vec<u32> = (0..16).collect();
    for way in ways() {
        let found = play(&training(&network, way, 64), &cluster, &gpus, 1);
        match way {
            Way::AllReduce
            | Way::AllReduceBroadcast
            | Way::ReduceBroadcast
            | Way::FullySharded
            | Way::TensorParallel => assert!(found.is_ok(), "{way:?}"),
            Way::Pipeline => {
                assert_eq!(
                    found.unwrap_err(),
                    TrainingError::TooManyStages { stages: 16, blocks: 3 }
                );
            }
            _ => {
                let error = found.unwrap_err();
                let apart = TrainingError::Apart { way: way.name(), first: 0, second: 8 };
                assert_eq!(error, apart);
            }
        }
    }
}

#[test]
fn a_batch_that_does_not_divide_is_refused_with_those_that_do() {
    let network = small();
    let cluster = on("machine = \"dgx1-v100\"");
    let error = training(&network, Way::AllReduce, 30).program(&cluster.system, &[0, 1, 2, 3]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "a batch of 30 samples does not divide evenly among 4 GPUs; use 28 or 32"
    );
    let error = training(&network, Way::AllReduce, 3).program(&cluster.system, &[0, 1, 2, 3]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "a batch of 3 samples does not divide evenly among 4 GPUs; use 4"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No step is slowed by wider links.
    #[test]
    fn more_bandwidth_never_slows_a_step(
        at in 0_usize..12, slow in 5_u32..40, more in 1_u32..40, gpus in 2_u32..5,
    ) {
        let network = small();
        let (_, way) = Way::NAMED[at];
        let clique = |rate: u32| {
            let links: String = (0..gpus).flat_map(|a| (a + 1..gpus).map(move |b| format!(
                "[[link]]\nkind = \"nvlink2\"\nbandwidth = \"{rate} GB/s\"\nbetween = [[\"GPU{a}\", \"GPU{b}\"]]\n"
            ))).collect();
            let names: Vec<String> = (0..gpus).map(|gpu| format!("\"GPU{gpu}\"")).collect();
            let pcie: Vec<String> = (0..gpus).map(|gpu| format!("[\"GPU{gpu}\", \"CPU0\"]")).collect();
            format!(
                "name = \"clique\"\nsource = \"a test\"\n[[device]]\nkind = \"gpu\"\n\
                 model = \"Tesla V100-SXM2-16GB\"\nnames = [{}]\n[[device]]\nkind = \"cpu\"\n\
                 names = [\"CPU0\"]\n[[link]]\nkind = \"pcie3\"\nbetween = [{}]\n{links}",
                names.join(", "), pcie.join(", ")
            )
        };
        let gpus: Vec<u32> = (0..gpus).collect();
        let seconds = |rate| {
            let server = toml_format::read("<test>", &clique(rate)).unwrap();
            let system = System::of_server(Arc::new(server));
            let cluster = Cluster { system: Arc::new(system), ..on("machine = \"dgx1-v100\"") };
            match play(&training(&network, way, 48), &cluster, &gpus, 1) {
                Ok(step) => Some(time(&step.jobs)),
                Err(TrainingError::TooManyStages { .. }) => None,
                Err(error) => panic!("{error}"),
            }
        };
        // Times of flows are rounded up to whole picoseconds, once for each.
        let slack = 1_000_000;
        if let (Some(slow), Some(fast)) = (seconds(slow), seconds(slow + more)) {
            prop_assert!(fast <= slow + slack, "{way:?}: {fast} with more, {slow} with less");
        }
    }
}

#[test]
fn every_way_has_memory_for_each_gpu_and_more_of_the_first_where_it_aggregates() {
    let network = Network::find("gpt2-1.5b").unwrap();
    let cluster = on("machine = \"dgx1-v100\"");
    let gpus: Vec<u32> = (0..8).collect();
    let terms = Terms::own().memory("pytorch").unwrap();
    let totals = |way| {
        let (precision, gradients) = (Precision::Fp16, Precision::Fp16);
        let training = Training { precision, gradients, ..training(network, way, 8) };
        let found = training.footprints(&cluster.system, &gpus, terms).unwrap();
        let totals: Vec<u64> = found.iter().map(|it| it.total().0).collect();
        let fits = training.fitting(&cluster.system, &gpus, terms).is_ok();
        // A V100 has 16 GiB.
        assert_eq!(fits, totals.iter().all(|total| *total <= 16 << 30), "{way:?}");
        totals
    };
    for way in ways() {
        let totals = totals(way);
        assert_eq!(totals.len(), 8);
        let aggregates = matches!(
            way,
            Way::AllReduceBroadcast
                | Way::ReduceBroadcast
                | Way::PeerCopies
                | Way::RelayedCopies
                | Way::DirectAccess
                | Way::SharedMemory
        );
        if aggregates {
            assert!(totals[0] > totals[1], "{way:?}");
        }
        if way != Way::Pipeline {
            assert!(totals[1..].iter().all(|total| *total == totals[1]), "{way:?}");
        }
    }
    // Parts of weights, gradients and state take less than all of them.
    let whole = totals(Way::AllReduce)[0];
    for way in [Way::FullySharded, Way::Pipeline] {
        assert!(totals(way).iter().all(|total| 2 * total < whole), "{way:?}");
    }
    let error = training(network, Way::AllReduce, 8).fitting(&cluster.system, &gpus, terms);
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("1 sample at once takes ") && error.contains(" of GPU 0, "),
        "{error}"
    );
}
