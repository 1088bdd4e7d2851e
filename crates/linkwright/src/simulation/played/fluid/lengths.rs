//! How long an iteration takes beside others that want the same links.
//!
//! Each job computes and then moves its gradients, over and over. Those that move at one time share
//! resources max-min fairly ([`FlowNetwork`]), and so slow one another; whether they do depends on when each
//! began. The phases are therefore played, from where each job is, until each has had some
//! iterations; these on average are the length.

use std::collections::BTreeMap;

use super::arbiter::{Arbiter, Waiting};
use super::iteration::{Iteration, Moving, Phase};
use crate::network::{FlowId, FlowNetwork, ResourceId};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The iterations of each job that are averaged.
const AVERAGED: u64 = 32;

/// Phases that are played at most, of jobs whose iterations differ greatly in length.
const MOST_PHASES: usize = 20_000;

/// As many jobs are played together in full, however long each takes for its iterations.
pub(super) const FEW: usize = 16;

/// Of more, phases that are played at most, for each.
const PHASES_OF_MANY: usize = 64;

/// A flow here stands for many, and uses many times its rate of a resource, which flows of
/// [`FlowNetwork`] do not. All resources are narrower by at least this, and by more where a flow
/// uses more.
const NARROWER: u64 = 1 << 10;

/// A link that could be filled but for this part of it is taken for one that is.
const MARGIN: f64 = 1e-6;

/// How long at least until deadlines are looked at again.
const SHORTEST_LOOK: Picoseconds = Picoseconds(1_000_000);

/// Gives a whole iteration, in fractions of 2^32.
pub(super) const WHOLE: u64 = 1 << 32;

/// A job that is played.
struct Played<'a> {
    iteration: &'a Iteration,
    /// The phase that it is in.
    phase: usize,
    /// Until when it asks nothing of links; None while its gradients move.
    quiet_until: Option<Picoseconds>,
    /// Holds the flow that carries them while they do, and when they are due on a PCIe bus.
    flow: Option<(FlowId, Option<Picoseconds>)>,
    /// The first end of an iteration, the last, and how many there were.
    ends: Option<(Picoseconds, Picoseconds, u64)>,
}

/// The mean length of an iteration of each job, from where each is: the part of its iteration that it has
/// done, of [`WHOLE`]. Of more than [`FEW`], one that has not ended two iterations when the phases are played takes what it
/// takes alone. A PCIe bus may have an arbiter that lets some go before others.
pub(super) fn lengths(
    jobs: &[(&Iteration, u64)],
    capacities: &[Bandwidth],
    arbiter: Option<Arbiter>,
) -> Vec<Picoseconds> {
    if let [(iteration, _)] = jobs {
        return vec![iteration.alone()];
    }
    let mut group = Group::new(jobs, capacities, arbiter);
    let mut phases = 0;
    let most = if jobs.len() > FEW { jobs.len() * PHASES_OF_MANY } else { MOST_PHASES };
    while phases < most && group.jobs.iter().any(|job| job.averaged() < AVERAGED) {
        phases += group.step();
    }
    group.jobs.iter().map(Played::length).collect()
}

impl<'a> Played<'a> {
    /// Returns the data that its phase moves.
    fn moving(&self) -> Option<&'a Moving> {
        self.iteration.phases[self.phase].moving.as_ref()
    }

    fn averaged(&self) -> u64 {
        self.ends.map_or(0, |(_, _, count)| count - 1)
    }

    fn length(&self) -> Picoseconds {
        let alone = self.iteration.alone();
        match self.ends {
            Some((first, last, count)) if count > 1 => {
                Picoseconds((last.0 - first.0).div_ceil(count - 1)).max(alone)
            }
            _ => alone,
        }
    }
}

/// Holds jobs that want the same links.
struct Group<'a> {
    jobs: Vec<Played<'a>>,
    network: FlowNetwork,
    /// How many times narrower resources are.
    narrower: u64,
    /// The numbers that resources have here.
    local: BTreeMap<ResourceId, ResourceId>,
    /// Gives the job of each flow, by its slot.
    of_flow: Vec<usize>,
    arbiter: Option<Arbiter>,
    /// When a deadline may be about to pass.
    look: Option<Picoseconds>,
    now: Picoseconds,
}

