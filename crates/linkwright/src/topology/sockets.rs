//! Which socket each device belongs to, and the links between sockets.

use super::host_tree::{Host, Relation};
use super::kinds::LinkKind;
use super::locality::Affinity;
use super::machine::{DeviceId, MachineBuilder, MachineError};

/// The devices of each socket, and what had to be assumed to tell.
#[derive(Debug)]
pub(super) struct Sockets {
    /// The devices of each socket, sockets by their affinity.
    pub(super) members: Vec<Vec<usize>>,
    /// One sentence each.
    pub(super) assumptions: Vec<String>,
}

struct Socket {
    affinity: Option<Affinity>,
    members: Vec<usize>,
}

/// Gives each device its socket.
///
/// Relations decide first, because an affinity is often missing or that of a whole virtual
/// machine; then the affinity; and what neither places joins the first socket that no
/// relation keeps it from.
pub(super) fn assign(host: &Host) -> Sockets {
    let mut assumptions = Vec::new();
    let all: Vec<usize> = (0..host.endpoints.len()).collect();
    let affinity =
        |group: &[usize]| group.iter().find_map(|member| host.endpoints[*member].affinity.clone());
    let (known, unknown): (Vec<_>, Vec<_>) = host
        .groups(&all, Relation::Socket)
        .into_iter()
        .partition(|group| affinity(group).is_some());
    let mut sockets: Vec<Socket> = Vec::new();
    for group in known {
        note_mixed_affinity(host, &group, &mut assumptions);
        let own = affinity(&group);
        let alike = |socket: &&mut Socket| socket.affinity == own;
        if sockets.iter_mut().find(alike).is_some_and(|socket| apart(host, socket, &group)) {
            assumptions.push(format!(
                "{} shares its affinity with devices that the input puts on another socket; \
                 it is taken to be on a socket of its own.",
                host.endpoints[group[0]].name
            ));
        }
        let fits = |socket: &&mut Socket| alike(socket) && !apart(host, socket, &group);
        match { sockets.iter_mut() }.find(|socket| fits(socket)) {
            Some(socket) => socket.members.extend(group),
            None => sockets.push(Socket { affinity: own, members: group }),
        }
    }
    sockets.sort_by(|a, b| a.affinity.cmp(&b.affinity));
    let mut guests: Vec<Vec<usize>> = vec![Vec::new(); sockets.len()];
    for group in unknown {
        match sockets.iter().position(|socket| !apart(host, socket, &group)) {
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

/// Joins every two sockets by one link, and says that this is assumed.
///
/// # Errors
/// As [`MachineBuilder::link`].
pub(super) fn join(
    builder: &mut MachineBuilder,
    sockets: &[DeviceId],
    kind: LinkKind,
) -> Result<(), MachineError> {
    for (index, a) in sockets.iter().enumerate() {
        for b in &sockets[index + 1..] {
            builder.data_sheet_link(*a, *b, kind, 1)?;
        }
    }
    if sockets.len() > 1 {
        builder.assume(format!(
            "The input does not say how sockets are joined; each two are taken to have one {} \
             link.",
            kind.name()
        ));
    }
    Ok(())
}

/// The link between sockets where the input does not name the processor: that of most
/// two-socket servers, and that of the processors whose sockets appear as many NUMA nodes.
pub(super) fn default_link(sockets: usize) -> LinkKind {
    if sockets > 2 { LinkKind::InfinityFabric } else { LinkKind::Upi }
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
