//! Gives what was measured, as tables.

use super::{SlowPair, TakenLink};
use crate::table::Table;

/// One row per link that has a measured bandwidth.
///
/// Columns: `a` and `b` (the names of its ends), `measured` and `nominal` (of the whole bundle in one direction).
#[must_use]
pub fn taken_table(taken: &[TakenLink]) -> Table {
    let name = |end: usize| taken.iter().map(|it| it.between[end].clone()).collect::<Vec<_>>();
    let rate = |of: fn(&TakenLink) -> crate::units::Bandwidth| {
        taken.iter().map(|it| of(it).as_gigabytes_per_second()).collect::<Vec<f64>>()
    };
    Table::new()
        .with("a", "", name(0))
        .with("b", "", name(1))
        .with("measured", "GB/s", rate(|it| it.measured))
        .with("nominal", "GB/s", rate(|it| it.nominal))
}

/// One row per pair that is far below its like, the worst first.
///
/// Columns are `a` and `b` (the names of its ends), `link` (what joins them), `measured` and `like`
/// (what its like reach). Next are `others` (how many these are), `title` (of the matrix) and
/// `line` (of the number in the file). The last is `sentence` (all of it).
#[must_use]
pub fn slow_table(slow: &[SlowPair]) -> Table {
    let text = |of: fn(&SlowPair) -> String| slow.iter().map(of).collect::<Vec<String>>();
    let rate = |of: fn(&SlowPair) -> f64| slow.iter().map(of).collect::<Vec<f64>>();
    let count =
        |of: fn(&SlowPair) -> usize| slow.iter().map(|it| of(it) as u64).collect::<Vec<u64>>();
    Table::new()
        .with("a", "", text(|it| it.names[0].clone()))
        .with("b", "", text(|it| it.names[1].clone()))
        .with("link", "", text(|it| it.link.clone()))
        .with("measured", "GB/s", rate(|it| it.measured))
        .with("like", "GB/s", rate(|it| it.like))
        .with("others", "", count(|it| it.others))
        .with("title", "", text(|it| it.title.clone()))
        .with("line", "", count(|it| it.position.line))
        .with("sentence", "", text(SlowPair::to_string))
}
