//! The fastest plan of all that there are, at one size.
//!
//! Every algorithm of [`Algorithm::all`] plans the collective for the size, with the protocol that it takes
//! there, and is timed in the chunks that suit it; the fastest is taken, so that none of NCCL's
//! algorithms is faster. Among many GPUs what cannot be the fastest is not planned at all: data that goes
//! around a ring passes all of its hops one after the other, and where these take longer than
//! another plan takes in whole, the ring's bound is what is told of it. Algorithms that take long to plan
//! or to time are tried on [`MOST_TRIED`] GPUs and less.

use serde::{Deserialize, Serialize};

use super::super::baselines::{NcclBaseline, by_server};
use super::super::collective::Collective;
use super::super::link_graph::{LinkClass, check_gpus};
use super::super::schedule::{ChannelTransport, Pacing, Protocol};
use super::super::time::{
    CollectiveTerms, KernelSetting, Processes, Timing, choose_chunk_on, protocol_on,
};
use super::{Algorithm, MOST_PACKED_AT_ONCE, Plan, PlanError, assumed_peer_access_switch};
use crate::program::kernel::NcclProtocol;
use crate::system::{DeviceKind, System, Wiring};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The most GPUs on which algorithms are tried that take long to plan on more.
pub const MOST_TRIED: usize = MOST_PACKED_AT_ONCE;

/// The size for which a plan is the fastest where none is given.
pub const ASSUMED_SIZE: Bytes = Bytes(64 << 20);

/// What has become of an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Trial {
    /// Its plan's time with the protocol that is its fastest.
    Timed {
        /// The protocol.
        protocol: Protocol,
        /// The longest run that a step moves.
        chunk: Bytes,
        /// The time.
        time: Picoseconds,
    },
    /// It was not planned, since it takes at least this long, and another plan less.
    Hopeless {
        /// The bound.
        least: Picoseconds,
    },
    /// It cannot do it, or was not tried, and why.
    Refused(String),
}

/// An algorithm and what has become of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What has become of it.
    pub trial: Trial,
}

/// How an algorithm plans, and what is known of how long its plan takes.
pub type Planning<'a> = dyn Fn(Algorithm) -> Result<(Plan, Option<Timing>), PlanError> + 'a;

/// The fastest of what `plan` makes with each algorithm, whose protocol is that of its time, and what
/// was tried: timed plans from the fastest on, then the others. With one protocol only where one is
/// given. What `plan` has timed without a switch of peer access is not played again.
///
/// # Errors
/// As [`fn@super::plan`]; that of the first algorithm where none has a plan.
pub fn plan_fastest(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
    protocol: Option<Protocol>,
    plan: &Planning<'_>,
) -> Result<(Plan, Vec<Tried>), PlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let mut search =
        Search { wiring, gpus, collective, size, protocol, best: None, optimum: None, fault: None };
    let mut tried: Vec<Tried> = in_order(Algorithm::all())
        .map(|algorithm| Tried { algorithm, trial: search.attempt(algorithm, plan) })
        .collect();
    tried.sort_by_key(|tried| match &tried.trial {
        Trial::Timed { time, .. } => (0, *time),
        Trial::Hopeless { least } => (1, *least),
        Trial::Refused(_) => (2, Picoseconds(0)),
    });
    match (search.best, search.fault) {
        (Some((mut plan, _)), _) => {
            // What no trees pass on the same links bounds the other algorithms' trees and rings.
            let known = search.optimum.filter(|(links, most)| {
                *links == plan.links && plan.rate <= *most && plan.optimum.is_none()
            });
            plan.optimum = known.map(|(_, most)| most).or(plan.optimum);
            Ok((plan, tried))
        }
        (None, fault) => Err(fault.expect("every algorithm has a plan or a fault")),
    }
}

/// What is planned in little time and may rule others out comes first; of equally fast plans the first
/// is taken.
fn in_order(algorithms: Vec<Algorithm>) -> impl Iterator<Item = Algorithm> {
    let late = |algorithm: &Algorithm| match algorithm {
        Algorithm::Packing => 0,
        Algorithm::Nccl(NcclBaseline::Tree) => 1,
        Algorithm::Nccl(_) => 3,
        Algorithm::Mpi(_) => 4,
        _ => 2,
    };
    let mut algorithms = algorithms;
    algorithms.sort_by_key(late);
    algorithms.into_iter()
}

struct Search<'a> {
    wiring: &'a Wiring,
    gpus: &'a [usize],
    collective: Collective,
    size: Bytes,
    protocol: Option<Protocol>,
    best: Option<(Plan, Picoseconds)>,
    /// What packing knows of the links that it takes.
    optimum: Option<(LinkClass, Bandwidth)>,
    /// Why the first had no plan.
    fault: Option<PlanError>,
}

