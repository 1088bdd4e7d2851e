//! Says which step waits for which, and whether all of them end.
//!
//! Blocks are sequential and connections keep their order, so whether a schedule ends does not
//! depend on timing. It ends exactly where the graph of waits has no cycle.

use std::collections::BTreeMap;

use super::fault::{Cause, ScheduleFault, StepPlace, Wait};
use crate::collectives::schedule::walk::{self, Connection, WalkedStep};
use crate::collectives::schedule::{Schedule, ScheduleStep};

/// The number of a step among those of all ranks.
pub(super) type StepIndex = usize;

/// The sends and the receives of a connection, each in order.
#[derive(Debug, Clone, Default)]
struct Runs {
    sends: Vec<StepIndex>,
    receives: Vec<StepIndex>,
}

/// Holds all steps, and the waits of each.
#[derive(Debug, Clone)]
pub(super) struct StepGraph<'a> {
    places: Vec<StepPlace>,
    steps: Vec<&'a ScheduleStep>,
    /// Gives, for each rank and block, the number of its first step.
    starts: Vec<Vec<StepIndex>>,
    connections: Vec<Runs>,
    /// For a step that receives: its connections, and how many receives of each come before.
    received: RunsOfSteps,
    /// The same for a step that sends.
    sent: RunsOfSteps,
}

/// A run of a connection: which connection, and how many runs of it come before.
pub(super) type RunOf = (usize, usize);

/// The runs of each step, those of all steps in one list.
#[derive(Debug, Clone)]
struct RunsOfSteps {
    runs: Vec<RunOf>,
    /// Says where those of each step start, and where all end.
    starts: Vec<usize>,
}

impl RunsOfSteps {
    fn new() -> Self {
        Self { runs: Vec::new(), starts: vec![0] }
    }

    fn push(&mut self, of_step: impl IntoIterator<Item = RunOf>) {
        self.runs.extend(of_step);
        self.starts.push(self.runs.len());
    }

    fn of(&self, step: StepIndex) -> &[RunOf] {
        &self.runs[self.starts[step]..self.starts[step + 1]]
    }
}

impl<'a> StepGraph<'a> {
    /// Numbers the steps and matches each receive with its send.
    ///
    /// # Errors
    /// Fails with [`ScheduleFault::Unmatched`] and [`ScheduleFault::CountsDiffer`].
    pub(super) fn new(schedule: &'a Schedule) -> Result<Self, ScheduleFault> {
        let mut graph = Self {
            places: Vec::new(),
            steps: Vec::new(),
            starts: Vec::new(),
            connections: Vec::new(),
            received: RunsOfSteps::new(),
            sent: RunsOfSteps::new(),
        };
        graph.starts.resize(schedule.programs.len(), Vec::new());
        let mut names: BTreeMap<Connection, usize> = BTreeMap::new();
        for walked in walk::blocks(schedule) {
            graph.starts[walked.rank].push(graph.steps.len());
            let ends = walked.ends();
            for WalkedStep { rank, block, index: step, step: what } in walked.steps() {
                let index = graph.steps.len();
                graph.places.push(StepPlace { rank, block, step });
                graph.steps.push(what);
                let mut connection = |name| {
                    let next = names.len();
                    let id = *names.entry(name).or_insert(next);
                    graph.connections.resize_with(names.len(), Runs::default);
                    id
                };
                let received: Vec<usize> = ends.read(what.operation).map(&mut connection).collect();
                let sent: Vec<usize> = ends.written(what.operation).map(&mut connection).collect();
                let connections = &mut graph.connections;
                let mut note = |id: usize, ends: fn(&mut Runs) -> &mut Vec<StepIndex>| {
                    let runs = ends(&mut connections[id]);
                    runs.push(index);
                    (id, runs.len() - 1)
                };
                let receives = received.into_iter().map(|id| note(id, |it| &mut it.receives));
                graph.received.push(receives);
                graph.sent.push(sent.into_iter().map(|id| note(id, |it| &mut it.sends)));
            }
        }
        for (Connection { from, to, channel, .. }, id) in names {
            graph.match_runs(id, from, to, channel)?;
        }
        Ok(graph)
    }

    fn match_runs(
        &self,
        id: usize,
        from: usize,
        to: usize,
        channel: usize,
    ) -> Result<(), ScheduleFault> {
        let Runs { sends, receives } = &self.connections[id];
        for (send, receive) in sends.iter().zip(receives) {
            let (sent, received) = (self.steps[*send].count, self.steps[*receive].count);
            if sent != received {
                let (send, receive) = (self.places[*send], self.places[*receive]);
                return Err(ScheduleFault::CountsDiffer { send, sent, receive, received });
            }
        }
        let matched = sends.len().min(receives.len());
        let (lonely, problem) = if let Some(lonely) = sends.get(matched) {
            (*lonely, format!("sends to rank {to}, which receives nothing for it"))
        } else if let Some(lonely) = receives.get(matched) {
            (*lonely, format!("receives from rank {from}, which sends nothing for it"))
        } else {
            return Ok(());
        };
        let place = self.places[lonely];
        Err(ScheduleFault::Unmatched { place, problem, channel, number: matched + 1 })
    }

