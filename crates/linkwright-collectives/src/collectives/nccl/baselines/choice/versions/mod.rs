//! The releases that are known, oldest first: a table of constants each.

mod nccl_2_10;
mod nccl_2_17;
mod nccl_2_18;
mod nccl_2_20;
mod nccl_2_28;
mod nccl_2_30;
mod nccl_2_4;
mod nccl_2_7;
mod rccl_2_22;

use super::rules::{Library, Rules, Search};
use super::version::Version;

/// All of them.
static ALL: [Rules; 9] = [
    nccl_2_4::RULES,
    nccl_2_7::RULES,
    nccl_2_10::RULES,
    nccl_2_17::RULES,
    nccl_2_18::RULES,
    nccl_2_20::RULES,
    nccl_2_28::RULES,
    nccl_2_30::RULES,
    rccl_2_22::RULES,
];

/// The newest of a library.
pub fn newest(library: Library) -> &'static Rules {
    let of_it = ALL.iter().rev().find(|rules| rules.library == library);
    of_it.expect("each library has a release")
}

/// Gives the rates that the newest NCCL counts on.
pub fn today() -> &'static Search {
    &newest(Library::Nccl).search
}

/// The table for a version of a library: that of the nearest release that is not newer, else
/// the oldest; with a sentence where it is another.
pub fn of(library: Library, version: Version) -> (&'static Rules, Option<String>) {
    let own = || ALL.iter().filter(|rules| rules.library == library);
    let older = own().rfind(|rules| rules.version <= version);
    let rules = older.or_else(|| own().next()).expect("each library has a release");
    let same = (rules.version.major, rules.version.minor) == (version.major, version.minor);
    let (name, taken) = (library.name(), rules.version);
    let note = match older {
        _ if same => None,
        Some(_) => Some(format!(
            "nothing is known of {name} {version} itself; it is taken to choose as {name} {taken}, \
             the nearest older release that is known"
        )),
        None => Some(format!(
            "{name} {version} is older than all that is known; it is taken to choose as {name} {taken}"
        )),
    };
    (rules, note)
}

/// Every release.
pub fn all() -> impl Iterator<Item = &'static Rules> {
    ALL.iter()
}
