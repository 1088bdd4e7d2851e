//! Makes planners of the algorithms that NCCL has between servers alone: NVLSTree and PAT.

use std::borrow::Cow;

use super::nvls::{NAME_OF_TREES, trees_of_heads};
use super::planner::Planner;
use super::sized::{NAME_OF_PARALLEL_TREES, Offer, offer_of_library};
use super::{Links, Plan, PlanError, Question, answer, rate};
use crate::collectives::nccl::baselines::{ExpectedAlgorithm, by_server, newest_dealing};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::planners::lowering::schedule_of_parallel_trees;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Protocol};
use crate::diagnostic::Registered;

/// Names an algorithm of NCCL's over several servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenServers {
    /// Switches reduce in each server, and trees join the GPUs that have the same part.
    NvlsTree,
    /// There is a tree for each rank, on servers of one GPU each.
    ParallelTrees,
}

impl Registered for BetweenServers {
    fn name(&self) -> &'static str {
        match self {
            Self::NvlsTree => NAME_OF_TREES,
            Self::ParallelTrees => NAME_OF_PARALLEL_TREES,
        }
    }
}

impl Planner for BetweenServers {
    fn description(&self) -> &'static str {
        match self {
            Self::NvlsTree => "NCCL's NVLSTree: switches reduce in a server, trees between them",
            Self::ParallelTrees => "NCCL's PAT: a tree for each rank, servers of one GPU each",
        }
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Simple]
    }

    fn plan(&self, question: &Question<'_>) -> Result<Plan, PlanError> {
        use Collective::{AllGather, AllReduce, ReduceScatter};
        question.ground(&mut Vec::new())?;
        let Question { gpus, collective, links, .. } = *question;
        let (wiring, name) = (question.wiring(), self.name());
        let servers = by_server(wiring, gpus);
        let is_done = match self {
            Self::NvlsTree => collective == AllReduce,
            Self::ParallelTrees => matches!(collective, AllGather | ReduceScatter),
        };
        if !is_done {
            let remedy = "packing, nccl-ring".into();
            return Err(PlanError::Unsupported {
                algorithm: name,
                collective: collective.name(),
                remedy,
            });
        }
        match self {
            Self::NvlsTree if servers.len() < 2 => {
                Err(PlanError::OtherServers { algorithm: name, wanted: "several servers" })
            }
            Self::NvlsTree if links == Links::Host => Err(PlanError::InSwitchOverHost),
            Self::NvlsTree => trees_of_heads(wiring, gpus, usize::MAX, newest_dealing(wiring)),
            Self::ParallelTrees if servers.len() < gpus.len() => {
                Err(PlanError::OtherServers { algorithm: name, wanted: "servers of one GPU each" })
            }
            Self::ParallelTrees => {
                let schedule_name = format!("{name}-{}", collective.name());
                let channels = [Channel::default()];
                let schedule =
                    schedule_of_parallel_trees(&schedule_name, collective, gpus, &channels);
                let rate = rate::steady_rate(&schedule, wiring)?;
                let (algorithm, links) = (Cow::Borrowed(name), LinkClass::Network);
                let (trees, optimum, notes) = (Vec::new(), None, Vec::new());
                Ok(Plan { schedule, algorithm, links, trees, rate, optimum, notes })
            }
        }
    }

    fn offer(&self, question: &Question<'_>) -> Result<Offer, PlanError> {
        let wanted = match self {
            Self::NvlsTree => ExpectedAlgorithm::NvlsTree,
            Self::ParallelTrees => ExpectedAlgorithm::Pat,
        };
        match offer_of_library(question, wanted) {
            Some(offer) => Ok(offer),
            None => Ok(Offer::of_plans(vec![answer(self, question)?])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;
    use crate::collectives::schedule::check::check;
    use crate::system::test_support::{alone, on_one_switch};

    #[test]
    fn what_runs_between_servers_alone_is_planned_there_and_refused_elsewhere() {
        let four = on_one_switch("hgx-h100", 4, 400);
        let all: Vec<usize> = (0..32).collect();
        let one_each: Vec<usize> = (0..4).map(|server| server * 8).collect();
        let done = |gpus: &[usize], collective, planner: BetweenServers| {
            plan(&planner, &Question::new(&four, gpus, collective))
        };
        use BetweenServers::{NvlsTree, ParallelTrees};
        use Collective::{AllGather, AllReduce, ReduceScatter};
        check(&done(&all, AllReduce, NvlsTree).unwrap().schedule).unwrap();
        check(&done(&one_each, AllGather, ParallelTrees).unwrap().schedule).unwrap();
        check(&done(&one_each, ReduceScatter, ParallelTrees).unwrap().schedule).unwrap();
        let refused = |gpus: &[usize], collective, planner| {
            done(gpus, collective, planner).unwrap_err().to_string()
        };
        let found = refused(&all, AllGather, ParallelTrees);
        assert!(
            found.starts_with("nccl-pat works only on GPUs of servers of one GPU each"),
            "{found}"
        );
        let found = refused(&all, AllGather, NvlsTree);
        assert!(found.starts_with("nvls-tree cannot plan all-gather"), "{found}");
        let found = refused(&one_each, AllReduce, ParallelTrees);
        assert!(found.starts_with("nccl-pat cannot plan all-reduce"), "{found}");
        let lone = alone("hgx-h100");
        let found = plan(&NvlsTree, &Question::new(&lone, &[0, 1, 2, 3], AllReduce));
        let found = found.unwrap_err().to_string();
        assert!(found.starts_with("nvls-tree works only on GPUs of several servers"), "{found}");
    }
}
