//! The releases that are known, oldest first: a table of constants each.

mod nccl_2_10;
mod nccl_2_17;
mod nccl_2_18;
mod nccl_2_21;
mod nccl_2_25;
mod nccl_2_28;
mod nccl_2_4;
mod nccl_2_7;
mod rccl_2_22;

use super::rules::{Library, Rules, Search};
use super::version::Version;

/// Lists the rules of all releases.
static ALL: [Rules; 23] = [
    nccl_2_4::RULES,
    nccl_2_7::RULES,
    nccl_2_10::RULES,
    nccl_2_17::RULES,
    nccl_2_18::RULES,
    nccl_2_18::RULES_2_19,
    nccl_2_18::RULES_2_20,
    nccl_2_21::RULES,
    nccl_2_21::RULES_2_22,
    nccl_2_21::RULES_2_23,
    nccl_2_21::RULES_2_24,
    nccl_2_25::RULES,
    nccl_2_25::RULES_2_26,
    nccl_2_25::RULES_2_27_3,
    nccl_2_25::RULES_2_27_5,
    nccl_2_25::RULES_2_27,
    nccl_2_28::RULES_2_28_3,
    nccl_2_28::RULES_2_28_7,
    nccl_2_28::RULES_2_28,
    nccl_2_28::RULES_2_29_2,
    nccl_2_28::RULES_2_29,
    nccl_2_28::RULES_2_30,
    rccl_2_22::RULES,
];

/// Returns the newest rules of a library.
pub fn newest(library: Library) -> &'static Rules {
    let of_it = ALL.iter().rev().find(|rules| rules.library == library);
    of_it.expect("each library has a release")
}

/// Gives the rates that the newest NCCL counts on.
pub fn today() -> &'static Search {
    &newest(Library::Nccl).search
}

/// Finds the table of a version of a library. Of a series whose patches differ it is the newest one that is not newer, and
/// the last where no patch is named. An unknown series has that of the nearest older one, and one newer than all has the
/// newest; a sentence says so.
pub fn of(library: Library, version: Version) -> (&'static Rules, Option<String>) {
    let own = || ALL.iter().filter(|rules| rules.library == library);
    let series = |rules: &&Rules| rules.version.minor == version.minor;
    let is_older = |rules: &&Rules| rules.version <= version;
    let named = own().filter(series).rfind(|rules| version.patch == 0 || is_older(rules));
    if let Some(rules) = named.or_else(|| own().find(series)) {
        return (rules, None);
    }
    let older = own().rfind(is_older);
    let rules = older.or_else(|| own().next()).expect("each library has a release");
    let (name, taken) = (library.name(), rules.version);
    let newest = newest(library).version;
    let note = match older {
        Some(_) if version > newest => format!(
            "{name} {version} is newer than all that is known; it is taken to choose as {name} {taken}, \
             the newest release that is known"
        ),
        Some(_) => format!(
            "nothing is known of {name} {version} itself; it is taken to choose as {name} {taken}, \
             the nearest older release that is known"
        ),
        None => format!(
            "{name} {version} is older than all that is known; it is taken to choose as {name} {taken}"
        ),
    };
    (rules, Some(note))
}

/// Lists the rules of every release.
pub fn all() -> impl Iterator<Item = &'static Rules> {
    ALL.iter()
}
