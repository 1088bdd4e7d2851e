//! Of several plans with their protocols, the one that moves data of a size the fastest.
//!
//! Playing a plan costs far more than making it, since every length of chunks is played that may
//! suit it. A plan whose proved bound shows that it cannot be the fastest is therefore not played.
//! The bound is the time that its busiest link and its busiest block need. A plan whose bound
//! leaves another the better waits until that one has been played. The result is the same in any
//! order. Where another plan is known to be as fast as all bounds, nothing is played.

use super::{Plan, PlanError};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::time::{
    KnownTimes, NcclProtocol, Player, Timing, fastest_by, protocol_for, protocol_on, resources,
};
use crate::collectives::schedule::{Protocol, Schedule};
use crate::network::Routes;
use crate::system::Wiring;
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// How near to what its links allow a plan must come for no other to be tried.
const NEAR: f64 = 1.01;

/// Smaller data is moved sooner than bounds are worked out. Among many GPUs there are too many
/// blocks to look at before it is their turn.
const LEAST_BOUNDED: Bytes = Bytes(1 << 20);
const MOST_BOUNDED: usize = 64;

/// Says what a planner has that takes less than some time.
#[derive(Debug)]
pub enum Attempt {
    /// It has a plan, its fastest, with a timing where that was played.
    Found(Box<Plan>, Option<Timing>),
    /// None of its plans takes less than `least`, which is no less than was asked for.
    Hopeless {
        /// No plan takes less.
        least: Picoseconds,
        /// The links that they use and what no plan of their kind passes on these, where that is known.
        optimum: Option<(LinkClass, Bandwidth)>,
    },
}

impl Attempt {
    /// The plan with what it takes. Where no time was asked for, none is hopeless.
    pub(super) fn into_timed(self) -> (Plan, Timing) {
        let Self::Found(plan, Some(timing)) = self else {
            unreachable!("without a time to beat a plan is found and played")
        };
        (*plan, timing)
    }
}

/// Returns the plan that moves `size` the fastest, and how long it takes. Each plan comes with the
/// protocols that its executors have. Among equals the first wins, with Simple before the others.
/// Once one is near to the limit of the links, no other plan is tried. Known times are not played
/// again. Nothing is played where all bounds are `within` or more, nor any way whose own bound is.
pub(super) fn fastest_of(
    (plans, protocols): (&[Plan], &[Protocol]),
    wiring: &Wiring,
    (size, within): (Bytes, Option<Picoseconds>),
    peer_access_switch: Picoseconds,
    known: &mut KnownTimes,
) -> Result<Attempt, PlanError> {
    let routes = &resources(wiring);
    let within = within.map_or(f64::INFINITY, Picoseconds::as_seconds);
    let (best, skipped, is_sharp) = (None, f64::INFINITY, false);
    let mut search = Search {
        routes,
        protocols,
        size,
        within,
        is_sharp,
        skipped,
        peer_access_switch,
        known,
        best,
    };
    let candidates: Vec<Candidate<'_>> = (0..)
        .zip(plans)
        .map(|(place, plan)| search.candidate(place, plan))
        .collect::<Result<_, PlanError>>()?;
    let least = candidates.iter().map(|candidate| candidate.least).fold(f64::INFINITY, f64::min);
    let optimum = plans.iter().find_map(|plan| Some((plan.links, plan.optimum?)));
    if search.is_hopeless(least) {
        let least = Picoseconds::from_seconds(least * EARLIER);
        return Ok(Attempt::Hopeless { least, optimum });
    }
    // A loser might be near enough to its links' limit for another to be left out that takes less.
    search.is_sharp =
        candidates.iter().all(|it| it.near < search.within || search.is_hopeless(it.least));
    let mut waiting: Vec<&Candidate<'_>> = Vec::new();
    for (candidate, later) in candidates.iter().zip(1..) {
        // Those that wait and may be as near are played first.
        while !search.is_within(candidate.near)
            && let Some(at) = waiting.iter().position(|it| it.least <= candidate.near)
        {
            search.play(waiting.remove(at))?;
        }
        if search.is_within(candidate.near) {
            continue;
        }
        if candidates[later..].iter().any(|better| candidate.least > better.near) {
            waiting.push(candidate);
        } else {
            search.play(candidate)?;
        }
    }
    waiting.into_iter().try_for_each(|candidate| search.play(candidate))?;
    let best = search.best.as_ref().map_or(f64::INFINITY, |(timing, ..)| timing.time.as_seconds());
    if search.skipped.is_finite() && best >= search.within {
        let least = Picoseconds::from_seconds(best.min(search.skipped * EARLIER));
        return Ok(Attempt::Hopeless { least, optimum });
    }
    let (timing, (place, _), protocol) =
        search.best.expect("there is a plan, and a protocol for it");
    let mut plan = plans[place].clone();
    plan.schedule.protocol = protocol;
    Ok(Attempt::Found(Box::new(plan), Some(timing)))
}

/// A plan and what it takes at least.
struct Candidate<'p> {
    place: usize,
    plan: &'p Plan,
    /// A time this near to what its links allow leaves it untried.
    near: f64,
    /// One for each protocol; Simple is the first.
    ways: Vec<Way<'p>>,
    /// None of them takes less, in seconds.
    least: f64,
}

/// One way to play a plan: it has one protocol.
struct Way<'p> {
    protocol: Protocol,
    costs: NcclProtocol,
    /// It does not take less, in seconds.
    least: f64,
    /// Ready to be played, where its bound has been asked for.
    player: Option<Player<'p>>,
}

