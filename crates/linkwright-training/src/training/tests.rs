//! Networks against what was published of them, and layers against counting one by one.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;

use super::*;

fn network(name: &str) -> &'static Network {
    Network::find(name).unwrap()
}

fn read(text: &str) -> Network {
    Network::read("own.toml", text).unwrap()
}

fn image(channels: u64, height: u64, width: u64) -> Shape {
    Shape::Image { channels, height, width }
}

/// Papers or frameworks print these numbers of trained parameters, and they are compared with ours.
#[test]
fn parameters_are_the_published_ones() {
    for (name, parameters) in [
        // Layers of 128, 64 and 1,000 neurons with biases; 173,736 by hand.
        ("mlp", 784 * 128 + 128 + 128 * 64 + 64 + 64 * 1000 + 1000),
        // "about 60,000": LeCun et al. 1998, where layers were joined in part; in full 61,706.
        ("lenet", 61_706),
        // MXNet's example as it prints its own shapes: 20 x 26, 50 x 501, 500 x 801, 10 x 501.
        ("lenet:mxnet", 520 + 25_050 + 400_500 + 5_010),
        ("lenet:mxnet-imagenet", 1_520 + 25_050 + 500 * (50 * 53 * 53 + 1) + 501_000),
        // Caffe's bvlc_alexnet and bvlc_reference_caffenet: 60,965,224 in their logs.
        ("alexnet", 60_965_224),
        ("caffenet", 60_965_224),
        // Keras' VGG16.
        ("vgg-16", 138_357_544),
        // Caffe's bvlc_googlenet, deployed and trained.
        ("googlenet", 6_998_552),
        ("googlenet:heads", 13_378_280),
        // torchvision's inception_v3, whose 27,161,264 are with the auxiliary head's 3,326,696.
        ("inception-v3", 27_161_264 - 3_326_696),
        // torchvision's resnet18.
        ("resnet-18", 11_689_512),
        // torchvision's resnet50.
        ("resnet-50", 25_557_032),
        ("resnet-50:late-stride", 25_557_032),
        // torchvision's resnet152.
        ("resnet-152", 60_192_808),
        // Hugging Face's gpt2-xl.
        ("gpt2-1.5b", 1_557_611_200),
        // Meta's Llama-3.1-8B and -70B.
        ("llama3-8b", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
    ] {
        assert_eq!(network(name).parameters(), parameters, "{name}");
    }
    let millions = |name| (network(name).parameters() as f64 / 1e5).round() / 10.0;
    // He et al. 2016, table 6.
    assert_eq!(millions("resnet-110"), 1.7);
    // The dissertation's table 2.7 has 55.
    assert_eq!(millions("resnet-110:imagenet"), 54.6);
}

/// Compares the multiply-adds of one sample's forward pass with the papers'.
#[test]
fn multiply_adds_are_the_published_ones() {
    for (name, billions, apart) in [
        // torchvision's documentation of resnet18 weights: 1.81.
        ("resnet-18", 1.81, 0.005),
        // He et al. 2016, table 1: 3.8 billion.
        ("resnet-50", 3.8, 0.06),
        // torchvision's documentation of resnet50 weights: 4.09 giga-operations.
        ("resnet-50:late-stride", 4.09, 0.005),
        // He et al. 2016, table 1: 11.3 billion.
        ("resnet-152", 11.3, 0.06),
        // torchvision's documentation of resnet152 weights: 11.51.
        ("resnet-152:late-stride", 11.51, 0.005),
        // torchvision's documentation of vgg16 weights: 15.47.
        ("vgg-16", 15.47, 0.005),
        // torchvision's documentation of inception_v3 weights: 5.71.
        ("inception-v3", 5.71, 0.005),
        // Szegedy et al. 2015: about 1.5 billion without heads.
        ("googlenet", 1.5, 0.1),
        // He et al. 2016 and others on AlexNet in two groups: 0.72 billion.
        ("alexnet", 0.72, 0.005),
    ] {
        let counted = network(name).multiply_adds() as f64 / 1e9;
        assert!((counted - billions).abs() < apart, "{name} {counted}");
    }
}

/// The count is from Narayanan et al., SC 2021, section 3. One sequence takes 24 l s h^2 (1 + s /
/// 6h + V / 16lh) operations forward. That is twice the number of multiply-adds. It counts
/// attention in full.
#[test]
fn transformers_have_as_many_operations_as_megatrons_authors_say() {
    let gpt = network("gpt2-1.5b");
    let (layers, tokens, width, words) = (48_u64, 1024_u64, 1600_u64, 50_257_u64);
    let matrices = 12 * layers * tokens * width * width + tokens * width * words;
    let attention = 2 * layers * tokens * tokens * width;
    let causal = attention / 2 + layers * tokens * width;
    assert_eq!(gpt.multiply_adds(), matrices + causal);
    // Two operations for every parameter and token, but for positions and embeddings of words.
    let llama = network("llama3-8b");
    let tokens = 8192;
    let attended: u64 = (llama.layers.iter())
        .filter(|layer| matches!(layer.kind, LayerKind::Attention { .. }))
        .map(|layer| layer.multiply_adds)
        .sum();
    let norms = 65 * 4096;
    let matrices = llama.parameters() - llama.layers[0].parameters - norms;
    assert_eq!(llama.multiply_adds() - attended, matrices * tokens);
}

#[test]
fn names_are_found_as_people_write_them() {
    for (said, meant) in [
        ("resnet50", "resnet-50:paper"),
        ("VGG16", "vgg-16"),
        ("inception_v3", "inception-v3"),
        ("GoogLeNet:Heads", "googlenet:heads"),
        ("llama3-8b", "llama3-8b"),
        ("alexnet", "alexnet:caffe"),
    ] {
        assert_eq!(network(said).full_name(), meant, "{said}");
    }
    let error = Network::find("resnet-5").unwrap_err().to_string();
    assert!(error.contains("there is no network `resnet-5`; did you mean `resnet-50`?"), "{error}");
    assert!(error.contains("googlenet, googlenet:plain, googlenet:heads"), "{error}");
    let error = network("mlp").layer("fc9").unwrap_err().to_string();
    assert!(error.contains("did you mean `fc3`?"), "{error}");
}

#[test]
fn networks_are_sound() {
    for network in Network::all() {
        let name = network.full_name();
        assert_eq!(Network::find(&name), Ok(network));
        assert_eq!(Network::find(&network.name).map(|it| &it.name), Ok(&network.name));
        assert!(!network.source.is_empty() && network.dataset().is_some(), "{name}");
        let mut names: Vec<&str> = network.layers.iter().map(|layer| layer.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), network.layers.len(), "{name}");
        let units: Vec<u32> = network.layers.iter().map(|layer| layer.unit).collect();
        assert!(units[0] == 0 && units.is_sorted_by(|a, b| a == b || a + 1 == *b), "{name}");
        for (at, layer) in network.layers.iter().enumerate() {
            assert!(layer.inputs.iter().flatten().all(|input| *input < at), "{name}");
            assert_eq!(layer.kind.is_matrix(), layer.multiply_adds > 0, "{name} {}", layer.name);
        }
        assert_eq!(network.with_input(network.input).as_ref(), Ok(network), "{name}");
    }
    for dataset in Dataset::all() {
        assert!(dataset.samples > 0 && !dataset.source.is_empty());
    }
    assert_eq!(Dataset::find("mnist").unwrap().bytes(image(1, 28, 28)), 3136);
    let error = Dataset::find("minst").unwrap_err().to_string();
    assert!(error.contains("did you mean `mnist`?"), "{error}");
}

