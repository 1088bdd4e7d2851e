//! The links that can slow a transfer, of all that it crosses.
//!
//! Transfers of a lone schedule share links max-min fairly, and most of the links on a way never
//! decide how. The wires to four NVSwitches carry a quarter of the same transfers each. Wider links
//! feed a network interface. A link is left out where another is full no later, whatever is under
//! way. So all rates stay the same to the last unit:
//!
//! - its users, with their parts of the data, are users of another link that is no wider. That
//!   link's level is a quotient of no more by no less;
//! - the most that its users can reach, one transfer each, does not fill it by one part in a
//!   million, which no rounding bridges;
//! - it has one user, all of whose data crosses it: then it is that user's limit.
//!
//! The second and the third hold only while a connection carries one transfer at a time, as blocks do.

use std::collections::BTreeMap;

use crate::network::ResourceId;
use crate::units::Bandwidth;

use super::lowered::OpenPath;

/// A link that could be filled but for this part of it is taken for one that is.
const MARGIN: f64 = 1e-6;

/// The least rate, bytes a second, beside which rounding is nothing.
const LEAST_RATE: f64 = 1e6;

/// Who uses each link: connections, ascending, each with its part of the data.
type Users = BTreeMap<ResourceId, Vec<(u32, f64)>>;

/// The same ways over the links that can bind.
pub(super) fn binding(paths: &[OpenPath], capacities: &[Bandwidth]) -> Vec<OpenPath> {
    let mut kept: Vec<OpenPath> = paths.to_vec();
    let users = users_of(&kept);
    let narrow = |link: &ResourceId| capacities[*link];
    for (link, own) in &users {
        let first = own[0].0 as usize;
        let others = kept[first].uses.iter().map(|(other, _)| *other);
        let mut others = others.filter(|other| other != link && narrow(other) <= narrow(link));
        if others.any(|other| includes(&users[&other], own)) {
            leave_out(&mut kept, *link, own);
        }
    }
    for (link, own) in &users_of(&kept) {
        let capacity = narrow(link).0 as f64;
        let most: f64 = own
            .iter()
            .map(|(user, share)| share * most_but_for(&kept[*user as usize], *link, capacities))
            .sum();
        if most <= capacity * (1.0 - MARGIN) {
            leave_out(&mut kept, *link, own);
        }
    }
    for (link, own) in &users_of(&kept) {
        if let [(user, share)] = own[..]
            && share == 1.0
        {
            let path = &mut kept[user as usize];
            path.limit = Some(path.limit.map_or(narrow(link), |limit| limit.min(narrow(link))));
            leave_out(&mut kept, *link, own);
        }
    }
    kept
}

fn users_of(paths: &[OpenPath]) -> Users {
    let mut users = Users::new();
    for (connection, path) in (0..).zip(paths) {
        for (link, share) in &path.uses {
            users.entry(*link).or_default().push((connection, *share));
        }
    }
    users
}

/// Whether each user of a link is one of another, with the same parts of its data there and nothing more.
fn includes(other: &[(u32, f64)], own: &[(u32, f64)]) -> bool {
    let mut rest = other;
    own.chunk_by(|a, b| a.0 == b.0).all(|parts| {
        let user = parts[0].0;
        let from = rest.partition_point(|(at, _)| *at < user);
        let count = rest[from..].partition_point(|(at, _)| *at == user);
        let same = rest[from..from + count] == *parts;
        rest = &rest[from + count..];
        same
    })
}

/// Returns the most that a connection's transfer reaches by its limit and all links but one. It is
/// infinite where nothing else slows it, or where the figure is large enough for rounding to count.
fn most_but_for(path: &OpenPath, link: ResourceId, capacities: &[Bandwidth]) -> f64 {
    let others = path.uses.iter().filter(|(other, _)| *other != link);
    let rates = others.map(|(other, share)| capacities[*other].0 as f64 / share);
    let limit = path.limit.map_or(f64::INFINITY, |limit| limit.0 as f64);
    let most = rates.fold(limit, f64::min);
    if most < LEAST_RATE { f64::INFINITY } else { most }
}

fn leave_out(paths: &mut [OpenPath], link: ResourceId, users: &[(u32, f64)]) {
    for (user, _) in users {
        paths[*user as usize].uses.retain(|(other, _)| *other != link);
    }
}