struct Search<'r> {
    protocols: &'r [Protocol],
    routes: &'r Routes<'r>,
    size: Bytes,
    /// Nothing that takes this long or longer need be played, in seconds.
    within: f64,
    /// Whether a way whose bound is `within` or more may be left out, whatever the others take.
    is_sharp: bool,
    /// No way that was left out so takes less, in seconds.
    skipped: f64,
    known: &'r mut KnownTimes,
    peer_access_switch: Picoseconds,
    /// With its place among plans and that of its protocol there: of equals the first is taken.
    best: Option<(Timing, (usize, usize), Protocol)>,
}

impl<'r> Search<'r> {
    fn candidate<'p>(&self, place: usize, plan: &'p Plan) -> Result<Candidate<'p>, PlanError>
    where
        'r: 'p,
    {
        let (size, schedule) = (self.size.0 as f64, &plan.schedule);
        let usual = protocol_on(schedule, self.routes.wiring());
        let player = Player::on(schedule, self.routes, &usual)?;
        let loads = player.link_bytes();
        let times = loads.iter().zip(self.routes.capacities());
        let busiest = times.map(|(load, most)| load / most.0 as f64).fold(0.0, f64::max);
        let seconds = size * busiest;
        let sent = size * most_sent(schedule);
        let is_bounded = self.size >= LEAST_BOUNDED && schedule.ranks() <= MOST_BOUNDED;
        let mut ways = Vec::new();
        for protocol in self.protocols.iter().rev() {
            let costs = self.costs(schedule, *protocol);
            // A block is no faster than its flags let it be, nor than the links that it sends over.
            let own = costs.send_bandwidth.map_or(0.0, |limit| sent / limit.0 as f64);
            let soonest = costs.launch.as_seconds() + seconds.max(own) / costs.data_share;
            let bounded = || Player::on(schedule, self.routes, &costs);
            let is_open = is_bounded && !self.is_hopeless(soonest);
            let player = is_open.then(bounded).transpose()?;
            let busy = player.as_ref().map(|player| player.least(self.size).as_seconds());
            let least = soonest.max(busy.unwrap_or(0.0));
            ways.push(Way { protocol: *protocol, costs, least, player });
        }
        let least = ways.iter().map(|way| way.least).fold(f64::INFINITY, f64::min);
        let launches = ways.iter().map(|way| way.costs.launch.as_seconds());
        let launch = launches.fold(f64::INFINITY, f64::min);
        Ok(Candidate { place, plan, near: NEAR * (launch + seconds), ways, least })
    }

    fn costs(&self, schedule: &Schedule, protocol: Protocol) -> NcclProtocol {
        let usual = protocol_for(schedule, protocol, self.routes.wiring());
        NcclProtocol { peer_access_switch: self.peer_access_switch, ..usual }
    }

    /// Whether something takes no longer than that.
    fn is_within(&self, near: f64) -> bool {
        self.best.as_ref().is_some_and(|(timing, ..)| timing.time.as_seconds() <= near)
    }

    /// Whether what takes no less than that need not be played; bounds may be above a time by rounding.
    fn is_hopeless(&self, least: f64) -> bool {
        least * EARLIER >= self.within
    }

    /// Plays a plan with each protocol that may be the fastest.
    fn play(&mut self, candidate: &Candidate<'_>) -> Result<(), PlanError> {
        let schedule = &candidate.plan.schedule;
        for (at, way) in candidate.ways.iter().enumerate() {
            let place = (candidate.place, at);
            let is_beaten = |least: f64| {
                self.best.as_ref().is_some_and(|(timing, of_best, _)| {
                    let best = timing.time.as_seconds();
                    if *of_best < place { best <= least } else { best < least * EARLIER }
                })
            };
            if is_beaten(way.least) {
                continue;
            }
            let is_left_out = |least: f64| self.is_sharp && self.is_hopeless(least);
            if is_left_out(way.least) {
                self.skipped = self.skipped.min(way.least);
                continue;
            }
            let timing = match &way.player {
                Some(player) => fastest_by(player, self.size, self.known)?,
                None => {
                    let player = Player::on(schedule, self.routes, &way.costs)?;
                    let least = player.least(self.size).as_seconds();
                    if is_beaten(least) {
                        continue;
                    }
                    if is_left_out(least) {
                        self.skipped = self.skipped.min(least);
                        continue;
                    }
                    fastest_by(&player, self.size, self.known)?
                }
            };
            let is_better = self
                .best
                .as_ref()
                .is_none_or(|(best, of_best, _)| (timing.time, place) < (best.time, *of_best));
            if is_better {
                self.best = Some((timing, place, way.protocol));
            }
        }
        Ok(())
    }
}

/// A plan before the best one is taken where they are equal: its bound must be above by more than rounding.
const EARLIER: f64 = 1.0 - 1e-9;

/// Returns the data that the busiest block of a schedule sends, in parts of the collective's size.
fn most_sent(schedule: &Schedule) -> f64 {
    let blocks = schedule.programs.iter().flat_map(|program| &program.blocks);
    let sent = blocks.map(|block| -> u64 {
        let sends = block.steps.iter().filter(|step| step.operation.sends());
        sends.map(|step| u64::from(step.count)).sum()
    });
    sent.max().unwrap_or(0) as f64 / schedule.longest_buffer() as f64
}

#[cfg(test)]
mod tests;