#[test]
fn blocks_are_gathered_at_once_and_cut_for_tensor_parallelism() {
    let llama = network("llama3-8b");
    let mut of_unit: BTreeMap<u32, u64> = BTreeMap::new();
    for layer in &llama.layers {
        *of_unit.entry(layer.unit).or_default() += layer.parameters;
    }
    assert_eq!(of_unit.len(), 34);
    assert!((1..33).all(|unit| of_unit[&unit] == 218_112_000));
    let split = |name: &str| llama.layer(&format!("block.0.{name}")).unwrap().split;
    for name in ["qkv", "attention", "gate", "gate.silu", "up", "product"] {
        assert_eq!(split(name), Some(Split::Columns), "{name}");
    }
    for name in ["projection", "down"] {
        assert_eq!(split(name), Some(Split::Rows), "{name}");
    }
    for name in ["norm1", "sum1", "norm2", "sum2"] {
        assert_eq!(split(name), None, "{name}");
    }
    assert!(network("resnet-50").layers.iter().all(|layer| layer.split.is_none()));
}

#[test]
fn an_lstm_has_a_step_for_each_token() {
    let lstm = network("lstm");
    let steps: Vec<u32> = lstm.layers.iter().map(|layer| layer.steps).collect();
    assert_eq!(steps, [1, 30, 30, 1, 1]);
    // Four gates, each with a matrix of input and of state, and a bias of both.
    assert_eq!(lstm.layers[1].parameters, 4 * (200 * 200 + 200 * 200 + 200 + 200));
    let short = lstm.with_input(Shape::Tokens { tokens: 10, width: 1 }).unwrap();
    assert_eq!(short.layers[1].steps, 10);
    assert_eq!(short.multiply_adds() * 3, lstm.multiply_adds());
    assert_eq!(short.parameters(), lstm.parameters());
}