    /// How many steps there are.
    pub(super) const fn len(&self) -> usize {
        self.steps.len()
    }

    /// Where a step stands.
    pub(super) fn place(&self, index: StepIndex) -> StepPlace {
        self.places[index]
    }

    /// Returns a step.
    pub(super) fn step(&self, index: StepIndex) -> &'a ScheduleStep {
        self.steps[index]
    }

    /// The runs that a step sends.
    pub(super) fn sent(&self, index: StepIndex) -> &[RunOf] {
        self.sent.of(index)
    }

    /// The runs that a step receives; of a switch's reduction one from each other rank.
    pub(super) fn received(&self, index: StepIndex) -> &[RunOf] {
        self.received.of(index)
    }

    /// The steps that have always ended when this one starts.
    pub(super) fn predecessors(
        &self,
        index: StepIndex,
    ) -> impl Iterator<Item = (StepIndex, Cause)> + '_ {
        let place = self.places[index];
        let before = (place.step > 0).then(|| (index - 1, Cause::Block));
        let starts = &self.starts[place.rank];
        let after = self.steps[index].after.iter().map(move |earlier| {
            (starts[earlier.block as usize] + earlier.step as usize, Cause::After)
        });
        let messages = self.received(index).iter().map(|(connection, number)| {
            (self.connections[*connection].sends[*number], Cause::Message)
        });
        before.into_iter().chain(after).chain(messages)
    }

    /// The receives that must have made room before this step may send.
    fn room(
        &self,
        index: StepIndex,
        slots: usize,
    ) -> impl Iterator<Item = (StepIndex, Cause)> + '_ {
        self.sent(index).iter().filter_map(move |(connection, number)| {
            let freed = number.checked_sub(slots)?;
            Some((self.connections[*connection].receives[freed], Cause::Room))
        })
    }

    fn waits(
        &self,
        index: StepIndex,
        slots: usize,
    ) -> impl Iterator<Item = (StepIndex, Cause)> + '_ {
        self.predecessors(index).chain(self.room(index, slots))
    }

    /// An order in which the steps can run.
    ///
    /// # Errors
    /// Fails for a circle of waits.
    pub(super) fn order(&self, slots: usize) -> Result<Vec<StepIndex>, ScheduleFault> {
        let mut waiting = vec![0_usize; self.len()];
        let mut start = vec![0_usize; self.len() + 1];
        for (index, waits) in waiting.iter_mut().enumerate() {
            for (earlier, _) in self.waits(index, slots) {
                *waits += 1;
                start[earlier + 1] += 1;
            }
        }
        for index in 0..self.len() {
            start[index + 1] += start[index];
        }
        let mut next = start.clone();
        let mut successors = vec![0; start[self.len()]];
        for index in 0..self.len() {
            for (earlier, _) in self.waits(index, slots) {
                successors[next[earlier]] = index;
                next[earlier] += 1;
            }
        }
        let mut order: Vec<_> = (0..self.len()).filter(|index| waiting[*index] == 0).collect();
        let mut done = 0;
        while done < order.len() {
            let index = order[done];
            done += 1;
            for &later in &successors[start[index]..start[index + 1]] {
                waiting[later] -= 1;
                if waiting[later] == 0 {
                    order.push(later);
                }
            }
        }
        if order.len() == self.len() { Ok(order) } else { Err(self.circle(&waiting, slots)) }
    }

    /// A circle among the steps that never start: from the first of them, whatever it waits
    /// for, until a step comes again.
    fn circle(&self, waiting: &[usize], slots: usize) -> ScheduleFault {
        let mut seen = vec![None; self.len()];
        let mut path = Vec::new();
        let mut index = waiting.iter().position(|waits| *waits > 0).unwrap_or(0);
        while seen[index].is_none() {
            seen[index] = Some(path.len());
            let stuck = self.waits(index, slots).find(|(earlier, _)| waiting[*earlier] > 0);
            let (earlier, cause) = stuck.unwrap_or((index, Cause::Block));
            let (step, waits_for) = (self.places[index], self.places[earlier]);
            path.push(Wait { step, waits_for, cause });
            index = earlier;
        }
        path.drain(..seen[index].unwrap_or(0));
        if path.iter().all(|wait| matches!(wait.cause, Cause::Block | Cause::After)) {
            ScheduleFault::DependencyCycle(path)
        } else {
            ScheduleFault::Deadlock(path)
        }
    }

    /// Counts the most messages on any chain of steps.
    pub(super) fn longest_chain(&self, order: &[StepIndex]) -> usize {
        let mut hops = vec![0; self.len()];
        for &index in order {
            let through = self
                .predecessors(index)
                .map(|(earlier, cause)| hops[earlier] + usize::from(cause == Cause::Message));
            hops[index] = through.max().unwrap_or(0);
        }
        hops.into_iter().max().unwrap_or(0)
    }
}
