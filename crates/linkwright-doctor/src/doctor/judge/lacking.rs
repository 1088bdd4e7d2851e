//! Says why a log gets no verdict.

use super::case::Case;

/// Says what ran that the model lacks, or that the run is of another machine.
pub(super) fn lacking(case: &Case<'_>) -> Option<String> {
    if let Some(other) = &case.other_machine {
        return Some(other.clone());
    }
    if let Some((what, _)) = case.log.unmodelled.iter().min_by_key(|(_, line)| line.number) {
        return Some(format!("the log shows {}, which the model lacks", what.name()));
    }
    let (name, _) = case.log.plugins.get("TUNER")?;
    Some(format!(
        "the plug-in {name} (TUNER) chooses algorithms, and the model does not know its rules"
    ))
}