/// Both outputs of a convolution and its function are not kept: the backward pass needs one.
#[test]
fn what_the_backward_pass_needs_is_kept_once() {
    let net = read(
        "input = { channels = 3, height = 8, width = 8 }\n\
         layers = [\n\
         { name = 'conv', kind = 'convolution', channels = 4, kernel = 3, padding = 1, \
           then = ['batch-norm', 'relu'] },\n\
         { name = 'a', kind = 'convolution', from = 'conv', channels = 2, kernel = 1 },\n\
         { name = 'b', kind = 'convolution', from = 'conv', channels = 2, kernel = 1 },\n\
         { name = 'both', kind = 'concat', from = ['a', 'b'] },\n\
         { kind = 'max-pooling', kernel = 2 },\n\
         { kind = 'dropout' },\n\
         { kind = 'fully-connected', width = 10, then = ['softmax'] },\n\
         ]",
    );
    let saved: Vec<(&str, u64)> =
        net.layers.iter().map(|layer| (layer.name.as_str(), layer.saved)).collect();
    assert_eq!(
        saved,
        [
            ("conv", 256),
            ("conv.batch-norm", 0),
            ("conv.relu", 256),
            ("a", 0),
            ("b", 0),
            ("both", 256),
            ("max-pooling", 64),
            ("dropout", 128),
            ("fully-connected", 0),
            ("fully-connected.softmax", 10),
        ]
    );
}

/// Counts the products of one convolution, by walking all of them.
fn walked(input: [u64; 3], channels: u64, groups: u64, window: Window) -> (u64, [u64; 2]) {
    let places = [0, 1].map(|axis| walked_places(input[axis + 1], window, axis));
    let mut products = 0;
    for _ in 0..channels {
        for _ in 0..places[0] * places[1] {
            for _ in 0..input[0] / groups {
                products += window.kernel[0] * window.kernel[1];
            }
        }
    }
    (products, places)
}

/// Places of a window, by moving it until it has left.
fn walked_places(extent: u64, window: Window, axis: usize) -> u64 {
    let [kernel, stride, padding] =
        [window.kernel, window.stride, window.padding].map(|both| both[axis] as i64);
    let end = extent as i64 + padding;
    let (mut start, mut places) = (-padding, 0);
    loop {
        let fits = start + kernel <= end;
        // A last window may reach beyond, but starts before the padding and adds something.
        let reaches = window.ceiling && start - stride + kernel < end && start < extent as i64;
        let follows = reaches && places > 0;
        if !fits && !follows {
            return places;
        }
        places += 1;
        start += stride;
    }
}

fn windows() -> impl Strategy<Value = Window> {
    let pair = |least: u64, most: u64| [least..=most, least..=most];
    (pair(1, 5), pair(1, 4), pair(0, 4), any::<bool>()).prop_map(
        |(kernel, stride, padding, ceiling)| {
            let padding = [padding[0].min(kernel[0] - 1), padding[1].min(kernel[1] - 1)];
            Window { kernel, stride, padding, ceiling }
        },
    )
}

