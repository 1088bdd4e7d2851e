//! Who belongs to which communicator.
//!
//! One group of each paradigm lists the locations that communicate at all: a location's place
//! in it is its rank. Other groups pick from these ranks, and communicators refer to groups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::archive::{Communicator, Members};
use super::bytes::File;
use super::global::{At, Raw};
use super::kinds::Paradigm;
use super::records::Record;
use crate::diagnostic::InputError;

/// Members are ids of locations, not ranks.
const GLOBAL_MEMBERS: u32 = 1;

/// Says which use a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// Nothing that has to do with messages.
    Other,
    /// Holds every location of a paradigm, by rank.
    AllLocations,
    /// Holds some of the ranks.
    SomeRanks,
    /// Holds every rank alone.
    Itself,
}

/// A group as its record says.
pub(super) struct Group {
    kind: GroupKind,
    paradigm: Paradigm,
    has_locations: bool,
    members: Vec<u64>,
}

/// Reads a group and its id. Each member takes a byte at least, so a hostile count ends where
/// the record does.
pub(super) fn read(record: &mut Record) -> Result<(u32, Group), InputError> {
    let body = &mut record.body;
    let id = body.u32("a group's id")?;
    body.u32("a group's name")?;
    let old_kind = body.byte("a group's old kind")?;
    let mut members = Vec::new();
    for _ in 0..body.u32("a group's number of members")? {
        members.push(body.u64("a group's member")?);
    }
    // OTF2 1.2 added the rest.
    if body.is_empty() {
        let kind = match old_kind {
            4 => GroupKind::SomeRanks,
            5 => GroupKind::Itself,
            6 => GroupKind::AllLocations,
            _ => GroupKind::Other,
        };
        return Ok((id, Group { kind, paradigm: Paradigm::Mpi, has_locations: false, members }));
    }
    let kind = match body.byte("a group's kind")? {
        4 => GroupKind::AllLocations,
        5 => GroupKind::SomeRanks,
        6 => GroupKind::Itself,
        _ => GroupKind::Other,
    };
    let paradigm = Paradigm::of(body.byte("a group's paradigm")?);
    let has_locations = body.u32("a group's flags")? & GLOBAL_MEMBERS != 0;
    if kind == GroupKind::Other {
        members = Vec::new();
    }
    Ok((id, Group { kind, paradigm, has_locations, members }))
}

/// Holds the locations of a paradigm: their indices by rank, and their ranks by id.
#[derive(Default)]
struct World {
    locations: Vec<usize>,
    ranks: BTreeMap<u64, u32>,
}

/// Names by the place of the definition and the string's id.
type Name<'a> = &'a dyn Fn(usize, u32) -> Result<Arc<str>, InputError>;
type Resolved = (BTreeMap<u32, Communicator>, Vec<usize>);

/// The communicators, and the index of the location of each MPI rank; `places` gives the index
/// of a location by its id.
pub(super) fn resolve(
    file: File,
    raw: &Raw,
    places: &BTreeMap<u64, usize>,
    name: Name,
) -> Result<Resolved, InputError> {
    let worlds = worlds(file, &raw.groups, places)?;
    // Many communicators may share one group: its members are listed once. Groups that no
    // communicator uses are of no interest.
    let mut lists: BTreeMap<u32, Members> = BTreeMap::new();
    let mut communicators = BTreeMap::new();
    for (id, At { at, what }) in &raw.communicators {
        let mut list = |id: u32| {
            let group = raw.groups.get(&id).filter(|group| group.what.kind != GroupKind::Other);
            let Some(group) = group else {
                let problem = "a communicator refers to a group of ranks that is not defined";
                return Err(file.refuse(*at, problem, &id.to_string()));
            };
            if let Some(known) = lists.get(&id) {
                return Ok(known.clone());
            }
            let members = members(file, group, &worlds)?;
            lists.insert(id, members.clone());
            Ok(members)
        };
        let one = list(what.group)?;
        let other = what.other_group.map(list).transpose()?;
        let members = match (one, other) {
            (one, None) => one,
            (Members::Ranks(one), Some(Members::Ranks(other))) => Members::Between(one, other),
            _ => {
                let problem = "an inter-communicator's groups are not lists of ranks";
                return Err(file.refuse(*at, problem, &id.to_string()));
            }
        };
        let communicator = Communicator {
            name: name(*at, what.name)?,
            paradigm: raw.groups[&what.group].what.paradigm,
            members,
            parent: (what.parent != u32::MAX).then_some(what.parent),
        };
        communicators.insert(*id, communicator);
    }
    let ranks = worlds.into_iter().find(|(paradigm, _)| *paradigm == Paradigm::Mpi);
    Ok((communicators, ranks.map(|(_, world)| world.locations).unwrap_or_default()))
}

fn worlds(
    file: File,
    groups: &BTreeMap<u32, At<Group>>,
    places: &BTreeMap<u64, usize>,
) -> Result<BTreeMap<Paradigm, World>, InputError> {
    let mut worlds = BTreeMap::new();
    for At { at, what: group } in groups.values() {
        if group.kind != GroupKind::AllLocations {
            continue;
        }
        let mut world = World::default();
        for (rank, id) in (0..).zip(&group.members) {
            let Some(place) = places.get(id) else {
                let problem = "a group refers to a location that is not defined";
                return Err(file.refuse(*at, problem, &id.to_string()));
            };
            if world.ranks.insert(*id, rank).is_some() {
                let problem = "a location has two ranks";
                return Err(file.refuse(*at, problem, &id.to_string()));
            }
            world.locations.push(*place);
        }
        if worlds.insert(group.paradigm, world).is_some() {
            let problem = "two groups list all locations of one paradigm";
            return Err(file.refuse(*at, problem, &format!("{:?}", group.paradigm)));
        }
    }
    Ok(worlds)
}

fn members(
    file: File,
    At { at, what: group }: &At<Group>,
    worlds: &BTreeMap<Paradigm, World>,
) -> Result<Members, InputError> {
    let nobody = World::default();
    let world = worlds.get(&group.paradigm).unwrap_or(&nobody);
    let size = world.locations.len();
    match group.kind {
        GroupKind::Itself => return Ok(Members::Itself),
        GroupKind::AllLocations => return Ok(Members::Ranks((0..size as u32).collect())),
        GroupKind::SomeRanks | GroupKind::Other => {}
    }
    let mut ranks = Vec::with_capacity(group.members.len());
    let mut seen = BTreeSet::new();
    for member in &group.members {
        let rank = if group.has_locations {
            world.ranks.get(member).copied()
        } else {
            u32::try_from(*member).ok().filter(|rank| (*rank as usize) < size)
        };
        let Some(rank) = rank else {
            let problem = format!("a group has a member that is none of the {size} ranks");
            return Err(file.refuse(*at, &problem, &member.to_string()));
        };
        if !seen.insert(rank) {
            let problem = "a group has a rank twice";
            return Err(file.refuse(*at, problem, &rank.to_string()));
        }
        ranks.push(rank);
    }
    Ok(Members::Ranks(ranks.into()))
}
