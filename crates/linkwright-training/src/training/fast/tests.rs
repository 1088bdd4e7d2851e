//! Holds fast convolutions against tiles that are counted one by one.

use super::*;
use crate::training::Network;

fn points(kernel: u64, extent: u64) -> UnitStride {
    let extents = [extent, extent];
    UnitStride { kernel: [kernel, kernel], input: extents, output: extents, groups: 1 }
}

/// Counts by hand: every result lies in one tile, every tile is multiplied for each pair of channels.
fn counted(points: &UnitStride, pass: Calculated, tile: &Tile, channels: u64) -> u128 {
    let of = if pass == Calculated::InputGradients { points.input } else { points.output };
    let mut found = std::collections::BTreeSet::new();
    for row in 0..of[0] {
        for column in 0..of[1] {
            found.insert((row / tile.results[0], column / tile.results[1]));
        }
    }
    let mut multiply_adds = 0;
    for _ in &found {
        for _ in 0..channels {
            multiply_adds += u128::from(tile.products);
        }
    }
    multiply_adds
}

#[test]
fn multiplications_are_those_of_tiles_counted_one_by_one() {
    for kernel in [1, 2, 3, 4, 5, 7, 11, 31, 32] {
        for extent in [1, 6, 7, 13, 28, 29, 64] {
            let points = points(kernel, extent);
            for pass in
                [Calculated::Outputs, Calculated::InputGradients, Calculated::WeightGradients]
            {
                let tiles = tiles(points.kernel, pass, true);
                let works: Vec<FastWork> = works(&points, pass, true, 3, [2, 5]).collect();
                assert_eq!(tiles.len(), works.len());
                for (tile, work) in tiles.iter().zip(works) {
                    assert_eq!(work.multiply_adds, 3 * counted(&points, pass, tile, 10));
                }
            }
        }
    }
}

#[test]
fn winograd_saves_what_its_authors_say() {
    let points = points(3, 16);
    let direct = 16 * 16 * 9;
    let works: Vec<u128> = works(&points, Calculated::Outputs, true, 1, [1, 1])
        .map(|work| work.multiply_adds)
        .collect();
    // Lavin and Gray, section 4.1: 2.25 and 4 times fewer.
    assert_eq!(works, [direct * 4 / 9, direct / 4]);
}

#[test]
fn windows_that_move_further_and_small_ones_have_no_fast_algorithm() {
    let network = Network::find("resnet-50").unwrap();
    let mut fast = 0;
    for layer in &network.layers {
        let LayerKind::Convolution { window, .. } = layer.kind else { continue };
        let points = UnitStride::of(&layer.kind, layer.output);
        assert_eq!(points.is_some(), window.stride == [1, 1], "{}", layer.name);
        let Some(points) = points else { continue };
        let works = works(&points, Calculated::Outputs, true, 1, [1, 1]).count();
        assert_eq!(works, if window.kernel == [3, 3] { 2 } else { 0 }, "{}", layer.name);
        fast += usize::from(works > 0);
    }
    assert_eq!(fast, 16);
}

#[test]
fn what_a_window_reads_follows_from_what_it_writes() {
    let vgg = Network::find("vgg-16").unwrap();
    let first = UnitStride::of(&vgg.layers[0].kind, vgg.layers[0].output).unwrap();
    assert_eq!((first.input, first.output), ([224, 224], [224, 224]));
    let inception = Network::find("inception-v3").unwrap();
    let second = inception.layers.iter().find(|layer| layer.name == "conv2").unwrap();
    let points = UnitStride::of(&second.kind, second.output).unwrap();
    assert_eq!((points.input, points.output), ([149, 149], [147, 147]));
}