proptest! {
    #[test]
    fn convolutions_are_as_large_as_walking_them_says(
        channels in 1_u64..4, height in 1_u64..12, width in 1_u64..12, own in 1_u64..4,
        groups in 1_u64..3, window in windows(),
    ) {
        let given = [channels * groups, height, width];
        let layer = LayerKind::Convolution { channels: own * groups, window, groups, bias: false };
        let shape = image(given[0], height, width);
        let derived = derive::derive(&layer, &[derive::Given { name: "input", shape }]);
        let (products, places) = walked(given, own * groups, groups, window);
        match derived {
            Ok(derived) => {
                prop_assert_eq!(derived.output, image(own * groups, places[0], places[1]));
                prop_assert_eq!(derived.multiply_adds, products);
                prop_assert_eq!(derived.parameters * places[0] * places[1], products);
            }
            Err(_) => prop_assert_eq!(places[0] * places[1], 0),
        }
    }

    /// It takes N blocks behind one another N times the work of one.
    #[test]
    fn repeated_blocks_add_up(repeat in 1_u64..20, width in 1_u64..50, tokens in 1_u64..30) {
        let text = |repeat: u64| format!(
            "input = {{ tokens = {tokens}, width = {width} }}\n\
             layers = [{{ use = 'block', width = {width}, repeat = {repeat} }}]\n\
             [block.block]\narguments = ['width']\nunit = true\n\
             layers = [{{ kind = 'rms-norm' }}, \
             {{ kind = 'fully-connected', width = '3 * width' }}, \
             {{ kind = 'attention', heads = 1 }}, {{ name = 'last', kind = 'fully-connected', width = 'width' }}, \
             {{ kind = 'add', from = ['last', 'input'] }}]"
        );
        let (one, many) = (read(&text(1)), read(&text(repeat)));
        prop_assert_eq!(many.parameters(), repeat * one.parameters());
        prop_assert_eq!(many.multiply_adds(), repeat * one.multiply_adds());
        prop_assert_eq!(many.layers.len() as u64, repeat * one.layers.len() as u64);
        prop_assert_eq!(u64::from(many.layers.last().unwrap().unit), repeat - 1);
    }

    /// All but attention, which is square, grows with the tokens alone; nothing trained does.
    #[test]
    fn tokens_multiply_everything_but_parameters(tokens in 1_u64..200) {
        let lstm = network("lstm");
        let one = lstm.with_input(Shape::Tokens { tokens: 1, width: 1 }).unwrap();
        let many = lstm.with_input(Shape::Tokens { tokens, width: 1 }).unwrap();
        prop_assert_eq!(many.parameters(), one.parameters());
        for (many, one) in many.layers.iter().zip(&one.layers) {
            prop_assert_eq!(many.multiply_adds, tokens * one.multiply_adds);
            prop_assert_eq!(many.elementwise, tokens * one.elementwise);
            prop_assert_eq!(many.read, tokens * one.read);
            prop_assert_eq!(many.saved, tokens * one.saved);
        }
    }

    /// Pictures of any size go through all of a network, or a layer is named that they do not.
    #[test]
    fn pictures_of_any_size_pass_or_are_refused(side in 1_u64..700) {
        for name in ["resnet-50", "googlenet", "inception-v3", "alexnet"] {
            match network(name).with_input(image(3, side, side)) {
                Ok(other) => prop_assert_eq!(other.layers.last().unwrap().output.elements(), 1000),
                Err(error) => prop_assert!(error.to_string().contains("does not fit the"), "{}", error),
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = Network::read("own.toml", &text);
    }

    /// A network with a few of its letters changed is read or refused.
    #[test]
    fn damaged_networks_are_read_or_refused(
        which in 0_usize..5, cuts in prop::collection::vec((0_usize..4000, "[a-z0-9\"*{}= \\[\\],.-]{0,3}"), 1..4),
    ) {
        let names = ["lstm", "lenet", "googlenet", "gpt2-1.5b", "resnet-50"];
        let mut text: Vec<char> = network::text(names[which]).chars().collect();
        for (at, instead) in cuts {
            let at = at % text.len();
            text.splice(at..=at, instead.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(network) = Network::read("own.toml", &text) {
            prop_assert_eq!(network.with_input(network.input), Ok(network));
        }
    }
}

#[test]
fn the_page_has_the_networks_as_they_are() {
    let page = include_str!("../../../../docs/concepts/training.md");
    let mut table = String::from(
        "| network | parameters | multiply-adds | kept for the backward pass | layers | sample |\n\
         | --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    for network in Network::all() {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} | {} |",
            network.full_name(),
            grouped(network.parameters()),
            grouped(network.multiply_adds()),
            grouped(network.saved()),
            network.layers.len(),
            network.input
        );
    }
    assert!(page.contains(&table), "docs/concepts/training.md should hold:\n{table}");
}

/// Writes a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
