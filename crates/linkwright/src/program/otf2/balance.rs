//! Regions that were entered and not left, or left and not entered.

use std::collections::BTreeMap;

use super::event::{Event, EventKind};

/// How an entry or an exit lacks its other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imbalance {
    /// The region was still open at the trace's end, or when a region around it was left. It
    /// counts as left at that moment.
    NeverLeft,
    /// The region was left but was not open. The exit counts as nothing.
    NeverEntered,
}

/// An entry or an exit without its other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbalanced {
    /// The index of the event at its location.
    pub event: usize,
    /// The region's id.
    pub region: u32,
    /// Which half is missing.
    pub imbalance: Imbalance,
}

/// The entries and exits of a location that do not pair, by rising index.
pub(super) fn unbalanced(events: &[Event]) -> Vec<Unbalanced> {
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut times_open: BTreeMap<u32, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let never_left =
        |(event, region)| Unbalanced { event, region, imbalance: Imbalance::NeverLeft };
    for (event, what) in events.iter().enumerate() {
        match what.kind {
            EventKind::Enter { region } => {
                open.push((event, region));
                *times_open.entry(region).or_default() += 1;
            }
            EventKind::Leave { region } => {
                if times_open.get(&region).is_none_or(|times| *times == 0) {
                    let imbalance = Imbalance::NeverEntered;
                    found.push(Unbalanced { event, region, imbalance });
                    continue;
                }
                while let Some(inner) = open.pop() {
                    times_open.entry(inner.1).and_modify(|times| *times -= 1);
                    if inner.1 == region {
                        break;
                    }
                    found.push(never_left(inner));
                }
            }
            _ => {}
        }
    }
    found.extend(open.into_iter().map(never_left));
    found.sort_by_key(|one| one.event);
    found
}
