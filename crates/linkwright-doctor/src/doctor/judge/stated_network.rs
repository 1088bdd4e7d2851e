//! Finds the causes between servers that lines of the files state.

use std::collections::{BTreeMap, BTreeSet};

use super::case::Case;
use super::cause::{CauseCandidate, SlowCause};
use super::change::Change;
use crate::collectives::baselines::{Settings, channel_interfaces};
use crate::doctor::evidence::{DebugLog, Line, LoggedTransport};
use crate::system::{DeviceKind, Server, nic_proximity};
use crate::units::Bytes;

/// Mb/s of Ethernet. NCCL's log names no speed, and NCCL takes an unknown one for the first (2.30.7,
/// `src/transport/net_socket.cc` 97).
const USUAL_SPEEDS: [u32; 6] = [10_000, 25_000, 40_000, 50_000, 100_000, 200_000];

/// Interfaces are counted at this size where nothing was measured.
const USUAL_SIZE: Bytes = Bytes(1 << 30);

/// Converts Mb/s to GB/s.
const GIGABYTES: f64 = 1.0 / 8_000.0;

/// Finds all of them; none on one server.
pub(super) fn found(case: &Case<'_>) -> Vec<CauseCandidate> {
    let of = |gpu: &usize| case.system.gpu(*gpu as u32).server;
    let servers: BTreeSet<u32> = case.gpus.iter().map(of).collect();
    if servers.len() < 2 {
        return Vec::new();
    }
    let tcp = tcp(case);
    if !tcp.is_empty() {
        return tcp;
    }
    let unused = unused(case).filter(|_| uses_fewer(case));
    [unused, wrong(case), gpudirect(case)].into_iter().flatten().collect()
}

/// Whether some server uses fewer interfaces than a sound one does; true where the log does not show it.
fn uses_fewer(case: &Case<'_>) -> bool {
    let mut shown: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (rank, interface, ..) in used(case.log) {
        let Some(gpu) = case.gpus.get(rank as usize) else { continue };
        shown.entry(case.system.gpu(*gpu as u32).server).or_default().insert(interface);
    }
    let Some(fewest) = shown.values().map(BTreeSet::len).min() else { return true };
    let size = case.rows.iter().map(|row| row.size).max().unwrap_or(USUAL_SIZE);
    let sound = channel_interfaces(case.system, case.gpus, case.collective, size, &case.settings);
    let Ok(sound) = sound else { return true };
    let of_first = sound.iter().filter(|it| it.server == sound[0].server);
    let rails: BTreeSet<usize> =
        of_first.flat_map(|it| it.sends.iter().chain(&it.receives)).map(|end| end.rail).collect();
    fewest < rails.len()
}

/// The interfaces that connections use, each with whether it reaches GPUs' memory.
fn used(log: &DebugLog) -> impl Iterator<Item = (u32, u32, bool, &Line)> {
    log.connections.iter().filter_map(|(it, (_, line))| match &it.transport {
        LoggedTransport::Network { interface, gpudirect, through, .. } => {
            Some((through.unwrap_or(it.rank), *interface, *gpudirect, line))
        }
        _ => None,
    })
}

/// TCP at the speed that the log says, else at each that Ethernet usually has.
fn tcp(case: &Case<'_>) -> Vec<CauseCandidate> {
    let log = case.log;
    let by_socket = log.connections.iter().find_map(|(it, (_, line))| match &it.transport {
        LoggedTransport::Network { network, .. } if network == "Socket" => Some(line),
        _ => None,
    });
    let chosen = log.network.as_ref().filter(|(name, _)| name == "Socket").map(|(_, line)| line);
    let set = log.variables.get("NCCL_IB_DISABLE").filter(|(value, _)| value == "1");
    let set = set.map(|(_, line)| line).filter(|_| used(log).next().is_none());
    let Some(line) = by_socket.or(chosen).or(log.no_interface.as_ref()).or(set) else {
        return Vec::new();
    };
    let listed = log.interfaces.values().find(|it| it.network == "Socket");
    let said: Option<u32> = listed.and_then(|it| it.speeds.iter().copied().sum());
    let speeds = said.filter(|sum| *sum > 0).map_or(USUAL_SPEEDS.to_vec(), |sum| vec![sum]);
    let of = |speed: u32| {
        let bandwidth = f64::from(speed) * GIGABYTES;
        let settings =
            Settings { gpudirect: false, network_bandwidth: Some(bandwidth), ..case.settings };
        let text = format!("Servers exchange over TCP (NET/Socket), at about {bandwidth:.2} GB/s");
        CauseCandidate::stated(SlowCause::Tcp, text, line, Some(Change::of_settings(settings)))
    };
    speeds.into_iter().map(of).collect()
}

