//! The fastest plan of all that there are, at one size.
//!
//! Every planner plans the collective for the size, with the protocol that it takes there. The plan
//! is timed in the chunks that suit it. The fastest is taken, so that none of NCCL's algorithms is
//! faster. Among more than [`MOST_TIMED`] GPUs no loser is played. Plans that are made soon come
//! first, and each other plan has a bound. Its busiest link and block need that long, and around a
//! ring all hops follow one another. Where the bound is no less than the best so far, it is told in
//! place of a time. Algorithms that take long to plan or to time are tried on [`MOST_TRIED`] GPUs
//! and less.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fastest::Attempt;
use super::planner::{Planner, RingBound, Turn};
use super::{
    Candidates, MOST_PACKED_AT_ONCE, Plan, PlanError, Question, assumed_peer_access_switch, packed,
    planners,
};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{
    CollectiveTerms, KernelSetting, KnownTimes, Player, Processes, Timing, fastest_by, protocol_on,
    resources,
};
use crate::collectives::schedule::{ChannelTransport, Pacing, Protocol};
use crate::diagnostic::Registry;
use crate::program::kernel::NcclProtocol;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The most GPUs on which algorithms are tried that take long to plan on more.
pub const MOST_TRIED: usize = MOST_PACKED_AT_ONCE;

/// The most GPUs on which all that can be planned is timed, so that a person sees how plans compare.
pub const MOST_TIMED: usize = 16;

/// The most seconds that an algorithm may take to plan to be tried beside others that plan sooner.
const MOST_SECONDS: f64 = 0.1;

/// The size for which a plan is the fastest where none is given.
pub const ASSUMED_SIZE: Bytes = Bytes(64 << 20);

/// Tells the outcome of an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Trial {
    /// Its plan's time with the protocol that is its fastest.
    Timed {
        /// Names the protocol.
        protocol: Protocol,
        /// The longest run that a step moves.
        chunk: Bytes,
        /// Gives the time.
        time: Picoseconds,
    },
    /// It was not played, since it takes at least this long, and another plan no longer.
    Hopeless {
        /// Gives the bound.
        least: Picoseconds,
    },
    /// It cannot do it, or was not tried, and why.
    Refused(String),
}

/// A planner and what has become of its plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Names the planner.
    pub algorithm: Cow<'static, str>,
    /// Tells its outcome.
    pub trial: Trial,
}

/// How a planner is asked for what takes less than a time, where there is one.
pub type Planning<'a> =
    dyn Fn(&'static dyn Planner, Option<Picoseconds>) -> Result<Attempt, PlanError> + 'a;

/// Returns the fastest of the plans that `plan` makes with each planner, whose protocol is that of
/// its time. Also returns the trials: timed plans from the fastest on, then the others. Where a
/// protocol is given, only that one is tried. Plans that `plan` has timed without a switch of peer
/// access are not played again.
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
    let is_thrifty = question.gpus.len() > MOST_TIMED;
    let search = Search { question, size, protocol, is_thrifty, best: None, optimum: None };
    let (plan, _, tried) = search.of_all(planners, plan)?;
    Ok((plan, tried))
}

/// Keeps what every planner offers on a job's GPUs, for many sizes.
#[derive(Debug, Default)]
pub struct AllCandidates(BTreeMap<&'static str, Result<Candidates, PlanError>>);

impl AllCandidates {
    /// The plan that [`plan_fastest`] finds with these planners by each one's fastest, and how long it takes.
    /// Losers are left out on few GPUs, too, and nothing is played twice.
    ///
    /// # Errors
    /// Fails as [`plan_fastest`] does.
    pub fn fastest(
        &mut self,
        question: &Question<'_>,
        size: Bytes,
        known: &mut KnownTimes,
    ) -> Result<(Plan, Timing), PlanError> {
        let kept = RefCell::new((&mut self.0, known));
        let by = |planner: &'static dyn Planner, within| {
            let (all, known) = &mut *kept.borrow_mut();
            let offered = || Candidates::new(planner, question);
            let own = all.entry(planner.name()).or_insert_with(offered);
            own.as_ref().map_err(Clone::clone)?.fastest_within((size, within), known)
        };
        let (protocol, is_thrifty) = (None, true);
        let search = Search { question, size, protocol, is_thrifty, best: None, optimum: None };
        let (plan, timing, _) = search.of_all(&planners(), &by)?;
        Ok((plan, timing))
    }
}

/// The fastest that was found.
struct Best {
    plan: Plan,
    timing: Timing,
    /// That of its planner: of equally fast plans the first is taken.
    turn: usize,
}

struct Search<'a> {
    question: &'a Question<'a>,
    size: Bytes,
    protocol: Option<Protocol>,
    /// Whether what cannot be the fastest is left out.
    is_thrifty: bool,
    best: Option<Best>,
    /// Holds the rate that packing knows of the links that it takes.
    optimum: Option<(LinkClass, Bandwidth)>,
}

