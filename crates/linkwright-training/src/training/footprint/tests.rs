//! Footprints against Table 2.10, and against what has to hold for any.

use proptest::prelude::*;

use super::*;
use crate::training::Terms;

const GIBIBYTE: f64 = (1_u64 << 30) as f64;

/// The networks of the table in the forms that its column before training tells of
/// (docs/concepts/training.md).
const FORMS: [(&str, &str); 5] = [
    ("LeNet", "lenet:mxnet-imagenet"),
    ("AlexNet", "alexnet:mxnet"),
    ("ResNet", "resnet-50"),
    ("GoogLeNet", "googlenet"),
    ("Inception-v3", "inception-v3"),
];

struct Row {
    network: &'static Network,
    batch: u64,
    /// Gives the memory before training, and during it of the first GPU and of another, in GB of
    /// 2^30 bytes.
    published: [f64; 3],
}

fn rows() -> Vec<Row> {
    let text = include_str!("../../../../../validation/training.toml");
    let table: toml::Table = text.parse().unwrap();
    let rows = table["table_2_10"]["rows"].as_array().unwrap();
    let number = |value: &toml::Value| {
        value.as_float().unwrap_or_else(|| value.as_integer().unwrap() as f64)
    };
    let read = |row: &toml::Value| {
        let row = row.as_array().unwrap();
        let (_, form) = FORMS.iter().find(|(name, _)| Some(*name) == row[0].as_str()).unwrap();
        Row {
            network: Network::find(form).unwrap(),
            batch: number(&row[1]) as u64,
            published: [2, 3, 4].map(|at| number(&row[at])),
        }
    };
    rows.iter().map(read).collect()
}

fn mxnet() -> MemoryTerms {
    Terms::own().memory("mxnet-18-04").unwrap()
}

/// Computes our values of a row's three columns.
fn ours(row: &Row, terms: MemoryTerms) -> [f64; 3] {
    let keeping = Keeping {
        precision: Precision::Fp32,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Momentum,
        terms,
    };
    let replica = Holding::replica(row.network, terms.in_place);
    let of = |holding: Holding| holding.footprint(row.batch, keeping);
    let (server, worker) = (of(replica.server()), of(replica.worker()));
    [worker.before(), server.total(), worker.total()].map(|bytes| bytes.0 as f64 / GIBIBYTE)
}

/// Returns each column's error: the larger value over the smaller, less one.
fn errors<'a>(rows: impl Iterator<Item = &'a Row>, terms: MemoryTerms) -> Vec<f64> {
    rows.flat_map(|row| {
        let pairs = ours(row, terms).into_iter().zip(row.published);
        pairs.map(|(ours, published)| (ours / published).ln().abs().exp_m1()).collect::<Vec<_>>()
    })
    .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    (values[(values.len() - 1) / 2] + values[upper]) / 2.0
}

/// In turn, from the first row on, calibrated on; the others are held back.
fn calibrated(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().step_by(2)
}

fn held_back(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().skip(1).step_by(2)
}

#[test]
fn the_terms_are_those_that_the_calibrated_half_gives() {
    let rows = rows();
    let loss = |terms: MemoryTerms| -> f64 {
        errors(calibrated(&rows), terms).iter().map(|error| error.ln_1p()).sum()
    };
    let found = mxnet();
    let least = loss(found);
    for mebibytes in (700..1100).step_by(4) {
        for hundredths in (0..100).step_by(2) {
            let context = Bytes(mebibytes << 20);
            let workspace = f64::from(hundredths) / 100.0;
            let other = MemoryTerms { context, workspace, ..found };
            assert!(loss(other) >= least - 1e-9, "{mebibytes} MiB, {workspace}: {}", loss(other));
        }
    }
}

#[test]
fn the_page_has_table_2_10_beside_ours() {
    let page = include_str!("../../../../../docs/concepts/training.md");
    let rows = rows();
    let mut table = String::from(
        "| network | samples | before: published, ours | GPU 0 | others |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    for (at, row) in rows.iter().enumerate() {
        let [before, first, other] = ours(row, mxnet());
        let [said_before, said_first, said_other] = row.published;
        let mark = if at % 2 == 0 { "" } else { "**" };
        let name = FORMS.iter().find(|(_, form)| Network::find(form) == Ok(row.network));
        table += &format!(
            "| {mark}{}{mark} | {} | {said_before:.2}, {before:.2} | {said_first:.2}, {first:.2} | \
             {said_other:.2}, {other:.2} |\n",
            name.unwrap().0,
            row.batch
        );
    }
    assert!(page.contains(&table), "docs/concepts/training.md should hold:\n{table}");
    let (fitted, held) = (errors(calibrated(&rows), mxnet()), errors(held_back(&rows), mxnet()));
    let training = |errors: &[f64]| {
        let columns = errors.chunks(3).flat_map(|row| row[1..].to_vec());
        median(columns.collect())
    };
    let told = format!(
        "The median error is {:.1} % on the calibrated rows and {:.1} % on those held back. During training alone it is \
         {:.1} % and {:.1} %.",
        100.0 * median(fitted.clone()),
        100.0 * median(held.clone()),
        100.0 * training(&fitted),
        100.0 * training(&held),
    );
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&told), "docs/concepts/training.md should say:\n{told}");
}