impl<'a> Group<'a> {
    fn new(
        jobs: &[(&'a Iteration, u64)],
        capacities: &[Bandwidth],
        arbiter: Option<Arbiter>,
    ) -> Self {
        let phases = jobs.iter().flat_map(|(iteration, _)| &iteration.phases);
        let moving = phases.filter_map(|phase| phase.moving.as_ref());
        let uses = moving.flat_map(|moving| &moving.uses);
        let most = uses.map(|(_, share)| *share).fold(0.0, f64::max);
        let narrower = NARROWER.max((most.ceil() as u64).saturating_add(1).next_power_of_two() / 2);
        let narrowed =
            |resource: &ResourceId| Bandwidth((capacities[*resource].0 / narrower).max(1));
        let is_filled = |(resource, most): &(ResourceId, f64)| {
            *most > narrowed(resource).0 as f64 * narrower as f64 * (1.0 - MARGIN)
        };
        let mut local: BTreeMap<ResourceId, ResourceId> =
            peaks(jobs).filter(is_filled).map(|(resource, _)| (resource, 0)).collect();
        (0..).zip(local.values_mut()).for_each(|(index, place)| *place = index);
        let narrowed: Vec<Bandwidth> = local.keys().map(narrowed).collect();
        let mut group = Self {
            jobs: Vec::with_capacity(jobs.len()),
            network: FlowNetwork::new(&narrowed),
            narrower,
            local,
            of_flow: Vec::new(),
            arbiter,
            look: None,
            now: Picoseconds(0),
        };
        for (iteration, done) in jobs {
            let mut at = part(iteration.alone().0, *done);
            let last = iteration.phases.len() - 1;
            let mut phase = 0;
            while phase < last && at >= iteration.phases[phase].alone().0 {
                at -= iteration.phases[phase].alone().0;
                phase += 1;
            }
            let Phase { quiet, moving } = &iteration.phases[phase];
            let (quiet_until, flow) = match moving {
                Some(moving) if at >= quiet.0 => {
                    let left = moving.alone.0 - (at - quiet.0).min(moving.alone.0);
                    (None, Some(group.start(group.jobs.len(), moving, left)))
                }
                _ => (Some(Picoseconds(quiet.0.saturating_sub(at))), None),
            };
            group.jobs.push(Played { iteration, phase, quiet_until, flow, ends: None });
        }
        group.rank();
        group
    }

    /// Starts what is left of a job's gradients, as the time that it takes alone; returns what carries them, and when they
    /// are due.
    fn start(&mut self, job: usize, moving: &Moving, left: u64) -> (FlowId, Option<Picoseconds>) {
        let part =
            |whole: u64| (u128::from(whole) * u128::from(left) / u128::from(moving.alone.0)) as u64;
        let bytes = Bytes(part(moving.bytes.0));
        let within = moving.copies.and_then(|copies| copies.within);
        let due = within.map(|within| Picoseconds(self.now.0.saturating_add(part(within.0))));
        let narrower = self.narrower as f64;
        let narrow = |(resource, share): &(ResourceId, f64)| {
            Some((*self.local.get(resource)?, share / narrower))
        };
        let uses: Vec<(ResourceId, f64)> = moving.uses.iter().filter_map(narrow).collect();
        let flow = self.network.start(&uses, bytes, Some(moving.limit), self.now);
        if self.of_flow.len() <= flow.slot() {
            self.of_flow.resize(flow.slot() + 1, 0);
        }
        self.of_flow[flow.slot()] = job;
        (flow, due)
    }

    /// Gives copies over a PCIe bus their classes.
    fn rank(&mut self) {
        let Some(arbiter) = self.arbiter else { return };
        self.network.advance(self.now);
        let mut flows = Vec::new();
        let mut waiting = Vec::new();
        for job in &self.jobs {
            let (Some((flow, due)), Some(moving)) = (job.flow, job.moving()) else { continue };
            let Some(copies) = moving.copies else { continue };
            let part = |whole: u64| {
                let left = u128::from(self.network.remaining(flow).0) * u128::from(whole);
                (left / u128::from(moving.bytes.0)) as u64
            };
            let left = part(copies.size.0);
            let alone = part(moving.alone.0);
            let due = due.map(|due| (due, Picoseconds(due.0.saturating_sub(alone))));
            flows.push(flow);
            waiting.push(Waiting { left, due });
        }
        let (classes, look) = arbiter.classes(&waiting, self.now);
        for (flow, class) in flows.into_iter().zip(classes) {
            self.network.set_class(flow, class);
        }
        let soonest = self.now.0.saturating_add(SHORTEST_LOOK.0);
        self.look = look.map(|look| Picoseconds(look.0.max(soonest)));
    }

    /// Plays what ends next; returns how many phases that were.
    fn step(&mut self) -> usize {
        let quiet = self.jobs.iter().filter_map(|job| job.quiet_until).min();
        let moved = self.network.next_completion().map(|(time, _)| time);
        let Some(now) = quiet.into_iter().chain(moved).chain(self.look).min() else {
            return MOST_PHASES;
        };
        self.now = now;
        let mut begins = self.look == Some(now);
        let mut ended = usize::from(begins);
        while self.network.next_completion().is_some_and(|(time, _)| time == now)
            && let Some((_, flow)) = self.network.complete_next()
        {
            self.begin(self.of_flow[flow.slot()]);
            ended += 1;
        }
        for index in 0..self.jobs.len() {
            if self.jobs[index].quiet_until == Some(now) {
                let Played { iteration, phase, .. } = self.jobs[index];
                match &iteration.phases[phase].moving {
                    Some(moving) => {
                        let started = self.start(index, moving, moving.alone.0);
                        let job = &mut self.jobs[index];
                        (job.quiet_until, job.flow) = (None, Some(started));
                        begins = true;
                    }
                    None => self.begin(index),
                }
                ended += 1;
            }
        }
        if begins {
            self.rank();
        }
        ended
    }

    /// A job begins its next phase, or its next iteration.
    fn begin(&mut self, index: usize) {
        let job = &mut self.jobs[index];
        job.flow = None;
        job.phase += 1;
        if job.phase == job.iteration.phases.len() {
            job.phase = 0;
            job.ends = match job.ends {
                None => Some((self.now, self.now, 1)),
                Some((first, _, count)) => Some((first, self.now, count + 1)),
            };
        }
        let quiet = job.iteration.phases[job.phase].quiet.0.max(1);
        job.quiet_until = Some(Picoseconds(self.now.0.saturating_add(quiet)));
    }
}

/// Sums the demand of all of these jobs together on each resource at most, in bytes per second. A
/// resource with room to spare slows none: without the resource every rate is the same.
fn peaks(jobs: &[(&Iteration, u64)]) -> impl Iterator<Item = (ResourceId, f64)> {
    let mut of_all: BTreeMap<ResourceId, f64> = BTreeMap::new();
    for (resource, most) in jobs.iter().flat_map(|(iteration, _)| &iteration.peaks) {
        *of_all.entry(*resource).or_default() += most;
    }
    of_all.into_iter()
}

/// Returns that part of a length, of [`WHOLE`].
fn part(length: u64, done: u64) -> u64 {
    (u128::from(length) * u128::from(done) / u128::from(WHOLE)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Bandwidth = Bandwidth(10_000_000_000);

    /// Makes an iteration that computes for `quiet` microseconds, and then fills a link for
    /// `moving` microseconds by `flows` flows.
    fn filling(quiet: u64, moving: u64, flows: f64) -> Iteration {
        let alone = Picoseconds(moving * 1_000_000);
        let bytes = (LINK.0 as f64 * alone.as_seconds() / flows) as u64;
        let limit = Bandwidth((LINK.0 as f64 / flows) as u64);
        let uses = vec![(0, flows)];
        let moving = Moving { alone, bytes: Bytes(bytes), limit, uses, copies: None };
        let quiet = Picoseconds(quiet * 1_000_000);
        Iteration::new(vec![Phase { quiet, moving: Some(moving) }])
    }

    fn microseconds(jobs: &[(&Iteration, u64)]) -> Vec<f64> {
        let lengths = lengths(jobs, &[LINK], None);
        lengths.iter().map(|length| (length.as_seconds() * 1e6 * 10.0).round() / 10.0).collect()
    }

    #[test]
    fn jobs_share_what_they_want_at_one_time() {
        let job = filling(40, 30, 1.0);
        assert_eq!(microseconds(&[(&job, 0)]), [70.0]);
        assert_eq!(microseconds(&[(&job, 0), (&job, 0)]), [100.0, 100.0], "all of it at once");
        let later = WHOLE / 70 * 35;
        assert_eq!(microseconds(&[(&job, 0), (&job, later)]), [70.0, 70.0], "none of it at once");
        let quiet = Iteration::new(vec![Phase::quiet(Picoseconds(5_000_000))]);
        assert_eq!(microseconds(&[(&job, 0), (&quiet, 0)]), [70.0, 5.0]);
    }

    /// A link that two jobs cannot fill changes nothing, whatever else they share.
    #[test]
    fn links_with_room_to_spare_slow_nobody() {
        let over = |uses: &[(ResourceId, f64)]| {
            let mut job = filling(40, 30, 1.0).phases.remove(0);
            job.moving.as_mut().unwrap().uses = uses.to_vec();
            Iteration::new(vec![job])
        };
        let [narrow, both] = [over(&[(0, 1.0)]), over(&[(0, 1.0), (1, 0.75)])];
        let found = |job: &Iteration, widths: &[u64]| {
            let capacities: Vec<Bandwidth> =
                widths.iter().map(|width| Bandwidth(LINK.0 / 100 * width)).collect();
            lengths(&[(job, 0), (job, WHOLE / 7), (job, 0)], &capacities, None)
        };
        let alone = found(&narrow, &[100]);
        assert!(alone[0].0 > 70_000_000, "{alone:?}");
        for wide in [225, 226, 300, 10_000] {
            assert_eq!(found(&both, &[100, wide]), alone, "{wide} %");
        }
        assert_ne!(found(&both, &[100, 70]), alone);
    }

    /// In this row of jobs each shares a link with the next, and those far away hardly matter.
    /// Without them, and with fewer phases, the length in the middle is nearly the same.
    #[test]
    fn far_neighbours_hardly_matter() {
        let links = vec![LINK; 100];
        let row: Vec<(Iteration, u64)> = (0..61_usize)
            .map(|index| {
                let varied = (index * 37 % 23) as u64;
                let mut job = filling(20 + varied, 30 + varied * 2 % 17, 1.0).phases.remove(0);
                job.moving.as_mut().unwrap().uses = vec![(index, 1.0), (index + 1, 1.0)];
                (Iteration::new(vec![job]), WHOLE / 23 * varied)
            })
            .collect();
        let of = |first: usize, last: usize| {
            let jobs: Vec<(&Iteration, u64)> =
                row[first..=last].iter().map(|(job, done)| (job, *done)).collect();
            lengths(&jobs, &links, None)
        };
        let whole = of(0, 60);
        let off = |middle: usize, near: usize| {
            let found = of(middle - near, middle + near)[near].as_seconds();
            (found / whole[middle].as_seconds() - 1.0).abs()
        };
        let mut slowed = 0;
        for middle in 10..=50 {
            let alone = row[middle].0.alone();
            slowed += usize::from(whole[middle].0 > alone.0 * 11 / 10);
            assert!(off(middle, FEW / 2 + 1) < 0.06, "{middle}: {}", off(middle, FEW / 2 + 1));
        }
        assert!(slowed > 30, "{slowed} of 41 are slowed by more than a tenth");
    }

    /// However many flows one stands for.
    #[test]
    fn many_flows_are_one() {
        for flows in [1.0, 16.0, 1e3, 1e5] {
            let job = filling(40, 30, flows);
            let found = microseconds(&[(&job, 0), (&job, 0)]);
            assert!(found.iter().all(|it| (it - 100.0).abs() < 0.2), "{flows}: {found:?}");
        }
    }
}
