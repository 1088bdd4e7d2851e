//! Regions that were entered and not left, or left and not entered.

use std::collections::BTreeMap;

use super::event::{Event, EventKind};

/// How an entry or an exit lacks its other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imbalance {
    /// The region was still open at the trace's end, where it counts as left.
    NeverLeft,
    /// The region was left but was not open. The exit counts as nothing.
    NeverEntered,
}

/// Marks an entry or an exit without its other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbalanced {
    /// Gives the index of the event at its location.
    pub event: usize,
    /// Gives the region's id.
    pub region: u32,
    /// Which half is missing.
    pub imbalance: Imbalance,
}

/// The entries and exits of a location that do not pair, by rising index.
///
/// An exit belongs to the latest open entry of its own region. Regions that a program's author
/// marks may overlap without one being inside the other.
pub(super) fn unbalanced(events: &[Event]) -> Vec<Unbalanced> {
    let mut open: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut found = Vec::new();
    for (event, what) in events.iter().enumerate() {
        match what.kind {
            EventKind::Enter { region } => open.entry(region).or_default().push(event),
            EventKind::Leave { region } => {
                let entry = open.get_mut(&region).and_then(Vec::pop);
                if entry.is_none() {
                    let imbalance = Imbalance::NeverEntered;
                    found.push(Unbalanced { event, region, imbalance });
                }
            }
            _ => {}
        }
    }
    for (region, entries) in open {
        let imbalance = Imbalance::NeverLeft;
        found.extend(entries.into_iter().map(|event| Unbalanced { event, region, imbalance }));
    }
    found.sort_by_key(|one| one.event);
    found
}
