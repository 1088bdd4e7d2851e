//! From which size to which a library chooses the same, to the byte.

use super::choice::{Choice, ChoiceError, Chooser, Settings};
use super::expected_algorithm::ExpectedAlgorithm;
use crate::collectives::planners::link_graph::check_gpus;
use crate::collectives::schedule::collective::Collective;
use crate::system::{System, Wiring};

/// Sizes above are as this one: no buffer is as large, and nothing changes there.
const LARGEST: u64 = 1 << 40;

/// Sizes of one choice.
#[derive(Debug, Clone, PartialEq)]
pub struct ChoiceRange {
    /// This size is the smallest.
    pub first: u64,
    /// This size is the largest.
    pub last: u64,
    /// All that there is to choose from, as [`choices`](super::choices) has it for the smallest size. All sizes
    /// have the first in common, the first that is a ring or a tree, and the channels of each.
    pub choices: Vec<Choice>,
}

/// All sizes of a range have this in common.
type Common = (usize, Option<usize>, Vec<(usize, u32)>);

/// All ranges, from zero to the largest number: no size is in none, or in two.
///
/// # Errors
/// Fails as [`choices`](super::choices) does.
pub fn choice_ranges(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    settings: &Settings,
) -> Result<Vec<ChoiceRange>, ChoiceError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    let common = |size: u64| common(&chooser.all(size));
    // The cost model's factors change with powers of two.
    let powers = (1..=LARGEST.ilog2()).flat_map(|power| [(1 << power) - 1, 1 << power]);
    let mut starts = vec![1];
    let mut before = (1, common(1));
    for size in powers.skip(1) {
        let next = (size, common(size));
        add_starts(&common, &before, &next, &mut starts);
        before = next;
    }
    let range = |(at, first): (usize, &u64)| ChoiceRange {
        first: if at == 0 { 0 } else { *first },
        last: starts.get(at + 1).map_or(u64::MAX, |next| next - 1),
        choices: chooser.all(*first),
    };
    Ok(starts.iter().enumerate().map(range).collect())
}

/// Adds each size between two from which on something else is common: by halves, where the ends differ.
fn add_starts(
    common: &impl Fn(u64) -> Common,
    low: &(u64, Common),
    high: &(u64, Common),
    starts: &mut Vec<u64>,
) {
    if low.1 == high.1 {
        return;
    }
    if high.0 - low.0 == 1 {
        starts.push(high.0);
        return;
    }
    let size = low.0 + (high.0 - low.0) / 2;
    let middle = (size, common(size));
    add_starts(common, low, &middle, starts);
    add_starts(common, &middle, high, starts);
}

/// Cells by a number of their own, so that they can be sorted.
fn common(choices: &[Choice]) -> Common {
    let cell = |it: &Choice| it.algorithm as usize * 4 + it.protocol as usize;
    let is_plain =
        |it: &&Choice| matches!(it.algorithm, ExpectedAlgorithm::Ring | ExpectedAlgorithm::Tree);
    let plain = choices.iter().find(is_plain);
    let mut channels: Vec<(usize, u32)> =
        choices.iter().map(|it| (cell(it), it.channels)).collect();
    channels.sort_unstable();
    (cell(&choices[0]), plain.map(cell), channels)
}

#[cfg(test)]
mod tests;
