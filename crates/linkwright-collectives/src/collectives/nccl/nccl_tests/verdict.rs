//! Says in one sentence how to take a log, by its difference and its statements.

use super::asked::{Finding, Means};
use super::difference::{Compared, Difference, bounds, difference};

/// Says how to take the sizes of a log together with its statements. No cause is named where the
/// question was another one, or where the model lacks what ran.
#[must_use]
pub fn verdict(rows: &[Compared], findings: &[Finding]) -> String {
    let found = difference(rows);
    if matches!(found, Difference::None | Difference::Unknown) {
        return found.to_string();
    }
    let of = |means| findings.iter().find(|it| it.means == means);
    if of(Means::Otherwise).is_some() {
        return format!(
            "{} What the log states is not what was asked, so that no cause is looked for; ask rightly \
             first.",
            range(rows)
        );
    }
    if let Some(lacking) = of(Means::Lacking) {
        return format!(
            "{} {}, so that this tells nothing of the machine.",
            range(rows),
            lacking.text
        );
    }
    match (of(Means::Way), found) {
        (Some(way), Difference::Link { reached }) if reached < 1.0 => format!(
            "Large sizes reach {:.0} % of the expected bandwidth. {}: look there first.",
            reached * 100.0,
            way.text
        ),
        (Some(way), _) => format!("{} {}: look there first.", range(rows), way.text),
        (None, found) => found.to_string(),
    }
}

/// How far the times are from the expected ones.
fn range(rows: &[Compared]) -> String {
    let (least, most) = bounds(rows);
    format!("Times are {least:.2} to {most:.2} of the expected ones.")
}
