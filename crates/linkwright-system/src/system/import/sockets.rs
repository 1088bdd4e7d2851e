//! Which socket each device belongs to, and the links between sockets.

use crate::system::import::host_tree::{Host, Relation};
use crate::system::kinds::LinkKind;
use crate::system::locality::Affinity;
use crate::system::server::{DeviceId, Link, ServerBuilder, ServerError};
use crate::units::Bandwidth;

/// Holds the devices of each socket, and the assumptions behind it.
#[derive(Debug)]
pub(in crate::system) struct Sockets {
    /// Lists the devices of each socket, sockets by their affinity.
    pub(in crate::system) members: Vec<Vec<usize>>,
    /// Holds one sentence for each.
    pub(in crate::system) assumptions: Vec<String>,
}

/// More devices that are all far apart than any server has sockets.
const MOST_UNNAMED: usize = 4;

struct Socket {
    affinity: Option<Affinity>,
    members: Vec<usize>,
}

/// Gives each device its socket.
///
/// Relations decide first, because an affinity is often missing, or is the affinity of a whole
/// virtual machine. Then the affinity decides. A device that neither places joins the first socket
/// that no relation keeps it from.
pub(in crate::system) fn assign(host: &Host) -> Sockets {
    let mut assumptions = Vec::new();
    let all: Vec<usize> = (0..host.endpoints.len()).collect();
    let affinity =
        |group: &[usize]| group.iter().find_map(|member| host.endpoints[*member].affinity.clone());
    let (known, unknown): (Vec<_>, Vec<_>) = host
        .groups(&all, Relation::Socket)
        .into_iter()
        .partition(|group| affinity(group).is_some());
    let mut sockets: Vec<Socket> = Vec::new();
    // Groups whose distance within one NUMA node no further socket explains.
    let mut far_within: Vec<usize> = Vec::new();
    for group in known {
        note_mixed_affinity(host, &group, &mut assumptions);
        let own = affinity(&group);
        let alike: Vec<usize> =
            (0..sockets.len()).filter(|at| sockets[*at].affinity == own).collect();
        let free = alike.iter().find(|at| !apart(host, &sockets[**at], &group));
        match (free, alike.first()) {
            (Some(at), _) => sockets[*at].members.extend(group),
            (None, Some(first)) if alike.len() >= nodes(host, &group) => {
                sockets[*first].members.extend(group);
                far_within.retain(|device| !sockets[*first].members.contains(device));
                far_within.extend(&sockets[*first].members);
            }
            (None, first) => {
                if first.is_some() {
                    assumptions.push(format!(
                        "{} shares its affinity with devices that the input puts on another \
                         socket; it is taken to be on a socket of its own.",
                        host.endpoints[group[0]].name
                    ));
                }
                sockets.push(Socket { affinity: own, members: group });
            }
        }
    }
    let named = !sockets.is_empty();
    sockets.sort_by(|a, b| a.affinity.cmp(&b.affinity));
    let mut guests: Vec<Vec<usize>> = vec![Vec::new(); sockets.len()];
    for group in unknown {
        let near = sockets.iter().position(|socket| !apart(host, socket, &group));
        // Where far means nothing, no socket is made up for it.
        match near.or_else(|| (!far_within.is_empty()).then_some(0)) {
            Some(index) => {
                guests[index].extend(&group);
                sockets[index].members.extend(group);
            }
            None => {
                sockets.push(Socket { affinity: None, members: group });
                guests.push(Vec::new());
            }
        }
    }
    if !named && sockets.len() > MOST_UNNAMED {
        far_within = sockets.drain(..).flat_map(|socket| socket.members).collect();
        sockets.push(Socket { affinity: None, members: far_within.clone() });
        guests.clear();
    }
    if !far_within.is_empty() {
        far_within.sort_unstable();
        assumptions.push(format!(
            "The input puts {} as far apart as sockets (SYS), but names no sockets. GPUs of one \
             NUMA node are assumed to share a socket, each behind its own root port.",
            names(host, &far_within)
        ));
    }
    for (index, guests) in guests.iter().enumerate().filter(|(_, guests)| !guests.is_empty()) {
        assumptions.push(format!(
            "Nothing says which socket holds {}; taken to be on CPU{index}.",
            names(host, guests)
        ));
    }
    for socket in &mut sockets {
        socket.members.sort_unstable();
    }
    Sockets { members: sockets.into_iter().map(|socket| socket.members).collect(), assumptions }
}

/// Joins every two sockets of each host by one link, and says that this is assumed.
///
/// # Errors
/// Fails as [`ServerBuilder::link`] does.
pub(in crate::system) fn join(
    builder: &mut ServerBuilder,
    hosts: &[Vec<DeviceId>],
    kind: LinkKind,
) -> Result<(), ServerError> {
    let sheet = kind.data_sheet();
    let bandwidth = if kind == LinkKind::NvlinkC2c { BETWEEN_GRACES } else { sheet.bandwidth };
    for sockets in hosts {
        for (index, a) in sockets.iter().enumerate() {
            for b in &sockets[index + 1..] {
                let (a, b, latency) = (*a, *b, sheet.latency);
                builder.link(Link {
                    a,
                    b,
                    kind,
                    count: 1,
                    bandwidth,
                    latency,
                    discipline: None,
                    flits: None,
                    measured: None,
                })?;
            }
        }
    }
    if hosts.iter().any(|sockets| sockets.len() > 1) {
        builder.assume(format!(
            "The input does not say how sockets are joined; each two are taken to have one {} \
             link.",
            kind.name()
        ));
    }
    Ok(())
}

/// Gives the bandwidth between two Grace processors, in each direction. No data sheet says it; the
/// preset `gb200-nvl72` takes the same.
const BETWEEN_GRACES: Bandwidth = Bandwidth(100_000_000_000);

/// Returns the kind of link between sockets where the input does not name the processor. It is the
/// kind in most two-socket servers. With more sockets it is the kind of the processors whose
/// sockets appear as many NUMA nodes.
pub(in crate::system) fn default_link(sockets: usize) -> LinkKind {
    if sockets > 2 { LinkKind::InfinityFabric } else { LinkKind::Upi }
}

/// On how many sockets devices of the same affinity can be: as many as it names NUMA nodes,
/// and one where it names cores.
fn nodes(host: &Host, group: &[usize]) -> usize {
    let numa = |member: &usize| host.endpoints[*member].locality.numa_affinity.clone();
    group.iter().find_map(numa).map_or(1, |nodes| nodes.count())
}

fn apart(host: &Host, socket: &Socket, group: &[usize]) -> bool {
    let far = |a: usize, b: usize| host.relation(a, b) == Some(Relation::System);
    socket.members.iter().any(|a| group.iter().any(|b| far(*a, *b)))
}

fn note_mixed_affinity(host: &Host, group: &[usize], assumptions: &mut Vec<String>) {
    let known: Vec<usize> =
        group.iter().copied().filter(|m| host.endpoints[*m].affinity.is_some()).collect();
    let affinity = |member: usize| &host.endpoints[member].affinity;
    if let Some(other) = known.iter().find(|m| affinity(**m) != affinity(known[0])) {
        assumptions.push(format!(
            "{} and {} have different affinities, but the input puts them on one socket; \
             taken to share it.",
            host.endpoints[known[0]].name, host.endpoints[*other].name
        ));
    }
}

fn names(host: &Host, group: &[usize]) -> String {
    let names: Vec<&str> = group.iter().map(|m| host.endpoints[*m].name.as_str()).collect();
    names.join(", ")
}
