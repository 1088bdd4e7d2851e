//! Finds the causes that lines of the files state.

use super::advice::advice;
use super::case::Case;
use super::cause::{CauseCandidate, SlowCause};
use super::change::Change;
use super::stated_network;
use crate::collectives::Protocol;
use crate::collectives::baselines::{CrossNic, ExpectedAlgorithm, Settings, explain};
use crate::diagnostic::{Named as _, shown};
use crate::doctor::evidence::{DebugLog, Line, LoggedTransport};
use crate::units::Bytes;

/// LL serves small sizes; from here on it costs half the bandwidth.
const LARGE: u64 = 16 << 20;

/// NCCL writes about GB/s of a PCIe link with one digit.
const PCIE_TOLERANCE: f64 = 0.15;

impl CauseCandidate {
    /// Makes a cause that a line states.
    pub(super) fn stated(
        cause: SlowCause,
        text: String,
        line: &Line,
        change: Option<Change>,
    ) -> Self {
        Self { line: Some(line.clone()), ..Self::guessed(cause, text, change) }
    }

    /// Makes a cause that no line states.
    pub(super) fn guessed(cause: SlowCause, text: String, change: Option<Change>) -> Self {
        let (look, command) = advice(cause);
        let (look, command) = (look.to_owned(), command.to_owned());
        Self { cause, text, line: None, change, is_fitted: false, look, command }
    }
}

/// All causes that lines state, in the order in which they are usually looked for.
pub(super) fn stated(case: &Case<'_>) -> Vec<CauseCandidate> {
    let mut found = stated_network::found(case);
    found.extend(peer(case));
    found.extend(nvls(case));
    found.extend(algorithm(case));
    found.extend(protocol(case));
    found.extend(interfaces_rules(case));
    found.extend(channels(case));
    found.extend(pcie(case));
    found
}

fn settings(case: &Case<'_>, change: impl FnOnce(&mut Settings)) -> Option<Change> {
    let mut changed = case.settings;
    change(&mut changed);
    Some(Change::of_settings(changed))
}

/// A variable's value and its line, where it is set to one of these.
fn variable<'a>(log: &'a DebugLog, name: &str, values: &[&str]) -> Option<(&'a str, &'a Line)> {
    let (value, line) = log.variables.get(name)?;
    let is_it = values.is_empty() || values.iter().any(|it| it.eq_ignore_ascii_case(value));
    is_it.then_some((value.as_str(), line))
}

fn peer(case: &Case<'_>) -> Option<CauseCandidate> {
    let log = case.log;
    let change = settings(case, |it| it.p2p = false);
    let set = variable(log, "NCCL_P2P_DISABLE", &["1"])
        .map(|(_, line)| ("NCCL_P2P_DISABLE=1 is set", line))
        .or_else(|| {
            let level = variable(log, "NCCL_P2P_LEVEL", &["0", "LOC"])?;
            Some(("NCCL_P2P_LEVEL=LOC is set", level.1))
        });
    let is_peer =
        |it: &LoggedTransport| matches!(it, LoggedTransport::Peer | LoggedTransport::Indirect);
    let by_memory =
        log.connections.iter().find(|(it, _)| it.transport == LoggedTransport::SharedMemory);
    let no_peer = !log.connections.keys().any(|it| is_peer(&it.transport));
    let refused = log.refusals.iter().find(|refusal| !refusal.of_interface);
    let refused = refused.map(|it| ("GPUs are refused access to each other's memory", &it.line));
    let shown = by_memory.filter(|_| no_peer || refused.is_some()).map(|(_, (_, line))| {
        ("every connection within a server goes through the host's memory (SHM)", line)
    });
    let (why, line) = set.or(refused).or(shown)?;
    let text = format!("GPUs do not reach each other directly: {why}");
    Some(CauseCandidate::stated(SlowCause::PeerOff, text, line, change))
}

fn nvls(case: &Case<'_>) -> Option<CauseCandidate> {
    let log = case.log;
    let sound = explain(case.system, case.gpus, &case.settings).ok()?;
    if sound.nvls_channels == 0 {
        return None;
    }
    let set = variable(log, "NCCL_NVLS_ENABLE", &["0"])
        .map(|(_, line)| ("NCCL_NVLS_ENABLE=0 is set", line));
    let absent = log.nvls.as_ref().filter(|(is_there, _)| !is_there);
    let absent = absent.map(|(_, line)| ("NCCL finds no multicast in the NVSwitches", line));
    let (why, line) = set.or(absent)?;
    let text = format!("NVSwitches do not reduce (NVLS): {why}");
    Some(CauseCandidate::stated(
        SlowCause::NvlsOff,
        text,
        line,
        settings(case, |it| it.nvls = false),
    ))
}

fn algorithm(case: &Case<'_>) -> Option<CauseCandidate> {
    let (value, line) = variable(case.log, "NCCL_ALGO", &[])?;
    let is_it = |it: &ExpectedAlgorithm| it.name().replace('-', "").eq_ignore_ascii_case(value);
    let named = ExpectedAlgorithm::ALL.into_iter().find(is_it);
    let change = named.and_then(|named| settings(case, |it| it.algorithm = Some(named)));
    let text = format!("The algorithm is forced by NCCL_ALGO={}", shown(value));
    Some(CauseCandidate::stated(SlowCause::AlgorithmForced, text, line, change))
}