/// Finds the interfaces of the first server by NCCL's numbers, as devices of its template.
///
/// They are found by their names, or by their places where there are as many. None where neither tells.
fn numbered<'a>(case: &Case<'a>) -> Option<(&'a Server, BTreeMap<u32, usize>, &'a Line)> {
    let place = case.system.gpu(case.gpus[0] as u32);
    let server = case.system.kind_of(place.server).server();
    let nics: Vec<usize> = case.system.kind_of(place.server).nics().to_vec();
    let listed = case.log.interfaces.values().min_by_key(|it| it.names.len())?;
    if listed.network == "Socket" {
        return None;
    }
    let by_name: Option<BTreeMap<u32, usize>> = (0_u32..)
        .zip(&listed.names)
        .map(|(at, name)| {
            let found = nics.iter().position(|nic| server.devices()[*nic].name == *name)?;
            Some((at, found))
        })
        .collect();
    let in_order =
        || (listed.names.len() == nics.len()).then(|| (0_u32..).zip(0..nics.len()).collect());
    Some((server, by_name.or_else(in_order)?, &listed.line))
}

/// Finds the device of the first server's template that NCCL numbers so.
pub(super) fn interface(case: &Case<'_>, number: u32) -> Option<usize> {
    let place = case.system.gpu(case.gpus[0] as u32);
    let nics = case.system.kind_of(place.server).nics();
    let at = match numbered(case) {
        Some((_, numbers, _)) => *numbers.get(&number)?,
        None => number as usize,
    };
    nics.get(at).copied()
}

/// Names of the template's interfaces, in order.
fn names(server: &Server) -> Vec<&str> {
    let is_nic = |it: &&crate::system::Device| it.kind == DeviceKind::Nic;
    server.devices().iter().filter(is_nic).map(|it| it.name.as_str()).collect()
}

/// Interfaces that NCCL does not list, or that no connection uses.
fn unused(case: &Case<'_>) -> Option<CauseCandidate> {
    let log = case.log;
    let place = case.system.gpu(case.gpus[0] as u32);
    let server = case.system.kind_of(place.server).server();
    let all = names(server);
    let fewest = log.interfaces.iter().filter(|(_, it)| it.network != "Socket");
    let (host, fewest) = fewest.min_by_key(|(_, it)| it.names.len())?;
    let on_all = log.interfaces.values().all(|it| it.names.len() == fewest.names.len());
    let counted: BTreeSet<u32> = used(log).map(|(_, interface, ..)| interface).collect();
    let (absent, line): (Vec<&str>, &Line) = if fewest.names.len() < all.len() {
        let listed: BTreeSet<&str> = fewest.names.iter().map(String::as_str).collect();
        let unlisted: Vec<&str> = all.iter().copied().filter(|it| !listed.contains(it)).collect();
        let missing = all.len() - fewest.names.len();
        // Names of another machine's interfaces tell their number alone.
        let unlisted =
            if unlisted.len() == missing { unlisted } else { all[fewest.names.len()..].to_vec() };
        (unlisted, &fewest.line)
    } else {
        let (_, numbers, line) = numbered(case)?;
        let is_one_per_rank = counted.len() < numbers.len() && !counted.is_empty();
        if !is_one_per_rank || counted.len() >= case_ranks_of_a_server(case) {
            return None;
        }
        let idle = numbers.iter().filter(|(at, _)| !counted.contains(at));
        (idle.map(|(_, nic)| all[*nic]).collect(), line)
    };
    let of_host = |name: &&str| {
        if on_all { (*name).to_owned() } else { format!("{}/{name}", server_of(case, host)) }
    };
    let without: Vec<String> = absent.iter().map(of_host).collect();
    let text = format!(
        "{} of {} network interfaces carry nothing on {}: {}",
        absent.len(),
        all.len(),
        if on_all { "each server".to_owned() } else { format!("host {host}") },
        absent.join(", ")
    );
    let change = Change { without, ..Change::of_settings(case.settings) };
    Some(CauseCandidate::stated(SlowCause::InterfaceUnused, text, line, Some(change)))
}

/// How many ranks the first server has.
fn case_ranks_of_a_server(case: &Case<'_>) -> usize {
    let of = |gpu: &usize| case.system.gpu(*gpu as u32).server;
    let first = of(&case.gpus[0]);
    case.gpus.iter().filter(|gpu| of(gpu) == first).count()
}

