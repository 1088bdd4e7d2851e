//! Programs: shapes that the literature names, and random ones.

use super::super::LitmusStep::{self, Add, Barrier, Read, Write};
use super::super::program;
use super::{ADDRESSES, below, between, one_of};
use crate::engine::Random;

const X: u8 = 0;
const Y: u8 = 1;
const Z: u8 = 2;

/// Is a shape: its name, and a program for each wavefront.
pub(super) type LitmusShape = (&'static str, &'static [&'static [LitmusStep]]);

/// Lists the shapes, by the names that Alglave, Maranget and Tautschnig give them ("Herding cats",
/// ACM TOPLAS 36, 2014).
pub(super) const SHAPES: &[LitmusShape] = &[
    ("S", &[&[Write(X, 2), Write(Y, 1)], &[Read(Y), Write(X, 1)]]),
    ("R", &[&[Write(X, 1), Write(Y, 1)], &[Write(Y, 2), Read(X)]]),
    ("SB", &[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]]),
    ("LB", &[&[Read(X), Write(Y, 1)], &[Read(Y), Write(X, 1)]]),
    ("MP", &[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Read(X)]]),
    ("WRC", &[&[Write(X, 1)], &[Read(X), Write(Y, 1)], &[Read(Y), Read(X)]]),
    ("ISA2", &[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Write(Z, 1)], &[Read(Z), Read(X)]]),
    ("RWC", &[&[Write(X, 1)], &[Read(X), Read(Y)], &[Write(Y, 1), Read(X)]]),
    ("IRIW", &[&[Write(X, 1)], &[Write(Y, 1)], &[Read(X), Read(Y)], &[Read(Y), Read(X)]]),
    ("2+2W", &[&[Write(X, 1), Write(Y, 2)], &[Write(Y, 1), Write(X, 2)]]),
    ("Z6.3", &[&[Write(X, 1), Write(Y, 1)], &[Write(Y, 2), Write(Z, 1)], &[Read(Z), Read(X)]]),
    ("CoRR", &[&[Write(X, 1)], &[Read(X), Read(X)]]),
    ("CoRW", &[&[Write(X, 1)], &[Read(X), Write(X, 2)]]),
    ("CoWR", &[&[Write(X, 1), Read(X)], &[Write(X, 2)]]),
];

/// Draws programs: a shape or a random one. In half of them each wavefront first reads one of the
/// addresses, or some, so that its caches hold them.
pub(super) fn draw(random: &mut Random, fences: bool) -> (&'static str, Vec<Vec<LitmusStep>>) {
    let (name, waves) = match below(random, 2) {
        0 => {
            let (name, waves) = one_of(random, SHAPES);
            (name, waves.iter().map(|wave| wave.to_vec()).collect())
        }
        _ => ("random", any(random)),
    };
    let is_warm = below(random, 2) == 0;
    let mut with = |wave: &Vec<LitmusStep>| {
        let some = [1 << below(random, ADDRESSES.into()), below(random, 1 << ADDRESSES)];
        let read = if is_warm { one_of(random, &some) } else { 0 };
        program(wave, fences, (0..ADDRESSES).filter(|address| read >> address & 1 == 1))
    };
    (name, waves.iter().map(&mut with).collect())
}

/// Draws a random program of two to four wavefronts: the more of them, the fewer steps has each.
///
/// No two writes have one value. Half of the programs leave one address to nobody. In a third of
/// them all wavefronts meet at one barrier.
fn any(random: &mut Random) -> Vec<Vec<LitmusStep>> {
    let waves = between(random, 2, 4);
    let most = 12 / waves;
    let addresses = u64::from(ADDRESSES) - below(random, 2);
    let mut value = 0;
    let mut step = |random: &mut Random| {
        let address = below(random, addresses) as u8;
        match below(random, 20) {
            0..10 => Read(address),
            10..18 => {
                value += 1;
                Write(address, value)
            }
            _ => Add(address, 16),
        }
    };
    let meets = below(random, 3) == 0;
    (0..waves)
        .map(|_| {
            let length = between(random, 2, most);
            let mut wave: Vec<_> = (0..length).map(|_| step(random)).collect();
            if meets {
                wave.insert(below(random, length + 1) as usize, Barrier);
            }
            wave
        })
        .collect()
}
