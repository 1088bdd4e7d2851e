//! Plans whose data may pass through GPUs outside the job: helpers.
//!
//! A helper forwards, over its NVLinks, what one of the job's GPUs sends to another. It neither
//! reduces nor keeps anything, so that a packing treats it as a switch. Trees are those of the
//! job's GPUs, and their arcs lead through helpers ([`crate::collectives::ChosenRoute`]). The
//! schedule has steps of the job's ranks only. Blink's authors measured 2.6 to 2.9 times the
//! bandwidth for pairs of V100s without a direct link, which go over PCIe otherwise.
//!
//! It leaves out the copy kernels and the memory that forwarding takes on a helper. It leaves out PCIe.
//! A helper's own job may lose more than bandwidth, which is left out, too. An all-to-all is not planned so.

use std::collections::BTreeMap;

use super::ground::Ground;
use super::{Packing, Plan, PlanError, Question, plan};
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::link_bytes;
use crate::network::Routes;
use crate::system::{System, Wiring};
use crate::units::Bandwidth;

/// Holds what a plan takes of the links of a GPU outside the job, while its data flows at its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// Is the GPU, by its id.
    pub gpu: usize,
    /// Is the bandwidth that enters it, B/s; as much leaves it.
    pub bandwidth: Bandwidth,
    /// Is the part of its NVLinks' bandwidth, of both directions together.
    pub share: f64,
    /// The part of the link of it that is taken most.
    pub most: f64,
}

/// Plans a collective whose data may pass through these GPUs outside the job.
///
/// # Errors
/// [`PlanError`] as of [`Packing`], of a helper that is none, and of an all-to-all.
pub fn plan_with_helpers(question: &Question<'_>, helpers: &[usize]) -> Result<Plan, PlanError> {
    question.check()?;
    check_helpers(question, helpers)?;
    if question.collective == Collective::AllToAll {
        return Err(PlanError::Unsupported {
            algorithm: "planning with helpers",
            collective: question.collective.name(),
            remedy: "packing without helpers".into(),
        });
    }
    let question = question.helped_by(helpers);
    let mut found = plan(&Packing, &question)?;
    if found.optimum.is_none() {
        let system = question.system;
        found.optimum = Some(found.rate);
        if found.certificate(system).is_none() {
            found.optimum = None;
        }
    }
    Ok(found)
}

fn check_helpers(question: &Question<'_>, helpers: &[usize]) -> Result<(), PlanError> {
    let Question { system, gpus, .. } = *question;
    let servers = |gpu: usize| system.gpu(gpu as u32).server;
    for (index, gpu) in helpers.iter().enumerate() {
        let why = if *gpu >= system.gpus() as usize {
            "is none of the system's"
        } else if gpus.contains(gpu) {
            "is the job's own"
        } else if helpers[..index].contains(gpu) {
            "is named twice"
        } else if !gpus.iter().any(|own| servers(*own) == servers(*gpu)) {
            "is on none of the job's servers"
        } else {
            continue;
        };
        return Err(PlanError::Helper { gpu: *gpu, why });
    }
    Ok(())
}

/// Makes the graph of the job's GPUs and helpers over NVLink.
pub(super) fn ground(question: &Question<'_>, helpers: &[usize]) -> Result<Ground, PlanError> {
    let (wiring, gpus, class) = (question.wiring(), question.gpus, LinkClass::Fabric);
    let graph = LinkGraph::whole(wiring, gpus, helpers, class).without_dead_ends();
    graph.joined(wiring, gpus, class)?;
    Ok(Ground { class, graph, is_whole: true })
}

impl Plan {
    /// Lists the GPUs outside the job that pass its data on, by their ids.
    #[must_use]
    pub fn helpers(&self, system: &System) -> Vec<usize> {
        let own = &self.schedule.gpus;
        let paths = self.schedule.routes.iter().flat_map(|route| &route.paths);
        let passed: Vec<usize> = paths.flat_map(|path| path.devices.iter().copied()).collect();
        let device = |gpu: &usize| system.gpu_device(*gpu as u32);
        let all = (0..system.gpus() as usize).filter(|gpu| !own.contains(gpu));
        all.filter(|gpu| passed.contains(&device(gpu))).collect()
    }

    /// Gives what each helper's links lose to the plan at its rate.
    ///
    /// # Errors
    /// As the timing, where a connection has no route.
    pub fn taken(&self, system: &System) -> Result<Vec<Taken>, PlanError> {
        let wiring = Wiring::of_gpus(system, &self.schedule.gpus);
        let routes = Routes::at_peak(&wiring);
        let loads = link_bytes(&self.schedule, &routes)?;
        let mut used: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (resource, load) in loads.iter().enumerate().filter(|(_, load)| **load > 0.0) {
            let (wire, from) = routes.wire(resource);
            let to = wire.other_end(from);
            let flow = load * self.rate.0 as f64;
            let part = (flow / wire.bandwidth.0 as f64).min(1.0);
            for (end, entering) in [(to, flow), (from, 0.0)] {
                let known = used.entry(end).or_default();
                *known = (known.0 + entering, known.1.max(part));
            }
        }
        let of_gpu = |gpu: usize| {
            let at = wiring.gpu(gpu);
            let wires = wiring.adjacency()[at].iter().map(|wire| &wiring.wires()[*wire]);
            let whole: u64 =
                wires.filter(|wire| wire.is_gpu_fabric()).map(|it| it.bandwidth.0).sum();
            let (entering, most) = used.get(&at).copied().unwrap_or_default();
            let bandwidth = Bandwidth(entering.round() as u64);
            Taken { gpu, bandwidth, share: (entering / whole.max(1) as f64).min(1.0), most }
        };
        Ok(self.helpers(system).into_iter().map(of_gpu).collect())
    }
}

#[cfg(test)]
mod tests;
