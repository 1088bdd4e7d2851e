//! Finds the events that lie within one MPI call.

use crate::program::otf2::{Archive, EventKind, Imbalance, Location, Paradigm, Region, RegionRole};

/// Whether a region is a call of MPI. Archives from before OTF2 1.1 do not say what a region
/// belongs to, so that its name decides there.
pub fn is_call(region: &Region) -> bool {
    match region.paradigm {
        // Recorders mark the time between MPI_Init and MPI_Finalize by a region that is no call.
        Paradigm::Mpi => region.role != RegionRole::Artificial,
        Paradigm::Unknown => region.name.starts_with("MPI_"),
        _ => false,
    }
}

/// The calls of MPI that are open at a time.
#[derive(Debug, Default)]
pub struct OpenCalls {
    /// Region, and whether it is never left.
    open: Vec<(u32, bool)>,
}

impl OpenCalls {
    /// Whether the time is inside a call.
    pub fn inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Enters a call. Returns whether this ends another one, whose exit is missing.
    pub fn enter(&mut self, location: &Location, event: usize, region: u32) -> bool {
        let cut = self.open.last().is_some_and(|(_, never_left)| *never_left);
        if cut {
            self.open.clear();
        }
        let places = location.unbalanced.binary_search_by_key(&event, |one| one.event);
        let imbalance = places.ok().map(|place| location.unbalanced[place].imbalance);
        self.open.push((region, imbalance == Some(Imbalance::NeverLeft)));
        cut
    }

    /// Leaves a call. Returns whether it was the outermost one.
    pub fn leave(&mut self, region: u32) -> bool {
        let Some(depth) = self.open.iter().rposition(|(open, _)| *open == region) else {
            return false;
        };
        self.open.truncate(depth);
        self.open.is_empty()
    }
}

/// The name of the call that an event of a rank lies in, for errors.
pub fn call_name(archive: &Archive, rank: usize, event: usize) -> String {
    let location = &archive.locations[archive.ranks[rank]];
    let mut calls = OpenCalls::default();
    for (index, what) in location.events[..=event].iter().enumerate() {
        match what.kind {
            EventKind::Enter { region } if is_call(&archive.regions[&region]) => {
                calls.enter(location, index, region);
            }
            EventKind::Leave { region } => {
                calls.leave(region);
            }
            _ => {}
        }
    }
    match calls.open.first() {
        Some((region, _)) => archive.regions[region].name.to_string(),
        None => "no MPI call".to_owned(),
    }
}
