//! Tests times of products and updates: all have to pass.

use proptest::prelude::*;

use super::*;
use crate::training::layer::{LayerKind, Split};
use crate::training::memory::ModelPrecision;
use crate::training::precision::Precision;
use crate::training::{FrameworkCosts, Network, Terms};

fn roofline(gpu: &str, precision: Precision, framework: &str) -> Roofline {
    let gpu = GpuRates::of(crate::system::gpus::find(gpu).unwrap(), precision).unwrap();
    let costs = Terms::own().framework(framework).unwrap();
    let FrameworkCosts { kernels, launch, casts_weights, .. } = costs;
    Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights, shared: None }
}

/// Returns a product of `rows` rows and `columns` columns, with sums of `depth` terms.
fn product(rows: u64, columns: u64, depth: u64) -> Kernel {
    let results = u128::from(rows) * u128::from(columns);
    let multiply_adds = results * u128::from(depth);
    Kernel { multiply_adds, results, columns, is_aligned: true, ..Kernel::default() }
}

#[test]
fn a_large_product_reaches_the_share_of_the_peak_but_for_its_start() {
    let roofline = roofline("v100", Precision::Fp32, "pytorch");
    let large = product(8192, 8192, 8192);
    let ideal = 2.0 * large.multiply_adds as f64 / (roofline.gpu.peak.0 as f64);
    let depth = 8192.0;
    let reached = ideal / roofline.arithmetic(large);
    let expected = roofline.reach.share[0] * depth / (depth + roofline.reach.start[0]);
    assert!((reached / expected - 1.0).abs() < 1e-9, "{reached} beside {expected}");
}

#[test]
fn twenty_channels_take_as_long_as_a_tile_of_them() {
    let roofline = roofline("p100", Precision::Fp32, "mxnet-0-11");
    let full = roofline.arithmetic(product(64 * 1024, roofline.reach.tile[0], 500));
    let narrow = roofline.arithmetic(product(64 * 1024, 20, 500));
    assert!((narrow / full - 1.0).abs() < 1e-9);
}

#[test]
fn an_lstm_takes_the_kernels_of_all_its_time_steps() {
    let mut roofline = roofline("p100", Precision::Fp32, "mxnet-0-11");
    let network = Network::find("lstm").unwrap();
    let layer = network.layers.iter().find(|layer| layer.steps > 1).unwrap();
    let work = LayerWork::of(layer);
    let with = roofline.layer(&work, 128, 1);
    let cell = std::mem::take(&mut roofline.reach.cell);
    let without = roofline.layer(&work, 128, 1);
    let each = roofline.reach.least.max(roofline.launch).0 as f64;
    let beside = each * cell * f64::from(layer.steps);
    assert!(((with.forward.0 - without.forward.0) as f64 - beside).abs() <= 1.0);
    assert!(((with.backward.0 - without.backward.0) as f64 - 2.0 * beside).abs() <= 1.0);
}

#[test]
fn rows_that_start_anywhere_slow_matrix_units_alone() {
    let odd = Kernel { is_aligned: false, ..product(8192, 50_257, 1600) };
    let even = Kernel { is_aligned: true, ..odd };
    for (precision, width) in [(Precision::Bf16, 0), (Precision::Tf32, 1)] {
        let roofline = roofline("h100", precision, "pytorch");
        let times = roofline.arithmetic(odd) / roofline.arithmetic(even);
        assert!((times / roofline.reach.unaligned[width] - 1.0).abs() < 1e-9);
    }
    let plain = roofline("h100", Precision::Fp32, "pytorch");
    assert!((plain.arithmetic(odd) - plain.arithmetic(even)).abs() < f64::EPSILON);
}