fn protocol(case: &Case<'_>) -> Option<CauseCandidate> {
    let of_name = |name: &str| {
        let known = [Protocol::LL, Protocol::LL128, Protocol::Simple];
        known.into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    };
    if let Some((value, line)) = variable(case.log, "NCCL_PROTO", &[]) {
        let change =
            of_name(value).and_then(|named| settings(case, |it| it.protocol = Some(named)));
        let text = format!("The protocol is forced by NCCL_PROTO={}", shown(value));
        return Some(CauseCandidate::stated(SlowCause::ProtocolForced, text, line, change));
    }
    let choices = &case.log.choices;
    let slow = choices
        .iter()
        .find(|((_, size), choice)| *size >= LARGE && choice.protocol.eq_ignore_ascii_case("LL"));
    slow.map(|((_, size), choice)| {
        let text =
            format!("Protocol LL runs at {}, where it costs half the bandwidth", Bytes(*size));
        let change = settings(case, |it| it.protocol = Some(Protocol::LL));
        CauseCandidate::stated(SlowCause::ProtocolForced, text, &choice.line, change)
    })
}

fn interfaces_rules(case: &Case<'_>) -> Vec<CauseCandidate> {
    let mut found = Vec::new();
    if let Some((_, line)) = variable(case.log, "NCCL_PXN_DISABLE", &["1"]) {
        let text =
            "GPUs do not send through others that are near an interface: NCCL_PXN_DISABLE=1 is set";
        let change = settings(case, |it| it.pxn = false);
        found.push(CauseCandidate::stated(SlowCause::PxnOff, text.to_owned(), line, change));
    }
    if let Some((value, line)) = variable(case.log, "NCCL_CROSS_NIC", &["0", "1"])
        && let Ok(rule) = CrossNic::from_name(value)
    {
        let text =
            format!("Rings may not choose their interfaces freely: NCCL_CROSS_NIC={value} is set");
        let change = settings(case, |it| it.cross_nic = rule);
        found.push(CauseCandidate::stated(SlowCause::CrossNic, text, line, change));
    }
    found
}

/// A limit of channels is played. The model has none of the others, so that what these cost is not known.
fn channels(case: &Case<'_>) -> Option<CauseCandidate> {
    const MOST: [&str; 3] = ["NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS"];
    const OTHERS: [&str; 6] = [
        "NCCL_MIN_NCHANNELS",
        "NCCL_MIN_CTAS",
        "NCCL_MIN_NRINGS",
        "NCCL_NTHREADS",
        "NCCL_BUFFSIZE",
        "NCCL_RINGS",
    ];
    let set = |name: &&'static str| Some((*name, case.log.variables.get(*name)?));
    let (name, (value, line)) = MOST.iter().chain(&OTHERS).find_map(set)?;
    let text = format!("Channels are set by hand: {name}={} is set", shown(value));
    let most = value.parse().ok().filter(|_| MOST.contains(&name));
    let change = most.and_then(|most| settings(case, |it| it.most_channels = Some(most)));
    Some(CauseCandidate::stated(SlowCause::ChannelsLimited, text, line, change))
}

/// A PCIe link that its own description, or NCCL's print of the topology, has slower than its like.
fn pcie(case: &Case<'_>) -> Option<CauseCandidate> {
    if let Some(link) = case.narrow.first() {
        let change = Change { as_described: true, ..Change::of_settings(case.settings) };
        let text = link.to_string();
        return Some(CauseCandidate::guessed(SlowCause::PcieNarrow, text, Some(change)));
    }
    [VerdictKind::Gpu, VerdictKind::Interface].into_iter().find_map(|kind| narrow_line(case, kind))
}

/// Says what hangs on a PCIe link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerdictKind {
    Gpu,
    Interface,
}

/// A PCIe link of NCCL's print that is slower than the fastest of its kind there.
fn narrow_line(case: &Case<'_>, kind: VerdictKind) -> Option<CauseCandidate> {
    let (start, what) = match kind {
        VerdictKind::Gpu => ("GPU/", "GPUs"),
        VerdictKind::Interface => ("NIC/", "interfaces"),
    };
    let topology = &case.log.topology;
    let lines = topology.iter().enumerate();
    let own = lines.filter(|(_, it)| it.link == "PCI" && it.device.starts_with(start));
    let fastest = own.clone().map(|(_, it)| it.bandwidth).fold(0.0, f64::max);
    let mut slow =
        own.enumerate().filter(|(_, (_, it))| it.bandwidth < fastest * (1.0 - PCIE_TOLERANCE));
    let (order, (at, slow)) = slow.next()?;
    // `GPU/1B000 (3)` names the rank, and the kinds of device that have none stand without.
    let (name, rest) = slow.device.split_once(' ').unwrap_or((&slow.device, ""));
    let rank = rest.trim_start_matches('(').split(')').next()?.parse().unwrap_or(order);
    let (system, gpu) = (case.system, case.gpus.get(rank).or(case.gpus.first())?);
    let place = system.gpu(*gpu as u32);
    let server = system.kind_of(place.server).server();
    let device = match kind {
        VerdictKind::Gpu => server.gpus()[place.index as usize],
        VerdictKind::Interface => {
            let below = topology[at..].iter().find(|it| it.link == "NET")?;
            let name = below.device.split(' ').next()?;
            let (_, number) = name.rsplit_once(['/', '-'])?;
            let number = u32::from_str_radix(number, 16).ok()?;
            stated_network::interface(case, number)?
        }
    };
    let share = slow.bandwidth / fastest;
    let text = format!(
        "NCCL finds {:.1} GB/s of PCIe at {}, and {fastest:.1} GB/s at other {what}",
        slow.bandwidth, name
    );
    let narrow = vec![(server.devices()[device].name.clone(), share)];
    let change = Change { narrow, ..Change::of_settings(case.settings) };
    Some(CauseCandidate::stated(SlowCause::PcieNarrow, text, &slow.line, Some(change)))
}
