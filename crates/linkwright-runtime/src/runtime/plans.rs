//! Prepares the programs of ranks and collectives for running, and shares them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::program::lowering::{CollectiveCall, Lowering};
use crate::program::{Operation, Program, RankProgram};
use crate::units::Bandwidth;

use super::error::RuntimeError;
use super::plan::{Plan, Source};

/// How many operations of lowered collectives are kept for the next call of the same kind.
const MOST_KEPT: u64 = 1 << 20;

/// The plans of all frames: those of the ranks, then those of collectives. A collective that is
/// lowered as a whole keeps its plan for the next call of its kind, unless these are too many.
/// Of a longer one a frame has the part that it plays.
#[derive(Debug, Clone)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    /// Tells how many frames play each plan.
    users: Vec<u32>,
    free: Vec<u32>,
    lowered: BTreeMap<CollectiveCall, u32>,
    /// Holds the plans of the ranks of programs by the programs' addresses, and how many jobs run them.
    programs: BTreeMap<usize, (Arc<[u32]>, u32)>,
    /// How many operations the kept plans have, and beyond how many those that no frame plays go.
    kept: u64,
    most: u64,
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

    /// Gives the plan of each rank of a program, for one job more; jobs that run one program share them.
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
    /// goes on.
    pub(super) fn go_on<L: Lowering>(
        &mut self,
        index: u32,
        lowering: &L,
        call: &CollectiveCall,
        from: u32,
    ) -> Result<Option<u32>, RuntimeError> {
        let (plan, next) = part(lowering, call, from)?;
        self.plans[index as usize] = plan;
        Ok(next)
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

/// Tells a program that is kept from all others.
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
            Operation::Kernel => {
                return fault(format!("has a kernel in GPUs' memory as operation {index}"));
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
