//! Networks against what was published of them, and layers against brute force.
use super::*;

#[test]
fn counts_are_the_published_ones() {
    for (name, parameters, multiply_adds) in [
        ("lenet", 61_706, 416_520),
        ("lenet:mxnet", 431_080, 2_293_000),
        ("vgg-16", 138_357_544, 15_470_264_320),
        ("mlp", 784 * 128 + 128 + 128 * 64 + 64 + 64_000 + 1000, 784 * 128 + 128 * 64 + 64_000),
    ] {
        let network = Network::find(name).unwrap();
        assert_eq!(
            (network.parameters(), network.multiply_adds()),
            (parameters, multiply_adds),
            "{name}"
        );
    }
}
