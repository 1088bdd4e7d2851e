//! The fastest plan of all that there are, at one size.
//!
//! Every planner plans the collective for the size, with the protocol that it takes
//! there, and is timed in the chunks that suit it; the fastest is taken, so that none of NCCL's
//! algorithms is faster. Among many GPUs what cannot be the fastest is not planned at all: data that goes
//! around a ring passes all of its hops one after the other, and where these take longer than
//! another plan takes in whole, the ring's bound is what is told of it. Algorithms that take long to plan
//! or to time are tried on [`MOST_TRIED`] GPUs and less.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::planner::{Planner, RingBound};
use super::{MOST_PACKED_AT_ONCE, Plan, PlanError, Question, assumed_peer_access_switch, packed};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    CollectiveTerms, KernelSetting, Processes, Timing, choose_chunk_on, protocol_on,
};
use crate::collectives::schedule::{ChannelTransport, Pacing, Protocol};
use crate::diagnostic::Registry;
use crate::program::kernel::NcclProtocol;
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

/// A planner and what has become of its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The planner's name.
    pub algorithm: Cow<'static, str>,
    /// What has become of it.
    pub trial: Trial,
}

/// How a planner is asked, and what is known of how long its plan takes.
pub type Planning<'a> =
    dyn Fn(&'static dyn Planner) -> Result<(Plan, Option<Timing>), PlanError> + 'a;

/// The fastest of what `plan` makes with each planner, whose protocol is that of its time, and what
/// was tried: timed plans from the fastest on, then the others. With one protocol only where one is
/// given. What `plan` has timed without a switch of peer access is not played again.
///
/// # Errors
/// As [`fn@super::plan`]; that of the first planner where none has a plan.
pub fn plan_fastest(
    planners: &Registry<dyn Planner>,
    question: &Question<'_>,
    size: Bytes,
    protocol: Option<Protocol>,
    plan: &Planning<'_>,
) -> Result<(Plan, Vec<Tried>), PlanError> {
    question.check()?;
    let mut search = Search { question, size, protocol, best: None, optimum: None, fault: None };
    // Of equally fast plans the first is taken.
    let mut planners: Vec<&'static dyn Planner> = planners.iter().collect();
    planners.sort_by_key(|planner| planner.turn());
    let attempt = |planner: &'static dyn Planner| Tried {
        algorithm: Cow::Borrowed(planner.name()),
        trial: search.attempt(planner, plan),
    };
    let mut tried: Vec<Tried> = planners.into_iter().map(attempt).collect();
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
        (None, fault) => Err(fault.expect("every planner has a plan or a fault")),
    }
}

struct Search<'a> {
    question: &'a Question<'a>,
    size: Bytes,
    protocol: Option<Protocol>,
    best: Option<(Plan, Picoseconds)>,
    /// What packing knows of the links that it takes.
    optimum: Option<(LinkClass, Bandwidth)>,
    /// Why the first had no plan.
    fault: Option<PlanError>,
}

impl Search<'_> {
    fn attempt(&mut self, planner: &'static dyn Planner, plan: &Planning<'_>) -> Trial {
        let is_large = self.question.gpus.len() > MOST_TRIED;
        if is_large && !planner.is_quick() {
            let most = MOST_TRIED;
            return Trial::Refused(format!(
                "takes long to plan, and is tried on {most} GPUs at most"
            ));
        }
        let best = self.best.as_ref().map(|(_, time)| *time);
        let least = self.least(planner);
        // Few GPUs are timed sooner than doubted.
        if is_large && best.is_some_and(|best| least >= best) {
            return Trial::Hopeless { least };
        }
        let timed = plan(planner).and_then(|(plan, timing)| self.timed(plan, timing));
        match timed {
            Ok((plan, timing)) => {
                let (protocol, chunk, time) = (plan.schedule.protocol, timing.chunk, timing.time);
                if planner.name() == packed::NAME {
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
        let (timing, _) =
            choose_chunk_on(&plan.schedule, self.question.wiring(), self.size, &costs)?;
        Ok((plan, timing))
    }

    fn costs(&self, plan: &Plan) -> NcclProtocol {
        let peer_access_switch = assumed_peer_access_switch(self.question.gpus.len());
        NcclProtocol { peer_access_switch, ..protocol_on(&plan.schedule, self.question.wiring()) }
    }

    fn protocols(&self, planner: &dyn Planner) -> Vec<Protocol> {
        self.protocol.map_or_else(|| planner.protocols().to_vec(), |only| vec![only])
    }

    /// What a planner's plan takes at least: the hops that follow one another on its ring.
    fn least(&self, planner: &dyn Planner) -> Picoseconds {
        let Question { gpus, collective, .. } = *self.question;
        let wiring = self.question.wiring();
        let servers = by_server(wiring, gpus).len();
        let (ranks, servers) = (gpus.len() as u64, servers as u64);
        let rounds = match collective {
            Collective::AllReduce => 2,
            Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast { .. }
            | Collective::Reduce { .. } => 1,
            _ => return Picoseconds(0),
        };
        let between = rounds * (servers - 1);
        let Some(within) = planner.hops_within(RingBound { rounds, ranks, servers }) else {
            return Picoseconds(0);
        };
        let of_protocol = |protocol: Protocol| {
            let processes = Processes::usual(wiring, gpus);
            let pacing = Pacing::default();
            let setting = KernelSetting { wiring, gpus, collective, pacing, processes };
            let costs = CollectiveTerms::shipped().protocol(protocol, setting);
            let hop = costs.fabric_hop.min(costs.host_hop);
            costs.launch.0 + between * costs.network_hop.0 + within * hop.0
        };
        let all = self.protocols(planner).into_iter().map(of_protocol);
        Picoseconds(all.min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;