impl Search<'_> {
    /// Asks all planners, those that plan soon first.
    fn of_all(
        mut self,
        planners: &Registry<dyn Planner>,
        plan: &Planning<'_>,
    ) -> Result<(Plan, Timing, Vec<Tried>), PlanError> {
        self.question.check()?;
        let mut turns: Vec<&'static dyn Planner> = planners.iter().collect();
        turns.sort_by_key(|planner| planner.turn());
        let mut order: Vec<usize> = (0..turns.len()).collect();
        if self.is_thrifty {
            let is_early = |planner: &dyn Planner| planner.turn() == Turn::Early;
            order.sort_by_key(|at| {
                Reverse((turns[*at].is_quick(), is_early(turns[*at]), Reverse(*at)))
            });
        }
        let mut faults: BTreeMap<usize, PlanError> = BTreeMap::new();
        let mut tried: Vec<(usize, Tried)> = Vec::with_capacity(turns.len());
        for turn in order {
            let attempt = self.attempt((turn, turns[turn]), plan);
            let trial = attempt.unwrap_or_else(|error| {
                let why = error.to_string();
                faults.insert(turn, error);
                Trial::Refused(why)
            });
            tried.push((turn, Tried { algorithm: Cow::Borrowed(turns[turn].name()), trial }));
        }
        tried.sort_by_key(|(turn, tried)| match &tried.trial {
            Trial::Timed { time, .. } => (0, *time, *turn),
            Trial::Hopeless { least } => (1, *least, *turn),
            Trial::Refused(_) => (2, Picoseconds(0), *turn),
        });
        let tried = tried.into_iter().map(|(_, tried)| tried).collect();
        let Some(Best { mut plan, timing, .. }) = self.best else {
            let first = faults.into_values().next();
            return Err(first.expect("every planner has a plan or a fault"));
        };
        // A bound of all trees on the same links bounds the other algorithms' trees and rings.
        let known = self.optimum.filter(|(links, most)| {
            *links == plan.links && plan.rate <= *most && plan.optimum.is_none()
        });
        plan.optimum = known.map(|(_, most)| most).or(plan.optimum);
        Ok((plan, timing, tried))
    }

    fn attempt(
        &mut self,
        (turn, planner): (usize, &'static dyn Planner),
        plan: &Planning<'_>,
    ) -> Result<Trial, PlanError> {
        if !planner.is_quick() {
            let most = MOST_TRIED;
            if self.question.gpus.len() > most {
                return Ok(Trial::Refused(format!(
                    "takes long to plan, and is tried on {most} GPUs at most"
                )));
            }
            let seconds = planner.planning_seconds(self.question);
            if seconds > MOST_SECONDS {
                return Ok(Trial::Refused(format!(
                    "takes about {seconds:.1} s to plan, and is tried by its name alone"
                )));
            }
        }
        let within = self.within(turn);
        let least = self.least(planner);
        if within.is_some_and(|within| least >= within) {
            return Ok(Trial::Hopeless { least });
        }
        // The bounds of a planner are those of its own protocols.
        let asked = within.filter(|_| self.protocol.is_none());
        let (plan, timing) = match plan(planner, asked)? {
            Attempt::Hopeless { least, optimum } => {
                self.know(planner, optimum);
                return Ok(Trial::Hopeless { least });
            }
            Attempt::Found(plan, timing) => (*plan, timing),
        };
        self.know(planner, plan.optimum.map(|most| (plan.links, most)));
        let (plan, timing) = match self.timed(plan, timing, within)? {
            Ok(timed) => timed,
            Err(least) => return Ok(Trial::Hopeless { least }),
        };
        let (protocol, chunk, time) = (plan.schedule.protocol, timing.chunk, timing.time);
        let is_better = |best: &Best| (time, turn) < (best.timing.time, best.turn);
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(Best { plan, timing, turn });
        }
        Ok(Trial::Timed { protocol, chunk, time })
    }

    /// Keeps what packing knows of its links.
    fn know(&mut self, planner: &dyn Planner, optimum: Option<(LinkClass, Bandwidth)>) {
        if planner.name() == packed::NAME {
            self.optimum = optimum;
        }
    }

    /// A plan of that turn is left out unless it takes less than this.
    fn within(&self, turn: usize) -> Option<Picoseconds> {
        let best = self.best.as_ref().filter(|_| self.is_thrifty)?;
        Some(Picoseconds(best.timing.time.0 + u64::from(turn < best.turn)))
    }

    /// Times the plan with the one protocol that is wanted, else its own. Gives its bound alone where that is
    /// no less than `within`.
    fn timed(
        &self,
        mut plan: Plan,
        known: Option<Timing>,
        within: Option<Picoseconds>,
    ) -> Result<Result<(Plan, Timing), Picoseconds>, PlanError> {
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
            return Ok(Ok((plan, timing)));
        }
        plan.schedule.protocol = self.protocol.unwrap_or(own);
        let costs = self.costs(&plan);
        let routes = resources(self.question.wiring());
        let player = Player::on(&plan.schedule, &routes, &costs)?;
        let least = player.least(self.size);
        if within.is_some_and(|within| least >= within) {
            return Ok(Err(least));
        }
        let timing = fastest_by(&player, self.size, &mut KnownTimes::default())?;
        Ok(Ok((plan, timing)))
    }

    fn costs(&self, plan: &Plan) -> NcclProtocol {
        let peer_access_switch = assumed_peer_access_switch(self.question.gpus.len());
        NcclProtocol { peer_access_switch, ..protocol_on(&plan.schedule, self.question.wiring()) }
    }

    fn protocols(&self, planner: &dyn Planner) -> Vec<Protocol> {
        self.protocol.map_or_else(|| planner.protocols().to_vec(), |only| vec![only])
    }

    /// Returns the least time of a planner's plan: the hops that follow one another on its ring.
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