/// Makes a head of BERT's shape behind an embedding, with a matrix of its own or with that of the embedding.
fn head((tokens, width, vocabulary): (u64, u64, u64), bias: bool, tied: bool) -> LayerWork {
    let text = format!(
        "input = {{ tokens = {tokens} }}\nlayers = [\n\
         {{ kind = \"embedding\", vocabulary = {vocabulary}, width = {width} }},\n\
         {{ kind = \"fully-connected\", width = {vocabulary}, bias = {bias}, tied = {tied} }},\n]\n"
    );
    let network = Network::read("head.toml", &text).unwrap();
    LayerWork::of(network.layers.last().unwrap())
}

/// Kernels do not know whose a matrix is; only its update is the embedding's.
#[test]
fn a_matrix_of_an_embedding_takes_what_one_of_its_own_does() {
    let gpus = [
        ("h100", Precision::Bf16, "pytorch"),
        ("h100", Precision::Tf32, "pytorch"),
        ("v100", Precision::Fp32, "mxnet-18-04"),
    ];
    for shape in [(1024, 1024, 30_522), (1024, 1024, 30_528), (1024, 1600, 50_257), (64, 256, 96)] {
        for (gpu, precision, framework) in gpus {
            let roofline = roofline(gpu, precision, framework);
            for bias in [false, true] {
                let works = [head(shape, bias, true), head(shape, bias, false)];
                for (split, parts) in [(None, 1), (Some(Split::Columns), 8), (Some(Split::Rows), 8)]
                {
                    let [tied, own] =
                        works.map(|work| roofline.layer(&work.part(split, parts), 4, 2));
                    assert_eq!((tied.forward, tied.backward), (own.forward, own.backward));
                    assert!(tied.update <= own.update, "{shape:?} {bias}");
                }
            }
        }
    }
}

#[test]
fn the_head_of_bert_takes_less_than_a_millisecond_where_its_vocabulary_is_even() {
    let roofline = roofline("h100", Precision::Bf16, "pytorch");
    let milliseconds = |vocabulary, bias, tied| {
        let work = head((1024, 1024, vocabulary), bias, tied);
        1e3 * roofline.layer(&work, 1, 2).backward.as_seconds()
    };
    for tied in [false, true] {
        for (vocabulary, bias, expected) in [
            (30_528, true, 0.31),
            (30_528, false, 0.30),
            (30_522, true, 1.3),
            (30_522, false, 1.22),
        ] {
            let found = milliseconds(vocabulary, bias, tied);
            assert!((found / expected - 1.0).abs() < 0.04, "{vocabulary} {bias} {tied}: {found}");
        }
    }
}

/// A backward pass has gradients of all that a layer trains, and of a matrix that it shares.
#[test]
fn every_layer_has_gradients_of_the_weights_that_it_reads() {
    let mut kinds = std::collections::BTreeSet::new();
    for layer in Network::all().into_iter().flat_map(|network| &network.layers) {
        let work = LayerWork::of(layer);
        kinds.insert(layer.kind.name());
        let shared = match layer.kind {
            LayerKind::FullyConnected { width, tied: true, .. } => width * work.columns_read,
            _ => 0,
        };
        assert_eq!(work.weights, work.parameters + shared, "{}", layer.name);
    }
    assert!(kinds.len() > 15, "{kinds:?}");
}

/// Gives the passes of every layer of a network, with the library's own choice and with direct convolutions alone.
fn passes_of(gpu: &str, precision: Precision, network: &str) -> Vec<(LayerWork, [LayerTime; 2])> {
    let with = roofline(gpu, precision, "pytorch");
    let mut without = with;
    without.reach.fast = None;
    let network = Network::find(network).unwrap();
    let works = network.layers.iter().map(LayerWork::of);
    works.map(|work| (work, [with, without].map(|it| it.layer(&work, 64, 1)))).collect()
}

