//! Makes plans of trees of ranks.

use std::borrow::Cow;

use super::ground::Ground;
use super::{Links, Plan, PlanError, Planner, Question, rate};
use crate::collectives::planners::link_graph::{LinkClass, fabric_of};
use crate::collectives::planners::lowering::{RootedTree, schedule_of_trees};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, ChosenRoute, Schedule};
use crate::system::Wiring;
use crate::units::Bandwidth;

/// Holds trees with their steps and their rate.
pub(super) struct Lowered {
    pub(super) trees: Vec<RootedTree>,
    pub(super) schedule: Schedule,
    pub(super) rate: Bandwidth,
}

impl Plan {
    /// Makes the plan of a planner that sends data along trees, each with an equal part of it.
    ///
    /// Each tree gives every rank the rank above it, and its root None. A collective with a root takes
    /// trees from there; an all-gather or a reduce-scatter as many from each rank.
    ///
    /// # Errors
    /// [`PlanError`] where no links join the GPUs, and where NVLink alone is wanted and the trees need more.
    /// An all-to-all goes along no tree.
    pub fn of_trees(
        planner: &dyn Planner,
        question: &Question<'_>,
        trees: Vec<Vec<Option<usize>>>,
    ) -> Result<Self, PlanError> {
        let mut notes = Vec::new();
        let Ground { class, .. } = question.ground(&mut notes)?;
        if question.collective == Collective::AllToAll {
            return Err(PlanError::Unsupported {
                algorithm: planner.name(),
                collective: question.collective.name(),
                remedy: "packing, nccl-ring".into(),
            });
        }
        let channel = Channel::over(class.transport());
        let tree = |parent| RootedTree { parent, chunks: 1, channel: channel.clone() };
        let name = format!("{}-{}", planner.name(), question.collective.name());
        let trees = trees.into_iter().map(tree).collect();
        let trees = lowered(question, &name, trees, Vec::new())?;
        plan_of_trees(question, planner.name(), class, trees, notes)
    }

    /// Makes the plan of a planner that writes down its own steps, whose channels take the best links.
    ///
    /// # Errors
    /// Fails as [`Self::of_trees`] does.
    pub fn of_schedule(
        planner: &dyn Planner,
        question: &Question<'_>,
        schedule: Schedule,
    ) -> Result<Self, PlanError> {
        let mut notes = Vec::new();
        let Ground { class, .. } = question.ground(&mut notes)?;
        let rate = rate::steady_rate(&schedule, question.wiring())?;
        plan_of_trees(
            question,
            planner.name(),
            class,
            Lowered { trees: Vec::new(), schedule, rate },
            notes,
        )
    }
}

/// Writes down the steps of trees, whose arcs take these paths through what forwards.
pub(super) fn lowered(
    question: &Question<'_>,
    name: &str,
    trees: Vec<RootedTree>,
    routes: Vec<ChosenRoute>,
) -> Result<Lowered, PlanError> {
    let Question { gpus, collective, .. } = *question;
    let schedule = Schedule { routes, ..schedule_of_trees(name, collective, gpus, &trees) };
    let rate = rate::steady_rate(&schedule, question.wiring())?;
    Ok(Lowered { trees, schedule, rate })
}

/// Makes the plan of trees, without an optimum.
pub(super) fn plan_of_trees(
    question: &Question<'_>,
    algorithm: &'static str,
    links: LinkClass,
    Lowered { trees, schedule, rate }: Lowered,
    notes: Vec<String>,
) -> Result<Plan, PlanError> {
    let name = Cow::Borrowed(algorithm);
    let mut plan = Plan { schedule, algorithm: name, links, trees, rate, optimum: None, notes };
    note_host(&mut plan, question.wiring(), question.links, algorithm)?;
    Ok(plan)
}

/// Says that some of the data of a plan over NVLink goes over PCIe, or refuses it where only NVLink
/// is wanted.
pub(super) fn note_host(
    plan: &mut Plan,
    wiring: &Wiring,
    links: Links,
    algorithm: &'static str,
) -> Result<(), PlanError> {
    if plan.links != LinkClass::Fabric || !rate::loads_host(&plan.schedule, wiring)? {
        return Ok(());
    }
    if links == Links::Fabric {
        return Err(PlanError::NotDirect { algorithm });
    }
    let fabric = fabric_of(wiring).unwrap_or("NVLink");
    plan.notes.push(format!(
        "no {fabric} joins some of the GPUs that exchange data; theirs goes over PCIe"
    ));
    Ok(())
}
