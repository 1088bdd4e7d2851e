//! Who is in which collective, and what the collective is made of.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{CollectiveKind, CommunicatorId, Operation, Program, Rank, RankProgram};
use crate::units::Bandwidth;

use super::call::Call;
use super::error::RuntimeError;
use super::plan::{Plan, Source};

/// How many operations of lowered collectives are kept for the next call of the same kind.
const MOST_KEPT: u64 = 1 << 20;

/// A collective that some rank has entered and another has not.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    kind: CollectiveKind,
    root: Option<Rank>,
    context: u32,
    entered: u32,
    /// Who entered first.
    rank: Rank,
    call: Call,
}

/// A rank's entry into a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) rank: Rank,
    pub(super) call: Call,
    pub(super) kind: CollectiveKind,
    /// The root's rank in the program, where there is one.
    pub(super) root: Option<Rank>,
}

/// A communicator as it runs.
#[derive(Debug, Clone)]
pub(super) struct Communicator {
    pub(super) job: u32,
    pub(super) id: CommunicatorId,
    pub(super) members: Vec<Rank>,
    /// What the messages of its own match within.
    pub(super) context: u32,
    /// The places of the members, in the order of their ranks.
    by_rank: Vec<u32>,
    /// How many collectives each member has entered.
    entered: Vec<u64>,
    /// The collectives that not all members have entered, in their order.
    open: VecDeque<OpenCall>,
    /// How many collectives all members have entered.
    closed: u64,
}

impl Communicator {
    pub(super) fn new(job: u32, id: CommunicatorId, members: Vec<Rank>, context: u32) -> Self {
        let mut by_rank: Vec<u32> = (0..members.len() as u32).collect();
        by_rank.sort_unstable_by_key(|place| members[*place as usize]);
        let entered = vec![0; members.len()];
        Self { job, id, members, context, by_rank, entered, open: VecDeque::new(), closed: 0 }
    }

    /// A member's place.
    pub(super) fn index_of(&self, rank: Rank) -> u32 {
        if self.members.get(rank as usize) == Some(&rank) {
            return rank;
        }
        let found = self.by_rank.binary_search_by_key(&rank, |place| self.members[*place as usize]);
        found.map_or(0, |position| self.by_rank[position])
    }

    /// A member enters its next collective; returns what the messages of this collective match
    /// within, for which the first to enter takes the context offered.
    pub(super) fn enter(
        &mut self,
        entry: Entry,
        job: &str,
        next_context: &mut u32,
    ) -> Result<u32, RuntimeError> {
        let index = self.index_of(entry.rank) as usize;
        let sequence = self.entered[index];
        self.entered[index] += 1;
        let position = (sequence - self.closed) as usize;
        if position == self.open.len() {
            let Entry { rank, call, kind, root } = entry;
            let context = *next_context;
            *next_context += 1;
            self.open.push_back(OpenCall { kind, root, context, entered: 0, rank, call });
        }
        let open = &mut self.open[position];
        if open.kind != entry.kind || open.root != entry.root {
            return Err(RuntimeError::CollectiveMismatch {
                job: job.to_owned(),
                communicator: self.id,
                sequence,
                ranks: [open.rank, entry.rank],
                calls: [open.call, entry.call],
                kinds: [open.kind, entry.kind],
                roots: [open.root, entry.root],
            });
        }
        open.entered += 1;
        let context = open.context;
        while self.open.front().is_some_and(|first| first.entered as usize == self.members.len()) {
            self.open.pop_front();
            self.closed += 1;
        }
        Ok(context)
    }

    /// The first collective that some members have entered and others have not, with these in
    /// the order of their ranks.
    pub(super) fn absent(&self) -> Option<(CollectiveKind, Vec<Rank>)> {
        let open = self.open.front()?;
        let away =
            self.by_rank.iter().filter(|place| self.entered[**place as usize] == self.closed);
        Some((open.kind, away.map(|place| self.members[*place as usize]).collect()))
    }
}

/// The plans of all frames: those of the ranks, then those of collectives. Of a collective that is
/// lowered as a whole the plan is kept for the next call of the same kind, as long as they are not
/// too many; of a longer one a frame has the part that it plays.
#[derive(Debug, Clone)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    /// How many frames play each plan.
    users: Vec<u32>,
    free: Vec<u32>,
    lowered: BTreeMap<CollectiveCall, u32>,
    /// The plans of the ranks of programs, by the programs' addresses, and how many jobs run them.
    programs: BTreeMap<usize, (Arc<[u32]>, u32)>,
    /// How many operations the kept plans have, and beyond how many those that no frame plays go.
    kept: u64,
    most: u64,
    /// A part that is no program, found where an operation was completed.
    pub(super) fault: Option<RuntimeError>,
}

impl Plans {
    pub(super) fn new() -> Self {
        Self {
            plans: Vec::new(),
            users: Vec::new(),
            free: Vec::new(),
            lowered: BTreeMap::new(),
            programs: BTreeMap::new(),
            kept: 0,
            most: MOST_KEPT,
            fault: None,
        }
    }

    fn push(&mut self, plan: Plan) -> u32 {
        if let Some(index) = self.free.pop() {
            self.plans[index as usize] = plan;
            return index;
        }
        self.plans.push(plan);
        self.users.push(0);
        (self.plans.len() - 1) as u32
    }

