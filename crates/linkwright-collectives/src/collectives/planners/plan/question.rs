//! Holds all that a planner is asked.

use std::cell::OnceCell;
use std::sync::Arc;

use super::ground::{Ground, choose_links};
use super::{Plan, PlanError, Planner, by_rule_alone, helpers};
use crate::collectives::planners::link_graph::check_gpus;
use crate::collectives::schedule::Pacing;
use crate::collectives::schedule::collective::Collective;
use crate::diagnostic::Named;
use crate::graph::arborescences::Preference;
use crate::system::{System, Wiring};

/// Says which links a plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Links {
    /// NVLink where it joins all GPUs, else PCIe. Across servers, where NVLink joins the GPUs of
    /// each, NVLink and the network; else all links.
    #[default]
    Auto,
    /// It uses NVLink only.
    Fabric,
    /// It uses PCIe only.
    Host,
    /// As [`Links::Auto`], and between servers PCIe beside NVLink: a hybrid of all links.
    Every,
}

impl Named for Links {
    const WHAT: &'static str = "choice of links";
    /// [`Self::Every`] is a hybrid's, and is asked for by no name.
    const NAMED: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("nvlink", Self::Fabric),
        ("xgmi", Self::Fabric),
        ("pcie", Self::Host),
    ];
}

/// Asks a planner how the GPUs of a job bring about a collective, over which links.
///
/// ```
/// use linkwright_collectives::collectives::Collective;
/// use linkwright_collectives::collectives::plan::{Links, Packing, Question, plan};
/// use linkwright_system::system::System;
/// use linkwright_system::system::presets::preset;
///
/// let system = System::of_server(preset("dgx1-v100")?.into());
/// let question = Question::new(&system, &[0, 1, 2], Collective::AllReduce);
/// let over_nvlink = plan(&Packing, &question)?;
/// let over_pcie = plan(&Packing, &question.over(Links::Host))?;
/// assert!(over_nvlink.rate > over_pcie.rate);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// Has the links that carry the data.
    pub system: &'a System,
    /// The job's GPUs by their ids in the system; rank `i` is `gpus[i]`.
    pub gpus: &'a [usize],
    /// It is to be brought about, from its root.
    pub collective: Collective,
    /// The links that may be used.
    pub links: Links,
    /// Which is taken of plans of the highest rate.
    pub preference: Preference,
    /// Says whether trees that share a link take turns on it by their data (Blink reuses CUDA streams
    /// for that); else they share it equally.
    pub stream_reuse: bool,
    /// GPUs outside the job through which data may pass.
    helpers: &'a [usize],
    wiring: OnceCell<Arc<Wiring>>,
}

impl<'a> Question<'a> {
    /// Asks for a collective on these GPUs over the links that suit it.
    #[must_use]
    pub const fn new(system: &'a System, gpus: &'a [usize], collective: Collective) -> Self {
        Self {
            system,
            gpus,
            collective,
            links: Links::Auto,
            preference: Preference::FewTrees,
            stream_reuse: true,
            helpers: &[],
            wiring: OnceCell::new(),
        }
    }

    /// Asks the same of these links.
    #[must_use]
    pub fn over(&self, links: Links) -> Self {
        Self { links, ..self.clone() }
    }

    /// Asks the same of streams that are reused, or not.
    #[must_use]
    pub fn reusing_streams(&self, stream_reuse: bool) -> Self {
        Self { stream_reuse, ..self.clone() }
    }

    /// Asks the same where data may pass through these GPUs outside the job.
    pub(super) fn helped_by(&self, helpers: &'a [usize]) -> Self {
        Self { helpers, ..self.clone() }
    }

    /// Whether there are such.
    pub(super) const fn has_helpers(&self) -> bool {
        !self.helpers.is_empty()
    }

    /// Gives a plan the pacing that was asked for. Blocks that run side by side share links anyway.
    pub(super) fn pace(&self, plan: &mut Plan) {
        match plan.schedule.pacing {
            Pacing::InTurns if !self.stream_reuse => plan.schedule.pacing = Pacing::InParallel,
            Pacing::SideBySide { .. } => {
                plan.notes.extend(self.note_without_streams(&plan.algorithm))
            }
            _ => {}
        }
    }

    /// Says of one whose blocks run side by side that it has no streams to reuse, where none should be.
    pub(super) fn note_without_streams(&self, algorithm: &str) -> Option<String> {
        let told = "shares links equally as NCCL's blocks do; it has no streams to reuse";
        (!self.stream_reuse).then(|| format!("{algorithm} {told}"))
    }

    /// Asks the same for trees that are as shallow as possible.
    #[must_use]
    pub(super) fn shallow(&self) -> Self {
        Self { preference: Preference::LowDepth, ..self.clone() }
    }

    /// Gives the servers of the GPUs and the links that join them. The GPUs must be the system's.
    #[must_use]
    pub fn wiring(&self) -> &Wiring {
        self.shared_wiring()
    }

    /// As [`Self::wiring`], to be kept.
    pub(super) fn shared_wiring(&self) -> &Arc<Wiring> {
        self.wiring.get_or_init(|| Arc::new(Wiring::of_gpus(self.system, self.gpus)))
    }

    /// # Errors
    /// GPUs that the system does not have, the same one twice, fewer than two.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        Ok(check_gpus(self.system, self.gpus)?)
    }

    /// # Errors
    /// A root that is no rank; a barrier or a scan, which rules alone plan.
    pub(super) fn check_for(&self, planner: &(impl Planner + ?Sized)) -> Result<(), PlanError> {
        if let Some(root) = self.collective.root().filter(|root| *root >= self.gpus.len()) {
            return Err(PlanError::UnknownRoot { root, last: self.gpus.len() - 1 });
        }
        let by_rule = matches!(self.collective, Collective::Barrier | Collective::Scan);
        if by_rule && !planner.is_rule() {
            return Err(by_rule_alone(planner.name(), self.collective));
        }
        Ok(())
    }

    /// The graph of the links that a plan stands on; notes what a person should know of them.
    pub(super) fn ground(&self, notes: &mut Vec<String>) -> Result<Ground, PlanError> {
        if self.has_helpers() {
            return helpers::ground(self, self.helpers);
        }
        choose_links(self.wiring(), self.gpus, self.links, notes)
    }
}
