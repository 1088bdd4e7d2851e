//! Choices that a scenario makes and that nothing heeds.
//!
//! They are no errors, since another variant or setting may heed them; but nobody should take that nothing
//! differs for what they are worth. An entry of [`settings`] says on what a setting depends.

use super::facts::Facts;
use super::needs::Needs;
use super::settings::settings;
use crate::diagnostic::shown;

/// Holds the names of settings that count for nothing, and why.
struct Unheeded {
    needs: Needs,
    why: &'static str,
    names: Vec<String>,
}

/// Says of each why it counts for nothing, in a sentence for those of one reason.
pub(super) fn unheeded(facts: &Facts<'_>) -> Vec<String> {
    let programs = facts.programs();
    let jobs = programs.map_or_else(Vec::new, |programs| {
        programs.names().iter().map(|name| shown(name)).collect()
    });
    let mut found: Vec<Unheeded> = Vec::new();
    let settings = settings(&facts.scenario.registries);
    for setting in settings.iter().filter(|setting| !setting.needs.is_empty()) {
        let names = facts.scenario.written.called(setting, &jobs);
        let lacking = || setting.needs.iter().find_map(|it| Some((*it, it.lacking(facts)?)));
        if names.is_empty() {
            continue;
        }
        let Some((needs, why)) = lacking() else { continue };
        match found.iter_mut().find(|known| known.why == why) {
            Some(known) => {
                known.needs = known.needs.min(needs);
                known.names.extend(names);
            }
            None => found.push(Unheeded { needs, why, names }),
        }
    }
    found.sort_by_key(|it| it.needs);
    found.iter().filter_map(|it| note(&it.names, it.why)).collect()
}

fn note(keys: &[String], why: &str) -> Option<String> {
    let (last, others) = keys.split_last()?;
    Some(match others {
        [] => format!("{last} counts for nothing: {why}."),
        others => format!("{} and {last} count for nothing: {why}.", others.join(", ")),
    })
}