    /// The plan of each rank of a program, for one job more; jobs that run one program share them.
    pub(super) fn of_program(&mut self, program: &Arc<Program>) -> Arc<[u32]> {
        if let Some((plans, users)) = self.programs.get_mut(&address(program)) {
            *users += 1;
            return Arc::clone(plans);
        }
        let ranks = 0..program.ranks.len() as u32;
        let plans: Arc<[u32]> = ranks
            .map(|rank| self.push(Plan::new(Source::Rank(Arc::clone(program), rank))))
            .collect();
        self.programs.insert(address(program), (Arc::clone(&plans), 1));
        plans
    }

    /// One job less runs a program; the plans of one that none runs are forgotten.
    pub(super) fn release_program(&mut self, program: &Arc<Program>) {
        let Some((plans, users)) = self.programs.get_mut(&address(program)) else { return };
        *users -= 1;
        if *users > 0 {
            return;
        }
        let plans = Arc::clone(plans);
        self.programs.remove(&address(program));
        for plan in plans.iter() {
            self.forget(*plan);
        }
    }

    /// How many plans are in use or kept for the next call.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.plans.len() - self.free.len()
    }

    fn forget(&mut self, plan: u32) {
        self.plans[plan as usize] = Plan::new(Source::Part(RankProgram::default()));
        self.free.push(plan);
    }

    /// The plan of a rank's part in a collective, for one frame more, and where it goes on.
    pub(super) fn lower<L: Lowering>(
        &mut self,
        lowering: &L,
        call: &CollectiveCall,
    ) -> Result<(u32, Option<u32>), RuntimeError> {
        let (index, next) = match self.lowered.get(call) {
            Some(index) => (*index, None),
            None => {
                let (plan, next) = part(lowering, call, 0)?;
                let operations = plan.operations().len() as u64;
                let index = self.push(plan);
                if next.is_none() {
                    if self.kept > self.most {
                        self.forget_unused();
                    }
                    self.kept += operations;
                    self.lowered.insert(*call, index);
                }
                (index, next)
            }
        };
        self.users[index as usize] += 1;
        Ok((index, next))
    }

    /// Puts the next part of a collective in the place of one that has been played; tells where it
    /// goes on. What is no program is noted as a fault.
    pub(super) fn go_on<L: Lowering>(
        &mut self,
        index: u32,
        lowering: &L,
        call: &CollectiveCall,
        from: u32,
    ) -> Option<u32> {
        match part(lowering, call, from) {
            Ok((plan, next)) => {
                self.plans[index as usize] = plan;
                next
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }

    /// One frame less plays a plan; the last part of a longer collective is forgotten.
    pub(super) fn release(&mut self, plan: u32, call: &CollectiveCall) {
        self.users[plan as usize] -= 1;
        if self.lowered.get(call) != Some(&plan) {
            self.forget(plan);
        }
    }

    /// Forgets the plans that no frame plays; the next time when half as many again are kept.
    fn forget_unused(&mut self) {
        let Self { plans, users, free, lowered, kept, .. } = self;
        lowered.retain(|_, index| {
            let used = users[*index as usize] > 0;
            if !used {
                *kept -= plans[*index as usize].operations().len() as u64;
                plans[*index as usize] = Plan::new(Source::Part(RankProgram::default()));
                free.push(*index);
            }
            used
        });
        self.most = MOST_KEPT.max(*kept + *kept / 2);
    }
}

/// What tells a program that is kept from all others that are.
fn address(program: &Arc<Program>) -> usize {
    Arc::as_ptr(program) as usize
}

fn part<L: Lowering>(
    lowering: &L,
    call: &CollectiveCall,
    from: u32,
) -> Result<(Plan, Option<u32>), RuntimeError> {
    let (program, next) = lowering.part(call, from);
    let plan = Plan::new(Source::Part(program));
    check(&plan, call)?;
    Ok((plan, next))
}

impl std::ops::Index<u32> for Plans {
    type Output = Plan;

    fn index(&self, index: u32) -> &Plan {
        &self.plans[index as usize]
    }
}

fn check(plan: &Plan, call: &CollectiveCall) -> Result<(), RuntimeError> {
    let fault = |problem: String| {
        let CollectiveCall { kind, index, ranks, .. } = *call;
        Err(RuntimeError::Lowering { kind, index, ranks, problem })
    };
    if !plan.body().is_empty() {
        return fault("has a main loop".to_owned());
    }
    for (index, operation) in plan.operations().iter().enumerate() {
        let peer = match *operation {
            Operation::Send { to, .. } => to,
            Operation::Receive { from: Some(from), tag: Some(_), .. } => from,
            Operation::Receive { .. } => {
                return fault(format!("takes any message in operation {index}"));
            }
            Operation::Collective { .. } | Operation::Timed { .. } => {
                return fault(format!("has a collective as operation {index}"));
            }
            Operation::Enter { .. } | Operation::Leave { .. } => {
                return fault(format!("has a region in operation {index}"));
            }
            Operation::Copy { .. } => {
                return fault(format!("has a copy as operation {index}"));
            }
            Operation::Reduce { rate: None | Some(Bandwidth(0)), .. } => {
                return fault(format!("states no rate of the reduction in operation {index}"));
            }
            Operation::Reduce { .. }
            | Operation::Compute { .. }
            | Operation::Delay { .. }
            | Operation::Join => continue,
        };
        if peer >= call.ranks {
            return fault(format!("names rank {peer} in operation {index}"));
        }
    }
    Ok(())
}
