//! Says why a log gets no verdict.

use super::case::Case;
use crate::doctor::evidence::Line;

/// The plug-ins that choose, or carry data, as the model does not know.
const UNKNOWN: [&str; 1] = ["TUNER"];

/// Says what ran that the model lacks, or elsewhere, and gives the line that says so.
pub(super) fn lacking(case: &Case<'_>) -> Option<(String, Option<Line>)> {
    if let Some(other) = &case.other_machine {
        return Some((other.clone(), None));
    }
    if let Some((what, line)) = case.log.unmodelled.iter().min_by_key(|(_, line)| line.number) {
        return Some((
            format!("the log shows {}, which the model lacks", what.name()),
            Some(line.clone()),
        ));
    }
    let plugin = UNKNOWN.iter().find_map(|kind| Some((kind, case.log.plugins.get(*kind)?)));
    plugin.map(|(kind, (name, line))| {
        let text = format!(
            "the plug-in {name} ({kind}) chooses algorithms, and the model does not know its rules"
        );
        (text, Some(line.clone()))
    })
}
