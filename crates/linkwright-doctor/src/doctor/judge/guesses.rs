//! Finds the causes that no line states and none rules out.

use std::collections::BTreeSet;

use super::case::Case;
use super::cause::{CauseCandidate, SlowCause};
use super::change::{Change, Worn, WornPart};
use crate::collectives::baselines::Settings;
use crate::doctor::evidence::LoggedTransport;

/// The parts of a bandwidth that a fault usually leaves: half of the lanes, or a rate lower by one or two.
const USUAL: [f64; 2] = [0.5, 0.25];

/// All of them. `ratio` is the measured over the expected time at the largest sizes.
pub(super) fn guesses(case: &Case<'_>, ratio: f64) -> Vec<CauseCandidate> {
    let log = case.log;
    let of = |gpu: &usize| case.system.gpu(*gpu as u32).server;
    let servers: BTreeSet<u32> = case.gpus.iter().map(of).collect();
    let is_between = servers.len() > 1;
    let mut found = Vec::new();
    let settings = |cause, text: &str, settings| {
        CauseCandidate::guessed(cause, text.to_owned(), Some(Change::of_settings(settings)))
    };
    let has_peer = log.connections.keys().any(|it| it.transport == LoggedTransport::Peer);
    if !has_peer {
        let text = "GPUs may not reach each other directly, but through the host's memory";
        let changed = Settings { p2p: false, ..case.settings };
        found.push(settings(SlowCause::PeerOff, text, changed));
    }
    let is_known =
        log.connections.keys().any(|it| matches!(it.transport, LoggedTransport::Network { .. }));
    if is_between && !is_known {
        let text = "Interfaces may not reach GPUs' memory (GPUDirect RDMA)";
        let changed = Settings { gpudirect: false, ..case.settings };
        found.push(settings(SlowCause::GpudirectOff, text, changed));
    }
    let reduces = log.nvls.as_ref().is_some_and(|(is_there, _)| *is_there);
    if !reduces {
        let text = "NVSwitches may not reduce (NVLS)";
        let changed = Settings { nvls: false, ..case.settings };
        found.push(settings(SlowCause::NvlsOff, text, changed));
    }
    let fitted = (1.0 / ratio).clamp(0.01, 1.0);
    for (share, is_fitted) in USUAL.map(|it| (it, false)).into_iter().chain([(fitted, true)]) {
        found.extend(
            worn(case, share, is_between).into_iter().map(|it| CauseCandidate { is_fitted, ..it }),
        );
    }
    found
}

/// Links that carry a part of what they should.
fn worn(case: &Case<'_>, share: f64, is_between: bool) -> Vec<CauseCandidate> {
    let gpu = case.gpus[0];
    let servers: BTreeSet<u32> =
        case.gpus.iter().map(|gpu| case.system.gpu(*gpu as u32).server).collect();
    let percent = (share * 100.0).round();
    let one = |cause, what: &str, server, part| {
        let worn = vec![Worn { server, part, share }];
        let text = format!("{what} may carry {percent} % of what it should");
        CauseCandidate::guessed(
            cause,
            text,
            Some(Change { worn, ..Change::of_settings(case.settings) }),
        )
    };
    let mut found = Vec::new();
    if is_between {
        // In trees it matters whether a server is inside or at the end.
        let servers: Vec<u32> = servers.into_iter().collect();
        let places: BTreeSet<usize> = [0, servers.len() / 2, servers.len() - 1].into();
        for at in places.into_iter().filter(|at| *at == 0 || servers.len() > 2) {
            let server = Some(servers[at] as usize);
            let what = "The network of one server";
            found.push(one(SlowCause::SlowServer, what, server, WornPart::Network));
        }
        found.push(one(
            SlowCause::SlowNetwork,
            "The network of every server",
            None,
            WornPart::Network,
        ));
    }
    found.push(one(SlowCause::SlowGpu, "One GPU", None, WornPart::Gpu(gpu)));
    found.push(one(SlowCause::SlowLinks, "Every link between GPUs", None, WornPart::BetweenGpus));
    found
}