#[test]
fn a_library_never_takes_a_slower_algorithm_than_the_direct_one() {
    for gpu in ["k80", "p100", "v100"] {
        for network in ["vgg-16", "inception-v3", "alexnet:tensorflow"] {
            let mut saved = 0;
            for (work, [with, without]) in passes_of(gpu, Precision::Fp32, network) {
                assert!(with.forward <= without.forward && with.backward <= without.backward);
                assert_eq!(with.update, without.update);
                let is_same = with == without;
                assert!(is_same || work.unit_stride.is_some());
                saved += u32::from(!is_same);
            }
            assert!(saved >= 3, "{gpu} {network}");
        }
    }
}

#[test]
fn matrix_units_and_later_gpus_have_no_fast_convolutions() {
    for (gpu, precision) in [
        ("v100", Precision::Fp16),
        ("p100", Precision::Fp16),
        ("h100", Precision::Fp32),
        ("a100-sxm4-40gb", Precision::Tf32),
        ("t4", Precision::Fp32),
    ] {
        for (_, [with, without]) in passes_of(gpu, precision, "vgg-16") {
            assert_eq!(with, without, "{gpu}");
        }
    }
    let costs = Terms::own().framework("pytorch").unwrap();
    assert_eq!(roofline("h100", Precision::Fp32, "pytorch").reach, costs.kernels);
}

#[test]
fn an_odd_vocabulary_is_told_by_the_rows_of_its_product() {
    let roofline = roofline("h100", Precision::Bf16, "pytorch");
    let network = Network::find("gpt2-1.5b").unwrap();
    let uneven: Vec<&str> = network
        .layers
        .iter()
        .filter(|layer| {
            let work = LayerWork::of(layer);
            let kernels = Kernels::of(&work, 1, roofline.operands(&work));
            layer.kind.is_matrix() && !kernels.forward.is_aligned
        })
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(uneven, ["head"]);
}

#[test]
fn weights_are_cast_for_numbers_of_16_bits_alone() {
    let network = Network::find("vgg-16").unwrap();
    let layer = network.layers.iter().find(|layer| layer.name == "fc6").unwrap();
    let work = LayerWork::of(layer);
    for (precision, casts) in [(Precision::Bf16, true), (Precision::Tf32, false)] {
        let with = roofline("h100", precision, "pytorch");
        let without = Roofline { casts_weights: false, ..with };
        let [cast, plain] = [with, without].map(|it| it.layer(&work, 32, 1));
        assert_eq!(cast.forward > plain.forward, casts);
        assert_eq!(cast.backward > plain.backward, casts);
        assert_eq!(cast.update, plain.update);
    }
}

#[test]
fn a_family_s_passes_stretch_its_layers_alone() {
    let mut roofline = roofline("h100", Precision::Bf16, "pytorch");
    let network = Network::find("resnet-50").unwrap();
    let time = |roofline: &Roofline| -> Vec<(LayerFamily, LayerTime)> {
        let of = |layer| LayerWork::of(layer);
        network.layers.iter().map(of).map(|it| (it.family, roofline.layer(&it, 64, 1))).collect()
    };
    let before = time(&roofline);
    roofline.reach.layers[LayerFamily::BatchNorm as usize][0].forward.times *= 2.0;
    for ((family, before), (_, after)) in before.into_iter().zip(time(&roofline)) {
        assert_eq!(after.forward > before.forward, family == LayerFamily::BatchNorm);
        assert_eq!(after.backward, before.backward);
    }
}