impl Search<'_> {
    fn attempt(&mut self, algorithm: Algorithm, plan: &Planning<'_>) -> Trial {
        if self.gpus.len() > MOST_TRIED && !is_quick(algorithm) {
            let most = MOST_TRIED;
            return Trial::Refused(format!(
                "takes long to plan, and is tried on {most} GPUs at most"
            ));
        }
        let best = self.best.as_ref().map(|(_, time)| *time);
        let least = self.least(algorithm);
        // Few GPUs are timed sooner than doubted.
        if self.gpus.len() > MOST_TRIED && best.is_some_and(|best| least >= best) {
            return Trial::Hopeless { least };
        }
        let timed = plan(algorithm).and_then(|(plan, timing)| self.timed(plan, timing));
        match timed {
            Ok((plan, timing)) => {
                let (protocol, chunk, time) = (plan.schedule.protocol, timing.chunk, timing.time);
                if algorithm == Algorithm::Packing {
                    self.optimum = plan.optimum.map(|most| (plan.links, most));
                }
                if best.is_none_or(|best| time < best) {
                    self.best = Some((plan, time));
                }
                Trial::Timed { protocol, chunk, time }
            }
            Err(error) => {
                let why = error.to_string();
                self.fault.get_or_insert(error);
                Trial::Refused(why)
            }
        }
    }

    /// The plan with the one protocol that is wanted, else its own, and what it takes.
    fn timed(&self, mut plan: Plan, known: Option<Timing>) -> Result<(Plan, Timing), PlanError> {
        let own = plan.schedule.protocol;
        let switches = |plan: &Plan| {
            let over = |transport| {
                plan.schedule.channels.iter().any(|channel| channel.transport == transport)
            };
            over(ChannelTransport::Best) && over(ChannelTransport::Host)
        };
        if let Some(timing) = known
            && self.protocol.is_none_or(|wanted| wanted == own)
            && !switches(&plan)
        {
            return Ok((plan, timing));
        }
        plan.schedule.protocol = self.protocol.unwrap_or(own);
        let costs = self.costs(&plan);
        let (timing, _) = choose_chunk_on(&plan.schedule, self.wiring, self.size, &costs)?;
        Ok((plan, timing))
    }

    fn costs(&self, plan: &Plan) -> NcclProtocol {
        let peer_access_switch = assumed_peer_access_switch(self.gpus.len());
        NcclProtocol { peer_access_switch, ..protocol_on(&plan.schedule, self.wiring) }
    }

    fn protocols(&self, algorithm: Algorithm) -> Vec<Protocol> {
        self.protocol.map_or_else(|| algorithm.protocols().to_vec(), |only| vec![only])
    }

    /// What an algorithm takes at least: the hops that follow one another on its ring.
    fn least(&self, algorithm: Algorithm) -> Picoseconds {
        let servers = by_server(self.wiring, self.gpus).len();
        let (ranks, servers) = (self.gpus.len() as u64, servers as u64);
        let rounds = match self.collective {
            Collective::AllReduce => 2,
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast { .. }
            | Collective::Reduce { .. } => 1,
            _ => return Picoseconds(0),
        };
        // Of any hops in a row around a ring through all ranks, all but two of each round's may be
        // those within servers.
        let between = rounds * (servers - 1);
        let within = match algorithm {
            Algorithm::Nccl(NcclBaseline::Ring | NcclBaseline::Classic) => {
                rounds * (ranks - 1) - between
            }
            Algorithm::ThreePhase if servers > 2 => 0,
            _ => return Picoseconds(0),
        };
        let is_gpu = |device: usize| self.wiring.devices()[device].kind == DeviceKind::Gpu;
        let mut fabric = self.wiring.wires().iter().filter(|wire| wire.is_gpu_fabric());
        let is_direct = fabric.any(|wire| is_gpu(wire.a) && is_gpu(wire.b));
        let of_protocol = |protocol: Protocol| {
            let Self { wiring, gpus, collective, .. } = *self;
            let processes = Processes::usual(wiring, gpus);
            let pacing = Pacing::default();
            let setting = KernelSetting { wiring, gpus, collective, pacing, processes };
            let costs = CollectiveTerms::shipped().protocol(protocol, setting);
            let over_fabric = if is_direct { costs.fabric_hop } else { costs.switch_hop };
            let hop = over_fabric.min(costs.switch_hop).min(costs.host_hop);
            costs.launch.0 + between * costs.network_hop.0 + within * hop.0
        };
        let all = self.protocols(algorithm).into_iter().map(of_protocol);
        Picoseconds(all.min().unwrap_or(0))
    }
}

/// Whether an algorithm plans a thousand GPUs in seconds.
const fn is_quick(algorithm: Algorithm) -> bool {
    !matches!(algorithm, Algorithm::Blink | Algorithm::OneHop | Algorithm::Mpi(_))
}

#[cfg(test)]
mod tests;