#[test]
fn a_batch_that_does_not_fit_says_by_how_much_and_what_would() {
    let keeping = Keeping {
        precision: Precision::Fp32,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Momentum,
        terms: mxnet(),
    };
    let inception = Holding::replica(Network::find("inception-v3").unwrap(), false).server();
    let capacity = Bytes(16 << 30);
    assert!(inception.fitting(0, capacity, 64, keeping).is_ok());
    let error = inception.fitting(0, capacity, 128, keeping).unwrap_err();
    let told = error.to_string();
    assert!(
        told.starts_with("128 samples at once take 20.95 GiB of GPU 0, 4.95 GiB more"),
        "{told}"
    );
    assert!(told.contains("(mostly activations, "), "{told}");
    let Some(most) = inception.most_samples(capacity, keeping) else { panic!("one fits") };
    assert_eq!(most, 95);
    assert!(inception.footprint(most, keeping).total() <= capacity);
    assert!(inception.footprint(most + 1, keeping).total() > capacity);
    let llama = Holding::replica(Network::find("llama3-70b").unwrap(), true);
    let error = llama.fitting(3, capacity, 1, keeping).unwrap_err().to_string();
    assert!(error.contains("of GPU 3,") && error.contains("(mostly "), "{error}");
    assert_eq!(llama.most_samples(capacity, keeping), None);
}

/// It is ZeRO's count: 2, 2 and 12 bytes a parameter for mixed precision and Adam (Rajbhandari et
/// al., SC 2020).
#[test]
fn adam_in_mixed_precision_takes_sixteen_bytes_a_parameter() {
    let network = Network::find("gpt2-1.5b").unwrap();
    let terms = Terms::own().memory("pytorch").unwrap();
    let keeping = Keeping {
        precision: Precision::Fp16,
        gradients: Precision::Fp16,
        optimizer: Optimizer::Adam,
        terms,
    };
    let whole = Holding::replica(network, true).footprint(1, keeping);
    let parameters = network.parameters();
    assert_eq!(whole.weights.0 + whole.gradients.0 + whole.optimizer.0, 16 * parameters);
    let sharded = Holding::sharded(network, true, 64).footprint(1, keeping);
    assert_eq!(sharded.weights.0, 2 * parameters.div_ceil(64));
    assert_eq!(sharded.optimizer.0, 12 * parameters.div_ceil(64));
    // The embeddings are the largest unit.
    assert_eq!(sharded.gathered.0, 2 * 3 * (50_257 + 1024) * 1600);
    assert_eq!(sharded.activations, whole.activations);
}

#[test]
fn parts_of_a_network_make_the_whole() {
    let network = Network::find("llama3-8b").unwrap();
    let whole = Holding::replica(network, true);
    assert_eq!(Holding::tensor(network, true, 1), whole);
    assert_eq!(Holding::sharded(network, true, 1), whole);
    let middle = network.layers.len() / 2;
    let stages =
        [0..middle, middle..network.layers.len()].map(|it| Holding::stage(network, true, it, 2));
    assert_eq!(stages[0].weights + stages[1].weights, whole.weights);
    assert_eq!(stages[0].activations + stages[1].activations, whole.activations);
    // Norms alone are on every GPU.
    let eighth = Holding::tensor(network, true, 8);
    let norms = 65 * 4096;
    assert_eq!(8 * (eighth.weights - norms) + norms, whole.weights);
    assert!(eighth.activations < whole.activations / 2);
}

proptest! {
    /// It takes no less memory with more samples, wider numbers or more state. It takes no more
    /// with more GPUs.
    #[test]
    fn more_never_takes_less(samples in 1_u64..5000, gpus in 1_u64..2000, which in 0_usize..5) {
        let names = ["lenet", "resnet-50", "lstm", "gpt2-1.5b", "llama3-8b"];
        let network = Network::find(names[which]).unwrap();
        let terms = Terms::own().memory("pytorch").unwrap();
        let keeping = Keeping { precision: Precision::Bf16, gradients: Precision::Bf16, optimizer: Optimizer::Adam, terms };
        let replica = Holding::replica(network, true);
        let total = |holding: Holding, samples, keeping| holding.footprint(samples, keeping).total();
        let one = total(replica, samples, keeping);
        prop_assert!(one < total(replica, samples + 1, keeping));
        prop_assert!(one < total(replica.server(), samples, keeping));
        prop_assert!(total(replica.worker(), samples, keeping) < one);
        let lean = Keeping { optimizer: Optimizer::Sgd, ..keeping };
        prop_assert!(total(replica, samples, lean) < one);
        let sharded = |gpus| Holding::sharded(network, true, gpus).footprint(samples, keeping);
        let (few, many) = (sharded(gpus + 1), sharded(gpus + 2));
        prop_assert!(many.total() <= few.total());
        prop_assert!(Holding::tensor(network, true, gpus + 1).weights <= Holding::tensor(network, true, gpus).weights);
        if let Some(most) = replica.most_samples(one, keeping) {
            prop_assert_eq!(most, samples);
        }
    }
}

#[test]
fn the_page_says_what_fits() {
    let page = include_str!("../../../../../docs/concepts/training.md");
    let keeping = Keeping {
        precision: Precision::Fp32,
        gradients: Precision::Fp32,
        optimizer: Optimizer::Momentum,
        terms: mxnet(),
    };
    let most = ["inception-v3", "resnet-50", "googlenet"].map(|name| {
        let server = Holding::replica(Network::find(name).unwrap(), false).server();
        server.most_samples(Bytes(16 << 30), keeping).unwrap()
    });
    let [inception, resnet, googlenet] = most;
    assert!(page.contains(&format!("(16 GiB hold {inception} and {resnet})")), "{most:?}");
    assert!(page.contains(&format!("disagrees ({googlenet})")), "{most:?}");
}