/// The system's name of the server that a host stands for: hosts count in the order of their first ranks.
fn server_of(case: &Case<'_>, host: &str) -> String {
    let mut hosts: Vec<&str> = Vec::new();
    for place in case.log.places.values() {
        if !hosts.contains(&place.host.as_str()) {
            hosts.push(&place.host);
        }
    }
    let at = hosts.iter().position(|it| *it == host).unwrap_or(0);
    format!("node{at}")
}

/// GPUs that send through an interface that is farther than another.
fn wrong(case: &Case<'_>) -> Option<CauseCandidate> {
    let log = case.log;
    let (server, numbers, _) = numbered(case)?;
    let near = nic_proximity(server);
    let all = names(server);
    let ranks = case_ranks_of_a_server(case) as u32;
    let is_listed = |nic: usize| numbers.values().any(|it| *it == nic);
    let is_explained = gpudirect(case).is_some();
    let far = used(log).find_map(|(rank, interface, _, line)| {
        let gpu = case.system.gpu(*case.gpus.get(rank as usize)? as u32).index as usize;
        let (row, nic) = (near.get(gpu)?, *numbers.get(&interface)?);
        let best = row.iter().min()?;
        // Without GPUDirect no interface is better than another, and NCCL takes those at hand.
        let has_nearest = (0..row.len()).any(|nic| row[nic] == *best && is_listed(nic));
        let is_wrong = row.get(nic)? > best && !(has_nearest && is_explained);
        is_wrong.then_some((gpu, nic, line))
    });
    let (gpu, nic, line) = far?;
    let counted: BTreeSet<usize> =
        used(log).filter_map(|(_, interface, ..)| numbers.get(&interface).copied()).collect();
    let idle: Vec<String> =
        (0..all.len()).filter(|at| !counted.contains(at)).map(|at| all[at].to_owned()).collect();
    // Ring neighbours share interfaces by turns where there are fewer of these than GPUs.
    if counted.len() >= ranks as usize
        && all.len() >= ranks as usize
        && idle.is_empty()
        && !reaches_far(log)
    {
        return None;
    }
    let text = format!(
        "GPU {gpu} sends through {}, and {} is nearer to it",
        all[nic],
        near[gpu]
            .iter()
            .enumerate()
            .min_by_key(|(_, it)| **it)
            .map_or("another", |(at, _)| all[at])
    );
    let settings =
        Settings { gpudirect: case.settings.gpudirect && !idle.is_empty(), ..case.settings };
    let change = Change { without: idle, ..Change::of_settings(settings) };
    Some(CauseCandidate::stated(SlowCause::WrongInterface, text, line, Some(change)))
}

/// Whether some connection does without GPUDirect, as one to a far interface does.
fn reaches_far(log: &DebugLog) -> bool {
    used(log).any(|(_, _, gpudirect, _)| !gpudirect)
}

fn gpudirect(case: &Case<'_>) -> Option<CauseCandidate> {
    let log = case.log;
    let set = log.variables.get("NCCL_NET_GDR_LEVEL");
    let set = set.filter(|(value, _)| ["0", "LOC"].contains(&value.as_str()));
    let set = set.map(|(value, line)| (format!("NCCL_NET_GDR_LEVEL={value} is set"), line));
    let disabled = log.gpudirect.iter().find(|(_, (works, _))| !works);
    let disabled =
        disabled.map(|(name, (_, line))| (format!("it does not work with {name}"), line));
    let refused = log.refusals.iter().find(|it| it.of_interface);
    let refused = refused.map(|it| ("NCCL refuses it for a pair".to_owned(), &it.line));
    let shown = used(log).find(|(_, _, gpudirect, _)| !gpudirect);
    let some = used(log).any(|(_, _, gpudirect, _)| gpudirect);
    let shown = shown.filter(|_| !some);
    let shown = shown.map(|(.., line)| ("connections say NET without GDRDMA".to_owned(), line));
    let by_lines = set.or(disabled).or(refused);
    // LoggedConnections show what ran, whatever was said before.
    let (why, line) =
        if some { by_lines.filter(|_| !all_direct(log)) } else { by_lines.or(shown) }?;
    let text = format!("Interfaces do not reach GPUs' memory (GPUDirect RDMA): {why}");
    let settings = Settings { gpudirect: false, ..case.settings };
    Some(CauseCandidate::stated(
        SlowCause::GpudirectOff,
        text,
        line,
        Some(Change::of_settings(settings)),
    ))
}

fn all_direct(log: &DebugLog) -> bool {
    used(log).all(|(_, _, gpudirect, _)| gpudirect)
}
