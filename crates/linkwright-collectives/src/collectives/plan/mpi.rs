//! MPI's algorithms on a job's GPUs: rules that know nothing of the links, written down.

use super::{Algorithm, Plan, PlanError, rate};
use crate::collectives::collective::Collective;
use crate::collectives::link_graph::LinkClass;
use crate::collectives::mpi::{self, Source};
use crate::collectives::schedule::{Channel, ChannelTransport};
use crate::collectives::source::materialise;
use crate::system::Wiring;
use crate::units::Bandwidth;

/// The names of MPI's algorithms for a collective, as plans have them.
const fn names(collective: Collective) -> &'static str {
    match collective {
        Collective::Barrier => "mpi-dissemination, mpi-binary-tree",
        Collective::Broadcast { .. } | Collective::Reduce { .. } => {
            "mpi-binary-tree, mpi-binomial-tree"
        }
        Collective::AllReduce => {
            "mpi-binary-tree, mpi-binomial-tree, mpi-recursive-doubling, mpi-recursive-halving, \
             mpi-ring"
        }
        Collective::Gather { .. } | Collective::Scatter { .. } => "mpi-binomial-tree, mpi-linear",
        Collective::AllGather => "mpi-ring, mpi-bruck",
        Collective::ReduceScatter => "mpi-recursive-halving, mpi-ring",
        Collective::AllToAll => "mpi-blocked, mpi-pairwise, mpi-bruck",
        Collective::Scan => "mpi-recursive-doubling, mpi-linear",
    }
}

/// Why no algorithm that looks at the links plans a barrier or a scan.
pub(in crate::collectives) const fn by_rule_alone(
    algorithm: &'static str,
    collective: Collective,
) -> PlanError {
    let (remedy, collective) = (names(collective), collective.name());
    PlanError::Unsupported { algorithm, collective, remedy }
}

/// What plans call an algorithm of MPI.
pub(super) const fn name(algorithm: mpi::MpiAlgorithm) -> &'static str {
    match algorithm {
        mpi::MpiAlgorithm::BinaryTree => "mpi-binary-tree",
        mpi::MpiAlgorithm::BinomialTree => "mpi-binomial-tree",
        mpi::MpiAlgorithm::Linear => "mpi-linear",
        mpi::MpiAlgorithm::Dissemination => "mpi-dissemination",
        mpi::MpiAlgorithm::Ring => "mpi-ring",
        mpi::MpiAlgorithm::RecursiveDoubling => "mpi-recursive-doubling",
        mpi::MpiAlgorithm::RecursiveHalving => "mpi-recursive-halving",
        mpi::MpiAlgorithm::Pairwise => "mpi-pairwise",
        mpi::MpiAlgorithm::Blocked => "mpi-blocked",
        mpi::MpiAlgorithm::Bruck => "mpi-bruck",
    }
}

/// What an algorithm of MPI does, in a few words.
pub(super) const fn description(algorithm: mpi::MpiAlgorithm) -> &'static str {
    match algorithm {
        mpi::MpiAlgorithm::BinaryTree => "MPI: a complete binary tree from the root",
        mpi::MpiAlgorithm::BinomialTree => "MPI: a binomial tree from the root",
        mpi::MpiAlgorithm::Linear => {
            "MPI: the root to or from each rank at once; a scan rank by rank"
        }
        mpi::MpiAlgorithm::Dissemination => "MPI: signals over distances of 1, 2, 4 and so on",
        mpi::MpiAlgorithm::Ring => "MPI: every rank to the next, one block at a time",
        mpi::MpiAlgorithm::RecursiveDoubling => "MPI: exchanges of all over distances of 1, 2, 4",
        mpi::MpiAlgorithm::RecursiveHalving => "MPI: exchanges of halves, quarters and so on",
        mpi::MpiAlgorithm::Pairwise => "MPI: one exchange with each other rank after another",
        mpi::MpiAlgorithm::Blocked => "MPI: exchanges with 32 ranks at once",
        mpi::MpiAlgorithm::Bruck => "MPI: few messages of many blocks each",
    }
}

/// The plan of a rule on GPUs that have been checked.
pub(super) fn plan(
    wiring: &Wiring,
    gpus: &[usize],
    collective: Collective,
    rule: mpi::MpiAlgorithm,
    (links, transport): (LinkClass, ChannelTransport),
    notes: Vec<String>,
) -> Result<Plan, PlanError> {
    let root = collective.root().unwrap_or(0) as u32;
    let source = Source::new(collective.kind(), rule, gpus.len() as u32, root);
    let source = source.map_err(|_| by_rule_alone(name(rule), collective))?;
    let name = format!("{}-{}", name(rule), collective.name());
    let channel = Channel::over(transport);
    let schedule = materialise(&source, &name, gpus, channel)?;
    // A barrier moves no data.
    let rate = match collective {
        Collective::Barrier => Bandwidth(0),
        _ => rate::steady_rate(&schedule, wiring)?,
    };
    let (trees, optimum) = (Vec::new(), None);
    Ok(Plan { schedule, algorithm: Algorithm::Mpi(rule), links, trees, rate, optimum, notes })
}