proptest! {
    /// Wider, longer or deeper products take no less time. None can reach more than the share of
    /// the peak.
    #[test]
    fn more_work_takes_no_less_time(
        rows in 1_u64..100_000, columns in 1_u64..5000, depth in 1_u64..20_000,
        more in 1_u64..1000, which in 0..3,
    ) {
        let roofline = roofline("v100", Precision::Fp32, "mxnet-18-04");
        let small = product(rows, columns, depth);
        let large = match which {
            0 => product(rows + more, columns, depth),
            1 => product(rows, columns + more, depth),
            _ => product(rows, columns, depth + more),
        };
        let [first, second] = [small, large].map(|kernel| roofline.arithmetic(kernel));
        prop_assert!(second >= first * (1.0 - 1e-9), "{first} then {second}");
        let least = 2.0 * small.multiply_adds as f64
            / (roofline.gpu.peak.0 as f64 * roofline.reach.share[0]);
        prop_assert!(first >= least * (1.0 - 1e-9), "{first} below {least}");
    }

    /// It takes no less time to compute more samples, in any layer of a network.
    #[test]
    fn more_samples_take_no_less_time(samples in 1_u64..512, more in 1_u64..64) {
        let roofline = roofline("p100", Precision::Fp32, "mxnet-0-11");
        for layer in &Network::find("googlenet").unwrap().layers {
            let work = LayerWork::of(layer);
            let [few, many] = [samples, samples + more].map(|of| roofline.layer(&work, of, 1));
            prop_assert!(many.forward >= few.forward, "{}", layer.name);
            prop_assert!(many.backward >= few.backward, "{}", layer.name);
        }
    }
}

/// Gives the roofline of a B200 whose linear layers multiply such numbers, with PyTorch's kernels.
fn of_products(precision: ModelPrecision) -> Roofline {
    let gpu = crate::system::gpus::find("b200-sxm6-180gb").unwrap();
    let gpu = GpuRates::with_products(gpu, precision).unwrap();
    let costs = Terms::own().framework("pytorch").unwrap();
    let FrameworkCosts { kernels, launch, .. } = costs;
    Roofline { gpu, reach: kernels.on(&gpu), launch, casts_weights: false, shared: None }
}

#[test]
fn numbers_that_a_gpu_does_not_multiply_are_refused_with_those_that_it_does() {
    let of = |name, precision| {
        let gpu = crate::system::gpus::find(name).unwrap();
        GpuRates::with_products(gpu, precision).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(of("h100-sxm5-80gb", ModelPrecision::Fp8), Ok(()));
    let error = of("h100-sxm5-80gb", ModelPrecision::Mxfp8).unwrap_err();
    assert!(error.contains("bf16") && error.contains("fp8"), "{error}");
    assert!(of("a100-sxm4-80gb", ModelPrecision::Fp8).is_err());
    assert_eq!(of("b200-sxm6-180gb", ModelPrecision::Nvfp4), Ok(()));
}

proptest! {
    #[test]
    fn more_bandwidth_and_a_higher_clock_never_slow_a_layer(
        at in 0_usize..400,
        clocks in prop::array::uniform2(200_u64..1980),
        bandwidths in prop::array::uniform2(100_u64..9000),
        samples in 1_u64..64,
    ) {
        use crate::system::gpus::{self, GpuChanges};
        use crate::units::{Bandwidth, Frequency};
        let network = Network::find("gpt2-1.5b").unwrap();
        let work = LayerWork::of(&network.layers[at % network.layers.len()]);
        let time = |clock: u64, bandwidth| {
            let clock = Some(Frequency(clock * 1_000_000));
            let bandwidth = Some(Bandwidth::gigabytes_per_second(bandwidth));
            let changes = GpuChanges { clock, bandwidth, ..GpuChanges::default() };
            let gpu = changes.on(gpus::find("h100-sxm5-80gb").unwrap()).unwrap();
            let gpu = GpuRates::with_products(&gpu, ModelPrecision::Fp8).unwrap();
            Roofline { gpu, ..of_products(ModelPrecision::Bf16) }.layer(&work, samples, 2)
        };
        let [[slow, fast], [less, more]] =
            [clocks, bandwidths].map(|it| [it[0].min(it[1]), it[0].max(it[1])]);
        let all = |it: LayerTime| [it.forward, it.backward, it.update];
        for (worse, better) in [((slow, less), (fast, less)), ((slow, less), (slow, more))] {
            let [worse, better] = [worse, better].map(|it| all(time(it.0, it.1)));
            for (worse, better) in worse.into_iter().zip(better) {
                prop_assert!(better <= worse);
            }
        }
    }
}
