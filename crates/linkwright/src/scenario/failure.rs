//! Reads which parts a system lacks all day, and which fail for a time: `system.without` and `[[failure]]`.
//!
//! ```toml
//! [system]
//! without = ["node3/mlx5_1"]      # absent all day
//!
//! [[failure]]
//! part = "leaf2"                  # a GPU, an interface, a link, a switch or a server
//! from = "2 h"                    # the start where absent
//! to = "3 h"                      # never where absent
//! ```

use std::collections::BTreeMap;

use super::fields::Fields;
use super::source::Place;
use crate::diagnostic::{InputError, shown};
use crate::simulation::cluster::{Cluster, Failure, MOST_FAILURES, SystemFailures};
use crate::simulation::without;
use crate::system::System;
use crate::system::composition::{Losses, SystemPart};
use crate::units::Picoseconds;

/// Says what a scenario's system loses, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailureEntries {
    entries: Vec<Entry>,
}

/// A part, and for how long it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    part: (String, Place),
    from: Picoseconds,
    to: Option<Picoseconds>,
    /// It is the place of the times, or else of the table.
    times: Place,
}

impl Entry {
    fn read(fields: &Fields<'_>) -> Result<Self, InputError> {
        let Some(part) = fields.optional::<String>("part")? else {
            let remedy = "name it as `part`, such as \"node3/mlx5_1\", \"node3\" or \"leaf2\"";
            return Err(fields.refuse("part", "a failure of no part", remedy));
        };
        let from: Option<Picoseconds> = fields.optional("from")?;
        let to: Option<Picoseconds> = fields.optional("to")?;
        let from = from.unwrap_or(Picoseconds(0));
        if to.is_some_and(|to| to < from) {
            let remedy = "let `to` be no earlier than `from`";
            return Err(fields.refuse("to", "a failure that ends before it begins", remedy));
        }
        let times = fields.place(if fields.has("from") { "from" } else { "to" });
        Ok(Self { part: (part, fields.place("part")), from, to, times })
    }

    /// Whether the part is never there.
    fn is_all_day(&self) -> bool {
        self.from.0 == 0 && self.to.is_none()
    }
}

impl FailureEntries {
    /// Reads a scenario's `system.without` and `[[failure]]`.
    ///
    /// # Errors
    /// Too many of them, one of no part, one that ends before it begins.
    pub(super) fn read(scenario: &Fields<'_>) -> Result<Self, InputError> {
        let system = scenario.table("system")?;
        let absent = system.list::<String>("without")?.unwrap_or_default();
        let always = |(name, span): (String, std::ops::Range<usize>)| {
            let place = scenario.source.place(&span);
            Entry { part: (name, place), from: Picoseconds(0), to: None, times: place }
        };
        let mut entries: Vec<Entry> = absent.into_iter().map(always).collect();
        let tables = scenario.tables("failure")?;
        let count = entries.len() + tables.len();
        if count > MOST_FAILURES {
            let problem = format!("{count} failures");
            let remedy = format!("write {MOST_FAILURES} at most");
            let key = if tables.is_empty() { "system" } else { "failure" };
            return Err(scenario.refuse(key, &problem, remedy));
        }
        for table in &tables {
            entries.push(Entry::read(table)?);
        }
        Ok(Self { entries })
    }

    /// Whether anything fails for a time.
    pub(super) fn is_timed(&self) -> bool {
        self.entries.iter().any(|it| !it.is_all_day() && it.to != Some(it.from))
    }

    /// Gives the place of the first times.
    pub(super) fn place_of_times(&self) -> Option<Place> {
        self.entries.iter().find(|it| !it.is_all_day()).map(|it| it.times)
    }

    /// Gives the cluster without the parts that are absent all day, with all other failures, and notes of these. `scenario` is
    /// the file in errors.
    ///
    /// # Errors
    /// A part that is not there or cannot fail, and one that fails while it is lost.
    pub(super) fn build(
        &self,
        scenario: &str,
        cluster: Cluster,
    ) -> Result<(Cluster, Vec<String>), InputError> {
        if self.entries.is_empty() {
            return Ok((cluster, Vec::new()));
        }
        let system = &cluster.system;
        let mut lost: BTreeMap<SystemPart, Vec<(Picoseconds, Option<Picoseconds>)>> =
            BTreeMap::new();
        let (mut always, mut timed, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &self.entries {
            let (name, place) = &entry.part;
            let refused = |error| place.refuse_as(scenario, error, name, "name another part");
            let parts = system.parts_named(name).map_err(refused)?;
            let losses = system.losing(&parts).map_err(refused)?;
            for part in &parts {
                let known = lost.entry(*part).or_default();
                if known.iter().any(|it| overlap(*it, (entry.from, entry.to))) {
                    let problem = "a part that fails while it is lost";
                    let remedy = "let the times of one part follow one another";
                    return Err(place.refuse(scenario, problem, name, remedy));
                }
                known.push((entry.from, entry.to));
            }
            if entry.to == Some(entry.from) {
                continue;
            }
            notes.extend(note(system, name, &losses));
            if entry.is_all_day() {
                always.extend(parts);
            } else {
                timed.push(Failure { parts, from: entry.from, to: entry.to });
            }
        }
        let mut cluster = cluster;
        let mut failures = SystemFailures { timed, ..SystemFailures::default() };
        if !always.is_empty() {
            let losses = cluster.system.losing(&always).expect("each of these can be lost");
            failures.cut_off = losses.cut_off.iter().map(|server| *server as usize).collect();
            failures.absent_gpus = losses.gpus;
            cluster = without(&cluster, losses.system);
        }
        Ok((Cluster { failures, ..cluster }, notes))
    }
}

/// Whether two times have anything in common.
fn overlap(a: (Picoseconds, Option<Picoseconds>), b: (Picoseconds, Option<Picoseconds>)) -> bool {
    let begins_within = |(from, _): (Picoseconds, _), other: (Picoseconds, Option<Picoseconds>)| {
        from >= other.0 && other.1.is_none_or(|to| from < to)
    };
    begins_within(a, b) || begins_within(b, a)
}

/// Says what else is lost with a part.
fn note(system: &System, name: &str, losses: &Losses) -> Option<String> {
    let gpus: Vec<String> =
        losses.gpus.iter().map(|gpu| system.device_name(system.gpu_device(*gpu))).collect();
    let is_plain = gpus.iter().all(|gpu| gpu == name || gpu.ends_with(&format!("/{name}")));
    let servers: Vec<String> = losses.cut_off.iter().map(|it| format!("node{it}")).collect();
    let with_it = (!is_plain).then(|| match gpus.as_slice() {
        [one] => format!("{one} is lost"),
        _ => format!("{} GPUs are lost: {}", gpus.len(), listed(&gpus)),
    });
    let apart = (!servers.is_empty()).then(|| match servers.as_slice() {
        [one] => format!("{one} reaches no other server"),
        _ => format!("{} reach no other server", listed(&servers)),
    });
    let told: Vec<String> = with_it.into_iter().chain(apart).collect();
    (!told.is_empty()).then(|| format!("Without `{}`, {}.", shown(name), told.join(", and ")))
}

/// Lists some names, the first eight of many.
fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let first = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST { format!("{first} and {} more", names.len() - MOST) } else { first }
}
